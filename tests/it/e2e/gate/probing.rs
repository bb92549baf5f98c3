//! Secrets that no command spells: selectors, waits and counts see the page as the agent may read it.

use browser_shell_core::grammar::{Profile, parse};
use serde_json::Value;

use super::{
    super::server::Server, agent_browsers, browser::GateBrowser, env, own_policy, session_policy, shop, text_of,
};

/// Commands whose answer could depend on a secret that begins with H: each form that takes a selector or a text.
const PROBES: &[&[&str]] = &[
    &["get", "count", "#p[value^=\"H\"]"],
    &["get", "box", "#p[value^=\"H\"]"],
    &["get", "attr", "[data-x^=H]", "id"],
    &["get", "text", "[data-x^=H]"],
    &["get", "html", "[data-x^=H]"],
    &["get", "value", "#p[value^=\"H\"]"],
    &["is", "visible", "#p[value^=\"H\"]"],
    &["is", "enabled", "#p[value^=\"H\"]"],
    &["is", "checked", "#p[value^=\"H\"]"],
    &["hover", "#p[value^=\"H\"]"],
    &["hover", "[data-x^=H]", "--at", "1,1"],
    &["focus", "[data-x*=unter]"],
    &["click", "[data-x^=H]"],
    &["click", "form:has([value^=H]) button"],
    &["click", "#send >> xpath=self::*[starts-with(@data-x, 'H')]"],
    &["click", "[data-x^=H]", "--at", "1,1"],
    &["click", "[data-x^=H]", "--button", "right"],
    &["click", "[data-x^=H]", "--modifiers", "Shift"],
    &["click", "[data-x^=H]", "--hold", "1"],
    &["dblclick", "[data-x^=H]"],
    &["dblclick", "[data-x^=H]", "--at", "1,1"],
    &["fill", "#p[value^=\"H\"]", "text"],
    &["type", "#p[value^=\"H\"]", "text"],
    &["check", "[data-x^=H]"],
    &["uncheck", "[data-x^=H]"],
    &["select", "[data-x^=H]", "text"],
    &["select", "#list", "Hunter"],
    &["scroll", "[data-x^=H]"],
    &["scroll", "down", "10", "-s", "[data-x^=H]"],
    &["scroll", "--to", "bottom", "-s", "[data-x^=H]"],
    &["drag", "[data-x^=H]", "#p"],
    &["drag", "#p", "[data-x^=H]"],
    &["drag", "[data-x^=H]", "#p", "--from", "1,1"],
    &["drag", "#p", "[data-x^=H]", "--to", "1,1"],
    &["screenshot", "[data-x^=H]"],
    &["screenshot", "--full", "[data-x^=H]"],
    &["snapshot", "-s", "#p[value^=\"H\"]"],
    &["snapshot", "--find", "Hunter"],
    &["snapshot", "--find", "The code"],
    &["snapshot", "--find", "code is H"],
    &["snapshot", "-i", "--find", "sid=H"],
    &["wait", "#p[value^=\"H\"]"],
    &["wait", "--gone", "#p[value^=\"H\"]"],
    &["wait", "--gone", "text=code is H"],
    &["wait", "--text", "sid=H"],
    &["wait", "--text", "sid=Hunter2xyz"],
    &["wait", "--url", "**p=H*"],
    &["click", "text=Hunter2xyz"],
    &["click", "role=button[name=/^Press Hunter/]"],
    &["hover", "role=button[name=\"Press H\"]"],
    &["snapshot", "-s", "text=Hunter2xyz"],
    &["snapshot", "-s", "#Hunter2xyz"],
    &["select-text", "[data-x^=H]"],
    &["select-text", "#p", "H"],
    &["select-text", "#told", "is H"],
    &["select-text", "#told", "code"],
    &["select-text", "body", "Hunter2xyz"],
];

/// Commands that stay, whatever the session knows.
const OTHERS: &[&[&str]] = &[
    &["get", "count", "#p"],
    &["get", "box", "#p"],
    &["get", "value", "#p"],
    &["get", "text", "#echo"],
    &["get", "html", "#echo"],
    &["get", "attr", "#send", "data-x"],
    &["get", "url"],
    &["get", "title"],
    &["is", "visible", "form > input"],
    &["snapshot"],
    &["snapshot", "-i"],
    &["tab"],
];

fn open(server: &Server, query: &str) {
    server.call_within(60, query, &["open", &shop(&format!("gate/oracle?{query}"))]).ok();
}

/// Returns what the answers to commands show on one of the pages, in a session of its own.
fn answers(server: &Server, query: &str) -> Vec<(i64, String)> {
    PROBES
        .iter()
        .chain(OTHERS)
        .map(|argv| {
            open(server, query);
            // Waits for what never comes end with their time. The others have far more than they take.
            let seconds = if argv.first() == Some(&"wait") && !argv.contains(&"--gone") { 3 } else { 60 };
            let reply = server.call_within(seconds, query, argv);
            (reply.code, text_of(&reply).replace(query, "QUERY"))
        })
        .collect()
}

fn engines() -> Vec<(Value, &'static str, usize)> {
    let mut other = session_policy();
    other["subcommands"]["enable"].as_array_mut().unwrap().push("drag".into());
    vec![(own_policy(), "cdp", 1), (other, "agent-browser", usize::MAX)]
}

#[test]
fn probes_have_each_form_with_a_selector_or_a_text() {
    let probed: Vec<_> = PROBES
        .iter()
        .map(|argv| {
            let argv: Vec<_> = argv.iter().map(|text| (*text).to_owned()).collect();
            let command = parse(Profile::Tool, &argv, |_| true).unwrap_or_else(|error| panic!("{argv:?}: {error}"));
            format!("{} {}", command.row.name, command.form.usage())
        })
        .collect();
    let rows = Profile::Tool.rows().filter(|row| !matches!(row.name, "dialog"));
    for form in rows.flat_map(|row| row.forms.iter().map(move |form| format!("{} {}", row.name, form.usage()))) {
        let looks = ["SELECTOR", "TEXT", "WORDS", "PATTERN", "SRC"].iter().any(|value| form.contains(value));
        assert_eq!(probed.contains(&form), looks, "{form}");
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn commands_answer_the_same_whatever_the_secret_is() {
    for (mut policy, engine, count) in engines() {
        policy["engine"] = engine.into();
        for program in agent_browsers().into_iter().take(count) {
            let browser = GateBrowser::start();
            let server = env(&browser, &program, &policy).serve();
            // Without a secret, the same selectors and waits work.
            open(&server, "none");
            let found = server.call("none", &["get", "count", "#p[value^=\"H\"]"]).ok().data();
            assert_eq!(found["count"], 1, "control: {engine}");
            server.call("none", &["wait", "--text", "sid=H"]).ok();
            if engine == "cdp" {
                for argv in [["select-text", "#p", "H"], ["select-text", "#told", "is H"]] {
                    server.call("none", &argv).ok();
                }
            }
            let (first, second) = (answers(&server, "first"), answers(&server, "second"));
            for ((argv, first), second) in PROBES.iter().chain(OTHERS).zip(&first).zip(&second) {
                // agent-browser's own message repeats the selector, and the mask in it confirms a whole guess.
                let is_echo = engine == "agent-browser" && argv.contains(&"#Hunter2xyz");
                assert!(first == second || is_echo, "{engine}: {argv:?}: {first:?} {second:?}");
                assert!(!first.1.contains("unter2xyz"), "{engine}: {argv:?}: {first:?}");
            }
            let refused = first.iter().take(PROBES.len()).filter(|(_, text)| text.contains("secret-observable"));
            assert!(refused.count() >= 9, "{engine}: {first:?}");
            assert!(first.iter().skip(PROBES.len()).all(|(code, _)| *code == 0), "control: {engine}: {first:?}");
        }
    }
}
