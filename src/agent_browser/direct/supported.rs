//! Versions of agent-browser whose daemon is supported, and the check of an installed one.
//!
//! The check compares the version that the program reports and a hash of the daemon's files. An unknown daemon can give the same
//! request another meaning, so only the CLI of its own version may use it.
//!
//! To add a version: install it, add it to [`TESTED`], add a line with the version and hash that `browser-shell doctor` shows,
//! and run `./dev test e2e -- transport` and `./dev test e2e -- grammar_vs_cli`, which compare every form of every subcommand
//! through both transports. Keep the line if they pass.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::installation::detect::{DAEMON, Kind, package};
use crate::installation::locate::child_path;
use crate::os::exec::{ExecError, Program, run};
use browser_shell_core::output::RawOutput;

/// Output of `--version` of every version that the tests run with. Others may work, and `browser-shell doctor` warns of them.
pub(crate) const TESTED: &[&str] = &["agent-browser 0.19.0", "agent-browser 0.41.2"];

/// Versions that passed the differential tests: the output of `--version`, and the hash of the daemon's files.
pub(crate) const SUPPORTED: &[(&str, &str)] =
    &[("agent-browser 0.19.0", "1de2604c9c2cc055464f41e24ca842586dc4ee1d03128ec1f6a07c19edad91c1")];

/// Maximum time of `agent-browser --version`.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Script of the daemon.
const SCRIPT: &str = "daemon.js";

/// Maximum size in bytes of a script; the real ones are smaller.
const MAX_SCRIPT_BYTES: u64 = 16 * 1024 * 1024;

/// Installed agent-browser with a supported daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SupportedDaemon {
    /// Version that it reports.
    pub version: &'static str,
    /// Script of its daemon, with links resolved.
    pub script: PathBuf,
}

/// Reason why every command has to take the CLI, for the operator.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum UnsupportedDaemon {
    /// The program is native and has no daemon in Node. Its CLI has no pause before its commands.
    #[error("agent-browser is a native program without a daemon in Node")]
    Native,
    /// The daemon is not in the table, or cannot be read.
    #[error("{0}")]
    Unknown(String),
}

impl From<String> for UnsupportedDaemon {
    fn from(reason: String) -> Self {
        Self::Unknown(reason)
    }
}

/// Checks that the daemon of an installed agent-browser is in the table.
///
/// # Errors
///
/// See [`UnsupportedDaemon`].
pub(crate) async fn check_supported(program: &Path) -> Result<SupportedDaemon, UnsupportedDaemon> {
    let path = program.to_owned();
    let native = tokio::task::spawn_blocking(move || Kind::of(&path).is_native()).await;
    if native.map_err(|error| error.to_string())? {
        return Err(UnsupportedDaemon::Native);
    }
    let path = program.to_owned();
    // The hash is checked first, since that starts no program.
    let files = tokio::task::spawn_blocking(move || hash_daemon_files(&path)).await;
    let (script, digest) = files.map_err(|error| error.to_string())??;
    let row = SUPPORTED.iter().find(|(_, hash)| *hash == digest);
    let (version, _) = row.ok_or_else(|| format!("its daemon is not supported; the hash of the files is {digest}"))?;
    let reported = read_version(program).await.map_err(|error| error.to_string())?.stdout.to_text();
    if reported.trim() != *version {
        return Err(format!("its daemon is that of {version}, and it reports another version").into());
    }
    Ok(SupportedDaemon { version, script })
}

/// Runs `agent-browser --version`.
///
/// # Errors
///
/// As [`run`].
pub(crate) async fn read_version(program: &Path) -> Result<RawOutput, ExecError> {
    let program = Program {
        path: program.to_owned(),
        arguments: vec!["--version".into()],
        environment: vec![("PATH".into(), child_path()), ("HOME".into(), "/nonexistent".into())],
        directory: "/".into(),
    };
    run(&program, VERSION_TIMEOUT, &CancellationToken::new()).await
}

/// Returns the path of the daemon's script, and a hash of the names and contents of all scripts in its folder.
fn hash_daemon_files(program: &Path) -> Result<(PathBuf, String), String> {
    let unusable = |path: &Path, error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let program = program.canonicalize().map_err(|error| unusable(program, &error))?;
    let folder = package(&program).join(DAEMON);
    let mut scripts = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| unusable(&folder, &error))? {
        let path = entry.map_err(|error| unusable(&folder, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "js") {
            scripts.push(path);
        }
    }
    scripts.sort_unstable();
    let mut hash = Sha256::new();
    for path in &scripts {
        let size = std::fs::metadata(path).map_err(|error| unusable(path, &error))?.len();
        if size > MAX_SCRIPT_BYTES {
            return Err(unusable(path, &"too large for a script of the daemon"));
        }
        let content = std::fs::read(path).map_err(|error| unusable(path, &error))?;
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        // The lengths keep other files from giving the same bytes.
        for part in [name, &content] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
    let mut digest = String::new();
    for byte in hash.finalize() {
        let _ = write!(digest, "{byte:02x}");
    }
    Ok((folder.join(SCRIPT), digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::installation::detect::tests::program_with;
    use std::fs;
    use std::os::unix::fs::symlink;

    use crate::os::exec::tests::write_script;

    /// Creates a package whose program reports this version.
    fn package(version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["bin", "dist"] {
            fs::create_dir(folder.path().join(name)).expect("made");
        }
        let program = folder.path().join("bin/agent-browser");
        write_script(&program, &format!("#!/bin/sh\necho '{version}'\n"));
        fs::write(folder.path().join("dist/daemon.js"), "1").expect("written");
        folder
    }

    #[test]
    fn tested_versions_are_those_of_the_end_to_end_tests() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/package.json");
        let packages = fs::read_to_string(file).expect("read");
        let packages: serde_json::Value = serde_json::from_str(&packages).expect("JSON");
        let versions = ["agent-browser", "agent-browser-native"].map(|name| {
            let version = packages["dependencies"][name].as_str().expect("a version");
            format!("agent-browser {}", version.trim_start_matches("npm:agent-browser@"))
        });
        assert_eq!(TESTED, versions);
        assert!(SUPPORTED.iter().all(|(version, _)| TESTED.contains(version)));
    }

    #[test]
    fn daemon_hash_covers_exactly_the_scripts() {
        let folder = package("");
        let program = folder.path().join("bin/agent-browser");
        let digest = || hash_daemon_files(&program).expect("hashed").1;
        let first = digest();
        fs::write(folder.path().join("dist/daemon.d.ts"), "x").expect("written");
        assert_eq!(digest(), first, "a file that is no script");
        fs::write(folder.path().join("dist/x.js"), "").expect("written");
        let with_more = digest();
        assert_ne!(with_more, first, "an additional script");
        fs::rename(folder.path().join("dist/x.js"), folder.path().join("dist/y.js")).expect("renamed");
        assert_ne!(digest(), with_more, "another name");
        fs::write(folder.path().join("dist/daemon.js"), "2").expect("written");
        fs::remove_file(folder.path().join("dist/y.js")).expect("removed");
        assert_ne!(digest(), first, "another content");
    }

    #[test]
    fn daemon_files_are_found_through_program_link() {
        let folder = package("");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let link = elsewhere.path().join("agent-browser");
        symlink(folder.path().join("bin/agent-browser"), &link).expect("linked");
        let (script, _) = hash_daemon_files(&link).expect("found");
        assert_eq!(script, folder.path().canonicalize().expect("there").join("dist/daemon.js"));
    }

    #[tokio::test]
    async fn agent_browser_missing_from_table_is_unsupported() {
        for version in ["agent-browser 0.19.0", "agent-browser 9.9.9", ""] {
            let folder = package(version);
            let error = check_supported(&folder.path().join("bin/agent-browser")).await.expect_err("not supported");
            assert!(error.to_string().contains("is not supported"), "{error}");
        }
        assert!(check_supported(Path::new("/nowhere/agent-browser")).await.is_err());
        let folder = package("agent-browser 0.19.0");
        fs::remove_dir_all(folder.path().join("dist")).expect("removed");
        let program = folder.path().join("bin/agent-browser");
        assert!(
            matches!(check_supported(&program).await, Err(UnsupportedDaemon::Unknown(_))),
            "a script without a daemon in Node"
        );
        fs::write(&program, program_with(None)).expect("written");
        assert_eq!(check_supported(&program).await, Err(UnsupportedDaemon::Native));
    }

    #[test]
    fn supported_daemon_table_has_versions_and_hashes() {
        for (version, hash) in SUPPORTED {
            assert!(version.starts_with("agent-browser "), "{version}");
            assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
        }
    }
}
