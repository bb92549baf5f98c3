//! Programs: those on PATH, and the execution of one with a timeout.
//!
//! Invariants:
//! - there is no shell, and the child inherits nothing of this process's environment;
//! - at most [`MAX_STREAM_BYTES`] of each output stream are kept;
//! - after a timeout or a cancellation, nothing of the child's process group is left.
//!
//! Requirements 1.2, 1.7, 1.10 and 1.12.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::os::kernel::describe;
use crate::os::processes::{TERM_TIMEOUT, signal_group};
use browser_shell_core::decision::Decision;
use browser_shell_core::output::{CapturedStream, RawOutput};

/// Maximum number of bytes of each stream that are kept. The rest is read and counted, so that the child does not block, but discarded.
pub const MAX_STREAM_BYTES: usize = 8 * 1024 * 1024;

/// Time that streams may stay open after the child has ended: a process that it left behind can hold them.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Folders of system programs; a child's PATH is these and the folder of `node`.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable, as an absolute path.
    pub path: PathBuf,
    /// The arguments.
    pub arguments: Vec<OsString>,
    /// The complete environment.
    pub environment: Vec<(Cow<'static, str>, OsString)>,
    /// The working directory.
    pub directory: PathBuf,
}

/// Error of a run.
#[derive(Debug, Error)]
pub enum ExecError {
    /// The program could not be started.
    #[error("cannot start `{}`: {}", path.display(), describe(source))]
    Start {
        /// The program.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The program could not be waited for.
    #[error("cannot wait for the program: {}", describe(.0))]
    Wait(io::Error),
    /// The timeout passed; the process group was ended.
    #[error("the program did not end in time")]
    TimedOut,
    /// The client canceled the call; the process group was ended.
    #[error("the call was canceled")]
    Cancelled,
    /// The timeout passed while agent-browser's daemon was starting. The command did not run, and the start goes on.
    #[error("agent-browser's daemon did not start in time")]
    Starting,
    /// The request was sent and no answer arrived: the action may have been done.
    #[error("agent-browser's daemon did not answer")]
    Unknown,
    /// The program was not run, because what it runs in refused.
    #[error("{0}")]
    Refused(Box<Decision>),
}

/// Runs a program until it ends, the timeout passes, or the call is canceled.
///
/// # Errors
///
/// See [`ExecError`]. After an error nothing of the process group is left running.
pub async fn run(program: &Program, timeout: Duration, cancel: &CancellationToken) -> Result<RawOutput, ExecError> {
    let mut child = spawn(program).map_err(|source| ExecError::Start { path: program.path.clone(), source })?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    // Dropping this future must not leave the group running.
    let mut guard = GroupGuard(group);
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let finished = async {
        let mut kept = (CapturedStream::default(), CapturedStream::default());
        let status = {
            let streams = async {
                tokio::join!(capture(stdout, &mut kept.0), capture(stderr, &mut kept.1));
            };
            tokio::pin!(streams);
            tokio::select! {
                status = child.wait() => {
                    let _ = tokio::time::timeout(DRAIN_TIMEOUT, &mut streams).await;
                    status
                }
                () = &mut streams => child.wait().await,
            }
        };
        status.map(|status| RawOutput { exit_code: exit_code(status), stdout: kept.0, stderr: kept.1 })
    };
    let result = tokio::select! {
        // A result that is ready wins over a timeout that has just passed.
        biased;
        result = finished => result.map_err(ExecError::Wait),
        () = cancel.cancelled() => Err(ExecError::Cancelled),
        () = tokio::time::sleep(timeout) => Err(ExecError::TimedOut),
    };
    if result.is_err() {
        end_group(&mut child, group).await;
    }
    guard.0 = None;
    result
}

fn spawn(program: &Program) -> io::Result<Child> {
    Command::new(&program.path)
        .args(&program.arguments)
        .env_clear()
        .envs(program.environment.iter().map(|(name, value)| (name.as_ref(), value)))
        .current_dir(&program.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// Ends the group with TERM, then KILL, and reaps the child.
async fn end_group(child: &mut Child, group: Option<Pid>) {
    if let Some(group) = group {
        signal_group(group, Signal::TERM);
        let _ = tokio::time::timeout(TERM_TIMEOUT, child.wait()).await;
        // Even if the leader has ended: others of the group may ignore TERM.
        signal_group(group, Signal::KILL);
    }
    let _ = child.kill().await;
}

/// Kills the group when a run is dropped before its end.
struct GroupGuard(Option<Pid>);

impl Drop for GroupGuard {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            signal_group(group, Signal::KILL);
        }
    }
}

/// Reads a stream to its end and keeps what fits below the limit.
async fn capture(stream: Option<impl AsyncRead + Unpin>, kept: &mut CapturedStream) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                let room = MAX_STREAM_BYTES.saturating_sub(kept.bytes.len()).min(count);
                kept.bytes.extend_from_slice(buffer.get(..room).unwrap_or_default());
                kept.total += count as u64;
            }
        }
    }
}

/// Returns the exit code as a shell reports it: 128 plus the signal's number if a signal ended the process.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Returns the first program of this name in an absolute folder of PATH.
#[must_use]
pub fn find_on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    check_program(file).is_ok()
}

/// Checks that this user can start a program.
///
/// # Errors
///
/// The reason why not.
pub fn check_program(file: &Path) -> io::Result<()> {
    if !std::fs::metadata(file)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    Ok(rustix::fs::access(file, rustix::fs::Access::EXEC_OK)?)
}

/// Returns the PATH of children: the folder of `node`, which a Node daemon runs on, and the system's folders.
pub fn child_path() -> OsString {
    let mut path = OsString::new();
    if let Some(folder) = find_on_path("node").as_deref().and_then(Path::parent)
        && !std::env::split_paths(SYSTEM_PATH).any(|known| known == folder)
    {
        path.push(folder);
        path.push(":");
    }
    path.push(SYSTEM_PATH);
    path
}

#[cfg(test)]
mod tests;
