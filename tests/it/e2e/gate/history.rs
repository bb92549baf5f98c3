//! Steps in the history of a tab: to the page that is there, loaded as a whole, or a failure.

use super::{
    super::{hosts::NEWS, server::Server},
    browser::GateBrowser,
    env, own_policy, shop, test_env,
};

/// Takes a step, and fails unless it leads to this URL, whose page is shown then.
#[track_caller]
fn step(server: &Server, name: &str, url: &str, text: &str) {
    let reply = server.call("s", &[name]).ok();
    assert_eq!(reply.data()["url"], url, "{name}");
    let seen = server.call("s", &["snapshot"]).ok();
    assert!(text.is_empty() || seen.page().contains(text), "{name}: {seen:?}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn steps_lead_to_loaded_pages_of_all_processes() {
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    let (late, away) = (shop("late"), format!("http://{NEWS}/hello"));
    server.call_within(60, "s", &["open", &late]).ok();
    server.call("s", &["open", &away]).ok();
    step(&server, "back", &late, "This is /late");
    step(&server, "forward", &away, &format!("Hello from {NEWS}"));
    step(&server, "back", &late, "This is /late");
    // The tab was empty before its first page, with another process.
    step(&server, "back", "about:blank", "");
    step(&server, "forward", &late, "This is /late");
    step(&server, "forward", &away, &format!("Hello from {NEWS}"));
    let stayed = server.call("s", &["forward"]);
    let reason = "no-effect: this tab has no page to go forward to";
    assert!(stayed.code == 1 && stayed.stderr.starts_with(reason), "{stayed:?}");
    let audit = server.env().audit();
    let steps = audit.lines().filter(|line| line.contains("\"back\"") || line.contains("\"forward\""));
    assert_eq!(steps.filter(|line| line.contains("\"engine\":\"cdp\"")).count(), 7, "{audit}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_that_asks_before_it_is_left_is_left_by_a_step() {
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    server.call_within(60, "s", &["open", &shop("hello")]).ok();
    server.call("s", &["open", &shop("gate/dialogs")]).ok();
    // Only a page that was used asks.
    server.call("s", &["click", "#unload"]).ok();
    let reply = server.call("s", &["back"]).ok().data();
    assert_eq!((&reply["dialog"]["type"], &reply["url"]), (&"beforeunload".into(), &shop("hello").into()));
}
