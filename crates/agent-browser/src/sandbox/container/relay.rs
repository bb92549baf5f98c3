//! Helper `host-relay`, which connects a sandbox with its own network to the browser, and its start by the server.
//!
//! The relay starts the sandbox, forwards connections from inside to the browser's port, and ends with the sandbox. It carries
//! the session's marker, so that it ends with the session even after the server was killed.
//!
//! Invariants: it connects to the configured port and nothing else.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::sandbox::container::config::{BROWSER_SOCKET, REQUEST_SOCKET, RelayConfig, RelayStart};
use crate::sandbox::container::docker::{self, EngineError};
use crate::sandbox::interface::SandboxError;
use browser_shell_system::os::exec::ExecError;
use browser_shell_system::os::processes::{SECOND_MARKER, SOCKET_MARKER, signal_group};
use browser_shell_system::os::reexec::{ConfigError, HelperArguments, failure_prefix, parse_config};
use browser_shell_system::paths::SessionPaths;

/// The hidden first argument.
pub const SUBCOMMAND: &str = "host-relay";

/// The line that the relay prints when the sandbox init takes requests.
const READY: &str = "ready";

/// Maximum number of bytes of a message that are kept.
const MAX_MESSAGE: u64 = 4096;

/// Interval between two attempts to connect to the sandbox init, and the pause after a failed `accept`.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum number of simultaneous connections to the browser; others wait.
const MAX_CONNECTIONS: usize = 64;

/// Time limit of a sandbox's start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit for the message of a sandbox that did not start.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(1);

/// Error of the host relay.
#[derive(Debug, Error)]
pub enum RelayError {
    /// The configuration is missing or invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration names no program.
    #[error("no program")]
    NoProgram,
    /// The program that makes the sandbox could not be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The program that makes the sandbox ended.
    #[error("the sandbox ended ({status}): {message}")]
    Ended {
        /// The program's exit status.
        status: std::process::ExitStatus,
        /// The beginning of its error output.
        message: String,
    },
    /// The container engine failed, or the container ended.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Another system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs the host relay until the sandbox ends or SIGTERM arrives.
///
/// # Errors
///
/// If the sandbox ends by itself.
pub fn run(arguments: HelperArguments<'_>) -> Result<(), RelayError> {
    let config: RelayConfig = parse_config(arguments)?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    executor.block_on(serve(&config))
}

async fn serve(config: &RelayConfig) -> Result<(), RelayError> {
    let socket = config.sockets.join(BROWSER_SOCKET);
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket)?;
    let stop = CancellationToken::new();
    let sandbox = async {
        match &config.start {
            // Ending the session ends the program too: it has the marker and is in the relay's process group.
            RelayStart::Program { line, environment, directory } => tokio::select! {
                ended = run_program(line, environment, directory) => ended,
                () = stop.cancelled() => Ok(()),
            },
            RelayStart::Container { engine, create } => Ok(docker::run_container(engine, create, &stop).await?),
        }
    };
    let mut term = signal(SignalKind::terminate())?;
    let stop_on_term = async {
        term.recv().await;
        stop.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = sandbox => ended,
        () = stop_on_term => Ok(()),
        () = forward(listener, config.port) => Ok(()),
        () = announce_ready(&config.sockets) => Ok(()),
    }
}

/// Runs the program around the sandbox init to its end, which is an error.
async fn run_program(line: &[String], environment: &[(String, String)], directory: &Path) -> Result<(), RelayError> {
    let (program, arguments) = line.split_first().ok_or(RelayError::NoProgram)?;
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .envs(std::env::var_os(SECOND_MARKER).map(|value| (SECOND_MARKER, value)))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| RelayError::Start { program: program.clone(), source })?;
    let mut message = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        let mut chunk = [0; 1024];
        // Reads to the end, so that the program never blocks, and keeps the beginning, which has the reason.
        while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
            if (message.len() as u64) < MAX_MESSAGE {
                message.extend_from_slice(chunk.get(..count).unwrap_or_default());
            }
        }
    }
    let status = child.wait().await?;
    Err(RelayError::Ended { status, message: String::from_utf8_lossy(&message).trim().to_owned() })
}

/// Joins each connection from inside with one to the browser's port. Never returns.
async fn forward(listener: UnixListener, port: u16) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let permit = permits.clone().acquire_owned().await;
        let Ok((mut inside, _)) = listener.accept().await else {
            tokio::time::sleep(POLL_INTERVAL).await;
            continue;
        };
        tokio::spawn(async move {
            let _permit = permit;
            if let Ok(mut browser) = TcpStream::connect(("127.0.0.1", port)).await {
                let _ = copy_bidirectional(&mut inside, &mut browser).await;
            }
        });
    }
}

/// Prints [`READY`] once the sandbox init takes requests. Never returns.
async fn announce_ready(sockets: &Path) {
    let socket = sockets.join(REQUEST_SOCKET);
    while UnixStream::connect(&socket).await.is_err() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    // The server may have given up.
    let _ = writeln!(io::stdout(), "{READY}");
    std::future::pending::<()>().await;
}

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
        .arg(SUBCOMMAND)
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
    let message = message.strip_prefix(&failure_prefix(SUBCOMMAND)).unwrap_or(message);
    Err(io::Error::other(if message.is_empty() { "the sandbox did not start in time" } else { message }.to_owned()))
}

#[cfg(test)]
mod tests;
