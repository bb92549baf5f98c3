//! Tabs and windows as a person has them: which one is active, how many there are, and a minimized window.

use serde_json::{Value, json};

use super::{
    super::{flow::decode, processes::wait_for, server::Server},
    agent_browsers, agent_browsers_with, attack, attacked,
    browser::GateBrowser,
    env,
    script::send,
    session_policy, shop,
};

/// Number of tabs that a session may have.
const MAX_TABS: usize = 16;

/// Engines that read pages.
const ENGINES: [&str; 2] = ["agent-browser", "gate"];

fn policy(engine: &str, style: &str) -> Value {
    let mut policy = session_policy();
    policy["snapshot"] = json!({ "engine": engine });
    policy["output"] = json!({ "style": style });
    policy
}

/// Returns the URL of the tab that agent-browser acts on, and asserts that a snapshot shows the same one.
#[track_caller]
fn active(server: &Server) -> String {
    let url = server.call("s", &["get", "url"]).ok().data()["url"].as_str().unwrap().to_owned();
    let origin = server.call("s", &["snapshot"]).ok().data()["origin"].clone();
    assert_eq!(origin, url.as_str(), "the snapshot must be of the active tab");
    url
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn end_of_a_tab_leads_back_to_its_opener() {
    for (program, engine) in agent_browsers_with(ENGINES) {
        let browser = GateBrowser::start_with_popups();
        let server = env(&browser, &program, &policy(engine, "data")).serve();
        let call = |argv: &[&str]| server.call("s", argv).ok();
        let (first, second) = (shop("gate/tabs?first"), shop("gate/tabs?second"));
        server.call_within(60, "s", &["open", &first]).ok();
        call(&["click", "#link"]);
        assert_eq!(active(&server), shop("hello"));
        call(&["open", &second]);
        // A third tab, whose opener is the second.
        call(&["click", "#link"]);
        assert_eq!(active(&server), shop("hello"));
        call(&["tab", "close"]);
        assert_eq!(active(&server), second, "{program:?} {engine}");
        // The end of a tab that is not active changes nothing.
        call(&["click", "#link"]);
        call(&["tab", "1"]);
        assert_eq!(active(&server), second, "control");
        call(&["tab", "close", "2"]);
        assert_eq!(active(&server), second);
        // A person closes the active tab.
        browser.close(&second);
        wait_for("the end of the tab", || (!browser.is_at(&second)).then_some(()));
        assert_eq!(active(&server), first);
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn answer_names_new_and_active_tab() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &policy("gate", "text")).serve();
        let call = |argv: &[&str]| server.begin("s", argv, Some(60)).text();
        call(&["open", &shop("gate/tabs")]);
        let clicked = call(&["click", "#link"]);
        assert!(clicked.contains(&format!("a new tab opened: {}", shop("hello"))), "{clicked}");
        let closed = call(&["tab", "close"]);
        assert!(closed.contains(&format!("the active tab is now {}", shop("gate/tabs"))), "{closed}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn session_has_at_most_sixteen_tabs() {
    for program in agent_browsers() {
        let browser = GateBrowser::start_with_popups();
        let server = env(&browser, &program, &policy("gate", "text")).serve();
        let (page, hello) = (shop("gate/tabs"), shop("hello"));
        let call = |session: &str, argv: &[&str]| server.begin(session, argv, Some(60)).text();
        call("other", &["open", &hello]);
        call("s", &["open", &page]);
        let before = browser.tabs().len();
        let clicked = call("s", &["click", "#many"]);
        let text = "a page opened more tabs than a session may have";
        assert_eq!(clicked.matches(text).count(), 1, "{clicked}");
        wait_for("the end of the tabs beyond the limit", || {
            (browser.tabs().len() == before + MAX_TABS - 1).then_some(())
        });
        assert!(!call("s", &["snapshot"]).contains(text), "it is reported once");
        let list = call("s", &["tab"]);
        assert_eq!(list.matches("http://").count(), MAX_TABS, "{list}");
        // Another session has its own.
        call("other", &["open", &page]);
        call("other", &["click", "#link"]);
        assert!(call("other", &["get", "url"]).contains(&hello));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_opens_no_tab_beyond_the_limit() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let create = send("Target.createTarget", json!({"url": "about:blank"}));
    let steps: Vec<_> =
        std::iter::once(json!({"ws": "browser"})).chain(std::iter::repeat_n(create, MAX_TABS)).collect();
    let replies = attack(&server, "s", &Value::from(steps));
    // The session began with one.
    assert!(!replies.is_refused(MAX_TABS - 1), "control: the last one within the limit: {replies:?}");
    assert_eq!(replies.reply(MAX_TABS)["error"]["message"], "too many tabs");
    assert!(
        !attack(&server, "other", &json!([{"ws": "browser"}, send("Target.createTarget", json!({}))])).is_refused(1)
    );
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn minimized_window_is_restored_when_session_acts() {
    let isolations = ["session", "shared"];
    for (program, isolation) in
        agent_browsers().iter().flat_map(|program| isolations.map(|isolation| (program, isolation)))
    {
        let browser = GateBrowser::start();
        let mut policy = policy("gate", "data");
        policy["browser"]["isolation"] = isolation.into();
        let server = env(&browser, program, &policy).serve();
        server.call_within(60, "s", &["open", &shop("gate/tabs")]).ok();
        let is_drawn = || {
            let (.., pixels) = decode(&server.call_within(20, "s", &["screenshot"]).ok().picture.unwrap());
            pixels.iter().any(|byte| *byte != pixels[0])
        };
        assert!(is_drawn(), "control");
        browser.minimize();
        // A minimized window draws nothing.
        assert!(is_drawn());
        assert!(browser.window_states().iter().any(|state| state != "minimized"), "{:?}", browser.window_states());
    }
}
