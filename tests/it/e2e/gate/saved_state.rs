//! Values of a saved state: in no answer of the session that has it.

use serde_json::{Value, json};

use super::{
    super::{hosts::SHOP, test_env},
    agent_browsers,
    browser::GateBrowser,
    env, own_policy, session_policy, shop, text_of,
};

/// Value of the cookie.
const COOKIE: &str = "cookie-value-7Qx1";

/// Token in the storage, which is part of a longer value.
const TOKEN: &str = "0a1b2c3d4e5f-7Qx2-token";

/// Value that the page shows and that is in no state.
const PLAIN: &str = "plain-value-7Qx5";

fn state_policy() -> Value {
    let mut policy = session_policy();
    let profile = json!({ "token": TOKEN, "theme": "dark" }).to_string();
    policy["browser"]["state"] = json!({ "saved": {
        "cookies": [{ "name": "sid", "value": COOKIE, "domain": SHOP, "path": "/" }],
        "origins": [{ "origin": format!("http://{SHOP}"), "localStorage": [{ "name": "profile", "value": profile }] }],
    } });
    policy
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn values_of_a_saved_state_are_masked() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &state_policy()).serve();
        let url = shop(&format!("gate/saved?{COOKIE}"));
        for (session, is_masked) in [("saved", true), ("other", false)] {
            server.call_within(60, session, &["open", &url]).ok();
            let mut shown = String::new();
            let reads: &[&[&str]] =
                &[&["snapshot"], &["get", "text", "body"], &["get", "html", "body"], &["get", "url"]];
            for argv in reads {
                shown.push_str(&text_of(&server.call(session, argv).ok()));
            }
            assert!(shown.contains(PLAIN), "control: {shown}");
            assert_eq!(shown.contains("sid=***"), is_masked, "the page has the cookie: {shown}");
            assert_eq!(shown.contains("token ***"), is_masked, "and the storage: {shown}");
            assert_eq!(shown.contains(COOKIE), !is_masked, "control: only of the session that has the state: {shown}");
            assert!(!shown.contains(TOKEN), "{shown}");
        }
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn parts_of_a_saved_login_are_masked() {
    let profile = json!({
        "token": "q83vEjRWeJA/kL+fZw1s2Q==",
        "sess": "hv7k2m9q4x1z",
        "pin": "correct-horse-battery",
        "theme": "dark-and-blue",
    });
    let mut policy = own_policy();
    policy["browser"]["state"] = json!({ "saved": {
        "cookies": [{ "name": "login", "value": "u=bob&sid=abc123def456xy", "domain": SHOP, "path": "/" }],
        "origins": [{
            "origin": format!("http://{SHOP}"),
            "localStorage": [{ "name": "profile", "value": profile.to_string() }],
        }],
    } });
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &policy).serve();
    server.call_within(60, "saved", &["open", &shop("gate/saved-parts")]).ok();
    let parts = server.call("saved", &["get", "text", "#parts"]).ok().data();
    let mut lines: Vec<_> = parts["text"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    let masked = ["pin is ***", "sess is ***", "sid is ***", "theme is dark-and-blue", "token is ***", "u is bob"];
    assert_eq!(lines, masked, "a theme and a name stay readable");
}
