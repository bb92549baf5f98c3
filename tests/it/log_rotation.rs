//! Rotation of the audit log: SIGHUP makes a server open its file again, and ends no server.
//!
//! Requirement 1.14.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Resource, Rlimit, Signal, getpgid, prlimit};
use serde_json::json;

use super::egress::guard::EgressGuard;
use super::harness::processes::{self, wait_for};
use super::harness::server::stand_in_env;
use super::runtime::server::Setup;
use super::serve::server::{Server, stand_in_settings};

/// Returns the number of lines of a file.
fn lines(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

fn wait_for_lines(file: &Path, count: usize) {
    wait_for(&format!("{count} lines in {}", file.display()), || (lines(file) >= count).then_some(()));
}

/// Rotates the audit file of a server twice, as programs that rotate logs do. `act` makes one line. Fails if one is lost.
fn rotate_twice(folder: &Path, server: i32, act: impl Fn()) {
    let file = folder.join("audit.jsonl");
    for name in ["audit.jsonl.1", "audit.jsonl.2"] {
        let old = folder.join(name);
        act();
        wait_for_lines(&file, 1);
        fs::rename(&file, &old).unwrap();
        assert!(!file.exists(), "control");
        processes::signal(server, Signal::HUP);
        wait_for("the new file", || file.exists().then_some(()));
        act();
        wait_for_lines(&file, 1);
        assert_eq!((lines(&file), lines(&old)), (1, 1), "{name}");
        fs::remove_file(&file).unwrap();
        act();
        wait_for_lines(&file, 1);
        fs::remove_file(&file).unwrap();
        processes::signal(server, Signal::HUP);
        wait_for("an empty file", || file.exists().then_some(()));
    }
}

/// Fails if a child of the server would get the signals that a terminal sends to the server's process group.
fn assert_children_have_other_groups(server: i32) {
    let group = |id: i32| getpgid(Pid::from_raw(id)).unwrap();
    let children = processes::children_of(server);
    assert!(!children.is_empty(), "control: the server must have children");
    for child in children {
        assert_ne!(group(child.id), group(server), "{child:?}");
    }
}

#[test]
fn http_server_opens_its_audit_file_again_on_hangup() {
    let server = stand_in_env().serve_http();
    let env = server.env();
    rotate_twice(Path::new(env.folder()), server.id(), || {
        assert!(env.run(&["call", "--server", &server.url(), "--", "snapshot"]).status.success());
    });
    assert_children_have_other_groups(server.id());
}

#[test]
fn serve_opens_its_audit_file_again_on_hangup() {
    let server = Server::start(stand_in_settings());
    let id = i32::try_from(server.id()).unwrap();
    let call = || assert_eq!(server.call("s", &["open", "about:blank"]).0, 0);
    call();
    let children = processes::children_of(id);
    let file = Path::new(server.env().folder()).join("audit.jsonl");
    wait_for_lines(&file, 1);
    fs::remove_file(&file).unwrap();
    processes::signal(id, Signal::HUP);
    wait_for("the new file", || file.exists().then_some(()));
    rotate_twice(Path::new(server.env().folder()), id, call);
    assert_eq!(processes::children_of(id), children, "Chromium and the other helpers still run");
    assert_children_have_other_groups(id);
}

#[test]
fn runtime_opens_its_audit_file_again_on_hangup() {
    let runtime = Setup::stand_in().start();
    rotate_twice(&runtime.folder(), runtime.id(), || {
        runtime.exec("snapshot").ok();
    });
    assert_children_have_other_groups(runtime.id());
}

#[test]
fn guard_opens_its_audit_file_again_on_hangup() {
    let guard = EgressGuard::start(&json!({}));
    rotate_twice(guard.folder(), i32::try_from(guard.id()).unwrap(), || {
        assert_eq!(guard.connect_code("10.0.0.1:443"), "address-not-public");
    });
}

#[test]
fn audit_lines_go_to_the_old_file_if_there_can_be_no_new_one() {
    let guard = EgressGuard::start(&json!({}));
    let id = i32::try_from(guard.id()).unwrap();
    let (file, old) = (guard.folder().join("audit.jsonl"), guard.folder().join("audit.jsonl.1"));
    let connect = || assert_eq!(guard.connect_code("10.0.0.1:443"), "address-not-public");
    fs::rename(&file, &old).unwrap();
    fs::create_dir(&file).unwrap();
    processes::signal(id, Signal::HUP);
    let line = guard.log_line("cannot open the audit file again");
    assert!(line.contains("ERROR") && line.contains(file.to_str().unwrap()), "{line}");
    connect();
    wait_for_lines(&old, 1);
    fs::remove_dir(&file).unwrap();
    processes::signal(id, Signal::HUP);
    guard.log_line("the audit file was opened again");
    connect();
    wait_for_lines(&file, 1);
    assert_eq!(lines(&old), 1);
}

#[test]
fn full_disk_leaves_no_part_of_an_audit_line() {
    let guard = EgressGuard::start_with_failing_writes(&json!({}));
    let file = guard.folder().join("audit.jsonl");
    let connect = || assert_eq!(guard.connect_code("10.0.0.1:443"), "address-not-public");
    let limit = |current: Option<u64>| {
        let id = Pid::from_raw(i32::try_from(guard.id()).unwrap());
        prlimit(id, Resource::Fsize, Rlimit { current, maximum: None }).unwrap();
    };
    connect();
    wait_for_lines(&file, 1);
    let length = fs::metadata(&file).unwrap().len();
    limit(Some(length + 50));
    connect();
    let line = guard.log_line("cannot write an audit line");
    assert!(line.contains("lost=1") && line.contains("room for a part of the line"), "control: {line}");
    assert_eq!(fs::metadata(&file).unwrap().len(), length);
    limit(None);
    connect();
    guard.log_line("audit lines are written again");
    assert_eq!(guard.audit().len(), 2, "each is JSON");
}

#[test]
fn hangup_is_harmless_if_the_audit_log_is_standard_error() {
    let mut guard = EgressGuard::start_with_audit_on_stderr(&json!({}));
    processes::signal(i32::try_from(guard.id()).unwrap(), Signal::HUP);
    guard.log_line("there is no file to open again");
    guard.connect_code("10.0.0.1:443");
    guard.log_line("\"address-not-public\"");
    assert!(guard.end().success());
}
