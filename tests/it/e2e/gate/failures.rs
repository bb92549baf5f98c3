//! Ends of the programs around the gate, and many sessions one after the other.

use serde_json::{Value, json};

use super::{
    super::{chromium::Chromium, processes::wait_for, server::Server},
    agent_browsers, attack, attacked,
    browser::GateBrowser,
    env, open_blank, own_policy,
    script::{OWN_PAGE, evaluate, own_page},
    session_policy, shop, test_env,
};

/// Number of contexts of the gate's own: that of the tab that empties the clipboard, made when the front session changes first.
const OWN_CONTEXTS: usize = 1;

fn open(server: &Server, session: &str) {
    server.call_within(60, session, &["open", &shop("hello")]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn sessions_work_again_after_the_browser_was_killed() {
    for program in agent_browsers() {
        let mut browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        open(&server, "a");
        let port = browser.port();
        browser.kill();
        let lost = server.call_within(30, "a", &["snapshot"]);
        assert_eq!(lost.code, 69, "{lost:?}");
        let _new = Chromium::start(port);
        wait_for("a session in the new browser", || {
            (server.call_within(60, "a", &["open", &shop("hello")]).code == 0).then_some(())
        });
        assert!(server.call("a", &["snapshot"]).ok().page().contains("Hello from"));
        open(&server, "b");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn killed_server_leaves_no_context_and_no_page() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let (contexts, targets) = (browser.contexts(), browser.targets());
        let mut server = env(&browser, &program, &session_policy()).serve();
        open(&server, "a");
        open(&server, "b");
        assert_eq!(browser.contexts().len(), contexts.len() + 2 + OWN_CONTEXTS, "control");
        server.kill();
        wait_for("the end of the contexts", || (browser.contexts() == contexts).then_some(()));
        wait_for("the end of the pages", || (browser.targets() == targets).then_some(()));
        let again = env(&browser, &program, &session_policy()).serve();
        open(&again, "a");
        wait_for("the end of the old daemons", || server.processes().is_empty().then_some(()));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_that_logs_far_too_much_loses_its_tab() {
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    open(&server, "other");
    let flood = |way: &str| server.call_within(60, "s", &["open", &shop(&format!("gate/flood?{way}"))]);
    flood("log-little").ok();
    server.call("s", &["wait", "--text", "has logged"]).ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("Flood"), "control: a page may log");
    flood("log");
    let told = wait_for("the end of the flood", || {
        let reply = server.call_within(30, "s", &["get", "title"]);
        // A page that logs may not answer before it is closed.
        let is_waiting = reply.code == 0 || reply.stderr.starts_with("page-unreadable: ");
        (!is_waiting).then_some(reply)
    });
    assert!(told.stderr.starts_with("tab-flooded: "), "{told:?}");
    assert!(server.call("other", &["snapshot"]).ok().page().contains("Hello from"));
    open(&server, "s");
    assert!(server.call("s", &["snapshot"]).ok().page().contains("Hello from"));
}

/// Returns the memory that a process has now, in bytes.
fn memory(id: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn descriptors(id: i32) -> usize {
    std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn sixty_four_sessions_leave_nothing_behind() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let work = own_page(&[evaluate("document.body.append('x'.repeat(100000))")]);
    let one = |number: usize| {
        let session = format!("s{number}");
        assert!(!attack(&server, &session, &work).is_refused(OWN_PAGE));
        server.call(&session, &["close"]).ok();
    };
    // The first sessions allocate what stays.
    (0..8).for_each(one);
    let before = (browser.contexts(), browser.targets());
    let (memory_before, descriptors_before) = (memory(server.id()), descriptors(server.id()));
    (8..72).for_each(one);
    wait_for("the contexts of before", || ((browser.contexts(), browser.targets()) == before).then_some(()));
    let grown = memory(server.id()).saturating_sub(memory_before);
    assert!(grown < 8 << 20, "the server grew by {grown} bytes");
    wait_for("the descriptors of before", || (descriptors(server.id()) <= descriptors_before + 2).then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn sixteen_sessions_are_open_at_once() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let before = browser.contexts().len();
    let mark = |number: usize| own_page(&[evaluate(&format!("window.mark = (window.mark || '') + '{number};'"))]);
    let calls: Vec<_> = (0..16)
        .map(|number| {
            let script: Value = mark(number);
            open_blank(&server, &format!("s{number}"));
            server.begin(&format!("s{number}"), &["fill", "@e1", &script.to_string()], Some(110))
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        let replies = super::Replies::read(call.answer().ok().data());
        assert_eq!(replies.value(OWN_PAGE), &json!(format!("{number};")), "each session must have a page of its own");
    }
    assert_eq!(browser.contexts().len(), before + 16 + OWN_CONTEXTS);
    // Cleaning up is part of closing.
    for number in 0..16 {
        server.call(&format!("s{number}"), &["close"]).ok();
    }
    wait_for("the end of the contexts", || (browser.contexts().len() == before + OWN_CONTEXTS).then_some(()));
}
