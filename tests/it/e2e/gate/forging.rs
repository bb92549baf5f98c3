//! Pages that write lines as answers of the tool have them, in the style `text`.

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
