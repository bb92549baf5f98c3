//! Access control: tokens, host names, origins, and session names.

use serde_json::json;

use super::{client::SESSION, server::Setup};

const TOKEN: &str = "a-token.of_32-characters-exactly!";
const PATHS: [(&str, &str); 8] = [
    ("POST", "/exec"),
    ("POST", "/exec_batch"),
    ("GET", "/meta"),
    ("DELETE", "/sessions/a"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("POST", "/mcp"),
    ("GET", "/no-such-route"),
];

#[test]
fn token_is_required_for_everything_but_health() {
    let runtime = Setup::stand_in().token(TOKEN).start();
    let none = runtime.with_token(None);
    let body = json!({"cmd": "snapshot", "sandbox_id": SESSION, "commands": ["snapshot"]}).to_string();
    let long = format!("Authorization: Bearer {TOKEN}{}", "x".repeat(4096));
    let right = format!("Authorization: Bearer {TOKEN}");
    let right = right.as_str();
    let wrong_ends = [
        format!("Authorization: Bearer {}", TOKEN.trim_end_matches('!')),
        format!("Authorization: Bearer {TOKEN}x"),
        format!("Authorization: Bearer {}", TOKEN.to_uppercase()),
        format!("Authorization: Basic {TOKEN}"),
        format!("Authorization: {TOKEN}"),
        format!("Authorization: Bearer{TOKEN}"),
        format!("Authorization: Bearer \"{TOKEN}\""),
        format!("Proxy-Authorization: Bearer {TOKEN}"),
        format!("Cookie: token={TOKEN}"),
        "Authorization: Bearer".to_owned(),
        "Authorization: Bearer ".to_owned(),
        "Authorization:".to_owned(),
        "Authorization: Bearer wrong".to_owned(),
        long,
    ];
    for (method, path) in PATHS {
        let request = |lines: &[&str]| {
            let lines = [&["Content-Type: application/json"], lines].concat();
            none.send(&none.request_bytes(method, path, &lines, if method == "POST" { &body } else { "" }))
                .expect("no response")
        };
        let mut cases: Vec<Vec<&str>> = wrong_ends.iter().map(|line| vec![line.as_str()]).collect();
        cases.extend([
            vec![],
            vec![right, right],
            vec![right, "Authorization: Bearer wrong"],
            vec!["Authorization: Bearer wrong", right],
        ]);
        for case in cases {
            let reply = request(&case).expect_status(401);
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{method} {path}: {case:?}");
            assert!(!reply.detail().is_empty() && !reply.body.contains(TOKEN));
        }
        assert_ne!(request(&[right]).status, 401, "control: {method} {path}");
        // The name of the scheme is not secret and is case-insensitive.
        assert_ne!(request(&[&right.replace("Bearer", "bearer")]).status, 401);
    }
    for path in ["/metrics?token=", "/exec?access_token="] {
        none.send(&none.request_bytes("GET", &format!("{path}{TOKEN}"), &[], "")).unwrap().expect_status(401);
    }
    assert_eq!(none.send(&none.request_bytes("GET", "/health", &[], "")).unwrap().status, 200);
    runtime.exec("snapshot").ok();
    assert!(!runtime.log().contains(TOKEN) && !runtime.audit().contains(TOKEN));
}

#[test]
fn invalid_token_is_startup_error() {
    for text in ["", "\n", "  \n", "two words\n", "one\ntwo\n", "short\n"] {
        let setup = Setup::stand_in().token(TOKEN);
        std::fs::write(setup.folder().join("token"), text).unwrap();
        let output = setup.command().output().unwrap();
        assert!(!output.status.success(), "{text:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("token"), "{text:?}: {output:?}");
    }
}

#[test]
fn only_own_host_names_are_accepted() {
    let runtime =
        Setup::stand_in().with("BAY_CONTAINER_NAME", "bay-box-1").arguments(&["--allow-host", "box.example"]).start();
    let (_, address) = runtime.url().split_once("//").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let port = address.rsplit(':').next().unwrap().to_owned();
    let status = |path: &str, host: &str| {
        let reply =
            runtime.send(&runtime.request_bytes("GET", path, &[&format!("Host: {host}")], "")).expect("no response");
        if reply.status == 403 {
            assert!(!reply.detail().is_empty());
        }
        reply.status
    };
    for host in [
        address.as_str(),
        "127.0.0.1",
        "10.1.2.3:8115",
        "[::1]:8115",
        "[2001:db8::1]",
        "localhost",
        "LOCALHOST:8115",
        "bay-box-1",
        "Bay-Box-1:8115",
        "box.example",
        &format!("box.example:{port}"),
    ] {
        assert_eq!(status("/health", host), 200, "{host}");
    }
    for host in [
        "evil.example",
        "box.example.evil.example",
        "evil.box.example",
        "bay-box-1.evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "127.0.0.1:80:80",
        "localhost:x",
        "",
    ] {
        for path in ["/health", "/meta", "/mcp", "/openapi.json", "/no-such-route"] {
            assert!([403, 400].contains(&status(path, host)), "{path} {host}");
        }
    }
    // Two Host headers, and none.
    let head = |hosts: &str| {
        runtime.send(format!("GET /health HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n").as_bytes()).unwrap().status
    };
    for hosts in ["Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n", "Host: 127.0.0.1\r\nHost: evil.example\r\n", ""] {
        assert!([403, 400].contains(&head(hosts)), "{hosts}");
    }
    assert_eq!(head("Host: 127.0.0.1\r\n"), 200);
    // An absolute request target names the host as well.
    let reply = runtime
        .send(b"GET http://evil.example/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        .unwrap();
    assert!([200, 400, 403].contains(&reply.status), "{reply:?}");
}

#[test]
fn page_of_another_origin_is_refused() {
    let runtime = Setup::stand_in().start();
    let url = runtime.url();
    let own = format!("Origin: {url}");
    let host = url.strip_prefix("http://").unwrap().to_owned();
    let body = json!({"cmd": "snapshot", "sandbox_id": SESSION}).to_string();
    let request = |method: &str, path: &str, line: &str| {
        let lines = ["Content-Type: application/json", line];
        runtime.request(method, path, &lines, if method == "POST" { &body } else { "" })
    };
    for origin in [
        "http://evil.example",
        "null",
        "",
        &format!("https://{host}"),
        "http://127.0.0.1",
        "http://localhost:1",
        "file://",
        "chrome-extension://abc",
    ] {
        for (method, path) in [("POST", "/exec"), ("GET", "/meta"), ("DELETE", "/sessions/a"), ("GET", "/metrics")] {
            let reply = request(method, path, &format!("Origin: {origin}")).expect_status(403);
            assert!(!reply.detail().is_empty());
            assert_eq!(reply.header("access-control-allow-origin"), None);
        }
    }
    request("POST", "/exec", &own).expect_status(200);
    request("GET", "/meta", &own).expect_status(200);
    // A CORS preflight is not granted.
    let asked = runtime.send(&runtime.request_bytes(
        "OPTIONS",
        "/exec",
        &["Origin: http://evil.example", "Access-Control-Request-Method: POST"],
        "",
    ));
    let asked = asked.unwrap();
    assert!(asked.status >= 400 && asked.header("access-control-allow-origin").is_none(), "{asked:?}");
}

#[test]
fn malformed_http_is_refused() {
    let runtime = Setup::stand_in().start();
    let (host, body) =
        ("Host: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n", "{\"cmd\": \"snapshot\"}");
    let length = body.len();
    for bytes in [
        format!("POST /exec HTTP/1.1\r\n{host}Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n{body}"),
        format!(
            "POST /exec HTTP/1.1\r\n{host}Content-Length: {length}\r\nContent-Length: {}\r\n\r\n{body}",
            length + 1
        ),
        format!("POST /exec HTTP/1.1\r\n{host}Content-Length: -1\r\n\r\n{body}"),
        format!("POST /exec HTTP/1.1\r\n{host}Transfer-Encoding: gzip\r\n\r\n{body}"),
        format!("POST /exec HTTP/1.1\r\n{host}Bad Name: x\r\nContent-Length: {length}\r\n\r\n{body}"),
        format!("POST /exec HTTP/9.9\r\n{host}Content-Length: {length}\r\n\r\n{body}"),
        format!("POST /exec\r\n{host}\r\n{body}"),
        format!("GET /{} HTTP/1.1\r\n{host}\r\n", "a".repeat(200_000)),
        format!("GET /health HTTP/1.1\r\n{host}{}\r\n", "X-Many: 1\r\n".repeat(5_000)),
        "\u{16}\u{3}\u{1}\u{2}\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
    ] {
        // Rejected with a status, or by closing the connection.
        let status = runtime.send(bytes.as_bytes()).map_or(400, |reply| reply.status);
        assert!((400..=505).contains(&status), "{status}: {:?}", bytes.lines().next());
    }
    // Controls: one Content-Length, and a chunked body.
    let whole = format!("POST /exec HTTP/1.1\r\n{host}Content-Length: {length}\r\n\r\n{body}");
    assert_eq!(runtime.send(whole.as_bytes()).unwrap().status, 200);
    let chunks =
        format!("POST /exec HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n");
    assert_eq!(runtime.send(chunks.as_bytes()).unwrap().status, 200);
    // Hiding the length does not lift the limit.
    let endless = format!(
        "POST /exec HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        2 << 20,
        " ".repeat(2 << 20)
    );
    assert!(runtime.send(endless.as_bytes()).is_none_or(|reply| reply.status == 413));
    runtime.exec("snapshot").ok();
}

#[test]
fn session_id_cannot_become_path_or_flag() {
    let runtime = Setup::shared().start();
    for name in ["..", "a/b", "/etc", "--cdp", "-", "_", "a b", "a\u{0}b", "", &"x".repeat(129)] {
        let reply = runtime.post("/exec", &json!({"cmd": "click #fake-echo", "sandbox_id": name}));
        // `-` is a valid character, but a name must not become a flag.
        if name.chars().all(|letter| letter == '-' || letter == '_' || letter.is_ascii_alphanumeric())
            && (1..=128).contains(&name.len())
        {
            let data = super::client::ExecOutcome::read(&reply.expect_status(200).json()).ok().data();
            assert_eq!(data["argv"][0], json!("--session"), "{name}");
            assert!(!data["argv"][1].as_str().unwrap().starts_with("--"), "{name}: {data}");
            assert_eq!(data["argv"].as_array().unwrap().len(), 7, "{name}: {data}");
        } else {
            reply.expect_status(422);
        }
    }
}
