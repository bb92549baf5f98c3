//! The real agent-browser in each sandbox that can run here (spec [5.2]): it works as before, and it is inside.
//!
//! What cannot be reached from inside is shown in `confinement`, by programs that try.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::harness::engine::Engine;

use super::{
    hosts::SHOP,
    server::Home,
    world::{self, Browser},
};

fn home(sandbox: &Value) -> Home {
    home_of(&world::agent_browser(), sandbox)
}

fn home_of(program: &Path, sandbox: &Value) -> Home {
    world::require_test_network();
    Home::new(program).with_policy(&json!({ "sandbox": sandbox }))
}

/// The runtime from npm, which `tests/e2e/setup` installs.
fn srt() -> Value {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/node_modules/.bin/srt");
    json!({"backend": "srt", "require": true, "backends": {"srt": {"program": program}}})
}

/// The audit lines so far: what each call ran in, and by which way.
fn lines(home: &Home) -> Vec<(String, String)> {
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let lines = home.audit();
    lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (text(&line, "sandbox"), text(&line, "transport")))
        .collect()
}

/// Whether the daemon of the home's one session is under a filter for system calls.
fn daemon_is_filtered(processes: &[crate::harness::processes::Process]) -> bool {
    let daemon =
        processes.iter().find(|process| process.command.contains("daemon.js") && !process.command.contains("bwrap"));
    let daemon = daemon.unwrap_or_else(|| panic!("the daemon is found by its mark: {processes:#?}"));
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.id)).unwrap();
    status.contains("Seccomp:\t2")
}

fn everything_works_in(sandbox: &Value, status: &str) {
    let _browser = Browser::take();
    let server = home(sandbox).serve();
    server.call("s", &["open", &format!("http://{SHOP}/")]).ok();
    let seen = server.call("s", &["snapshot", "-i"]).ok();
    server.call("s", &["fill", &seen.reference("textbox", "Name"), "Ada"]).ok();
    server.call("s", &["click", &seen.reference("button", "Save")]).ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("saved Ada"));
    let shot = server.call("s", &["screenshot", "shot.png"]).ok();
    let path = shot.data()["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with(server.home().workspace().join("s").to_str().unwrap()), "{path}");
    assert_eq!(fs::read(&path).unwrap(), shot.picture.unwrap());
    let filtered = daemon_is_filtered(&server.processes());
    assert_eq!(filtered, status != "off", "control: without a sandbox there is no filter");
    let ways = lines(server.home());
    assert!(ways.iter().all(|(sandbox, _)| sandbox == status), "{ways:?}");
    assert_eq!(ways[0].1, "cli");
    assert!(ways[1..].iter().all(|(_, way)| way == "daemon"), "the daemon is spoken to from outside: {ways:?}");
    server.call("s", &["close"]).ok();
    assert_eq!(server.processes(), [], "TERM and KILL reach inside");
    assert!(!fs::exists(path).unwrap());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_2_agent_browser_works_under_landlock() {
    everything_works_in(&json!({"backend": "landlock", "require": true}), "landlock:full");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_2_agent_browser_works_under_bubblewrap() {
    everything_works_in(&json!({"backend": "bubblewrap", "require": true}), "bubblewrap:full");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_2_agent_browser_works_under_srt() {
    everything_works_in(&srt(), "srt:full");
}

#[test]
#[ignore = "needs the test network, podman and root: run ./dev test"]
fn spec_5_2_agent_browser_works_in_a_container() {
    let engine = Engine::start();
    let sandbox = json!({"backend": "docker", "require": true, "backends": {"docker": engine.policy()}});
    everything_works_in(&sandbox, "docker:full");
    engine.until_empty();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_2_agent_browser_works_in_a_shared_sandbox_and_in_none() {
    everything_works_in(&json!({"mode": "shared"}), "landlock:full");
    everything_works_in(&json!({"enabled": false}), "off");
}

/// A script that Node runs, which starts the binary beside it.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_2_npms_own_command_works_inside_too() {
    let _browser = Browser::take();
    let program = world::agent_browser().with_file_name("agent-browser.js");
    let server = home_of(&program, &json!({"require": true})).serve();
    server.call("s", &["open", &format!("http://{SHOP}/")]).ok();
    assert!(!server.call("s", &["snapshot", "-i"]).ok().page().is_empty());
    assert!(daemon_is_filtered(&server.processes()));
    server.call("s", &["close"]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_5_2_a_daemon_outlives_the_command_that_started_it_in_its_sandbox() {
    for sandbox in [json!({"backend": "landlock"}), json!({"backend": "bubblewrap"}), srt()] {
        let backend = &sandbox["backend"];
        let _browser = Browser::take();
        let home = home(&sandbox);
        let url = format!("http://{SHOP}/");
        for argv in [&["open", url.as_str()][..], &["snapshot", "-i"]] {
            let run = home.run(&[&["call", "--session", "s", "--"], argv].concat());
            assert!(run.status.success(), "{backend}: {run:?}");
            assert!(daemon_is_filtered(&home.processes(None)), "{backend}");
        }
        let run = home.run(&["call", "--session", "s", "--", "close"]);
        assert!(run.status.success(), "{backend}: {run:?}");
        assert_eq!(home.processes(None), [], "{backend}");
    }
}
