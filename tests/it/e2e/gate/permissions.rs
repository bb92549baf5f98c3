//! Permissions that pages ask for: refused at once and reported, whatever the page does to its own objects.

use serde_json::Value;

use super::{
    super::{
        hosts::{NEWS, SHOP},
        processes::wait_for,
        server::{CallReply, Server},
    },
    agent_browsers,
    browser::GateBrowser,
    click_until, env, session_policy, shared_policy, shop, shown_until, test_env, text_of,
};

/// Path of the page that asks.
const PAGE: &str = "gate/permissions";

fn open(server: &Server, path: &str) -> CallReply {
    server.call_within(60, "s", &["open", &shop(path)]).ok()
}

fn state(server: &Server) -> String {
    text_at(server, "#state")
}

fn text_at(server: &Server, selector: &str) -> String {
    server.call("s", &["get", "text", selector]).ok().data()["text"].as_str().unwrap().to_owned()
}

/// Returns the note of an answer about a permission.
fn note(permission: &str) -> String {
    format!("the permission `{permission}`")
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn permission_that_a_page_asks_for_is_reported() {
    for policy in [session_policy(), shared_policy()] {
        let is_session = policy["browser"]["isolation"] == "session";
        for program in agent_browsers() {
            let browser = GateBrowser::start_secure();
            let server = env(&browser, &program, &policy).serve();
            let opened = open(&server, PAGE);
            let quiet = server.call("s", &["click", "h1"]).ok();
            for reply in [&opened, &quiet] {
                assert!(!text_of(reply).contains("permission `"), "control: {reply:?}");
            }
            for (element, permission) in [("#place", "geolocation"), ("#notify", "notifications")] {
                let shown = click_until(&server, element, &note(permission));
                assert_eq!(shown.contains("dismissed"), is_session, "{shown}");
                assert_eq!(shown.matches(&note(permission)).count(), 1, "{shown}");
            }
            let shown = click_until(&server, "#fresh", &note("geolocation"));
            assert!(!shown.contains("notifications"), "{shown}");
            assert_eq!(text_at(&server, "#frame-state"), "added 0", "{}", program.display());
        }
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn data_of_a_call_names_the_permission_once() {
    let browser = GateBrowser::start_secure();
    let server = env(&browser, &test_env::native(), &session_policy()).serve();
    open(&server, PAGE);
    let reply = wait_for("an answer that reports its own question", || {
        let reply = server.call("s", &["click", "#loop"]).ok();
        reply.data().get("dialog").is_some().then_some(reply)
    });
    let dialog = &reply.data()["dialog"];
    assert_eq!(dialog["type"], "permission", "{reply:?}");
    assert_eq!(dialog["message"], "persistent-storage", "{reply:?}");
    assert_eq!(dialog["url"], shop(PAGE), "{reply:?}");
    assert_eq!(state(&server), "asked often");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn permission_that_a_frame_asks_for_is_reported() {
    // In the process of the page, and in one of its own.
    for host in [SHOP, NEWS] {
        let browser = GateBrowser::start_secure();
        let server = env(&browser, &test_env::native(), &session_policy()).serve();
        let frame = format!("http://{host}/gate/permissions?ask");
        shown_until(&server, &open(&server, &format!("{PAGE}?frame={frame}")), &note("geolocation"));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_sees_and_forges_nothing_of_the_report() {
    let browser = GateBrowser::start_secure();
    let server = env(&browser, &test_env::native(), &session_policy()).serve();
    open(&server, PAGE);
    server.call("s", &["click", "#identity"]).ok();
    assert_eq!(state(&server), "different 0");
    let mut shown = click_until(&server, "#forge", &note("persistent-storage"));
    assert_eq!(state(&server), "stolen 0, added 0", "control: the page asked, and that was reported");
    shown.push_str(&text_of(&server.call("s", &["snapshot"]).ok()));
    assert!(!shown.contains("usb") && !shown.contains("forged"), "{shown}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn dialog_of_another_type_is_not_displaced() {
    let browser = GateBrowser::start_secure();
    let server = env(&browser, &test_env::native(), &session_policy()).serve();
    open(&server, "gate/dialogs");
    let script: &[&str] = &["click", "#ask-and-alert"];
    let reply = server.call("s", script).ok();
    let dialog: &Value = &reply.data()["dialog"];
    assert_eq!(dialog["type"], "alert", "{reply:?}");
}
