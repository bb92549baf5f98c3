//! Soak test: calls through one server over stdio, in eight parallel sessions, with the stand-in for
//! agent-browser. Every reply must match its request, and resource use (memory, descriptors, processes, folders) must
//! not grow with the number of calls.
//!
//! It makes no network connection: all addresses are literal, so no name is resolved.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::harness::server::{debugging_port, stand_in};

const SESSIONS: usize = 8;
const SESSION: &str = "soak";

/// Upper limit for waiting, so that a failing test does not hang.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Allowed growth after the warm-up. Half a kilobyte retained for each of 4,000 calls would exceed it.
const GROWTH_KIB: u64 = 2_048;

/// Finds every process, descriptor and folder that calls leave, and large leaks of memory.
#[test]
fn eight_hundred_calls_leak_nothing() {
    calls_leak_nothing(200, 800);
}

#[test]
#[ignore = "takes 30 s of a core: run ./dev test all --part 9"]
fn five_thousand_calls_leak_nothing() {
    calls_leak_nothing(1_000, 5_000);
}

/// Measures after `warm_up` calls and after `calls`.
fn calls_leak_nothing(warm_up: usize, calls: usize) {
    let mut server = Server::start();

    server.run(0..warm_up);
    let warm = server.resources_at_rest();

    server.run(warm_up..calls);
    let end = server.resources_at_rest();

    assert_eq!(end.dead, 0, "the server has zombie children");
    assert_eq!(end.helpers, warm.helpers, "the server has other children than before");
    assert!(end.descriptors <= warm.descriptors, "descriptors grew from {} to {}", warm.descriptors, end.descriptors);
    assert!(end.rss_kib <= warm.rss_kib + GROWTH_KIB, "memory grew from {} KiB to {} KiB", warm.rss_kib, end.rss_kib);

    // Control: at this point processes and folders exist, and the test finds them.
    let sessions = session_processes(&server.runtime);
    assert!(!sessions.is_empty(), "control: no process of a session was found");
    assert!(sessions.len() <= SESSIONS, "{} processes for {SESSIONS} sessions: `close` leaves some", sessions.len());
    assert!(!of_sessions(&server.runtime).is_empty(), "control: no private folder was found");
    assert!(!of_sessions(&server.workspace).is_empty(), "control: no screenshot was found");

    let status = server.stop();
    assert!(status.success(), "the server ended with {status}");
    let left = wait_until(|| session_processes(&server.runtime), Vec::is_empty);
    assert!(left.is_empty(), "processes {left:?} of sessions were left");
    let left =
        wait_until(|| end.helpers.iter().filter(|process| is_running(process)).collect::<Vec<_>>(), Vec::is_empty);
    assert!(left.is_empty(), "processes {left:?} of the server were left");
    assert_eq!(of_sessions(&server.workspace), [] as [PathBuf; 0], "session folders were left in the workspace");
    assert_eq!(of_sessions(&server.runtime), [] as [PathBuf; 0], "files of sessions were left in the runtime folder");
    assert_eq!(server.stray_replies(), [] as [Value; 0], "replies without a request");
}

/// A request and the check of its reply.
struct Request {
    method: &'static str,
    params: Value,
    is_right: Box<dyn Fn(&Value) -> bool>,
}

/// Creates the request with this number. The number is part of the request where possible, so that the reply to
/// another call does not pass the check.
fn request(number: usize, session: &str) -> Request {
    let call = |argv: Value, is_right: Box<dyn Fn(&CallReply) -> bool>| {
        let own = session.to_owned();
        Request {
            method: "tools/call",
            params: json!({"name": "browser-shell", "arguments": {"session_id": session, "argv": argv}}),
            is_right: Box::new(move |message| CallReply::read(message, &own).is_some_and(|answer| is_right(&answer))),
        }
    };
    let fails =
        |argv: Value, code: i64| call(argv, Box::new(move |answer| answer.code == code && !answer.stderr.is_empty()));
    let flag = |argv: Value, name: &'static str| {
        call(argv, Box::new(move |answer| answer.code == 0 && answer.data[name] == true))
    };
    match number / SESSIONS % 23 {
        // A detached process that belongs to the session until `close`, like agent-browser's daemon.
        0 => call(
            json!(["click", "#fake-daemon"]),
            Box::new(|answer| answer.code == 0 && answer.data["daemon"].is_u64()),
        ),
        22 => flag(json!(["close"]), "closed"),
        1 | 12 => {
            let url = format!("http://93.184.215.14/page/{number}");
            call(json!(["open", url.clone()]), Box::new(move |answer| answer.code == 0 && answer.data["url"] == url))
        }
        2 | 5 | 13 => {
            let (field, own) = (format!("#field-{number}"), session.to_owned());
            call(
                json!(["fill", field.clone(), "#fake-echo"]),
                Box::new(move |answer| {
                    let argv = answer.data["argv"].as_array().cloned().unwrap_or_default();
                    answer.code == 0 && argv.contains(&json!(field)) && argv.contains(&json!(own))
                }),
            )
        }
        14 | 15 => call(
            json!(["snapshot", "-i"]),
            Box::new(|answer| answer.code == 0 && answer.data["refs"]["e1"]["role"] == "link"),
        ),
        4 => flag(json!(["click", "@e1"]), "clicked"),
        6 => flag(json!(["press", "Enter"]), "pressed"),
        7 => flag(json!(["wait", 1]), "waited"),
        8 => {
            let value = format!("value-{number}");
            call(
                json!(["select", "@e2", value.clone()]),
                Box::new(move |answer| answer.code == 0 && answer.data["selected"][0] == value),
            )
        }
        9 => {
            let text = format!("failure {number} of the page");
            call(
                json!(["click", format!("#fake-fail-{text}")]),
                Box::new(move |answer| answer.code == 1 && answer.stderr.contains(&text)),
            )
        }
        10 => fails(json!(["click", "#fake-exit0-fail"]), 1),
        11 => fails(json!(["click", "#fake-exit-3"]), 3),
        3 => call(json!(["screenshot"]), Box::new(|answer| answer.code == 0 && answer.picture)),
        16 => fails(json!(["eval", format!("{number}")]), 64),
        17 => fails(json!(["click", "@e1", "--cdp=1"]), 64),
        19 => fails(json!(["open", format!("http://127.0.0.1/{number}")]), 77),
        20 => fails(json!(["open", format!("file:///etc/{number}")]), 77),
        21 => {
            let name = format!("no-such-tool-{number}");
            Request {
                method: "tools/call",
                params: json!({"name": name, "arguments": {}}),
                is_right: Box::new(|message| message["error"]["code"] == -32602),
            }
        }
        18 => call(
            // Long enough to be truncated.
            json!(["click", "#fake-big-50000"]),
            Box::new(|answer| {
                answer.code == 0 && answer.data["text"].as_str().is_some_and(|text| (1..50_000).contains(&text.len()))
            }),
        ),
        _ => unreachable!("a remainder of 23"),
    }
}

/// A parsed tool reply.
struct CallReply {
    code: i64,
    data: Value,
    stderr: String,
    picture: bool,
}

impl CallReply {
    fn read(message: &Value, session: &str) -> Option<Self> {
        let result = message.get("result")?;
        let content = result["content"].as_array()?;
        let reply: Value = serde_json::from_str(content.first()?["text"].as_str()?).ok()?;
        let code = reply["exit_code"].as_i64()?;
        let consistent = reply == result["structuredContent"]
            && reply["session_id"] == session
            && result["isError"].as_bool().unwrap_or(false) == (code != 0);
        let stdout = reply["stdout"].as_str()?;
        let data = if stdout.is_empty() { Value::Null } else { serde_json::from_str(stdout).ok()? };
        let picture = content.get(1).is_some_and(|item| item["type"] == "image" && item["mimeType"] == "image/png");
        consistent.then(|| Self {
            code,
            data,
            stderr: reply["stderr"].as_str().unwrap_or_default().to_owned(),
            picture,
        })
    }
}

/// Resources of the server while no call is in progress.
#[derive(Debug, PartialEq)]
struct Resources {
    rss_kib: u64,
    descriptors: usize,
    /// Children that have ended and were not reaped.
    dead: usize,
    /// Running children that belong to no session.
    helpers: Vec<PathBuf>,
}

type Waiting = Arc<Mutex<(HashMap<String, Sender<Value>>, Vec<Value>)>>;

struct Server {
    child: Child,
    input: Option<Arc<Mutex<ChildStdin>>>,
    waiting: Waiting,
    runtime: PathBuf,
    workspace: PathBuf,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        // A short path, because the runtime folder contains Unix sockets.
        let folder = tempfile::Builder::new().prefix("s").tempdir_in("/tmp").unwrap();
        let (runtime, workspace) = (folder.path().join("r"), folder.path().join("w"));
        fs::create_dir(&workspace).unwrap();
        // The stand-in runs shells, which a sandbox would prevent.
        let policy = folder.path().join("policy.json");
        fs::write(&policy, r#"{"sandbox":{"enabled":false}}"#).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_browser-shell"))
            .arg("mcp")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("BROWSER_SHELL_AGENT_BROWSER", stand_in())
            .env("BROWSER_SHELL_CDP_PORT", debugging_port())
            .env("BROWSER_SHELL_POLICY", &policy)
            .env("BROWSER_SHELL_RUNTIME_DIR", &runtime)
            .env("BROWSER_SHELL_WORKSPACE", &workspace)
            .env("BROWSER_SHELL_AUDIT", folder.path().join("audit.jsonl"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let waiting = Waiting::default();
        let output = BufReader::new(child.stdout.take().unwrap());
        let for_reader = Arc::clone(&waiting);
        thread::spawn(move || dispatch(output, &for_reader));
        let input = Some(Arc::new(Mutex::new(child.stdin.take().unwrap())));
        let server = Self { child, input, waiting, runtime, workspace, _folder: folder };
        let client = server.client();
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}});
        let reply = client.request(&json!("hello"), "initialize", &hello);
        assert!(reply["result"]["serverInfo"]["name"].is_string(), "no server info: {reply}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn client(&self) -> Client {
        Client { input: Arc::clone(self.input.as_ref().unwrap()), waiting: Arc::clone(&self.waiting) }
    }

    /// Sends the requests with these numbers, each session in its own thread.
    fn run(&self, numbers: std::ops::Range<usize>) {
        let threads: Vec<_> = (0..SESSIONS)
            .map(|lane| {
                let (client, numbers) = (self.client(), numbers.clone());
                let session = format!("{SESSION}-{lane}");
                thread::spawn(move || {
                    for number in numbers.filter(|number| number % SESSIONS == lane) {
                        // Both kinds of ids that JSON-RPC has.
                        let id = if (number / SESSIONS).is_multiple_of(2) {
                            json!(number)
                        } else {
                            json!(format!("call {number}"))
                        };
                        let request = request(number, &session);
                        let reply = client.request(&id, request.method, &request.params);
                        assert!(
                            reply["id"] == id && (request.is_right)(&reply),
                            "wrong reply to {}:\n{reply}",
                            request.params
                        );
                    }
                })
            })
            .collect();
        // A failed thread has already printed its panic message.
        let failed = threads.into_iter().map(thread::JoinHandle::join).filter(Result::is_err).count();
        assert_eq!(failed, 0, "{failed} sessions got a wrong reply");
    }

    /// Returns the server's resources once they no longer change. Pipes and the child of the last call may be closed
    /// shortly after its reply.
    fn resources_at_rest(&self) -> Resources {
        let mut last = self.resources();
        let deadline = Instant::now() + TEST_TIMEOUT;
        while Instant::now() < deadline {
            thread::sleep(Duration::from_millis(300));
            let now = self.resources();
            if now == last {
                break;
            }
            last = now;
        }
        last
    }

    fn resources(&self) -> Resources {
        let own = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(own.join("status")).unwrap();
        let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let children = processes().filter(|process| parent(process) == Some(self.child.id()));
        let (living, dead): (Vec<_>, Vec<_>) = children.partition(|process| is_running(process));
        let sessions = session_processes(&self.runtime);
        Resources {
            rss_kib: rss.trim().trim_end_matches(" kB").parse().unwrap(),
            descriptors: entries(&own.join("fd")).len(),
            dead: dead.len(),
            helpers: living.into_iter().filter(|process| !sessions.contains(process)).collect(),
        }
    }

    /// Closes the server's input, as MCP clients do to end a session.
    fn stop(&mut self) -> ExitStatus {
        let input = Arc::into_inner(self.input.take().unwrap());
        drop(input.expect("a client is still alive"));
        let ended = wait_until(|| self.child.try_wait().unwrap(), Option::is_some);
        ended.expect("the server did not end when its input was closed")
    }

    fn stray_replies(&self) -> Vec<Value> {
        self.waiting.lock().unwrap().1.clone()
    }
}

impl Drop for Server {
    /// After a failure too, no process of this test may be left.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for process in session_processes(&self.runtime) {
            let id = process.file_name().unwrap_or_default().to_owned();
            let _ = Command::new("kill").arg("-KILL").arg(id).status();
        }
    }
}

/// A client that shares the server's input and receives the replies to its own requests.
struct Client {
    input: Arc<Mutex<ChildStdin>>,
    waiting: Waiting,
}

impl Client {
    fn request(&self, id: &Value, method: &str, params: &Value) -> Value {
        let (sender, receiver): (_, Receiver<Value>) = channel();
        self.waiting.lock().unwrap().0.insert(id.to_string(), sender);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        receiver.recv_timeout(TEST_TIMEOUT).unwrap_or_else(|error| panic!("no reply to {method} {params}: {error}"))
    }

    fn send(&self, message: &Value) {
        self.input.lock().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }
}

/// Passes each reply to the waiting client. An id can be answered only once.
fn dispatch(output: impl BufRead, waiting: &Waiting) {
    for line in output.lines() {
        let Ok(line) = line else { return };
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| json!({"not JSON": line, "why": error.to_string()}));
        let (waiting, stray_replies) = &mut *waiting.lock().unwrap();
        match waiting.remove(&message["id"].to_string()) {
            Some(asker) => drop(asker.send(message)),
            None => stray_replies.push(message),
        }
    }
}

/// Returns the processes of the sessions: those with a folder below `runtime` as their `TMPDIR`.
fn session_processes(runtime: &Path) -> Vec<PathBuf> {
    let mark = format!("TMPDIR={}/", runtime.display());
    processes()
        .filter(|process| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(mark.as_bytes()))
        })
        .collect()
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let number = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
    };
    entries(Path::new("/proc")).into_iter().filter(number)
}

fn parent(process: &Path) -> Option<u32> {
    state_and_parent(process)?.1.parse().ok()
}

/// Returns true if a process runs. A zombie remains in the list until its parent reaps it.
fn is_running(process: &Path) -> bool {
    state_and_parent(process).is_some_and(|(state, _)| state != "Z")
}

fn state_and_parent(process: &Path) -> Option<(String, String)> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The name is in parentheses and may contain any character. State and parent follow.
    let mut fields = stat.rsplit(')').next()?.split_whitespace().map(str::to_owned);
    Some((fields.next()?, fields.next()?))
}

/// Returns everything below a folder that is named after a session. An empty lock file may remain, because removing
/// it would let two processes hold the lock of a session.
fn of_sessions(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in entries(folder) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.contains(SESSION) && entry.extension().is_none_or(|ending| ending != "lock") {
            found.push(entry);
        } else {
            found.extend(of_sessions(&entry));
        }
    }
    found
}

/// Returns the entries of a folder; none if it does not exist.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|found| found.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// Polls a value until it is good and returns it, or returns the last value after the timeout.
fn wait_until<T>(mut value: impl FnMut() -> T, good: impl Fn(&T) -> bool) -> T {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let now = value();
        if good(&now) || Instant::now() > deadline {
            return now;
        }
        thread::sleep(Duration::from_millis(50));
    }
}
