//! HTTP client for a runtime.
//!
//! Sends the bytes that a test chooses, unchanged, and never hides a missing response.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    sync::{Arc, OnceLock},
};

use serde_json::{Value, json};

use super::{
    super::harness::{processes::TEST_TIMEOUT, reply::json_line},
    schemas::Schemas,
};

/// Session of tests for which the session does not matter. In single mode it is validated and ignored.
pub(crate) const SESSION: &str = "black-box_1";

/// An HTTP response.
#[derive(Debug, Clone)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl HttpResponse {
    /// Returns the only header with this lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        let value = values.next();
        assert!(values.next().is_none(), "duplicate header `{name}`: {self:?}");
        value.map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("the body must be JSON: {self:?}"))
    }

    /// Fails unless the status is `status`.
    #[track_caller]
    pub(crate) fn expect_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Returns `detail` as text. Every error except a validation error has it.
    #[track_caller]
    pub(crate) fn detail(&self) -> String {
        self.json()["detail"].as_str().unwrap_or_else(|| panic!("`detail` must be text: {self:?}")).to_owned()
    }

    /// Parses a response; `None` if it is incomplete.
    fn read(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if chunked { unchunked(body)? } else { body.to_owned() };
        Some(Self { status, headers, body })
    }
}

/// Decodes a chunked body.
fn unchunked(mut rest: &str) -> Option<String> {
    let mut text = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n")?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(text);
        }
        text += after.get(..size)?;
        rest = after.get(size + 2..)?;
    }
}

/// The outcome of one command: the response of `/exec`, or a step of `/exec_batch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecOutcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i64,
}

impl ExecOutcome {
    /// Reads `stdout`, `stderr` and `exit_code` and ignores all other members.
    #[track_caller]
    pub(crate) fn read(value: &Value) -> Self {
        let field = |name: &str| value[name].as_str().unwrap_or_else(|| panic!("`{name}`: {value}")).to_owned();
        Self { stdout: field("stdout"), stderr: field("stderr"), code: value["exit_code"].as_i64().unwrap() }
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "the command should succeed: {self:?}");
        self
    }

    /// Fails unless the command ended with this exit code and an error message.
    #[track_caller]
    pub(crate) fn fails_with(self, code: i64) -> Self {
        assert_eq!(self.code, code, "expected exit code {code}: {self:?}");
        assert!(!self.stderr.trim().is_empty(), "a failure needs a message on stderr: {self:?}");
        self
    }

    /// Parses stdout as one line of compact JSON.
    #[track_caller]
    pub(crate) fn data(&self) -> Value {
        json_line(&self.stdout, self)
    }
}

/// HTTP client for one runtime.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    host: String,
    address: SocketAddr,
    prefix: String,
    token: Option<String>,
    schemas: Arc<OnceLock<Schemas>>,
}

impl HttpClient {
    /// Creates a client for a base URL, such as `http://127.0.0.1:8115`.
    pub(crate) fn new(base: &str, token: Option<String>) -> Self {
        let rest = base.strip_prefix("http://").unwrap_or_else(|| panic!("`{base}` does not begin with http://"));
        let (host, path) =
            rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
        let with_port = if host.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok()) {
            host.to_owned()
        } else {
            format!("{host}:80")
        };
        let address = with_port.to_socket_addrs().unwrap_or_else(|error| panic!("`{base}`: {error}")).next();
        Self {
            host: host.to_owned(),
            address: address.unwrap_or_else(|| panic!("`{base}` has no address")),
            prefix: path.trim_end_matches('/').to_owned(),
            token,
            schemas: Arc::default(),
        }
    }

    /// Returns the same client with another token, or without one.
    pub(crate) fn with_token(&self, token: Option<&str>) -> Self {
        Self { token: token.map(str::to_owned), ..self.clone() }
    }

    /// Returns the base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.host, self.prefix)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap_or_else(|error| panic!("{}: {error}", self.url()));
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream
    }

    /// Sends bytes unchanged and reads until the server closes the connection; `None` without a response.
    pub(crate) fn send(&self, bytes: &[u8]) -> Option<HttpResponse> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        // A server that has rejected a request does not read the rest of it.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        HttpResponse::read(&answer)
    }

    /// Returns the bytes of a request. `headers` are additional header lines without line ends.
    pub(crate) fn request_bytes(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Vec<u8> {
        let mut lines = vec![format!("{method} {}{path} HTTP/1.1", self.prefix), "Connection: close".to_owned()];
        let has = |name: &str| headers.iter().any(|line| line.to_ascii_lowercase().starts_with(name));
        if !has("host:") {
            lines.push(format!("Host: {}", self.host));
        }
        if let Some(token) = &self.token {
            lines.push(format!("Authorization: Bearer {token}"));
        }
        lines.extend(headers.iter().map(|&line| line.to_owned()));
        if !body.is_empty() || method == "POST" {
            lines.push(format!("Content-Length: {}", body.len()));
        }
        format!("{}\r\n\r\n{body}", lines.join("\r\n")).into_bytes()
    }

    /// Sends a request. Fails unless the response matches the server's `/openapi.json`.
    #[track_caller]
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[&str], body: &str) -> HttpResponse {
        let reply = self.send(&self.request_bytes(method, path, headers, body));
        let reply = reply.unwrap_or_else(|| panic!("no response to {method} {path}"));
        self.schemas().check(method, path, &reply);
        reply
    }

    /// Returns the server's `OpenAPI` document.
    pub(crate) fn schemas(&self) -> &Schemas {
        self.schemas.get_or_init(|| {
            let reply =
                self.send(&self.request_bytes("GET", "/openapi.json", &[], "")).expect("no response to /openapi.json");
            Schemas::new(reply.expect_status(200).json())
        })
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> HttpResponse {
        self.request("GET", path, &[], "")
    }

    #[track_caller]
    pub(crate) fn delete(&self, path: &str) -> HttpResponse {
        self.request("DELETE", path, &[], "")
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> HttpResponse {
        self.post_text(path, &body.to_string())
    }

    #[track_caller]
    pub(crate) fn post_text(&self, path: &str, body: &str) -> HttpResponse {
        self.request("POST", path, &["Content-Type: application/json"], body)
    }

    /// Runs a command in the test's session.
    #[track_caller]
    pub(crate) fn exec(&self, cmd: &str) -> ExecOutcome {
        self.exec_with(&json!({"cmd": cmd, "sandbox_id": SESSION}))
    }

    /// Runs a command with the given request body.
    #[track_caller]
    pub(crate) fn exec_with(&self, body: &Value) -> ExecOutcome {
        ExecOutcome::read(&self.post("/exec", body).expect_status(200).json())
    }

    #[track_caller]
    pub(crate) fn batch(&self, body: &Value) -> Value {
        self.post("/exec_batch", body).expect_status(200).json()
    }

    /// Returns the status and body of `/health`.
    #[track_caller]
    pub(crate) fn health(&self) -> (u16, Value) {
        let reply = self.get("/health");
        (reply.status, reply.json())
    }
}
