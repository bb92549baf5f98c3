//! The egress guard and what clients can send to it (spec [5.1]): forwarding, refusals and limits.
//!
//! Each refusal has a control: the same request under a policy that allows it. `stack/policies/egress` tests the
//! pages of a real Chromium.

pub(crate) mod guard;
mod limits;
mod sessions;
mod upstream;

use std::{
    io::{Read, Write},
    process::Command,
};

use serde_json::{Value, json};

use self::guard::{EgressGuard, TestHost, code, loopback};
use crate::harness::{processes::wait_for, server::PROGRAM};

/// A plain HTTP response.
pub(crate) const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn get(host: &TestHost) -> String {
    let at = host.address;
    format!("GET http://{at}/path?query HTTP/1.1\r\nHost: {at}\r\nAccept: */*\r\n\r\n")
}

// Requirement 5.1.
#[test]
fn guard_connects_only_to_addresses_the_policy_allows() {
    let host = TestHost::start(HELLO);
    let guard = EgressGuard::start(&json!({}));
    let refused = guard.send(get(&host).as_bytes());
    assert!(refused.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{refused}");
    assert_eq!(code(&refused), "address-not-public");
    assert_eq!(guard.connect_code(&host.address.to_string()), "address-not-public");
    assert_eq!(guard.connect_code(&format!("localhost:{}", host.port())), "host-not-public");
    assert_eq!(guard.connect_code("metadata.google.internal:80"), "host-not-public");
    assert_eq!(host.seen(), <[&str; 0]>::default(), "the host must see no connection");

    // Control: the same bytes with another policy file, which takes effect without a restart.
    guard.write_policy(&loopback().to_string());
    let reply = guard.send(get(&host).as_bytes());
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\nhello"), "{reply}");
    let seen = host.only_connection();
    assert!(seen.starts_with("GET /path?query HTTP/1.1\r\n"), "{seen}");
    let mut tunnel = guard.tunnel(&format!("localhost:{}", host.port()));
    tunnel.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut text = String::new();
    tunnel.read_to_string(&mut text).unwrap();
    assert_eq!(text, HELLO);

    // An invalid file refuses everything and explains why.
    guard.write_policy(r#"{"open":{"deny_ports":[0]}}"#);
    let refused = guard.send(get(&host).as_bytes());
    assert_eq!(code(&refused), "policy-invalid");
    assert!(refused.contains("open.deny_ports[0]"), "{refused}");
    guard.write_policy(&loopback().to_string());
    assert!(guard.send(get(&host).as_bytes()).starts_with("HTTP/1.1 200 "), "control: corrected");
}

#[test]
fn refusal_is_html_for_people_and_json_for_programs() {
    let guard = EgressGuard::start(&json!({}));
    let request = |accept: &str| {
        guard.send(
            format!("GET http://10.0.0.1/secret HTTP/1.1\r\nHost: 10.0.0.1\r\nAccept: {accept}\r\n\r\n").as_bytes(),
        )
    };
    let page = request("text/html,application/xhtml+xml,*/*;q=0.8");
    assert!(page.contains("content-type: text/html") && page.contains("<dd>address-not-public</dd>"), "{page}");
    let value = request("*/*");
    assert!(value.contains("content-type: application/json"), "{value}");
    for reply in [page, value] {
        assert!(reply.contains("content-security-policy: default-src 'none'"), "{reply}");
        assert!(!reply.contains("secret"), "the response must not contain the path: {reply}");
    }
}

// Requirement 1.14.
#[test]
fn connection_audit_line_names_target_code_bytes_and_file() {
    let host = TestHost::start(HELLO);
    let guard = EgressGuard::start(&loopback());
    let hash = String::from_utf8(Command::new("sha256sum").arg(guard.policy_file()).output().unwrap().stdout).unwrap();
    guard.send(get(&host).as_bytes());
    let line = guard.audit_line("the line of a connection", |line| line["code"] == "allowed");
    let names: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "time",
        "event",
        "session",
        "subject",
        "code",
        "place",
        "host",
        "address",
        "port",
        "bytes_up",
        "bytes_down",
        "end",
        "policy",
        "ms",
    ];
    assert_eq!(names, expected);
    assert_eq!(line["policy"], hash.split(' ').next().unwrap());
    let known =
        |line: &Value| json!([line["event"], line["place"], line["host"], line["address"], line["port"], line["end"]]);
    assert_eq!(
        known(&line),
        json!(["connection", "open.allow_cidrs[0]", "127.0.0.1", "127.0.0.1", host.port(), "closed"])
    );
    assert!(line["bytes_up"].as_u64().unwrap() > 50);
    assert_eq!(line["bytes_down"], HELLO.len());

    guard.connect_code("10.0.0.1:443");
    let line = guard.audit_line("the line of a refusal", |line| line["code"] == "address-not-public");
    assert_eq!(known(&line), json!(["connection", null, "10.0.0.1", "10.0.0.1", 443, "refused"]));
    let all = serde_json::to_string(&guard.audit()).unwrap();
    assert!(!all.contains("path") && !all.contains("query"), "{all}");
}

#[test]
fn malformed_connect_targets_are_refused() {
    let host = TestHost::start(HELLO);
    let guard = EgressGuard::start(&json!({"open": {"allow_cidrs": ["127.0.0.2"]}}));
    let port = host.port();
    // Target and code.
    let rows = [
        (format!("127.0.0.1:{port}"), "address-not-public"),
        (format!("127.1:{port}"), "address-not-public"),
        (format!("0x7f000001:{port}"), "address-not-public"),
        (format!("0177.0.0.1:{port}"), "address-not-public"),
        (format!("2130706433:{port}"), "address-not-public"),
        (format!("127.0.0.1.:{port}"), "address-not-public"),
        (format!("0:{port}"), "address-not-public"),
        (format!("0.0.0.0:{port}"), "address-not-public"),
        (format!("[::]:{port}"), "address-not-public"),
        (format!("[::1]:{port}"), "address-not-public"),
        (format!("[::ffff:127.0.0.1]:{port}"), "address-not-public"),
        (format!("[::127.0.0.1]:{port}"), "address-not-public"),
        (format!("[64:ff9b::7f00:1]:{port}"), "address-not-public"),
        (format!("localhost:{port}"), "host-not-public"),
        (format!("LOCALHOST.:{port}"), "host-not-public"),
        (format!("a.localhost:{port}"), "host-not-public"),
        ("169.254.169.254:80".to_owned(), "address-not-public"),
        ("8.8.8.8:25".to_owned(), "port-denied"),
        ("8.8.8.8:53".to_owned(), "port-denied"),
        ("update.googleapis.com:443".to_owned(), "host-denied"),
        (guard.address.to_string(), "guard-itself"),
        (format!("127.0.0.2:{}", guard.address.port()), "guard-itself"),
        (format!("localhost:{}", guard.address.port()), "guard-itself"),
        (format!("[::1%25lo]:{port}"), "proxy-request-invalid"),
        (format!("user@127.0.0.1:{port}"), "proxy-request-invalid"),
        (format!("127.0.0.1:{port}:{port}"), "proxy-request-invalid"),
        (format!("http://127.0.0.1:{port}"), "proxy-request-invalid"),
        (format!("127.0.0.1:{port}/"), "proxy-request-invalid"),
        ("127.0.0.1".to_owned(), "proxy-request-invalid"),
        ("127.0.0.1:0".to_owned(), "proxy-request-invalid"),
        ("127.0.0.1:65536".to_owned(), "proxy-request-invalid"),
        (":443".to_owned(), "proxy-request-invalid"),
        ("/".to_owned(), "proxy-request-invalid"),
        ("*".to_owned(), "proxy-request-invalid"),
    ];
    for (target, expected) in rows {
        assert_eq!(guard.connect_code(&target), expected, "{target}");
    }
    assert_eq!(host.seen(), <[&str; 0]>::default());

    guard.write_policy(&loopback().to_string());
    for target in [format!("127.0.0.1:{port}"), format!("2130706433:{port}"), format!("localhost:{port}")] {
        guard.tunnel(&target);
    }
    assert_eq!(guard.connect_code(&guard.address.to_string()), "guard-itself", "in every policy");
}

#[test]
fn ambiguous_requests_are_not_forwarded() {
    let host = TestHost::start(HELLO);
    let guard = EgressGuard::start(&loopback());
    let at = host.address;
    let inner = format!("GET http://{at}/inner HTTP/1.1\r\nHost: {at}\r\n\r\n");
    let post = |headers: &str, body: &str| format!("POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\n{headers}\r\n{body}");
    let bytes = inner.len();
    let pairs = [
        post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", &format!("0\r\n\r\n{inner}")),
        post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", &format!("0\r\n\r\n{inner}")),
        post(&format!("Content-Length: 0\r\nContent-Length: {bytes}\r\n"), &inner),
        post(&format!("Content-Length: {bytes}\r\nContent-Length: {bytes}\r\n"), &inner),
        post("Content-Length: 0x1\r\n", "a"),
        post("Content-Length: -1\r\n", "a"),
        post("Content-Length: \r\n", "a"),
        post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        post("X: y\r\n\tTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        post("X: y\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        post("X: y\rTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        post("X: \0y\r\n", ""),
        post("Host: other.example\r\n", ""),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: other.example\r\n\r\n"),
        format!("GET http://{at}/ HTTP/1.1\r\n\r\n"),
        format!("GET http://{at}/ HTTP/1.0\r\nHost: {at}\r\n\r\n"),
        format!("GET http://user@{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("GET http://{at}\\@other.example/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("GET https://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("GET ws://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
        format!("TRACE http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("\r\nGET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\nContent-Length: 3\r\n\r\nabc"),
        format!("CONNECT {at} HTTP/1.1\r\nHost: other.example:443\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}".to_owned(),
    ];
    for bytes in pairs {
        let reply = guard.send(bytes.as_bytes());
        assert!(reply.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{bytes:?}\n{reply}");
        assert_eq!(code(&reply), "proxy-request-invalid", "{bytes:?}");
        assert_eq!(reply.matches("HTTP/1.1 400").count(), 1, "expected one response: {bytes:?}\n{reply}");
    }
    assert_eq!(host.seen(), <[&str; 0]>::default());

    // Control: a body of either kind arrives complete and once.
    let reply = guard.send(post("Content-Length: 3\r\n", "abc").as_bytes());
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    assert!(host.only_connection().ends_with("\r\n\r\nabc"), "{:?}", host.seen());
}

#[test]
fn connection_carries_only_one_request() {
    let host = TestHost::start(HELLO);
    let guard = EgressGuard::start(&loopback());
    let at = host.address;
    let second = format!("GET http://{at}/second HTTP/1.1\r\nHost: {at}\r\n\r\n");
    for first in [
        get(&host),
        format!("POST http://{at}/path?query HTTP/1.1\r\nHost: {at}\r\nContent-Length: 3\r\n\r\nabc"),
        format!(
            "POST http://{at}/path?query HTTP/1.1\r\nHost: {at}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        ),
    ] {
        let reply = guard.send(format!("{first}{second}").as_bytes());
        assert_eq!(reply.matches("HTTP/1.1 200 OK").count(), 1, "{reply}");
        assert!(reply.to_ascii_lowercase().contains("\r\nconnection: close\r\n"), "{reply}");
    }
    let seen = wait_for("three connections", || Some(host.seen()).filter(|seen| seen.len() == 3));
    assert!(!seen.concat().contains("/second"), "{seen:?}");
}

#[test]
fn proxy_headers_are_not_forwarded() {
    let host = TestHost::start(
        "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nProxy-Authenticate: Basic\r\nKeep-Alive: timeout=5\r\nX-End: 2\r\nContent-Length: 0\r\n\r\n",
    );
    let guard = EgressGuard::start(&loopback());
    let at = host.address;
    let reply = guard.send(
        format!(
            "GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic c2VjcmV0\r\n\
             Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nX-End: 2\r\n\r\n"
        )
        .as_bytes(),
    );
    for text in [reply.to_ascii_lowercase(), host.only_connection().to_ascii_lowercase()] {
        for gone in ["proxy-", "x-hop", "keep-alive", "\r\nte:"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        assert!(text.contains("x-end: 2"), "control: {text}");
    }
}

#[test]
fn names_of_fields_keep_their_case() {
    let host = TestHost::start("HTTP/1.1 200 OK\r\nX-OF-Host: 1\r\nx-lower: 2\r\nContent-Length: 0\r\n\r\n");
    let guard = EgressGuard::start(&loopback());
    let at = host.address;
    let request = format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nX-OF-Page: 1\r\nx-lower: 2\r\n\r\n");
    let reply = guard.send(request.as_bytes());
    assert!(reply.contains("\r\nX-OF-Host: 1\r\n") && reply.contains("\r\nx-lower: 2\r\n"), "{reply}");
    let sent = host.only_connection();
    assert!(sent.contains("\r\nX-OF-Page: 1\r\n") && sent.contains("\r\nx-lower: 2\r\n"), "{sent}");
    assert!(sent.contains(&format!("\r\nHost: {at}\r\n")), "{sent}");
}

#[test]
fn host_cannot_forge_guard_responses() {
    for answer in [
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        "this is not HTTP\r\n\r\n",
        "",
    ] {
        let host = TestHost::start(answer);
        let guard = EgressGuard::start(&loopback());
        let reply = guard.send(get(&host).as_bytes());
        assert!(reply.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer:?}: {reply}");
        assert_eq!(code(&reply), "address-unreachable");
    }
}

#[test]
fn egress_modes_allowlist_and_off_work() {
    let host = TestHost::start(HELLO);
    let at = host.address.to_string();
    let guard = EgressGuard::start(&json!({"open": {"allow_cidrs": ["127.0.0.0/8"], "allow_hosts": ["a.example"]}}));
    guard.tunnel(&at);
    guard.write_policy(
        &json!({"open": {"allow_cidrs": ["127.0.0.0/8"], "allow_hosts": ["a.example"]}, "egress": {"mode": "allowlist"}})
            .to_string(),
    );
    assert_eq!(guard.connect_code(&at), "host-not-in-allowlist");
    guard.write_policy(
        &json!({"open": {"allow_cidrs": ["127.0.0.0/8"], "allow_hosts": ["127.0.0.1"]}, "egress": {"mode": "allowlist"}})
            .to_string(),
    );
    guard.tunnel(&at);
    guard.write_policy(&json!({"egress": {"mode": "off"}}).to_string());
    assert_eq!(guard.connect_code(&at), "address-not-public", "local services must remain refused");
    guard.write_policy(
        &json!({"open": {"deny_hosts": ["127.0.0.1"], "allow_cidrs": ["127.0.0.0/8"]}, "egress": {"mode": "off"}})
            .to_string(),
    );
    assert_eq!(guard.connect_code(&at), "host-denied", "deny rules apply in every mode");
    guard.write_policy(&json!({"open": {"allow_cidrs": ["127.0.0.0/8"]}, "egress": {"mode": "off"}}).to_string());
    guard.tunnel(&at);
}

#[test]
fn guard_serves_only_loopback_and_reports_status() {
    let output = Command::new(PROGRAM).args(["egress", "--listen", "0.0.0.0:0"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("can be reached from other machines"));

    let guard = EgressGuard::start(&json!({"egress": {"mode": "allowlist"}}));
    guard.connect_code("10.0.0.1:443");
    let reply = guard.send(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n");
    let status: Value = serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!((&status["service"], &status["mode"]), (&json!("browser-shell egress"), &json!("allowlist")));
    // A connection is counted when it has ended, shortly after its response.
    wait_for("the refusal in the count", || {
        let reply = guard.send(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n");
        let status: Value = serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(status["allowed"], json!(0));
        (status["refused"] == json!(1)).then_some(())
    });
}

#[test]
fn explain_reports_guard_decision() {
    let folder = tempfile::TempDir::new().unwrap();
    let policy = folder.path().join("policy.json");
    std::fs::write(&policy, "{}").unwrap();
    let explain = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.env_clear().env("BROWSER_SHELL_POLICY", &policy);
        let output = command.args(["policy", "explain", "--json"]).args(arguments).output().unwrap();
        let code = serde_json::from_slice::<Value>(&output.stdout).map_or(Value::Null, |value| value["code"].clone());
        (output.status.code().unwrap(), code.as_str().unwrap_or_default().to_owned())
    };
    for (address, exit, code) in [
        ("93.184.215.14", 0, "allowed"),
        ("93.184.215.14:8443", 0, "allowed"),
        ("93.184.215.14:25", 77, "port-denied"),
        ("2606:4700::1", 0, "allowed"),
        ("[2606:4700::1]:443", 0, "allowed"),
        ("[2606:4700::1]", 0, "allowed"),
        ("::1", 77, "address-not-public"),
        ("127.0.0.1:8091", 77, "address-not-public"),
        ("127.0.0.1:8119", 77, "guard-itself"),
        ("localhost:9222", 77, "host-not-public"),
        ("update.googleapis.com", 77, "host-denied"),
        ("user@example.com:1", 2, ""),
        ("http://127.0.0.1/", 2, ""),
    ] {
        assert_eq!(explain(&["--address", address]), (exit, code.to_owned()), "{address}");
    }
    assert_eq!(explain(&["http://127.0.0.1:8091/"]).0, 77, "control: URLs are explained too");
    assert_eq!(explain(&[]).0, 2);
}
