//! Credentials of the MCP server over HTTP, as clients and attackers meet them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::harness::processes::peak_memory;
use super::harness::server::{HttpServer, TestEnv, free_port, stand_in_env};

/// Signer that the tests of both crates share.
#[path = "../../crates/core/src/auth/test_signer.rs"]
pub(crate) mod signer;

/// Returns an environment whose server has these API keys: subject, scope and key.
pub(crate) fn with_api_keys(env: TestEnv, keys: &[(&str, &str, &str)]) -> TestEnv {
    let hash = |key: &str| Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let lines: Vec<_> =
        keys.iter().map(|(subject, scope, key)| format!("{subject} {scope} sha256:{}\n", hash(key))).collect();
    let path = env.write_file("api-keys", &lines.concat());
    env.with("BROWSER_SHELL_API_KEYS", path)
}

/// Connection that many requests use.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(server: &HttpServer) -> Self {
        Self(BufReader::new(TcpStream::connect(("127.0.0.1", server.port())).unwrap()))
    }

    /// Sends a request and returns status, head and body.
    fn send(&mut self, target: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        let method = if body.is_empty() { "GET" } else { "POST" };
        let own = format!(
            "Host: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            body.len()
        );
        let headers = headers.iter().fold(own, |all, (name, value)| format!("{all}{name}: {value}\r\n"));
        self.0.get_mut().write_all(format!("{method} {target} HTTP/1.1\r\n{headers}\r\n{body}").as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.0.read_line(&mut head).unwrap(), 0, "the server hung up after {head:?}");
        }
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let length = field("content-length: ").map_or(0, |length| length.parse().unwrap());
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, String::from_utf8(bytes).unwrap())
    }

    /// Calls the tool and returns the status.
    fn call(&mut self, headers: &[(&str, &str)]) -> u16 {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
            {"name": "browser-shell", "arguments": {"session_id": "s", "argv": ["snapshot"]}}});
        self.send("/mcp", headers, &body.to_string()).0
    }
}

#[test]
fn two_thousand_guesses_find_nothing_and_need_no_memory() {
    let issuer = signer::Signer::ed25519(7);
    let env = with_api_keys(stand_in_env(), &[("alice", "drive", "key-of-alice")]);
    let keys = env.write_file("jwt-keys", &issuer.pem());
    let env = env
        .with("BROWSER_SHELL_JWT_KEYS", keys)
        .with("BROWSER_SHELL_JWT_ISSUER", "https://issuer.example")
        .with("BROWSER_SHELL_JWT_AUDIENCE", "browser");
    let server = env.serve_http();
    let mut client = Client::connect(&server);
    assert_eq!(client.call(&[("Authorization", "Bearer key-of-alice")]), 200, "control");

    let forged = signer::Signer::ed25519(8).token(&json!({"iss": "https://issuer.example", "aud": "browser"}));
    let mut early = 0;
    for guess in 0..2_000 {
        let bearer = format!("Bearer guess-{guess}");
        let token = format!("Bearer {guess}.{guess}.{guess}");
        let forged = format!("Bearer {forged}");
        let (status, head, _) = match guess % 4 {
            0 => client.send("/mcp", &[("Authorization", &bearer)], "{}"),
            1 => client.send("/mcp", &[("X-AIO-API-Key", &bearer)], "{}"),
            2 => client.send("/mcp", &[("Authorization", &token)], "{}"),
            _ if guess % 100 == 3 => client.send("/mcp", &[("Authorization", &forged)], "{}"),
            _ => client.send(&format!("/mcp?ticket=guess-{guess}"), &[], "{}"),
        };
        assert_eq!(status, 401, "{guess}: {head}");
        if guess == 500 {
            early = peak_memory(server.id());
        }
    }
    let growth = peak_memory(server.id()) - early;
    assert!(growth < 512 * 1024, "{growth} bytes more after 1500 guesses");
    assert_eq!(client.call(&[("Authorization", "Bearer key-of-alice")]), 200, "control: the server still works");

    // Its end writes the counts.
    let files = server.env().shared();
    drop(server);
    let audit = files.audit();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let subjects: Vec<_> =
        lines.iter().filter(|line| line["subcommand"] == "snapshot").map(|line| &line["subject"]).collect();
    assert_eq!(subjects, ["alice", "alice"]);
    let accesses: Vec<_> = lines.iter().filter(|line| line["event"] == "access").collect();
    let requests: u64 = accesses.iter().map(|line| line["omitted"].as_u64().unwrap_or(1)).sum();
    assert_eq!(requests, 2_000, "each has a line, or is in a count");
    assert!(accesses.len() < 1_000, "guesses fill the log: {} lines", accesses.len());
    assert!(!audit.contains("guess-") && !audit.contains("key-of-alice"), "a credential is in the log");
}

#[test]
fn server_with_credentials_guards_the_tool_alone() {
    let server = with_api_keys(stand_in_env(), &[("walter", "watch", "w1"), ("doris", "drive", "d1")]).serve_http();
    let mut client = Client::connect(&server);
    assert_eq!(client.call(&[("X-AIO-API-Key", "d1")]), 200, "control");
    for headers in [&[][..], &[("X-AIO-API-Key", "d2")], &[("Cookie", "X-AIO-API-Key=d1")]] {
        let (status, head, body) = client.send("/mcp", headers, "{}");
        assert_eq!(status, 401, "{headers:?}: {body}");
        assert!(head.contains("www-authenticate: Bearer"), "{head}");
    }
    // The head is enough for it: nobody without a credential has a body read.
    let mut half = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    half.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{").unwrap();
    let mut answer = [0; 12];
    half.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
    let (status, head, body) = client.send("/mcp", &[("X-AIO-API-Key", "w1")], "{}");
    assert!(status == 403 && body.starts_with("scope-insufficient: "), "{status} {body}");
    assert!(head.contains("error=\"insufficient_scope\""), "{head}");
    assert_eq!(client.send("/healthz", &[], "").0, 200, "for the health check of a container");
    assert_eq!(client.send("/.well-known/oauth-protected-resource", &[], "").0, 404, "there are no tokens");
    // A page of another site has no use of a key that a proxy adds.
    let page = [("X-AIO-API-Key", "d1"), ("Origin", "https://evil.example")];
    assert_eq!(client.send("/mcp", &page, "{}").0, 403);
}

#[test]
fn tokens_without_a_public_url_are_warned_of() {
    let env = stand_in_env();
    let keys = env.write_file("jwt-keys", &signer::Signer::ed25519(7).pem());
    let env = env
        .with("BROWSER_SHELL_JWT_KEYS", keys)
        .with("BROWSER_SHELL_JWT_ISSUER", "https://issuer.example")
        .with("BROWSER_SHELL_JWT_AUDIENCE", "browser");
    let warning = |env: &TestEnv| String::from_utf8(env.run(&["mcp"]).stderr).unwrap();
    let text = warning(&env);
    assert!(text.contains("--jwt-keys without --public-url") && text.contains("https://browser.example"), "{text}");
    let named = env.with("BROWSER_SHELL_PUBLIC_URL", "https://browser.example");
    assert!(!warning(&named).contains("--public-url"), "control");
    let alone = stand_in_env().with("BROWSER_SHELL_PUBLIC_URL", "https://browser.example");
    let text = warning(&alone);
    assert!(text.contains("--public-url has no effect without credentials"), "{text}");
}

#[test]
fn public_address_needs_credentials() {
    let env = stand_in_env();
    let port = free_port();
    let address = format!("0.0.0.0:{port}");
    let refused = env.run(&["mcp", "--http", &address]);
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && stderr.contains("--api-keys"), "{stderr}");
    let env = env.with("BROWSER_SHELL_API_KEYS", "/nowhere/keys");
    let refused = env.run(&["mcp", "--http", &address]);
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains("cannot read `/nowhere/keys`: no such file or folder"), "{stderr}");
}
