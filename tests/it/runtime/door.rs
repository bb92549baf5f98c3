//! A runtime's HTTP side, asked with bytes that a test chooses, and what came back.
//!
//! Nothing here tidies up what a test sends, nor turns an answer that is missing into one that is there.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    sync::{Arc, OnceLock},
};

use serde_json::{Value, json};

use super::{super::harness::processes::SAFETY_NET, schemas::Schemas};

/// The session of tests that do not care which one it is; in single mode it is checked and ignored.
pub(crate) const SESSION: &str = "black-box_1";

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    /// The one header of this name, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        let value = values.next();
        assert!(values.next().is_none(), "one `{name}`: {self:?}");
        value.map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("the body is JSON: {self:?}"))
    }

    /// Fails unless the status is this one.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// The text of `detail`, which every refusal that is no validation error has.
    #[track_caller]
    pub(crate) fn detail(&self) -> String {
        self.json()["detail"].as_str().unwrap_or_else(|| panic!("a text in `detail`: {self:?}")).to_owned()
    }

    /// The answer in bytes, if it is one.
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

/// The text of a chunked body.
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

/// What `/exec` gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i64,
}

impl Ran {
    /// Reads `{stdout, stderr, exit_code}`, with those members and no other of an answer.
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

    /// Fails unless the command ended with this code and said why.
    #[track_caller]
    pub(crate) fn fails_with(self, code: i64) -> Self {
        assert_eq!(self.code, code, "the command should end with {code}: {self:?}");
        assert!(!self.stderr.trim().is_empty(), "a failure says why: {self:?}");
        self
    }

    /// The data on stdout.
    #[track_caller]
    pub(crate) fn data(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("stdout is JSON: {self:?}"))
    }
}

/// Where a runtime is asked.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    host: String,
    address: SocketAddr,
    prefix: String,
    token: Option<String>,
    schemas: Arc<OnceLock<Schemas>>,
}

impl Door {
    /// The door of a base URL, such as `http://127.0.0.1:8115`.
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

    /// The same door with another token, or none.
    pub(crate) fn with_token(&self, token: Option<&str>) -> Self {
        Self { token: token.map(str::to_owned), ..self.clone() }
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.host, self.prefix)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap_or_else(|error| panic!("{}: {error}", self.url()));
        stream.set_read_timeout(Some(SAFETY_NET)).unwrap();
        stream
    }

    /// Sends bytes as they are and reads until the server closes; `None` if no answer came.
    pub(crate) fn send(&self, bytes: &[u8]) -> Option<Reply> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(SAFETY_NET)).unwrap();
        // a server that has refused a request does not read the rest of it
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Reply::read(&answer)
    }

    /// The bytes of a request, with more headers (lines without their ends).
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Vec<u8> {
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

    /// One request and its answer, which is as `/openapi.json` says.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reply {
        let reply = self.send(&self.request(method, path, headers, body));
        let reply = reply.unwrap_or_else(|| panic!("no answer to {method} {path}"));
        self.schemas().check(method, path, &reply);
        reply
    }

    /// The server's own description of itself.
    pub(crate) fn schemas(&self) -> &Schemas {
        self.schemas.get_or_init(|| {
            let reply = self.send(&self.request("GET", "/openapi.json", &[], "")).expect("an answer to /openapi.json");
            Schemas::new(reply.is(200).json())
        })
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], "")
    }

    #[track_caller]
    pub(crate) fn delete(&self, path: &str) -> Reply {
        self.ask("DELETE", path, &[], "")
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_text(path, &body.to_string())
    }

    #[track_caller]
    pub(crate) fn post_text(&self, path: &str, body: &str) -> Reply {
        self.ask("POST", path, &["Content-Type: application/json"], body)
    }

    /// A command in the session of this test.
    #[track_caller]
    pub(crate) fn exec(&self, cmd: &str) -> Ran {
        self.exec_with(&json!({"cmd": cmd, "sandbox_id": SESSION}))
    }

    /// A command with everything that a request may say.
    #[track_caller]
    pub(crate) fn exec_with(&self, body: &Value) -> Ran {
        Ran::read(&self.post("/exec", body).is(200).json())
    }

    #[track_caller]
    pub(crate) fn batch(&self, body: &Value) -> Value {
        self.post("/exec_batch", body).is(200).json()
    }

    /// What `/health` says, and with which status.
    #[track_caller]
    pub(crate) fn health(&self) -> (u16, Value) {
        let reply = self.get("/health");
        (reply.status, reply.json())
    }
}
