//! 5,000 calls through one server over stdio, eight sessions side by side, with a stand-in for
//! agent-browser: every answer belongs to its question, and nothing is left behind by many calls
//! that one call would not leave (memory, descriptors, processes, folders).
//!
//! It never talks to the network: addresses are literal, so that no name is looked up, and nobody
//! connects to them.

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

const SESSIONS: usize = 8;
const SESSION: &str = "soak";
const WARM_UP: usize = 1_000;
const CALLS: usize = 5_000;

/// A safety net: what takes this long will not come any more.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the server may grow by in the 4,000 calls after the warm-up. Keeping as little as half a
/// kilobyte of each would go past it.
const GROWTH_KIB: u64 = 2_048;

#[test]
fn five_thousand_calls_leave_nothing_behind() {
    let mut server = Server::start();

    server.run(0..WARM_UP);
    let warm = server.settle();

    server.run(WARM_UP..CALLS);
    let end = server.settle();

    assert_eq!(end.dead, 0, "the server has children that are dead and not reaped");
    assert_eq!(end.helpers, warm.helpers, "the server has other children than before");
    assert!(end.descriptors <= warm.descriptors, "descriptors grew from {} to {}", warm.descriptors, end.descriptors);
    assert!(end.rss_kib <= warm.rss_kib + GROWTH_KIB, "memory grew from {} KiB to {} KiB", warm.rss_kib, end.rss_kib);

    // The control for what follows: now there are processes and folders to leave behind, and they are found.
    let sessions = marked(&server.runtime);
    assert!(!sessions.is_empty(), "no process of a session is seen, so their absence would prove nothing");
    assert!(sessions.len() <= SESSIONS, "{} processes for {SESSIONS} sessions: `close` leaves some", sessions.len());
    assert!(
        !of_sessions(&server.runtime).is_empty(),
        "no private folder is seen, so their absence would prove nothing"
    );
    assert!(!of_sessions(&server.workspace).is_empty(), "no picture is seen, so their absence would prove nothing");

    let status = server.stop();
    assert!(status.success(), "the server ended with {status}");
    let left = wait_until(|| marked(&server.runtime), Vec::is_empty);
    assert!(left.is_empty(), "processes {left:?} of sessions were left");
    let left = wait_until(|| end.helpers.iter().filter(|process| lives(process)).collect::<Vec<_>>(), Vec::is_empty);
    assert!(left.is_empty(), "processes {left:?} of the server were left");
    assert_eq!(of_sessions(&server.workspace), [] as [PathBuf; 0], "session folders were left in the workspace");
    assert_eq!(of_sessions(&server.runtime), [] as [PathBuf; 0], "files of sessions were left in the runtime folder");
    assert_eq!(server.strays(), [] as [Value; 0], "answers to nobody's question");
}

/// One question and what makes its answer the right one.
struct Question {
    method: &'static str,
    params: Value,
    right: Box<dyn Fn(&Value) -> bool>,
}

/// The question with this number. Whatever can carry the number does, so that an answer which
/// belongs to another call cannot pass for this one's.
fn question(number: usize, session: &str) -> Question {
    let call = |argv: Value, right: Box<dyn Fn(&Answer) -> bool>| {
        let own = session.to_owned();
        Question {
            method: "tools/call",
            params: json!({"name": "browser-shell", "arguments": {"session_id": session, "argv": argv}}),
            right: Box::new(move |message| Answer::read(message, &own).is_some_and(|answer| right(&answer))),
        }
    };
    let fails =
        |argv: Value, code: i64| call(argv, Box::new(move |answer| answer.code == code && !answer.stderr.is_empty()));
    let flag = |argv: Value, name: &'static str| {
        call(argv, Box::new(move |answer| answer.code == 0 && answer.data[name] == true))
    };
    match number / SESSIONS % 23 {
        // What a daemon would be: a detached process that belongs to the session until `close`.
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
            Question {
                method: "tools/call",
                params: json!({"name": name, "arguments": {}}),
                right: Box::new(|message| message["error"]["code"] == -32602),
            }
        }
        18 => call(
            // Long enough to be cut.
            json!(["click", "#fake-big-50000"]),
            Box::new(|answer| {
                answer.code == 0 && answer.data["text"].as_str().is_some_and(|text| (1..50_000).contains(&text.len()))
            }),
        ),
        _ => unreachable!("a remainder of 23"),
    }
}

/// The tool's answer, taken apart; `None` if it does not have the form that every answer has.
struct Answer {
    code: i64,
    data: Value,
    stderr: String,
    picture: bool,
}

impl Answer {
    fn read(message: &Value, session: &str) -> Option<Self> {
        let result = message.get("result")?;
        let content = result["content"].as_array()?;
        let told: Value = serde_json::from_str(content.first()?["text"].as_str()?).ok()?;
        let code = told["exit_code"].as_i64()?;
        let consistent = told == result["structuredContent"]
            && told["session_id"] == session
            && result["isError"].as_bool().unwrap_or(false) == (code != 0);
        let stdout = told["stdout"].as_str()?;
        let data = if stdout.is_empty() { Value::Null } else { serde_json::from_str(stdout).ok()? };
        let picture = content.get(1).is_some_and(|item| item["type"] == "image" && item["mimeType"] == "image/png");
        consistent.then(|| Self { code, data, stderr: told["stderr"].as_str().unwrap_or_default().to_owned(), picture })
    }
}

/// What the server holds while no call is under way.
#[derive(Debug, PartialEq)]
struct Holding {
    rss_kib: u64,
    descriptors: usize,
    /// Children that have ended and that it has not waited for.
    dead: usize,
    /// Children that live and belong to no session.
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
        // Short: Unix sockets live in the runtime folder.
        let folder = tempfile::Builder::new().prefix("s").tempdir_in("/tmp").unwrap();
        let (runtime, workspace) = (folder.path().join("r"), folder.path().join("w"));
        fs::create_dir(&workspace).unwrap();
        // the stand-in runs shells, which a sandbox would not let it
        let policy = folder.path().join("policy.json");
        fs::write(&policy, r#"{"sandbox":{"enabled":false}}"#).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_browser-shell"))
            .arg("mcp")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("BROWSER_SHELL_AGENT_BROWSER", stand_in())
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
        thread::spawn(move || hand_out(output, &for_reader));
        let input = Some(Arc::new(Mutex::new(child.stdin.take().unwrap())));
        let server = Self { child, input, waiting, runtime, workspace, _folder: folder };
        let client = server.client();
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}});
        let told = client.ask(&json!("hello"), "initialize", &hello);
        assert!(told["result"]["serverInfo"]["name"].is_string(), "no welcome: {told}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn client(&self) -> Client {
        Client { input: Arc::clone(self.input.as_ref().unwrap()), waiting: Arc::clone(&self.waiting) }
    }

    /// Asks the questions with these numbers: each session in its own thread, one after another.
    fn run(&self, numbers: std::ops::Range<usize>) {
        let askers: Vec<_> = (0..SESSIONS)
            .map(|lane| {
                let (client, numbers) = (self.client(), numbers.clone());
                let session = format!("{SESSION}-{lane}");
                thread::spawn(move || {
                    for number in numbers.filter(|number| number % SESSIONS == lane) {
                        // Both kinds of identifier that JSON-RPC knows.
                        let id = if (number / SESSIONS).is_multiple_of(2) {
                            json!(number)
                        } else {
                            json!(format!("call {number}"))
                        };
                        let asked = question(number, &session);
                        let told = client.ask(&id, asked.method, &asked.params);
                        assert!(told["id"] == id && (asked.right)(&told), "wrong answer to {}:\n{told}", asked.params);
                    }
                })
            })
            .collect();
        // A panic of a lane has said what was wrong already.
        let failed = askers.into_iter().map(thread::JoinHandle::join).filter(Result::is_err).count();
        assert_eq!(failed, 0, "{failed} sessions got a wrong answer");
    }

    /// What it holds as soon as that no longer changes: the last call's pipes and child may go a
    /// moment after its answer.
    fn settle(&self) -> Holding {
        let mut last = self.holding();
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            thread::sleep(Duration::from_millis(300));
            let now = self.holding();
            if now == last {
                break;
            }
            last = now;
        }
        last
    }

    fn holding(&self) -> Holding {
        let own = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(own.join("status")).unwrap();
        let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let children = processes().filter(|process| parent(process) == Some(self.child.id()));
        let (living, dead): (Vec<_>, Vec<_>) = children.partition(|process| lives(process));
        let sessions = marked(&self.runtime);
        Holding {
            rss_kib: rss.trim().trim_end_matches(" kB").parse().unwrap(),
            descriptors: entries(&own.join("fd")).len(),
            dead: dead.len(),
            helpers: living.into_iter().filter(|process| !sessions.contains(process)).collect(),
        }
    }

    /// Closes the server's input, which is how a client of stdio says goodbye.
    fn stop(&mut self) -> ExitStatus {
        let input = Arc::into_inner(self.input.take().unwrap());
        drop(input.expect("every client is gone"));
        let ended = wait_until(|| self.child.try_wait().unwrap(), Option::is_some);
        ended.expect("the server did not end when its input was closed")
    }

    fn strays(&self) -> Vec<Value> {
        self.waiting.lock().unwrap().1.clone()
    }
}

impl Drop for Server {
    /// After a failure too, nothing of this test stays behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for process in marked(&self.runtime) {
            let id = process.file_name().unwrap_or_default().to_owned();
            let _ = Command::new("kill").arg("-KILL").arg(id).status();
        }
    }
}

/// A writer to the server's input that waits for its own answers.
struct Client {
    input: Arc<Mutex<ChildStdin>>,
    waiting: Waiting,
}

impl Client {
    fn ask(&self, id: &Value, method: &str, params: &Value) -> Value {
        let (sender, receiver): (_, Receiver<Value>) = channel();
        self.waiting.lock().unwrap().0.insert(id.to_string(), sender);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        receiver.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("no answer to {method} {params}: {error}"))
    }

    fn send(&self, message: &Value) {
        self.input.lock().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }
}

/// Gives each answer to whoever asked; an identifier can be answered once only.
fn hand_out(output: impl BufRead, waiting: &Waiting) {
    for line in output.lines() {
        let Ok(line) = line else { return };
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| json!({"not JSON": line, "why": error.to_string()}));
        let (waiting, strays) = &mut *waiting.lock().unwrap();
        match waiting.remove(&message["id"].to_string()) {
            Some(asker) => drop(asker.send(message)),
            None => strays.push(message),
        }
    }
}

fn stand_in() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_browser-shell")).with_file_name("examples").join("fake-agent-browser");
    assert!(path.is_file(), "`{}` is missing: run `cargo build --example fake-agent-browser` first", path.display());
    path
}

/// The processes that carry a folder below `runtime` as their `TMPDIR`: those of its sessions.
fn marked(runtime: &Path) -> Vec<PathBuf> {
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

/// Whether it runs: a process that has ended stays in the list until its parent has asked how.
fn lives(process: &Path) -> bool {
    state_and_parent(process).is_some_and(|(state, _)| state != "Z")
}

fn state_and_parent(process: &Path) -> Option<(String, String)> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The name is in parentheses and may hold anything; the state and the parent follow it.
    let mut fields = stat.rsplit(')').next()?.split_whitespace().map(str::to_owned);
    Some((fields.next()?, fields.next()?))
}

/// Everything below a folder that is named after a session. A lock may stay: it is empty, and removing it
/// would let two processes hold "the" lock of a session.
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

/// What a folder holds; nothing if it is not there.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|found| found.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// The value once it is good, or the last one when patience ends.
fn wait_until<T>(mut value: impl FnMut() -> T, good: impl Fn(&T) -> bool) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = value();
        if good(&now) || Instant::now() > deadline {
            return now;
        }
        thread::sleep(Duration::from_millis(50));
    }
}
