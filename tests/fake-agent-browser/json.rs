//! JSON output without a dependency, so that the stand-in starts quickly.

use std::fmt::Write as _;

/// Encodes a string.
pub(crate) fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control < ' ' => drop(write!(out, "\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Encodes strings as an array.
pub(crate) fn array(values: &[String]) -> String {
    let items: Vec<String> = values.iter().map(|value| text(value)).collect();
    format!("[{}]", items.join(","))
}

/// Encodes an object whose values are JSON already.
pub(crate) fn object(fields: &[(&str, String)]) -> String {
    let items: Vec<String> = fields.iter().map(|(key, value)| format!("{}:{value}", text(key))).collect();
    format!("{{{}}}", items.join(","))
}
