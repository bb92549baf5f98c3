//! What stands outside of a sandbox that has a network of its own: this program's hidden first argument `outside`.
//!
//! Decides nothing: it starts the sandbox with its resident, forwards connections from inside to the browser's port, and ends
//! with it. It carries the session's mark, so that whoever ends the session ends it too, also after the server was killed.
//! Must never connect to anything but the one port that it was told.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use super::engine;
use super::resident;
use crate::exec::ExecError;
use crate::places::SessionPlaces;
use crate::processes::{SECOND_MARK, signal_group};

/// The name of the hidden subcommand.
pub const SUBCOMMAND: &str = "outside";

/// What it says when the resident takes requests.
const READY: &str = "ready";

/// How long a sandbox may take to come up.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often to look whether it has.
const POLL: Duration = Duration::from_millis(10);

/// How much is kept of what a sandbox that does not start says.
const SAID: u64 = 4096;

/// The most connections to the browser at the same time; others wait.
const MOST: usize = 64;

/// What it is told, as JSON in its second argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    /// The session's socket folder.
    pub sockets: PathBuf,
    /// The browser's port, here.
    pub port: u16,
    /// What to start.
    pub start: Start,
}

/// What makes the sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// A program around the resident.
    Program {
        /// The program and its arguments.
        line: Vec<String>,
        /// Its whole environment, but for the session's mark.
        environment: Vec<(String, String)>,
        /// Its working directory.
        directory: PathBuf,
    },
    /// A container of the engine behind a socket.
    Container {
        /// The socket.
        engine: PathBuf,
        /// The request that makes it.
        create: Value,
    },
}

/// A connection to the session's resident, which is started if there is none.
///
/// # Errors
///
/// `Start` with what the sandbox said, or that it was not there in time.
pub async fn connect(
    own: &Path,
    places: &SessionPlaces,
    starting: &Mutex<()>,
    orders: impl FnOnce() -> io::Result<Orders>,
    cancel: &CancellationToken,
) -> Result<UnixStream, ExecError> {
    let socket = places.sockets.join(resident::REQUESTS);
    if let Ok(stream) = UnixStream::connect(&socket).await {
        return Ok(stream);
    }
    let failed = |source| ExecError::Start { path: own.to_owned(), source };
    let _one = starting.lock().await;
    if let Ok(stream) = UnixStream::connect(&socket).await {
        return Ok(stream);
    }
    tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ExecError::Cancelled),
        started = start(own, places, orders) => started.map_err(failed)?,
    }
    UnixStream::connect(&socket).await.map_err(failed)
}

async fn start(own: &Path, places: &SessionPlaces, orders: impl FnOnce() -> io::Result<Orders>) -> io::Result<()> {
    let mut child = Command::new(own)
        .arg(SUBCOMMAND)
        .arg(serde_json::to_string(&orders()?)?)
        .env_clear()
        .env(SECOND_MARK, places.tmp())
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut line = String::new();
    if let Some(stdout) = stdout {
        let mut stdout = BufReader::new(stdout.take(SAID));
        let _ = tokio::time::timeout(PATIENCE, stdout.read_line(&mut line)).await;
    }
    if line.trim() == READY {
        // Who starts it here need not be who ends it.
        tokio::spawn(async move { child.wait().await });
        return Ok(());
    }
    if let Some(group) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        signal_group(group, rustix::process::Signal::TERM);
    }
    let mut said = Vec::new();
    if let Some(stderr) = stderr {
        let _ = tokio::time::timeout(Duration::from_secs(1), stderr.take(SAID).read_to_end(&mut said)).await;
    }
    let said = String::from_utf8_lossy(&said);
    let said = said.trim();
    Err(io::Error::other(if said.is_empty() { "the sandbox did not come up in time" } else { said }.to_owned()))
}

/// Runs the subcommand if these arguments ask for it.
pub fn from_arguments(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.nth(1)? != SUBCOMMAND {
        return None;
    }
    let Err(why) = stand(arguments.next()) else { return Some(ExitCode::SUCCESS) };
    let _ = writeln!(io::stderr(), "{why}");
    Some(ExitCode::FAILURE)
}

fn stand(orders: Option<OsString>) -> io::Result<()> {
    let text = orders.ok_or_else(|| io::Error::other("no orders"))?;
    let orders: Orders = serde_json::from_slice(text.as_encoded_bytes())?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let port = orders.sockets.join(resident::PORT);
        let _ = fs::remove_file(&port);
        let listener = UnixListener::bind(&port)?;
        let stop = CancellationToken::new();
        let ended = async {
            match &orders.start {
                // Whoever ends this one ends that one too: it has the mark, and is in the group.
                Start::Program { line, environment, directory } => tokio::select! {
                    ended = around(line, environment, directory) => ended,
                    () = stop.cancelled() => Ok(()),
                },
                Start::Container { engine, create } => engine::run(engine, create, &stop).await,
            }
        };
        let mut term = signal(SignalKind::terminate())?;
        let watch = async {
            term.recv().await;
            stop.cancel();
            std::future::pending::<io::Result<()>>().await
        };
        tokio::select! {
            ended = ended => ended,
            never = watch => never,
            never = forward(listener, orders.port) => never,
            never = say_ready(&orders.sockets) => never,
        }
    })
}

/// Runs the program around the resident to its end.
async fn around(line: &[String], environment: &[(String, String)], directory: &Path) -> io::Result<()> {
    let (program, arguments) = line.split_first().ok_or_else(|| io::Error::other("no program"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .envs(std::env::var_os(SECOND_MARK).map(|mark| (SECOND_MARK, mark)))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::other(format!("cannot start `{program}`: {error}")))?;
    let mut said = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        let mut chunk = [0; 1024];
        // To its end, so that nothing waits; the beginning says what matters.
        while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
            if (said.len() as u64) < SAID {
                said.extend_from_slice(chunk.get(..count).unwrap_or_default());
            }
        }
    }
    let status = child.wait().await?;
    let said = String::from_utf8_lossy(&said);
    Err(io::Error::other(format!("the sandbox ended ({status}): {}", said.trim())))
}

/// Joins each connection from inside with one to the browser's port.
async fn forward(listener: UnixListener, port: u16) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let place = places.clone().acquire_owned().await;
        let Ok((mut inside, _)) = listener.accept().await else {
            tokio::time::sleep(POLL).await;
            continue;
        };
        tokio::spawn(async move {
            let _place = place;
            if let Ok(mut browser) = TcpStream::connect(("127.0.0.1", port)).await {
                let _ = copy_bidirectional(&mut inside, &mut browser).await;
            }
        });
    }
}

/// Says once that the resident takes requests.
async fn say_ready(sockets: &Path) -> io::Result<()> {
    let socket = sockets.join(resident::REQUESTS);
    while UnixStream::connect(&socket).await.is_err() {
        tokio::time::sleep(POLL).await;
    }
    // Whoever waited for it may have gone.
    let _ = writeln!(io::stdout(), "{READY}");
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    fn places(root: &Path) -> SessionPlaces {
        let places = SessionPlaces::below(root);
        places.make().expect("made");
        places
    }

    #[tokio::test]
    async fn connections_from_inside_reach_the_browsers_port() {
        let root = tempfile::tempdir().expect("a folder");
        let browser = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let port = browser.local_addr().expect("known").port();
        let socket = root.path().join(resident::PORT);
        let forwarding = tokio::spawn(forward(UnixListener::bind(&socket).expect("bound"), port));
        let mut inside = UnixStream::connect(&socket).await.expect("connected");
        inside.write_all(b"ping").await.expect("sent");
        let (mut outside, _) = browser.accept().await.expect("accepted");
        let mut heard = [0; 4];
        outside.read_exact(&mut heard).await.expect("heard");
        assert_eq!(&heard, b"ping");
        drop(outside);
        assert_eq!(inside.read(&mut heard).await.expect("ended"), 0);
        forwarding.abort();
    }

    #[tokio::test]
    async fn a_sandbox_that_does_not_come_up_says_why() {
        let root = tempfile::tempdir().expect("a folder");
        let places = places(root.path());
        let orders = || {
            Ok(Orders {
                sockets: places.sockets.clone(),
                port: 1,
                start: Start::Program { line: Vec::new(), environment: Vec::new(), directory: "/".into() },
            })
        };
        let own = root.path().join("own");
        fs::write(&own, "#!/bin/sh\necho it broke >&2\n").expect("written");
        fs::set_permissions(&own, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("set");
        let cancel = CancellationToken::new();
        let error = connect(&own, &places, &Mutex::default(), orders, &cancel).await.expect_err("refused");
        assert!(error.to_string().ends_with(": it broke"), "{error}");
        cancel.cancel();
        let error = connect(&own, &places, &Mutex::default(), orders, &cancel).await.expect_err("refused");
        assert!(matches!(error, ExecError::Cancelled), "{error}");
        let _resident = UnixListener::bind(places.sockets.join(resident::REQUESTS)).expect("bound");
        connect(&own, &places, &Mutex::default(), orders, &CancellationToken::new())
            .await
            .expect("control: it is there");
    }

    #[tokio::test]
    async fn what_a_program_says_at_its_end_is_the_error() {
        let line = ["/bin/sh", "-c", "echo no namespaces >&2; exit 3"].map(str::to_owned);
        let error = around(&line, &[], Path::new("/")).await.expect_err("ended").to_string();
        assert!(error.contains("exit status: 3") && error.ends_with("no namespaces"), "{error}");
    }

    #[test]
    fn orders_come_out_as_they_went_in_and_other_arguments_are_for_others() {
        let start = Start::Container { engine: "/e".into(), create: serde_json::json!({"Image": "x"}) };
        let orders = Orders { sockets: "/s".into(), port: 9222, start };
        let text = serde_json::to_string(&orders).expect("JSON");
        assert_eq!(serde_json::from_str::<Orders>(&text).expect("read"), orders);
        assert!(from_arguments(["x", "mcp"].iter().map(OsString::from)).is_none());
        for line in [&["x", "outside"][..], &["x", "outside", "{}"]] {
            assert!(from_arguments(line.iter().map(OsString::from)).is_some(), "{line:?}");
        }
    }
}
