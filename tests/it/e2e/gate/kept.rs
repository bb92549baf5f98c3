//! Secrets stay in their fields, and what has left one is a secret where it is.

use super::{
    super::{processes::wait_for, server::Server},
    agent_browsers,
    browser::GateBrowser,
    env, own_policy, session_policy, shop,
};
use crate::e2e::test_env;

/// Keys that copy or cut the text that is selected.
const KEYS: &[&str] = &["Control+c", "Control+x", "Control+Insert", "Shift+Delete"];

/// Runs a test with each engine, in a Chromium of its own. The test gets to know if it is ours.
fn each_engine(start: impl Fn() -> GateBrowser, test: impl Fn(&Server, bool)) {
    let own = (test_env::no_agent_browser().to_owned(), own_policy());
    let others = agent_browsers().into_iter().map(|program| (program, session_policy()));
    for (program, policy) in others.chain([own]) {
        let browser = start();
        test(&env(&browser, &program, &policy).serve(), policy["engine"] == "cdp");
    }
}

fn text_of(server: &Server, argv: &[&str], member: &str) -> String {
    server.call("s", argv).ok().data()[member].as_str().unwrap_or_default().to_owned()
}

fn note(server: &Server) -> String {
    text_of(server, &["get", "value", "#note"], "value")
}

/// Selects the text of a field, presses a key, and pastes into the note. Returns what the note holds, and what was said about the key.
fn pasted(server: &Server, field: &str, key: &str) -> (String, String) {
    server.call("s", &["fill", "#note", ""]).ok();
    server.call("s", &["click", field]).ok();
    server.call("s", &["press", "Control+a"]).ok();
    let said = server.call("s", &["press", key]).ok().stderr;
    server.call("s", &["click", "#note"]).ok();
    server.call("s", &["press", "Control+v"]).ok();
    // A letter behind it shows that the page has handled what came before.
    server.call("s", &["press", "q"]).ok();
    let held = wait_for("the letter", || note(server).strip_suffix('q').map(str::to_owned));
    (held, said)
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn text_of_secret_fields_is_not_copied_or_cut() {
    each_engine(GateBrowser::start_secure, |server, is_ours| {
        // agent-browser has no edits for the others.
        let keys = if is_ours { KEYS } else { &KEYS[..2] };
        for key in keys {
            server.call_within(60, "s", &["open", &shop("gate/kept")]).ok();
            server.call("s", &["fill", "#plain", key]).ok();
            let (held, said) = pasted(server, "#plain", key);
            assert_eq!((held.as_str(), said.contains("stayed in it")), (*key, false), "control");
            server.call("s", &["click", "#show"]).ok();
            for (field, piece) in [("#password", "pw-k"), ("#code", "4815"), ("x-closed", "2342")] {
                let (held, said) = pasted(server, field, key);
                assert!(!held.contains("***") && !held.contains(piece), "{field} {key}: {held}");
                assert!(said.contains("stayed in it"), "ours: {is_ours}, {field} {key}: {said}");
            }
        }
    });
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn text_of_secret_fields_is_not_dragged() {
    let browser = GateBrowser::start_secure();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    server.call("s", &["open", &shop("gate/kept")]).ok();
    for field in ["#plain", "#code"] {
        server.call("s", &["click", field]).ok();
        server.call("s", &["press", "Control+a"]).ok();
        let dragged = server.call("s", &["drag", field, "#note"]);
        let has_said = dragged.stderr.contains("stayed in it");
        let held = note(&server);
        if field == "#plain" {
            assert!(!has_said && held.contains("plain"), "control: {held} {dragged:?}");
        } else {
            assert!(has_said && !held.contains("4815") && !held.contains("***"), "{held} {dragged:?}");
        }
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn piece_of_secret_in_another_field_is_secret() {
    each_engine(GateBrowser::start, |server, _| {
        for (button, field, piece) in [("#mirror", "#note", "pw-kep"), ("#edit", "#editor", "kept-")] {
            server.call_within(60, "s", &["open", &shop("gate/kept")]).ok();
            server.call("s", &["click", "#empty"]).ok();
            server.call("s", &["fill", "#note", "pw-ke is typed"]).ok();
            assert!(server.call("s", &["screenshot"]).ok().picture.is_some(), "control: nothing has left the field");
            assert_eq!(note(server), "pw-ke is typed", "control: the agent typed it");
            assert_eq!(text_of(server, &["get", "value", "#user"], "value"), "t-7Qx", "control: it was there before");
            server.call("s", &["fill", "#note", ""]).ok();
            server.call_within(60, "s", &["open", &shop("gate/kept")]).ok();
            server.call("s", &["click", "#empty"]).ok();
            server.call("s", &["click", button]).ok();
            for argv in [&["snapshot"][..], &["get", "text", field], &["get", "html", "form"]] {
                let reply = server.call("s", argv);
                assert!(!reply.stdout.contains(piece), "{argv:?}: {reply:?}");
            }
            let reply = server.call("s", &["screenshot"]);
            assert!(reply.stderr.starts_with("plain-value-visible: ") && reply.picture.is_none(), "{field}: {reply:?}");
        }
    });
}

/// A part of a text of the page is selected by the pointer, copied, and pasted behind what the agent has typed.
// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn piece_of_secret_behind_a_long_text_is_secret() {
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    for (length, is_long) in [(10, false), (5000, true)] {
        for (element, piece) in [("#words", "plai"), ("#printed", "pw-k")] {
            // What is a secret in one session is none in another.
            let session = &format!("s{length}{}", element.trim_start_matches('#'));
            let call = |argv: &[&str]| server.call(session, argv);
            call(&["open", &shop("gate/kept")]).ok();
            call(&["click", "#print"]).ok();
            call(&["fill", "#note", &"x".repeat(length)]).ok();
            call(&["drag", element, element, "--from", "0,8", "--to", "60,8"]).ok();
            call(&["press", "Control+c"]).ok();
            call(&["focus", "#note"]).ok();
            call(&["press", "Control+End"]).ok();
            call(&["press", "Control+v"]);
            let reply = call(&["get", "value", "#note"]);
            if element == "#words" {
                assert!(reply.stdout.contains(piece), "control: {is_long}: {}", reply.stderr);
            } else {
                assert!(!reply.stdout.contains(piece), "{is_long}: {reply:?}");
                // A text that is too long to be kept gives no answer.
                assert_eq!(reply.stderr.starts_with("page-unreadable: "), is_long, "{}", reply.stderr);
            }
        }
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn piece_of_secret_in_a_part_of_an_editor_is_secret() {
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    // A line of an editor, and the title of a document that is edited as a whole.
    for (part, button) in [("#line", "h1"), ("#title", "#design")] {
        for (element, piece) in [("#words", "plai"), ("#printed", "pw-k")] {
            let session = &format!("{part}{element}").replace('#', "s-");
            let call = |argv: &[&str]| server.call(session, argv);
            call(&["open", &shop("gate/kept")]).ok();
            // Else all of an edited document has a secret from the start.
            if element == "#printed" {
                call(&["click", "#print"]).ok();
            }
            call(&["drag", element, element, "--from", "0,8", "--to", "60,8"]).ok();
            call(&["press", "Control+c"]).ok();
            call(&["click", button]).ok();
            call(&["click", part]).ok();
            call(&["press", "Control+v"]).ok();
            let reply = call(&["get", "text", part]);
            assert_eq!(reply.stdout.contains(piece), element == "#words", "{part} {element}: {reply:?}");
        }
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_as_text_of_the_page_is_in_no_picture() {
    each_engine(GateBrowser::start, |server, _| {
        server.call_within(60, "s", &["open", &shop("gate/kept")]).ok();
        server.call("s", &["click", "#empty"]).ok();
        assert!(server.call("s", &["screenshot"]).ok().picture.is_some(), "control");
        server.call("s", &["click", "#print"]).ok();
        let reply = server.call("s", &["screenshot"]);
        assert!(reply.stderr.starts_with("plain-value-visible: ") && reply.picture.is_none(), "{reply:?}");
        server.call("s", &["click", "#empty"]).ok();
        assert!(server.call("s", &["screenshot"]).ok().picture.is_some(), "control: it is gone");
    });
}
