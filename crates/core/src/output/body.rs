//! Body of a command result, with masking and rendering.

use serde_json::Value;

use super::{mask, truncate};

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

#[cfg(test)]
mod tests;
