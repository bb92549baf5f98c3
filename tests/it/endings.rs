//! What is left when something ends: nothing (spec [1.10], [1.11]).

use rustix::process::Signal;

use super::harness::processes::{self, until};
use super::harness::server::{Server, home};

/// Waits until no process of the sessions is left.
fn nothing_left(server: &Server) {
    until("the end of the sessions' processes", || sessions_of(server).is_empty().then_some(()));
}

/// The processes of the sessions; the keeper is none.
fn sessions_of(server: &Server) -> Vec<processes::Process> {
    server.processes()
}

/// A session with a detached process, as agent-browser's daemon is one.
fn with_daemon(server: &Server, session: &str, kind: &str) {
    server.call(session, &["click", &format!("#fake-{kind}")]).ok();
    assert!(!sessions_of(server).is_empty(), "control: the daemon runs");
}

#[test]
fn spec_1_10_a_timeout_ends_everything_that_the_call_started() {
    let server = home().serve();
    for order in ["ignore-term", "child", "sleep-600000"] {
        with_daemon(&server, "s", "daemon-stubborn");
        let answer = server.call_within(1, "s", &["click", &format!("#fake-{order}")]);
        answer.fails_with(124);
        assert_eq!(sessions_of(&server), [], "{order}");
        server.call("s", &["snapshot"]).ok();
    }
}

#[test]
fn spec_1_10_a_cancelled_call_ends_everything_that_it_started() {
    let server = home().serve();
    let call = server.begin("s", &["click", "#fake-ignore-term"], None);
    until("the call", || (!sessions_of(&server).is_empty()).then_some(()));
    server.cancel(&call);
    nothing_left(&server);
    server.call("s", &["snapshot"]).ok();
    assert!(server.home().audit().contains("\"cancelled\""));
}

#[test]
fn spec_1_11_close_ends_the_daemon_and_removes_the_folder() {
    let server = home().serve();
    with_daemon(&server, "s", "daemon-stubborn");
    server.call("s", &["screenshot", "a.png"]).ok();
    let folder = server.home().workspace().join("s");
    assert!(folder.exists(), "control");
    server.call("s", &["close"]).ok();
    assert_eq!(sessions_of(&server), []);
    assert!(!folder.exists());
}

#[test]
fn spec_1_11_an_idle_session_is_closed_and_a_busy_one_is_not() {
    let server = home().with("BROWSER_SHELL_IDLE_SEC", "1").serve();
    server.call("idle", &["screenshot", "a.png"]).ok();
    with_daemon(&server, "idle", "daemon");
    let busy = server.begin("busy", &["click", "#fake-sleep-4000"], None);
    let folder = server.home().workspace().join("idle");
    until("the end of the idle session", || {
        let daemons = sessions_of(&server).iter().any(|process| !process.command.contains("fake-sleep"));
        (!folder.exists() && !daemons).then_some(())
    });
    busy.answer().ok();
    server.call("idle", &["snapshot"]).ok();
}

#[test]
fn spec_1_10_however_a_server_ends_its_sessions_end_too() {
    for signal in [Some(Signal::TERM), Some(Signal::INT), Some(Signal::HUP), None] {
        let server = home().serve();
        with_daemon(&server, "s", "daemon");
        server.call("s", &["screenshot", "a.png"]).ok();
        let folder = server.home().workspace().join("s");
        assert!(folder.exists(), "control");
        if let Some(signal) = signal {
            processes::signal(server.id(), signal);
            until("the folder's removal", || (!folder.exists()).then_some(()));
            nothing_left(&server);
        }
        // without a signal: dropping closes the input, and fails if any process of the home is left
        drop(server);
    }
}

#[test]
fn spec_1_10_a_killed_server_leaves_no_orphan() {
    let mut server = home().serve();
    with_daemon(&server, "s", "daemon");
    server.call("s", &["screenshot", "a.png"]).ok();
    let running = server.begin("t", &["click", "#fake-sleep-600000"], None);
    until("the running call", || {
        sessions_of(&server).iter().any(|process| process.command.contains("600000")).then_some(())
    });
    server.kill();
    drop(running);
    nothing_left(&server);
    let folder = server.home().workspace().join("s");
    until("the folder's removal", || (!folder.exists()).then_some(()));
}

#[test]
fn a_killed_keeper_is_replaced() {
    let mut server = home().serve();
    server.call("one", &["snapshot"]).ok();
    let keeper = |server: &Server| {
        processes::children_of(server.id()).into_iter().find(|process| process.command.contains(" keeper"))
    };
    let first = keeper(&server).expect("the first session starts a keeper");
    processes::kill(std::slice::from_ref(&first));
    until("the keeper's end", || (!processes::lives(&first)).then_some(()));
    with_daemon(&server, "two", "daemon");
    let second = keeper(&server).expect("the next session starts another");
    assert_ne!(first.id, second.id);
    server.kill();
    nothing_left(&server);
}

#[test]
fn spec_1_10_a_client_that_says_nothing_more_does_not_hold_the_end() {
    let server = home().serve_http();
    let mut half = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    std::io::Write::write_all(&mut half, b"POST /mcp HTTP/1.1\r\nHost: loc").unwrap();
    // dropping sends SIGTERM, waits for the end, and fails if any process is left
    drop(server);
    drop(half);
}

#[test]
fn spec_1_10_a_call_from_the_shell_that_is_told_to_end_takes_its_command_along() {
    let home = home();
    for signal in [Signal::TERM, Signal::HUP] {
        let mut call = home
            .command(&["call", "--session", "s", "--", "click", "#fake-ignore-term"])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let id = i32::try_from(call.id()).unwrap();
        until("the command", || (!home.processes(Some(id)).is_empty()).then_some(()));
        processes::signal(id, signal);
        assert_eq!(call.wait().unwrap().code(), Some(130));
        assert_eq!(home.processes(None), []);
    }
}
