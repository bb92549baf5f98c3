//! The guard behind another proxy: names and addresses are still checked, and the proxy gets no more than it needs.

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
};

use serde_json::{Value, json};

use super::guard::{Guard, Host, code};

fn policy(proxy: &Host, extra: Value) -> Value {
    let mut egress = json!({"upstream": format!("http://{}", proxy.address)});
    egress.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({"open": {"deny_hosts": ["bad.example"]}, "egress": egress})
}

#[test]
fn what_is_allowed_goes_through_the_proxy_and_what_is_not_goes_nowhere() {
    let proxy = Host::start("HTTP/1.1 200 OK\r\n\r\nthe far end");
    let guard = Guard::start(&policy(&proxy, json!({})));
    for (target, expected) in [
        ("127.0.0.1:8091", "address-not-public"),
        ("10.0.0.1:443", "address-not-public"),
        ("localhost:443", "host-not-public"),
        ("a.internal:443", "host-not-public"),
        ("bad.example:443", "host-denied"),
        ("93.184.215.14:25", "port-denied"),
    ] {
        assert_eq!(guard.code_of(target), expected, "{target}");
    }
    assert_eq!(proxy.seen(), <[&str; 0]>::default());

    let mut tunnel = guard.tunnel("93.184.215.14:443");
    let mut text = String::new();
    tunnel.read_to_string(&mut text).unwrap();
    assert_eq!(text, "the far end", "what comes right behind the proxy's answer is not lost");
    drop(tunnel);
    assert_eq!(proxy.the_one(), "CONNECT 93.184.215.14:443 HTTP/1.1\r\nHost: 93.184.215.14:443\r\n\r\n");
}

#[test]
fn plain_requests_keep_their_absolute_form_and_credentials_come_from_a_file() {
    let proxy = Host::start("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("credentials");
    fs::write(&file, "user:pa:ss\n").unwrap();
    let guard = Guard::start(&policy(&proxy, json!({"upstream_credentials_file": file})));
    let request =
        b"GET http://93.184.215.14/a?b HTTP/1.1\r\nHost: 93.184.215.14\r\nProxy-Authorization: Basic mine\r\n\r\n";
    assert!(guard.send(request).ends_with("hello"));
    let seen = proxy.the_one();
    assert!(seen.starts_with("GET http://93.184.215.14/a?b HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nproxy-authorization: Basic dXNlcjpwYTpzcw==\r\n"), "{seen}");
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
    assert_eq!(code(&guard.send(request)), "upstream-unavailable", "no file");
    fs::write(&file, "user:again").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(guard.send(request).ends_with("hello"), "control: it is read again");
}

#[test]
fn a_proxy_that_refuses_or_is_not_there_is_said_so() {
    for answer in ["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "HTTP/1.1 403 No\r\n\r\n", "hello\r\n\r\n", ""]
    {
        let proxy = Host::start(answer);
        let guard = Guard::start(&policy(&proxy, json!({})));
        assert_eq!(guard.code_of("93.184.215.14:443"), "upstream-unavailable", "{answer:?}");
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let guard = Guard::start(&json!({"egress": {"upstream": format!("http://{nobody}")}}));
    assert_eq!(guard.code_of("93.184.215.14:443"), "upstream-unavailable");
    // to itself, where each connection would make one more
    guard.write_policy(&json!({"egress": {"upstream": format!("http://{}", guard.address)}}).to_string());
    assert_eq!(guard.code_of("93.184.215.14:443"), "guard-itself");
    let mut stream = guard.connect();
    write!(stream, "CONNECT 10.0.0.1:443 HTTP/1.1\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(code(&text), "address-not-public", "control: the policy comes first");
}
