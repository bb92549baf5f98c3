//! Helper `launch-external`: restricts its own process and becomes a Chromium that another program starts.
//!
//! The image's Chromium is started by the base, which knows nothing of this program. `rootfs/opt/browser-shell/browser` puts the
//! helper in its way. Standard streams, environment and arguments pass unchanged, except that temporary files get a folder in
//! the profile.
//!
//! Invariants: a rule that the kernel lacks is named on standard error; Chromium is not started if another one cannot be set.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use thiserror::Error;

use crate::launch::rules::{FileRules, LaunchRules, RulesError, missing};
use browser_shell_system::confinement::KernelFeatures;
use browser_shell_system::os::describe;
use browser_shell_system::os::reexec::{ConfigError, HelperArguments, failure_prefix, parse_config};

/// Hidden first argument of the helper.
pub const SUBCOMMAND: &str = "launch-external";

const PROFILE_FLAG: &[u8] = b"--user-data-dir=";

/// Folders of a profile below the home folder, for a Chromium that is not told which one to use.
const DEFAULT_PROFILES: &[&str] =
    &[".config/chromium", ".config/google-chrome", ".cache/chromium", ".cache/google-chrome"];

/// Folders below the home folder that its libraries write to: caches of settings, fonts and shaders, and certificates.
const HOME_WRITE: &[&str] = &[".cache/dconf", ".cache/fontconfig", ".cache/mesa_shader_cache", ".pki"];

/// Files below the home folder that its libraries read: fonts, settings of the desktop, the cookie of the display.
const HOME_READ: &[&str] = &[".config/fontconfig", ".config/gtk-3.0", ".fonts", ".local/share/fonts", ".Xauthority"];

/// Variables that name files to read.
const READ_VARIABLES: [&str; 5] =
    ["XAUTHORITY", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "SSL_CERT_FILE", "LD_LIBRARY_PATH"];

/// Configuration of the helper, as JSON in its second argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExternalConfig {
    /// TCP ports that Chromium may connect to.
    connect: Vec<u16>,
    /// TCP ports that Chromium may listen on.
    bind: Vec<u16>,
}

/// Reason why the helper did not become Chromium.
#[allow(missing_docs, reason = "the message of each variant says it")]
#[derive(Debug, Error)]
pub enum ExternalError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("no program")]
    NoProgram,
    #[error("there is no home folder in `HOME`; set it, or --user-data-dir")]
    NoHome,
    #[error("the profile `{}` contains the home folder; choose a folder of its own with --user-data-dir", .0.display())]
    Profile(PathBuf),
    #[error("cannot create the folder `{}`: {}", path.display(), describe(source))]
    Folder { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error("cannot start `{}`: {}", program.display(), describe(source))]
    Exec { program: PathBuf, source: io::Error },
}

/// Folders of a Chromium that another program starts.
#[derive(Debug, PartialEq, Eq)]
struct Folders {
    write: Vec<PathBuf>,
    read: Vec<PathBuf>,
    /// Folder of temporary files.
    temporary: PathBuf,
}

/// Restricts this process and becomes Chromium.
///
/// # Errors
///
/// Returns an error if a rule that the kernel has cannot be set or Chromium cannot be started. The process must end then.
pub fn run(arguments: HelperArguments<'_>) -> Result<Infallible, ExternalError> {
    let config: ExternalConfig = parse_config(arguments)?;
    let program = PathBuf::from(arguments.next().ok_or(ExternalError::NoProgram)?);
    let arguments: Vec<OsString> = arguments.collect();
    let folders = folders(&arguments, std::env::var_os("HOME").map(PathBuf::from).as_deref())?;
    // A rule needs a folder that exists.
    for path in folders.write.iter().chain([&folders.temporary]) {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
        created.map_err(|source| ExternalError::Folder { path: path.clone(), source })?;
    }
    let variables: Vec<_> =
        READ_VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect();
    let private: Vec<&Path> = folders.write.iter().map(PathBuf::as_path).collect();
    let sandboxed = !arguments.iter().any(|argument| argument == "--no-sandbox");
    let mut files = FileRules::of_system(sandboxed);
    files.add_program(&program, &private);
    files.add_variables(&variables);
    files.read.extend(folders.read);
    files.write.extend(folders.write);
    // Used unless the flag --disable-dev-shm-usage is set.
    files.write.push("/dev/shm".into());
    files.sockets.push("/tmp/.X11-unix".into());
    let kernel = KernelFeatures::detect();
    for rules in missing(kernel) {
        let _ = writeln!(io::stderr(), "{}WARNING: the kernel has no {rules}", failure_prefix(SUBCOMMAND));
    }
    let KernelFeatures { landlock, seccomp } = kernel;
    LaunchRules { connect: config.connect, bind: config.bind, files, landlock, seccomp }.apply()?;
    let source = Command::new(&program).args(arguments).env("TMPDIR", folders.temporary).exec();
    Err(ExternalError::Exec { program, source })
}

/// Returns the folders of a Chromium with these arguments.
fn folders(arguments: &[OsString], home: Option<&Path>) -> Result<Folders, ExternalError> {
    let flag = |argument: &OsString| argument.as_bytes().strip_prefix(PROFILE_FLAG).map(<[u8]>::to_vec);
    // Chromium uses the last one.
    let profile = arguments.iter().rev().find_map(flag).map(OsString::from_vec).map(PathBuf::from);
    let home = home.filter(|home| home.is_absolute());
    let below = |names: &[&str]| -> Vec<PathBuf> {
        home.iter().flat_map(|home| names.iter().map(|name| home.join(OsStr::new(name)))).collect()
    };
    let (mut write, temporary) = match profile {
        Some(profile) if home.is_some_and(|home| home.starts_with(&profile)) || !profile.is_absolute() => {
            return Err(ExternalError::Profile(profile));
        }
        Some(profile) => (vec![profile.clone()], profile.join("tmp")),
        None => {
            let profiles = below(DEFAULT_PROFILES);
            let first = profiles.first().ok_or(ExternalError::NoHome)?.join("tmp");
            (profiles, first)
        }
    };
    write.extend(below(HOME_WRITE));
    Ok(Folders { write, read: below(HOME_READ), temporary })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders_of(arguments: &[&str], home: Option<&str>) -> Result<Folders, ExternalError> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        folders(&arguments, home.map(Path::new))
    }

    #[test]
    fn external_chromium_writes_only_profile_and_caches() {
        let found = folders_of(&["--a", "--user-data-dir=/p/one", "--user-data-dir=/p/two"], Some("/home/gem"));
        let found = found.expect("folders");
        assert_eq!(found.temporary, Path::new("/p/two/tmp"));
        assert_eq!(found.write[0], Path::new("/p/two"));
        let all: Vec<_> = found.write.iter().chain(&found.read).collect();
        for refused in ["/p/one", "/home/gem", "/home/gem/.bashrc", "/home/gem/.config/autostart/a.desktop"] {
            assert!(!all.iter().any(|path| Path::new(refused).starts_with(path)), "{refused}");
        }
        let default = folders_of(&[], Some("/home/gem")).expect("folders");
        assert_eq!(default.write[0], Path::new("/home/gem/.config/chromium"));
    }

    #[test]
    fn profile_that_contains_home_folder_is_refused() {
        for profile in ["/", "/home", "/home/gem", "/home/gem/", "relative"] {
            let flag = format!("--user-data-dir={profile}");
            let found = folders_of(&[&flag], Some("/home/gem"));
            assert!(matches!(found, Err(ExternalError::Profile(_))), "{profile}");
        }
        assert!(folders_of(&["--user-data-dir=/home/gem/p"], Some("/home/gem")).is_ok(), "control");
        assert!(matches!(folders_of(&[], None), Err(ExternalError::NoHome)));
    }
}
