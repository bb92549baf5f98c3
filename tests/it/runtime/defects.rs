//! What is known to go wrong in the runtime that this one takes the place of, shown not to go wrong here, each with the
//! control that the same request succeeds without the attack. Paths and links have more tests in `files` and `shared`.

use std::fs;

use serde_json::json;

use super::{
    super::{
        e2e::{hosts::SHOP, world},
        harness::processes::until,
    },
    contract::members,
    door::SESSION,
    server::{Runtime, Setup},
};

#[test]
fn a_quote_that_is_not_closed_is_a_refusal_and_no_error_of_the_server() {
    let runtime = Setup::stand_in().start();
    for cmd in ["fill #a \"x", "fill #a 'x", "fill #a x\\", "\"", "'"] {
        // `exec` fails on any status but 200
        let answer = runtime.exec(cmd).fails_with(64);
        assert_eq!(answer.stdout, "", "{cmd}");
    }
    let batch =
        runtime.batch(&json!({"commands": ["fill #a \"x", "snapshot"], "stop_on_error": false, "sandbox_id": SESSION}));
    assert_eq!((&batch["results"][0]["exit_code"], &batch["results"][1]["exit_code"]), (&json!(64), &json!(0)));
    runtime.exec("fill #a \"x\"").ok();
}

#[test]
fn a_flag_in_a_command_does_not_choose_the_session_or_the_browser() {
    let runtime = Setup::stand_in().start();
    for cmd in [
        "--session other open about:blank",
        "open about:blank --session other",
        "open --session=other about:blank",
        "fill #a --session",
        "fill #a '--cdp'",
        "--cdp 1 snapshot",
        "--json snapshot",
        "-p 1 snapshot",
        "--profile /tmp/x open about:blank",
        "snapshot --help",
        "--version",
        "-- snapshot",
    ] {
        runtime.exec(cmd).fails_with(64);
    }
    let data = runtime.exec("fill #fake-echo '-x is text'").ok().data();
    assert_eq!(data["argv"][1], json!("default"), "control");
}

#[test]
fn no_file_of_the_machine_can_be_opened_as_a_page() {
    let runtime = Setup::stand_in().start();
    for url in [
        "file:///etc/hostname",
        "FILE:///etc/hostname",
        "'file:/etc/hostname'",
        "view-source:file:///etc/passwd",
        "chrome://version",
        "data:text/html,x",
        "javascript:1",
    ] {
        runtime.exec(&format!("open {url}")).fails_with(77);
    }
    runtime.exec("open http://93.184.215.14/").ok();
}

#[test]
fn a_picture_is_not_written_to_any_path() {
    let runtime = Setup::stand_in().start();
    let outside = runtime.below("outside.png");
    for path in [outside.to_str().unwrap(), "/workspace/../outside.png", "../outside.png"] {
        runtime.exec(&format!("screenshot {path}")).fails_with(64);
        assert!(!outside.exists(), "{path}");
    }
    runtime.exec("screenshot /workspace/inside.png").ok();
    assert!(runtime.mount().join("inside.png").exists());
}

#[test]
fn a_missing_workspace_is_not_taken_for_a_missing_program() {
    let runtime = Setup::stand_in().start();
    let away = runtime.below("away");
    fs::rename(runtime.mount(), &away).unwrap();
    let answer = runtime.exec("screenshot a.png").fails_with(69);
    assert!(answer.stderr.contains("workspace") && !answer.stderr.contains("not found"), "{answer:?}");
    fs::rename(&away, runtime.mount()).unwrap();
    runtime.exec("screenshot a.png").ok();
}

#[test]
fn an_empty_command_is_a_refusal_and_no_help() {
    let runtime = Setup::stand_in().start();
    for cmd in ["", " ", "\t\n", "''", "\"\""] {
        let answer = runtime.exec(cmd).fails_with(64);
        assert_eq!(answer.stdout, "", "{cmd:?}");
    }
    runtime.exec("snapshot").ok();
}

#[test]
fn it_is_not_healthy_before_its_browser_is_ready() {
    let setup = Setup::stand_in();
    fs::write(setup.folder().join("orders/hold"), "").unwrap();
    let runtime = setup.start_now();
    until("the browser's start", || (runtime.starts() > 0).then_some(()));
    let (status, health) = runtime.health();
    assert_eq!((status, &health["status"], &health["browser_ready"]), (503, &json!("degraded"), &json!(false)));
    assert_eq!(members(&health), ["browser_active", "browser_ready", "session", "status", "version"]);
    // what else there is to ask for is there already
    runtime.get("/meta").is(200);
    runtime.order("hold", false);
    runtime.until_healthy();
    let (_, health) = runtime.health();
    assert_eq!((&health["browser_ready"], &health["browser_active"]), (&json!(true), &json!(true)));
    runtime.exec("snapshot").ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_a_page_keeps_survives_a_restart_of_the_runtime() {
    world::require_test_network();
    let read = |runtime: &Runtime, name: &str| {
        runtime.exec(&format!("open http://{SHOP}/remember?{name}")).ok();
        runtime.exec("snapshot").ok().data()["snapshot"].as_str().unwrap().to_owned()
    };
    let mut runtime = Setup::real().start();
    // several times, as what is written a moment before the end is lost now and then only
    for name in ["one", "two", "three"] {
        let before = read(&runtime, name);
        assert!(before.contains("cookie none, storage none"), "{before}");
        runtime.exec("click #keep").ok();
        let now = runtime.exec("snapshot").ok().stdout;
        assert!(now.contains("cookie kept, storage kept"), "{now}");
        assert!(runtime.mount().join(".browser/profile").is_dir());

        runtime = runtime.again();
        let after = read(&runtime, name);
        assert!(after.contains("cookie kept, storage kept"), "{name}: {after}");
    }

    // the control: another workspace knows nothing
    drop(runtime);
    let other = Setup::real().start();
    let fresh = read(&other, "one");
    assert!(fresh.contains("cookie none, storage none"), "{fresh}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_real_browser_shows_no_file_and_writes_no_picture_outside() {
    world::require_test_network();
    let runtime = Setup::real().start();
    for url in ["file:///etc/hostname", "view-source:file:///etc/hostname", "chrome://version"] {
        runtime.exec(&format!("open {url}")).fails_with(77);
    }
    runtime.exec(&format!("--session other open http://{SHOP}/")).fails_with(64);
    let outside = runtime.below("outside.png");
    runtime.exec(&format!("screenshot {}", outside.display())).fails_with(64);
    assert!(!outside.exists());
    runtime.exec(&format!("open http://{SHOP}/")).ok();
    assert!(runtime.exec("snapshot").ok().stdout.contains("Save"));
    runtime.exec("screenshot /workspace/shot.png").ok();
    assert!(fs::read(runtime.mount().join("shot.png")).unwrap().starts_with(b"\x89PNG"));
}
