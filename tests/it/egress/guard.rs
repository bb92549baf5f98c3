//! A running guard, and hosts that write down what reaches them. All of it on loopback, with ports that the system chooses.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{
    processes::{SAFETY_NET, until},
    server::PROGRAM,
};

/// `browser-shell egress` with a policy file of its own; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
    pub(crate) address: SocketAddr,
    folder: TempDir,
}

impl Guard {
    /// Starts on a free port of loopback.
    pub(crate) fn start(policy: &Value) -> Self {
        Self::start_on("127.0.0.1:0", policy)
    }

    pub(crate) fn start_on(listen: &str, policy: &Value) -> Self {
        Self::run(Command::new(PROGRAM), listen, policy)
    }

    /// Starts with a name server of its own, in a mount namespace of its own.
    pub(crate) fn start_with_names(listen: &str, policy: &Value, server: std::net::Ipv4Addr) -> Self {
        let script = "f=$(mktemp) && echo \"nameserver $0\" >$f && mount --bind $f /etc/resolv.conf && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--", "sh", "-c", script, &server.to_string(), PROGRAM]);
        Self::run(command, listen, policy)
    }

    fn run(mut command: Command, listen: &str, policy: &Value) -> Self {
        let folder = TempDir::with_prefix("egress").unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("policy.json"), policy.to_string()).unwrap();
        let mut child = command
            .args(["egress", "--listen", listen])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("BROWSER_SHELL_POLICY", at("policy.json"))
            .env("BROWSER_SHELL_AUDIT", at("audit.jsonl"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once("listening address=").map(|(_, address)| address.trim().to_owned()))
            .expect("the guard says where it listens");
        // somebody has to read on
        thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.parse().unwrap(), folder }
    }

    /// Replaces the policy file in one step.
    pub(crate) fn write_policy(&self, text: &str) {
        let new = self.folder.path().join("policy.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.folder.path().join("policy.json")).unwrap();
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, and waits until it is gone: a moment before that, its port may still take connections.
    pub(crate) fn kill(&mut self) {
        // it may have ended by itself; either way it is reaped here
        drop(self.child.kill());
        drop(self.child.wait());
    }

    pub(crate) fn policy_file(&self) -> PathBuf {
        self.folder.path().join("policy.json")
    }

    /// The audit lines so far.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("an audit line is JSON")).collect()
    }

    /// The first audit line that fits, waited for.
    pub(crate) fn audit_line(&self, awaited: &str, fits: impl Fn(&Value) -> bool) -> Value {
        until(awaited, || self.audit().into_iter().find(&fits))
    }

    /// A new connection to the guard.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the guard listens");
        stream.set_read_timeout(Some(SAFETY_NET)).unwrap();
        stream
    }

    /// Sends bytes on a connection of their own, and gives everything that comes back.
    pub(crate) fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // a guard that has refused may not read all of it
        let _ = stream.write_all(bytes);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8_lossy(&reply).into_owned()
    }

    /// A tunnel, once the guard has said yes.
    #[track_caller]
    pub(crate) fn tunnel(&self, to: &str) -> TcpStream {
        let mut stream = self.connect();
        write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
        let head = read_head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        stream
    }

    /// What the guard decides about a tunnel to there: the code.
    #[track_caller]
    pub(crate) fn code_of(&self, to: &str) -> String {
        let reply = self.send(format!("CONNECT {to} HTTP/1.1\r\n\r\n").as_bytes());
        code(&reply)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The code in a refusal of the guard.
#[track_caller]
pub(crate) fn code(reply: &str) -> String {
    let body = reply.split_once("\r\n\r\n").expect("a whole answer").1;
    let value: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("a decision: {reply}"));
    assert_eq!(value["verdict"], "deny", "{reply}");
    value["code"].as_str().unwrap().to_owned()
}

/// The head of an answer, byte by byte, so that nothing after it is taken.
pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("an answer") == 1 {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// A host that keeps every byte that reaches it, answers each connection in one way, and closes it.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Host {
    /// Answers with these bytes as soon as a head, and the body that it announces, has come.
    pub(crate) fn start(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let log = Arc::clone(&log);
                thread::spawn(move || {
                    stream.set_read_timeout(Some(SAFETY_NET)).unwrap();
                    let mut text = read_head(&mut stream);
                    let length = text
                        .to_ascii_lowercase()
                        .split("content-length: ")
                        .nth(1)
                        .and_then(|rest| rest.split("\r\n").next()?.parse().ok())
                        .unwrap_or(0);
                    let mut body = vec![0; length];
                    let _ = stream.read_exact(&mut body);
                    text += &String::from_utf8_lossy(&body);
                    let _ = stream.write_all(answer.as_bytes());
                    let _ = stream.shutdown(std::net::Shutdown::Write);
                    // what was sent beyond that shows, too
                    let mut rest = Vec::new();
                    let _ = stream.read_to_end(&mut rest);
                    text += &String::from_utf8_lossy(&rest);
                    log.lock().unwrap().push(text);
                });
            }
        });
        Self { address, seen }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// What has come, a text for each connection that has ended.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// The one thing that has come, waited for.
    pub(crate) fn the_one(&self) -> String {
        until("the end of one connection", || self.seen().first().cloned())
    }
}

/// A host that sends back what it gets.
pub(crate) fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
        }
    });
    address
}

/// A policy under which the hosts above are allowed.
pub(crate) fn loopback() -> Value {
    json!({"open": {"allow_cidrs": ["127.0.0.0/8", "::1"]}})
}
