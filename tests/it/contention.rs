//! Two servers with the same folders, and calls that give up (spec [1.10], [1.11]): nobody's session is touched by anybody else,
//! and who never ran takes no place.

use super::harness::processes::{self, until};
use super::harness::server::{Server, home};

/// The daemons of all sessions of a home; servers and calls are none.
fn daemons(server: &Server) -> Vec<processes::Process> {
    let mut found = server.processes();
    found.retain(|process| process.command.contains("sleep") && !process.command.contains("agent-browser"));
    found
}

/// Opens a session with a daemon and a folder.
fn occupy(server: &Server, session: &str) {
    server.call(session, &["click", "#fake-daemon"]).ok();
    server.call(session, &["screenshot", "a.png"]).ok();
    assert!(!daemons(server).is_empty(), "control: the daemon runs");
}

/// Waits until a server has looked for idle sessions, after now: until it has closed one that begins now.
fn idle_sessions_are_closed(server: &Server) {
    server.call("yardstick", &["screenshot", "a.png"]).ok();
    let folder = server.home().workspace().join("yardstick");
    until("the end of the idle session", || (!folder.exists()).then_some(()));
}

#[test]
fn spec_1_11_a_call_that_gave_up_waiting_closes_nothing_of_another_server() {
    let owner = home().serve();
    occupy(&owner, "s");
    let other = owner.home().shared().with("BROWSER_SHELL_IDLE_SEC", "1").serve();
    let busy = other.call_within(1, "s", &["snapshot"]).fails_with(75);
    assert!(busy.stderr.contains("session-in-use"), "{}", busy.stderr);
    let cancelled = other.begin("s", &["snapshot"], None);
    other.cancel(&cancelled);
    let before = daemons(&owner);
    idle_sessions_are_closed(&other);
    assert_eq!(daemons(&owner), before);
    assert!(owner.home().workspace().join("s").exists());
    owner.call("s", &["snapshot"]).ok();
}

#[test]
fn spec_1_11_nor_does_a_call_that_still_waits() {
    let owner = home().serve();
    occupy(&owner, "s");
    let other = owner.home().shared().with("BROWSER_SHELL_IDLE_SEC", "1").serve();
    let patient = other.begin("s", &["snapshot"], Some(120));
    let before = daemons(&owner);
    idle_sessions_are_closed(&other);
    assert_eq!(daemons(&owner), before);
    owner.call("s", &["close"]).ok();
    patient.answer().ok();
}

#[test]
fn spec_1_11_calls_that_gave_up_take_no_place_among_the_sessions() {
    let owner = home().serve();
    let sessions = ["s1", "s2", "s3"];
    for session in sessions {
        owner.call(session, &["snapshot"]).ok();
    }
    let other = owner.home().shared().with("BROWSER_SHELL_MAX_SESSIONS", "2").serve();
    for session in sessions {
        let busy = other.call_within(1, session, &["snapshot"]).fails_with(75);
        assert!(busy.stderr.contains("session-in-use"), "{}", busy.stderr);
    }
    other.call("own1", &["snapshot"]).ok();
    other.call("own2", &["snapshot"]).ok();
    let full = other.call("own3", &["snapshot"]).fails_with(75);
    assert!(full.stderr.contains("too-many-sessions"), "control: {}", full.stderr);
}

#[test]
fn spec_1_10_a_killed_server_takes_nothing_of_the_one_that_follows_it() {
    let mut first = home().serve();
    occupy(&first, "s");
    let second = first.home().shared().serve();
    let waiting = second.begin("s", &["click", "#fake-daemon"], Some(60));
    // returns when the first server's keeper has ended too
    first.kill();
    waiting.answer().ok();
    assert!(!daemons(&second).is_empty());
    second.call("s", &["screenshot", "b.png"]).ok();
    assert!(second.home().workspace().join("s").join("b.png").exists());
    second.call("s", &["close"]).ok();
    until("the end of the daemons", || daemons(&second).is_empty().then_some(()));
}

#[test]
fn closed_sessions_leave_no_file_behind() {
    let server = home().serve();
    let run = server.home().workspace().with_file_name("run");
    let files = || std::fs::read_dir(run.join("k")).unwrap().chain(std::fs::read_dir(run.join("s")).unwrap()).count();
    for session in ["s1", "s2"] {
        occupy(&server, session);
    }
    assert!(files() >= 4, "control: folders and locks");
    for session in ["s1", "s2"] {
        server.call(session, &["close"]).ok();
    }
    assert_eq!(files(), 0);
}
