//! Shared mode: one external browser, a session for each sandbox, and a folder for each cargo.

use std::{fs, os::unix::fs::symlink, thread};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    super::harness::processes::{is_alive, wait_for},
    client::ExecOutcome,
    server::{Runtime, Setup},
};

/// Starts a runtime with the folders of two cargos.
fn two_cargos() -> Runtime {
    let setup = Setup::shared();
    for cargo in ["bay-cargo-A", "bay-cargo-B"] {
        fs::create_dir(setup.folder().join("cargos").join(cargo)).unwrap();
    }
    setup.start()
}

fn exec(runtime: &Runtime, sandbox: &str, cargo: Value, cmd: &str) -> ExecOutcome {
    runtime.exec_with(&json!({"cmd": cmd, "sandbox_id": sandbox, "cargo_id": cargo}))
}

#[test]
fn shared_tenancy_requires_tenant_in_request() {
    let runtime = two_cargos();
    for (path, body) in [("/exec", json!({"cmd": "snapshot"})), ("/exec_batch", json!({"commands": ["snapshot"]}))] {
        for missing in [body.clone(), {
            let mut body = body.clone();
            body["sandbox_id"] = Value::Null;
            body
        }] {
            let detail = runtime.post(path, &missing).expect_status(422).json()["detail"].clone();
            assert_eq!((&detail[0]["type"], &detail[0]["loc"]), (&json!("missing"), &json!(["body", "sandbox_id"])));
        }
        let mut whose = body;
        whose["sandbox_id"] = json!("one");
        runtime.post(path, &whose).expect_status(200);
    }
}

#[test]
fn each_tenant_is_its_own_session() {
    let runtime = two_cargos();
    let session =
        |sandbox: &str| exec(&runtime, sandbox, Value::Null, "click #fake-echo").ok().data()["argv"][1].clone();
    let (one, two) = (session("one"), session("two"));
    assert_ne!(one, two);
    assert_eq!(session("one"), one);
    // Calls of different sandboxes run in parallel, those of one sandbox one after another.
    let meeting = TempDir::new().unwrap();
    let order = format!("click #fake-meet-2-{}", meeting.path().display());
    let met: Vec<_> = thread::scope(|scope| {
        let calls =
            ["one", "two"].map(|sandbox| scope.spawn(|| exec(&runtime, sandbox, Value::Null, &order).ok().data()));
        calls.into_iter().map(|call| call.join().unwrap()["met"].clone()).collect()
    });
    assert_eq!(met, [json!(true), json!(true)]);
    let order = format!("click #fake-alone-{}", meeting.path().display());
    thread::scope(|scope| {
        let calls: Vec<_> =
            (0..4).map(|_| scope.spawn(|| exec(&runtime, "one", Value::Null, &order).ok().data())).collect();
        for call in calls {
            assert_eq!(call.join().unwrap()["alone"], json!(true));
        }
    });
}

#[test]
fn deleting_session_ends_only_its_processes() {
    let runtime = two_cargos();
    for sandbox in ["one", "two"] {
        exec(&runtime, sandbox, Value::Null, "click #fake-daemon").ok();
    }
    // Each daemon starts as a shell.
    let daemons = wait_for("both daemons", || {
        let started = runtime.started().into_iter();
        let daemons: Vec<_> = started.filter(|process| process.command.starts_with("sleep ")).collect();
        (daemons.len() == 2).then_some(daemons)
    });
    assert_eq!(
        runtime.delete("/sessions/one").expect_status(200).json(),
        json!({"sandbox_id": "one", "destroyed": true})
    );
    let left = daemons.iter().filter(|daemon| is_alive(daemon)).count();
    assert_eq!(left, 1, "the session must be gone when the reply arrives");
    exec(&runtime, "one", Value::Null, "snapshot").ok();
}

#[test]
fn files_go_to_cargo_named_in_request() {
    let runtime = two_cargos();
    let cargos = runtime.below("cargos");
    let answer = exec(&runtime, "one", json!("A"), "screenshot /workspace/shots/a.png").ok();
    assert_eq!(answer.data()["path"], json!("/workspace/shots/a.png"));
    assert!(fs::read(cargos.join("bay-cargo-A/shots/a.png")).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(fs::read_dir(cargos.join("bay-cargo-B")).unwrap().count(), 0);
    exec(&runtime, "two", json!("B"), "screenshot shots/a.png").ok();
    assert!(cargos.join("bay-cargo-B/shots/a.png").exists());
    // Without a cargo, a command with a file fails. A command without a file needs no cargo.
    exec(&runtime, "one", Value::Null, "screenshot a.png").fails_with(64);
    exec(&runtime, "one", Value::Null, "snapshot").ok();
    // A missing cargo is not created.
    let answer = exec(&runtime, "one", json!("C"), "screenshot a.png");
    assert_ne!(answer.code, 0, "{answer:?}");
    assert_eq!(fs::read_dir(&cargos).unwrap().count(), 2);
}

#[test]
fn cargo_cannot_reach_another_cargo() {
    let runtime = two_cargos();
    let cargos = runtime.below("cargos");
    fs::write(cargos.join("bay-cargo-B/own.png"), "B's own").unwrap();
    symlink("../bay-cargo-B", cargos.join("bay-cargo-A/relative")).unwrap();
    symlink(cargos.join("bay-cargo-B"), cargos.join("bay-cargo-A/absolute")).unwrap();
    symlink("../bay-cargo-B/own.png", cargos.join("bay-cargo-A/file.png")).unwrap();
    for path in [
        "/workspace/../bay-cargo-B/x.png",
        "/workspace/../bay-cargo-B/own.png",
        "../bay-cargo-B/x.png",
        "/cargos/bay-cargo-B/x.png",
        "/workspace/relative/x.png",
        "/workspace/absolute/own.png",
        "/workspace/a/../../bay-cargo-B/own.png",
    ] {
        let answer = exec(&runtime, "one", json!("A"), &format!("screenshot {path}"));
        assert_ne!(answer.code, 0, "{path}: {answer:?}");
    }
    for cargo in ["../bay-cargo-B", "A/../bay-cargo-B", "A/..", "."] {
        runtime
            .post("/exec", &json!({"cmd": "screenshot x.png", "sandbox_id": "one", "cargo_id": cargo}))
            .expect_status(422);
    }
    // A link may be replaced, but its target is not written.
    exec(&runtime, "one", json!("A"), "screenshot /workspace/file.png");
    assert_eq!(fs::read_to_string(cargos.join("bay-cargo-B/own.png")).unwrap(), "B's own");
    assert_eq!(fs::read_dir(cargos.join("bay-cargo-B")).unwrap().count(), 1);
    // Control: the same names in the own cargo.
    exec(&runtime, "two", json!("B"), "screenshot /workspace/x.png").ok();
}

#[test]
fn shared_runtime_is_unhealthy_without_browser() {
    let mut runtime = two_cargos();
    runtime.end_browser();
    let (status, health) = wait_for("an unhealthy status", || {
        let (status, health) = runtime.health();
        (status != 200).then_some((status, health))
    });
    assert_eq!((status, &health["status"], &health["browser_ready"]), (503, &json!("unhealthy"), &json!(false)));
    exec(&runtime, "one", Value::Null, "click #fake-cdp-down").fails_with(69);
    runtime.start_browser();
    runtime.wait_until_healthy();
    exec(&runtime, "one", Value::Null, "snapshot").ok();
}
