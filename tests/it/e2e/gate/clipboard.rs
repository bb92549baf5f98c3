//! The clipboard, of which Chromium has one for all sessions.

use serde_json::{Value, json};

use super::{
    super::{processes::wait_for, server::Server},
    agent_browsers, attack, attacked,
    browser::GateBrowser,
    env, open_blank,
    script::{OWN_PAGE, Replies, evaluate, loaded, meet, on_page, own_page},
    session_policy, shop,
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
    // A letter after it, which shows that the page has handled what came before.
    server.call(session, &["press", "q"]).ok();
    wait_for("the letter", || state(server, session).strip_suffix('q').map(str::to_owned))
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn session_does_not_paste_what_another_copied() {
    for program in agent_browsers() {
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
    let letter =
        || on_page("Input.dispatchKeyEvent", json!({"type": "keyDown", "key": "a", "code": "KeyA", "text": "a"}));
    let page = |more: &[Value]| {
        let url = shop("gate/clipboard");
        let start = [on_page("Page.navigate", json!({ "url": url })), loaded(&url)];
        own_page(&[&start[..], more].concat())
    };
    let copy = page(&[
        on_page("Page.bringToFront", json!({})),
        evaluate("source.value = 'copied by the victim'; source.select()"),
        edit("copy"),
        evaluate("new Promise((done) => setTimeout(done))"),
    ]);
    let paste = page(&[
        on_page("Page.bringToFront", json!({})),
        evaluate("target.value = ''; target.focus()"),
        edit("paste"),
        letter(),
        evaluate("target.value"),
    ]);
    let last = OWN_PAGE + 6;
    browser.run(&copy);
    assert_eq!(browser.run(&paste).value(last), "copied by the victima", "control");
    attack(&server, "victim", &copy);
    let replies = attack(&server, "s", &paste);
    assert_eq!(replies.value(last), "a", "a normal key arrives, and nothing of the other session");
    assert!(!replies.text().contains("copied by the victim"), "{replies:#?}");
}

/// Spellings of Ctrl+V, most of which Chromium reads: numbers that are no integers or too large, and members that are named twice.
const SPELLINGS: &[&str] = &[
    r#""windowsVirtualKeyCode":86.0,"modifiers":2"#,
    r#""windowsVirtualKeyCode":8.6e1,"modifiers":2"#,
    r#""windowsVirtualKeyCode":65,"windowsVirtualKeyCode":86,"modifiers":2"#,
    r#""windowsVirtualKeyCode":86,"windowsVirtualKeyCode":65,"modifiers":2"#,
    r#""windowsVirtualKeyCode":"86","modifiers":2"#,
    r#""windowsVirtualKeyCode":65622,"modifiers":2"#,
    r#""windowsVirtualKeyCode":131158,"modifiers":0"#,
];

/// Ctrl+V as it should be spelled.
const PLAIN: &str = r#""windowsVirtualKeyCode":86,"modifiers":2"#;

/// Returns the steps that open the page of the clipboard.
fn page_in_front() -> Vec<Value> {
    vec![
        on_page("Page.enable", json!({})),
        on_page("Page.navigate", json!({"url": shop("gate/clipboard")})),
        json!({"event": "Page.loadEventFired"}),
        on_page("Page.bringToFront", json!({})),
    ]
}

/// Returns the steps that copy a text.
fn copy_text() -> Vec<Value> {
    vec![
        evaluate("source.value = 'copied by the victim'; source.select()"),
        on_page("Input.dispatchKeyEvent", json!({"type": "rawKeyDown", "key": "F13", "commands": ["copy"]})),
        evaluate("new Promise((done) => setTimeout(done))"),
    ]
}

/// Number of steps in [`press`].
const PRESS: usize = 4;

/// Returns the steps that press a spelled key, then a letter: it shows that what was sent before it has been handled.
fn press(members: &str) -> [Value; PRESS] {
    let params = format!(r#"{{"type":"rawKeyDown",{members}}}"#);
    let text = format!(r#"{{"id":900,"method":"Input.dispatchKeyEvent","sessionId":"$PAGE","params":{params}}}"#);
    let letter = json!({"type": "keyDown", "key": "a", "code": "KeyA", "text": "a", "windowsVirtualKeyCode": 65});
    [
        evaluate("target.value = ''; target.focus()"),
        json!({"text": text}),
        on_page("Input.dispatchKeyEvent", letter),
        evaluate("target.value"),
    ]
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_cannot_paste_by_spelling_of_numbers() {
    let browser = GateBrowser::start_secure();
    let server = attacked(&browser);
    let spelled: Vec<Value> = SPELLINGS.iter().flat_map(|members| press(members)).collect();
    let values = |replies: &Replies| -> Vec<String> {
        let count = replies.count();
        let first = count - spelled.len();
        let last = (first..count).skip(PRESS - 1).step_by(PRESS);
        last.map(|step| replies.value(step).as_str().unwrap().to_owned()).collect()
    };
    let pasted = values(&browser.run(&own_page(&[page_in_front(), copy_text(), spelled.clone()].concat())));
    let count = pasted.iter().filter(|value| value.contains("copied by the victim")).count();
    assert!(count >= 3, "control: Chromium itself reads these spellings: {pasted:?}");
    // The victim copies while the call of the other session runs: the clipboard is emptied when a call begins.
    let (begun, copied) = ([meet("spelling-begun")], [meet("spelling-copied")]);
    let attacker = own_page(&[&page_in_front()[..], &begun, &copied, &spelled].concat()).to_string();
    for session in ["s", "victim"] {
        open_blank(&server, session);
    }
    let call = server.begin("s", &["fill", "@e1", &attacker], Some(110));
    attack(&server, "victim", &own_page(&[&page_in_front()[..], &begun, &copy_text(), &copied].concat()));
    let replies = Replies::read(call.answer().ok().data());
    assert_eq!(values(&replies), ["a"; SPELLINGS.len()], "a normal key arrives, and nothing of the other session");
    let own = [&page_in_front()[..], &copy_text(), &press(PLAIN)].concat();
    wait_for("control: the same session pastes", || {
        let replies = attack(&server, "s", &own_page(&own));
        (replies.value(replies.count() - 1) == "copied by the victima").then_some(())
    });
}
