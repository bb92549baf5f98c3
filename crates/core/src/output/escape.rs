//! Text that a page or a client has chosen, made safe to show.
//!
//! A terminal obeys control characters: an escape sequence writes to its clipboard or its title, and a line feed ends a line of a log. A
//! bidirectional control changes the order in which a line is read. All are shown as escapes, such as `\u{1b}`.
//!
//! Invariant: no result holds such a character, but the line feeds and tabs that [`escape_for_terminal`] keeps. Other text
//! remains as it is.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes text for a terminal. Line feeds and tabs are kept.
///
/// ```
/// use browser_shell_core::output::escape_for_terminal;
/// assert_eq!(escape_for_terminal("é\n\u{1b}[31m"), "é\n\\u{1b}[31m");
/// ```
#[must_use]
pub fn escape_for_terminal(text: &str) -> Cow<'_, str> {
    escape(text, |character| is_unsafe(character) && !matches!(character, '\n' | '\t'))
}

/// Escapes text for a line of a log, so that it remains one line.
///
/// ```
/// use browser_shell_core::output::escape_for_log;
/// assert_eq!(escape_for_log("a\nb"), "a\\nb");
/// ```
#[must_use]
pub fn escape_for_log(text: &str) -> Cow<'_, str> {
    escape(text, is_unsafe)
}

/// Escapes text that is JSON, which remains the same JSON. It has its line feeds escaped already.
#[must_use]
pub fn escape_json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_escaped(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Returns true for the controls of C0 and C1, DEL, line and paragraph separators, and bidirectional controls.
const fn is_unsafe(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ORDINARY: &str =
        "plain, 中文, é, e\u{301}, שלום, \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}, \u{a0}, \\u{1b}, \"q\"";

    /// Returns all characters that are escaped.
    fn controls() -> impl Iterator<Item = char> {
        let ranges = [0..=0x1f, 0x7f..=0x9f, 0x61c..=0x61c, 0x200e..=0x200f, 0x2028..=0x202e, 0x2066..=0x2069];
        ranges.into_iter().flatten().filter_map(char::from_u32)
    }

    #[test]
    fn controls_are_shown_and_other_text_is_kept() {
        for character in controls() {
            let text = format!("a{character}b");
            let log = escape_for_log(&text);
            assert!(!log.contains(character) && log.starts_with("a\\") && log.ends_with('b'), "{log:?}");
            let is_kept = matches!(character, '\n' | '\t');
            let terminal = escape_for_terminal(&text);
            assert_eq!(terminal, if is_kept { text.as_str() } else { &*log }, "{character:?}");
        }
        assert_eq!(escape_for_log("\u{1b}]52;c;YQ==\u{7}\r\n\u{9b}31m"), r"\u{1b}]52;c;YQ==\u{7}\r\n\u{9b}31m");
        for escape in [escape_for_log, escape_for_terminal, escape_json] {
            assert_eq!(escape(ORDINARY), ORDINARY, "control");
        }
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let text: String = controls().chain(ORDINARY.chars()).collect();
        let value = json!({ (text.as_str()): [text] });
        let escaped = escape_json(&value.to_string()).into_owned();
        assert!(!escaped.contains(is_unsafe), "{escaped}");
        assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
    }
}
