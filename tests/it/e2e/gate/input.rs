//! Input as pages see it: the engine gives a page the events that playwright gives it, and that a person's keyboard and pointer do.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{
    super::test_env::{hosts, node},
    GateBrowser, Server, env, own_policy, shop, test_env, text_of, wait_for,
};

const PAGE: &str = "gate/input";

/// Keys and chords that playwright knows, as its documentation writes them. It has no `NumLock`: digits of the keypad are left out.
const KEYS: &[&str] = &[
    "a",
    "Z",
    "1",
    "!",
    "+",
    "\"",
    "Space",
    "Enter",
    "Tab",
    "Escape",
    "Backspace",
    "Delete",
    "Insert",
    "Home",
    "End",
    "PageUp",
    "PageDown",
    "ArrowLeft",
    "ArrowUp",
    "ArrowRight",
    "ArrowDown",
    "F1",
    "F2",
    "F3",
    "F4",
    "F6",
    "F7",
    "F8",
    "F9",
    "F10",
    "F11",
    "F12",
    "CapsLock",
    "ContextMenu",
    "NumpadDivide",
    "NumpadMultiply",
    "NumpadSubtract",
    "NumpadAdd",
    "Digit7",
    "KeyQ",
    "Backquote",
    "Shift+A",
    "Shift+Digit1",
    "Shift+ArrowLeft",
    "Control+a",
    "Control+Shift+K",
    "Alt+x",
    "Meta+k",
    "Shift+Tab",
    "Shift",
    "Control",
];

/// Returns what the page noted until now.
fn noted(server: &Server) -> String {
    server.call("s", &["get", "text", "#log"]).ok().data()["text"].as_str().unwrap().to_owned()
}

/// Returns what a page noted of commands of the engine `cdp`.
fn noted_of_ours(browser: &GateBrowser, steps: &[Vec<&str>]) -> String {
    let server = env(browser, test_env::no_agent_browser(), &own_policy()).serve();
    server.call("s", &["open", &shop(PAGE)]).ok();
    for argv in steps {
        let reply = server.call("s", argv);
        assert_eq!(reply.code, 0, "{argv:?}: {reply:?}");
    }
    noted(&server)
}

/// Returns what the page noted of methods of playwright.
fn noted_of_playwright(browser: &GateBrowser, steps: &[Value]) -> String {
    let mut script = node("clients/input.mjs");
    let mut script = script
        .arg(browser.port().to_string())
        .arg(shop(PAGE))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    serde_json::to_writer(script.stdin.take().unwrap(), steps).unwrap();
    let output = script.wait_with_output().unwrap();
    assert!(output.status.success(), "playwright failed");
    String::from_utf8(output.stdout).unwrap()
}

/// Compares the events of commands with those of playwright's methods, of which there are at least `least`.
#[track_caller]
fn compare(steps: &[(Vec<&str>, Value)], least: usize) {
    let browser = GateBrowser::start();
    let (ours, theirs): (Vec<_>, Vec<_>) = steps.iter().cloned().unzip();
    let (ours, theirs) = (noted_of_ours(&browser, &ours), noted_of_playwright(&browser, &theirs));
    assert!(theirs.lines().count() >= least, "control: {theirs}");
    for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "event {number}");
    }
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{ours}\n---\n{theirs}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn keys_give_the_events_of_playwright() {
    let mut steps = vec![(vec!["focus", "#area"], json!(["focus", "#area"]))];
    steps.extend(KEYS.iter().map(|key| (vec!["press", key], json!(["keyboard.press", key]))));
    compare(&steps, 2 * KEYS.len());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn typed_text_gives_the_events_of_playwright() {
    let text = "Az 09 ~|{}:\"<>?\nNext, 漢字 \u{1f600}";
    compare(
        &[
            (vec!["focus", "#area"], json!(["focus", "#area"])),
            (vec!["type", "#area", text], json!(["keyboard.type", text])),
        ],
        4 * text.chars().count(),
    );
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pointer_gives_the_events_of_playwright() {
    compare(
        &[
            (vec!["click", "#button"], json!(["click", "#button"])),
            (vec!["dblclick", "#over"], json!(["dblclick", "#over"])),
            (vec!["hover", "#from"], json!(["hover", "#from"])),
            (vec!["click", "#text"], json!(["click", "#text"])),
        ],
        25,
    );
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn manners_of_a_press_give_the_events_of_playwright() {
    let at = json!({ "position": { "x": 30, "y": 12 } });
    let control = json!({ "modifiers": ["Control"], "position": { "x": 5, "y": 6 } });
    compare(
        &[
            (vec!["click", "#over", "--modifiers", "Alt"], json!(["click", "#over", { "modifiers": ["Alt"] }])),
            (vec!["click", "#plane", "--modifiers", "Control", "--at", "5,6"], json!(["click", "#plane", control])),
            (vec!["click", "#over", "--modifiers", "Meta"], json!(["click", "#over", { "modifiers": ["Meta"] }])),
            (vec!["click", "#button", "--hold", "300"], json!(["click", "#button", { "delay": 300 }])),
            (vec!["hover", "#plane", "--at", "30,12"], json!(["hover", "#plane", at])),
            (vec!["dblclick", "#plane", "--at", "30,12"], json!(["dblclick", "#plane", at])),
            (vec!["click", "#from", "--button", "right"], json!(["click", "#from", { "button": "right" }])),
            (vec!["click", "#text"], json!(["click", "#text"])),
        ],
        50,
    );
}

/// A press that lasts ends with its call, and so do the keys that it holds.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn press_that_is_cut_short_leaves_nothing_held() {
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    let argv = ["click", "#button", "--modifiers", "Control+Alt", "--hold", "20000"];
    let check_released = |what: &str| {
        let is_released = || noted(&server).lines().any(|line| line.starts_with("keyup") && line.contains(" Control "));
        wait_for(&format!("the releases after {what}"), || is_released().then_some(()));
        server.call("s", &["click", "#over"]).ok();
        let noted = noted(&server);
        for (line, count) in [
            ("mousedown button 0 1 1 alt+ctrl", 1),
            ("mouseup button 0 0 1 alt+ctrl", 1),
            ("keyup button Alt AltLeft 18 1 false ctrl", 1),
            ("keyup button Control ControlLeft 17 1 false", 1),
            ("click over 0 0 1", 1),
        ] {
            assert_eq!(noted.lines().filter(|noted| *noted == line).count(), count, "{what}: {line}\n{noted}");
        }
    };
    // The client cancels it.
    server.call("s", &["open", &format!("{}?mousedown=held-press", shop(PAGE))]).ok();
    let call = server.begin("s", &argv, None);
    hosts().wait_until_asked("held-press");
    hosts().release("held-press");
    server.cancel(&call);
    check_released("the cancellation");
    // The page shows a dialog.
    server.call("s", &["open", &format!("{}?mousedown=alert", shop(PAGE))]).ok();
    let reply = server.call("s", &argv);
    assert!(text_of(&reply).contains("pressed"), "{reply:?}");
    server.call("s", &["dialog", "accept"]).ok();
    check_released("the dialog");
    // Its time is over.
    server.call("s", &["open", &shop(PAGE)]).ok();
    assert_eq!(server.call_within(2, "s", &argv).code, 124);
    check_released("the timeout");
}

/// A drag from a point to a point presses and releases there.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn drag_from_point_to_point_ends_there() {
    let browser = GateBrowser::start();
    let noted = noted_of_ours(&browser, &[vec!["drag", "#plane", "#plane", "--from", "10,5", "--to", "100,30"]]);
    let has = |line: &str| assert!(noted.lines().any(|noted| noted == line), "{line}\n{noted}");
    has("mousedown plane 0 1 1 10,5");
    has("mouseup plane 0 0 1 100,30");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn drags_press_and_release_where_playwright_does() {
    let browser = GateBrowser::start();
    let ours = noted_of_ours(&browser, &[vec!["drag", "#from", "#to"]]);
    let theirs = noted_of_playwright(&browser, &[json!(["dragAndDrop", "#from", "#to"])]);
    // On the way, our pointer visits what is between them, as a person's does.
    let presses = |noted: &str| -> Vec<String> {
        noted.lines().filter(|line| !line.starts_with("mouseo")).map(str::to_owned).collect()
    };
    assert_eq!(presses(&ours), presses(&theirs));
    assert!(presses(&theirs).iter().any(|line| line.starts_with("mouseup to ")), "control: {theirs}");
}

/// `fill` enters its text as an input method does, and the page hears of it as of a finished edit.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn filling_sends_no_keys_and_ends_with_a_change() {
    let browser = GateBrowser::start();
    let noted = noted_of_ours(&browser, &[vec!["fill", "#text", "first"], vec!["fill", "#text", "Straße 漢"]]);
    let events: Vec<_> = noted.lines().filter(|line| !line.starts_with("mouse")).collect();
    let one = |text: &str| {
        [
            format!("beforeinput text insertText \"{text}\""),
            format!("input text insertText \"{text}\""),
            "change text    untrusted".to_owned(),
        ]
    };
    assert_eq!(events, [one("first"), one("Straße 漢")].concat());
}

/// A call that is canceled while its page is busy with the first half of a press ends the press all the same.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn canceled_press_leaves_no_key_and_no_button_down() {
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    for (argv, begin, end) in [
        (&["press", "b"][..], "keydown area b", "keyup area b"),
        (&["press", "Control+Shift+K"], "keydown area Control", "keyup area Control"),
        (&["type", "#area", "bc"], "keydown area b", "keyup area b"),
        (&["click", "#button"], "mousedown button 0", "mouseup button 0"),
        (&["dblclick", "#button"], "mousedown button 0", "mouseup button 0"),
        (&["drag", "#from", "#to"], "mousedown from 0", "mouseup "),
    ] {
        let (event, _) = begin.split_once(' ').unwrap();
        let name = format!("{}-{}", argv[0], argv[1].trim_start_matches('#').replace('+', "-"));
        server.call("s", &["open", &format!("{}?{event}={name}", shop(PAGE))]).ok();
        server.call("s", &["focus", "#area"]).ok();
        let call = server.begin("s", argv, None);
        hosts().wait_until_asked(&name);
        server.cancel(&call);
        hosts().release(&name);
        wait_for(&format!("the end of {argv:?}"), || {
            noted(&server).lines().any(|line| line.starts_with(end)).then_some(())
        });
        // The session is usable, and nothing is held.
        server.call("s", &["click", "#over"]).ok();
        let noted = noted(&server);
        assert!(noted.lines().any(|line| line == "click over 0 0 1"), "{argv:?}: {noted}");
        let begins = noted.lines().filter(|line| line.starts_with(begin)).count();
        assert!(begins == 1 || (argv[0] == "dblclick" && begins == 2), "{argv:?} must not be made again: {noted}");
    }
}
