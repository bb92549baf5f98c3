//! Files that Chromium may use, as data with reasons.
//!
//! Invariants: no folder of people, no secret of the runtime and no configuration of ours is in the list of the system; a
//! program's own folder is added only if nothing private is in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Programs, libraries and their data.
const EXECUTE: &[&str] = &[
    "/usr",
    // Links into /usr, or folders of their own on older systems.
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    // Chrome's own packages.
    "/opt",
    // Programs of the runtime's image.
    "/nix/store",
];

/// Files that are only read.
const READ: &[&str] = &[
    // The list of devices and processors.
    "/sys",
    // Fonts and their caches.
    "/etc/fonts",
    "/var/cache/fontconfig",
    // Certificates.
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    // Chromium's managed policies, preferences and flags, in the folders of its distributions.
    "/etc/browser",
    "/etc/chromium",
    "/etc/chromium.d",
    "/etc/chromium-browser",
    "/etc/opt",
    // The C library: accounts, names, libraries, language, time.
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/gai.conf",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/etc/timezone",
    // The desktop's libraries, which a Chromium with a window loads.
    "/etc/X11",
    "/etc/alternatives",
    "/etc/dconf",
    "/etc/drirc",
    "/etc/glvnd",
    "/etc/gtk-3.0",
    "/etc/machine-id",
    "/etc/mailcap",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/vulkan",
    "/etc/xdg",
    // Random data.
    "/dev/random",
    "/dev/urandom",
];

/// Existing files that are written to.
const CHANGE: &[&str] = &[
    // Chromium's renderer sandbox writes the maps of user ids, and its scores for the memory killer. The processes of others are
    // out of reach: Landlock refuses all that needs the right to trace.
    "/proc",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
];

/// Files that a Chromium may use. Paths that do not exist have no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FileRules {
    /// Folders of programs and libraries, which are also read.
    pub execute: Vec<PathBuf>,
    /// Files and folders that are read.
    pub read: Vec<PathBuf>,
    /// Folders in which everything can be created, changed and removed.
    pub write: Vec<PathBuf>,
    /// Existing files that are also written to.
    pub change: Vec<PathBuf>,
    /// Folders of Unix sockets to connect to.
    pub sockets: Vec<PathBuf>,
}

impl FileRules {
    /// Returns the files of the system that each Chromium needs.
    #[must_use]
    pub(crate) fn of_system() -> Self {
        let list = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        Self { execute: list(EXECUTE), read: list(READ), change: list(CHANGE), ..Self::default() }
    }

    /// Adds a program, and its folder unless one of the private folders is in it.
    pub(crate) fn add_program(&mut self, program: &Path, private: &[&Path]) {
        let real = program.canonicalize().ok();
        for path in [Some(program), real.as_deref()].into_iter().flatten() {
            let folder = path.parent().filter(|folder| is_program_folder(folder, private));
            let added = folder.unwrap_or(path).to_owned();
            if !self.execute.contains(&added) {
                self.execute.push(added);
            }
        }
    }

    /// Adds the files that variables name: fonts, certificates, and folders of libraries.
    pub(crate) fn add_variables(&mut self, variables: &[(&str, OsString)]) {
        for (name, value) in variables {
            let libraries = *name == "LD_LIBRARY_PATH";
            let paths = std::env::split_paths(value).filter(|path| path.is_absolute() && path.parent().is_some());
            if libraries { &mut self.execute } else { &mut self.read }.extend(paths);
        }
    }
}

/// Returns true for a folder that holds a program and nothing private. The root folder holds everything.
fn is_program_folder(folder: &Path, private: &[&Path]) -> bool {
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = resolved(folder);
    folder.parent().is_some() && !private.iter().any(|path| resolved(path).starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement 5.1.
    #[test]
    fn system_files_have_no_homes_secrets_or_own_settings() {
        let files = FileRules::of_system();
        assert!(files.write.is_empty() && files.sockets.is_empty());
        let all: Vec<_> = [files.execute, files.read, files.change].concat();
        for refused in [
            "/",
            "/home/a/.bashrc",
            "/root/.bashrc",
            "/run/browser-shell/secret",
            "/var/run/secrets/kubernetes.io/serviceaccount/token",
            "/workspace/a",
            "/tmp/a",
            "/etc/shadow",
            "/etc/agent-browser/browser-shell.policy.json",
        ] {
            assert!(!all.iter().any(|path| Path::new(refused).starts_with(path)), "{refused}");
        }
        assert!(all.iter().any(|path| Path::new("/usr/lib/chromium/chromium").starts_with(path)), "control");
    }

    #[test]
    fn program_folder_is_added_unless_something_private_is_in_it() {
        let added = |program: &str, private: &str| {
            let mut files = FileRules::default();
            files.add_program(Path::new(program), &[Path::new(private)]);
            files.execute
        };
        assert_eq!(added("/srv/chrome/chrome", "/srv/data/browser"), [PathBuf::from("/srv/chrome")]);
        assert_eq!(added("/srv/chrome", "/srv/data/browser"), [PathBuf::from("/srv/chrome")]);
        assert_eq!(added("/chrome", "/srv/data/browser"), [PathBuf::from("/chrome")]);
    }

    #[test]
    fn variables_add_absolute_paths_only() {
        let mut files = FileRules::default();
        let variables =
            [("FONTCONFIG_FILE", "/f/fonts.conf".into()), ("LD_LIBRARY_PATH", "/l/a:relative:/:/l/b".into())];
        files.add_variables(&variables);
        assert_eq!(files.read, [PathBuf::from("/f/fonts.conf")]);
        assert_eq!(files.execute, [PathBuf::from("/l/a"), PathBuf::from("/l/b")]);
    }
}
