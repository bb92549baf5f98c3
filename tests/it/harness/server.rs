//! A server under test, with the real agent-browser or its stand-in, and a client for it.
//!
//! The client checks the shape of every reply, in every test. A test fails if a server leaves a process behind.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdin, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use serde_json::{Value, json};

use super::processes;
pub(crate) use super::{
    env::{PROGRAM, TestEnv, confined_env, debugging_port, free_port, stand_in, stand_in_env},
    reply::CallReply,
};

type Replies = Arc<Mutex<HashMap<u64, Sender<Value>>>>;

/// A call in progress.
#[derive(Debug)]
pub(crate) struct PendingCall {
    pub(crate) id: u64,
    reply: Receiver<Value>,
}

impl PendingCall {
    /// Waits for the reply.
    #[track_caller]
    pub(crate) fn answer(self) -> CallReply {
        let reply = self.reply.recv_timeout(processes::TEST_TIMEOUT);
        CallReply::read(&reply.expect("no reply to the call"))
    }

    /// Waits for the reply of a server whose policy has plain answers, and returns its text.
    #[track_caller]
    pub(crate) fn text(self) -> String {
        let reply = self.reply.recv_timeout(processes::TEST_TIMEOUT).expect("no reply to the call");
        let text = reply["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text in {reply}")).to_owned()
    }

    /// Returns true if a reply has arrived.
    pub(crate) fn is_answered(&self) -> bool {
        self.reply.try_recv().is_ok()
    }
}

/// `browser-shell mcp` with a client on its standard streams.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    input: Mutex<Option<ChildStdin>>,
    replies: Replies,
    next: AtomicU64,
    env: TestEnv,
}

impl Server {
    pub(super) fn start(env: TestEnv) -> Self {
        let mut child = env
            .command(&["mcp"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Shown in the output of a failed test.
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let replies = Replies::default();
        let waiting = Arc::clone(&replies);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let message: Value = serde_json::from_str(&line).expect("stdout must contain only JSON-RPC");
                let receiver = message["id"].as_u64().and_then(|id| waiting.lock().unwrap().remove(&id));
                if let Some(receiver) = receiver {
                    // The receiver is gone if the test no longer waits.
                    drop(receiver.send(message));
                }
            }
        });
        let server = Self { child, input: Mutex::new(input), replies, next: AtomicU64::new(1), env };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "end-to-end test", "version": "1"},
        });
        let reply = server.start_request("initialize", &params).reply.recv_timeout(processes::TEST_TIMEOUT);
        assert_eq!(reply.expect("no reply to `initialize`")["result"]["serverInfo"]["name"], "browser-shell");
        server.notify("notifications/initialized", &json!({}));
        server
    }

    fn send(&self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    /// Writes bytes to the server's input, valid or not.
    pub(crate) fn send_bytes(&self, bytes: &[u8]) {
        let mut input = self.input.lock().unwrap();
        let input = input.as_mut().expect("the server's input is closed");
        input.write_all(bytes).and_then(|()| input.flush()).expect("cannot write to the server");
    }

    /// Sends a request and returns the whole reply.
    #[track_caller]
    pub(crate) fn request(&self, method: &str, params: &Value) -> Value {
        self.start_request(method, params).reply.recv_timeout(processes::TEST_TIMEOUT).expect("no reply to the request")
    }

    /// Calls the tool with the given arguments.
    #[track_caller]
    pub(crate) fn call_with(&self, arguments: &Value) -> CallReply {
        CallReply::read(&self.request("tools/call", &json!({"name": "browser-shell", "arguments": arguments})))
    }

    fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn start_request(&self, method: &str, params: &Value) -> PendingCall {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = channel();
        self.replies.lock().unwrap().insert(id, sender);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        PendingCall { id, reply }
    }

    /// Starts a call without waiting for the reply.
    pub(crate) fn begin(&self, session: &str, argv: &[&str], timeout: Option<u32>) -> PendingCall {
        let mut arguments = json!({"session_id": session, "argv": argv});
        if let Some(seconds) = timeout {
            arguments["timeout_sec"] = seconds.into();
        }
        self.start_request("tools/call", &json!({"name": "browser-shell", "arguments": arguments}))
    }

    /// Calls the tool with the default timeout.
    #[track_caller]
    pub(crate) fn call(&self, session: &str, argv: &[&str]) -> CallReply {
        self.begin(session, argv, None).answer()
    }

    /// Waits until a session is open: its first call starts agent-browser's daemon, which takes long on a busy machine.
    #[track_caller]
    pub(crate) fn wait_until_open(&self, session: &str) {
        processes::wait_for("an open session", || (self.call(session, &["snapshot"]).code == 0).then_some(()));
    }

    /// Calls the tool with a timeout in seconds.
    #[track_caller]
    pub(crate) fn call_within(&self, seconds: u32, session: &str, argv: &[&str]) -> CallReply {
        self.begin(session, argv, Some(seconds)).answer()
    }

    /// Notifies the server that the client cancelled a call, and waits until it has read it.
    pub(crate) fn cancel(&self, call: &PendingCall) {
        self.notify("notifications/cancelled", &json!({"requestId": call.id, "reason": "the test gave up"}));
        self.request("tools/list", &json!({}));
    }

    /// Returns the server's process id.
    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Returns the server's files and settings.
    pub(crate) fn env(&self) -> &TestEnv {
        &self.env
    }

    /// Returns all processes of the server's sessions.
    pub(crate) fn processes(&self) -> Vec<processes::Process> {
        self.env.processes(Some(self.id()))
    }

    /// Kills the server, so that it cannot clean up.
    pub(crate) fn kill(&mut self) {
        let children = processes::children_of(self.id());
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        wait_until_gone(&children);
    }
}

impl Drop for Server {
    /// Closes the server's input, as MCP clients do to end a session.
    fn drop(&mut self) {
        end(&mut self.child, "after its input was closed", |_| {
            drop(self.input.lock().map(|mut input| input.take()));
        });
    }
}

/// `browser-shell mcp --http` on a free loopback port.
#[derive(Debug)]
pub(crate) struct HttpServer {
    child: Child,
    port: u16,
    env: TestEnv,
}

impl HttpServer {
    pub(super) fn start(env: TestEnv, port: u16) -> Self {
        let mut child = env
            .command(&["mcp", "--http", &format!("127.0.0.1:{port}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        // Tests have policies that cannot be used, too.
        processes::wait_for("an HTTP server that answers", || {
            assert!(child.try_wait().unwrap().is_none(), "the HTTP server exited during startup");
            let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            write!(stream, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n").ok()?;
            let mut reply = String::new();
            stream.read_to_string(&mut reply).ok()?;
            reply.starts_with("HTTP/1.1 ").then_some(())
        });
        Self { child, port, env }
    }

    /// Returns the server's process id.
    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Returns the port on loopback.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Returns all processes of the server's sessions.
    pub(crate) fn processes(&self) -> Vec<processes::Process> {
        self.env.processes(Some(self.id()))
    }

    /// Returns the MCP endpoint. The host is `localhost`, as in most client configurations.
    pub(crate) fn url(&self) -> String {
        format!("http://localhost:{}/mcp", self.port)
    }

    /// Returns the server's files and settings.
    pub(crate) fn env(&self) -> &TestEnv {
        &self.env
    }
}

impl Drop for HttpServer {
    /// Ends the server with SIGTERM, as a service manager does.
    fn drop(&mut self) {
        end(&mut self.child, "after SIGTERM", |id| processes::signal(id, rustix::process::Signal::TERM));
    }
}

/// Ends a server with `request_end` and waits. In a failed test, kills it.
fn end(child: &mut Child, when: &str, request_end: impl FnOnce(i32)) {
    if thread::panicking() {
        drop(child.kill());
        drop(child.wait());
        return;
    }
    let id = i32::try_from(child.id()).unwrap();
    let children = processes::children_of(id);
    // If a test has killed the server, it is already reaped and its id may have been reused.
    if child.try_wait().unwrap().is_none() {
        request_end(id);
    }
    processes::wait_for(&format!("the end of the server {when}"), || child.try_wait().unwrap());
    wait_until_gone(&children);
}

/// Waits until a server's child processes have ended, including those without the marker that [`TestEnv`] searches for.
fn wait_until_gone(children: &[processes::Process]) {
    processes::wait_for(&format!("the end of {children:?}"), || {
        (!children.iter().any(processes::is_alive)).then_some(())
    });
}
