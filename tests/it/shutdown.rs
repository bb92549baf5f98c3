//! Shutdown (spec [1.10], [1.11]): no process or file is left when a call, a session or a server ends.

use rustix::process::Signal;

use super::harness::processes::{self, wait_for};
use super::harness::server::{Server, stand_in_env};

/// Waits until no process of a session is left.
fn wait_until_no_process(server: &Server) {
    wait_for("the end of the sessions' processes", || session_processes(server).is_empty().then_some(()));
}

/// Returns the processes of the sessions. The reaper is not included.
fn session_processes(server: &Server) -> Vec<processes::Process> {
    server.processes()
}

/// Starts a session with a detached process, like agent-browser's daemon.
fn with_daemon(server: &Server, session: &str, kind: &str) {
    server.call(session, &["click", &format!("#fake-{kind}")]).ok();
    assert!(!session_processes(server).is_empty(), "control: the daemon must run");
}

// Requirement 1.10.
#[test]
fn timeout_ends_every_process_of_call() {
    let server = stand_in_env().serve();
    for order in ["ignore-term", "child", "sleep-600000"] {
        with_daemon(&server, "s", "daemon-stubborn");
        let answer = server.call_within(1, "s", &["click", &format!("#fake-{order}")]);
        answer.fails_with(124);
        // They would run for ten minutes. On a busy machine a process that was killed is there for some seconds.
        wait_until_no_process(&server);
        server.call("s", &["snapshot"]).ok();
    }
}

// Requirement 1.10.
#[test]
fn cancelled_call_ends_every_process_it_started() {
    let server = stand_in_env().serve();
    let call = server.begin("s", &["click", "#fake-ignore-term"], None);
    wait_for("the call", || (!session_processes(&server).is_empty()).then_some(()));
    server.cancel(&call);
    wait_until_no_process(&server);
    server.call("s", &["snapshot"]).ok();
    assert!(server.env().audit().contains("\"cancelled\""));
}

// Requirement 1.11.
#[test]
fn close_ends_daemon_and_removes_session_folder() {
    let server = stand_in_env().serve();
    with_daemon(&server, "s", "daemon-stubborn");
    server.call("s", &["screenshot", "a.png"]).ok();
    let folder = server.env().workspace().join("s");
    assert!(folder.exists(), "control");
    server.call("s", &["close"]).ok();
    assert_eq!(session_processes(&server), []);
    assert!(!folder.exists());
}

// Requirement 1.11.
#[test]
fn idle_session_is_closed_but_busy_session_is_not() {
    let server = stand_in_env().with("BROWSER_SHELL_IDLE_SEC", "1").serve();
    server.call("idle", &["screenshot", "a.png"]).ok();
    with_daemon(&server, "idle", "daemon");
    let busy = server.begin("busy", &["click", "#fake-sleep-4000"], None);
    let folder = server.env().workspace().join("idle");
    wait_for("the end of the idle session", || {
        let daemons = session_processes(&server).iter().any(|process| !process.command.contains("fake-sleep"));
        (!folder.exists() && !daemons).then_some(())
    });
    busy.answer().ok();
    server.call("idle", &["snapshot"]).ok();
}

// Requirement 1.10.
#[test]
fn server_exit_ends_its_sessions() {
    for signal in [Some(Signal::TERM), Some(Signal::INT), Some(Signal::HUP), None] {
        let server = stand_in_env().serve();
        with_daemon(&server, "s", "daemon");
        server.call("s", &["screenshot", "a.png"]).ok();
        let folder = server.env().workspace().join("s");
        assert!(folder.exists(), "control");
        if let Some(signal) = signal {
            processes::signal(server.id(), signal);
            wait_for("the removal of the folder", || (!folder.exists()).then_some(()));
            wait_until_no_process(&server);
        }
        // Without a signal, dropping the server closes its input, and fails if a process is left.
        drop(server);
    }
}

// Requirement 1.10.
#[test]
fn killed_server_leaves_no_orphan() {
    let mut server = stand_in_env().serve();
    with_daemon(&server, "s", "daemon");
    server.call("s", &["screenshot", "a.png"]).ok();
    let running = server.begin("t", &["click", "#fake-sleep-600000"], None);
    wait_for("the running call", || {
        session_processes(&server).iter().any(|process| process.command.contains("600000")).then_some(())
    });
    server.kill();
    drop(running);
    wait_until_no_process(&server);
    let folder = server.env().workspace().join("s");
    wait_for("the removal of the folder", || (!folder.exists()).then_some(()));
}

#[test]
fn killed_reaper_is_replaced() {
    let mut server = stand_in_env().serve();
    server.call("one", &["snapshot"]).ok();
    let reaper = |server: &Server| {
        processes::children_of(server.id()).into_iter().find(|process| process.command.contains(" reaper"))
    };
    let first = reaper(&server).expect("the first session must start a reaper");
    processes::kill(std::slice::from_ref(&first));
    // Its command line is gone before its end of the pipe is closed, and it has ended after that.
    let is_first = |process: &processes::Process| process.id == first.id;
    wait_for("the end of the reaper", || (!processes::children_of(server.id()).iter().any(is_first)).then_some(()));
    with_daemon(&server, "two", "daemon");
    let second = reaper(&server).expect("the next session must start another reaper");
    assert_ne!(first.id, second.id);
    server.kill();
    wait_until_no_process(&server);
}

// Requirement 1.10.
#[test]
fn silent_client_does_not_delay_shutdown() {
    let server = stand_in_env().serve_http();
    let mut half = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    std::io::Write::write_all(&mut half, b"POST /mcp HTTP/1.1\r\nHost: loc").unwrap();
    // Dropping the server sends SIGTERM, waits for its end, and fails if a process is left.
    drop(server);
    drop(half);
}

// Requirement 1.10.
#[test]
fn terminated_cli_call_ends_its_command() {
    let env = stand_in_env();
    for signal in [Signal::TERM, Signal::HUP] {
        let mut call = env
            .command(&["call", "--session", "s", "--", "click", "#fake-ignore-term"])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let id = i32::try_from(call.id()).unwrap();
        wait_for("the command", || (!env.processes(Some(id)).is_empty()).then_some(()));
        processes::signal(id, signal);
        assert_eq!(call.wait().unwrap().code(), Some(130));
        assert_eq!(env.processes(None), []);
    }
}
