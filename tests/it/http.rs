//! Bodies that are broken or hide their length, and the end of a server in the middle of a call.
//!
//! `streamable_http` has who is served and what there is to ask for.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::harness::processes::until;
use super::harness::server::{HttpServer, home};

const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
                    Accept: application/json, text/event-stream\r\n";

/// Sends bytes and gives the status, 0 if there is none.
fn status(server: &HttpServer, bytes: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    // a server that has refused a body does not read the rest of it
    let _ = stream.write_all(bytes);
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    let reply = String::from_utf8_lossy(&reply);
    reply.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

fn with_length(body: &[u8]) -> Vec<u8> {
    [format!("{HEAD}Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

fn in_chunks(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for chunk in body.chunks(65_536) {
        bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

fn call(argv: &[&str]) -> Vec<u8> {
    let arguments = json!({"session_id": "s", "argv": argv, "timeout_sec": 120});
    let params = json!({"name": "browser-shell", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string().into_bytes()
}

#[test]
fn a_body_that_does_not_tell_its_length_is_limited_too() {
    let server = home().serve_http();
    let padded = |length: usize| {
        let mut body = call(&["snapshot"]);
        body.resize(length, b' ');
        body
    };
    assert_eq!(status(&server, &in_chunks(&padded(1024 * 1024))), 200, "control");
    assert_eq!(status(&server, &in_chunks(&padded(1024 * 1024 + 1))), 413);
}

#[test]
fn broken_bodies_are_refused_and_the_server_lives_on() {
    let server = home().serve_http();
    let deep = vec![b'['; 500_000];
    for (what, body) in [
        ("nothing", b"".as_slice()),
        ("no JSON", b"hello"),
        ("wrong UTF-8", b"\xff\xfe"),
        ("an empty batch", b"[]"),
        ("deep nesting", &deep),
    ] {
        let refused = status(&server, &with_length(body));
        assert!((400..500).contains(&refused), "{what}: {refused}");
        assert_eq!(status(&server, &with_length(&call(&["snapshot"]))), 200, "after {what}");
    }
}

#[test]
fn spec_1_10_a_server_that_is_told_to_end_does_not_wait_for_a_call() {
    let server = home().serve_http();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.write_all(&with_length(&call(&["click", "#fake-ignore-term"]))).unwrap();
    until("the call", || server.processes().iter().any(|process| process.command.starts_with("sleep")).then_some(()));
    // dropping sends TERM, waits for the server, and fails if any process of its home is left
    drop(server);
    drop(stream);
}
