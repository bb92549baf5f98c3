//! Secrets that a page shows in ways which a mask of one text does not see, or that come while a call looks for them.

use super::{
    super::{server::Server, test_env},
    browser::GateBrowser,
    env, own_policy, shop, text_of,
};

/// Commands on a page that shows a secret of a field between tags, letter by letter, and in capital letters.
const PROBES: &[&[&str]] = &[
    &["get", "count", "text=Hunt"],
    &["get", "count", "text=Hunter2xyz"],
    &["get", "count", "text=HUNTER"],
    &["get", "count", "role=paragraph[name*=Hunt i]"],
    &["snapshot", "--find", "unter"],
    &["get", "html", "#spans"],
    &["get", "html", "#tags"],
    &["get", "html", "#form"],
    &["get", "attr", "#old", "value"],
    &["get", "text", "#tags"],
    &["get", "text", "#upper"],
    &["get", "text", "body"],
    &["snapshot"],
    &["snapshot", "-i"],
];

/// Kinds of what a picture of a page would show.
const SHOWN: &[&str] = &["twin", "note", "generated", "hint", "button", "closed"];

fn open(server: &Server, session: &str, query: &str) {
    server.call_within(60, session, &["open", &shop(&format!("gate/leaks?{query}"))]).ok();
}

/// Returns the answers to commands on a page, in the session of its name.
fn answers(server: &Server, query: &str, probes: &[&[&str]]) -> Vec<(i64, String)> {
    let answer = |argv: &&[&str]| {
        let reply = server.call_within(5, query, argv);
        (reply.code, text_of(&reply).replace(query, "QUERY"))
    };
    probes.iter().map(answer).collect()
}

fn start(isolation: &str) -> (GateBrowser, Server) {
    let browser = GateBrowser::start();
    let mut policy = own_policy();
    policy["browser"]["isolation"] = isolation.into();
    let server = env(&browser, test_env::no_agent_browser(), &policy).serve();
    (browser, server)
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_cut_down_to_a_letter_is_no_oracle() {
    let (_browser, server) = start("session");
    server.call_within(60, "s", &["open", &shop("gate/passwords")]).ok();
    server.call("s", &["fill", "#name", "whole pw-chinese-7Qx1"]).ok();
    let shown = server.call("s", &["get", "value", "#name"]).ok().data();
    assert_eq!(shown["value"], "whole ***", "control");
    server.call("s", &["click", "#chinese"]).ok();
    for key in ["Home", "ArrowRight", "Shift+End", "Delete"] {
        server.call("s", &["press", key]).ok();
    }
    server.call("s", &["fill", "#name", "n o p q"]).ok();
    for argv in [&["get", "value", "#name"][..], &["snapshot"]] {
        let shown = text_of(&server.call("s", argv).ok());
        assert!(shown.contains("n o p q"), "{argv:?}: {shown}");
    }
    let shown = text_of(&server.call("s", &["get", "value", "#chinese"]).ok());
    assert!(shown.contains("***") && !shown.contains("\"p\""), "{shown}");
    server.call("s", &["click", "#copy"]).ok();
    let shown = text_of(&server.call("s", &["get", "text", "#copied"]).ok());
    assert!(shown.contains("copied p and"), "control: one letter is left: {shown}");
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_between_tags_and_in_other_letters_is_no_oracle() {
    let (_browser, server) = start("session");
    open(&server, "none", "none");
    let found = server.call("none", &["get", "count", "text=Hunter2xyz"]).ok().data();
    assert_eq!(found["count"], 3, "control");
    let shown = server.call("none", &["get", "html", "#spans"]).ok().data()["html"].to_string();
    assert!(shown.contains("<span>H</span>"), "control: {shown}");
    for query in ["first", "second"] {
        open(&server, query, query);
    }
    let (first, second) = (answers(&server, "first", PROBES), answers(&server, "second", PROBES));
    for ((argv, first), second) in PROBES.iter().zip(&first).zip(&second) {
        assert_eq!(first, second, "{argv:?}");
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn first_call_of_a_session_is_no_oracle_for_the_tab_of_another() {
    let (_browser, server) = start("shared");
    for query in ["first", "second"] {
        open(&server, query, query);
        server.call(query, &["close"]).ok();
        for (number, argv) in [
            &["get", "count", "#p[value^=H]"][..],
            &["is", "visible", "#p[value^=H]"],
            &["wait", "#p[value^=H]"],
            &["snapshot", "-s", "#p[value^=H]"],
        ]
        .iter()
        .enumerate()
        {
            let reply = server.call_within(5, &format!("{query}-{number}"), argv);
            assert!(reply.stderr.starts_with("secret-observable: the selector"), "{query}: {argv:?}: {reply:?}");
        }
        let counted = server.call(&format!("{query}-plain"), &["get", "count", "#p"]).ok().data();
        assert_eq!(counted["count"], 1, "control: {query}");
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_that_comes_during_a_wait_is_not_observed() {
    let (_browser, server) = start("session");
    open(&server, "none", "none+late");
    server.call_within(10, "none", &["wait", "#came"]).ok();
    for argv in [&["wait", "#came[value^=H]"][..], &["wait", "--text", "It is Hun"], &["click", "text=It is Hun"]] {
        let mut answers = Vec::new();
        for query in ["first", "second"] {
            open(&server, query, &format!("{query}+late"));
            let reply = server.call_within(3, query, argv);
            answers.push((reply.code, text_of(&reply)));
        }
        assert!(answers[0] == answers[1] && answers[0].0 != 0, "{argv:?}: {answers:?}");
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn picture_of_a_secret_outside_of_the_text_is_refused() {
    let (_browser, server) = start("session");
    for shown in SHOWN {
        open(&server, "none", &format!("none+{shown}"));
        server.call("none", &["screenshot"]).ok();
        open(&server, "first", &format!("first+{shown}"));
        let reply = server.call("first", &["screenshot"]);
        assert!(reply.stderr.starts_with("plain-value-visible"), "{shown}: {reply:?}");
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn field_that_shows_a_secret_from_the_start_is_a_secret_one() {
    let (_browser, server) = start("session");
    for shown in ["twin", "note"] {
        open(&server, "first", &format!("first+{shown}"));
        server.call("first", &["snapshot", "-i"]).ok();
        server.call("first", &["click", "#twin"]).ok();
        server.call("first", &["press", "End"]).ok();
        server.call("first", &["press", "Backspace"]).ok();
        let reply = server.call("first", &["get", "value", "#twin"]).ok();
        assert_eq!(reply.data()["value"], "***", "{shown}");
        open(&server, "none", &format!("none+{shown}"));
        let reply = server.call("none", &["get", "value", "#twin"]).ok();
        assert_eq!(reply.data()["value"], "Hunter2xyz", "control: {shown}");
    }
}
