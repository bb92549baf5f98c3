//! What is left when something ends in the middle of a call: nothing (spec [1.10]).
//!
//! `endings` has the same for sessions that are at rest.

use std::process::Stdio;

use rustix::process::Signal;

use super::harness::processes::{self, until};
use super::harness::server::{Server, home};

/// A server with one call under way that does not end by itself and ignores TERM.
fn with_stubborn_call() -> Server {
    let server = home().serve();
    drop(server.begin("s", &["click", "#fake-ignore-term"], Some(120)));
    until("the call", || server.processes().iter().any(|process| process.command.starts_with("sleep")).then_some(()));
    server
}

#[test]
fn spec_1_10_a_server_that_is_told_to_end_does_not_wait_for_a_call() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let server = with_stubborn_call();
        processes::signal(server.id(), signal);
        until("the end of the call", || server.processes().is_empty().then_some(()));
        // dropping waits for the server, and fails if any process of its home is left
        drop(server);
    }
}

#[test]
fn spec_1_10_a_client_that_goes_away_takes_its_call_along() {
    drop(with_stubborn_call());
}

#[test]
fn spec_1_10_an_interrupted_call_from_the_shell_ends_what_it_started() {
    let home = home();
    let mut call = home
        .command(&["call", "--session", "s", "--", "click", "#fake-ignore-term"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = i32::try_from(call.id()).unwrap();
    let started = || home.processes(Some(id)).iter().any(|process| process.command.starts_with("sleep"));
    until("the call", || started().then_some(()));
    processes::signal(id, Signal::INT);
    assert_eq!(call.wait().unwrap().code(), Some(130));
    assert_eq!(home.processes(None), []);
    let run = home.run(&["call", "--session", "s", "--", "snapshot"]);
    assert!(run.status.success(), "control: the session can be used: {run:?}");
}

#[test]
fn a_daemon_that_holds_the_streams_holds_neither_the_answer_nor_the_session() {
    let server = home().serve();
    assert!(server.call("s", &["click", "#fake-daemon-pipe"]).ok().data()["daemon"].is_u64());
    assert!(!server.processes().is_empty(), "control: the daemon lives on after its answer");
    server.call("s", &["snapshot"]).ok();
    server.call("s", &["close"]).ok();
    assert_eq!(server.processes(), []);
}
