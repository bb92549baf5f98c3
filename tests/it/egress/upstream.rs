//! The guard behind an upstream proxy: names and addresses are still checked, and the proxy receives no more than it
//! needs.

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
};

use serde_json::{Value, json};

use super::guard::{EgressGuard, TestHost, code};

fn policy(proxy: &TestHost, extra: Value) -> Value {
    let mut egress = json!({"upstream": format!("http://{}", proxy.address)});
    egress.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({"open": {"deny_hosts": ["bad.example"]}, "egress": egress})
}

#[test]
fn upstream_proxy_gets_only_allowed_connections() {
    let proxy = TestHost::start("HTTP/1.1 200 OK\r\n\r\nthe far end");
    let guard = EgressGuard::start(&policy(&proxy, json!({})));
    for (target, expected) in [
        ("127.0.0.1:8091", "address-not-public"),
        ("10.0.0.1:443", "address-not-public"),
        ("localhost:443", "host-not-public"),
        ("a.internal:443", "host-not-public"),
        ("bad.example:443", "host-denied"),
        ("93.184.215.14:25", "port-denied"),
    ] {
        assert_eq!(guard.connect_code(target), expected, "{target}");
    }
    assert_eq!(proxy.seen(), <[&str; 0]>::default());

    let mut tunnel = guard.tunnel("93.184.215.14:443");
    let mut text = String::new();
    tunnel.read_to_string(&mut text).unwrap();
    assert_eq!(text, "the far end", "bytes directly after the proxy's response must not be lost");
    drop(tunnel);
    assert_eq!(proxy.only_connection(), "CONNECT 93.184.215.14:443 HTTP/1.1\r\nHost: 93.184.215.14:443\r\n\r\n");
}

#[test]
fn upstream_gets_absolute_form_and_credentials_from_file() {
    let proxy = TestHost::start("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("credentials");
    fs::write(&file, "user:pa:ss\n").unwrap();
    let guard = EgressGuard::start(&policy(&proxy, json!({"upstream_credentials_file": file})));
    let request =
        b"GET http://93.184.215.14/a?b HTTP/1.1\r\nHost: 93.184.215.14\r\nProxy-Authorization: Basic mine\r\n\r\n";
    assert!(guard.send(request).ends_with("hello"));
    let seen = proxy.only_connection();
    assert!(seen.starts_with("GET http://93.184.215.14/a?b HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nProxy-Authorization: Basic dXNlcjpwYTpzcw==\r\n"), "{seen}");
    assert!(!seen.contains("mine"), "{seen}");
    let audit = serde_json::to_string(&guard.audit()).unwrap();
    assert!(!audit.contains("dXNl") && !audit.contains("pa:ss"), "{audit}");

    for bad in ["nothing\n", "two:lines\nof:them\n", ""] {
        fs::write(&file, bad).unwrap();
        let reply = guard.send(request);
        assert_eq!(code(&reply), "upstream-unavailable", "{bad:?}");
        assert!(reply.contains("egress.upstream_credentials_file"), "{reply}");
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(code(&guard.send(request)), "upstream-unavailable", "missing file");
    fs::write(&file, "user:again").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(guard.send(request).ends_with("hello"), "control: the file must be read again");
}

#[test]
fn refusing_or_missing_upstream_proxy_is_reported() {
    for answer in ["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "HTTP/1.1 403 No\r\n\r\n", "hello\r\n\r\n", ""]
    {
        let proxy = TestHost::start(answer);
        let guard = EgressGuard::start(&policy(&proxy, json!({})));
        assert_eq!(guard.connect_code("93.184.215.14:443"), "upstream-unavailable", "{answer:?}");
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let guard = EgressGuard::start(&json!({"egress": {"upstream": format!("http://{nobody}")}}));
    assert_eq!(guard.connect_code("93.184.215.14:443"), "upstream-unavailable");
    // The guard itself as upstream, where each connection would open another one.
    guard.write_policy(&json!({"egress": {"upstream": format!("http://{}", guard.address)}}).to_string());
    assert_eq!(guard.connect_code("93.184.215.14:443"), "guard-itself");
    let mut stream = guard.connect();
    write!(stream, "CONNECT 10.0.0.1:443 HTTP/1.1\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(code(&text), "address-not-public", "control: the policy is checked first");
}
