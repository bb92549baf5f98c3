//! A `browser-shell serve` under test: its folders, its process, and all processes that it started.

use std::{
    io::{Read, Write},
    net::TcpStream,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::{
    credentials::signer::Signer,
    harness::{
        processes::{self, Process, wait_for},
        server::{TestEnv, free_port, stand_in, stand_in_env},
    },
};

/// A running server.
pub(crate) struct Server {
    child: Child,
    env: TestEnv,
    pub(super) port: u16,
    health: u16,
    /// API key that calls of the tool send, if the server has credentials.
    key: Option<&'static str>,
}

/// API keys of a server with credentials: one that may use the tool and the screen, and one that may only watch.
pub(super) const DRIVE_KEY: &str = "0123456789-drive-0123456789";
pub(super) const WATCH_KEY: &str = "0123456789-watch-0123456789";

/// Issuer of the tokens, and the address of the server in them.
const ISSUER: &str = "https://issuer.example";
pub(super) const PUBLIC_URL: &str = "http://box.example";

/// Returns a file of API keys: subject, scope and key of each.
pub(super) fn key_file(keys: &[(&str, &str, &str)]) -> String {
    let hash = |key: &str| Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let lines: Vec<_> =
        keys.iter().map(|(subject, scope, key)| format!("{subject} {scope} sha256:{}\n", hash(key))).collect();
    lines.concat()
}

/// Returns the header with a token that is valid for so many seconds.
pub(super) fn bearer(signer: &Signer, scope: &str, seconds: u64) -> String {
    let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + seconds;
    let audience = format!("{PUBLIC_URL}/mcp");
    let claims = json!({"iss": ISSUER, "aud": audience, "sub": "tom", "scope": scope, "exp": end});
    format!("Authorization: Bearer {}", signer.token(&claims))
}

/// Returns the environment of a server with the stand-ins for agent-browser and Chromium, and without a screen.
pub(crate) fn stand_in_settings() -> TestEnv {
    let chromium = stand_in().with_file_name("fake-chromium");
    assert!(chromium.exists(), "`{}` is missing: cargo build --example fake-chromium", chromium.display());
    stand_in_env().with("BROWSER_SHELL_SCREEN", "none").with("BROWSER_SHELL_CHROMIUM", chromium)
}

impl Server {
    /// Starts a server and waits until it is healthy.
    pub(crate) fn start(env: TestEnv) -> Self {
        Self::start_on(free_port(), env)
    }

    /// Starts a server on a port and waits until it is healthy.
    pub(super) fn start_on(port: u16, env: TestEnv) -> Self {
        let [health, egress] = [(); 2].map(|()| free_port());
        let address = |port: u16| format!("127.0.0.1:{port}");
        let env = env
            .with("BROWSER_SHELL_LISTEN", address(port))
            .with("BROWSER_SHELL_HEALTH", address(health))
            .with("BROWSER_SHELL_EGRESS", address(egress));
        let mut command = env.command(&["serve"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut server = Self { child, env, port, health, key: None };
        server.wait_until_healthy();
        server
    }

    /// Starts a server with the API keys [`DRIVE_KEY`] and [`WATCH_KEY`].
    pub(super) fn start_with_keys(env: TestEnv) -> Self {
        Self::start_with_key_list(env, &[("ada", "drive", DRIVE_KEY), ("bob", "watch", WATCH_KEY)])
    }

    /// Starts a server with these API keys, of which calls use the first one.
    pub(super) fn start_with_key_list(env: TestEnv, keys: &[(&str, &str, &'static str)]) -> Self {
        let path = env.write_file("keys", &key_file(keys));
        let mut server = Self::start(env.with("BROWSER_SHELL_API_KEYS", path));
        server.key = keys.first().map(|(_, _, key)| *key);
        server
    }

    /// Starts a server with these API keys that accepts tokens of a signer, too.
    pub(super) fn start_with_tokens(env: TestEnv, signer: &Signer) -> Self {
        let keys = env.write_file("jwks.json", &json!({"keys": [signer.jwk(Some("k1"))]}).to_string());
        Self::start_with_keys(
            env.with("BROWSER_SHELL_JWT_KEYS", keys)
                .with("BROWSER_SHELL_JWT_ISSUER", ISSUER)
                .with("BROWSER_SHELL_PUBLIC_URL", PUBLIC_URL),
        )
    }

    /// Returns the files and settings.
    pub(crate) fn env(&self) -> &TestEnv {
        &self.env
    }

    /// Sends a request without a body, with an API key.
    pub(super) fn request_with(&self, key: &str, line: &str) -> (u16, String) {
        self.request_as(&format!("X-AIO-API-Key: {key}"), line, "")
    }

    /// Sends a request with the header of a credential.
    pub(super) fn request_as(&self, credential: &str, line: &str, body: &str) -> (u16, String) {
        let length = body.len();
        let headers = format!("Host: localhost:{}\r\n{credential}\r\nContent-Length: {length}\r\n", self.port);
        self.send(&format!("{line} HTTP/1.1\r\n{headers}\r\n{body}"))
    }

    /// Returns a ticket for the viewer that the owner of a key asks for.
    pub(super) fn ticket(&self, key: &str) -> String {
        self.ticket_as(&format!("X-AIO-API-Key: {key}"), "")
    }

    /// Returns a ticket for the viewer, by the header of a credential and the body of the request.
    pub(super) fn ticket_as(&self, credential: &str, body: &str) -> String {
        let (status, body) = self.request_as(credential, "POST /tickets", body);
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["ticket"].as_str().unwrap().to_owned()
    }

    /// Waits until browser and screen are usable.
    pub(super) fn wait_until_healthy(&mut self) {
        wait_for("a healthy server", || {
            assert!(self.child.try_wait().unwrap().is_none(), "the server exited");
            (self.health()?.0 == 200).then_some(())
        });
    }

    /// Returns the port for monitors.
    pub(super) fn health_port(&self) -> u16 {
        self.health
    }

    /// Returns the status and the body of the health.
    pub(super) fn health(&self) -> Option<(u16, Value)> {
        self.probe("/healthz")
    }

    /// Returns the status and the body of a probe.
    pub(super) fn probe(&self, path: &str) -> Option<(u16, Value)> {
        let (status, body) = self.ask_health(path)?;
        Some((status, serde_json::from_str(&body).ok()?))
    }

    /// Returns a text of the address for monitors.
    pub(super) fn text_of(&self, path: &str) -> String {
        let (status, body) = self.ask_health(path).unwrap();
        assert_eq!(status, 200, "{body}");
        body
    }

    fn ask_health(&self, path: &str) -> Option<(u16, String)> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        exchange(self.health, request.as_bytes())
    }

    /// Sends a request as it is to the public port, and returns the status and the body of its response.
    pub(super) fn send(&self, request: &str) -> (u16, String) {
        exchange(self.port, request.as_bytes()).unwrap_or_else(|| panic!("no response to {request:?}"))
    }

    /// Sends a request without a body, with the Host of this server.
    pub(super) fn request(&self, line: &str) -> (u16, String) {
        self.send(&format!("{line} HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", self.port))
    }

    /// Calls the tool, and returns its exit code and output.
    pub(crate) fn call(&self, session: &str, argv: &[&str]) -> (i64, String) {
        self.call_with(self.key, session, argv)
    }

    /// Calls the tool with an API key, and returns its exit code and output.
    pub(super) fn call_with(&self, key: Option<&str>, session: &str, argv: &[&str]) -> (i64, String) {
        let arguments = json!({"session_id": session, "argv": argv});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "browser-shell", "arguments": arguments}})
        .to_string();
        let key = key.map_or_else(String::new, |key| format!("X-AIO-API-Key: {key}\r\n"));
        let (status, body) = self.send(&format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost:{}\r\n{key}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        ));
        assert_eq!(status, 200, "{body}");
        let reply: Value = serde_json::from_str(&body).unwrap();
        let reply = &reply["result"]["structuredContent"];
        (reply["exit_code"].as_i64().unwrap(), format!("{}{}", reply["stdout"], reply["stderr"]))
    }

    /// Returns the processes that the server started and whose command has this text.
    pub(super) fn processes(&self, text: &str) -> Vec<Process> {
        let all = self.env.processes(Some(i32::try_from(self.child.id()).unwrap()));
        all.into_iter().filter(|process| process.command.contains(text)).collect()
    }

    /// Returns the process of the server.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server, so that it cannot clean up.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns the server's private folder.
    pub(super) fn runtime_folder(&self) -> std::path::PathBuf {
        Path::new(self.env.folder()).join("run")
    }
}

impl Drop for Server {
    /// Ends the server with SIGTERM. The environment then fails if a process is left.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            return;
        }
        if self.child.try_wait().unwrap().is_none() {
            processes::signal(i32::try_from(self.child.id()).unwrap(), Signal::TERM);
            let status = wait_for("the end of the server", || self.child.try_wait().unwrap());
            assert!(status.success(), "{status}, signal {:?}", status.signal());
        }
    }
}

/// Sends bytes to a port of loopback and reads the response until its end.
fn exchange(port: u16, request: &[u8]) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(processes::TEST_TIMEOUT)).unwrap();
    stream.write_all(request).ok()?;
    let mut response = Vec::new();
    // A server that refuses early may close before it has read everything.
    let _ = stream.read_to_end(&mut response);
    let response = String::from_utf8_lossy(&response).into_owned();
    let (head, body) = response.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}
