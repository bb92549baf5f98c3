//! Start of a sandbox with its own network, used by the server.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::config::{REQUEST_SOCKET, RelayConfig};
use super::relay::{self, MAX_MESSAGE, READY};
use crate::sandbox::interface::SandboxError;
use browser_shell_system::os::exec::ExecError;
use browser_shell_system::os::processes::{SECOND_MARKER, SOCKET_MARKER, signal_group};
use browser_shell_system::os::reexec::failure_prefix;
use browser_shell_system::paths::SessionPaths;

/// Time limit of a sandbox's start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit for the message of a sandbox that did not start.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(1);

/// Connects to the session's sandbox init. Starts the sandbox if it does not run.
///
/// # Errors
///
/// If the sandbox fails, with its message, or does not start in time.
pub async fn connect(
    executable: &Path,
    paths: &SessionPaths,
    start_lock: &Mutex<()>,
    config: impl FnOnce() -> Result<RelayConfig, SandboxError>,
    cancel: &CancellationToken,
) -> Result<UnixStream, SandboxError> {
    let socket = paths.sockets.join(REQUEST_SOCKET);
    if let Ok(stream) = UnixStream::connect(&socket).await {
        return Ok(stream);
    }
    let _guard = start_lock.lock().await;
    if let Ok(stream) = UnixStream::connect(&socket).await {
        return Ok(stream);
    }
    let config = config()?;
    tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ExecError::Cancelled.into()),
        started = start(executable, paths, &config) => started.map_err(SandboxError::Execution)?,
    }
    UnixStream::connect(&socket).await.map_err(SandboxError::Execution)
}

/// Starts the host relay and waits until the sandbox is ready.
async fn start(executable: &Path, paths: &SessionPaths, config: &RelayConfig) -> io::Result<()> {
    let mut child = Command::new(executable)
        .arg(relay::SUBCOMMAND)
        .arg(serde_json::to_string(config)?)
        .env_clear()
        .env(SECOND_MARKER, paths.tmp())
        .env(SOCKET_MARKER, &paths.sockets)
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut line = String::new();
    if let Some(stdout) = stdout {
        let mut stdout = BufReader::new(stdout.take(MAX_MESSAGE));
        let _ = tokio::time::timeout(START_TIMEOUT, stdout.read_line(&mut line)).await;
    }
    if line.trim() == READY {
        // Reaps the relay. Another process may end it.
        tokio::spawn(async move { child.wait().await });
        return Ok(());
    }
    if let Some(group) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        signal_group(group, Signal::TERM);
    }
    let mut message = Vec::new();
    if let Some(stderr) = stderr {
        let _ = tokio::time::timeout(MESSAGE_TIMEOUT, stderr.take(MAX_MESSAGE).read_to_end(&mut message)).await;
    }
    let message = String::from_utf8_lossy(&message);
    let message = message.trim();
    let message = message.strip_prefix(&failure_prefix(relay::SUBCOMMAND)).unwrap_or(message);
    Err(io::Error::other(if message.is_empty() { "the sandbox did not start in time" } else { message }.to_owned()))
}

#[cfg(test)]
mod tests;
