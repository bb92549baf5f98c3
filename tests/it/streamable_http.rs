//! Streamable HTTP and its access control. The tests send raw bytes, because a client library would normalize them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::{Value, json};

use super::credentials::with_api_keys;
use super::harness::processes::wait_for;
use super::harness::server::{CallReply, HttpServer, free_port, stand_in_env};

/// Sends bytes and returns status and body.
fn send(server: &HttpServer, bytes: &[u8]) -> (u16, String) {
    try_send(server, bytes).unwrap()
}

/// Sends bytes and returns status and body. Fails if nobody listens.
fn try_send(server: &HttpServer, bytes: &[u8]) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port()))?;
    // A server that has rejected a body does not read the rest of it.
    let _ = stream.write_all(bytes);
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    let reply = String::from_utf8_lossy(&reply).into_owned();
    let status = reply.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok((status, reply.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()))
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let own = format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
    let headers = headers.iter().fold(own, |all, (name, value)| format!("{all}{name}: {value}\r\n"));
    format!("{method} {path} HTTP/1.1\r\n{headers}\r\n{body}").into_bytes()
}

const JSON: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

fn post(server: &HttpServer, more: &[(&str, &str)], body: &str) -> (u16, String) {
    let headers: Vec<_> = JSON.iter().chain(more).copied().collect();
    send(server, &request("POST", "/mcp", &headers, body))
}

fn call(argv: &[&str]) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        {"name": "browser-shell", "arguments": {"session_id": "s", "argv": argv}}})
    .to_string()
}

#[test]
fn http_call_is_one_request_and_one_json_reply() {
    let server = stand_in_env().serve_http();
    let (status, body) = post(&server, &[("Host", "localhost")], &call(&["snapshot"]));
    assert_eq!(status, 200, "{body}");
    CallReply::read(&serde_json::from_str(&body).unwrap()).ok();
    let (status, body) = post(&server, &[("Host", "127.0.0.1:8079")], &call(&["open", "http://10.0.0.1/"]));
    assert_eq!(status, 200);
    CallReply::read(&serde_json::from_str::<Value>(&body).unwrap()).fails_with(77);
}

#[test]
fn foreign_hosts_and_origins_are_refused_on_every_path() {
    let server = stand_in_env().serve_http();
    let port = server.port();
    let own = format!("localhost:{port}");
    let origin = format!("http://localhost:{port}");
    let rows: &[(&[(&str, &str)], bool)] = &[
        (&[("Host", "localhost")], true),
        (&[("Host", "127.0.0.1")], true),
        (&[("Host", "[::1]:9")], true),
        (&[("Host", &own), ("Origin", &origin)], true),
        (&[("Host", "evil.example")], false),
        (&[("Host", "localhost.evil.example")], false),
        (&[("Host", "8091-x")], false),
        (&[("Host", "localhost"), ("Host", "evil.example")], false),
        (&[], false),
        (&[("Host", &own), ("Origin", "http://evil.example")], false),
        (&[("Host", &own), ("Origin", "null")], false),
        (&[("Host", &own), ("Origin", "http://localhost:1")], false),
    ];
    for (headers, served) in rows {
        let (mcp, _) = post(&server, headers, &call(&["snapshot"]));
        let (health, _) = send(&server, &request("GET", "/healthz", headers, ""));
        let refused = |status: u16| matches!(status, 400 | 403);
        assert_eq!((mcp == 200, health == 200), (*served, *served), "{headers:?}: {mcp} {health}");
        assert_eq!((refused(mcp), refused(health)), (!served, !served), "{headers:?}: {mcp} {health}");
    }
}

#[test]
fn bodies_are_limited_to_one_mebibyte() {
    let server = stand_in_env().serve_http();
    let host = [("Host", "localhost")];
    let fill = |length: usize| {
        let call = call(&["snapshot"]);
        format!("{call}{}", " ".repeat(length - call.len()))
    };
    assert_eq!(post(&server, &host, &fill(1024 * 1024)).0, 200);
    assert_eq!(post(&server, &host, &fill(1024 * 1024 + 1)).0, 413);
}

#[test]
fn bodies_that_are_no_message_are_json_rpc_errors() {
    let server = stand_in_env().serve_http();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for version in ["2025-03-26", "2025-11-25", "2026-07-28"] {
        let headers = [("Host", "localhost"), ("MCP-Protocol-Version", version)];
        for (body, code) in [
            (r#"{"jsonrpc":"#.to_owned(), -32700),
            (String::new(), -32700),
            (format!("[{ping}]"), -32600),
            ("\"ping\"".to_owned(), -32600),
            ("{}".to_owned(), -32600),
            (r#"{"method":"ping"}"#.to_owned(), -32600),
            (ping.replace("1,", "null,"), -32600),
            (ping.replace("1,", "1.5,"), -32600),
            (ping.replace("1,", "9223372036854775808,"), -32600),
        ] {
            let (status, error) = post(&server, &headers, &body);
            let error: Value = serde_json::from_str(&error).unwrap();
            assert_eq!((status, &error["error"]["code"]), (400, &code.into()), "{version}: {body}: {error}");
            assert_eq!(error.get("id"), Some(&Value::Null), "{version}: {body}: {error}");
        }
        let (status, error) = post(&server, &headers, r#"{"id":7,"method":"ping"}"#);
        assert!(status == 400 && error.contains(r#""id":7"#), "{version}: {status} {error}");
    }
    assert_eq!(post(&server, &[("Host", "localhost")], ping).0, 200, "control");
}

#[test]
fn no_other_method_or_path_is_served() {
    let server = stand_in_env().serve_http();
    let host = [("Host", "localhost")];
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/mcp"),
        ("PUT", "/mcp"),
        ("DELETE", "/mcp"),
        ("OPTIONS", "/mcp"),
        ("POST", "/mcp/"),
        ("POST", "/mcp/../mcp"),
        ("POST", "//mcp"),
        ("POST", "/MCP"),
        ("POST", "/healthz"),
        ("GET", "/metrics"),
    ] {
        let headers: Vec<_> = JSON.iter().chain(&host).copied().collect();
        let (status, body) = send(&server, &request(method, path, &headers, &call(&["snapshot"])));
        assert!((400..500).contains(&status), "{method} {path}: {status} {body}");
    }
    assert_eq!(send(&server, &request("GET", "/healthz", &host, "")), (200, "ok\n".to_owned()), "control");
}

// Requirement 1.10.
#[test]
fn http_client_disconnect_ends_its_call() {
    let server = stand_in_env().serve_http();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let headers: Vec<_> = JSON.iter().chain(&[("Host", "localhost")]).copied().collect();
    stream.write_all(&request("POST", "/mcp", &headers, &call(&["click", "#fake-sleep-600000"]))).unwrap();
    wait_for("the call", || server.processes().iter().any(|process| process.command.contains("600000")).then_some(()));
    drop(stream);
    wait_for("its end", || {
        (!server.processes().iter().any(|process| process.command.contains("600000"))).then_some(())
    });
    let (status, body) = post(&server, &[("Host", "localhost")], &call(&["snapshot"]));
    assert_eq!(status, 200);
    CallReply::read(&serde_json::from_str(&body).unwrap()).ok();
}

/// Begins a session of the protocol, and returns its id.
fn initialize(server: &HttpServer) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    let headers: Vec<_> = JSON.iter().chain(&[("Host", "localhost")]).copied().collect();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.write_all(&request("POST", "/mcp", &headers, &hello.to_string())).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let id = reply.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    id.unwrap_or_else(|| panic!("no id: {reply}")).to_owned()
}

#[test]
fn refused_initialize_begins_no_protocol_session() {
    let server = stand_in_env().serve_http();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}});
    let headers: Vec<_> = JSON.iter().chain(&[("Host", "localhost")]).copied().collect();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.write_all(&request("POST", "/mcp", &headers, &hello.to_string())).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.contains("-32602") && reply.contains("`clientInfo`"), "{reply}");
    assert!(!reply.contains("mcp-session-id"), "{reply}");
    initialize(&server);
}

// Requirement 1.10.
#[test]
fn call_in_a_protocol_session_ends_by_its_cancellation_only() {
    let server = stand_in_env().serve_http();
    let (own, other) = (initialize(&server), initialize(&server));
    let with = |id: &str, method: &str, body: &str| {
        let headers = [&JSON[..], &[("Host", "localhost"), ("Mcp-Session-Id", id)]].concat();
        request(method, "/mcp", &headers, body)
    };
    let is_running = || server.processes().iter().any(|process| process.command.contains("600000"));
    let cancellation = |request: Value| {
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}}).to_string()
    };
    let begin = |id: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.write_all(&with(id, "POST", &call(&["click", "#fake-sleep-600000"]))).unwrap();
        wait_for("the call", || is_running().then_some(()));
        stream
    };
    let mut stream = begin(&own);
    // Every client begins with the request id 1.
    assert_eq!(send(&server, &with(&other, "POST", &cancellation(json!(1)))).0, 202);
    assert_eq!(send(&server, &with(&own, "POST", &cancellation(json!(2)))).0, 202);
    assert_eq!(send(&server, &with(&own, "POST", &cancellation(json!("1")))).0, 202);
    assert_eq!(post(&server, &[("Host", "localhost")], &cancellation(json!(1))).0, 202);
    assert!(is_running());
    assert_eq!(send(&server, &with(&own, "POST", &cancellation(json!(1)))).0, 202);
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (_, body) = reply.split_once("\r\n\r\n").unwrap();
    CallReply::read(&serde_json::from_str(body).unwrap()).fails_with(130);
    // The end of the connection leaves the call, and the end of the session ends it.
    drop(begin(&own));
    assert_eq!(send(&server, &with(&other, "POST", &call(&["help"]))).0, 200);
    assert!(is_running());
    assert_eq!(send(&server, &with(&own, "DELETE", "")).0, 204);
    wait_for("its end", || (!is_running()).then_some(()));
    for id in [own.as_str(), "", "x", &other.repeat(2)] {
        let (status, body) = send(&server, &with(id, "POST", &call(&["help"])));
        assert!(status == 404 && body.contains("initialize"), "{id}: {status} {body}");
    }
    assert_eq!(send(&server, &with(&other, "POST", &call(&["help"]))).0, 200, "control");
    // In this version the header means nothing.
    let headers =
        [&JSON[..], &[("Host", "localhost"), ("Mcp-Session-Id", "x"), ("MCP-Protocol-Version", "2026-07-28")]];
    assert_ne!(send(&server, &request("POST", "/mcp", &headers.concat(), &call(&["help"]))).0, 404);
}

// Requirement 1.10.
#[test]
fn stopping_server_answers_running_calls_and_refuses_others() {
    let server = stand_in_env().serve_http();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let headers: Vec<_> = JSON.iter().chain(&[("Host", "localhost")]).copied().collect();
    stream.write_all(&request("POST", "/mcp", &headers, &call(&["click", "#fake-ignore-term"]))).unwrap();
    wait_for("the call", || server.processes().iter().any(|process| process.command.contains("sleep")).then_some(()));
    let health = || try_send(&server, &request("GET", "/healthz", &[("Host", "localhost")], ""));
    assert_eq!(health().unwrap().0, 200, "control");
    super::harness::processes::signal(server.id(), rustix::process::Signal::TERM);
    // On a busy machine it may have ended before it is asked.
    wait_for("a refusal", || health().map_or(true, |(status, _)| status == 503).then_some(()));
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{reply}");
    let reply = CallReply::read(&serde_json::from_str(body).unwrap());
    reply.fails_with(130);
}

#[test]
fn call_with_progress_token_is_a_stream_of_reports() {
    let server = stand_in_env().serve_http();
    let mut call: Value = serde_json::from_str(&call(&["click", "#fake-sleep-2500"])).unwrap();
    let (_, body) = post(&server, &[("Host", "localhost")], &call.to_string());
    assert!(serde_json::from_str::<Value>(&body).is_ok(), "control: without a token, the answer is JSON: {body}");
    call["params"]["_meta"] = json!({"progressToken": "t"});
    let (status, body) = post(&server, &[("Host", "localhost")], &call.to_string());
    assert_eq!(status, 200, "{body}");
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut events: Vec<Value> = data.filter_map(|data| serde_json::from_str(data).ok()).collect();
    CallReply::read(&events.pop().unwrap()).ok();
    assert!(events.len() >= 2, "at once, and every two seconds: {body}");
    assert!(events.iter().all(|event| event["method"] == "notifications/progress"), "{body}");
    assert!(events.iter().all(|event| event["params"]["progressToken"] == "t"), "{body}");
    let progress: Vec<_> = events.iter().map(|event| event["params"]["progress"].as_f64().unwrap()).collect();
    assert!(progress.is_sorted_by(|a, b| a < b), "{progress:?}");
    let headers = [("Host", "localhost"), ("Content-Type", "application/json"), ("Accept", "application/json")];
    let (_, body) = send(&server, &request("POST", "/mcp", &headers, &call.to_string()));
    assert!(serde_json::from_str::<Value>(&body).is_ok(), "for a client that reads no stream: {body}");
}

#[test]
fn public_listen_address_requires_host_name() {
    let env = stand_in_env();
    let run = env.run(&["mcp", "--http", "0.0.0.0:0"]);
    assert!(!run.status.success());
    assert!(String::from_utf8_lossy(&run.stderr).contains("--allow-host"), "{run:?}");

    for nothing in ["", " ", ",", "box.example,", "http://box.example"] {
        let run = env.run(&["mcp", "--http", "0.0.0.0:0", "--allow-host", nothing]);
        assert_eq!(run.status.code(), Some(2), "{nothing:?}: {run:?}");
        let output = env.command(&["mcp", "--http", "0.0.0.0:0"]).env("BROWSER_SHELL_ALLOW_HOST", nothing).output();
        assert_eq!(output.unwrap().status.code(), Some(2), "{nothing:?} as a variable");
    }

    let port = free_port();
    let address = format!("0.0.0.0:{port}");
    let mut server = env
        .command(&["mcp", "--http", &address, "--allow-host", "box.example"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let health = |host: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.write_all(&request("GET", "/healthz", &[("Host", host)], "")).ok()?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).ok()?;
        Some(reply)
    };
    let reply = wait_for("the server", || health("box.example"));
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert!(health("evil.example").unwrap().starts_with("HTTP/1.1 403"), "control: only that host");
    super::harness::processes::signal(i32::try_from(server.id()).unwrap(), rustix::process::Signal::TERM);
    assert!(server.wait().unwrap().success());
}

#[test]
fn host_of_public_url_is_served_with_credentials() {
    let key = ("X-AIO-API-Key", "key-of-alice");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let with_url = || stand_in_env().with("BROWSER_SHELL_PUBLIC_URL", "https://browser.example");
    let server = with_api_keys(with_url(), &[("alice", "drive", "key-of-alice")]).serve_http();
    let call = |host: &str, key: (&str, &str)| post(&server, &[("Host", host), key], &list);
    for host in ["browser.example", "Browser.Example:443", "localhost"] {
        assert_eq!(call(host, key).0, 200, "{host}");
        assert_eq!(call(host, ("X-AIO-API-Key", "other")).0, 401, "{host}");
    }
    for host in ["evil.example", "browser.example.evil.example", "x.browser.example"] {
        let (status, text) = call(host, key);
        assert_eq!(status, 403, "control: only that name: {host}");
        assert!(text.contains("unknown Host") && text.contains("--allow-host"), "{text}");
    }
    let server = with_url().serve_http();
    let (status, text) = post(&server, &[("Host", "browser.example")], &list);
    assert_eq!(status, 403, "without credentials, every name is --allow-host's: {text}");
}

#[test]
fn http_host_setting_does_not_block_stdio() {
    let output =
        stand_in_env().command(&["mcp"]).env("BROWSER_SHELL_ALLOW_HOST", "box.example").stdin(Stdio::null()).output();
    assert!(output.unwrap().status.success());
}

#[test]
fn used_port_is_startup_error_with_advice() {
    let server = stand_in_env().serve_http();
    let run = server.env().run(&["mcp", "--http", &format!("127.0.0.1:{}", server.port())]);
    assert!(!run.status.success());
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(said.contains("cannot listen on") && said.contains("--http"), "{said}");
}

#[test]
fn clients_that_accept_json_in_any_form_get_json() {
    let server = stand_in_env().serve_http();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let ask = |accept: Option<&str>| {
        let headers = [("Host", "localhost"), ("Content-Type", "application/json")];
        let headers: Vec<_> = headers.into_iter().chain(accept.map(|value| ("Accept", value))).collect();
        send(&server, &request("POST", "/mcp", &headers, &list))
    };
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for accept in [None, Some(""), Some("*/*"), Some("application/json"), Some("application/*;q=0.1"), Some(browser)] {
        let (status, body) = ask(accept);
        assert_eq!(status, 200, "{accept:?}: {body}");
        let reply: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(reply["result"]["tools"][0]["name"], "browser-shell", "{accept:?}: {body}");
    }
    for accept in ["text/html", "text/event-stream", "image/*", "application/json;q=0, */*"] {
        assert_eq!(ask(Some(accept)).0, 406, "control: {accept}");
    }

    let get = |accept: &str| send(&server, &request("GET", "/mcp", &[("Host", "localhost"), ("Accept", accept)], ""));
    for accept in ["", "*/*", browser] {
        let (status, body) = get(accept);
        let reply: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &reply["id"]), (405, &Value::Null), "{accept}: {body}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("POST"), "{accept}: {body}");
    }
    for accept in ["text/event-stream", "application/json, text/event-stream"] {
        let (status, body) = get(accept);
        assert_eq!((status, body.contains('{')), (405, false), "control: rmcp answers clients of the protocol: {body}");
    }
}

#[test]
fn addresses_and_own_https_origin_are_served() {
    let server = stand_in_env().serve_http();
    let health = |headers: &[(&str, &str)]| send(&server, &request("GET", "/healthz", headers, "")).0;
    for host in ["10.1.2.3:8080", "[2001:db8::7]", "localhost"] {
        assert_eq!(health(&[("Host", host)]), 200, "{host}");
        assert_eq!(health(&[("Host", host), ("Origin", &format!("https://{host}"))]), 200, "{host}");
        assert_eq!(health(&[("Host", host), ("Origin", &format!("https://{host}.evil.example"))]), 403, "{host}");
        assert_eq!(post(&server, &[("Host", host)], &call(&["snapshot"])).0, 200, "{host}");
    }
    for host in ["10.1.2.3.nip.io", "10.1.2", "evil.example", "localhost."] {
        assert_eq!(health(&[("Host", host)]), 403, "{host}");
        assert_eq!(post(&server, &[("Host", host)], &call(&["snapshot"])).0, 403, "{host}");
    }
}
