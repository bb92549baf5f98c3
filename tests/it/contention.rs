//! Two servers with the same folders, and calls that give up (spec [1.10], [1.11]). No server touches a session of
//! another one, and a call that never ran does not count as a session.

use super::harness::processes::{self, wait_for};
use super::harness::server::{Server, stand_in_env};

/// Returns the daemons of all sessions, without servers and calls.
fn daemons(server: &Server) -> Vec<processes::Process> {
    let mut found = server.processes();
    found.retain(|process| process.command.contains("sleep") && !process.command.contains("agent-browser"));
    found
}

/// Opens a session with a daemon and a folder.
fn open_session_with_daemon(server: &Server, session: &str) {
    server.call(session, &["click", "#fake-daemon"]).ok();
    server.call(session, &["screenshot", "a.png"]).ok();
    assert!(!daemons(server).is_empty(), "control: the daemon must run");
}

/// Waits until a server has closed an idle session that starts now, so that it has checked all sessions for idleness.
fn wait_for_idle_check(server: &Server) {
    server.call("idle-check", &["screenshot", "a.png"]).ok();
    let folder = server.env().workspace().join("idle-check");
    wait_for("the end of the idle session", || (!folder.exists()).then_some(()));
}

// Requirement 1.11.
#[test]
fn timed_out_waiting_call_closes_no_session_of_another_server() {
    let owner = stand_in_env().serve();
    open_session_with_daemon(&owner, "s");
    let other = owner.env().shared().with("BROWSER_SHELL_IDLE_SEC", "1").serve();
    let busy = other.call_within(1, "s", &["snapshot"]).fails_with(75);
    assert!(busy.stderr.contains("session-in-use"), "{}", busy.stderr);
    let cancelled = other.begin("s", &["snapshot"], None);
    other.cancel(&cancelled);
    let before = daemons(&owner);
    wait_for_idle_check(&other);
    assert_eq!(daemons(&owner), before);
    assert!(owner.env().workspace().join("s").exists());
    owner.call("s", &["snapshot"]).ok();
}

// Requirement 1.11.
#[test]
fn waiting_call_closes_no_session_of_another_server() {
    let owner = stand_in_env().serve();
    open_session_with_daemon(&owner, "s");
    let other = owner.env().shared().with("BROWSER_SHELL_IDLE_SEC", "1").serve();
    let waiting = other.begin("s", &["snapshot"], Some(120));
    let before = daemons(&owner);
    wait_for_idle_check(&other);
    assert_eq!(daemons(&owner), before);
    owner.call("s", &["close"]).ok();
    waiting.answer().ok();
}

// Requirement 1.11.
#[test]
fn timed_out_waiting_calls_do_not_count_as_sessions() {
    let owner = stand_in_env().serve();
    let sessions = ["s1", "s2", "s3"];
    for session in sessions {
        owner.call(session, &["snapshot"]).ok();
    }
    let other = owner.env().shared().with("BROWSER_SHELL_MAX_SESSIONS", "2").serve();
    for session in sessions {
        let busy = other.call_within(1, session, &["snapshot"]).fails_with(75);
        assert!(busy.stderr.contains("session-in-use"), "{}", busy.stderr);
    }
    other.call("own1", &["snapshot"]).ok();
    other.call("own2", &["snapshot"]).ok();
    let full = other.call("own3", &["snapshot"]).fails_with(75);
    assert!(full.stderr.contains("too-many-sessions"), "control: {}", full.stderr);
}

// Requirement 1.10.
#[test]
fn reaper_of_killed_server_spares_next_server() {
    let mut first = stand_in_env().serve();
    open_session_with_daemon(&first, "s");
    let second = first.env().shared().serve();
    let waiting = second.begin("s", &["click", "#fake-daemon"], Some(60));
    // Returns when the first server's reaper has ended too.
    first.kill();
    waiting.answer().ok();
    assert!(!daemons(&second).is_empty());
    second.call("s", &["screenshot", "b.png"]).ok();
    assert!(second.env().workspace().join("s").join("b.png").exists());
    second.call("s", &["close"]).ok();
    wait_for("the end of the daemons", || daemons(&second).is_empty().then_some(()));
}

#[test]
fn closed_sessions_leave_no_files() {
    let server = stand_in_env().serve();
    let run = server.env().workspace().with_file_name("run");
    let files = || std::fs::read_dir(run.join("k")).unwrap().chain(std::fs::read_dir(run.join("s")).unwrap()).count();
    for session in ["s1", "s2"] {
        open_session_with_daemon(&server, session);
    }
    assert!(files() >= 4, "control: folders and locks must exist");
    for session in ["s1", "s2"] {
        server.call(session, &["close"]).ok();
    }
    assert_eq!(files(), 0);
}
