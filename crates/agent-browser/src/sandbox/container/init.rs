//! Helper `sandbox-init`: the first program in a sandbox with its own network.
//!
//! It lives as long as the session, joins connections to the browser's port with the host relay, and runs the programs that
//! the server requests.
//!
//! Invariants: every program runs confined by the configuration that the init started with, so that its socket, which programs
//! in the sandbox can reach, grants them no new rights.

use std::fs;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::sandbox::container::config::{BROWSER_SOCKET, InitConfig, REQUEST_SOCKET};
use crate::sandbox::container::protocol::{ContainerReply, ContainerRequest, StreamSize, read_line, write_line};
use browser_shell_system::os::exec::{Program, run as run_program};
use browser_shell_system::os::reexec::{ConfigError, HelperArguments, parse_config};

/// The hidden first argument.
pub const SUBCOMMAND: &str = "sandbox-init";

/// Time without a browser connection and without a request after which the init ends, and the sandbox with it.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Interval between two checks for idleness.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Environment variables that name srt's proxies to programs.
const PROXY_VARIABLES: &[&str] =
    &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "NO_PROXY", "no_proxy"];

/// Error of the sandbox init.
#[derive(Debug, Error)]
pub enum InitError {
    /// The configuration is missing or invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A port or socket cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The port or the socket.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// Another system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs the sandbox init until it is idle.
///
/// # Errors
///
/// If the configuration is invalid, or the sockets cannot be created.
pub fn run(arguments: HelperArguments<'_>) -> Result<(), InitError> {
    let config: InitConfig = parse_config(arguments)?;
    // Whatever umask was inherited: the daemon's socket is for this user only.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    if std::process::id() == 1 {
        return Ok(reap_until_init_ends(&config)?);
    }
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    executor.block_on(serve(Arc::new(config), IDLE_TIMEOUT))
}

/// Starts the init as a second process and reaps orphans, which is the duty of a container's first process.
fn reap_until_init_ends(config: &InitConfig) -> io::Result<()> {
    let child =
        std::process::Command::new(&config.executable).arg(SUBCOMMAND).arg(serde_json::to_string(config)?).spawn()?;
    loop {
        match rustix::process::wait(rustix::process::WaitOptions::empty()) {
            Ok(Some((pid, _))) if pid.as_raw_nonzero().get().cast_unsigned() == child.id() => return Ok(()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn serve(config: Arc<InitConfig>, idle_timeout: Duration) -> Result<(), InitError> {
    let listen_error = |address: String| move |source| InitError::Listen { address, source };
    let browser_port =
        TcpListener::bind(("127.0.0.1", config.port)).await.map_err(listen_error(format!("port {}", config.port)))?;
    let path = config.sockets.join(REQUEST_SOCKET);
    let _ = fs::remove_file(&path);
    let requests = UnixListener::bind(&path).map_err(listen_error(format!("`{}`", path.display())))?;
    let connections = TaskTracker::new();
    let mut interval = tokio::time::interval(IDLE_CHECK_INTERVAL);
    let mut idle = Duration::ZERO;
    loop {
        tokio::select! {
            Ok((stream, _)) = browser_port.accept() => {
                let config = config.clone();
                connections.spawn(async move { join_browser(stream, &config).await });
            }
            Ok((stream, _)) = requests.accept() => {
                let config = config.clone();
                connections.spawn(async move { handle_request(stream, &config).await });
            }
            _ = interval.tick() => {
                idle = if connections.is_empty() { idle + IDLE_CHECK_INTERVAL } else { Duration::ZERO };
                if idle > idle_timeout {
                    return Ok(());
                }
            }
        }
    }
}

/// Joins a connection to the browser's port with the host relay.
async fn join_browser(mut stream: TcpStream, config: &InitConfig) {
    if let Ok(mut browser) = UnixStream::connect(config.sockets.join(BROWSER_SOCKET)).await {
        let _ = copy_bidirectional(&mut stream, &mut browser).await;
    }
}

/// Runs the requested program and sends its result. Ends the program when the client closes the connection.
async fn handle_request(stream: UnixStream, config: &InitConfig) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let Ok(request) = read_line::<ContainerRequest>(&mut read).await else { return };
    let cancel = CancellationToken::new();
    let program = confined(request, config);
    let disconnected = {
        let cancel = cancel.clone();
        async move {
            // The client sends nothing more, so this returns when it has closed the connection.
            let _ = read.read(&mut [0]).await;
            cancel.cancel();
        }
    };
    let finished = async {
        let (reply, streams) = match run_program(&program, Duration::MAX, &cancel).await {
            Ok(output) => {
                let (stdout, stderr) = (StreamSize::of(&output.stdout), StreamSize::of(&output.stderr));
                let reply = ContainerReply::Ended { code: output.exit_code, stdout, stderr };
                (reply, [output.stdout.bytes, output.stderr.bytes].concat())
            }
            Err(error) => (ContainerReply::Failed(error.to_string()), Vec::new()),
        };
        if write_line(&mut write, &reply).await.is_ok() {
            let _ = write.write_all(&streams).await;
        }
    };
    tokio::pin!(finished);
    tokio::select! {
        () = &mut finished => {}
        // The process group ends before this side closes the connection.
        () = disconnected => finished.await,
    }
}

/// Returns the requested program, confined.
fn confined(request: ContainerRequest, config: &InitConfig) -> Program {
    let mut program = request.into_program();
    let mut arguments = Vec::from(config.confine.arguments());
    arguments.push(program.path.into());
    arguments.append(&mut program.arguments);
    let proxies = PROXY_VARIABLES.iter().filter(|_| config.proxies);
    for (name, value) in proxies.filter_map(|name| Some((*name, std::env::var_os(name)?))) {
        program.environment.retain(|(known, _)| known != name);
        program.environment.push((name.into(), value));
    }
    Program { path: config.executable.clone(), arguments, ..program }
}

#[cfg(test)]
mod tests;
