//! The official MCP clients, in every generation and over both transports. All make the same calls and must get the
//! same replies.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    hosts::{INTRANET, SHOP},
    server::{CallReply, PROGRAM, TestEnv},
    test_env::{self, Browser},
};

/// The newest protocol version, and the newest version with a handshake.
const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

fn python(mode: &str) -> Command {
    let mut command = test_env::python();
    command.arg(test_env::support().join("clients/client.py")).arg(mode);
    command
}

fn typescript(mode: &str) -> Command {
    let mut command = test_env::node("clients/client.mjs");
    command.arg(mode);
    command
}

/// Returns the main flow of an agent: a name for each call, and its arguments.
fn flow() -> Vec<(&'static str, Vec<String>)> {
    let shop = format!("http://{SHOP}/");
    let intranet = format!("http://{INTRANET}/");
    let steps: &[(&str, &[&str])] = &[
        ("open", &["open", &shop]),
        ("look", &["snapshot", "-i"]),
        ("fill", &["fill", "#name", "Ada"]),
        ("press", &["press", "Tab"]),
        ("select", &["select", "#size", "m"]),
        ("check", &["check", "#gift"]),
        ("click", &["click", "#save"]),
        ("wait", &["wait", "--text", "saved Ada"]),
        ("read", &["snapshot"]),
        ("picture", &["screenshot"]),
        ("refused", &["open", &intranet]),
        ("wrong", &["eval", "1"]),
        ("close", &["close"]),
    ];
    steps.iter().map(|(name, argv)| (*name, argv.iter().map(|&word| word.to_owned()).collect())).collect()
}

/// Runs the flow through a client and checks every reply.
fn drive(browser: &Browser, mut client: Command, env: &TestEnv, protocol: Option<&str>) {
    let steps = flow();
    let calls: Vec<Value> =
        steps.iter().map(|(_, argv)| json!({"session_id": "agent", "argv": argv, "timeout_sec": 60})).collect();
    let mut child = client
        .env_clear()
        .envs(env.variables())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(Value::from(calls).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the client failed: {stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();

    assert_eq!(report["protocol"].as_str(), protocol, "{stderr}");
    assert_eq!(report["server"], "browser-shell");
    assert_eq!(report["tools"], json!(["browser-shell"]));
    assert_eq!(report["unknown"], json!({"code": -32602}), "an unknown tool is a protocol error");

    let answers = report["answers"].as_array().unwrap();
    assert_eq!(answers.len(), steps.len());
    let answer = |name: &str| {
        let index = steps.iter().position(|(step, _)| *step == name).unwrap();
        CallReply::read(&json!({"result": answers[index]}))
    };
    for name in ["open", "fill", "press", "select", "check", "click", "wait", "close"] {
        answer(name).ok().data();
    }
    answer("look").ok().reference("button", "Save");
    assert!(answer("read").ok().page().contains("saved Ada//m/gift=true/news=true"));
    let picture = answer("picture").ok().picture.expect("no picture");
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"));
    answer("refused").fails_with(77);
    answer("wrong").fails_with(64);
    assert_eq!(browser.address(), format!("http://{SHOP}/"));
}

fn over_stdio(mut client: Command, protocol: Option<&str>) {
    let browser = Browser::lock();
    client.args(["stdio", PROGRAM]);
    drive(&browser, client, &test_env::default_env(), protocol);
}

fn over_http(mut client: Command, protocol: Option<&str>) {
    let browser = Browser::lock();
    let server = test_env::default_env().serve_http();
    client.arg(server.url());
    drive(&browser, client, server.env(), protocol);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn python_client_works_over_stdio() {
    over_stdio(python("auto"), Some(MODERN));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn python_client_works_over_http() {
    over_http(python("auto"), Some(MODERN));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn python_client_works_with_handshake_over_stdio() {
    over_stdio(python("legacy"), Some(LEGACY));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn python_client_works_with_handshake_over_http() {
    over_http(python("legacy"), Some(LEGACY));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn typescript_client_works_over_stdio() {
    over_stdio(typescript("auto"), Some(MODERN));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn typescript_client_works_over_http() {
    over_http(typescript("auto"), Some(MODERN));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn first_typescript_client_works_over_stdio() {
    // Over stdio, this generation does not expose the negotiated version.
    over_stdio(typescript("v1"), None);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn first_typescript_client_works_over_http() {
    over_http(typescript("v1"), Some(LEGACY));
}

// Requirement 7.4.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn client_is_told_when_policy_changes_the_tool() {
    let env = test_env::default_env().with_policy(&json!({}));
    let policy = env.variables().find(|(name, _)| name == "BROWSER_SHELL_POLICY").expect("a policy file").1;
    let mut child = test_env::node("clients/changes.mjs")
        .args([PROGRAM, &policy])
        .env_clear()
        .envs(env.variables())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(br#"{"subcommands":{"enable":["drag"]}}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lists = |when: &str| report[when].as_str().unwrap().lines().any(|line| line == "drag SRC DST");
    assert!(lists("after") && !lists("before"), "{report}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn call_that_a_client_cancels_over_http_ends() {
    let hosts = test_env::hosts();
    // With a session of the protocol, and in the version without them.
    for mode in ["v1", "legacy", "auto"] {
        let _browser = Browser::lock();
        let server = test_env::default_env().serve_http();
        let held = format!("canceled-{mode}");
        let call =
            json!({"session_id": "s", "argv": ["open", format!("http://{SHOP}/held?{held}")], "timeout_sec": 90});
        let other = json!({"session_id": "s", "argv": ["open", format!("http://{SHOP}/")], "timeout_sec": 60});
        let mut client = test_env::node("clients/cancel.mjs");
        client.args([mode, &server.url(), &call.to_string(), &other.to_string()]);
        client.env_clear().envs(server.env().variables()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = client.spawn().unwrap();
        hosts.wait_until_asked(&held);
        child.stdin.take().unwrap().write_all(b"cancel\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{mode}: the client failed");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        CallReply::read(&json!({ "result": answer })).ok();
        let audit = server.env().audit();
        let canceled = audit.lines().filter(|line| line.contains(r#""exit_code":130"#)).count();
        assert_eq!(canceled, 1, "{mode}: {audit}");
        hosts.release(&held);
    }
}
