//! The real agent-browser in every sandbox backend (spec [5.2]): it works, and it is confined.
//!
//! `confinement` tests with hostile programs what a confined program cannot reach.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::harness::engine::ContainerEngine;

use super::{
    hosts::SHOP,
    server::TestEnv,
    test_env::{self, Browser},
};

fn env(sandbox: &Value) -> TestEnv {
    env_of(&test_env::agent_browser(), sandbox)
}

fn env_of(program: &Path, sandbox: &Value) -> TestEnv {
    test_env::require_test_network();
    TestEnv::new(program).with_policy(&json!({ "sandbox": sandbox }))
}

/// Returns a sandbox policy with the `srt` from npm, which `tests/e2e/setup` installs.
fn srt() -> Value {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/node_modules/.bin/srt");
    json!({"backend": "srt", "require": true, "backends": {"srt": {"program": program}}})
}

/// Returns the sandbox of each audit line so far.
fn lines(env: &TestEnv) -> Vec<String> {
    let lines = env.audit();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["sandbox"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Returns true if the daemon of the only session has a system call filter.
fn daemon_is_filtered(processes: &[crate::harness::processes::Process]) -> bool {
    let daemon =
        processes.iter().find(|process| process.command.contains("daemon.js") && !process.command.contains("bwrap"));
    let daemon = daemon.unwrap_or_else(|| panic!("no daemon in: {processes:#?}"));
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.id)).unwrap();
    status.contains("Seccomp:\t2")
}

fn assert_works_in(sandbox: &Value, status: &str) {
    let _browser = Browser::lock();
    let server = env(sandbox).serve();
    // The first call starts the sandbox too: a container takes many times longer on a busy machine.
    server.call_within(100, "s", &["open", &format!("http://{SHOP}/")]).ok();
    let seen = server.call("s", &["snapshot", "-i"]).ok();
    server.call("s", &["fill", &seen.reference("textbox", "Name"), "Ada"]).ok();
    server.call("s", &["click", &seen.reference("button", "Save")]).ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("saved Ada"));
    let shot = server.call("s", &["screenshot", "shot.png"]).ok();
    let path = shot.data()["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with(server.env().workspace().join("s").to_str().unwrap()), "{path}");
    assert_eq!(fs::read(&path).unwrap(), shot.picture.unwrap());
    let filtered = daemon_is_filtered(&server.processes());
    assert_eq!(filtered, status != "off", "control: without a sandbox there must be no filter");
    let calls = lines(server.env());
    assert!(calls.len() > 4 && calls.iter().all(|sandbox| sandbox == status), "{calls:?}");
    server.call("s", &["close"]).ok();
    assert_eq!(server.processes(), [], "no process may be left in the sandbox");
    assert!(!fs::exists(path).unwrap());
}

// Requirement 5.2.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_works_under_landlock() {
    assert_works_in(&json!({"backend": "landlock", "require": true}), "landlock:full");
}

// Requirement 5.2.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn daemon_in_node_is_refused_under_bubblewrap() {
    let _browser = Browser::lock();
    let server = env(&json!({"backend": "bubblewrap", "require": true})).serve();
    let refusal = server.call("s", &["open", &format!("http://{SHOP}/")]).fails_with(69);
    assert!(refusal.stderr.starts_with("sandbox-backend-unsupported"), "{refusal:?}");
    // The native version works there: `native_agent_browser_works_in_sandbox_without_extra_rights`.
}

// Requirement 5.2.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_works_under_srt() {
    assert_works_in(&srt(), "srt:full");
}

/// The short form that another program publishes, with a domain for agent-browser itself. Pages do not depend on it.
// Requirement 5.2.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_works_under_published_form() {
    let form = include_str!("../../../crates/core/src/policy/file/published/short.json");
    let mut form: Value = serde_json::from_str(form).unwrap();
    form["sandbox"]["backends"] = srt()["backends"].clone();
    assert_works_in(&form["sandbox"], "srt:full");
}

// Requirement 5.2.
#[test]
#[ignore = "needs the test network, podman and root: run ./dev test"]
fn agent_browser_works_in_container() {
    let engine = ContainerEngine::start();
    let sandbox = json!({"backend": "docker", "require": true, "backends": {"docker": engine.policy()}});
    assert_works_in(&sandbox, "docker:full");
    engine.wait_until_empty();
}

// Requirement 5.2.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_works_in_shared_sandbox_and_without_one() {
    assert_works_in(&json!({"mode": "shared"}), "landlock:full");
    assert_works_in(&json!({"enabled": false}), "off");
}

/// npm's script, which runs in Node and starts the binary next to it.
// Requirement 5.2.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn npm_entry_point_works_in_sandbox() {
    let _browser = Browser::lock();
    let program = test_env::agent_browser().with_file_name("agent-browser.js");
    let server = env_of(&program, &json!({"require": true})).serve();
    server.call("s", &["open", &format!("http://{SHOP}/")]).ok();
    assert!(!server.call("s", &["snapshot", "-i"]).ok().page().is_empty());
    assert!(daemon_is_filtered(&server.processes()));
    server.call("s", &["close"]).ok();
}

// Requirement 5.2.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn daemon_survives_the_command_that_started_it_in_sandbox() {
    for sandbox in [json!({"backend": "landlock"}), srt()] {
        let backend = &sandbox["backend"];
        let _browser = Browser::lock();
        let env = env(&sandbox);
        let url = format!("http://{SHOP}/");
        for argv in [&["open", url.as_str()][..], &["snapshot", "-i"]] {
            let run = env.run(&[&["call", "--session", "s", "--"], argv].concat());
            assert!(run.status.success(), "{backend}: {run:?}");
            assert!(daemon_is_filtered(&env.processes(None)), "{backend}");
        }
        let run = env.run(&["call", "--session", "s", "--", "close"]);
        assert!(run.status.success(), "{backend}: {run:?}");
        assert_eq!(env.processes(None), [], "{backend}");
    }
}
