//! Which agent-browser the daemon is spoken to of (the table), and whether the one here is such a one.
//!
//! Decides by the version that the program says and by a hash over the daemon's files. A daemon whose files are not in the
//! table can mean something else by the same words, so it must never be spoken to; the CLI of its own version can always be.
//!
//! To add a version: install it, add a line with what `browser-shell doctor` says about it, and run `./dev test e2e -- transport`
//! and `./dev test e2e -- grammar_vs_cli`, which compare every form of every subcommand through both. Keep the line if they pass.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::cli::child_path;
use crate::agent_browser::{DAEMON, Kind, package};
use crate::exec::{ExecError, Program, run};
use crate::output::RawOutput;

/// Versions that the differential tests passed with: what `--version` prints, and the hash of the daemon's files.
pub const PROVED: &[(&str, &str)] =
    &[("agent-browser 0.19.0", "1de2604c9c2cc055464f41e24ca842586dc4ee1d03128ec1f6a07c19edad91c1")];

/// How long asking for the version may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the daemon is started from.
const SCRIPT: &str = "daemon.js";

/// More than any of the files has.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// An agent-browser that is in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// What it says about itself.
    pub version: &'static str,
    /// What its daemon runs, without links.
    pub script: PathBuf,
}

/// Why a daemon is not spoken to, in words for the operator.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unproved {
    /// There is none in Node. The program is fast enough: it has no pause before its commands.
    #[error("agent-browser is one native program here, without a daemon in Node to speak to")]
    Native,
    /// It is not in the table, or cannot be looked at.
    #[error("{0}")]
    Unknown(String),
}

impl From<String> for Unproved {
    fn from(why: String) -> Self {
        Self::Unknown(why)
    }
}

/// Looks whether an agent-browser is in the table.
///
/// # Errors
///
/// Why not.
pub async fn prove(program: &Path) -> Result<Proof, Unproved> {
    let path = program.to_owned();
    let native = tokio::task::spawn_blocking(move || Kind::of(&path).is_native()).await;
    if native.map_err(|error| error.to_string())? {
        return Err(Unproved::Native);
    }
    let path = program.to_owned();
    // First, as it starts nothing.
    let found = tokio::task::spawn_blocking(move || daemon_files(&path)).await;
    let (script, digest) = found.map_err(|error| error.to_string())??;
    let row = PROVED.iter().find(|(_, hash)| *hash == digest);
    let (version, _) = row.ok_or_else(|| format!("it was not tried with a daemon of {digest}"))?;
    let said = said_version(program).await.map_err(|error| error.to_string())?.stdout.to_text();
    if said.trim() != *version {
        return Err(format!("its daemon is that of {version}, and it says that it is something else").into());
    }
    Ok(Proof { version, script })
}

/// Asks agent-browser for its version.
///
/// # Errors
///
/// As [`run`].
pub async fn said_version(program: &Path) -> Result<RawOutput, ExecError> {
    let program = Program {
        path: program.to_owned(),
        arguments: vec!["--version".into()],
        environment: vec![("PATH".into(), child_path()), ("HOME".into(), "/nonexistent".into())],
        directory: "/".into(),
    };
    run(&program, PATIENCE, &CancellationToken::new()).await
}

/// The daemon's script beside the program, and one hash over the names and contents of all scripts there.
fn daemon_files(program: &Path) -> Result<(PathBuf, String), String> {
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
        if size > MAX_FILE {
            return Err(unusable(path, &"too large for a file of the daemon"));
        }
        let content = std::fs::read(path).map_err(|error| unusable(path, &error))?;
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        // With their lengths, so that no other files give the same bytes.
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
    use crate::agent_browser::tests::program_with;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A package that says it is this version.
    fn package(version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["bin", "dist"] {
            fs::create_dir(folder.path().join(name)).expect("made");
        }
        let program = folder.path().join("bin/agent-browser");
        fs::write(&program, format!("#!/bin/sh\necho '{version}'\n")).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("set");
        fs::write(folder.path().join("dist/daemon.js"), "1").expect("written");
        folder
    }

    #[test]
    fn the_hash_sees_every_script_and_nothing_else() {
        let folder = package("");
        let program = folder.path().join("bin/agent-browser");
        let digest = || daemon_files(&program).expect("hashed").1;
        let first = digest();
        fs::write(folder.path().join("dist/daemon.d.ts"), "x").expect("written");
        assert_eq!(digest(), first, "a file that does not run");
        fs::write(folder.path().join("dist/x.js"), "").expect("written");
        let with_more = digest();
        assert_ne!(with_more, first, "one more script");
        fs::rename(folder.path().join("dist/x.js"), folder.path().join("dist/y.js")).expect("renamed");
        assert_ne!(digest(), with_more, "another name");
        fs::write(folder.path().join("dist/daemon.js"), "2").expect("written");
        fs::remove_file(folder.path().join("dist/y.js")).expect("removed");
        assert_ne!(digest(), first, "another content");
    }

    #[test]
    fn the_files_are_those_beside_the_program_that_a_link_leads_to() {
        let folder = package("");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let link = elsewhere.path().join("agent-browser");
        symlink(folder.path().join("bin/agent-browser"), &link).expect("linked");
        let (script, _) = daemon_files(&link).expect("found");
        assert_eq!(script, folder.path().canonicalize().expect("there").join("dist/daemon.js"));
    }

    #[tokio::test]
    async fn what_is_not_in_the_table_is_not_proved() {
        for version in ["agent-browser 0.19.0", "agent-browser 9.9.9", ""] {
            let folder = package(version);
            let error = prove(&folder.path().join("bin/agent-browser")).await.expect_err("not proved");
            assert!(error.to_string().contains("was not tried"), "{error}");
        }
        assert!(prove(Path::new("/nowhere/agent-browser")).await.is_err());
        let folder = package("agent-browser 0.19.0");
        fs::remove_dir_all(folder.path().join("dist")).expect("removed");
        let program = folder.path().join("bin/agent-browser");
        assert!(matches!(prove(&program).await, Err(Unproved::Unknown(_))), "a script without a daemon in Node");
        fs::write(&program, program_with(None)).expect("written");
        assert_eq!(prove(&program).await, Err(Unproved::Native));
    }

    #[test]
    fn the_table_holds_versions_and_hashes() {
        for (version, hash) in PROVED {
            assert!(version.starts_with("agent-browser "), "{version}");
            assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
        }
    }
}
