//! Pages that write lines as answers of the tool have them, in the style `text`, and texts that nobody sees.

use serde_json::{Value, json};

use super::{super::words::plain, agent_browsers, browser::GateBrowser, env, own_policy, session_policy, shop};

/// Begins of lines that only we write.
const OURS: [&str; 5] =
    ["opened \"Bank", "- button \"Pay\"", "the page is now https://bank", "→ [0] \"Bank", "clicked"];

fn in_plain_text(mut policy: Value) -> Value {
    policy["output"] = json!({ "style": "text" });
    policy["engine"] = policy.get("engine").cloned().unwrap_or_else(|| "agent-browser".into());
    policy
}

/// Returns the lines of an answer that begin as those of the page do.
fn forged(answer: &str) -> Vec<&str> {
    let lines = answer.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']);
    lines.filter(|line| OURS.iter().any(|ours| line.starts_with(ours))).collect()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_writes_no_line_of_an_answer() {
    for (policy, engine) in [(own_policy(), "cdp"), (session_policy(), "agent-browser")] {
        for program in agent_browsers().into_iter().take(if engine == "cdp" { 1 } else { 9 }) {
            let browser = GateBrowser::start();
            let server = env(&browser, &program, &in_plain_text(policy.clone())).serve();
            let (opened, is_error) = plain(&server, &["open", &shop("gate/forge")]);
            assert!(
                !is_error && forged(&opened).is_empty() && opened.starts_with("opened \"x\\\""),
                "{engine}: {opened}"
            );
            assert_eq!(plain(&server, &["get", "count", "#text"]).0, "1", "{engine}: what we say is not indented");
            assert_eq!(plain(&server, &["get", "attr", "#text", "none"]).0, "(no such attribute)", "{engine}");
            let calls: &[&[&str]] = &[
                &["snapshot"],
                &["snapshot", "-i"],
                &["get", "text", "#text"],
                &["get", "html", "#text"],
                &["get", "value", "#value"],
                &["get", "attr", "#named", "data-x"],
                &["get", "title"],
                &["get", "url"],
                &["tab", "list"],
                &["click", "button"],
                &["click", "#odd"],
                &["fill", "#echo", "a"],
                &["select", "#list", "other"],
                &["reload"],
                &["tab", "0"],
                &["click", "#ask"],
            ];
            let (mut shown, mut answers) = (0, Vec::new());
            for argv in calls {
                let (answer, _) = plain(&server, argv);
                let of_page = forged(&answer);
                let is_own = of_page == ["clicked"] && argv[0] == "click";
                assert!(of_page.is_empty() || is_own, "{engine}: {argv:?}: {answer}");
                shown += usize::from(answer.contains("bank.example"));
                answers.push(answer);
            }
            assert!(shown >= 11, "control: {engine}: {shown} answers have what the page says: {answers:?}");
        }
    }
    assert_eq!(forged("clicked\n  clicked\nx\n- button \"Pay\" [ref=e99]").len(), 2, "control");
}

/// Flag of Scotland, which has tags.
const FLAG: &str = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";

/// Returns true if an answer has characters that nobody sees, but for those of the flag.
fn has_invisible(answer: &Value) -> bool {
    // Escapes of the exchange itself are characters by now.
    let shown = match answer {
        Value::String(text) => text.replace(FLAG, ""),
        Value::Array(items) => return items.iter().any(has_invisible),
        Value::Object(members) => return members.values().any(has_invisible),
        _ => return false,
    };
    shown.contains(|c| matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'))
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn no_answer_has_text_that_nobody_sees() {
    for (policy, engine) in [(own_policy(), "cdp"), (session_policy(), "agent-browser")] {
        let programs = agent_browsers().into_iter().take(if engine == "cdp" { 1 } else { 9 });
        for (program, style) in programs.flat_map(|program| ["text", "data"].map(|style| (program.clone(), style))) {
            let browser = GateBrowser::start();
            let mut policy = in_plain_text(policy.clone());
            policy["output"]["style"] = json!(style);
            let server = env(&browser, &program, &policy).serve();
            let open = shop("gate/invisible");
            let calls: &[&[&str]] = &[
                &["open", &open],
                &["snapshot"],
                &["snapshot", "-i"],
                &["get", "text", "#text"],
                &["get", "html", "body"],
                &["get", "value", "#value"],
                &["get", "attr", "#named", "data-x"],
                &["get", "title"],
                &["tab", "list"],
                &["fill", "#echo", "a"],
                &["select", "#list", "other"],
                &["click", "button"],
                &["click", "#file"],
                &["click", "#go"],
                &["get", "url"],
                &["tab", "0"],
                &["reload"],
                &["click", "#ask"],
            ];
            let (mut shown, mut flags, mut answers) = (0, 0, Vec::new());
            for argv in calls {
                let arguments = json!({"name": "browser-shell", "arguments": {"session_id": "s", "argv": argv}});
                let answer = server.request("tools/call", &arguments)["result"].take();
                assert!(!has_invisible(&answer), "{engine} {style}: {argv:?}: {answer:?}");
                let text = answer.to_string();
                shown += usize::from(text.contains("seen"));
                flags += usize::from(text.contains(FLAG) && text.contains("\u{1f468}\u{200d}\u{1f469}"));
                answers.push(text);
            }
            assert!(shown >= 9 && flags >= 7, "control: {engine} {style}: {shown} {flags} {answers:?}");
        }
    }
    assert!(has_invisible(&json!({"a": ["\u{e0041}"]})) && !has_invisible(&json!({"a": [FLAG]})), "control");
}
