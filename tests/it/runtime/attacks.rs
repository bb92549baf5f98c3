//! Pages and agents that attack a runtime: forged lines, escapes for terminals, and secrets that are guessed or taken in pieces. Each profile
//! runs with each engine that it has, and with agent-browser of both kinds.

use serde_json::json;

use super::{
    super::e2e::{hosts::SHOP, test_env},
    server::{Runtime, Setup},
};

/// Runs a test with each profile and engine, one at a time: a setup holds the browser. The test gets to know the profile and the engine.
fn each(test: impl Fn(&Runtime, &str, &str)) {
    test_env::require_test_network();
    let others = test_env::agent_browsers()
        .into_iter()
        .flat_map(|program| ["strict", "compat"].map(|profile| (program.clone(), profile, "agent-browser")));
    let own = (test_env::no_agent_browser().to_owned(), "strict", "cdp");
    for (program, profile, engine) in others.chain([own]) {
        let runtime = Setup::with_program(&program).arguments(&["--profile", profile]).start();
        let mut policy = json!({ "engine": engine });
        if profile == "strict" {
            policy["subcommands"] =
                json!({ "enable": ["back", "forward", "reload", "get", "is", "scroll", "tab", "drag"] });
        }
        runtime.write_policy(&policy);
        test(&runtime, profile, &format!("{profile} {engine} {}", program.display()));
    }
}

fn open(runtime: &Runtime, path: &str) {
    runtime.exec(&format!("open http://{SHOP}/{path}")).ok();
}

/// Commands whose answers in the profile `compat` say what was done, and name the page.
const ACTS: &[&str] =
    &["open PAGE", "tab", "click '#named'", "fill '#echo' a", "select '#list' other", "wait 10", "reload"];

/// Commands whose answer is a text of the page.
const READS: &[&str] = &[
    "get text '#text'",
    "get value '#value'",
    "get html '#text'",
    "get attr '#named' data-x",
    "get title",
    "get url",
    "snapshot",
    "snapshot -i",
];

/// Returns the lines of an answer that begin as those of the page do.
fn forged(answer: &str) -> usize {
    let lines = answer.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']);
    let ours = ["opened \"Bank", "- button \"Pay\"", "the page is now https://bank", "\u{2192} [0] \"Bank", "clicked"];
    lines.filter(|line| ours.iter().any(|ours| line.starts_with(ours))).count()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_writes_no_line_of_an_answer_of_a_runtime() {
    each(|runtime, profile, name| {
        let page = format!("http://{SHOP}/gate/forge");
        let (mut shown, mut of_page) = (0, 0);
        for command in ACTS.iter().chain(READS) {
            let outcome = runtime.exec(&command.replace("PAGE", &page));
            shown += usize::from(outcome.stdout.contains("bank.example"));
            if profile == "strict" {
                // One line of JSON, whatever is in its strings.
                assert!(outcome.code != 0 || outcome.data().is_object(), "{name}: {command}: {outcome:?}");
            } else if READS.contains(command) {
                of_page += forged(&outcome.stdout);
            } else {
                assert_eq!(forged(&outcome.stdout), 0, "{name}: {command}: {outcome:?}");
            }
            assert_eq!(forged(&outcome.stderr), 0, "{name}: {command}: {outcome:?}");
        }
        assert!(shown >= 8, "control: {name}: {shown}");
        // A text of the page is the whole answer there.
        assert_eq!(of_page > 0, profile == "compat", "{name}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn no_text_forges_a_line_of_a_runtimes_records() {
    each(|runtime, _, name| {
        let forged = "{\\\"code\\\":\\\"forged\\\"}";
        for text in ["\u{1b}]0;forged\u{7}", "\u{9b}31m", &format!("x\n{forged}"), "x\r\u{2028}forged \u{202e}"] {
            for body in [
                json!({ "cmd": format!("open http://{SHOP}/gate/forge#{text}") }),
                json!({ "cmd": format!("{text} a") }),
                json!({ "cmd": format!("fill '#echo' '{text}'") }),
                json!({ "cmd": "snapshot", "sandbox_id": text }),
                json!({ "cmd": "snapshot", text: 1 }),
            ] {
                runtime.post("/exec", &body);
            }
        }
        open(runtime, "gate/forge");
        let (log, audit) = (runtime.log(), runtime.audit());
        let is_unsafe = |c: char| c != '\n' && (c.is_control() || matches!(c, '\u{2028}'..='\u{202e}'));
        assert!(!log.contains(is_unsafe) && !audit.contains(is_unsafe), "{name}: {log}{audit}");
        let lines: Vec<serde_json::Value> = audit.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert!(lines.iter().all(|line| line["code"] != "forged"), "{name}: {audit}");
        assert!(lines.iter().any(|line| line["code"] == "ok" && line["host"] == SHOP), "control: {name}: {audit}");
    });
}

/// Commands whose answer could depend on a secret that begins with H.
const PROBES: &[&str] = &[
    "get count '#p[value^=H]'",
    "get attr '[data-x^=H]' id",
    "is visible '#p[value^=H]'",
    "click 'form:has([value^=H]) button'",
    "snapshot -s '#p[value^=H]'",
    "wait --text sid=H",
    "wait --url '**p=H*'",
    "click text=Hunter2xyz",
    "select '#list' Hunter",
];

/// The same that only the profile `compat` has.
const COMPAT_PROBES: &[&str] = &[
    "get styles '#p[value^=H]'",
    "scrollintoview '[data-x^=H]'",
    "find text 'code is H' hover",
    "find role button hover --name 'Press Hunter2xyz'",
    "find label H fill x",
    "find title 'Press Hunter2xyz' hover --exact",
    "find testid H click",
    "find first '[data-x^=H]' text",
    "find nth 0 '[data-x^=H]' text",
];

/// Commands that stay, whatever the session knows.
const OTHERS: &[&str] =
    &["get count '#p'", "get value '#p'", "get text '#echo'", "get html '#echo'", "get url", "snapshot", "snapshot -i"];

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn runtime_answers_the_same_whatever_the_secret_is() {
    each(|runtime, profile, name| {
        let probes = || PROBES.iter().chain(COMPAT_PROBES.iter().filter(|_| profile == "compat"));
        open(runtime, "gate/oracle?none");
        assert!(runtime.exec("get count '#p[value^=H]'").ok().stdout.contains('1'), "control: {name}");
        runtime.exec("wait --text sid=H").ok();
        if profile == "compat" {
            runtime.exec("find text 'code is H' hover").ok();
        }
        let answers = |query: &str| -> Vec<_> {
            let answer = |command: &&str| {
                open(runtime, &format!("gate/oracle?{query}"));
                let outcome = runtime.exec_with(&json!({ "cmd": command, "timeout": 3 }));
                (outcome.code, format!("{}\n{}", outcome.stdout, outcome.stderr).replace(query, "QUERY"))
            };
            probes().chain(OTHERS).map(answer).collect()
        };
        let (first, second) = (answers("first"), answers("second"));
        for ((command, first), second) in probes().chain(OTHERS).zip(&first).zip(&second) {
            // References are numbered on, and listed in that order.
            let plain = |text: &str| {
                let tree = text.split_once("\"snapshot\":").map_or(text, |(_, tree)| tree);
                // A time has tenths of a second, or none.
                tree.replace(|c: char| c.is_ascii_digit(), "").replace("after . s", "after  s")
            };
            assert_eq!((first.0, plain(&first.1)), (second.0, plain(&second.1)), "{name}: {command}");
            assert!(!first.1.contains("unter2xyz"), "{name}: {command}: {first:?}");
        }
        let count = probes().count();
        let refused = first.iter().take(count).filter(|(_, text)| text.contains("secret-observable"));
        assert!(refused.count() >= count / 2, "{name}: {first:?}");
        assert!(first.iter().skip(count).all(|(code, _)| *code == 0), "control: {name}: {first:?}");
    });
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_leaves_a_runtime_neither_in_pieces_nor_in_a_picture() {
    each(|runtime, profile, name| {
        let note = || {
            let outcome = runtime.exec("get value '#note'");
            format!("{}{}", outcome.stdout, outcome.stderr)
        };
        open(runtime, "gate/kept");
        for (field, piece) in [("#plain", "plain"), ("#password", "pw-k"), ("#code", "4815")] {
            for command in
                ["fill '#note' ''", "click '#show'", &format!("click '{field}'"), "press Control+a", "press Control+c"]
            {
                runtime.exec(command).ok();
            }
            runtime.exec("click '#note'").ok();
            runtime.exec("press Control+v").ok();
            runtime.exec("press q").ok();
            let held = note();
            assert!(held.contains('q'), "{name}: {held}");
            assert_eq!(held.contains(piece), field == "#plain", "{name} {field}: {held}");
        }
        open(runtime, "gate/kept");
        for (button, is_shown) in [("#empty", false), ("#mirror", true)] {
            runtime.exec(&format!("click '{button}'")).ok();
            let outcome = runtime.exec("screenshot");
            assert_eq!(outcome.stderr.starts_with("plain-value-visible: "), is_shown, "{name} {button}: {outcome:?}");
        }
        assert!(!note().contains("pw-kep"), "{name} {profile}");
    });
}
