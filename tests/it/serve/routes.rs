//! Routes of the public port, with stand-ins for agent-browser and Chromium.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::super::harness::processes::{TEST_TIMEOUT, wait_for};
use super::super::harness::server::PROGRAM;
use super::server::{DRIVE_KEY, Server, WATCH_KEY, key_file, stand_in_settings};
use super::viewer::{PICTURES, Viewer};

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
        "PUT /mcp",
        "DELETE /mcp/",
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
    let healthy = serde_json::json!({
        "browser": "healthy", "screen": "none", "policy": "healthy", "audit": "healthy", "audit_lines_lost": 0,
        "credentials": "none",
    });
    assert_eq!(health.1, healthy);
}

#[test]
fn health_fails_while_audit_lines_are_lost() {
    let server = Server::start(stand_in_settings());
    let file = std::path::Path::new(server.env().folder()).join("audit.jsonl");
    let audit = |lost: u64, status: u16, state: &str| {
        assert_eq!(server.call("s", &["open", "about:blank"]).0, 0);
        let (found, health) = server.health().unwrap();
        assert_eq!((found, &health["audit"], &health["audit_lines_lost"]), (status, &state.into(), &lost.into()));
        assert_eq!(server.probe("/livez").unwrap().0, 200, "a restart mends nothing");
    };
    audit(0, 200, "healthy");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    audit(1, 503, "unhealthy");
    std::fs::remove_file(&file).unwrap();
    audit(1, 200, "healthy");
}

// Requirement 2.1.
#[test]
fn health_says_that_no_policy_is_in_force() {
    let server = Server::start(stand_in_settings().with_policy(&serde_json::json!({})));
    let policy = |status: u16, state: &str| {
        let found = || server.health().filter(|(found, health)| *found == status && health["policy"] == state);
        wait_for("the state of the policy", found);
        assert_eq!(server.probe("/livez").unwrap().0, 200, "a restart mends nothing");
    };
    policy(200, "healthy");
    server.env().write_policy("{");
    policy(503, "unhealthy");
    server.env().write_policy("{}");
    policy(200, "healthy");
    std::fs::remove_file(std::path::Path::new(server.env().folder()).join("policy.json")).unwrap();
    policy(503, "unhealthy");
}

#[test]
fn health_and_metrics_say_that_no_key_is_in_force() {
    let server = Server::start_with_keys(stand_in_settings());
    let file = std::path::Path::new(server.env().folder()).join("keys");
    let keys = std::fs::read_to_string(&file).unwrap();
    let has = |line: &str| server.text_of("/metrics").lines().any(|found| found == line);
    let state = |status: u16, state: &str, is_up: u8| {
        let (found, health) = server.health().unwrap();
        assert_eq!((found, &health["credentials"]), (status, &state.into()), "{health}");
        assert!(has(&format!("browser_shell_credentials_up {is_up}")));
        assert_eq!(server.probe("/livez").unwrap().0, 200, "a restart mends nothing");
    };
    state(200, "healthy", 1);
    assert_eq!(server.request_with(DRIVE_KEY, "POST /tickets").0, 200, "control");
    std::fs::write(&file, "ada drive\n").unwrap();
    state(503, "unhealthy", 0);
    assert_eq!(server.request_with(DRIVE_KEY, "POST /tickets").0, 401);
    assert!(has("browser_shell_access_refusals_total{code=\"credential-unknown\"} 1"));
    std::fs::write(&file, keys).unwrap();
    state(200, "healthy", 1);
    assert_eq!(server.request_with(DRIVE_KEY, "POST /tickets").0, 200);
}

#[test]
fn metrics_count_calls_and_say_what_is_up() {
    let server = Server::start(stand_in_settings());
    assert_eq!(server.call("s1", &["open", "about:blank"]).0, 0);
    assert_ne!(server.call("s1", &["eval", "1"]).0, 0);
    let text = server.text_of("/metrics");
    for line in [
        "browser_shell_calls_total{subcommand=\"open\",code=\"ok\"} 1",
        "browser_shell_calls_total{subcommand=\"eval\",code=\"subcommand-forbidden\"} 1",
        "browser_shell_sessions 1",
        "browser_shell_browser_up 1",
        "browser_shell_browser_starts 1",
        "browser_shell_policy_up 1",
        "browser_shell_audit_up 1",
        "browser_shell_credentials_up 1",
    ] {
        assert!(text.lines().any(|found| found == line), "no `{line}` in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert_eq!(server.request("GET /metrics").0, 403, "not on the public port");
}

#[test]
fn sessions_of_a_subject_end_with_its_last_key() {
    const NEW_KEY: &str = "0123456789-new-0123456789";
    let keys = [("ada", "drive", DRIVE_KEY), ("bob", "drive", WATCH_KEY)];
    let server = Server::start_with_key_list(stand_in_settings(), &keys);
    let shows = |line: &str| server.text_of("/metrics").lines().any(|found| found == line);
    let has = |sessions: u32| shows(&format!("browser_shell_sessions {sessions}"));
    for (session, key) in [("of-ada", DRIVE_KEY), ("of-bob", WATCH_KEY)] {
        let (code, text) = server.call_with(Some(key), session, &["open", "about:blank"]);
        assert_eq!(code, 0, "control: {text}");
    }
    assert!(has(2), "control");
    let of_ada = "browser_shell_subject_sessions{subject=\"ada\"} 1";
    assert!(shows(of_ada), "control");
    // Bob gets another key, which is as good.
    server.env().write_file("keys", &key_file(&[("bob", "drive", NEW_KEY)]));
    wait_for("the end of a session", || has(1).then_some(()));
    assert!(!shows(of_ada) && shows("browser_shell_subject_sessions{subject=\"bob\"} 1"));
    let (code, text) = server.call_with(Some(NEW_KEY), "of-bob", &["open", "about:blank"]);
    assert!(code == 0 && has(1), "control: a subject that has a key: {text}");
    server.env().write_file("keys", &key_file(&[("eve", "drive", DRIVE_KEY)]));
    wait_for("the end of the other one", || has(0).then_some(()));
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

/// Allows this process as many open files as the system does.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

/// Sends the beginning of a request, and leaves its connection open.
fn begin(server: &Server, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// Begins a request of a key's owner, whose body the server waits for. Returns its connection and the first line of the answer.
fn begin_with_key(server: &Server, key: &str) -> (TcpStream, String) {
    let headers =
        format!("Host: localhost\r\nX-AIO-API-Key: {key}\r\nContent-Type: application/json\r\nContent-Length: 2");
    let mut stream = begin(server, &format!("POST /mcp HTTP/1.1\r\n{headers}\r\nExpect: 100-continue\r\n\r\n"));
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.extend(byte);
    }
    (stream, String::from_utf8(answer).unwrap())
}

/// Returns true if nothing was received and the other end has not closed the connection.
fn is_open(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let received = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    received.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn half_requests_keep_out_no_client_with_a_key() {
    raise_file_limit();
    let server = Server::start_with_keys(stand_in_settings());
    let (mut early, answer) = begin_with_key(&server, DRIVE_KEY);
    assert!(answer.starts_with("HTTP/1.1 100 "), "{answer}");
    let half: Vec<_> = (0..1100).map(|_| begin(&server, "POST /mcp HTTP/1.1\r\nHost: local")).collect();
    early.write_all(b"{}").unwrap();
    let mut rest = String::new();
    early.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("HTTP/1.1 4"), "control: the earliest client was answered, by the tool: {rest}");
    for _ in 0..11 {
        assert_eq!(server.call("s1", &["open", "about:blank"]).0, 0);
    }
    wait_for("the end of the older half requests", || {
        half.iter().rev().skip(256).all(|one| !is_open(one)).then_some(())
    });
    assert!(half.iter().rev().take(250).all(is_open), "the latest have their places");
}

#[test]
fn clients_of_a_trusted_proxy_are_not_one_client() {
    raise_file_limit();
    for (proxy, is_kept) in [("127.0.0.0/8", true), ("192.0.2.1", false)] {
        let server = Server::start_with_keys(stand_in_settings().with("BROWSER_SHELL_TRUSTED_PROXY", proxy));
        let half: Vec<_> = (0..300).map(|_| begin(&server, "POST /mcp HTTP/1.1\r\nHost: local")).collect();
        assert_eq!(server.call("s1", &["open", "about:blank"]).0, 0);
        assert_eq!(half.iter().all(is_open), is_kept, "{proxy}");
    }
}

#[test]
fn subject_has_a_share_of_the_connections() {
    raise_file_limit();
    let server = Server::start_with_keys(stand_in_settings());
    let mut own: Vec<_> = (0..128).map(|_| begin_with_key(&server, DRIVE_KEY)).collect();
    assert!(own.iter().all(|(_, answer)| answer.starts_with("HTTP/1.1 100 ")), "control: a share");
    assert!(begin_with_key(&server, DRIVE_KEY).1.starts_with("HTTP/1.1 429 "));
    assert_eq!(server.request_with(WATCH_KEY, "POST /tickets").0, 200, "another subject has its own");
    own.clear();
    wait_for("a place", || begin_with_key(&server, DRIVE_KEY).1.starts_with("HTTP/1.1 100 ").then_some(()));
}

#[test]
fn subject_has_a_share_of_the_viewers() {
    const OTHER_KEY: &str = "0123456789-other-0123456789";
    let env = stand_in_settings();
    // What makes a folder noVNC's.
    let novnc = std::path::Path::new(env.folder()).join("novnc");
    std::fs::create_dir_all(novnc.join("core")).unwrap();
    env.write_file("novnc/core/rfb.js", "");
    env.write_file("novnc/vnc.html", "<html><head></head></html>");
    let keys = [("ada", "drive", DRIVE_KEY), ("bob", "watch", WATCH_KEY), ("eve", "watch", OTHER_KEY)];
    let env = env.with("BROWSER_SHELL_SCREEN", "cast").with("BROWSER_SHELL_NOVNC", novnc);
    let server = Server::start_with_key_list(env, &keys);
    let connect = |key| Viewer::connect_with(server.port, &format!("ticket={}", server.ticket(key)), &PICTURES);
    let mut of_bob: Vec<_> = (0..32).map(|_| connect(WATCH_KEY).expect("a share")).collect();
    assert_eq!(connect(WATCH_KEY).err(), Some(429));
    let of_ada: Vec<_> = (0..32).map(|_| connect(DRIVE_KEY).expect("another subject has its own")).collect();
    assert_eq!(connect(OTHER_KEY).err(), Some(503), "all are used");
    assert!(server.env().audit().contains(r#""right":"watch-screen","subject":"bob","code":"busy""#));
    of_bob.pop();
    of_bob.push(wait_for("a free slot", || connect(WATCH_KEY).ok()));
    assert_eq!(connect(WATCH_KEY).err(), Some(429));
    drop(of_ada);
    wait_for("a slot of another subject", || connect(OTHER_KEY).ok());
}

/// Returns true if a process has the lock of a runtime folder open.
fn has_server_lock(id: i32) -> bool {
    let mut files = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().flatten();
    files.any(|file| std::fs::read_link(file.path()).is_ok_and(|path| path.ends_with("server.lock")))
}

#[test]
fn runtime_folder_is_of_one_server_until_it_ends() {
    let mut server = Server::start(stand_in_settings());
    let env = server.env().shared();
    let addresses = ["BROWSER_SHELL_LISTEN", "BROWSER_SHELL_HEALTH", "BROWSER_SHELL_EGRESS"];
    let other = addresses.into_iter().fold(env.shared(), |env, name| env.with(name, "127.0.0.1:0"));
    let output = other.command(&["serve"]).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let folder = server.runtime_folder();
    let reason = format!("another server uses `{}`; give each one its own with --runtime-dir", folder.display());
    assert!(!output.status.success() && text.contains(&reason), "{text}");
    assert_eq!(server.health().unwrap().0, 200, "the first one is as before");
    // Chromium must not keep it.
    assert!(has_server_lock(i32::try_from(server.id()).unwrap()), "control");
    let chromium = server.processes("fake-chromium");
    assert!(!chromium.is_empty() && chromium.iter().all(|process| !has_server_lock(process.id)), "{chromium:?}");
    server.kill();
    let next = Server::start(env.shared());
    assert_eq!(next.health().unwrap().0, 200);
    drop(next);
    Server::start(env);
}

#[test]
fn stopping_server_answers_a_call_with_a_stream_of_reports() {
    let policy = serde_json::json!({
        "engine": "agent-browser", "browser": {"isolation": "shared"}, "sandbox": {"enabled": false},
    });
    let server = Server::start(stand_in_settings().with_policy(&policy));
    let call = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "browser-shell", "_meta": {"progressToken": "t"},
        "arguments": {"session_id": "s", "argv": ["click", "#fake-ignore-term"]},
    }})
    .to_string();
    let headers = "Host: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream";
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let length = call.len();
    write!(stream, "POST /mcp HTTP/1.1\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{call}").unwrap();
    wait_for("the call", || (!server.processes("sleep").is_empty()).then_some(()));
    let env = server.env().shared();
    // Sends SIGTERM, and waits for the end.
    drop(server);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("notifications/progress"), "control: it is a stream: {answer}");
    assert!(answer.contains(r#""exit_code":130"#), "{answer}");
    assert_eq!(env.audit().matches("\"cancelled\"").count(), 1, "{}", env.audit());
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
        (
            "BROWSER_SHELL_CHROMIUM",
            "/nonexistent/chromium",
            "cannot start `/nonexistent/chromium`: no such file or folder; choose another one with --chromium",
        ),
        (
            "BROWSER_SHELL_CHROMIUM",
            "/etc/passwd",
            "browser-shell: cannot start `/etc/passwd`: permission denied; choose another one with --chromium",
        ),
        ("BROWSER_SHELL_WORKSPACE", "/etc/passwd", "cannot use the folder `/etc/passwd`: not a directory; make it"),
        ("BROWSER_SHELL_TEMPLATE", "/nonexistent/x", "`/nonexistent/x`: no such file or folder; make it a folder"),
        // It does not know Chromium's flags.
        ("BROWSER_SHELL_CHROMIUM", PROGRAM, "three starts in a row: it ended at once (exit status: 2)"),
    ] {
        let env =
            stand_in_settings().with("BROWSER_SHELL_LISTEN", "127.0.0.1:0").with("BROWSER_SHELL_EGRESS", "127.0.0.1:0");
        let env = env.with("BROWSER_SHELL_XVNC", "/nonexistent/Xvnc").with(name, value);
        let output = env.command(&["serve"]).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(part), "{name}: {text}");
    }
    let env = stand_in_settings().with("BROWSER_SHELL_SCREEN", "xvnc").with("BROWSER_SHELL_XVNC", "/etc/passwd");
    let text = String::from_utf8(env.run(&["serve"]).stderr).unwrap();
    assert!(text.contains("cannot start `/etc/passwd`: permission denied; choose another one with --xvnc"), "{text}");
    let env = stand_in_settings().with("BROWSER_SHELL_WORKSPACE", PROGRAM);
    let text = String::from_utf8(env.run(&["mcp"]).stderr).unwrap();
    let advice = "not a directory; make it a folder that this user can use, or choose another one with --workspace";
    assert!(text.contains(advice), "{text}");
}
