//! HTTP bodies that are malformed or hide their length, and shutdown in the middle of a call.
//!
//! `streamable_http` tests access control and the available routes.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::harness::processes::wait_for;
use super::harness::server::{HttpServer, stand_in_env};

const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
                    Accept: application/json, text/event-stream\r\n";

/// Sends bytes and returns the status, or 0 without a response.
fn status(server: &HttpServer, bytes: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    // A server that has rejected a body does not read the rest of it.
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
fn chunked_body_is_limited() {
    let server = stand_in_env().serve_http();
    let padded = |length: usize| {
        let mut body = call(&["snapshot"]);
        body.resize(length, b' ');
        body
    };
    assert_eq!(status(&server, &in_chunks(&padded(1024 * 1024))), 200, "control");
    assert_eq!(status(&server, &in_chunks(&padded(1024 * 1024 + 1))), 413);
}

#[test]
fn malformed_bodies_are_refused_and_server_survives() {
    let server = stand_in_env().serve_http();
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

// Requirement 1.10.
#[test]
fn http_shutdown_does_not_wait_for_running_call() {
    let server = stand_in_env().serve_http();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.write_all(&with_length(&call(&["click", "#fake-ignore-term"]))).unwrap();
    wait_for("the call", || {
        server.processes().iter().any(|process| process.command.starts_with("sleep")).then_some(())
    });
    // Dropping the server sends SIGTERM, waits for its end, and fails if a process is left.
    drop(server);
    drop(stream);
}
