//! The subcommands, each with its effect on a real page.

use std::fs;

use serde_json::{Value, json};

use super::{
    hosts::{NEWS, SHOP},
    server::Answer,
    world::{self, Browser},
};

fn shop() -> String {
    format!("http://{SHOP}/")
}

/// Width and height of a PNG that decodes from its first byte to its last.
fn size_of(png: &[u8]) -> (u32, u32) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    // a window that was never painted has one colour only
    assert!(pixels.iter().any(|byte| *byte != pixels[0]), "the picture shows something");
    (info.width, info.height)
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_form_is_opened_read_filled_and_sent() {
    let browser = Browser::take();
    let server = world::home().serve();
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
fn every_other_everyday_subcommand_reaches_the_page() {
    let _browser = Browser::take();
    let server = world::home().serve();
    let call = |argv: &[&str]| server.call("hands", argv).ok();

    call(&["open", &shop()]);
    call(&["focus", "#note"]);
    call(&["type", "#name", "one"]);
    call(&["press", "Tab"]);
    call(&["hover", "#over"]);
    call(&["dblclick", "#twice"]);
    let page = call(&["snapshot"]).page();
    let events = page.lines().find(|line| line.contains("events:")).unwrap();
    // Tab leaves the name for the note, so the note is focused a second time
    for event in ["focus key-o key-n key-e key-Tab focus", "hover", "dblclick"] {
        assert!(events.contains(event), "{event} in {events}");
    }

    // `type` writes at the cursor, `fill` replaces what stands there
    let name = || {
        let page = call(&["snapshot"]).page();
        page.lines().find(|line| line.contains("textbox \"Name\"")).unwrap().trim().to_owned()
    };
    call(&["focus", "#name"]);
    call(&["press", "End"]);
    call(&["type", "#name", "two"]);
    assert!(name().ends_with(": onetwo"), "{}", name());
    call(&["fill", "#name", "three"]);
    assert!(name().ends_with(": three"), "{}", name());

    // a smaller view of the same page
    let part = call(&["snapshot", "-i", "-c", "-d", "3", "-s", "#order"]).page();
    assert!(part.contains("Save") && !part.contains("Twice"), "{part}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn wait_has_five_forms_and_no_sixth() {
    let _browser = Browser::take();
    let server = world::home().impatient().serve();
    let call = |argv: &[&str]| server.call("wait", argv);

    call(&["open", &shop()]).ok();
    call(&["click", "#later"]).ok();
    call(&["wait", "#arrived"]).ok();
    call(&["wait", "--text", "It has arrived"]).ok();
    assert_eq!(call(&["wait", "--url", "**/arrived"]).ok().data()["url"], format!("http://{SHOP}/arrived"));
    assert_eq!(call(&["wait", "--load", "load"]).ok().data()["state"], "load");
    call(&["wait", "50"]).ok();

    call(&["wait", "--fn", "true"]).fails_with(64);
    // the refusals above are no wish of the page: what is not there is waited for in vain
    assert_ne!(call(&["wait", "#never-arrives"]).code, 0);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_screenshot_is_a_picture_of_the_window_in_the_session_folder() {
    let _browser = Browser::take();
    let server = world::home().serve();
    let call = |argv: &[&str]| server.call("camera", argv);
    call(&["open", &shop()]).ok();
    let page = call(&["snapshot"]).ok().page();
    let window = page.split_once("window ").unwrap().1;
    let (width, rest) = window.split_once('x').unwrap();
    let height: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let window = (width.parse().unwrap(), height.parse().unwrap());

    let whole = call(&["screenshot"]).ok();
    let picture = whole.picture.clone().expect("the picture comes with the answer");
    assert_eq!(size_of(&picture), window);

    let named = call(&["screenshot", "window.png"]).ok();
    assert_eq!(size_of(named.picture.as_ref().unwrap()), window);
    let path = named.data()["path"].as_str().unwrap().to_owned();
    let path = fs::canonicalize(path).unwrap();
    let workspace = server.home().workspace().canonicalize().unwrap();
    assert!(path.starts_with(&workspace), "{path:?} is below {workspace:?}");
    assert_ne!(path.parent().unwrap(), workspace, "each session has a folder of its own");
    assert_eq!(fs::read(&path).unwrap(), named.picture.unwrap(), "the file is the picture");

    let part = call(&["screenshot", "#save", "button.png"]).ok();
    let (width, height) = size_of(&part.picture.unwrap());
    assert!(width < window.0 / 2 && height < window.1 / 2, "a button is small: {width}x{height}");

    for outside in ["../out.png", "/dev/shm/out.png", "a/b.png"] {
        call(&["screenshot", outside]).fails_with(64);
    }
    assert!(!workspace.join("out.png").exists());
    assert!(!fs::exists("/dev/shm/out.png").unwrap());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn close_ends_the_session_and_leaves_chromium_alone() {
    let browser = Browser::take();
    let server = world::home().serve();
    server.call("first", &["open", &shop()]).ok();
    server.call("other", &["snapshot"]).ok();
    let both = server.processes().len();

    server.call("first", &["close"]).ok();
    super::processes::until("the end of the closed session's processes", || {
        let left = server.processes().len();
        assert!(left > 0, "the other session lives on");
        (left < both).then_some(())
    });
    assert_eq!(browser.address(), shop(), "Chromium lives, with its page");

    // closing twice is no accident, and the name can be used again
    server.call("first", &["close"]).ok();
    assert!(server.call("first", &["snapshot"]).ok().page().contains("nothing saved"));
    server.call("other", &["snapshot"]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn optional_subcommands_work_only_where_the_policy_enables_them() {
    let browser = Browser::take();
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

    let server = world::home().serve();
    server.call("s", &["open", &shop()]).ok();
    for argv in optional {
        let refusal = server.call("s", argv);
        assert!([64, 77].contains(&refusal.code), "{argv:?} is off: {refusal:?}");
        assert!(refusal.stderr.contains(argv[0]), "the refusal names it: {refusal:?}");
    }
    assert_eq!(browser.address(), shop());
    drop(server);

    let names = ["back", "forward", "reload", "get", "is", "scroll", "tab", "pdf"];
    let server = world::home().with_policy(&json!({"subcommands": {"enable": names}})).serve();
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
    let workspace = server.home().workspace().canonicalize().unwrap();
    assert!(fs::canonicalize(path).unwrap().starts_with(workspace));
    // enabling the reading form of a subcommand does not enable its others
    for argv in [&["get", "cdp-url"] as &[&str], &["tab", "new", "file:///etc/passwd"], &["pdf", "../x.pdf"]] {
        let refusal = server.call("s", argv);
        assert!([64, 77].contains(&refusal.code), "{argv:?}: {refusal:?}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_person_in_a_shell_has_the_same_tool() {
    let browser = Browser::take();
    let home = world::home();

    let run = home.run(&["call", "--session", "shell", "--json", "--", "open", &shop()]);
    let body: Value = serde_json::from_slice(&run.stdout).expect("--json prints JSON");
    assert_eq!(body["exit_code"], 0, "{body}");
    assert_eq!(body["session_id"], "shell");
    assert_eq!(run.status.code(), Some(0));
    assert_eq!(browser.address(), shop());

    let run = home.run(&["call", "--session", "shell", "--", "snapshot"]);
    assert_eq!(run.status.code(), Some(0));
    assert!(String::from_utf8(run.stdout).unwrap().contains("nothing saved"));

    let run = home.run(&["call", "--session", "shell", "--", "open", "http://10.20.30.40/"]);
    assert_eq!(run.status.code(), Some(77), "the exit code is the call's");
    assert!(!run.stderr.is_empty());

    home.run(&["call", "--session", "shell", "--", "close"]);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn doctor_finds_everything_in_order() {
    let _browser = Browser::take();
    let home = world::home().with_policy(&json!({}));
    let run = home.run(&["doctor"]);
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(said.contains("0.19.0"), "doctor names agent-browser's version: {said}");
    // the test network has no name server for the rest of the world
    let bad = said.lines().filter(|line| line.contains("bad") && !line.to_lowercase().contains("dns"));
    assert_eq!(bad.collect::<Vec<_>>(), Vec::<&str>::new(), "{said}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_is_typed_comes_back_in_no_answer_and_no_audit_line() {
    let _browser = Browser::take();
    let server = world::home().impatient().serve();
    let secret = "correct-horse-battery-staple";
    let open = format!("http://{SHOP}/login");
    let calls: &[&[&str]] = &[
        &["open", &open],
        &["fill", "#user", "grace-hopper"],
        &["fill", "#password", secret],
        &["click", "button"],
        &["snapshot"],
        // refused, yet it must not be quoted in the refusal
        &["fill", "#password", secret, "--cdp"],
        &["fill", "#no-such-field-here", secret],
    ];
    let answers: Vec<Answer> = calls.iter().map(|argv| server.call("login", argv)).collect();
    for answer in &answers {
        assert!(!answer.stdout.contains(secret) && !answer.stderr.contains(secret), "{answer:?}");
    }
    // the secret did arrive, or the test would show nothing
    let arrived = format!("password of {} characters", secret.len());
    assert!(answers[4].page().contains(&arrived), "{:?}", answers[4]);

    let audit = server.home().audit();
    assert_eq!(audit.lines().count(), calls.len(), "one line a call: {audit}");
    for word in [secret, "grace-hopper", "/login"] {
        assert!(!audit.contains(word), "`{word}` in {audit}");
    }
    assert!(audit.contains(SHOP), "the host is there: {audit}");
}
