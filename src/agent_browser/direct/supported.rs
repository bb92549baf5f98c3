//! Versions of agent-browser whose daemon is supported, and the check of an installed one.
//!
//! The check compares the version that the program reports and a hash of the daemon's files. An unknown daemon can give the same
//! request another meaning, so only the CLI of its own version may use it.
//!
//! To add a version: install it, add it to [`TESTED`], add a line with the version and hash that `browser-shell doctor` shows,
//! and run `./dev test e2e -- transport` and `./dev test e2e -- grammar_vs_cli`, which compare every form of every subcommand
//! through both transports. Keep the line if they pass.

use std::path::Path;
use std::time::Duration;

use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::agent_browser::direct::program::DaemonProgram;
use crate::installation::locate::child_path;
use crate::os::exec::{ExecError, Program, run};
use browser_shell_core::output::RawOutput;

/// Output of `--version` of every version that the tests run with. Others may work, and `browser-shell doctor` warns of them.
pub(crate) const TESTED: &[&str] = &["agent-browser 0.19.0", "agent-browser 0.41.2"];

/// Versions that passed the differential tests: the output of `--version`, and the hash of the daemon's files. A native program
/// has a line for each processor, with and without libraries.
pub(crate) const SUPPORTED: &[(&str, &str)] = &[
    ("agent-browser 0.19.0", "1de2604c9c2cc055464f41e24ca842586dc4ee1d03128ec1f6a07c19edad91c1"),
    ("agent-browser 0.41.2", "c4351f3802ffa5254d8c69f20a52e2fcf56925c6016fcf4203db25a07d811379"),
    ("agent-browser 0.41.2", "00d291f45e1c4d527b3aa08c70c54c7c3030fde0794f8d4575aaa3ca1680f728"),
    ("agent-browser 0.41.2", "5d452d57772330fe4cef9b7aeb5e7137890dde20bbb65e82b990e0bc0b35d9cd"),
    ("agent-browser 0.41.2", "730a5168153e27ad1243ebe960157e69de0f24531fbbac9a040856a491bf491f"),
];

/// Maximum time of `agent-browser --version`.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Installed agent-browser with a supported daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SupportedDaemon {
    /// Version that it reports.
    pub version: &'static str,
    /// Program that its daemon runs.
    pub program: DaemonProgram,
}

/// Reason why every command has to take the CLI, for the operator.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub(crate) struct UnsupportedDaemon(String);

impl From<String> for UnsupportedDaemon {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

/// Checks that the daemon of an installed agent-browser is in the table.
///
/// # Errors
///
/// See [`UnsupportedDaemon`].
pub(crate) async fn check_supported(program: &Path) -> Result<SupportedDaemon, UnsupportedDaemon> {
    let path = program.to_owned();
    // The hash is checked first, since that starts no program.
    let files = tokio::task::spawn_blocking(move || DaemonProgram::hash(&path)).await;
    let (daemon, digest) = files.map_err(|error| error.to_string())??;
    let row = SUPPORTED.iter().find(|(_, hash)| *hash == digest);
    let (version, _) = row.ok_or_else(|| format!("its daemon is not supported; the hash of the files is {digest}"))?;
    let reported = read_version(program).await.map_err(|error| error.to_string())?.stdout.to_text();
    if reported.trim() != *version {
        return Err(format!("its daemon is that of {version}, and it reports another version").into());
    }
    Ok(SupportedDaemon { version, program: daemon })
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::installation::detect::tests::program_with;
    use std::fs;

    use crate::os::exec::tests::write_script;

    /// Creates a package whose program reports this version.
    pub(crate) fn package(version: &str) -> tempfile::TempDir {
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
        assert!(check_supported(&program).await.is_err(), "a script without a daemon in Node");
        fs::write(&program, program_with(None)).expect("written");
        let error = check_supported(&program).await.expect_err("not supported");
        assert!(error.to_string().contains("is not supported"), "{error}");
    }

    #[test]
    fn supported_daemon_table_has_versions_and_hashes() {
        for (version, hash) in SUPPORTED {
            assert!(version.starts_with("agent-browser "), "{version}");
            assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
        }
    }
}
