//! The first program in a sandbox that has a network of its own: this program's hidden first argument `resident`.
//!
//! Decides nothing: it stands inside for as long as the session lives, brings the browser's port in, and runs what the server
//! asks for, each under the rules of `confine`, which it was given when it began. Must never run a program without them: who
//! reaches its socket from inside gains nothing by it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use super::backends::Machine;
use super::confine;
use super::plan::Plan;
use crate::exec::{ExecError, MAX_STREAM_BYTES, Program, run};
use crate::output::{Captured, RawOutput};
use crate::places::SessionPlaces;
use crate::processes::GRACE;

/// The name of the hidden subcommand.
pub const SUBCOMMAND: &str = "resident";

/// Where it takes requests, in the session's socket folder.
pub const REQUESTS: &str = "r";

/// Where the browser's port is to be had, in the same folder.
pub const PORT: &str = "p";

/// Without a browser's connection and without a request for so long, it ends and takes everything along.
const IDLE: Duration = Duration::from_mins(1);

/// How often it looks.
const TICK: Duration = Duration::from_secs(1);

/// The longest line of a request or an answer.
const MAX_LINE: u64 = 8 * 1024 * 1024;

/// Variables with which the runtime `srt` tells programs of its proxies.
const PROXIES: &[&str] =
    &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "NO_PROXY", "no_proxy"];

/// What a resident is told, as JSON in its second argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// What each program is confined to.
    pub confine: confine::Orders,
    /// This program's file.
    pub own: PathBuf,
    /// The session's socket folder.
    pub sockets: PathBuf,
    /// The browser's port.
    pub port: u16,
    /// Whether programs learn of the sandbox's proxies.
    pub proxies: bool,
}

impl Orders {
    /// For a session's sandbox that has a view of files of its own, without proxies.
    pub(super) fn new(machine: &Machine, plan: &Plan, places: &SessionPlaces) -> Self {
        Self {
            confine: confine::Orders::new(plan.behind_a_view(), machine.kernel),
            own: machine.own.clone(),
            sockets: places.sockets.clone(),
            port: plan.port(),
            proxies: false,
        }
    }
}

/// A program to run.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    path: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    directory: String,
}

/// How it ended; the kept bytes of both streams follow.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reply {
    Ended { code: i32, stdout: Size, stderr: Size },
    Failed(String),
}

/// The size of a stream.
#[derive(Debug, Serialize, Deserialize)]
struct Size {
    kept: usize,
    total: u64,
}

impl Size {
    const fn of(captured: &Captured) -> Self {
        Self { kept: captured.bytes.len(), total: captured.total }
    }
}

/// Runs the subcommand if these arguments ask for it.
pub fn from_arguments(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.nth(1)? != SUBCOMMAND {
        return None;
    }
    let Err(why) = live(arguments.next()) else { return Some(ExitCode::SUCCESS) };
    let _ = writeln!(io::stderr(), "browser-shell {SUBCOMMAND}: {why}");
    Some(ExitCode::FAILURE)
}

fn live(orders: Option<OsString>) -> Result<(), String> {
    let text = orders.ok_or("no orders")?;
    let orders: Orders =
        serde_json::from_slice(text.as_encoded_bytes()).map_err(|error| format!("the orders: {error}"))?;
    // Whatever started it: the daemon's socket is the user's alone.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    if std::process::id() == 1 {
        return stand_first(&orders.own, &text).map_err(|error| error.to_string());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.and_then(|runtime| runtime.block_on(reside(Arc::new(orders), IDLE))).map_err(|error| error.to_string())
}

/// The first process of a container has to reap what others leave behind, so it does only that, and has a second one.
fn stand_first(own: &Path, orders: &OsString) -> io::Result<()> {
    let child = std::process::Command::new(own).arg(SUBCOMMAND).arg(orders).spawn()?;
    loop {
        match rustix::process::wait(rustix::process::WaitOptions::empty()) {
            Ok(Some((pid, _))) if pid.as_raw_nonzero().get().cast_unsigned() == child.id() => return Ok(()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn reside(orders: Arc<Orders>, patience: Duration) -> io::Result<()> {
    let named = |what: &str, error: &io::Error| io::Error::other(format!("cannot listen on {what}: {error}"));
    let port = TcpListener::bind(("127.0.0.1", orders.port)).await;
    let port = port.map_err(|error| named(&format!("port {}", orders.port), &error))?;
    let path = orders.sockets.join(REQUESTS);
    let _ = fs::remove_file(&path);
    let requests = UnixListener::bind(&path).map_err(|error| named(&format!("`{}`", path.display()), &error))?;
    let mut tick = tokio::time::interval(TICK);
    let mut idle = Duration::ZERO;
    loop {
        tokio::select! {
            Ok((stream, _)) = port.accept() => {
                let orders = orders.clone();
                tokio::spawn(async move { bring_in(stream, &orders).await });
            }
            Ok((stream, _)) = requests.accept() => {
                let orders = orders.clone();
                tokio::spawn(async move { answer(stream, &orders).await });
            }
            _ = tick.tick() => {
                // Whatever is under way holds a share of the orders.
                idle = if Arc::strong_count(&orders) == 1 { idle + TICK } else { Duration::ZERO };
                if idle > patience {
                    return Ok(());
                }
            }
        }
    }
}

/// Joins a connection to the port with one to the browser outside.
async fn bring_in(mut stream: TcpStream, orders: &Orders) {
    if let Ok(mut browser) = UnixStream::connect(orders.sockets.join(PORT)).await {
        let _ = copy_bidirectional(&mut stream, &mut browser).await;
    }
}

async fn answer(stream: UnixStream, orders: &Orders) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let Ok(request) = read_line::<Request>(&mut read).await else { return };
    let cancel = CancellationToken::new();
    let program = confined(request, orders);
    let watch = {
        let cancel = cancel.clone();
        async move {
            // Nothing more is said: this returns when whoever asked has gone.
            let _ = read.read(&mut [0]).await;
            cancel.cancel();
        }
    };
    let ended = async {
        let result = run(&program, Duration::MAX, &cancel).await;
        let (reply, streams) = match result {
            Ok(output) => {
                let (stdout, stderr) = (Size::of(&output.stdout), Size::of(&output.stderr));
                let reply = Reply::Ended { code: output.exit_code, stdout, stderr };
                (reply, [output.stdout.bytes, output.stderr.bytes].concat())
            }
            Err(error) => (Reply::Failed(error.to_string()), Vec::new()),
        };
        let mut line = serde_json::to_vec(&reply).unwrap_or_default();
        line.push(b'\n');
        if write.write_all(&line).await.is_ok() {
            let _ = write.write_all(&streams).await;
        }
    };
    tokio::pin!(ended);
    tokio::select! {
        () = &mut ended => {}
        // The group is ended before the connection is.
        () = watch => ended.await,
    }
}

/// The program under the rules.
fn confined(request: Request, orders: &Orders) -> Program {
    let mut arguments = Vec::from(orders.confine.arguments());
    arguments.push(request.path.into());
    arguments.extend(request.arguments.into_iter().map(OsString::from));
    let mut environment: Vec<(Cow<'static, str>, OsString)> =
        request.environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    if orders.proxies {
        for name in PROXIES {
            if let Some(value) = std::env::var_os(name) {
                environment.retain(|(known, _)| known != name);
                environment.push(((*name).into(), value));
            }
        }
    }
    Program { path: orders.own.clone(), arguments, environment, directory: request.directory.into() }
}

/// Has the resident behind this connection run a program, to its end, the end of its time, or the cancellation of the call.
///
/// # Errors
///
/// As [`run`] has them. After an error of time or cancellation, the resident has ended the program's group.
pub async fn ask(
    stream: UnixStream,
    program: &Program,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<RawOutput, ExecError> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let finished = async {
        let mut line = serde_json::to_vec(&request(program)?)?;
        line.push(b'\n');
        write.write_all(&line).await?;
        match read_line::<Reply>(&mut read).await? {
            Reply::Failed(why) => Err(io::Error::other(why)),
            Reply::Ended { code, stdout, stderr } => Ok(RawOutput {
                exit_code: code,
                stdout: read_stream(&mut read, &stdout).await?,
                stderr: read_stream(&mut read, &stderr).await?,
            }),
        }
    };
    let result = tokio::select! {
        biased;
        result = finished => return result.map_err(ExecError::Wait),
        () = cancel.cancelled() => Err(ExecError::Cancelled),
        () = tokio::time::sleep(timeout) => Err(ExecError::TimedOut),
    };
    // It hangs up when the group has ended.
    drop(write);
    let mut rest = tokio::io::sink();
    let _ = tokio::time::timeout(GRACE * 4, tokio::io::copy(&mut read, &mut rest)).await;
    result
}

fn request(program: &Program) -> io::Result<Request> {
    let text = |text: &std::ffi::OsStr| {
        text.to_str().map(str::to_owned).ok_or_else(|| io::Error::other("an argument is no text"))
    };
    Ok(Request {
        path: text(program.path.as_os_str())?,
        arguments: program.arguments.iter().map(|argument| text(argument)).collect::<io::Result<_>>()?,
        environment: program
            .environment
            .iter()
            .map(|(name, value)| Ok((name.clone().into_owned(), text(value)?)))
            .collect::<io::Result<_>>()?,
        directory: text(program.directory.as_os_str())?,
    })
}

async fn read_line<T: serde::de::DeserializeOwned>(
    read: &mut BufReader<tokio::net::unix::OwnedReadHalf>,
) -> io::Result<T> {
    let mut line = Vec::new();
    read.take(MAX_LINE).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Err(io::Error::other("the sandbox has ended"));
    }
    Ok(serde_json::from_slice(&line)?)
}

async fn read_stream(read: &mut BufReader<tokio::net::unix::OwnedReadHalf>, size: &Size) -> io::Result<Captured> {
    if size.kept > MAX_STREAM_BYTES {
        return Err(io::Error::other("the sandbox answers with too much"));
    }
    let mut bytes = vec![0; size.kept];
    read.read_exact(&mut bytes).await?;
    Ok(Captured { bytes, total: size.total })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::tests::shell;
    use crate::sandbox::kernel::Kernel;

    const MINUTE: Duration = Duration::from_mins(1);

    /// A stand-in for `confine` that takes the two arguments of the orders off.
    fn orders(folder: &Path) -> Orders {
        use std::os::unix::fs::PermissionsExt;
        let own = folder.join("own");
        fs::write(&own, "#!/bin/sh\nshift 2\nexec \"$@\"\n").expect("written");
        fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).expect("set");
        let kernel = Kernel { landlock: 0, seccomp: false };
        let confine = confine::Orders::new(Plan::default(), kernel);
        Orders { confine, own, sockets: folder.to_owned(), port: 0, proxies: false }
    }

    async fn connect(folder: &Path) -> UnixStream {
        loop {
            if let Ok(stream) = UnixStream::connect(folder.join(REQUESTS)).await {
                return stream;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_program_runs_as_it_is_asked_for_and_both_streams_come_back_with_their_caps() {
        let folder = tempfile::tempdir().expect("a folder");
        let resident = tokio::spawn(reside(Arc::new(orders(folder.path())), MINUTE));
        let cancel = CancellationToken::new();
        let output = ask(connect(folder.path()).await, &shell("echo out; env >&2; exit 3"), MINUTE, &cancel).await;
        let output = output.expect("ran");
        assert_eq!((output.exit_code, output.stdout.to_text().as_str()), (3, "out\n"));
        assert!(output.stderr.to_text().contains("PATH=/usr/bin:/bin"), "{output:?}");
        assert!(!output.stderr.to_text().contains("CARGO"), "its environment and no other");
        let large = shell("head -c 20000000 /dev/zero");
        let output = ask(connect(folder.path()).await, &large, MINUTE, &cancel).await.expect("ran");
        assert_eq!((output.stdout.bytes.len(), output.stdout.total), (MAX_STREAM_BYTES, 20_000_000));
        let nowhere = Program { directory: "/nowhere".into(), ..shell("") };
        let error = ask(connect(folder.path()).await, &nowhere, MINUTE, &cancel).await.expect_err("refused");
        assert!(error.to_string().contains("cannot start"), "{error}");
        resident.abort();
    }

    #[tokio::test]
    async fn the_end_of_time_and_a_cancelled_call_end_the_group() {
        let folder = tempfile::tempdir().expect("a folder");
        let resident = tokio::spawn(reside(Arc::new(orders(folder.path())), MINUTE));
        for cancelled in [false, true] {
            let file = folder.path().join("pid");
            let script = format!("trap '' TERM; echo $$ > {}; while :; do sleep 1; done", file.display());
            let cancel = CancellationToken::new();
            let stream = connect(folder.path()).await;
            let asked = tokio::spawn({
                let cancel = cancel.clone();
                let timeout = if cancelled { MINUTE } else { Duration::from_secs(1) };
                async move { ask(stream, &shell(&script), timeout, &cancel).await.err() }
            });
            let pid = loop {
                match fs::read_to_string(&file) {
                    Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            };
            if cancelled {
                cancel.cancel();
            }
            let error = asked.await.expect("joined");
            assert_eq!(matches!(error, Some(ExecError::Cancelled)), cancelled, "{error:?}");
            assert_eq!(matches!(error, Some(ExecError::TimedOut)), !cancelled, "{error:?}");
            assert!(!Path::new("/proc").join(pid).exists());
            fs::remove_file(file).expect("removed");
        }
        resident.abort();
    }

    #[tokio::test]
    async fn it_ends_when_nobody_needs_it_any_more_and_not_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let resident = tokio::spawn(reside(Arc::new(orders(folder.path())), Duration::from_secs(1)));
        let output = ask(connect(folder.path()).await, &shell("sleep 4"), MINUTE, &CancellationToken::new()).await;
        assert_eq!(output.expect("a request is waited for").exit_code, 0);
        assert!(resident.await.expect("joined").is_ok());
    }

    #[tokio::test]
    async fn an_answer_with_more_than_the_cap_is_none() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let told = br#"{"ended":{"code":0,"stdout":{"kept":99999999,"total":1},"stderr":{"kept":0,"total":0}}}"#;
        let (_read, mut write) = theirs.into_split();
        write.write_all(&[told.as_slice(), b"\n"].concat()).await.expect("sent");
        let error = ask(ours, &shell(""), MINUTE, &CancellationToken::new()).await.expect_err("refused");
        assert!(error.to_string().contains("too much"), "{error}");
    }

    #[test]
    fn orders_come_out_as_they_went_in_and_other_arguments_are_for_others() {
        let orders = orders(tempfile::tempdir().expect("a folder").path());
        let text = serde_json::to_string(&orders).expect("JSON");
        assert_eq!(serde_json::from_str::<Orders>(&text).expect("read"), orders);
        assert!(from_arguments(["x", "mcp"].iter().map(OsString::from)).is_none());
        for line in [&["x", "resident"][..], &["x", "resident", "{}"]] {
            assert!(from_arguments(line.iter().map(OsString::from)).is_some(), "{line:?}");
        }
    }
}
