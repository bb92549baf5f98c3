//! When something goes wrong: a page, a client, the server, or the browser.
//! The session must be usable afterwards, and nothing may be left running.

use std::collections::BTreeSet;
use std::process::Command;

use super::{
    chromium::Chromium,
    hosts::SHOP,
    processes,
    server::{Pending, Server},
    world::{self, Browser},
};

/// What is under way is a process of the CLI, or only a request to the daemon.
const WAYS: [&str; 2] = ["cli", "auto"];

fn shop() -> String {
    format!("http://{SHOP}/")
}

/// The connections to the daemons of a server's sessions, as the kernel numbers them.
fn connections(server: &Server) -> BTreeSet<String> {
    let folder = server.home().folder();
    let table = std::fs::read_to_string("/proc/net/unix").unwrap();
    let of_ours = table.lines().filter(|line| line.contains(folder));
    let fields = of_ours.map(|line| line.split_whitespace().collect::<Vec<_>>());
    // the state of a socket that has its other end
    fields.filter(|fields| fields[5] == "03").map(|fields| fields[6].to_owned()).collect()
}

/// Starts a call and waits until the session's daemon is asked for it.
fn begin_for_sure(server: &Server, argv: &[&str]) -> Pending {
    let before = connections(server);
    let call = server.begin("s", argv, None);
    processes::until("a request to the daemon", || connections(server).difference(&before).next().map(drop));
    call
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_page_that_never_answers_ends_with_124_and_nothing_left_running() {
    let browser = Browser::take();
    let server = world::home().serve();
    server.call("s", &["open", &shop()]).ok();
    assert!(!server.processes().is_empty(), "a session has processes while it lives");

    // long enough for a busy machine to get as far as the request
    server.call_within(8, "s", &["open", &format!("http://{SHOP}/never")]).fails_with(124);
    assert_eq!(world::hosts().paths_of(SHOP).last().unwrap(), "/never", "the page was asked for");
    assert_eq!(server.processes(), [], "nothing of the session runs after the answer");

    server.call("s", &["open", &shop()]).ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));
    assert_eq!(browser.address(), shop());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_click_to_a_page_that_never_answers_does_not_lock_the_others_out() {
    let _browser = Browser::take();
    let server = world::home().serve();
    server.call("first", &["open", &format!("http://{SHOP}/go?/never")]).ok();
    // the click is done; what it leads to is not
    server.call("first", &["click", "#go"]);
    processes::until("the request for the page that never answers", || {
        (world::hosts().paths_of(SHOP).last().unwrap() == "/never").then_some(())
    });
    // a new session has to connect to the browser while its tab is still loading
    server.call("second", &["open", &shop()]).ok();
    assert!(server.call("second", &["snapshot"]).ok().page().contains("nothing saved"));
    server.call("first", &["snapshot"]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_wait_that_is_too_long_ends_with_124_in_a_new_session_too() {
    let _browser = Browser::take();
    let server = world::home().serve();
    server.call_within(3, "new", &["wait", "20000"]).fails_with(124);
    assert_eq!(server.processes(), []);
    server.call("new", &["open", &shop()]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_stale_reference_is_an_error_that_says_so() {
    let _browser = Browser::take();
    let server = world::home().impatient().serve();
    let call = |argv: &[&str]| server.call("s", argv);
    call(&["open", &format!("http://{SHOP}/stale")]).ok();
    let seen = call(&["snapshot", "-i"]).ok();
    let gone = seen.reference("button", "Vanish");
    let stays = seen.reference("button", "Stay");
    call(&["click", &gone]).ok();

    let failure = call(&["click", &gone]);
    assert!(![0, 64, 77].contains(&failure.code), "{failure:?}");
    assert!(!failure.stderr.is_empty(), "{failure:?}");
    // a reference that no snapshot ever gave
    let failure = call(&["click", "@e999"]);
    assert!(![0, 64, 77].contains(&failure.code), "{failure:?}");

    call(&["click", &stays]).ok();
    assert!(call(&["snapshot"]).ok().page().contains("stayed 1"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_cancelled_call_leaves_nothing_running_and_the_session_usable() {
    let browser = Browser::take();
    for way in WAYS {
        let server = world::home().with("BROWSER_SHELL_TRANSPORT", way).serve();
        server.call("s", &["open", &shop()]).ok();
        let call = begin_for_sure(&server, &["wait", "20000"]);
        assert!(!call.is_answered());

        server.cancel(&call);
        processes::until("the end of everything the call started", || server.processes().is_empty().then_some(()));
        assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));
        assert_eq!(browser.address(), shop());
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_cancelled_call_that_waits_for_its_turn_never_runs() {
    let _browser = Browser::take();
    let server = world::home().serve();
    server.call("s", &["open", &shop()]).ok();
    let first = begin_for_sure(&server, &["wait", "2000"]);
    let second = server.begin("s", &["dblclick", "#twice"], None);
    let third = server.begin("s", &["fill", "#name", "after"], None);
    server.cancel(&second);
    first.answer().ok();
    third.answer().ok();
    let page = server.call("s", &["snapshot"]).ok().page();
    assert!(page.contains("after") && !page.contains("dblclick"), "{page}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_server_killed_in_mid_call_leaves_no_orphan() {
    let browser = Browser::take();
    for way in WAYS {
        let mut server = world::home().with("BROWSER_SHELL_TRANSPORT", way).serve();
        server.call("s", &["open", &shop()]).ok();
        server.call("idle", &["snapshot"]).ok();
        let _call = begin_for_sure(&server, &["wait", "20000"]);

        server.kill();
        // the idle time is much longer than this test waits, so something has to act
        processes::until("the end of every orphan", || server.home().processes(None).is_empty().then_some(()));
        assert_eq!(browser.address(), shop(), "Chromium lives on");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_killed_server_can_be_started_again_on_the_same_folders() {
    let _browser = Browser::take();
    let mut server = world::home().serve();
    server.call("s", &["open", &shop()]).ok();
    server.kill();
    // the old daemon may still be there; the new server must get on with it
    let again = server.home().run(&["call", "--session", "s", "--", "open", &shop()]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
    processes::kill(&server.home().processes(None));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_client_that_hangs_up_in_mid_call_ends_everything() {
    let _browser = Browser::take();
    for way in WAYS {
        let server = world::home().with("BROWSER_SHELL_TRANSPORT", way).serve();
        server.call("s", &["open", &shop()]).ok();
        let _call = begin_for_sure(&server, &["wait", "20000"]);
        // dropping it closes its input, and fails the test when a process stays
        drop(server);
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn without_chromium_calls_end_with_69_until_it_is_back() {
    world::hosts();
    // not the shared one, so that the other tests keep theirs
    let port = 9333;
    let server = world::home().with("BROWSER_SHELL_CDP_PORT", port.to_string()).serve();
    let open = || server.call("s", &["open", &shop()]);

    for _ in 0..2 {
        let failure = open().fails_with(69);
        assert!(failure.stderr.contains("9333"), "it says where it looked: {failure:?}");
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
fn without_agent_browser_calls_end_with_69() {
    world::require_test_network();
    let server = world::home().with("BROWSER_SHELL_AGENT_BROWSER", "/nowhere/agent-browser").serve();
    server.call("s", &["snapshot"]).fails_with(69);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn an_idle_session_ends_by_itself_and_comes_back_when_asked() {
    let _browser = Browser::take();
    let server = world::home().with("BROWSER_SHELL_IDLE_SEC", "2").serve();
    let path = {
        server.call("s", &["open", &shop()]).ok();
        let answer = server.call("s", &["screenshot", "a.png"]).ok();
        answer.data()["path"].as_str().unwrap().to_owned()
    };
    processes::until("the end of the idle session's processes and files", || {
        (server.processes().is_empty() && !std::fs::exists(&path).unwrap()).then_some(())
    });
    assert!(server.call("s", &["snapshot"]).ok().page().contains("nothing saved"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_test_network_reaches_no_other_machine() {
    world::require_test_network();
    // the walls around all the other tests: no route out, in either family
    let routes = Command::new("ip").args(["route", "show", "default"]).output().unwrap();
    assert!(routes.status.success() && routes.stdout.is_empty(), "{routes:?}");
    for far in ["192.88.98.1:80", "[2620:fe::9]:53"] {
        let error = std::net::TcpStream::connect(far).expect_err("no way out");
        assert_eq!(error.kind(), std::io::ErrorKind::NetworkUnreachable, "{far}: {error}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_page_whose_script_never_ends_does_not_lock_anyone_out() {
    let browser = Browser::take();
    let server = world::home().serve();
    server.call("first", &["open", &format!("http://{SHOP}/busy")]).ok();
    // the script holds the page's one thread for ever: no new daemon can connect to such a tab
    server.call_within(3, "first", &["click", "#work"]).fails_with(124);
    assert_eq!(server.processes(), []);

    server.call("second", &["open", &shop()]).ok();
    server.call("first", &["open", &shop()]).ok();
    assert!(server.call("first", &["snapshot"]).ok().page().contains("nothing saved"));
    assert_eq!(browser.address(), shop());
}
