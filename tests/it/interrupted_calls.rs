//! Shutdown in the middle of a call (spec [1.10]): no process is left.
//!
//! `shutdown` tests the same for idle sessions.

use std::process::Stdio;

use rustix::process::Signal;

use super::harness::processes::{self, wait_for};
use super::harness::server::{Server, stand_in_env};

/// Starts a server with a call that does not end by itself and ignores SIGTERM.
fn with_stubborn_call() -> Server {
    let server = stand_in_env().serve();
    drop(server.begin("s", &["click", "#fake-ignore-term"], Some(120)));
    wait_for("the call", || {
        server.processes().iter().any(|process| process.command.starts_with("sleep")).then_some(())
    });
    server
}

// Requirement 1.10.
#[test]
fn stdio_shutdown_does_not_wait_for_running_call() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let server = with_stubborn_call();
        processes::signal(server.id(), signal);
        wait_for("the end of the call", || server.processes().is_empty().then_some(()));
        // Dropping the server waits for its end, and fails if a process is left.
        drop(server);
    }
}

// Requirement 1.10.
#[test]
fn client_disconnect_ends_its_call() {
    drop(with_stubborn_call());
}

// Requirement 1.10.
#[test]
fn interrupted_cli_call_ends_its_processes() {
    let env = stand_in_env();
    let mut call = env
        .command(&["call", "--session", "s", "--", "click", "#fake-ignore-term"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = i32::try_from(call.id()).unwrap();
    let started = || env.processes(Some(id)).iter().any(|process| process.command.starts_with("sleep"));
    wait_for("the call", || started().then_some(()));
    processes::signal(id, Signal::INT);
    assert_eq!(call.wait().unwrap().code(), Some(130));
    assert_eq!(env.processes(None), []);
    let run = env.run(&["call", "--session", "s", "--", "snapshot"]);
    assert!(run.status.success(), "control: the session must be usable: {run:?}");
}

#[test]
fn daemon_with_open_streams_blocks_neither_reply_nor_session() {
    let server = stand_in_env().serve();
    assert!(server.call("s", &["click", "#fake-daemon-pipe"]).ok().data()["daemon"].is_u64());
    assert!(!server.processes().is_empty(), "control: the daemon must keep running after the reply");
    server.call("s", &["snapshot"]).ok();
    server.call("s", &["close"]).ok();
    assert_eq!(server.processes(), []);
}
