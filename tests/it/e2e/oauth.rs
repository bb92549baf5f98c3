//! Sign-in by MCP's authorization chapter, with the official client and a stand-in for an authorization server.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::hosts::SHOP;
use super::issuer::Issuer;
use super::server::{CallReply, TestEnv, free_port};
use super::test_env::{self, Browser};
use crate::credentials::with_api_keys;

/// Makes calls at a server in the session `agent` through the official client, which has the credential of this variable.
pub(crate) fn calls(url: &str, env: &TestEnv, credential: (&str, &str), all: &[&[&str]]) -> Vec<CallReply> {
    let arguments: Vec<Value> =
        all.iter().map(|argv| json!({ "session_id": "agent", "argv": argv, "timeout_sec": 60 })).collect();
    let mut child = test_env::python()
        .arg(test_env::support().join("clients/client.py"))
        .args(["auto", url])
        .env_clear()
        .envs(env.variables())
        .env(credential.0, credential.1)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(Value::from(arguments).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the client failed: {}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answers = report["answers"].as_array().unwrap();
    answers.iter().map(|answer| CallReply::read(&json!({ "result": answer }))).collect()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn signed_in_client_has_sessions_that_no_other_subject_sees() {
    let _browser = Browser::lock();
    let issuer = Issuer::start();
    let port = free_port();
    let env = test_env::default_env()
        .with_policy(&json!({ "access": { "sessions": "own" }, "browser": { "isolation": "session" } }));
    let keys = env.write_file("jwks.json", &issuer.jwks());
    let env = with_api_keys(env, &[("bob", "drive", "key-of-bob")])
        .with("BROWSER_SHELL_JWT_KEYS", keys)
        .with("BROWSER_SHELL_JWT_ISSUER", issuer.address())
        .with("BROWSER_SHELL_JWT_AUDIENCE", format!("http://localhost:{port}/mcp"));
    let server = env.serve_http_on(port);
    let shop = format!("http://{SHOP}/");
    let alice = ("OAUTH", "1");
    let bob = ("AUTHORIZATION", "Bearer key-of-bob");

    let calls = |credential, all: &[&[&str]]| calls(&server.url(), server.env(), credential, all);
    let replies = calls(alice, &[&["open", &shop], &["snapshot", "-i"]]);
    replies[0].clone().ok();
    replies[1].clone().ok().reference("button", "Save");
    let replies = calls(bob, &[&["snapshot", "-i"], &["close"]]);
    assert!(!replies[0].stdout.contains("Save"), "{}", replies[0].stdout);
    let replies = calls(alice, &[&["snapshot", "-i"], &["close"]]);
    replies[0].clone().ok().reference("button", "Save");

    let audit = server.env().audit();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of =
        |subject: &str| lines.iter().filter(|line| line["session"] == "agent" && line["subject"] == subject).count();
    assert_eq!((of("alice"), of("bob")), (4, 2), "{audit}");
    assert!(!audit.contains("key-of-bob") && !audit.contains("eyJ"), "{audit}");
}
