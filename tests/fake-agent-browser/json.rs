//! Writes JSON by hand: the stand-in has no dependency, so that starting it costs next to nothing.

use std::fmt::Write as _;

/// A string as JSON.
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

/// Strings as a JSON array.
pub(crate) fn array(values: &[String]) -> String {
    let items: Vec<String> = values.iter().map(|value| text(value)).collect();
    format!("[{}]", items.join(","))
}

/// An object whose values are JSON already.
pub(crate) fn object(fields: &[(&str, String)]) -> String {
    let items: Vec<String> = fields.iter().map(|(key, value)| format!("{}:{value}", text(key))).collect();
    format!("{{{}}}", items.join(","))
}
