//! Raw output of agent-browser, and its parsing into a [`CommandResult`] with a [`Body`] that can be masked and rendered.
//!
//! Requirement 1.6. Output data is normalized to the shape of the pinned version of agent-browser: clients get the same data from every
//! version, also about tabs, without parts of the request and without JavaScript stacks. Members are selected by name alone: the
//! names come from agent-browser, and the page's content only occurs in their values.
//!
//! Invariants: a failure never becomes a success, and no part of the request is added. A value that shows the page's content is never
//! changed.

use serde_json::{Map, Value, json};

use super::page_text::{escape_invisible, escape_invisible_json, without_invisible};
use super::{mask, truncate};

/// Output stream of a child process, captured up to a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedStream {
    /// Captured bytes.
    pub bytes: Vec<u8>,
    /// Number of bytes that the child wrote.
    pub total: u64,
}

impl CapturedStream {
    /// Returns the text, with a marker if bytes beyond the limit are missing.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let lost = self.total.saturating_sub(self.bytes.len() as u64);
        if lost == 0 { text.into_owned() } else { format!("{text}\n[... {lost} bytes cut]") }
    }
}

/// Exit code and streams of one run of agent-browser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawOutput {
    /// Exit code, or 128 plus the signal number if a signal ended the process.
    pub exit_code: i32,
    /// Standard output.
    pub stdout: CapturedStream,
    /// Standard error.
    pub stderr: CapturedStream,
}

/// Parsed output of one command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandResult {
    /// Exit code of the reply.
    pub exit_code: i32,
    /// Content of `stdout`.
    pub body: Body,
    /// Content of `stderr`.
    pub stderr: String,
}

/// Messages of the known versions of agent-browser about a browser that does not respond.
const BROWSER_UNAVAILABLE: &[&str] = &["Failed to connect via CDP", "All CDP discovery methods failed"];

impl CommandResult {
    /// Parses raw output.
    ///
    /// Output that is not the expected JSON becomes text, and so does output that exceeds the capture limit.
    #[must_use]
    pub fn parse(raw: &RawOutput) -> Self {
        let stderr = without_stack(raw.stderr.to_text());
        let parsed = serde_json::from_slice::<Value>(&raw.stdout.bytes)
            .ok()
            .filter(|_| raw.stdout.total == raw.stdout.bytes.len() as u64);
        let Some(Value::Object(mut members)) = parsed else {
            return Self::from_text(raw, stderr);
        };
        let mut data = members.remove("data").unwrap_or(Value::Null);
        normalize(&mut data);
        // The CLI of the pinned version sorts members, so every transport gives the same text.
        data.sort_all_objects();
        match members.get("success").and_then(Value::as_bool) {
            Some(true) => Self { exit_code: raw.exit_code, body: Body::Data(data), stderr },
            Some(false) => {
                let message = match members.get("error") {
                    Some(Value::String(message)) if !message.is_empty() => {
                        tab_message(message).unwrap_or_else(|| without_stack(message.clone()))
                    }
                    _ => "agent-browser reported a failure without a message".to_owned(),
                };
                let exit_code = if raw.exit_code == 0 { 1 } else { raw.exit_code };
                let body = if data.is_null() { Body::Empty } else { Body::Data(data) };
                Self { exit_code, body, stderr: join_lines(&message, &stderr) }
            }
            None => Self::from_text(raw, stderr),
        }
    }

    /// Creates a result with the output as text.
    fn from_text(raw: &RawOutput, stderr: String) -> Self {
        let text = raw.stdout.to_text();
        let body = if text.is_empty() { Body::Empty } else { Body::Text(text) };
        let has_no_message = raw.exit_code != 0 && stderr.trim().is_empty();
        let stderr =
            if has_no_message { format!("agent-browser ended with exit code {}", raw.exit_code) } else { stderr };
        Self { exit_code: raw.exit_code, body, stderr }
    }

    /// Returns `true` if the command failed because the browser does not respond.
    #[must_use]
    pub fn is_browser_unavailable(&self) -> bool {
        self.exit_code != 0 && BROWSER_UNAVAILABLE.iter().any(|message| self.stderr.contains(message))
    }
}

/// Joins a message and the rest of stderr, on separate lines.
fn join_lines(message: &str, stderr: &str) -> String {
    let stderr = stderr.trim_end();
    if stderr.is_empty() { message.to_owned() } else { format!("{message}\n{stderr}") }
}

/// Members about the page or the daemon, which are not the result itself.
const METADATA_MEMBERS: &[&str] = &["origin", "lifecycle", "loading"];

/// Content of the field `stdout` of a reply, before truncation.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// No content.
    Empty,
    /// Member `data` of the JSON output.
    Data(Value),
    /// Output that is not the expected JSON.
    Text(String),
}

impl Body {
    /// Returns the page's URLs that the data reports: `url` and `origin`, and the URL of the active tab in a list.
    ///
    /// Only members that agent-browser sets are used, never the content of the page.
    #[must_use]
    pub fn landing_urls(&self) -> Vec<String> {
        let Self::Data(Value::Object(data)) = self else {
            return Vec::new();
        };
        let members = ["url", "origin"].into_iter().filter_map(|name| data.get(name));
        let tabs = data.get("tabs").and_then(Value::as_array).into_iter().flatten();
        let active = tabs.filter(|tab| tab.get("active") == Some(&Value::Bool(true))).filter_map(|tab| tab.get("url"));
        members.chain(active).filter_map(Value::as_str).filter(|url| !url.is_empty()).map(str::to_owned).collect()
    }

    /// Returns true if the data has a member.
    #[must_use]
    pub fn has_member(&self, name: &str) -> bool {
        matches!(self, Self::Data(data) if data.get(name).is_some())
    }

    /// Adds a member to the data.
    pub fn add_member(&mut self, name: &str, value: Value) {
        match self {
            Self::Data(Value::Object(data)) => {
                data.insert(name.to_owned(), value);
            }
            Self::Empty | Self::Data(Value::Null) => *self = Self::Data(serde_json::json!({ name: value })),
            Self::Data(_) | Self::Text(_) => {}
        }
    }

    /// Removes a text of the request from the data, because some versions of agent-browser repeat typed text.
    pub fn remove_echo(&mut self, text: &str) {
        if let (false, Self::Data(Value::Object(data))) = (text.is_empty(), self) {
            data.retain(|_, value| value.as_str() != Some(text));
        }
    }

    /// Returns the text of the field `stdout`, at most `limit` characters long: data as one line of compact JSON with its line
    /// feed, `null` included; text with its own ending.
    #[must_use]
    pub fn render(&self, limit: usize) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Data(value) => truncate::json(value, limit.saturating_sub(1)) + "\n",
            Self::Text(text) => truncate::text(text, limit),
        }
    }

    /// Returns the same for a reader that may be a language model: characters that nobody sees are escapes, so that data remains the same. If
    /// it is too long with them, they are left out.
    #[must_use]
    pub fn render_visible(&self, limit: usize) -> String {
        let Self::Data(_) = self else {
            let Self::Text(text) = self else { return String::new() };
            return truncate::text(&escape_invisible(text), limit);
        };
        let text = self.render(limit);
        let escaped = escape_invisible_json(&text);
        if escaped.chars().count() <= limit { escaped.into_owned() } else { without_invisible(&text).into_owned() }
    }

    /// Returns the content for clients that expect text, as in the runtime's compat profile, at most `limit` characters
    /// long: the tree of a snapshot, the value of a result with one value, or one line of JSON.
    ///
    /// Masking has to happen before, because it needs the member names.
    #[must_use]
    pub fn render_text(&self, limit: usize) -> String {
        let Self::Data(Value::Object(data)) = self else { return self.render(limit) };
        if let (Some(Value::String(tree)), Some(Value::Object(_))) = (data.get("snapshot"), data.get("refs")) {
            return truncate::text(tree, limit);
        }
        match self.only_value() {
            Some(Value::String(text)) => truncate::text(text, limit),
            Some(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => {
                truncate::text(&value.to_string(), limit)
            }
            _ => self.render(limit),
        }
    }

    /// Returns the value of a result that has one value only.
    pub(super) fn only_value(&self) -> Option<&Value> {
        let Self::Data(Value::Object(data)) = self else { return None };
        let mut values =
            data.iter().filter(|(name, _)| !METADATA_MEMBERS.contains(&name.as_str())).map(|(_, value)| value);
        values.next().filter(|_| values.next().is_none())
    }

    /// Masks known secrets in place, in every encoding.
    pub fn mask_literals(&mut self, literals: &mask::Literals) {
        match self {
            _ if literals.is_empty() => {}
            Self::Empty => {}
            Self::Data(value) => literals.mask_json(value),
            Self::Text(text) => *text = literals.mask_answer(text),
        }
    }

    /// Masks secrets in place.
    pub fn mask(&mut self) {
        match self {
            Self::Empty => {}
            Self::Data(value) => mask::json(value),
            Self::Text(text) => *text = mask::text(text).into_owned(),
        }
    }
}

/// Members about agent-browser and its connection.
const INTERNAL_MEMBERS: &[&str] = &["lifecycle", "restoreStatus", "saveStatus", "targetId"];

/// Members that confirm an action. In newer versions, their value is the selector, key or text of the request.
const CONFIRMATIONS: &[&str] =
    &["clicked", "filled", "typed", "pressed", "hovered", "focused", "checked", "unchecked", "waited", "scrolled"];

/// Members with the condition of a `wait`, which is part of the request.
const WAIT_CONDITIONS: &[&str] = &["selector", "text", "ms"];

/// Members with the two elements of a `drag`, which are part of the request.
const DRAG_ENDS: &[&str] = &["source", "target"];

/// Members of an element's box, sorted.
const BOX_MEMBERS: &[&str] = &["height", "width", "x", "y"];

/// Members of a tab that only commands of newer versions use.
const TAB_INTERNAL_MEMBERS: &[&str] = &["label", "tabId", "targetId", "type"];

/// Normalizes the data of a command result.
fn normalize(data: &mut Value) {
    let Value::Object(data) = data else { return };
    data.retain(|name, _| !INTERNAL_MEMBERS.contains(&name.as_str()));
    if data.get("waited").is_some_and(Value::is_string) {
        data.retain(|name, _| !WAIT_CONDITIONS.contains(&name.as_str()));
    }
    if data.contains_key("dragged") {
        data.retain(|name, _| !DRAG_ENDS.contains(&name.as_str()));
    }
    if data.contains_key("count") {
        data.remove("selector");
    }
    for name in CONFIRMATIONS {
        if let Some(value) = data.get_mut(*name).filter(|value| value.is_string()) {
            *value = true.into();
        }
    }
    if data.len() == BOX_MEMBERS.len() && BOX_MEMBERS.iter().all(|name| data.contains_key(*name)) {
        let inner = std::mem::take(data);
        data.insert("box".to_owned(), inner.into());
    }
    number_tabs(data);
}

/// Numbers tabs by their position in the list.
fn number_tabs(data: &mut Map<String, Value>) {
    let Some(Value::Array(tabs)) = data.get_mut("tabs") else { return };
    let mut active = None;
    for (index, tab) in tabs.iter_mut().enumerate() {
        let Value::Object(tab) = tab else { return };
        if tab.contains_key("index") {
            return;
        }
        tab.retain(|name, _| !TAB_INTERNAL_MEMBERS.contains(&name.as_str()));
        tab.insert("index".to_owned(), index.into());
        if tab.get("active") == Some(&Value::Bool(true)) {
            active = Some(index);
        }
    }
    data.entry("active").or_insert_with(|| json!(active));
}

/// Returns a message without the lines of a JavaScript stack, which say nothing to an agent.
fn without_stack(message: String) -> String {
    if !message.lines().any(is_frame) {
        return message;
    }
    let mut kept: String = message.split_inclusive('\n').filter(|line| !is_frame(line)).collect();
    if !message.ends_with('\n') {
        kept.truncate(kept.trim_end_matches('\n').len());
    }
    kept
}

/// Returns `true` for a line such as `    at name (file.js:10:5)`.
fn is_frame(line: &str) -> bool {
    let Some(frame) = line.strip_prefix("    at ") else { return false };
    let place = frame.trim_end().trim_end_matches(')');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = place.rsplit(':');
    let has_position = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
    has_position || place.ends_with("<anonymous>") || place.ends_with("native code")
}

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
fn tab_message(message: &str) -> Option<String> {
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
mod tests;
