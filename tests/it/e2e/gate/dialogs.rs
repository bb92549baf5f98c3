//! Dialogs of pages: the call that causes one answers at once, and the next call works.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    super::server::{CallReply, Server, TestEnv},
    agent_browsers,
    browser::GateBrowser,
    own_policy, session_policy, shop, test_env, text_of,
};

/// The longest time that a call with a dialog may take: less than one that hangs takes, also on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(22);

/// Creates the environment of a server, with the longest action timeout that there is.
fn env(browser: &GateBrowser, program: &Path, policy: &Value) -> TestEnv {
    super::env(browser, program, policy).with("BROWSER_SHELL_ACTION_TIMEOUT_MS", "25000")
}

fn open(server: &Server) {
    server.call_within(60, "s", &["open", &shop("gate/dialogs")]).ok();
}

/// Calls and fails unless the answer came at once.
#[track_caller]
fn at_once(server: &Server, argv: &[&str]) -> CallReply {
    let start = Instant::now();
    let reply = server.call("s", argv);
    assert!(start.elapsed() < AT_ONCE, "{argv:?} took {:?}: {reply:?}", start.elapsed());
    reply
}

fn state(server: &Server) -> String {
    let reply = at_once(server, &["get", "text", "#state"]).ok();
    reply.data()["text"].as_str().unwrap().to_owned()
}

/// Fails unless the reply reports this dialog.
#[track_caller]
fn assert_dialog(reply: &CallReply, kind: &str, message: &str) {
    let dialog = reply.data()["dialog"].clone();
    assert_eq!(dialog["type"], kind, "{reply:?}");
    assert_eq!(dialog["message"], message, "{reply:?}");
    assert_eq!(dialog["url"], shop("gate/dialogs"), "{reply:?}");
}

fn dialog_policy() -> Value {
    let mut policy = session_policy();
    policy["subcommands"]["enable"].as_array_mut().unwrap().push("dialog".into());
    policy
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn dialog_of_a_click_is_reported_at_once() {
    // Element, type, message, and what the safe answer makes of the page.
    let rows = [
        ("#alert", "alert", "message of an alert", "alert closed"),
        ("#confirm", "confirm", "message of a question", "confirmed false"),
        ("#prompt", "prompt", "message of a prompt", "prompted null"),
    ];
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        open(&server);
        for (element, kind, message, after) in rows {
            let reply = at_once(&server, &["click", element]).ok();
            assert_dialog(&reply, kind, message);
            assert!(at_once(&server, &["snapshot"]).ok().page().contains("Dialogs"));
            assert_eq!(state(&server), after, "{}", program.display());
        }
        let quiet = at_once(&server, &["click", "h1"]).ok();
        assert!(quiet.data().get("dialog").is_none(), "control: {quiet:?}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn dialog_subcommand_answers_open_dialog() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &dialog_policy()).serve();
        open(&server);
        // A dialog stays open only for a client that can answer it.
        for (element, answer, after) in [
            ("#confirm", &["dialog", "accept"][..], "confirmed true"),
            ("#confirm", &["dialog", "dismiss"], "confirmed false"),
            ("#prompt", &["dialog", "accept", "text of an agent"], "prompted text of an agent"),
            ("#prompt", &["dialog", "dismiss"], "prompted null"),
            ("#alert", &["dialog", "accept"], "alert closed"),
        ] {
            let reply = at_once(&server, &["click", element]).ok();
            assert!(reply.data()["dialog"]["type"].is_string(), "{reply:?}");
            let blocked = at_once(&server, &["snapshot"]);
            assert!(blocked.code != 0 && blocked.stderr.starts_with("dialog-open: "), "{element}: {blocked:?}");
            let answered = at_once(&server, answer).ok();
            assert!(!text_of(&answered).contains("text of an agent"), "{answered:?}");
            assert_eq!(state(&server), after, "{}, {element}", program.display());
        }
        let nothing = at_once(&server, &["dialog", "accept"]);
        assert!(nothing.code != 0 && nothing.stderr.starts_with("no-dialog: "), "{nothing:?}");
        let audit = server.env().audit();
        assert!(!audit.contains("text of an agent"), "{audit}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn dialog_that_follows_another_is_reported_at_once() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &dialog_policy()).serve();
        open(&server);
        at_once(&server, &["click", "#twice"]).ok();
        let reply = at_once(&server, &["dialog", "accept"]).ok();
        assert_eq!(reply.data()["answer"], "accepted");
        let next = at_once(&server, &["snapshot"]);
        assert!([&reply, &next].iter().any(|reply| reply.stderr.contains("`alert`")), "{reply:?} {next:?}");
        at_once(&server, &["dialog", "accept"]).ok();
        assert_eq!(state(&server), "answered twice", "{}", program.display());
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn prompt_is_accepted_with_the_text_that_it_proposes() {
    let browser = GateBrowser::start();
    let server = env(&browser, &test_env::native(), &dialog_policy()).serve();
    open(&server);
    let reply = at_once(&server, &["click", "#prompt"]).ok();
    assert_eq!(reply.data()["dialog"]["default"], "default", "{reply:?}");
    at_once(&server, &["dialog", "accept"]).ok();
    assert_eq!(state(&server), "prompted default");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn text_that_a_dialog_cuts_off_is_a_failure() {
    let browser = GateBrowser::start();
    let mut policy = dialog_policy();
    policy["snapshot"]["engine"] = "gate".into();
    let server = env(&browser, &test_env::native(), &policy).serve();
    open(&server);
    let reply = at_once(&server, &["type", "#keys", "abc"]).fails_with(1);
    let told = "dialog-open: the page opened a dialog after 2 of 3 keys";
    assert!(reply.stderr.starts_with(told), "{reply:?}");
    at_once(&server, &["dialog", "accept"]).ok();
    assert_eq!(server.call("s", &["get", "value", "#keys"]).ok().data()["value"], "ab");
    at_once(&server, &["type", "#keys", "cd"]).ok();
    assert_eq!(server.call("s", &["get", "value", "#keys"]).ok().data()["value"], "abcd", "control");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn wait_that_a_dialog_ends_is_a_failure() {
    let browser = GateBrowser::start();
    let mut policy = dialog_policy();
    policy["snapshot"]["engine"] = "gate".into();
    let server = env(&browser, &test_env::native(), &policy).serve();
    open(&server);
    at_once(&server, &["click", "#later"]).ok();
    let reply = at_once(&server, &["wait", "--text", "Order placed"]).fails_with(1);
    assert!(reply.stderr.starts_with("dialog-open: "), "{reply:?}");
    at_once(&server, &["dialog", "accept"]).ok();
    at_once(&server, &["wait", "--text", "alert closed"]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_with_endless_dialogs_can_be_left() {
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    let open_loop = || at_once(&server, &["open", &shop("gate/dialog-loop")]).ok();
    let open_hello = || {
        at_once(&server, &["open", &shop("hello")]).ok();
        assert!(at_once(&server, &["snapshot"]).ok().page().contains("Hello from"));
    };
    let is_blocked = || at_once(&server, &["get", "url"]).stderr.starts_with("dialog-open: ");
    open_loop();
    at_once(&server, &["click", "#loop"]).ok();
    at_once(&server, &["dialog", "dismiss"]).ok();
    assert!(is_blocked(), "control: the next dialog is open");
    assert_eq!(at_once(&server, &["tab", "list"]).ok().data()["tabs"].as_array().unwrap().len(), 1);
    assert!(is_blocked(), "it is still open");
    open_hello();
    for argv in [&["reload"][..], &["back"]] {
        open_loop();
        at_once(&server, &["click", "#loop"]).ok();
        let reply = at_once(&server, argv);
        assert!(reply.code != 0 && reply.stderr.starts_with("page-lost: "), "{argv:?}: {reply:?}");
        open_hello();
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn one_dialog_is_left_with_its_page() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &dialog_policy()).serve();
        open(&server);
        at_once(&server, &["click", "#confirm"]).ok();
        // The same tab: its page is not lost.
        let reply = at_once(&server, &["reload"]).ok();
        assert!(text_of(&reply).contains("`confirm`") && text_of(&reply).contains("is dismissed"), "{reply:?}");
        assert_eq!(state(&server), "nothing answered", "{}", program.display());
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn dialog_subcommand_is_refused_unless_enabled() {
    let browser = GateBrowser::start();
    let server = env(&browser, &test_env::native(), &session_policy()).serve();
    open(&server);
    let reply = server.call("s", &["dialog", "accept"]).fails_with(77);
    assert!(reply.stderr.starts_with("subcommand-not-enabled"), "{reply:?}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_that_asks_before_it_is_left_can_be_left() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        open(&server);
        // Only a page that was used asks.
        at_once(&server, &["click", "#unload"]).ok();
        let reply = at_once(&server, &["click", "#away"]);
        assert_eq!(reply.data()["dialog"]["type"], "beforeunload", "{reply:?}");
        at_once(&server, &["snapshot"]).ok();
        let away = at_once(&server, &["open", &shop("hello")]);
        assert_eq!(away.code, 0, "{away:?}");
        assert!(at_once(&server, &["snapshot"]).ok().page().contains("Hello from"));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn login_prompt_is_reported_at_once() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        open(&server);
        let reply = at_once(&server, &["open", &shop("login-wall?Basic")]);
        let is_dialog = reply.code == 0 && reply.data()["dialog"]["type"] == "auth";
        assert!(is_dialog || reply.stderr.starts_with("login-required: "), "{reply:?}");
        at_once(&server, &["snapshot"]).ok();
        at_once(&server, &["open", &shop("hello")]).ok();
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn file_chooser_is_closed_and_reported() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        open(&server);
        let reply = at_once(&server, &["click", "#file"]).ok();
        let next = at_once(&server, &["snapshot"]).ok();
        // The event may follow the answer to the click.
        let is_reported = [&reply, &next].iter().any(|reply| text_of(reply).contains("filechooser"));
        assert!(is_reported, "{reply:?} {next:?}");
        assert_eq!(state(&server), "nothing answered", "{}", program.display());
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn permission_prompt_is_refused_at_once() {
    for program in agent_browsers() {
        let browser = GateBrowser::start_secure();
        let server = env(&browser, &program, &session_policy()).serve();
        for (element, after) in [("#place", "place refused 1"), ("#notify", "notification denied")] {
            open(&server);
            at_once(&server, &["click", element]).ok();
            at_once(&server, &["snapshot"]).ok();
            assert_eq!(state(&server), after, "{}, {element}", program.display());
        }
    }
}
