//! Secrets as values of fields, which is all that is masked of what the agent typed itself.
//!
//! agent-browser reports the value of a field in a member of the data, in a tree, and in the attributes of HTML.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use super::tree::{TreeLine, each_line, has_lines};
use super::values::MASK;

/// Members of data that hold the value of a field.
const MEMBERS: &[&str] = &["holds", "value"];

/// Roles of fields.
const ROLES: &[&str] = &["combobox", "searchbox", "spinbutton", "textbox"];

/// Values in HTML: attributes, and the content of an element for text.
static HTML: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)(\svalue\s*=\s*"|<textarea\b[^>]*>)([^"<]*)|(\svalue\s*=\s*'?)([^\s"'>][^'>]*)"#).ok()
});

/// Value of a field in a message.
static MESSAGE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"( holds )("(?:[^"\\]|\\.)*")"#).ok());

/// Masks values in data.
pub(super) fn mask_json(value: &mut Value, is_secret: &dyn Fn(&str) -> bool) {
    let Value::Object(members) = value else { return };
    for (name, member) in members {
        let Value::String(text) = member else { continue };
        let masked = match name.as_str() {
            name if MEMBERS.contains(&name) && is_secret(text) => Cow::Borrowed(MASK),
            "html" => replace(text, &HTML, is_secret),
            "snapshot" => mask_tree(text, is_secret),
            _ => continue,
        };
        if masked != text.as_str() {
            *text = masked.into_owned();
        }
    }
}

/// Masks values in a message.
pub(super) fn mask_message<'a>(text: &'a str, is_secret: &dyn Fn(&str) -> bool) -> Cow<'a, str> {
    replace(text, &MESSAGE, is_secret)
}

fn replace<'a>(text: &'a str, pattern: &LazyLock<Option<Regex>>, is_secret: &dyn Fn(&str) -> bool) -> Cow<'a, str> {
    let Some(pattern) = pattern.as_ref() else { return Cow::Borrowed(MASK) };
    pattern.replace_all(text, |found: &Captures<'_>| {
        let group = |first: usize, second: usize| {
            found.get(first).or_else(|| found.get(second)).map_or("", |group| group.as_str())
        };
        let (before, value) = (group(1, 3), group(2, 4));
        let inner = value.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
        match inner {
            Some(inner) if is_secret(inner) => format!("{before}\"{MASK}\""),
            None if is_secret(value) => format!("{before}{MASK}"),
            _ => format!("{before}{value}"),
        }
    })
}

/// Masks values in a tree: of a field, and of what is in a field.
pub(super) fn mask_tree<'a>(text: &'a str, is_secret: &dyn Fn(&str) -> bool) -> Cow<'a, str> {
    if !has_lines(text) {
        return if is_secret(text) { Cow::Borrowed(MASK) } else { Cow::Borrowed(text) };
    }
    let mut field = None;
    let masked = each_line(text, |line| {
        let Some(parsed) = TreeLine::parse(line) else { return line.to_owned() };
        field.take_if(|indent| parsed.indent <= *indent);
        let is_below = field.is_some();
        if field.is_none() && ROLES.contains(&parsed.role) {
            field = Some(parsed.indent);
        }
        let mut masked = String::with_capacity(line.len());
        for (position, piece) in parsed.pieces.iter().enumerate() {
            let is_value = is_below || field.is_some() && parsed.value == Some(position);
            let is_hidden = is_value && is_secret(piece.text());
            piece.push_to(&mut masked, is_hidden.then_some(MASK));
        }
        masked
    });
    if masked == text { Cow::Borrowed(text) } else { Cow::Owned(masked) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Literals;
    use super::*;
    use crate::output::Body;

    fn masked(data: Value) -> Value {
        let mut body = Body::Data(data);
        body.mask_literals(&Literals::default().with_field_values(["admin".to_owned(), "a \"b\" & c".to_owned()]));
        let Body::Data(data) = body else { panic!("the body has no data") };
        data
    }

    // Requirement 6.3.
    #[test]
    fn typed_secret_is_masked_as_value_of_a_field_only() {
        for (given, expected) in [
            (json!({"value": "admin"}), Some(json!({"value": "***"}))),
            (json!({"filled": true, "holds": "admin"}), Some(json!({"filled": true, "holds": "***"}))),
            (
                json!({"html": "<input value=\"admin\"><b title=\"admin\">admin</b>"}),
                Some(json!({"html": "<input value=\"***\"><b title=\"admin\">admin</b>"})),
            ),
            (json!({"html": "<input\nvalue=admin>"}), Some(json!({"html": "<input\nvalue=***>"}))),
            (json!({"html": "<input value='a &quot;b&quot; &amp; c'>"}), Some(json!({"html": "<input value='***'>"}))),
            (
                json!({"html": "<textarea id=\"a\">admin</textarea>"}),
                Some(json!({"html": "<textarea id=\"a\">***</textarea>"})),
            ),
            (json!({"html": "<option value=\"administrator\">"}), None),
            (
                json!({"snapshot": "- textbox \"Code\" [required, ref=e1]: admin\n  - StaticText \"admin\"\n- link \"admin\" [ref=e2]"}),
                Some(
                    json!({"snapshot": "- textbox \"Code\" [required, ref=e1]: ***\n  - StaticText \"***\"\n- link \"admin\" [ref=e2]"}),
                ),
            ),
            (
                json!({"snapshot": "- textbox \"Code\" [ref=e1]:\n  - text: \"a \\\"b\\\" & c\"\n- text: admin"}),
                Some(json!({"snapshot": "- textbox \"Code\" [ref=e1]:\n  - text: \"***\"\n- text: admin"})),
            ),
            (json!({"snapshot": "- link \"Site admin\" [ref=e1]\n- button \"Add admin user\" [ref=e2]"}), None),
            (json!({"text": "admin", "title": "admin login", "url": "http://admin/?admin"}), None),
        ] {
            assert_eq!(masked(given.clone()), expected.unwrap_or(given));
        }
    }

    #[test]
    fn message_names_no_typed_secret_as_value() {
        let literals = Literals::default().with_field_values(["admin".to_owned()]);
        let message = "the `textbox` holds \"admin\"; `link \"Site admin\"` is in front";
        assert_eq!(literals.mask_message(message), "the `textbox` holds \"***\"; `link \"Site admin\"` is in front");
    }
}
