//! Replies as text, in the form that agent-browser's own command line prints.
//!
//! Clients of the runtime's compat profile read these texts. They are the same for every version of agent-browser.
//!
//! Invariants: only data that is masked already becomes text, and no text is longer than its limit.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::page_text::escape_controls;
use super::result::Body;
use super::truncate;

/// Text of a command that has nothing to report.
pub(super) const DONE: &str = "✓ Done";

/// Returns the text of a successful command: `subcommand` with the word of its form, such as `tab` and `close`. It ends with
/// a line break unless it is empty, and is at most `limit` characters long.
#[must_use]
pub fn render_text(body: &Body, subcommand: &str, word: Option<&str>, limit: usize) -> String {
    let Body::Data(data) = body else { return body.render(limit) };
    let limit = limit.saturating_sub(1);
    let empty = Map::new();
    let members = data.as_object().unwrap_or(&empty);
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let text = match (subcommand, word) {
        // The other member is the name of the attribute.
        ("get", Some("attr")) if members.get("value").is_some_and(Value::is_string) => {
            text("value").unwrap_or_default().to_owned()
        }
        ("get", Some("attr")) if members.get("value").is_some_and(Value::is_null) => DONE.to_owned(),
        ("get", Some("box")) => pretty(members.get("box").unwrap_or(data)),
        ("get", Some("styles")) => styles(members).unwrap_or_else(|| pretty(data)),
        ("snapshot" | "is" | "get", _) => body.render_text(limit),
        ("find", Some("first" | "last" | "nth")) if text("text").is_some() => body.render_text(limit),
        ("open" | "tab", None) if text("url").is_some() => {
            format!("✓ {}\n  {}", line(text("title")), line(text("url")))
        }
        ("tab", None | Some("list")) => tabs(members),
        ("tab", Some("close")) => "✓ Tab closed".to_owned(),
        ("back" | "forward" | "reload", _) => text("url").unwrap_or(DONE).to_owned(),
        ("screenshot", _) => format!("✓ Screenshot saved to {}", text("path").unwrap_or_default()),
        ("pdf", _) => format!("✓ PDF saved to {}", text("path").unwrap_or_default()),
        ("close", _) => "✓ Browser closed".to_owned(),
        ("cookies", None | Some("get")) => match cookies(members) {
            Some(lines) if lines.is_empty() => return String::new(),
            Some(lines) => lines,
            None => pretty(data),
        },
        ("cookies", Some("clear")) => "✓ Cookies cleared".to_owned(),
        ("session", None) => text("session").unwrap_or_default().to_owned(),
        ("session", Some(_)) => sessions(members),
        _ => DONE.to_owned(),
    };
    format!("{}\n", truncate::text(&text, limit))
}

/// Returns the reply as agent-browser prints it with `--json`, on one line of at most `limit` characters.
#[must_use]
pub fn render_envelope(body: &Body, is_success: bool, stderr: &str, limit: usize) -> String {
    let data = match body {
        Body::Empty => Value::Null,
        Body::Data(data) => data.clone(),
        Body::Text(text) => text.as_str().into(),
    };
    let error = if is_success { Value::Null } else { stderr.into() };
    let envelope = json!({"success": is_success, "data": data, "error": error});
    format!("{}\n", truncate::json(&envelope, limit.saturating_sub(1)))
}

/// Returns a title or an address, which remains on its line.
fn line(text: Option<&str>) -> Cow<'_, str> {
    escape_controls(text.unwrap_or_default())
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Returns one line for each style: of the elements that older versions list, or of the one of newer versions.
fn styles(members: &Map<String, Value>) -> Option<String> {
    let lines = |styles: &Map<String, Value>, text: &mut String| {
        for (name, value) in styles {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = writeln!(text, "{name}: {value}");
        }
    };
    let mut text = String::new();
    if let Some(styles) = members.get("styles").and_then(Value::as_object) {
        lines(styles, &mut text);
    } else {
        for (index, element) in members.get("elements")?.as_array()?.iter().enumerate() {
            let tag = element.get("tag").and_then(Value::as_str).unwrap_or_default();
            let _ = writeln!(text, "[{index}] {tag}");
            lines(element.get("styles")?.as_object()?, &mut text);
        }
    }
    Some(text.trim_end().to_owned())
}

/// Returns one line for each tab, with its number, and an arrow at the active one.
fn tabs(members: &Map<String, Value>) -> String {
    let tabs = members.get("tabs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let line_of = |(position, tab): (usize, &Value)| {
        let text = |name: &str| line(tab.get(name).and_then(Value::as_str));
        let mark = if tab.get("active") == Some(&Value::Bool(true)) { "→" } else { " " };
        let index =
            tab.get("index").and_then(Value::as_u64).map_or_else(|| position.to_string(), |index| index.to_string());
        format!("{mark} [{index}] {} - {}", text("title"), text("url"))
    };
    tabs.iter().enumerate().map(line_of).collect::<Vec<_>>().join("\n")
}

/// Returns one line for each cookie, or `None` if the data has another form, as after masking.
fn cookies(members: &Map<String, Value>) -> Option<String> {
    let cookies = members.get("cookies")?.as_array()?.iter();
    let line = |cookie: &Value| Some(format!("{}={}", cookie.get("name")?.as_str()?, cookie.get("value")?.as_str()?));
    cookies.map(line).collect::<Option<Vec<_>>>().map(|lines| lines.join("\n"))
}

fn sessions(members: &Map<String, Value>) -> String {
    let names = members.get("sessions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if names.is_empty() {
        return "No active sessions".to_owned();
    }
    let lines = names.iter().filter_map(Value::as_str).map(|name| format!("\n→ {name}"));
    format!("Active sessions:{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_have_the_texts_of_agent_browser() {
        let tabs = json!({"active": 1, "tabs": [
            {"active": false, "index": 0, "title": "a", "url": "http://a.example/"},
            {"active": true, "index": 1, "title": "b", "url": "http://b.example/"},
        ]});
        let page = json!({"title": "Shop", "url": "http://a.example/"});
        let rows = [
            ("open", None, page.clone(), "✓ Shop\n  http://a.example/\n"),
            ("tab", None, page, "✓ Shop\n  http://a.example/\n"),
            ("tab", None, tabs.clone(), "  [0] a - http://a.example/\n→ [1] b - http://b.example/\n"),
            (
                "open",
                None,
                json!({"title": "a\u{2028}✓ Done\u{1b}", "url": "http://a.example/"}),
                "✓ a\\u{2028}✓ Done\\u{1b}\n  http://a.example/\n",
            ),
            ("tab", Some("list"), tabs, "  [0] a - http://a.example/\n→ [1] b - http://b.example/\n"),
            ("tab", Some("new"), json!({"index": 1, "total": 2}), "✓ Done\n"),
            ("tab", Some("close"), json!({"closed": 1}), "✓ Tab closed\n"),
            ("click", None, json!({"clicked": true}), "✓ Done\n"),
            ("check", None, json!({"checked": true}), "✓ Done\n"),
            ("select", None, json!({"selected": ["l"]}), "✓ Done\n"),
            ("wait", None, json!({"text": "x"}), "✓ Done\n"),
            ("find", Some("role"), json!({"clicked": true}), "✓ Done\n"),
            ("find", Some("text"), json!({"text": "x"}), "✓ Done\n"),
            ("find", Some("first"), json!({"text": "two\nlines"}), "two\nlines\n"),
            ("find", Some("first"), json!({"clicked": true}), "✓ Done\n"),
            ("screenshot", None, json!({"path": "/workspace/a.png"}), "✓ Screenshot saved to /workspace/a.png\n"),
            ("pdf", None, json!({"path": "/workspace/a.pdf"}), "✓ PDF saved to /workspace/a.pdf\n"),
            ("close", None, json!({"closed": true}), "✓ Browser closed\n"),
            ("back", None, json!({"url": "http://a.example/"}), "http://a.example/\n"),
            ("snapshot", None, json!({"snapshot": "- x", "refs": {}, "origin": "u"}), "- x\n"),
            ("get", Some("title"), json!({"title": "Shop"}), "Shop\n"),
            ("get", Some("count"), json!({"count": 2}), "2\n"),
            ("get", Some("value"), json!({"value": "Ada", "origin": "u"}), "Ada\n"),
            ("get", Some("attr"), json!({"attribute": "href", "value": "/b", "origin": "u"}), "/b\n"),
            ("get", Some("attr"), json!({"attribute": "type", "value": null, "origin": "u"}), "✓ Done\n"),
            ("get", Some("box"), json!({"box": {"x": 1}}), "{\n  \"x\": 1\n}\n"),
            ("get", Some("styles"), json!({"styles": {"color": "red", "x": 1}}), "color: red\nx: 1\n"),
            (
                "get",
                Some("styles"),
                json!({"elements": [{"tag": "p", "styles": {"color": "red"}}]}),
                "[0] p\ncolor: red\n",
            ),
            ("is", Some("visible"), json!({"visible": true}), "true\n"),
            ("cookies", None, json!({"cookies": [{"name": "a", "value": "b"}]}), "a=b\n"),
            ("cookies", None, json!({"cookies": []}), ""),
            ("cookies", None, json!({"cookies": "***"}), "{\n  \"cookies\": \"***\"\n}\n"),
            ("cookies", Some("clear"), json!({"cleared": true}), "✓ Cookies cleared\n"),
            ("session", None, json!({"session": "one"}), "one\n"),
            ("session", Some("list"), json!({"sessions": ["one"]}), "Active sessions:\n→ one\n"),
            ("session", Some("list"), json!({"sessions": []}), "No active sessions\n"),
        ];
        for (subcommand, word, data, expected) in rows {
            assert_eq!(render_text(&Body::Data(data.clone()), subcommand, word, 1000), expected, "{subcommand} {data}");
        }
        assert_eq!(render_text(&Body::Empty, "click", None, 1000), "");
        assert_eq!(
            render_text(&Body::Text("agent-browser 1\n".to_owned()), "--version", None, 1000),
            "agent-browser 1\n"
        );
    }

    // Requirement 1.7.
    #[test]
    fn texts_and_envelopes_are_truncated() {
        let long = "x".repeat(5000);
        for (subcommand, word) in [("get", Some("text")), ("open", None), ("screenshot", None), ("snapshot", None)] {
            let data = json!({"text": long, "url": long, "path": long, "snapshot": long, "refs": {}});
            let text = render_text(&Body::Data(data), subcommand, word, 1000);
            assert!(text.chars().count() <= 1000, "{subcommand}");
        }
        let text = render_envelope(&Body::Data(json!({"text": long})), true, "", 1000);
        assert!(text.chars().count() <= 1000 && serde_json::from_str::<Value>(&text).is_ok(), "{text}");
    }

    #[test]
    fn envelope_has_data_on_success_and_error_on_failure() {
        let body = Body::Data(json!({"url": "u"}));
        assert_eq!(
            render_envelope(&body, true, "", 1000),
            "{\"success\":true,\"data\":{\"url\":\"u\"},\"error\":null}\n"
        );
        assert_eq!(
            render_envelope(&Body::Empty, false, "no element", 1000),
            "{\"success\":false,\"data\":null,\"error\":\"no element\"}\n"
        );
    }
}
