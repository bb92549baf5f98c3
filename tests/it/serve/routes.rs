//! Routes of the public port, with stand-ins for agent-browser and Chromium.

use std::process::Stdio;

use super::super::harness::processes::wait_for;
use super::server::{DRIVE_KEY, Server, WATCH_KEY, stand_in_settings};

#[test]
fn public_port_serves_the_tool_and_nothing_else() {
    let server = Server::start(stand_in_settings());
    let (code, text) = server.call("s1", &["open", "about:blank"]);
    assert_eq!(code, 0, "control: {text}");
    for line in [
        "GET /",
        "GET /healthz",
        "GET /vnc/",
        "GET /websockify",
        "GET /mcp/",
        "GET /mcp#x",
        "GET //mcp",
        "GET /%6dcp",
        "GET /mcp<x>",
        "GET http://localhost/mcp",
        "DELETE /mcp",
        "GET /.well-known/oauth-protected-resource",
    ] {
        assert_eq!(server.request(line).0, 403, "{line}");
    }
    // Two requests on a connection: only the first is read.
    let host = format!("Host: localhost:{}\r\n\r\n", server.port);
    let (status, body) = server.send(&format!("GET /mcp HTTP/1.1\r\n{host}GET /mcp HTTP/1.1\r\n{host}"));
    assert_eq!((status, body.matches("HTTP/1.1").count()), (405, 0), "{body}");
    for (host, status) in [("localhost", 405), ("127.0.0.1:1", 405), ("evil.example", 403), ("localhost:123456", 403)] {
        assert_eq!(server.send(&format!("GET /mcp HTTP/1.1\r\nHost: {host}\r\n\r\n")).0, status, "{host}");
    }
    let foreign = "Host: localhost\r\nOrigin: http://evil.example\r\n\r\n";
    assert_eq!(server.send(&format!("GET /mcp HTTP/1.1\r\n{foreign}")).0, 403);
    let large = "Host: localhost\r\nContent-Length: 2000000\r\n\r\n";
    assert_eq!(server.send(&format!("POST /mcp HTTP/1.1\r\n{large}")).0, 413);
    let health = server.health().unwrap();
    assert_eq!(health.1, serde_json::json!({"browser": "healthy", "screen": "none"}));
}

#[test]
fn credentials_open_what_their_scope_contains_and_nothing_else() {
    let server = Server::start_with_keys(stand_in_settings());
    let (code, text) = server.call("s1", &["open", "about:blank"]);
    assert_eq!(code, 0, "control: {text}");
    for (key, line, status) in [
        ("", "POST /mcp", 401),
        ("wrong", "POST /mcp", 401),
        (WATCH_KEY, "POST /mcp", 403),
        ("", "POST /tickets", 401),
        (WATCH_KEY, "POST /tickets", 200),
        (DRIVE_KEY, "POST /tickets", 200),
        ("", "GET /", 403),
        (DRIVE_KEY, "GET /", 403),
        (DRIVE_KEY, "GET /websockify", 403),
        (DRIVE_KEY, "GET /.well-known/oauth-protected-resource", 403),
    ] {
        assert_eq!(server.request_with(key, line).0, status, "{key} {line}");
    }
    let ticket = server.ticket(DRIVE_KEY);
    assert_eq!(server.request(&format!("GET /mcp?ticket={ticket}")).0, 401, "a ticket opens the viewer only");
    // With credentials, every name may be the server's, because a page has none.
    let named = |host: &str| {
        let headers = format!("Host: {host}\r\nX-AIO-API-Key: {DRIVE_KEY}\r\n");
        server.send(&format!("GET /mcp HTTP/1.1\r\n{headers}\r\n")).0
    };
    assert_eq!([named("box.example"), named("8091-x"), named("a b")], [405, 403, 403]);
}

#[test]
fn killed_server_leaves_no_chromium() {
    let mut server = Server::start(stand_in_settings());
    let started = server.processes("fake-chromium");
    assert!(!started.is_empty(), "control: Chromium runs");
    server.kill();
    wait_for("the end of Chromium", || server.processes("fake-chromium").is_empty().then_some(()));
}

#[test]
fn serve_refuses_to_start_without_what_it_needs() {
    for (name, value, part) in [
        ("BROWSER_SHELL_LISTEN", "0.0.0.0:0", "can be reached from other machines"),
        ("BROWSER_SHELL_SCREEN", "xvnc", "install the package tigervnc-standalone-server"),
        ("BROWSER_SHELL_SCREEN_SIZE", "1x1", "not a size"),
        ("https_proxy", "http://127.0.0.1:1", "egress.upstream"),
    ] {
        let env =
            stand_in_settings().with("BROWSER_SHELL_LISTEN", "127.0.0.1:0").with("BROWSER_SHELL_EGRESS", "127.0.0.1:0");
        let env = env.with("BROWSER_SHELL_XVNC", "/nonexistent/Xvnc").with(name, value);
        let output = env.command(&["serve"]).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(part), "{name}: {text}");
    }
}
