//! Failures of a page, a client, the server or the browser. Afterwards the session must be usable, and no process may
//! be left.

use std::collections::BTreeSet;
use std::process::Command;

use super::{
    chromium::Chromium,
    hosts::SHOP,
    processes,
    server::{PendingCall, Server},
    test_env::{self, Browser},
};

fn shop() -> String {
    format!("http://{SHOP}/")
}

/// Returns the connections to the daemons of a server's sessions, by inode.
fn connections(server: &Server) -> BTreeSet<String> {
    let folder = server.env().folder();
    let table = std::fs::read_to_string("/proc/net/unix").unwrap();
    let of_ours = table.lines().filter(|line| line.contains(folder));
    let fields = of_ours.map(|line| line.split_whitespace().collect::<Vec<_>>());
    // 03 is the state CONNECTED.
    fields.filter(|fields| fields[5] == "03").map(|fields| fields[6].to_owned()).collect()
}

/// Starts a call and waits until the session's daemon has received it.
fn begin_and_wait_for_daemon(server: &Server, argv: &[&str]) -> PendingCall {
    let before = connections(server);
    let call = server.begin("s", argv, None);
    processes::wait_for("a request to the daemon", || connections(server).difference(&before).next().map(drop));
    call
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn unresponsive_page_exits_124_and_leaves_no_process() {
    let browser = Browser::lock();
    let server = test_env::default_env().serve();
    server.call("s", &["open", &shop()]).ok();
    assert!(!server.processes().is_empty(), "an open session must have processes");

    // Long enough for a busy machine to send the request.
    server.call_within(8, "s", &["open", &format!("http://{SHOP}/never")]).fails_with(124);
    assert_eq!(test_env::hosts().paths_of(SHOP).last().unwrap(), "/never", "the page must have been requested");
    assert_eq!(server.processes(), [], "no process of the session may run after the reply");

    server.call("s", &["open", &shop()]).ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));
    assert_eq!(browser.address(), shop());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn click_to_unresponsive_page_does_not_block_other_sessions() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve();
    server.call("first", &["open", &format!("http://{SHOP}/go?/never")]).ok();
    // Another request can follow it.
    let requests = || test_env::hosts().paths_of(SHOP).iter().filter(|path| *path == "/never").count();
    let before = requests();
    // The click has finished, but the navigation has not.
    let click = server.call("first", &["click", "#go"]);
    processes::wait_for(&format!("the request for the page that never answers after {click:?}"), || {
        (requests() > before).then_some(())
    });
    // A new session connects to the browser while its tab is still loading.
    server.call("second", &["open", &shop()]).ok();
    assert!(server.call("second", &["snapshot"]).ok().page().contains("nothing saved"));
    server.call("first", &["snapshot"]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn long_wait_exits_124_in_new_session_too() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve();
    // Time enough for a daemon to start on a busy machine: one that is still starting is left to the next call.
    server.call_within(15, "new", &["wait", "24000"]).fails_with(124);
    assert_eq!(server.processes(), []);
    server.call("new", &["open", &shop()]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn stale_reference_is_reported_as_error() {
    let _browser = Browser::lock();
    let server = test_env::default_env().with_short_action_timeout().serve();
    let call = |argv: &[&str]| server.call("s", argv);
    call(&["open", &format!("http://{SHOP}/stale")]).ok();
    let seen = call(&["snapshot", "-i"]).ok();
    let gone = seen.reference("button", "Vanish");
    let stays = seen.reference("button", "Stay");
    call(&["click", &gone]).ok();

    let failure = call(&["click", &gone]);
    assert!(![0, 64, 77].contains(&failure.code), "{failure:?}");
    assert!(!failure.stderr.is_empty(), "{failure:?}");
    // A reference that no snapshot returned.
    let failure = call(&["click", "@e999"]);
    assert!(![0, 64, 77].contains(&failure.code), "{failure:?}");

    call(&["click", &stays]).ok();
    assert!(call(&["snapshot"]).ok().page().contains("stayed 1"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cancelled_call_leaves_no_process_and_session_usable() {
    let browser = Browser::lock();
    let server = test_env::default_env().serve();
    server.call("s", &["open", &shop()]).ok();
    let call = begin_and_wait_for_daemon(&server, &["wait", "20000"]);
    assert!(!call.is_answered());

    server.cancel(&call);
    processes::wait_for("the end of everything the call started", || server.processes().is_empty().then_some(()));
    assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));
    assert_eq!(browser.address(), shop());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn call_cancelled_while_waiting_never_runs() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve();
    let never_run = || test_env::hosts().paths_of(SHOP).iter().any(|path| path == "/hello?never-run");
    let first = server.begin("s", &["open", &format!("http://{SHOP}/held?before")], None);
    test_env::hosts().wait_until_asked("before");
    let second = server.begin("s", &["open", &format!("http://{SHOP}/hello?never-run")], None);
    let third = server.begin("s", &["snapshot"], None);
    server.cancel(&second);
    test_env::hosts().release("before");
    first.answer().ok();
    let page = third.answer().ok().page();
    assert!(page.contains("This is /held"), "{page}");
    assert!(!never_run(), "the cancelled call ran");

    server.call("s", &["open", &format!("http://{SHOP}/hello?never-run")]).ok();
    assert!(never_run(), "control: the host sees the page of a call that runs");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn server_killed_during_call_leaves_no_orphan() {
    let browser = Browser::lock();
    let mut server = test_env::default_env().serve();
    server.call("s", &["open", &shop()]).ok();
    server.call("idle", &["snapshot"]).ok();
    let _call = begin_and_wait_for_daemon(&server, &["wait", "20000"]);

    server.kill();
    // The idle timeout is much longer than this test waits, so the reaper must act.
    processes::wait_for("the end of all orphans", || server.env().processes(None).is_empty().then_some(()));
    assert_eq!(browser.address(), shop(), "Chromium must keep running");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn killed_server_restarts_on_same_folders() {
    let _browser = Browser::lock();
    let mut server = test_env::default_env().serve();
    server.call("s", &["open", &shop()]).ok();
    server.kill();
    // The old daemon may still run. The new server must cope with it.
    let again = server.env().run(&["call", "--session", "s", "--", "open", &shop()]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
    processes::kill(&server.env().processes(None));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn client_disconnect_during_call_ends_everything() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve();
    server.call("s", &["open", &shop()]).ok();
    let _call = begin_and_wait_for_daemon(&server, &["wait", "20000"]);
    // Dropping the server closes its input, and fails the test if a process is left.
    drop(server);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn calls_exit_69_until_chromium_is_back() {
    test_env::hosts();
    // Not the shared browser, which other tests use.
    let port = 9333;
    let server = test_env::default_env().with("BROWSER_SHELL_CDP_PORT", port.to_string()).serve();
    let open = || server.call("s", &["open", &shop()]);

    for _ in 0..2 {
        let failure = open().fails_with(69);
        assert!(failure.stderr.contains("9333"), "the error must name the port: {failure:?}");
    }
    let chromium = Chromium::start(port);
    open().ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));

    drop(chromium);
    open().fails_with(69);
    let _chromium = Chromium::start(port);
    open().ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn calls_without_agent_browser_exit_69() {
    test_env::require_test_network();
    let server = test_env::default_env().with("BROWSER_SHELL_AGENT_BROWSER", "/nowhere/agent-browser").serve();
    server.call("s", &["snapshot"]).fails_with(69);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn idle_session_is_closed_and_reopens_on_demand() {
    let _browser = Browser::lock();
    let server = test_env::default_env().with("BROWSER_SHELL_IDLE_SEC", "2").serve();
    let path = {
        server.call("s", &["open", &shop()]).ok();
        let answer = server.call("s", &["screenshot", "a.png"]).ok();
        answer.data()["path"].as_str().unwrap().to_owned()
    };
    processes::wait_for("the end of the idle session's processes and files", || {
        (server.processes().is_empty() && !std::fs::exists(&path).unwrap()).then_some(())
    });
    assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn test_network_reaches_no_other_machine() {
    test_env::require_test_network();
    // All other tests depend on this: no route to other machines, in either family.
    let routes = Command::new("ip").args(["route", "show", "default"]).output().unwrap();
    assert!(routes.status.success() && routes.stdout.is_empty(), "{routes:?}");
    for far in ["192.88.98.1:80", "[2620:fe::9]:53"] {
        let error = std::net::TcpStream::connect(far).expect_err("no route");
        assert_eq!(error.kind(), std::io::ErrorKind::NetworkUnreachable, "{far}: {error}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_with_endless_script_does_not_block_other_sessions() {
    let browser = Browser::lock();
    let server = test_env::default_env().serve();
    server.call("first", &["open", &format!("http://{SHOP}/busy")]).ok();
    // The script blocks the page's only thread, so no new daemon can connect to the tab.
    server.call_within(3, "first", &["click", "#work"]).fails_with(124);
    assert_eq!(server.processes(), []);

    server.call("second", &["open", &shop()]).ok();
    server.call("first", &["open", &shop()]).ok();
    assert!(server.call("first", &["snapshot"]).ok().page().contains("nothing saved"));
    assert_eq!(browser.address(), shop());
}
