//! Storage, tabs and windows of sessions that use one site in one browser.

use std::path::Path;

use serde_json::Value;

use super::{
    super::{
        hosts::SHOP,
        processes::wait_for,
        server::{CallReply, Server},
        test_env,
    },
    agent_browsers,
    browser::GateBrowser,
    env, session_policy, shared_policy, shop,
};

/// Kinds of storage that the page reports.
const KINDS: &[&str] = &["cookie", "local", "indexed", "cache", "worker"];

/// Returns the report of the storage page, once it has one that begins with this word.
fn report(server: &Server, session: &str, word: &str) -> String {
    wait_for("the report of the page", || {
        let text = server.call(session, &["get", "text", "#state"]).ok().data()["text"].as_str()?.to_owned();
        text.starts_with(word).then_some(text)
    })
}

fn open(server: &Server, session: &str, path: &str) -> CallReply {
    server.call_within(60, session, &["open", &shop(path)]).ok()
}

/// Returns the number of requests for the page that browsers may keep.
fn fetches() -> usize {
    test_env::hosts().paths_of(SHOP).iter().filter(|path| *path == "/gate/cached").count()
}

/// Writes in a session of one agent-browser and reads in one of another. Returns the second report, the page's note of
/// a broadcast, and the number of requests that the HTTP cache did not save.
fn write_and_read(programs: [&Path; 2], policy: &Value) -> (String, String, usize) {
    let browser = GateBrowser::start_secure();
    let [first, second] = programs.map(|program| env(&browser, program, policy).serve());
    let is_session = policy["browser"]["isolation"] == "session";
    if is_session {
        // Its page listens while the other session writes.
        open(&second, "b", "gate/storage?second");
    }
    open(&first, "a", "gate/storage?first");
    let clean = report(&first, "a", "found");
    assert!(KINDS.iter().all(|kind| clean.contains(&format!("{kind} none"))), "control: {clean}");
    let before = fetches();
    first.call("a", &["click", "#write"]).ok();
    let written = report(&first, "a", "written");
    assert!(!written.contains("none"), "control: {written}");
    if !is_session {
        open(&second, "b", "gate/storage?second");
    }
    let heard = second.call("b", &["get", "text", "#heard"]).ok().data()["text"].as_str().unwrap().to_owned();
    open(&second, "b", "gate/storage?second");
    let found = report(&second, "b", "found");
    second.call("b", &["click", "#write"]).ok();
    report(&second, "b", "written");
    let fetched = fetches() - before;
    // Reading again in the first session shows that the second has not changed it.
    open(&first, "a", "gate/storage?first");
    let kept = report(&first, "a", "found");
    assert_eq!(kept.contains("first"), is_session, "{kept}");
    (found, heard, fetched)
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn sessions_on_one_site_share_no_storage() {
    let programs = agent_browsers();
    // With both, each writes once and reads once.
    for (first, second) in programs.iter().zip(programs.iter().rev()) {
        let (found, heard, fetched) = write_and_read([first, second], &session_policy());
        assert!(KINDS.iter().all(|kind| found.contains(&format!("{kind} none"))), "{found}");
        assert_eq!(heard, "heard: nothing");
        assert_eq!(fetched, 2, "each session must have an HTTP cache of its own");
    }
    let (found, _, fetched) = write_and_read([&programs[0], programs.last().unwrap()], &shared_policy());
    assert!(!found.contains("none"), "control: {found}");
    assert_eq!(fetched, 1, "control: the HTTP cache is shared");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn tabs_and_popups_stay_in_their_session() {
    for program in agent_browsers() {
        let browser = GateBrowser::start_secure();
        let server = env(&browser, &program, &session_policy()).serve();
        open(&server, "a", "gate/storage?first");
        open(&server, "b", "gate/storage?second");
        let tabs = |session: &str| server.call(session, &["tab"]).ok().stdout;
        for element in ["#blank", "#popup"] {
            let before = browser.tabs().len();
            server.call("a", &["click", element]).ok();
            wait_for("the new tab", || (browser.tabs().len() > before).then_some(()));
            wait_for("control: the tab in its own session", || tabs("a").contains("storage?popup").then_some(()));
            let others = tabs("b");
            assert!(!others.contains("popup") && !others.contains("first"), "{element}: {others}");
        }
        let page = server.call("b", &["get", "url"]).ok();
        assert_eq!(page.data()["url"], shop("gate/storage?second"), "the other session must keep its page");
        // References of the other session stay valid.
        let seen = server.call("b", &["snapshot", "-i"]).ok();
        server.call("a", &["click", "#write"]);
        server.call("b", &["click", &seen.reference("button", "Write")]).ok();
        assert!(report(&server, "b", "written").contains("cookie second"));
        // Closing one ends its pages and nothing else.
        server.call("a", &["close"]).ok();
        wait_for("the end of the pages of a", || {
            (!browser.tabs().iter().any(|tab| tab.url.contains("first") || tab.url.contains("popup"))).then_some(())
        });
        assert!(server.call("b", &["snapshot"]).ok().page().contains("Storage"));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn closed_session_leaves_no_context_and_no_storage() {
    for program in agent_browsers() {
        let browser = GateBrowser::start_secure();
        let server = env(&browser, &program, &session_policy()).serve();
        let before = browser.contexts();
        open(&server, "a", "gate/storage?first");
        server.call("a", &["click", "#write"]).ok();
        assert!(report(&server, "a", "written").contains("local first"), "control");
        assert_eq!(browser.contexts().len(), before.len() + 1, "control: one context for the session");
        server.call("a", &["close"]).ok();
        wait_for("the end of the context", || (browser.contexts() == before).then_some(()));
        open(&server, "a", "gate/storage?again");
        let found = report(&server, "a", "found");
        assert!(KINDS.iter().all(|kind| found.contains(&format!("{kind} none"))), "{found}");
    }
}
