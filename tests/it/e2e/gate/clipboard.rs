//! The clipboard, of which Chromium has one for all sessions.

use serde_json::json;

use super::{
    super::{processes::wait_for, server::Server},
    attack, attacked,
    browser::GateBrowser,
    env,
    script::{OWN_PAGE, evaluate, on_page, own_page},
    session_policy, shop, versions,
};

fn open(server: &Server, session: &str) {
    server.call_within(60, session, &["open", &shop("gate/clipboard")]).ok();
}

fn state(server: &Server, session: &str) -> String {
    server.call(session, &["get", "text", "#state"]).ok().data()["text"].as_str().unwrap().to_owned()
}

fn copy(server: &Server, session: &str, text: &str) {
    server.call(session, &["fill", "#source", text]).ok();
    server.call(session, &["click", "#copy"]).ok();
    wait_for("the copy", || (state(server, session) == "copied").then_some(()));
}

fn paste(server: &Server, session: &str) -> String {
    server.call(session, &["fill", "#target", ""]).ok();
    server.call(session, &["focus", "#target"]).ok();
    server.call(session, &["press", "Control+v"]).ok();
    server.call(session, &["wait", "300"]).ok();
    state(server, session)
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn session_does_not_paste_what_another_copied() {
    for program in versions() {
        let browser = GateBrowser::start_secure();
        let server = env(&browser, &program, &session_policy()).serve();
        for session in ["a", "b"] {
            open(&server, session);
        }
        copy(&server, "a", "copied by a");
        assert_eq!(paste(&server, "a"), "pasted copied by a", "control: the same session");
        copy(&server, "a", "copied by a");
        let pasted = paste(&server, "b");
        assert!(!pasted.contains("copied by a"), "{pasted}");
        copy(&server, "b", "copied by b");
        let pasted = paste(&server, "a");
        assert!(!pasted.contains("copied by b"), "{pasted}");
        copy(&server, "b", "copied by b");
        server.call("b", &["close"]).ok();
        let pasted = paste(&server, "a");
        assert!(!pasted.contains("copied by b"), "after the end of the session: {pasted}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_cannot_paste_by_editing_commands() {
    let browser = GateBrowser::start_secure();
    let server = attacked(&browser);
    let edit = |command: &str| {
        let event = json!({"type": "rawKeyDown", "key": "F13", "code": "F13", "commands": [command]});
        on_page("Input.dispatchKeyEvent", event)
    };
    let page = |more: &[serde_json::Value]| {
        let start = [on_page("Page.navigate", json!({"url": shop("gate/clipboard")})), json!({"sleep": 700})];
        own_page(&[&start[..], more].concat())
    };
    let copy = page(&[
        on_page("Page.bringToFront", json!({})),
        evaluate("source.value = 'copied by the victim'; source.select()"),
        edit("copy"),
        json!({"sleep": 300}),
    ]);
    let paste = page(&[
        on_page("Page.bringToFront", json!({})),
        evaluate("target.value = ''; target.focus()"),
        edit("paste"),
        json!({"sleep": 300}),
        evaluate("target.value"),
    ]);
    let last = OWN_PAGE + 6;
    browser.run(&copy);
    assert_eq!(browser.run(&paste).value(last), "copied by the victim", "control");
    attack(&server, "victim", &copy);
    let replies = attack(&server, "s", &paste);
    assert!(!replies.text().contains("copied by the victim"), "{replies:#?}");
}
