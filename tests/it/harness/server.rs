//! A server under test, with the real parts or with a stand-in for agent-browser: its files, its process, and what a client sees of it.
//!
//! Every answer that passes here is checked against the shape that [1.6]
//! promises, in every test. Every server that ends here must leave no process
//! behind; one that does fails its test.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::processes;

/// The binary under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_browser-shell");

/// The files and settings of one server: a folder of its own for everything.
#[derive(Debug)]
pub(crate) struct Home {
    folder: Arc<TempDir>,
    settings: Vec<(&'static str, OsString)>,
}

impl Home {
    /// An empty home: no policy file, so the safe defaults hold.
    pub(crate) fn new(agent_browser: &Path) -> Self {
        let folder = Arc::new(TempDir::with_prefix("home").unwrap());
        let below = |name: &str| folder.path().join(name).into_os_string();
        let settings = vec![
            ("BROWSER_SHELL_AGENT_BROWSER", agent_browser.as_os_str().to_owned()),
            ("BROWSER_SHELL_POLICY", below("policy.json")),
            ("BROWSER_SHELL_WORKSPACE", below("workspace")),
            ("BROWSER_SHELL_RUNTIME_DIR", below("run")),
            ("BROWSER_SHELL_AUDIT", below("audit.jsonl")),
        ];
        fs::create_dir(folder.path().join("workspace")).unwrap();
        Self { folder, settings }
    }

    /// The same home with one more setting, by its variable.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.settings.push((name, value.into()));
        self
    }

    /// The same files and settings for one more server.
    pub(crate) fn shared(&self) -> Self {
        Self { folder: Arc::clone(&self.folder), settings: self.settings.clone() }
    }

    /// The same home where agent-browser gives up an action early: for tests that
    /// look for what is not there.
    pub(crate) fn impatient(self) -> Self {
        self.with("BROWSER_SHELL_ACTION_TIMEOUT_MS", "2000")
    }

    /// The same home with a policy file.
    pub(crate) fn with_policy(self, policy: &Value) -> Self {
        self.write_policy(&policy.to_string());
        self
    }

    /// Replaces the policy file, in one step as an editor does.
    pub(crate) fn write_policy(&self, text: &str) {
        let new = self.folder.path().join("policy.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.folder.path().join("policy.json")).unwrap();
    }

    /// The folder of everything.
    pub(crate) fn folder(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    /// Where the sessions' folders are.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// The audit lines so far.
    pub(crate) fn audit(&self) -> String {
        fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap_or_default()
    }

    /// The settings as variables, for clients that start the server themselves.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
        let settings = self.settings.iter();
        settings.map(|(name, value)| ((*name).to_owned(), value.to_str().unwrap().to_owned())).chain([path])
    }

    /// The program with this home's settings and nothing else around it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env_clear().envs(self.variables());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Every process of this home, the server itself left out.
    pub(crate) fn processes(&self, server: Option<i32>) -> Vec<processes::Process> {
        processes::belonging_to(self.folder.path(), &Vec::from_iter(server))
    }

    /// Starts `browser-shell mcp` and shakes hands with it.
    pub(crate) fn serve(self) -> Server {
        Server::start(self)
    }

    /// Starts `browser-shell mcp --http` and waits for its health.
    pub(crate) fn serve_http(self) -> HttpServer {
        HttpServer::start(self)
    }
}

impl Drop for Home {
    /// Nothing of a home may outlive its server.
    fn drop(&mut self) {
        if thread::panicking() {
            processes::kill(&self.processes(None));
            return;
        }
        if Arc::strong_count(&self.folder) > 1 {
            // what runs here may be another server's; the last one looks
            return;
        }
        let mut left = Vec::new();
        // daemons need a moment to end
        for _ in 0..500 {
            left = self.processes(None);
            if left.is_empty() {
                return;
            }
            thread::sleep(std::time::Duration::from_millis(20));
        }
        processes::kill(&left);
        panic!("the server ended, but these of its processes did not: {left:#?}");
    }
}

/// What a client gets for one call, in the shape of [1.6].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) session: String,
    pub(crate) code: i64,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) picture: Option<Vec<u8>>,
}

impl Answer {
    /// Reads an answer, and fails when it has not exactly the promised shape.
    #[track_caller]
    pub(crate) fn read(reply: &Value) -> Self {
        let result = reply.get("result").unwrap_or_else(|| panic!("no result: {reply}"));
        let content = result["content"].as_array().unwrap();
        assert_eq!(content[0]["type"], "text", "{reply}");
        let text = content[0]["text"].as_str().unwrap();
        let body: Value = serde_json::from_str(text).expect("the text of an answer is JSON");
        assert_eq!(body, result["structuredContent"], "text and structured content agree");
        let mut keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["exit_code", "session_id", "stderr", "stdout"]);
        let code = body["exit_code"].as_i64().unwrap();
        assert_eq!(result["isError"].as_bool().unwrap_or(false), code != 0, "{reply}");
        let picture = content.get(1).filter(|item| item["type"] == "image").map(|item| {
            assert_eq!(item["mimeType"], "image/png");
            BASE64_STANDARD.decode(item["data"].as_str().unwrap()).unwrap()
        });
        let field = |name: &str| body[name].as_str().unwrap().to_owned();
        Self { session: field("session_id"), code, stdout: field("stdout"), stderr: field("stderr"), picture }
    }

    /// Fails unless the call succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "the call should succeed: {self:?}");
        self
    }

    /// Fails unless the call ended with this code and said why.
    #[track_caller]
    pub(crate) fn fails_with(self, code: i64) -> Self {
        assert_eq!(self.code, code, "the call should end with {code}: {self:?}");
        assert!(!self.stderr.trim().is_empty(), "a failure says why: {self:?}");
        self
    }

    /// The data on stdout.
    #[track_caller]
    pub(crate) fn data(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("stdout is JSON: {self:?}"))
    }

    /// The page as text, of a `snapshot`.
    #[track_caller]
    pub(crate) fn page(&self) -> String {
        self.data()["snapshot"].as_str().unwrap_or_else(|| panic!("a snapshot: {self:?}")).to_owned()
    }

    /// The `@ref` of an element, of a `snapshot`.
    #[track_caller]
    pub(crate) fn reference(&self, role: &str, name: &str) -> String {
        let data = self.data();
        let found = data["refs"]
            .as_object()
            .unwrap()
            .iter()
            .find(|(_, element)| element["role"] == role && element["name"] == name);
        let (reference, _) = found.unwrap_or_else(|| panic!("no {role} `{name}` in {data}"));
        format!("@{reference}")
    }
}

type Replies = Arc<Mutex<HashMap<u64, Sender<Value>>>>;

/// A call that is under way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) id: u64,
    reply: Receiver<Value>,
}

impl Pending {
    /// Waits for the answer.
    #[track_caller]
    pub(crate) fn answer(self) -> Answer {
        let reply = self.reply.recv_timeout(processes::SAFETY_NET);
        Answer::read(&reply.expect("every call is answered"))
    }

    /// Whether an answer came already.
    pub(crate) fn is_answered(&self) -> bool {
        self.reply.try_recv().is_ok()
    }
}

/// `browser-shell mcp`, spoken to over its standard streams.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    input: Mutex<Option<ChildStdin>>,
    replies: Replies,
    next: AtomicU64,
    home: Home,
}

impl Server {
    fn start(home: Home) -> Self {
        let mut child = home
            .command(&["mcp"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // shown with the output of a test that fails
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let replies = Replies::default();
        let waiting = Arc::clone(&replies);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let message: Value = serde_json::from_str(&line).expect("stdout carries JSON-RPC alone");
                let asker = message["id"].as_u64().and_then(|id| waiting.lock().unwrap().remove(&id));
                if let Some(asker) = asker {
                    // a test that does not wait any more has dropped its end
                    drop(asker.send(message));
                }
            }
        });
        let server = Self { child, input: Mutex::new(input), replies, next: AtomicU64::new(1), home };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "end-to-end test", "version": "1"},
        });
        let reply = server.request("initialize", &hello).reply.recv_timeout(processes::SAFETY_NET);
        assert_eq!(reply.expect("an answer to initialize")["result"]["serverInfo"]["name"], "browser-shell");
        server.notify("notifications/initialized", &json!({}));
        server
    }

    fn send(&self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    /// Bytes on the server's input, right or wrong.
    pub(crate) fn send_bytes(&self, bytes: &[u8]) {
        let mut input = self.input.lock().unwrap();
        let input = input.as_mut().expect("the server's input is open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads its input");
    }

    /// A whole reply to any request.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Value {
        self.request(method, params).reply.recv_timeout(processes::SAFETY_NET).expect("every request is answered")
    }

    /// A call with any arguments.
    #[track_caller]
    pub(crate) fn call_with(&self, arguments: &Value) -> Answer {
        Answer::read(&self.ask("tools/call", &json!({"name": "browser-shell", "arguments": arguments})))
    }

    fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn request(&self, method: &str, params: &Value) -> Pending {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = channel();
        self.replies.lock().unwrap().insert(id, sender);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        Pending { id, reply }
    }

    /// Starts a call without waiting for it.
    pub(crate) fn begin(&self, session: &str, argv: &[&str], timeout: Option<u32>) -> Pending {
        let mut arguments = json!({"session_id": session, "argv": argv});
        if let Some(seconds) = timeout {
            arguments["timeout_sec"] = seconds.into();
        }
        self.request("tools/call", &json!({"name": "browser-shell", "arguments": arguments}))
    }

    /// One call, with the default timeout.
    #[track_caller]
    pub(crate) fn call(&self, session: &str, argv: &[&str]) -> Answer {
        self.begin(session, argv, None).answer()
    }

    /// One call that may take so many seconds.
    #[track_caller]
    pub(crate) fn call_within(&self, seconds: u32, session: &str, argv: &[&str]) -> Answer {
        self.begin(session, argv, Some(seconds)).answer()
    }

    /// Tells the server that the client gave up on a call.
    pub(crate) fn cancel(&self, call: &Pending) {
        self.notify("notifications/cancelled", &json!({"requestId": call.id, "reason": "the test gave up"}));
    }

    /// The server's process id.
    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The server's files.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Everything that runs for the server's sessions.
    pub(crate) fn processes(&self) -> Vec<processes::Process> {
        self.home.processes(Some(self.id()))
    }

    /// Ends the server without a chance to clean up.
    pub(crate) fn kill(&mut self) {
        let children = processes::children_of(self.id());
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        until_gone(&children);
    }
}

impl Drop for Server {
    /// Closes the server's input, which is how a client says good-bye.
    fn drop(&mut self) {
        end(&mut self.child, "after its input was closed", |_| {
            drop(self.input.lock().map(|mut input| input.take()));
        });
    }
}

/// `browser-shell mcp --http`, on a port of the namespace's loopback.
#[derive(Debug)]
pub(crate) struct HttpServer {
    child: Child,
    port: u16,
    home: Home,
}

impl HttpServer {
    fn start(home: Home) -> Self {
        let port = free_port();
        let mut child = home
            .command(&["mcp", "--http", &format!("127.0.0.1:{port}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        processes::until("a healthy HTTP server", || {
            assert!(child.try_wait().unwrap().is_none(), "the HTTP server ended at once");
            let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            write!(stream, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n").ok()?;
            let mut reply = String::new();
            stream.read_to_string(&mut reply).ok()?;
            reply.starts_with("HTTP/1.1 200").then_some(())
        });
        Self { child, port, home }
    }

    /// Its port on loopback.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Everything that runs for the server's sessions.
    pub(crate) fn processes(&self) -> Vec<processes::Process> {
        self.home.processes(Some(i32::try_from(self.child.id()).unwrap()))
    }

    /// Where clients find it; `localhost`, as most of them are configured.
    pub(crate) fn url(&self) -> String {
        format!("http://localhost:{}/mcp", self.port)
    }

    /// The server's files.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }
}

impl Drop for HttpServer {
    /// Ends the server as a service manager does.
    fn drop(&mut self) {
        end(&mut self.child, "after SIGTERM", |id| processes::signal(id, rustix::process::Signal::TERM));
    }
}

/// A port on loopback that nothing listens on.
///
/// None is given twice: a server that has three of them would find one taken by itself.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock().unwrap();
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if given.insert(port) {
            return port;
        }
    }
}

/// The stand-in for agent-browser, which `cargo test` builds beside the program.
pub(crate) fn stand_in() -> PathBuf {
    let program = Path::new(PROGRAM).with_file_name("examples").join("fake-agent-browser");
    assert!(program.exists(), "`{}` is missing: cargo build --example fake-agent-browser", program.display());
    program
}

/// A home for tests without a browser: the stand-in, and a port on which nobody is asked for tabs. Without a sandbox: the
/// stand-in runs shells and leaves files where a test wants them, which agent-browser does not.
pub(crate) fn home() -> Home {
    Home::new(&stand_in()).with("BROWSER_SHELL_CDP_PORT", "1").with_policy(&json!({"sandbox": {"enabled": false}}))
}

/// The same with a sandbox, as the defaults have it: that of an agent-browser which needs Node, since programs that try to get
/// out of it are written for that.
pub(crate) fn confined_home() -> Home {
    let home = Home::new(&stand_in()).with("BROWSER_SHELL_CDP_PORT", "1");
    let package = home.folder.path().join("package");
    let program = package.join("bin/agent-browser");
    for folder in ["bin", "dist"] {
        fs::create_dir_all(package.join(folder)).unwrap();
    }
    // by another process: a file that this one has open to write could not be run, also when only a child has it from here
    let copied = Command::new("cp").arg(stand_in()).arg(&program).status().unwrap();
    assert!(copied.success(), "the stand-in is copied to `{}`", program.display());
    home.with("BROWSER_SHELL_AGENT_BROWSER", program)
}

/// Ends a server as `ask` does and waits; in a test that failed, the hard way.
fn end(child: &mut Child, when: &str, ask: impl FnOnce(i32)) {
    if thread::panicking() {
        drop(child.kill());
        drop(child.wait());
        return;
    }
    let id = i32::try_from(child.id()).unwrap();
    let children = processes::children_of(id);
    // a server that a test has killed is reaped already, and its id may be another's
    if child.try_wait().unwrap().is_none() {
        ask(id);
    }
    processes::until(&format!("the end of the server {when}"), || child.try_wait().unwrap());
    until_gone(&children);
}

/// Waits for the end of a server's children: also those that carry no mark of its
/// home, which [`Home`] would not find.
fn until_gone(children: &[processes::Process]) {
    processes::until(&format!("the end of {children:?}"), || (!children.iter().any(processes::lives)).then_some(()));
}
