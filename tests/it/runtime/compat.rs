//! The profile `compat`: texts, commands and requests as clients of the runtime know them that this one replaces.

use std::fs;

use serde_json::{Value, json};

use super::{
    super::harness::processes::{self, wait_for},
    client::{ExecOutcome, SESSION},
    server::{Runtime, Setup},
};

fn compat() -> Setup {
    Setup::stand_in().arguments(&["--profile", "compat"])
}

fn stdout(runtime: &Runtime, cmd: &str) -> String {
    runtime.exec(cmd).ok().stdout
}

// Requirement 4.1.
#[test]
fn compat_replies_with_texts_of_agent_browser() {
    let runtime = compat().start();
    for (cmd, text) in [
        ("open http://93.184.215.14/", "✓ A page\n  http://93.184.215.14/\n"),
        ("goto http://93.184.215.14/a", "✓ A page\n  http://93.184.215.14/a\n"),
        ("navigate http://93.184.215.14/", "✓ A page\n  http://93.184.215.14/\n"),
        ("click #a", "✓ Done\n"),
        ("fill #a hunter2", "✓ Done\n"),
        ("get title", "A page\n"),
        ("is visible #a", "true\n"),
        ("screenshot shots/a.png", "✓ Screenshot saved to /workspace/shots/a.png\n"),
        ("session", "default\n"),
        ("session list", "Active sessions:\n→ default\n"),
        ("close", "✓ Browser closed\n"),
        ("session list", "No active sessions\n"),
    ] {
        assert_eq!(stdout(&runtime, cmd), text, "{cmd}");
    }
    assert!(stdout(&runtime, "--help").contains("  open URL\n"));
    // The other profile has none of this.
    let strict = Setup::stand_in().start();
    assert!(strict.exec("open http://93.184.215.14/").ok().data().is_object());
    for cmd in ["goto http://93.184.215.14/", "session list", "--help"] {
        strict.exec(cmd).fails_with(64);
    }
}

// Requirement 4.1.
#[test]
fn json_flag_returns_envelope_with_success_and_error() {
    let runtime = compat().start();
    for cmd in ["snapshot -i --json", "--json snapshot -i"] {
        let answer: Value = serde_json::from_str(&stdout(&runtime, cmd)).expect(cmd);
        assert_eq!((&answer["success"], &answer["error"]), (&json!(true), &Value::Null), "{cmd}");
        assert!(answer["data"]["refs"].is_object(), "{answer}");
    }
    let failed = runtime.exec("--json click #fake-exit-3").fails_with(3);
    let answer: Value = serde_json::from_str(&failed.stdout).expect("JSON");
    assert_eq!((&answer["success"], &answer["data"]), (&json!(false), &Value::Null), "{answer}");
    // In a command with text, the flag would be a part of it.
    runtime.exec("fill #a --cdp --json").fails_with(64);
}

// Requirement 4.1.
#[test]
fn request_spellings_of_pydantic_are_accepted_in_compat() {
    let (compat, strict) = (compat().start(), Setup::stand_in().start());
    for (path, body) in [
        ("/exec", json!({"cmd": "snapshot", "timeout": "5"})),
        ("/exec", json!({"cmd": "snapshot", "sandbox_id": "a.b"})),
        ("/exec_batch", json!({"commands": ["snapshot"], "stop_on_error": 1})),
        ("/exec_batch", json!({"commands": vec!["no-such-thing"; 101]})),
    ] {
        compat.post(path, &body).expect_status(200);
        strict.post(path, &body).expect_status(422);
    }
    let body = json!({"cmd": "snapshot"}).to_string();
    compat.request("POST", "/exec", &[], &body).expect_status(200);
    strict.request("POST", "/exec", &[], &body).expect_status(415);
    // Neither another site's page nor another type gets in by this.
    let origin = "Origin: http://evil.example";
    compat.request("POST", "/exec", &[origin], &body).expect_status(403);
    compat.request("POST", "/exec", &["Content-Type: text/plain"], &body).expect_status(415);
    for sandbox in ["..", "a/b", ".a"] {
        compat.post("/exec", &json!({"cmd": "snapshot", "sandbox_id": sandbox})).expect_status(422);
    }
}

// Requirement 4.1.
#[test]
fn dotted_tenants_are_separate_sessions() {
    let runtime = Setup::shared().arguments(&["--profile", "compat"]).start();
    let session = |sandbox: &str| {
        let answer = runtime.exec_with(&json!({"cmd": "--json click #fake-echo", "sandbox_id": sandbox})).ok();
        answer.data()["data"]["argv"][1].as_str().unwrap().to_owned()
    };
    let names = ["a.b", "a_b", "a-b", "a..b"].map(session);
    for (index, name) in names.iter().enumerate() {
        assert!(!name.contains('.') && !names[..index].contains(name), "{names:?}");
    }
    runtime.delete("/sessions/a.b").expect_status(200);
}

// Requirement 4.1.
#[test]
fn timeout_text_is_that_of_the_contract() {
    let late = |runtime: &Runtime, timeout: Value| {
        let body = json!({"cmd": "click #fake-sleep-600000", "timeout": timeout, "sandbox_id": SESSION});
        runtime.exec_with(&body)
    };
    let runtime = compat().start();
    runtime.exec("snapshot").ok();
    assert_eq!(late(&runtime, json!(2)).fails_with(-1).stderr, "Command timed out after 2s");
    let shared = Setup::shared().arguments(&["--profile", "compat"]).start();
    assert_eq!(late(&shared, json!("1")).fails_with(124).stderr, "Command timed out");
    let strict = Setup::stand_in().start();
    assert!(late(&strict, json!(1)).fails_with(-1).stderr.starts_with("timed-out: "), "control");
}

// Requirement 4.1.
#[test]
fn page_lost_with_browser_is_reported_until_next_open() {
    for (setup, profile) in [(Setup::stand_in(), "strict"), (compat(), "compat")] {
        let setup = setup.policy(&json!({"subcommands": {"enable": ["get"]}}));
        let runtime = setup.start();
        let title = || runtime.exec("get title");
        title().ok();
        runtime.exec("open http://93.184.215.14/").ok();
        title().ok();
        kill_chromium(&runtime);
        for _ in 0..2 {
            let answer = title().fails_with(69);
            assert!(answer.stderr.starts_with("page-lost: ") && answer.stdout.is_empty(), "{profile}: {answer:?}");
        }
        // A command that fails opens nothing.
        runtime.exec("open file:///etc/hostname").fails_with(77);
        title().fails_with(69);
        runtime.exec("open http://93.184.215.14/").ok();
        title().ok();
        // Without a page, nothing is lost.
        runtime.exec("close").ok();
        kill_chromium(&runtime);
        title().ok();
    }
}

/// Kills the browser, and waits until the runtime has started another one.
fn kill_chromium(runtime: &Runtime) {
    let starts = runtime.starts();
    processes::kill(&[wait_for("Chromium", || runtime.chromium())]);
    wait_for("another start", || (runtime.starts() > starts).then_some(()));
    runtime.wait_until_healthy();
}

// Requirement 4.1.
#[test]
fn page_lost_in_shared_browser_is_reported_to_each_tenant() {
    let mut runtime = Setup::shared().start();
    let exec = |runtime: &Runtime, sandbox: &str, cmd: &str| -> ExecOutcome {
        runtime.exec_with(&json!({"cmd": cmd, "sandbox_id": sandbox}))
    };
    for sandbox in ["one", "two"] {
        exec(&runtime, sandbox, "open http://93.184.215.14/").ok();
    }
    exec(&runtime, "three", "snapshot").ok();
    runtime.end_browser();
    runtime.start_browser();
    runtime.wait_until_healthy();
    for sandbox in ["one", "two"] {
        assert!(exec(&runtime, sandbox, "snapshot").fails_with(69).stderr.starts_with("page-lost: "));
    }
    exec(&runtime, "three", "snapshot").ok();
    exec(&runtime, "one", "open http://93.184.215.14/").ok();
    exec(&runtime, "one", "snapshot").ok();
    exec(&runtime, "two", "snapshot").fails_with(69);
}

// Requirement 4.3.
#[test]
fn skills_arrive_when_workspace_becomes_writable() {
    let setup = Setup::stand_in();
    fs::create_dir(setup.folder().join("skills/browser")).unwrap();
    fs::write(setup.folder().join("skills/browser/SKILL.md"), "---\nname: browser\ndescription: x\n---\n").unwrap();
    // A folder that is in the way keeps the skill out, for root too.
    let taken = setup.mount().join("skills");
    fs::write(&taken, "not a folder").unwrap();
    let runtime = setup.start();
    wait_for("the report", || runtime.log().contains("cannot copy skills into the workspace yet").then_some(()));
    assert!(!taken.is_dir());
    fs::remove_file(&taken).unwrap();
    wait_for("the skill", || taken.join("browser/SKILL.md").exists().then_some(()));
}
