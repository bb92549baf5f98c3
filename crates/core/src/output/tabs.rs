//! Answers about tabs, in one form for all versions of agent-browser.

use serde_json::{Value, json};

use super::raw::{CapturedStream, RawOutput};

/// Start of the pinned version's message about a tab that is not there. The number follows, and for a switch the numbers that are.
const NO_TAB: (&str, &str) = ("Invalid tab index: ", ". Available: ");

/// Start of the message of all versions about a tab that they do not close.
const LAST_TAB: &str = "Cannot close the last tab";

/// Message about the only tab, which is not closed.
pub const LAST_TAB_STAYS: &str = "the last tab stays open; `close` ends the session";

/// Returns the message about a tab that is not there.
#[must_use]
pub fn missing_tab(index: usize) -> String {
    format!("no tab {index}; `tab list` shows the numbers, which begin at 0")
}

/// Returns the message that replaces one of agent-browser's about tabs.
pub(super) fn message(message: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix(NO_TAB.0) {
        let number = rest.split_once(NO_TAB.1).map_or(rest, |(number, _)| number);
        return number.parse().ok().map(missing_tab);
    }
    message.starts_with(LAST_TAB).then(|| LAST_TAB_STAYS.to_owned())
}

impl RawOutput {
    /// Returns a list of tabs with the titles that tabs have now, by the ids of their targets. Newer versions list the titles that the
    /// tabs had when they were opened.
    #[must_use]
    pub fn with_tab_titles(self, title: impl Fn(&str) -> Option<String>) -> Self {
        let Ok(mut answer) = serde_json::from_slice::<Value>(&self.stdout.bytes) else { return self };
        let Some(tabs) = answer.pointer_mut("/data/tabs").and_then(Value::as_array_mut) else { return self };
        for tab in tabs {
            let current = tab.get("targetId").and_then(Value::as_str).and_then(&title);
            if let (Some(current), Some(listed)) = (current, tab.get_mut("title")) {
                *listed = current.into();
            }
        }
        self.with_answer(&answer)
    }

    /// Returns the output of a command that chose or closed one of `count` tabs, in the form of the pinned version.
    #[must_use]
    pub fn with_tab(self, index: usize, count: usize, is_closed: bool) -> Self {
        let Ok(mut answer) = serde_json::from_slice::<Value>(&self.stdout.bytes) else { return self };
        if self.exit_code != 0 || answer.get("success") != Some(&Value::Bool(true)) {
            return self;
        }
        let Some(data) = answer.get_mut("data") else { return self };
        let member = |name: &str| data.get(name).cloned().unwrap_or_default();
        *data = if is_closed {
            json!({ "closed": index, "remaining": count.saturating_sub(1) })
        } else {
            json!({ "index": index, "title": member("title"), "url": member("url") })
        };
        self.with_answer(&answer)
    }

    fn with_answer(self, answer: &Value) -> Self {
        let bytes = answer.to_string().into_bytes();
        Self { stdout: CapturedStream { total: bytes.len() as u64, bytes }, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Body, CommandResult};

    fn output(exit_code: i32, answer: &Value) -> RawOutput {
        RawOutput { exit_code, stdout: CapturedStream::default(), stderr: CapturedStream::default() }
            .with_answer(answer)
    }

    fn data(output: &RawOutput) -> Value {
        match CommandResult::parse(output).body {
            Body::Data(data) => data,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_about_tabs_are_the_same_for_all_versions() {
        let rows = [
            ("Invalid tab index: 7", Some("no tab 7; `tab list` shows the numbers, which begin at 0")),
            ("Invalid tab index: 1. Available: 0-0", Some("no tab 1; `tab list` shows the numbers, which begin at 0")),
            ("Cannot close the last tab", Some("the last tab stays open; `close` ends the session")),
            (
                "Cannot close the last tab. Use \"close\" to close the browser.",
                Some("the last tab stays open; `close` ends the session"),
            ),
            ("Invalid tab index: x", None),
            ("the page says: Cannot close the last tab", None),
        ];
        for (text, expected) in rows {
            assert_eq!(message(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn listed_tabs_have_their_current_titles() {
        let list = output(
            0,
            &json!({"success": true, "data": {"tabs": [
                {"active": true, "tabId": "t1", "targetId": "A", "title": "old", "url": "u"},
                {"active": false, "tabId": "t2", "targetId": "B", "title": "kept", "url": "v"},
            ]}}),
        );
        let list = list.with_tab_titles(|target| (target == "A").then(|| "new".to_owned()));
        let expected = json!({"active": 0, "tabs": [
            {"active": true, "index": 0, "title": "new", "url": "u"},
            {"active": false, "index": 1, "title": "kept", "url": "v"},
        ]});
        assert_eq!(data(&list), expected);
        let other = output(0, &json!({"success": true, "data": {"url": "u"}}));
        assert_eq!(other.clone().with_tab_titles(|_| Some("x".to_owned())), other);
    }

    #[test]
    fn chosen_and_closed_tabs_have_the_pinned_form() {
        let chosen =
            output(0, &json!({"success": true, "data": {"label": null, "tabId": "t4", "title": "T", "url": "u"}}));
        assert_eq!(data(&chosen.with_tab(1, 3, false)), json!({"index": 1, "title": "T", "url": "u"}));
        let closed = output(0, &json!({"success": true, "data": {"closed": true, "tabId": "t4"}}));
        assert_eq!(data(&closed.with_tab(1, 3, true)), json!({"closed": 1, "remaining": 2}));
        let failed = output(1, &json!({"success": false, "data": null, "error": "x"}));
        assert_eq!(failed.clone().with_tab(1, 3, true), failed);
    }
}
