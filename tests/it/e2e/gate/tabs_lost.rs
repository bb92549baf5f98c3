//! Tabs that crash, hang or go elsewhere while they are read: the session goes on, and others notice nothing.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    super::{
        hosts::{NEWS, SHOP},
        processes::wait_for,
        server::Server,
    },
    agent_browsers, agent_browsers_with,
    browser::GateBrowser,
    env, session_policy, shop,
};

/// Engines that read pages.
const ENGINES: [&str; 2] = ["agent-browser", "gate"];

fn policy(engine: &str) -> Value {
    let mut policy = session_policy();
    policy["snapshot"] = json!({ "engine": engine });
    policy
}

fn serve(browser: &GateBrowser, program: &Path, engine: &str) -> Server {
    let server = env(browser, program, &policy(engine)).serve();
    server.call_within(60, "other", &["open", &shop("hello")]).ok();
    server
}

#[track_caller]
fn assert_crashed(server: &Server, argv: &[&str]) {
    let failed = server.call_within(30, "s", argv).fails_with(69);
    assert!(failed.stderr.starts_with("tab-crashed: ") && failed.stdout.is_empty(), "{failed:?}");
    assert!(failed.stderr.contains("open the page again"), "{failed:?}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn session_that_the_server_does_not_know_has_lost_its_page() {
    for engine in ENGINES {
        for program in agent_browsers() {
            let browser = GateBrowser::start();
            let server = serve(&browser, &program, engine);
            let call = |argv: &[&str]| server.call_within(60, "s", argv);
            for argv in [&["snapshot"][..], &["get", "title"], &["click", "a"], &["back"], &["screenshot"]] {
                let lost = call(argv).fails_with(69);
                assert!(lost.stderr.starts_with("page-lost: ") && lost.stderr.contains("open the page"), "{lost:?}");
                call(&["get", "url"]).ok();
                call(&["close"]).ok();
                call(&["close"]).ok();
            }
            // Commands that need no page are not told of one.
            for argv in [&["wait", "1"][..], &["tab", "list"], &["open", &shop("hello")]] {
                call(argv).ok();
            }
            assert!(!call(&["get", "title"]).ok().data()["title"].as_str().unwrap().is_empty(), "control");
        }
    }
    let browser = GateBrowser::start();
    let mut policy = policy("gate");
    policy["browser"]["isolation"] = "shared".into();
    let server = env(&browser, &agent_browsers()[0], &policy).serve();
    server.call_within(60, "s", &["get", "url"]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn session_that_has_lost_its_page_takes_no_place() {
    let (browser, program) = (GateBrowser::start(), agent_browsers().remove(0));
    for engine in ENGINES {
        let server = env(&browser, &program, &policy(engine)).with("BROWSER_SHELL_MAX_SESSIONS", "2").serve();
        server.call_within(60, "other", &["open", &shop("hello")]).ok();
        for session in ["x1", "x2", "x3"] {
            let lost = server.call_within(60, session, &["snapshot"]).fails_with(69);
            assert!(lost.stderr.starts_with("page-lost: "), "{engine}: {lost:?}");
        }
        server.call_within(60, "x4", &["open", &shop("hello")]).ok();
        let full = server.call("x1", &["snapshot"]).fails_with(75);
        assert!(full.stderr.starts_with("too-many-sessions: "), "control: {full:?}");
        server.call("x4", &["close"]).ok();
        // It was told once.
        server.call_within(60, "x1", &["get", "url"]).ok();
    }
}

/// Asserts that a session can do its work, and that another one was left alone.
#[track_caller]
fn assert_healed(server: &Server) {
    server.call_within(30, "s", &["open", &shop("gate/tabs")]).ok();
    assert!(server.call("s", &["snapshot"]).ok().page().contains("Open many"));
    server.call("s", &["click", "#link"]).ok();
    assert_eq!(server.call("s", &["get", "url"]).ok().data()["url"], shop("hello").as_str());
    assert!(server.call("other", &["snapshot"]).ok().page().contains("Hello from"), "other sessions go on");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn crashed_tab_is_replaced_in_its_session() {
    for program in agent_browsers() {
        for engine in ENGINES {
            let browser = GateBrowser::start_with_popups();
            let server = serve(&browser, &program, engine);
            server.call_within(60, "s", &["open", &shop("gate/tabs")]).ok();
            // Between two calls.
            browser.crash("/gate/tabs");
            assert_crashed(&server, &["snapshot"]);
            assert_crashed(&server, &["click", "#link"]);
            assert_healed(&server);
            // During a call.
            server.call("s", &["open", &shop("gate/tabs?again")]).ok();
            let waiting = server.begin("s", &["wait", "20000"], Some(40));
            browser.crash("/gate/tabs?again");
            let ended = waiting.answer().fails_with(69);
            assert!(ended.stderr.starts_with("tab-crashed: "), "{ended:?}");
            assert_healed(&server);
        }
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn crash_in_background_tab_or_frame_breaks_no_session() {
    for (program, engine) in agent_browsers_with(ENGINES) {
        let browser = GateBrowser::start_with_popups();
        let server = serve(&browser, &program, engine);
        let call = |argv: &[&str]| server.call_within(30, "s", argv).ok();
        call(&["open", &shop("gate/tabs")]);
        wait_for("the frame", || call(&["snapshot"]).page().contains("ready").then_some(()));
        browser.crash("/gate/inner");
        assert!(call(&["snapshot"]).page().contains("ready"), "{program:?} {engine}");
        call(&["click", "#link"]);
        assert_eq!(call(&["get", "url"]).data()["url"], shop("hello").as_str());
        browser.crash("/gate/tabs");
        wait_for("the end of the tab", || (!browser.is_at(&shop("gate/tabs"))).then_some(()));
        let seen = call(&["snapshot"]);
        assert!(seen.page().contains("Hello from"), "{seen:?}");
        assert_healed(&server);
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn busy_page_is_healed_in_its_session() {
    for (program, engine) in agent_browsers_with(ENGINES) {
        let browser = GateBrowser::start();
        let server = serve(&browser, &program, engine);
        server.call_within(60, "s", &["open", &shop("gate/tabs")]).ok();
        server.call("s", &["click", "#later"]);
        // The page is busy a moment later.
        let failed = wait_for("the end of the page's answers", || {
            let reply = server.call_within(8, "s", &["snapshot"]);
            (reply.code != 0).then_some(reply)
        });
        assert!([69, 124].contains(&failed.code), "{program:?} {engine}: {failed:?}");
        assert!(!failed.stderr.is_empty() && failed.stdout.is_empty(), "{failed:?}");
        let lost = server.call_within(30, "s", &["snapshot"]).fails_with(69);
        assert!(lost.stderr.starts_with("page-lost: "), "{lost:?}");
        assert_healed(&server);
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn snapshot_never_mixes_two_pages() {
    for (program, engine) in agent_browsers_with(ENGINES) {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &policy(engine)).with_short_action_timeout().serve();
        server.call_within(60, "s", &["open", &shop("gate/wander")]);
        // True if it shows the page.
        let look = || {
            let reply = server.call_within(20, "s", &["snapshot"]);
            if reply.code != 0 {
                // A page that goes elsewhere all the time may not be readable.
                assert!(reply.stdout.is_empty() && !reply.stderr.is_empty(), "{reply:?}");
                return false;
            }
            let origin = reply.data()["origin"].as_str().unwrap().to_owned();
            let (own, other) = if origin.contains(SHOP) { (SHOP, NEWS) } else { (NEWS, SHOP) };
            let page = reply.page();
            assert!(!page.contains(other), "{engine}: {origin} with {page}");
            page.contains(&format!("Shown by {own}"))
        };
        let looks: Vec<bool> = (0..12).map(|_| look()).collect();
        if !looks.contains(&true) {
            wait_for("control: a snapshot that shows the page", || look().then_some(()));
        }
    }
}
