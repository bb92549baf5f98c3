//! Known defects of the runtime that this one replaces. Each test shows that the defect is absent here, and as a
//! control that the same request succeeds without the attack. `files` and `shared` have more tests of paths and
//! links.

use std::fs;

use serde_json::json;

use super::{
    super::{
        e2e::{hosts::SHOP, test_env},
        harness::processes::wait_for,
    },
    client::SESSION,
    contract::members,
    server::{Runtime, Setup},
};

#[test]
fn unclosed_quote_is_refusal_not_server_error() {
    let runtime = Setup::stand_in().start();
    for cmd in ["fill #a \"x", "fill #a 'x", "fill #a x\\", "\"", "'"] {
        // `exec` fails on any status other than 200.
        let answer = runtime.exec(cmd).fails_with(64);
        assert_eq!(answer.stdout, "", "{cmd}");
    }
    let batch =
        runtime.batch(&json!({"commands": ["fill #a \"x", "snapshot"], "stop_on_error": false, "sandbox_id": SESSION}));
    assert_eq!((&batch["results"][0]["exit_code"], &batch["results"][1]["exit_code"]), (&json!(64), &json!(0)));
    runtime.exec("fill #a \"x\"").ok();
}

#[test]
fn flag_in_command_cannot_change_session_or_browser() {
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
fn local_files_cannot_be_opened_as_pages() {
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
fn screenshot_cannot_be_written_outside_workspace() {
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
fn missing_workspace_is_not_reported_as_missing_program() {
    let runtime = Setup::stand_in().start();
    let away = runtime.below("away");
    fs::rename(runtime.mount(), &away).unwrap();
    let answer = runtime.exec("screenshot a.png").fails_with(69);
    assert!(answer.stderr.contains("workspace") && !answer.stderr.contains("not found"), "{answer:?}");
    fs::rename(&away, runtime.mount()).unwrap();
    runtime.exec("screenshot a.png").ok();
}

#[test]
fn empty_command_is_refused_without_help_text() {
    let runtime = Setup::stand_in().start();
    for cmd in ["", " ", "\t\n", "''", "\"\""] {
        let answer = runtime.exec(cmd).fails_with(64);
        assert_eq!(answer.stdout, "", "{cmd:?}");
    }
    runtime.exec("snapshot").ok();
}

#[test]
fn runtime_is_unhealthy_until_browser_is_ready() {
    let setup = Setup::stand_in();
    fs::write(setup.folder().join("browser-program/control/hold"), "").unwrap();
    let runtime = setup.start_unready();
    wait_for("the browser's start", || (runtime.starts() > 0).then_some(()));
    let (status, health) = runtime.health();
    assert_eq!((status, &health["status"], &health["browser_ready"]), (503, &json!("degraded"), &json!(false)));
    assert_eq!(members(&health), ["browser_active", "browser_ready", "session", "status", "version"]);
    // Everything else is already available.
    runtime.get("/meta").expect_status(200);
    runtime.set_control_file("hold", false);
    runtime.wait_until_healthy();
    let (_, health) = runtime.health();
    assert_eq!((&health["browser_ready"], &health["browser_active"]), (&json!(true), &json!(true)));
    runtime.exec("snapshot").ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn browser_profile_survives_runtime_restart() {
    test_env::require_test_network();
    let read = |runtime: &Runtime, name: &str| {
        runtime.exec(&format!("open http://{SHOP}/remember?{name}")).ok();
        runtime.exec("snapshot").ok().data()["snapshot"].as_str().unwrap().to_owned()
    };
    let mut runtime = Setup::real().start();
    // Repeated, because data written just before shutdown is lost only now and then.
    for name in ["one", "two", "three"] {
        let before = read(&runtime, name);
        assert!(before.contains("cookie none, storage none"), "{before}");
        runtime.exec("click #keep").ok();
        let now = runtime.exec("snapshot").ok().stdout;
        assert!(now.contains("cookie kept, storage kept"), "{now}");
        assert!(runtime.mount().join(".browser/profile").is_dir());

        runtime = runtime.restart();
        let after = read(&runtime, name);
        assert!(after.contains("cookie kept, storage kept"), "{name}: {after}");
    }

    // Control: another workspace has none of this data.
    drop(runtime);
    let other = Setup::real().start();
    let fresh = read(&other, "one");
    assert!(fresh.contains("cookie none, storage none"), "{fresh}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn real_browser_shows_no_local_file_and_writes_none_outside() {
    test_env::require_test_network();
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
