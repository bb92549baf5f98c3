use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{json as mask_data, text};
use crate::output::Body;
use crate::snapshot::Line;

/// Returns the lines of a name in each engine: the control gate's, and those of agent-browser in Rust and in Node.
fn lines(name: &str) -> Vec<String> {
    let json = Value::from(name).to_string();
    let states = vec![("value".to_owned(), Value::from(name)), ("required".to_owned(), Value::Null)];
    let gate = Line { level: 1, role: "textbox".to_owned(), name: name.to_owned(), reference: Some(7), states };
    vec![
        gate.to_string(),
        format!("  - textbox {json} [level=2, required, ref=e7, url=https://a.example/b?c]"),
        format!("  - generic {json} [ref=e7] clickable [cursor:pointer, onclick]"),
        format!("  - textbox {json} [ref=e7] [nth=1]: x"),
        format!("  - textbox \"Name\" [ref=e7]: {name}"),
        format!("  - 'button {} [ref=e7]'", json.replace('\'', "''")),
        // A version in Node puts the reference behind the first quote, and some texts into quotes as they are.
        format!("  - button \"a\\\" [ref=e7]{name}\""),
        format!("  - clickable \"{name}\" [ref=e7] [cursor:pointer]"),
    ]
}

// Requirement 1.8.
#[test]
fn labels_and_references_of_a_tree_stay() {
    for (given, expected) in [
        ("- textbox \"Password: \" [ref=e3]", None),
        ("- textbox \"\u{5bc6}\u{7801} token:\" [required, ref=e3]", None),
        ("- link \"Cookie:\" [ref=e3]\n  - /url: https://a.example/?x=1", None),
        ("- textbox \"Authorization:\" [ref=e3] [placeholder=\"Secret: \"] [focused]", None),
        ("- textbox \"Password: hunter2\" [ref=e3]", Some("- textbox \"Password: ***\" [ref=e3]")),
        ("- link \"Cookie: a=b; c=d\" [ref=e3]", Some("- link \"Cookie: ***\" [ref=e3]")),
        ("- link \"a\" [ref=e3] [near=\"token: x y\"]", Some("- link \"a\" [ref=e3] [near=\"token: *** y\"]")),
        (
            "- button \"say \\\"password: x\\\" now\" [ref=e3]",
            Some("- button \"say \\\"password: ***\\\" now\" [ref=e3]"),
        ),
        ("- 'button \"Token: x\" [ref=e3]': A", Some("- 'button \"Token: ***\" [ref=e3]': ***")),
        (
            "- link \"a\" [ref=e3, url=https://u:p@a.example/]",
            Some("- link \"a\" [ref=e3, url=https://***@a.example/]"),
        ),
        ("- textbox \"Password\" [ref=e2]: hunter2 \"a", Some("- textbox \"Password\" [ref=e2]: ***")),
        (
            "- textbox \"Password:\" [ref=e2]: hunter2\n  - StaticText \"hunter2\"\n- StaticText \"hunter2\"",
            Some("- textbox \"Password:\" [ref=e2]: ***\n  - StaticText \"***\"\n- StaticText \"hunter2\""),
        ),
        (
            "- textbox \"API key\" [ref=e2]: two\nlines\n  - StaticText \"lines\"\n- link \"a\" [ref=e3]",
            Some("- textbox \"API key\" [ref=e2]: ***\n***\n  - StaticText \"***\"\n- link \"a\" [ref=e3]"),
        ),
        (
            "- text \"a -----BEGIN PRIVATE KEY-----\" [ref=e1]\n- text \"MIIE\" [ref=e2]\n- text \"-----END PRIVATE KEY----- b\" [ref=e3]",
            Some("- text \"a ***\" [ref=e1]\n- text \"***\" [ref=e2]\n- text \"*** b\" [ref=e3]"),
        ),
    ] {
        assert_eq!(text(given), expected.unwrap_or(given), "{given}");
    }
}

fn references(text: &str) -> Vec<&str> {
    text.match_indices("ref=e")
        .map(|(position, _)| text.get(position..).expect("a boundary").split([']', ',']).next().expect("a reference"))
        .collect()
}

/// Counts the quotes that are not in a text in quotes.
fn count_quotes(text: &str) -> usize {
    let is_syntax = |before: &str| (before.len() - before.trim_end_matches('\\').len()).is_multiple_of(2);
    text.match_indices('"').filter(|(position, _)| is_syntax(text.get(..*position).expect("a boundary"))).count()
}

const NAME: &str = "(password|Token|api_key|Cookie|Authorization|secret|\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}|bearer|hunter2|-----BEGIN PRIVATE KEY-----|https://u:p@a|[:=;, \"'\\\\\\[\\]{}-]|: |a=b|\\PC){0,10}";

proptest! {
    // Requirement 1.8.
    #[test]
    fn references_lines_and_quotes_of_trees_stay(names in proptest::collection::vec(NAME, 1..4)) {
        for form in 0..lines("").len() {
            let tree: Vec<_> = names.iter().filter_map(|name| lines(name).into_iter().nth(form)).collect();
            let tree = format!("{}\n- link \"last\" [ref=e8]", tree.join("\n"));
            let masked = text(&tree).into_owned();
            prop_assert_eq!(references(&masked), references(&tree), "{} -> {}", tree, masked);
            prop_assert_eq!(masked.lines().count(), tree.lines().count());
            // The others have texts whose quotes are no syntax.
            if matches!(form, 0..=3 | 5) {
                prop_assert_eq!(count_quotes(&masked), count_quotes(&tree), "{} -> {}", tree, masked);
            }
            // The same in data, and as a client gets it in both styles.
            let mut data = json!({"snapshot": tree, "refs": {"e7": {"role": "textbox", "name": names[0]}}});
            mask_data(&mut data);
            prop_assert_eq!(data["snapshot"].as_str(), Some(masked.as_str()));
            prop_assert_eq!(&data["refs"]["e7"]["role"], "textbox");
            let body = Body::Data(data);
            prop_assert_eq!(body.render_text(usize::MAX), masked.as_str());
            let parsed: Value = serde_json::from_str(&body.render(usize::MAX)).expect("JSON");
            prop_assert_eq!(parsed["snapshot"].as_str(), Some(masked.as_str()));
            prop_assert_eq!(text(&masked).into_owned(), masked, "{}", tree);
        }
    }

    /// A secret behind a key is masked in a name, up to its end.
    #[test]
    fn secrets_in_names_are_masked(key in "(password|Token|api_key|secret)", secret in "[A-Z][0-9]{6}", before in "[a-z ]{0,5}", after in "( [a-z]{1,5})?") {
        for line in lines(&format!("{before} {key}: {secret}{after}")) {
            let masked = text(&line).into_owned();
            prop_assert!(!masked.contains(&secret), "{} -> {}", line, masked);
            prop_assert!(masked.contains("ref=e7"));
        }
    }
}
