//! Every subcommand and its effect on a real page.

use serde_json::{Value, json};
use std::fs;

use super::{
    hosts::{NEWS, SHOP},
    server::{CallReply, Server},
    test_env::{self, Browser},
};

fn shop() -> String {
    format!("http://{SHOP}/")
}

/// Decodes a whole PNG and returns width, height and pixels.
pub(super) fn decode(png: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width, info.height, pixels)
}

fn size_of(png: &[u8]) -> (u32, u32) {
    let (width, height, pixels) = decode(png);
    // A window that was never painted has only one color.
    assert!(pixels.iter().any(|byte| *byte != pixels[0]), "the picture must not be blank");
    (width, height)
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn form_is_opened_read_filled_and_submitted() {
    let browser = Browser::lock();
    let server = test_env::default_env().serve();
    let call = |argv: &[&str]| server.call("form", argv).ok();

    let opened = call(&["open", &shop()]);
    assert_eq!(opened.session, "form");
    assert_eq!(opened.data()["url"], shop());
    assert_eq!(opened.data()["title"], "Shop");

    let seen = call(&["snapshot", "-i"]);
    call(&["fill", &seen.reference("textbox", "Name"), "Ada -i Lovelace"]);
    call(&["fill", &seen.reference("textbox", "Note"), "first line\nsecond line"]);
    call(&["select", &seen.reference("combobox", "Size"), "l"]);
    call(&["check", &seen.reference("checkbox", "Gift")]);
    call(&["uncheck", &seen.reference("checkbox", "News")]);
    call(&["click", &seen.reference("button", "Save")]);

    let after = call(&["snapshot"]).page();
    assert!(after.contains("saved Ada -i Lovelace/first line second line/l/gift=true/news=false"), "{after}");
    assert_eq!(browser.address(), shop());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn every_default_subcommand_reaches_the_page() {
    let _browser = Browser::lock();
    for program in test_env::agent_browsers() {
        // The native one types without events of keys.
        let typed =
            if program == test_env::native() { "key-Tab focus" } else { "focus key-o key-n key-e key-Tab focus" };
        subcommands_reach_the_page(&test_env::env_with(&program).serve(), typed);
    }
    let own = test_env::env_with(test_env::no_agent_browser()).with_policy(&json!({ "engine": "cdp" }));
    subcommands_reach_the_page(&own.serve(), "focus key-o key-n key-e key-Tab focus");
}

fn subcommands_reach_the_page(server: &Server, typed: &str) {
    let call = |argv: &[&str]| server.call("hands", argv).ok();

    call(&["open", &shop()]);
    call(&["focus", "#note"]);
    call(&["type", "#name", "one"]);
    call(&["press", "Tab"]);
    call(&["hover", "#over"]);
    call(&["dblclick", "#twice"]);
    let page = call(&["snapshot"]).page();
    let events = page.lines().find(|line| line.contains("events:")).unwrap();
    // Tab moves the focus from the name to the note, so the note gets a second focus event.
    for event in [typed, "hover", "dblclick"] {
        assert!(events.contains(event), "{event} in {events}");
    }

    // `type` inserts at the cursor, `fill` replaces the value.
    let name = || {
        let page = call(&["snapshot"]).page();
        page.lines().find(|line| line.contains("textbox \"Name\"")).unwrap().trim().to_owned()
    };
    call(&["focus", "#name"]);
    call(&["press", "End"]);
    call(&["type", "#name", "two"]);
    assert!(name().contains("onetwo"), "{}", name());
    call(&["fill", "#name", "three"]);
    assert!(name().contains("three") && !name().contains("two"), "{}", name());

    // A reduced snapshot of the same page.
    let part = call(&["snapshot", "-i", "-c", "-d", "3", "-s", "#order"]).page();
    assert!(part.contains("Save") && !part.contains("Twice"), "{part}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn wait_has_exactly_five_forms() {
    let _browser = Browser::lock();
    let server = test_env::default_env().with_short_action_timeout().serve();
    let call = |argv: &[&str]| server.call("wait", argv);

    call(&["open", &shop()]).ok();
    call(&["click", "#later"]).ok();
    call(&["wait", "#arrived"]).ok();
    call(&["wait", "--text", "It has arrived"]).ok();
    assert_eq!(call(&["wait", "--url", "**/arrived"]).ok().data()["url"], format!("http://{SHOP}/arrived"));
    assert_eq!(call(&["wait", "--load", "load"]).ok().data()["state"], "load");
    call(&["wait", "50"]).ok();

    call(&["wait", "--fn", "true"]).fails_with(64);
    // An element that never appears ends in a timeout, unlike the refusal above.
    assert_ne!(call(&["wait", "#never-arrives"]).code, 0);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn screenshot_shows_window_and_is_in_session_folder() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve();
    let call = |argv: &[&str]| server.call("camera", argv);
    call(&["open", &shop()]).ok();
    let page = call(&["snapshot"]).ok().page();
    let window = page.split_once("window ").unwrap().1;
    let (width, rest) = window.split_once('x').unwrap();
    let height: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let window = (width.parse().unwrap(), height.parse().unwrap());

    let whole = call(&["screenshot"]).ok();
    let picture = whole.picture.clone().expect("no picture in the reply");
    assert_eq!(size_of(&picture), window);

    let named = call(&["screenshot", "window.png"]).ok();
    assert_eq!(size_of(named.picture.as_ref().unwrap()), window);
    let path = named.data()["path"].as_str().unwrap().to_owned();
    let path = fs::canonicalize(path).unwrap();
    let workspace = server.env().workspace().canonicalize().unwrap();
    assert!(path.starts_with(&workspace), "{path:?} must be below {workspace:?}");
    assert_ne!(path.parent().unwrap(), workspace, "each session must have its own folder");
    assert_eq!(fs::read(&path).unwrap(), named.picture.unwrap(), "the file must equal the picture");

    let part = call(&["screenshot", "#save", "button.png"]).ok();
    let (width, height) = size_of(&part.picture.unwrap());
    assert!(width < window.0 / 2 && height < window.1 / 2, "a button must be small: {width}x{height}");

    for outside in ["../out.png", "/dev/shm/out.png", "a/b.png"] {
        call(&["screenshot", outside]).fails_with(64);
    }
    assert!(!workspace.join("out.png").exists());
    assert!(!fs::exists("/dev/shm/out.png").unwrap());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn close_ends_session_and_keeps_chromium_running() {
    let browser = Browser::lock();
    let server = test_env::default_env().serve();
    server.call("first", &["open", &shop()]).ok();
    server.call("other", &["snapshot"]).ok();
    let both = server.processes().len();

    server.call("first", &["close"]).ok();
    super::processes::wait_for("the end of the closed session's processes", || {
        let left = server.processes().len();
        assert!(left > 0, "the other session must continue");
        (left < both).then_some(())
    });
    assert_eq!(browser.address(), shop(), "Chromium must keep running and show its page");

    // Closing twice is allowed, and the name can be used again.
    server.call("first", &["close"]).ok();
    assert!(server.call("first", &["snapshot"]).ok().page().contains("nothing saved"));
    server.call("other", &["snapshot"]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn optional_subcommands_work_only_where_enabled() {
    let browser = Browser::lock();
    let optional: &[&[&str]] = &[
        &["back"],
        &["forward"],
        &["reload"],
        &["get", "title"],
        &["is", "visible", "h1"],
        &["scroll", "down", "600"],
        &["tab"],
        &["pdf", "page.pdf"],
    ];

    let server = test_env::default_env().serve();
    server.call("s", &["open", &shop()]).ok();
    for argv in optional {
        let refusal = server.call("s", argv);
        assert!([64, 77].contains(&refusal.code), "{argv:?} must be disabled: {refusal:?}");
        assert!(refusal.stderr.contains(argv[0]), "the refusal must name it: {refusal:?}");
    }
    assert_eq!(browser.address(), shop());
    drop(server);

    let names = ["back", "forward", "reload", "get", "is", "scroll", "tab", "pdf"];
    let server = test_env::default_env().with_policy(&json!({"subcommands": {"enable": names}})).serve();
    let call = |argv: &[&str]| server.call("s", argv).ok();
    let tall = format!("http://{NEWS}/tall");
    call(&["open", &shop()]);
    call(&["open", &tall]);
    call(&["back"]);
    assert_eq!(browser.address(), shop());
    call(&["forward"]);
    assert_eq!(browser.address(), tall);
    call(&["reload"]);
    assert_eq!(browser.address(), tall);
    assert_eq!(call(&["get", "title"]).data()["title"], "Tall");
    assert_eq!(call(&["get", "url"]).data()["url"], tall);
    assert_eq!(call(&["get", "text", "h1"]).data()["text"], "Tall");
    assert_eq!(call(&["is", "visible", "h1"]).data()["visible"], true);
    call(&["scroll", "down", "600"]);
    call(&["wait", "--text", "at more"]);
    assert_eq!(call(&["tab"]).data()["tabs"].as_array().unwrap().len(), 1);
    let path = call(&["pdf", "page.pdf"]).data()["path"].as_str().unwrap().to_owned();
    assert!(fs::read(&path).unwrap().starts_with(b"%PDF-"));
    let workspace = server.env().workspace().canonicalize().unwrap();
    assert!(fs::canonicalize(path).unwrap().starts_with(workspace));
    // Enabling a subcommand does not enable forms that the grammar does not have.
    for argv in [&["get", "cdp-url"] as &[&str], &["tab", "new", "file:///etc/passwd"], &["pdf", "../x.pdf"]] {
        let refusal = server.call("s", argv);
        assert!([64, 77].contains(&refusal.code), "{argv:?}: {refusal:?}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cli_call_drives_the_same_tool() {
    let browser = Browser::lock();
    let env = test_env::default_env();

    let run = env.run(&["call", "--session", "shell", "--json", "--", "open", &shop()]);
    let body: Value = serde_json::from_slice(&run.stdout).expect("--json must print JSON");
    assert_eq!(body["exit_code"], 0, "{body}");
    assert_eq!(body["session_id"], "shell");
    assert_eq!(run.status.code(), Some(0));
    assert_eq!(browser.address(), shop());

    let run = env.run(&["call", "--session", "shell", "--", "snapshot"]);
    assert_eq!(run.status.code(), Some(0));
    assert!(String::from_utf8(run.stdout).unwrap().contains("nothing saved"));

    let run = env.run(&["call", "--session", "shell", "--", "open", "http://10.20.30.40/"]);
    assert_eq!(run.status.code(), Some(77), "the exit code must be that of the call");
    assert!(!run.stderr.is_empty());

    env.run(&["call", "--session", "shell", "--", "close"]);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cli_call_prints_no_control_character_of_a_page() {
    let _browser = Browser::lock();
    let env = test_env::default_env().with_policy(&json!({"subcommands": {"enable": ["get"]}}));
    let print = |argv: &[&str]| {
        let run = env.run(&[&["call", "--session", "shell"], argv].concat());
        String::from_utf8([run.stdout, run.stderr].concat()).unwrap()
    };
    let page = format!("{}gate/controls", shop());
    let commands: [&[&str]; 5] =
        [&["open", &page], &["get", "title"], &["get", "text", "#text"], &["snapshot"], &["click", "#absent\u{9b}31m"]];
    for argv in commands {
        let shown = print(&[&["--"], argv].concat());
        let is_raw =
            |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{2066}' | '\u{200f}' | '\u{2028}');
        assert!(!shown.contains(is_raw), "{argv:?}: {shown:?}");
        if argv[0] == "get" {
            // Chromium itself takes C0 out of titles.
            let has_text = shown.contains("中文 é 👩\u{200d}👧") && shown.contains("]52;c;YQ==");
            assert!(has_text && shown.contains("\\u{9b}31m"), "control: {argv:?}: {shown:?}");
        }
    }
    let json: Value = serde_json::from_str(&print(&["--json", "--", "get", "title"])).unwrap();
    assert!(json["stdout"].as_str().unwrap().contains("52;c;YQ=="), "control: {json}");
    print(&["--", "close"]);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn doctor_reports_healthy_setup() {
    let _browser = Browser::lock();
    let env = test_env::env_with(&test_env::agent_browser()).with_policy(&json!({}));
    let run = env.run(&["doctor"]);
    let text = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(text.contains("0.19.0"), "doctor must name agent-browser's version: {text}");
    assert!(text.contains("ok   control gate   connects to "), "{text}");
    assert!(text.contains("warn launch rules   Chromium runs without them"), "the tests start it without: {text}");
    // The test network has no name server for other names.
    let bad = text.lines().filter(|line| line.contains("bad") && !line.to_lowercase().contains("dns"));
    assert_eq!(bad.collect::<Vec<_>>(), Vec::<&str>::new(), "{text}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn typed_text_is_in_no_reply_and_no_audit_line() {
    let _browser = Browser::lock();
    let server = test_env::default_env().with_short_action_timeout().serve();
    let secret = "correct-horse-battery-staple";
    let open = format!("http://{SHOP}/login");
    let calls: &[&[&str]] = &[
        &["open", &open],
        &["fill", "#user", "grace-hopper"],
        &["fill", "#password", secret],
        &["click", "button"],
        &["snapshot"],
        // A refusal must not quote the secret either.
        &["fill", "#password", secret, "--cdp"],
        &["fill", "#no-such-field-here", secret],
    ];
    let answers: Vec<CallReply> = calls.iter().map(|argv| server.call("login", argv)).collect();
    for answer in &answers {
        assert!(!answer.stdout.contains(secret) && !answer.stderr.contains(secret), "{answer:?}");
    }
    // Control: the page did receive the secret.
    let arrived = format!("password of {} characters", secret.len());
    assert!(answers[4].page().contains(&arrived), "{:?}", answers[4]);

    let audit = server.env().audit();
    assert_eq!(audit.lines().count(), calls.len(), "one line for each call: {audit}");
    for word in [secret, "grace-hopper", "/login"] {
        assert!(!audit.contains(word), "`{word}` in {audit}");
    }
    assert!(audit.contains(SHOP), "the host must be logged: {audit}");
}
