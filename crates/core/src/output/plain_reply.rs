//! Replies as plain text for a language model: the content alone, and one short line for an act.
//!
//! Invariants: only data that is masked already becomes text, and no text is longer than its limit.

use serde_json::Value;

use super::body::Body;
use super::text_reply::render_text;
use super::truncate;

/// Tree of a page in which agent-browser finds nothing to act on.
const NOTHING_INTERACTIVE: &str = "(no interactive elements)";

/// Next step on such a page.
const NEXT_STEP: &str = "use `snapshot` for the whole tree, or `screenshot`";

/// State of a page whose server has not answered yet, or not with all of it.
const LOADING: &str = "the page is still loading";

/// Returns the text of a successful command: `subcommand` with the word of its form. It has no line break at its end and is
/// at most `limit` characters long.
#[must_use]
pub fn render_plain(body: &Body, subcommand: &str, word: Option<&str>, limit: usize) -> String {
    let member = |name: &str| match body {
        Body::Data(data) => data.get(name),
        _ => None,
    };
    let text = |name: &str| member(name).and_then(Value::as_str);
    let line = match (subcommand, word) {
        ("open", _) => text("url").map(|url| opened("opened", text("title"), url, member("status"))),
        ("tab", None) => text("url").map(|url| opened("switched to", text("title"), url, None)),
        ("tab", Some("close")) => Some("closed the tab".to_owned()),
        ("back" | "forward" | "reload", _) => Some(match text("url") {
            Some(url) => opened(subcommand, None, url, member("status")),
            None => subcommand.to_owned(),
        }),
        ("snapshot", _) if text("snapshot") == Some(NOTHING_INTERACTIVE) => {
            Some(format!("{NOTHING_INTERACTIVE}\n{NEXT_STEP}"))
        }
        ("get", Some("attr")) if member("value").is_some_and(Value::is_null) => Some("(no such attribute)".to_owned()),
        ("get", Some("box")) => member("box").map(Value::to_string),
        ("click" | "dblclick", _) => Some("clicked".to_owned()),
        ("fill", _) => Some(entered("filled", member("holds"))),
        ("type", _) => Some(entered("typed", member("holds"))),
        ("press", _) => Some("pressed".to_owned()),
        ("hover", _) => Some("hovered".to_owned()),
        ("focus", _) => Some("focused".to_owned()),
        ("check", _) => Some("checked".to_owned()),
        ("uncheck", _) => Some("unchecked".to_owned()),
        ("select", _) => Some(selected(member("selected"))),
        ("select-text", _) => Some("selected the text".to_owned()),
        ("drag", _) => Some("dragged".to_owned()),
        ("scroll", _) => Some("scrolled".to_owned()),
        ("wait", _) => Some("waited".to_owned()),
        ("close", _) => Some("closed".to_owned()),
        ("screenshot" | "pdf", _) => text("path").map(|path| format!("saved {path}")),
        ("dialog", Some(_)) => text("answer").map(|answer| format!("{answer} the dialog")),
        _ => None,
    };
    let is_loading = member("loading") == Some(&Value::Bool(true));
    match line {
        Some(line) if is_loading => truncate::text(&format!("{line}; {LOADING}"), limit),
        Some(line) => truncate::text(&line, limit),
        None => {
            let text = render_text(body, subcommand, word, limit).trim_end_matches('\n').to_owned();
            if is_loading && subcommand == "snapshot" {
                truncate::text(&format!("({LOADING})\n{text}"), limit)
            } else {
                text
            }
        }
    }
}

/// Returns the line about a page: `opened "Shop" https://shop.example/ (HTTP 404)`.
fn opened(what: &str, title: Option<&str>, url: &str, status: Option<&Value>) -> String {
    let title = title.filter(|title| !title.is_empty()).map(|title| format!(" \"{title}\"")).unwrap_or_default();
    let status = status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    format!("{what}{title} {url}{status}")
}

/// Returns the line of a field, with what the page made of the text.
fn entered(done: &str, held: Option<&Value>) -> String {
    held.map_or_else(|| done.to_owned(), |held| format!("{done}; the field holds {held}"))
}

fn selected(values: Option<&Value>) -> String {
    let values = values.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let values = values.collect::<Vec<_>>().join(", ");
    if values.is_empty() { "selected".to_owned() } else { format!("selected {values}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_plain_text_without_json() {
        let url = "http://a.example/";
        let rows = [
            ("open", None, json!({"title": "Shop", "url": url}), "opened \"Shop\" http://a.example/"),
            ("open", None, json!({"title": "", "url": url, "status": 404}), "opened http://a.example/ (HTTP 404)"),
            (
                "snapshot",
                None,
                json!({"snapshot": "- button \"A\" [ref=e1]", "refs": {}, "origin": url}),
                "- button \"A\" [ref=e1]",
            ),
            ("snapshot", None, json!({"snapshot": "- x", "origin": url}), "- x"),
            (
                "snapshot",
                None,
                json!({"snapshot": "(no interactive elements)", "origin": url}),
                "(no interactive elements)\nuse `snapshot` for the whole tree, or `screenshot`",
            ),
            ("click", None, json!({"clicked": true}), "clicked"),
            ("fill", None, json!({"filled": true}), "filled"),
            ("fill", None, json!({"filled": true, "holds": "a \"b\""}), "filled; the field holds \"a \\\"b\\\"\""),
            ("press", None, json!({"pressed": true}), "pressed"),
            ("press", None, json!({"pressed": true, "loading": true}), "pressed; the page is still loading"),
            (
                "snapshot",
                None,
                json!({"snapshot": "- x", "origin": url, "loading": true}),
                "(the page is still loading)\n- x",
            ),
            ("select", None, json!({"selected": ["l", "m"]}), "selected l, m"),
            ("select-text", None, json!({"selected": true}), "selected the text"),
            ("get", Some("text"), json!({"text": "two\nlines", "origin": url}), "two\nlines"),
            ("get", Some("value"), json!({"value": "Ada", "origin": url}), "Ada"),
            ("get", Some("value"), json!({"value": "", "origin": url}), ""),
            ("get", Some("count"), json!({"count": 2}), "2"),
            ("get", Some("attr"), json!({"attribute": "type", "value": null, "origin": url}), "(no such attribute)"),
            (
                "get",
                Some("box"),
                json!({"box": {"height": 1, "width": 2, "x": 3, "y": 4}}),
                r#"{"height":1,"width":2,"x":3,"y":4}"#,
            ),
            ("is", Some("visible"), json!({"visible": false, "origin": url}), "false"),
            ("back", None, json!({"url": url}), "back http://a.example/"),
            ("tab", None, json!({"title": "B", "url": url, "index": 1}), "switched to \"B\" http://a.example/"),
            (
                "tab",
                None,
                json!({"tabs": [{"active": true, "index": 0, "title": "a", "url": url}]}),
                "→ [0] a - http://a.example/",
            ),
            ("tab", Some("close"), json!({"closed": 1}), "closed the tab"),
            ("screenshot", None, json!({"path": "/w/a.png"}), "saved /w/a.png"),
            ("dialog", Some("accept"), json!({"answer": "accepted", "dialog": {}}), "accepted the dialog"),
        ];
        for (subcommand, word, data, expected) in rows {
            assert_eq!(
                render_plain(&Body::Data(data.clone()), subcommand, word, 1000),
                expected,
                "{subcommand} {data}"
            );
        }
        assert_eq!(render_plain(&Body::Text("as it is\n".to_owned()), "get", Some("text"), 1000), "as it is");
    }

    // Requirement 1.7.
    #[test]
    fn plain_answers_are_truncated() {
        let long = "x".repeat(5000);
        for (subcommand, word) in [("get", Some("text")), ("open", None), ("snapshot", None), ("select", None)] {
            let data = json!({"text": long, "url": long, "snapshot": long, "refs": {}, "selected": [long]});
            let text = render_plain(&Body::Data(data), subcommand, word, 1000);
            assert!(text.chars().count() <= 1000, "{subcommand}");
        }
    }
}
