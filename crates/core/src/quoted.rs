//! Texts in quotes, as the lines of a snapshot have them.

use std::fmt::Write as _;

use serde_json::Value;

/// Returns a text as JSON without line breaks of any kind, also those that JSON leaves as they are.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    for character in Value::from(text).to_string().chars() {
        match character {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted
}
