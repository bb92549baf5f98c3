//! Agents behind the wall: the official clients, many parallel clients, and the URL policy.

use std::{
    io::Write,
    process::{Command, Stdio},
    sync::Barrier,
    thread,
};

use serde_json::{Value, json};

use super::{
    super::{
        e2e::{hosts::SHOP, test_env},
        harness::{processes::wait_for, server::CallReply},
    },
    base::{Stack, StackKind},
    request::{PORT, send},
    sharing::acquire,
};

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

/// Runs a client to its end and returns its report, or its output as an error.
fn run(mut client: Command, authorization: Option<&str>, calls: &Value) -> Result<Value, String> {
    client.arg(format!("http://localhost:{PORT}/mcp"));
    client.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    if let Some(authorization) = authorization {
        client.env("AUTHORIZATION", authorization);
    }
    client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = client.spawn().unwrap();
    child.stdin.take().unwrap().write_all(calls.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Runs the main flow of an agent through one client.
fn drive(stack: &Stack, client: Command, authorization: Option<&str>) {
    let _exclusive = stack.browser();
    stack.begin("agent");
    let shop = format!("http://{SHOP}/");
    let argv = [vec!["open", &shop], vec!["snapshot", "-i"], vec!["click", "#save"], vec!["screenshot"], vec!["close"]];
    let calls: Vec<Value> =
        argv.iter().map(|argv| json!({"session_id": "agent", "argv": argv, "timeout_sec": 60})).collect();
    let report =
        run(client, authorization, &Value::from(calls)).unwrap_or_else(|output| panic!("the client failed: {output}"));
    assert_eq!(report["server"], "browser-shell");
    assert_eq!(report["tools"], json!(["browser-shell"]));
    let answers = report["answers"].as_array().unwrap();
    assert_eq!(answers.len(), argv.len());
    let answer = |index: usize| CallReply::read(&json!({"result": answers[index]})).ok();
    assert_eq!(answer(0).data()["url"], shop);
    answer(1).reference("button", "Save");
    assert!(answer(3).picture.expect("a picture").starts_with(b"\x89PNG\r\n\x1a\n"));
    answer(2);
    answer(4);
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn official_clients_drive_the_browser() {
    let stack = acquire(StackKind::Open);
    drive(&stack, python("auto"), None);
    drive(&stack, typescript("auto"), None);
    drive(&stack, typescript("v1"), None);
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn official_clients_drive_the_browser_with_token() {
    let stack = acquire(StackKind::Jwt);
    let authorization = format!("Bearer {}", stack.token());
    drive(&stack, python("auto"), Some(&authorization));
    drive(&stack, typescript("auto"), Some(&authorization));
    drive(&stack, typescript("v1"), Some(&authorization));
    for client in [python("auto"), typescript("auto"), typescript("v1")] {
        let refused = run(client, None, &json!([]));
        assert!(refused.is_err(), "a client without a token must not reach the tool: {refused:?}");
    }
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn fifty_concurrent_clients_get_their_own_replies() {
    const CLIENTS: usize = 50;
    let stack = acquire(StackKind::Open);
    let start = Barrier::new(CLIENTS);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (stack, start) = (&stack, &start);
            scope.spawn(move || {
                let session = format!("client-{client}");
                start.wait();
                for call in 0..4 {
                    let field = format!("#field-{client}-{call}");
                    let answer = stack.call_within(120, &session, &["fill", &field, "#fake-echo"]).ok();
                    assert_eq!(answer.session, session);
                    let argv = answer.data()["argv"].as_array().unwrap().clone();
                    assert!(argv.contains(&json!(field)) && argv.contains(&json!(session)), "{argv:?}");
                }
            });
        }
    });
}

// Requirement 2.4.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn url_policy_applies_behind_the_wall() {
    // Our own server behind the wall, which does not log its clients in the trap log, unlike the base's server.
    const INNER: &str = "http://127.0.0.1:8079/healthz";
    let stack = acquire(StackKind::Open);
    let _exclusive = stack.browser();
    stack.begin("policy");
    stack.call("policy", &["open", &format!("http://{SHOP}/")]).ok();
    stack.call("policy", &["open", INNER]).fails_with(77);
    for address in [
        "127.0.0.1:8091/",
        "127.0.0.1:8091/health",
        "localhost:8091/v1/ping",
        "127.0.0.1:9222/json/version",
        "127.0.0.1:9223/json/version",
    ] {
        stack.call("policy", &["open", &format!("http://{address}")]).fails_with(77);
    }

    // Control: the servers are reachable, so the policy is what refuses.
    assert_eq!(send(8091, "GET /health", &[], "").status, 200);
    assert_eq!(send(8079, "GET /healthz", &[], "").status, 200);
    stack.write_policy(&json!({"open": {"allow_cidrs": ["127.0.0.0/8"]}}));
    wait_for("the new policy", || {
        (stack.try_call("policy", &["open", INNER], 60).json()["result"]["isError"] != true).then_some(())
    });
    assert!(stack.call("policy", &["snapshot"]).ok().page().contains("ok"));
    stack.write_policy(&json!({}));
    wait_for("the old policy", || {
        (stack.try_call("policy", &["open", INNER], 60).json()["result"]["isError"] == true).then_some(())
    });
    stack.call("policy", &["close"]).ok();
    assert!(stack.trap_log().is_empty(), "{}", stack.trap_log());
}

// Requirement 1.2.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn image_runs_agent_browser_with_cdp_9222_for_every_session() {
    let stack = acquire(StackKind::Open);
    let _exclusive = stack.browser();
    for session in ["one", "two"] {
        stack.begin(session);
        let expected = format!(" --session {session} --cdp 9222 --json wait 2000");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| stack.call(session, &["wait", "2000"]));
            wait_for("agent-browser's command line", || {
                stack.processes().iter().any(|process| process.command.trim_end().ends_with(&expected)).then_some(())
            });
            waiting.join().unwrap().ok();
        });
    }
    assert_eq!(send(9222, "GET /json/list", &[], "").body, "[]", "other programs see no tabs");
    for session in ["one", "two"] {
        stack.call(session, &["close"]).ok();
    }
}
