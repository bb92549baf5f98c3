//! `browser-shell call --server`: a call at a running server, over HTTP.
//!
//! Most tests use the real server with the stand-in for agent-browser. What a real server does not do on request, such as to
//! ask for a token or to end a connection, is done by a small server here.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::harness::processes::{signal, wait_for};
use super::harness::server::{HttpServer, PROGRAM, free_port, stand_in_env};

fn call_with(url: &str, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.env_clear().envs(variables.iter().copied()).args(["call", "--server", url]).args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

fn call(url: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let run = call_with(url, &[], arguments);
    (run.status.code(), text(&run.stdout), text(&run.stderr))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_owned()).unwrap()
}

fn server() -> HttpServer {
    stand_in_env().serve_http()
}

#[test]
fn server_call_has_reply_and_exit_code_of_the_tool() {
    let server = server();
    let url = server.url();
    assert_eq!(call(&url, &["--", "click", "@e1"]), (Some(0), "clicked: true\n".to_owned(), String::new()));
    let (code, out, err) = call(&url, &["--", "eval", "1"]);
    assert_eq!((code, out.as_str()), (Some(64), ""), "{err}");
    assert!(err.contains("eval"), "{err}");
    let (code, _, err) = call(&url, &["--", "open", "http://10.0.0.1/"]);
    assert_eq!(code, Some(77), "{err}");
    assert!(err.contains("address-not-public"), "{err}");
    let (code, _, err) = call(&url, &["--timeout", "1", "--", "click", "#fake-sleep-600000"]);
    assert_eq!(code, Some(124), "{err}");
    let (code, out, _) = call(&url, &["--session", "s7", "--json", "--", "snapshot"]);
    let reply: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &reply["session_id"], &reply["exit_code"]), (Some(0), &json!("s7"), &json!(0)));
    // The server made the calls: the command line has no settings of its own here.
    assert!(server.env().audit().contains(r#""session":"s7""#), "{}", server.env().audit());
    call(&url, &["--session", "s7", "--", "close"]);
    call(&url, &["--", "close"]);
}

#[test]
fn interrupted_server_call_ends_at_the_server() {
    let server = server();
    let is_running = || server.processes().iter().any(|process| process.command.contains("600000"));
    let mut command = Command::new(PROGRAM);
    command.args(["call", "--server", &server.url(), "--session", "s", "--", "click", "#fake-sleep-600000"]);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut call = command.spawn().unwrap();
    wait_for("the call", || is_running().then_some(()));
    signal(i32::try_from(call.id()).unwrap(), Signal::INT);
    assert_eq!(call.wait().unwrap().code(), Some(130));
    wait_for("its end", || (!is_running()).then_some(()));
}

#[test]
fn server_call_saves_picture_or_says_that_it_did_not() {
    let server = server();
    let file = server.env().workspace().join("mine.png");
    let file = file.to_str().unwrap();
    let (code, out, err) = call(&server.url(), &["--", "screenshot"]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    assert!(err.contains("was not saved") && err.contains("--save"), "{err}");
    let (code, out, err) = call(&server.url(), &["--save", file, "--", "screenshot"]);
    assert_eq!((code, out, err.as_str()), (Some(0), format!("path: {file}\n"), ""));
    assert!(std::fs::read(file).unwrap().starts_with(b"\x89PNG"));
    let (code, _, err) = call(&server.url(), &["--save", "/nowhere/x.png", "--", "screenshot"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("`/nowhere/x.png`") && err.contains("--save"), "{err}");
    let (code, _, err) = call(&server.url(), &["--save", file, "--", "click", "@e1"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("no picture"), "{err}");
    // What failed has its own code and message.
    for (argv, wanted) in [(&["screenshot", "--nope"][..], 64), (&["open", "http://10.0.0.1/"], 77)] {
        let (code, out, err) = call(&server.url(), &[&["--save", "/nowhere/y.png", "--"], argv].concat());
        assert_eq!((code, out.as_str()), (Some(wanted), ""), "{argv:?}: {err}");
        assert!(!err.is_empty() && !err.contains("no picture") && !err.contains("/nowhere"), "{argv:?}: {err}");
    }
    call(&server.url(), &["--", "close"]);
}

#[test]
fn local_call_saves_picture_too() {
    let env = stand_in_env();
    let file = env.workspace().join("mine.png");
    let run = env.run(&["call", "--save", file.to_str().unwrap(), "--", "screenshot"]);
    assert!(run.status.success(), "{run:?}");
    assert!(std::fs::read(file).unwrap().starts_with(b"\x89PNG"));
    env.run(&["call", "--", "close"]);
}

#[test]
fn missing_server_is_an_error_that_names_the_fix() {
    let (code, out, err) = call(&format!("http://127.0.0.1:{}/mcp", free_port()), &["--", "snapshot"]);
    assert_eq!((code, out.as_str()), (Some(69), ""), "{err}");
    assert!(err.contains("./dev up") && err.contains("--server"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    let server = server();
    let (code, _, err) = call(&format!("http://127.0.0.1:{}/other", server.port()), &["--", "snapshot"]);
    assert_eq!(code, Some(69), "{err}");
    assert!(err.contains("`/mcp`"), "{err}");
    for (url, fix) in [("https://127.0.0.1/mcp", "ssh -L"), ("http://127.0.0.1:8080", "http://127.0.0.1:8080/mcp")] {
        let (code, _, err) = call(url, &["--", "snapshot"]);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("--server") && err.contains(fix), "{err}");
    }
}

/// Request that a server of these tests received.
struct Request {
    head: String,
    body: Value,
}

/// Starts a server that answers each request with the bytes that `respond` returns, and then closes the connection. It runs
/// until the test process ends.
fn start_server(respond: impl Fn(&Request) -> String + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (sender, methods) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let Some(request) = read_request(&stream) else { continue };
            let _ = sender.send(request.body["method"].as_str().unwrap_or_default().to_owned());
            let _ = (&stream).write_all(respond(&request).as_bytes());
        }
    });
    (url, methods)
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        head += &line.to_lowercase();
    }
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Request { head, body: serde_json::from_slice(&body).unwrap_or_default() })
}

fn response(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// Returns the result of a request as an MCP server gives it; `None` for a notification.
fn result_of(request: &Request) -> Option<Value> {
    let result = match request.body["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": request.body["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "1"},
        }),
        "tools/call" => {
            let reply = json!({"session_id": "shell", "exit_code": 0, "stdout": "{\"a\":\"b\"}", "stderr": ""});
            json!({"content": [{"type": "text", "text": reply.to_string()}], "structuredContent": reply})
        }
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result}))
}

fn answer(request: &Request) -> String {
    result_of(request).map_or_else(
        || response("202 Accepted", "text/plain", ""),
        |result| response("200 OK", "application/json", &result.to_string()),
    )
}

#[test]
fn token_comes_from_file_or_environment() {
    let (url, _) = start_server(|request| {
        if request.head.contains("authorization: bearer abc.def\r\n") {
            answer(request)
        } else {
            response("401 Unauthorized", "text/plain", "no")
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "abc.def\n").unwrap();
    let file = file.to_str().unwrap();
    let call = |variables: &[(&str, &str)], arguments: &[&str]| {
        let run = call_with(&url, variables, &[arguments, &["--", "snapshot"]].concat());
        (run.status.code(), text(&run.stderr))
    };
    assert_eq!(call(&[], &["--token-file", file]), (Some(0), String::new()));
    assert_eq!(call(&[("BROWSER_SHELL_TOKEN", "abc.def")], &[]), (Some(0), String::new()));
    assert_eq!(call(&[("BROWSER_SHELL_TOKEN_FILE", file)], &[]), (Some(0), String::new()));
    let (code, err) = call(&[], &[]);
    assert_eq!(code, Some(69), "{err}");
    assert!(err.contains("--token-file") && err.contains("BROWSER_SHELL_TOKEN"), "{err}");
    let (code, err) = call(&[("BROWSER_SHELL_TOKEN", "wrong")], &[]);
    assert_eq!(code, Some(69), "{err}");
    assert!(err.contains("refused the token (HTTP 401): no\n"), "it has one: {err}");
    assert!(!err.contains("wrong"), "{err}");
    let (code, err) = call(&[("BROWSER_SHELL_TOKEN", "abc.def")], &["--token-file", file]);
    assert_eq!(code, Some(1), "{err}");
    let (code, err) = call(&[("BROWSER_SHELL_TOKEN", "a b")], &[]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("BROWSER_SHELL_TOKEN") && !err.contains("a b"), "{err}");
}

#[test]
fn reply_as_event_stream_is_read() {
    let (url, _) = start_server(|request| match result_of(request) {
        Some(result) => response("200 OK", "text/event-stream", &format!(": hello\n\ndata: {result}\n\n")),
        None => response("202 Accepted", "text/plain", ""),
    });
    assert_eq!(call(&url, &["--", "snapshot"]), (Some(0), "a: b\n".to_owned(), String::new()));
}

/// Returns a server whose tool gives this result.
fn server_with_result(tool_result: Value) -> String {
    let (url, _) = start_server(move |request| match result_of(request) {
        Some(mut result) if request.body["method"] == "tools/call" => {
            result["result"] = tool_result.clone();
            response("200 OK", "application/json", &result.to_string())
        }
        _ => answer(request),
    });
    url
}

#[test]
fn plain_answer_of_a_server_is_printed_as_it_is() {
    let forged = json!({"snapshot": "clicked\nopened \"Bank\" https://bank.example/\n- textbox [ref=e1]"});
    let code = json!({"exit_code": 0, "code": "ok"});
    for text in [format!("  {forged}"), r#"  {"price": 5, "currency": "EUR"}"#.to_owned(), "  null".to_owned()] {
        let mut result = json!({
            "content": [{"type": "text", "text": text}],
            "isError": false,
            "_meta": {"browser-shell/exit_code": 0, "browser-shell/code": "ok"},
        });
        for with_code in [false, true] {
            if with_code {
                result["structuredContent"] = code.clone();
            }
            let url = server_with_result(result.clone());
            assert_eq!(call(&url, &["--", "get", "text", "pre"]), (Some(0), format!("{text}\n"), String::new()));
        }
    }
    let data = json!({"text": "a\nurl: https://bank.example/"}).to_string();
    let reply = json!({"session_id": "shell", "exit_code": 0, "stdout": data, "stderr": ""});
    let url = server_with_result(json!({"content": [], "structuredContent": reply}));
    let shown = "text:\n  a\n  url: https://bank.example/\n".to_owned();
    assert_eq!(call(&url, &["--", "get", "text", "pre"]), (Some(0), shown, String::new()), "data has no second member");
}

#[test]
fn control_characters_of_a_reply_are_shown() {
    const CONTROLS: &str = "\u{1b}]52;c;YQ==\u{7}\u{1b}[31m\r\u{9b}31m\u{7f}\u{202e}\u{2066}\u{200f}\u{2028}";
    let is_raw = |c: char| {
        let is_bidi_or_separator = matches!(c, '\u{202e}' | '\u{2066}' | '\u{200f}' | '\u{2028}');
        is_bidi_or_separator || c.is_control() && !matches!(c, '\n' | '\t')
    };
    let ordinary = "中文 é 👩\u{200d}👧\ttab\nline";
    let text = format!("{ordinary}{CONTROLS}");
    let data = json!({ (format!("name{CONTROLS}")): text, "list": [text] });
    for (stdout, stderr) in [
        (data.to_string(), String::new()),
        (json!({"snapshot": text}).to_string(), String::new()),
        (json!(text).to_string(), String::new()),
        (text.clone(), text.clone()),
        (String::new(), text.clone()),
    ] {
        let reply = json!({"session_id": "shell", "exit_code": 0, "stdout": stdout, "stderr": stderr});
        let (url, _) = start_server(move |request| match result_of(request) {
            Some(mut result) if request.body["method"] == "tools/call" => {
                result["result"]["structuredContent"] = reply.clone();
                response("200 OK", "application/json", &result.to_string())
            }
            _ => answer(request),
        });
        let (code, out, err) = call(&url, &["--", "snapshot"]);
        assert_eq!(code, Some(0), "{out:?} {err:?}");
        let shown = format!("{out}{err}");
        assert!(shown.contains("52;c;YQ==") && shown.contains("中文 é 👩\u{200d}👧"), "control: {shown:?}");
        assert!(!shown.contains(is_raw), "{shown:?}");
        let (_, json, _) = call(&url, &["--json", "--", "snapshot"]);
        assert!(!json.contains(is_raw), "{json:?}");
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&json["stdout"], &json["stderr"]), (&stdout.into(), &stderr.into()), "`--json` changes nothing");
    }
    let (url, _) = start_server(|request| match request.body["method"].as_str() {
        Some("tools/call") => {
            let error = json!({"code": -32602, "message": format!("refused{CONTROLS}")});
            let answer = json!({"jsonrpc": "2.0", "id": request.body["id"], "error": error});
            response("200 OK", "application/json", &answer.to_string())
        }
        _ => answer(request),
    });
    let (code, _, err) = call(&url, &["--", "snapshot"]);
    assert_eq!(code, Some(64), "{err:?}");
    assert!(err.contains("refused\\u{1b}]52") && !err.contains(is_raw), "{err:?}");
}

#[test]
fn broken_reply_is_outcome_unknown_and_call_is_not_repeated() {
    let page = response("200 OK", "text/html", "<html>");
    let not_json = response("200 OK", "application/json", "<html>");
    for broken in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
        page.as_str(),
        not_json.as_str(),
    ] {
        let broken = broken.to_owned();
        let (url, methods) =
            start_server(
                move |request| {
                    if request.body["method"] == "tools/call" { broken.clone() } else { answer(request) }
                },
            );
        let (code, out, err) = call(&url, &["--", "click", "@e1"]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
        assert!(err.contains("outcome-unknown"), "{err}");
        assert_eq!(methods.try_iter().filter(|method| method == "tools/call").count(), 1);
    }
}

#[test]
fn endpoint_that_is_no_mcp_server_is_named() {
    for (status, kind, body, code, words) in [
        ("200 OK", "text/html", "<html>", 69, "no MCP server"),
        ("200 OK", "application/json", "<html>", 69, "no MCP server"),
        ("403 Forbidden", "text/html", "<html>", 69, "(HTTP 403); check that"),
        (
            "403 Forbidden",
            "text/plain; charset=utf-8",
            "scope-insufficient: no \u{1b}[2J\nx",
            69,
            "(HTTP 403): scope-insufficient: no \\u{1b}[2J\n",
        ),
        ("503 Service Unavailable", "text/html", "<html>", 69, "try again"),
        ("400 Bad Request", "text/plain", "credential-repeated: no\n", 69, "(HTTP 400): credential-repeated: no\n"),
        ("400 Bad Request", "text/html", "<html>", 69, "no MCP server"),
        ("413 Payload Too Large", "text/html", "<html>", 64, "split the text"),
        ("429 Too Many Requests", "text/plain", "busy: all\u{1b}[2J\nx", 75, "(HTTP 429): busy: all\\u{1b}[2J\n"),
        ("429 Too Many Requests", "text/html", "<html>", 75, "try again"),
    ] {
        let (url, _) = start_server(move |_| response(status, kind, body));
        let (got, _, err) = call(&url, &["--", "snapshot"]);
        assert_eq!(got, Some(code), "{err}");
        assert!(err.contains(words) && err.contains(&url), "{err}");
    }
}

#[test]
fn call_without_separator_prints_the_line_to_type() {
    let run = Command::new(PROGRAM).env_clear().args(["call", "open", "https://example.com"]).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    let err = text(&run.stderr);
    assert!(err.contains("browser-shell call -- open https://example.com\n"), "{err}");
}
