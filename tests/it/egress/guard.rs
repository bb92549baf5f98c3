//! A running egress guard, and hosts that record what they receive. All on loopback, with ports that the system
//! chooses.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    ops::Deref,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{
    processes::{self, TEST_TIMEOUT, wait_for},
    server::PROGRAM,
};

/// `browser-shell egress` with its own policy file, ended on drop. It is a client of its own address.
#[derive(Debug)]
pub(crate) struct EgressGuard {
    child: Child,
    client: GuardClient,
    folder: TempDir,
    log: Arc<Mutex<Vec<String>>>,
}

impl Deref for EgressGuard {
    type Target = GuardClient;

    fn deref(&self) -> &GuardClient {
        &self.client
    }
}

/// A client of one address of a guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardClient {
    pub(crate) address: SocketAddr,
}

impl EgressGuard {
    /// Starts on a free loopback port.
    pub(crate) fn start(policy: &Value) -> Self {
        Self::start_on("127.0.0.1:0", policy)
    }

    pub(crate) fn start_on(listen: &str, policy: &Value) -> Self {
        Self::run(Command::new(PROGRAM), listen, policy, &[])
    }

    /// Starts on a free port with its audit log on standard error.
    pub(crate) fn start_with_audit_on_stderr(policy: &Value) -> Self {
        Self::run(Command::new(PROGRAM), "127.0.0.1:0", policy, &["--audit", "-"])
    }

    /// Starts on a free port so that a write beyond the limit of a file's size fails instead of ending the guard.
    pub(crate) fn start_with_failing_writes(policy: &Value) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", PROGRAM]);
        Self::run(command, "127.0.0.1:0", policy, &[])
    }

    /// Starts on a free port with addresses for sessions, whose files are in a folder.
    pub(crate) fn start_for_sessions(policy: &Value, folder: &Path, count: u8) -> Self {
        let count = count.to_string();
        let arguments = ["--sessions", folder.to_str().unwrap(), "--session-addresses", &count];
        Self::run(Command::new(PROGRAM), "127.0.0.1:0", policy, &arguments)
    }

    /// Starts with another name server, in a separate mount namespace.
    pub(crate) fn start_with_names(listen: &str, policy: &Value, server: std::net::Ipv4Addr) -> Self {
        let script = "f=$(mktemp) && echo \"nameserver $0\" >$f && mount --bind $f /etc/resolv.conf && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--", "sh", "-c", script, &server.to_string(), PROGRAM]);
        Self::run(command, listen, policy, &[])
    }

    fn run(mut command: Command, listen: &str, policy: &Value, arguments: &[&str]) -> Self {
        let folder = TempDir::with_prefix("egress").unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("policy.json"), policy.to_string()).unwrap();
        let mut child = command
            .args(["egress", "--listen", listen])
            .args(arguments)
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
            .expect("the guard must log its address");
        // Keeps the pipe empty, so that the guard does not block.
        let log = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&log);
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| kept.lock().unwrap().push(line)));
        Self { child, client: GuardClient { address: address.parse().unwrap() }, folder, log }
    }

    /// Replaces the policy file atomically.
    pub(crate) fn write_policy(&self, text: &str) {
        let new = self.folder.path().join("policy.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.folder.path().join("policy.json")).unwrap();
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the guard and waits until it is gone. Until then its port may accept connections.
    pub(crate) fn kill(&mut self) {
        // It may have ended already. Either way it is reaped here.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Ends the guard with SIGTERM and returns its status.
    pub(crate) fn end(&mut self) -> std::process::ExitStatus {
        processes::signal(i32::try_from(self.id()).unwrap(), rustix::process::Signal::TERM);
        wait_for("the end of the guard", || self.child.try_wait().unwrap())
    }

    /// Returns the folder of its files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits for a line of the log with a text, after the one with its address.
    pub(crate) fn log_line(&self, text: &str) -> String {
        wait_for(text, || self.log.lock().unwrap().iter().find(|line| line.contains(text)).cloned())
    }

    pub(crate) fn policy_file(&self) -> PathBuf {
        self.folder.path().join("policy.json")
    }

    /// Returns the audit lines so far.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("an audit line must be JSON")).collect()
    }

    /// Waits for an audit line that matches and returns it.
    pub(crate) fn audit_line(&self, awaited: &str, fits: impl Fn(&Value) -> bool) -> Value {
        wait_for(awaited, || self.audit().into_iter().find(&fits))
    }
}

impl GuardClient {
    /// Opens a connection to the guard.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("cannot connect to the guard");
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream
    }

    /// Sends bytes on a new connection and returns the whole response.
    pub(crate) fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A guard that has refused may not read the rest.
        let _ = stream.write_all(bytes);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8_lossy(&reply).into_owned()
    }

    /// Opens a tunnel and waits for the guard's approval.
    #[track_caller]
    pub(crate) fn tunnel(&self, to: &str) -> TcpStream {
        let mut stream = self.connect();
        write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
        let head = read_head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        stream
    }

    /// Returns the reason code of a refused CONNECT to this target.
    #[track_caller]
    pub(crate) fn connect_code(&self, to: &str) -> String {
        let reply = self.send(format!("CONNECT {to} HTTP/1.1\r\n\r\n").as_bytes());
        code(&reply)
    }
}

impl Drop for EgressGuard {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the reason code of a refusal.
#[track_caller]
pub(crate) fn code(reply: &str) -> String {
    let body = reply.split_once("\r\n\r\n").expect("incomplete response").1;
    let value: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("not a decision: {reply}"));
    assert_eq!(value["verdict"], "deny", "{reply}");
    value["code"].as_str().unwrap().to_owned()
}

/// Reads the head of a response byte by byte, so that nothing after it is consumed.
pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("no response") == 1 {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// A host that records every byte, sends the same response on each connection, and closes it.
#[derive(Debug)]
pub(crate) struct TestHost {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl TestHost {
    /// Starts a host that responds after the head and the announced body of a request.
    pub(crate) fn start(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let log = Arc::clone(&log);
                thread::spawn(move || {
                    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
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
                    // Bytes beyond the request are recorded too.
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

    /// Returns the received text of each connection that has ended.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until one connection has ended and returns its text.
    pub(crate) fn only_connection(&self) -> String {
        wait_for("the end of one connection", || self.seen().first().cloned())
    }
}

/// Starts a host that echoes all bytes.
pub(crate) fn echo() -> SocketAddr {
    echo_on("127.0.0.1:0")
}

/// Starts the same on an address.
pub(crate) fn echo_on(address: &str) -> SocketAddr {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
        }
    });
    address
}

/// Returns a policy that allows the hosts above.
pub(crate) fn loopback() -> Value {
    json!({"open": {"allow_cidrs": ["127.0.0.0/8", "::1"]}})
}
