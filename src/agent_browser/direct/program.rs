//! Program of a daemon: the hash of its files, and the check that a process runs it.
//!
//! A daemon in Node is a folder of scripts. A native agent-browser is its own daemon, in one file.

use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use sha2::{Digest, Sha256};

use crate::installation::detect::{DAEMON, Kind, package};
use crate::os::processes::{executable_of, script_of};

/// Script of the daemon.
const SCRIPT: &str = "daemon.js";

/// Maximum size in bytes of a script; the real ones are smaller.
const MAX_SCRIPT_BYTES: u64 = 16 * 1024 * 1024;

/// Maximum size in bytes of a native agent-browser; the real ones are smaller.
const MAX_BINARY_BYTES: u64 = 64 * 1024 * 1024;

/// Size in bytes of a read.
const CHUNK_BYTES: usize = 64 * 1024;

/// Program that a daemon runs, as it was when it was hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DaemonProgram {
    /// Script for Node, with links resolved.
    Script(PathBuf),
    /// Native program.
    Binary {
        /// Path of the program.
        path: PathBuf,
        /// File that was hashed.
        file: FileId,
    },
}

/// File, whatever its path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

/// Relation of a process to the program of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// It runs the program.
    Program,
    /// It runs the file that has replaced the program since it was hashed.
    Replacement,
    Other,
}

impl FileId {
    /// Returns the file that this metadata is of.
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl DaemonProgram {
    /// Returns the program of an agent-browser's daemon, and a hash of it.
    pub(super) fn hash(program: &Path) -> Result<(Self, String), String> {
        let program = program.canonicalize().map_err(|error| unusable(program, &error))?;
        if Kind::of(&program).is_native() { hash_binary(program) } else { hash_scripts(&program) }
    }

    /// Returns true if the daemon is a native program.
    pub(crate) const fn is_native(&self) -> bool {
        matches!(self, Self::Binary { .. })
    }

    /// Determines whether a process runs this program.
    pub(super) fn run_by(&self, pid: Pid) -> Runs {
        match self {
            Self::Script(script) if script_of(pid).as_ref() == Some(script) => Runs::Program,
            Self::Script(_) => Runs::Other,
            Self::Binary { path, file } => {
                let running = executable_of(pid).map(|metadata| FileId::of(&metadata));
                let installed = || std::fs::metadata(path).ok().map(|metadata| FileId::of(&metadata));
                match running {
                    Some(running) if running == *file => Runs::Program,
                    Some(running) if Some(running) == installed() => Runs::Replacement,
                    _ => Runs::Other,
                }
            }
        }
    }
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("`{}`: {error}", path.display())
}

/// Returns a native program, and the hash of its content.
fn hash_binary(path: PathBuf) -> Result<(DaemonProgram, String), String> {
    let mut binary = File::open(&path).map_err(|error| unusable(&path, &error))?;
    let metadata = binary.metadata().map_err(|error| unusable(&path, &error))?;
    if metadata.len() > MAX_BINARY_BYTES {
        return Err(unusable(&path, &"too large for an agent-browser"));
    }
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = binary.read(&mut chunk).map_err(|error| unusable(&path, &error))?;
        if count == 0 {
            break;
        }
        hash.update(chunk.get(..count).unwrap_or_default());
    }
    Ok((DaemonProgram::Binary { path, file: FileId::of(&metadata) }, to_hex(hash)))
}

/// Returns the script of a daemon in Node, and a hash of the names and contents of all scripts in its folder.
fn hash_scripts(program: &Path) -> Result<(DaemonProgram, String), String> {
    let folder = package(program).join(DAEMON);
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
    Ok((DaemonProgram::Script(folder.join(SCRIPT)), to_hex(hash)))
}

fn to_hex(hash: Sha256) -> String {
    let mut digest = String::new();
    for byte in hash.finalize() {
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_browser::direct::supported::tests::package;
    use crate::installation::detect::tests::program_with;
    use crate::installation::locate::find_on_path;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};

    #[test]
    fn daemon_hash_covers_exactly_the_scripts() {
        let folder = package("");
        let program = folder.path().join("bin/agent-browser");
        let digest = || DaemonProgram::hash(&program).expect("hashed").1;
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
        let (program, _) = DaemonProgram::hash(&link).expect("found");
        let script = folder.path().canonicalize().expect("there").join("dist/daemon.js");
        assert_eq!(program, DaemonProgram::Script(script));
    }

    #[test]
    fn native_hash_covers_content_and_not_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let [first, second, other] = ["first", "second", "other"].map(|name| folder.path().join(name));
        let content = program_with(None);
        fs::write(&first, &content).expect("written");
        fs::copy(&first, &second).expect("copied");
        fs::write(&other, [content, vec![0]].concat()).expect("written");
        let [first, second, other] = [first, second, other].map(|path| DaemonProgram::hash(&path).expect("hashed"));
        assert!(first.0.is_native());
        assert_eq!(first.1, second.1, "another name");
        assert_ne!(first.1, other.1, "another content");
    }

    #[test]
    fn process_of_another_file_does_not_run_native_program() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("agent-browser");
        // A program that does the same under every name, which tools such as `sleep` do not where one file is all of them.
        let original = find_on_path("bash").expect("bash on PATH");
        // By another process: a program that another test starts meanwhile would have a copy of our descriptor for a moment, and a
        // file that is open for writing is not executed.
        let copy_program = || {
            let copied = Command::new("cp").arg(&original).arg(&path).status().expect("started");
            assert!(copied.success());
        };
        copy_program();
        let file = FileId::of(&fs::metadata(&path).expect("there"));
        let program = DaemonProgram::Binary { path: path.clone(), file };
        let relation = |program: &DaemonProgram| {
            // It ends with its input, which stays open meanwhile.
            let mut child =
                Command::new(&path).args(["-c", "read -r line"]).stdin(Stdio::piped()).spawn().expect("started");
            let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
            let relation = program.run_by(pid);
            child.kill().expect("ended");
            child.wait().expect("waited");
            relation
        };
        assert_eq!(relation(&program), Runs::Program, "control");
        // The same content at the same path, but not the file that was hashed.
        fs::rename(&path, folder.path().join("old")).expect("renamed");
        copy_program();
        assert_eq!(relation(&program), Runs::Replacement);
        let elsewhere = DaemonProgram::Binary { path: folder.path().join("old"), file };
        assert_eq!(relation(&elsewhere), Runs::Other);
    }
}
