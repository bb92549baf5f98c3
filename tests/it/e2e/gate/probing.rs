//! Secrets that no command spells: selectors, waits and counts see the page as the agent may read it.

use serde_json::Value;

use super::{
    super::server::Server, agent_browsers, browser::GateBrowser, env, own_policy, session_policy, shop, text_of,
};

/// Commands whose answer could depend on a secret that begins with H.
const PROBES: &[&[&str]] = &[
    &["get", "count", "#p[value^=\"H\"]"],
    &["get", "box", "#p[value^=\"H\"]"],
    &["get", "attr", "[data-x^=H]", "id"],
    &["is", "visible", "#p[value^=\"H\"]"],
    &["hover", "#p[value^=\"H\"]"],
    &["focus", "[data-x*=unter]"],
    &["click", "[data-x^=H]"],
    &["click", "form:has([value^=H]) button"],
    &["snapshot", "-s", "#p[value^=\"H\"]"],
    &["wait", "#p[value^=\"H\"]"],
    &["wait", "--text", "sid=H"],
    &["wait", "--text", "sid=Hunter2xyz"],
    &["wait", "--url", "**p=H*"],
    &["click", "text=Hunter2xyz"],
    &["snapshot", "-s", "text=Hunter2xyz"],
    &["snapshot", "-s", "#Hunter2xyz"],
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
            let seconds = if argv.first() == Some(&"wait") { 3 } else { 60 };
            let reply = server.call_within(seconds, query, argv);
            (reply.code, text_of(&reply).replace(query, "QUERY"))
        })
        .collect()
}

fn engines() -> Vec<(Value, &'static str, usize)> {
    vec![(own_policy(), "cdp", 1), (session_policy(), "agent-browser", usize::MAX)]
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
