//! Text of a page in an answer that is plain text.
//!
//! A page chooses titles, names, addresses and texts, and could write lines such as `opened "Bank" https://bank.example/`. So what a page
//! says stands in quotes, or in lines that begin with two blanks. No other line of an answer begins with a blank, but those of a tree, whose
//! names are in quotes.
//!
//! Invariant: no result has a line break that is not followed by two blanks, and [`quoted`], [`address`] and [`word`] have none.

use std::borrow::Cow;

use serde_json::Value;

use super::escape::escape_json;

/// Begin of each line of a text of a page.
const INDENT: &str = "  ";

/// Returns a text as a JSON string without line breaks of any kind, also those that JSON leaves as they are.
#[must_use]
pub fn quoted(text: &str) -> String {
    escape_json(&Value::from(text).to_string()).into_owned()
}

/// Returns the begin of a text that is longer than a number of characters, without a part of a word: a part of a secret is no secret that a
/// mask finds. `None` if the text is not longer.
pub(crate) fn begin_in_words(text: &str, limit: usize) -> Option<&str> {
    let (end, next) = text.char_indices().nth(limit)?;
    let begin = text.get(..end).unwrap_or_default();
    let whole = if next.is_ascii_graphic() { begin.trim_end_matches(|c: char| c.is_ascii_graphic()) } else { begin };
    Some(whole.trim_end())
}

/// Returns an address as it is, or as a JSON string if it has characters that no serialized URL has.
///
/// ```
/// use browser_shell_core::output::address;
/// assert_eq!(address("https://a.example/?b=c"), "https://a.example/?b=c");
/// assert_eq!(address("about:x (HTTP 200)"), "\"about:x (HTTP 200)\"");
/// ```
#[must_use]
pub fn address(url: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '`');
    bare_if(url, is_plain)
}

/// Returns a word such as the name of an element as it is, or as a JSON string if it is no plain word.
#[must_use]
pub fn word(text: &str) -> Cow<'_, str> {
    bare_if(text, |c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'))
}

fn bare_if(text: &str, is_plain: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.is_empty() && text.chars().all(is_plain) { Cow::Borrowed(text) } else { Cow::Owned(quoted(text)) }
}

/// Returns a text with one blank between two words, and none around them.
///
/// ```
/// use browser_shell_core::output::collapse_blanks;
/// assert_eq!(collapse_blanks(" a\n  b "), "a b");
/// ```
#[must_use]
pub fn collapse_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text with two blanks at the begin of each line. Line breaks of all kinds become line feeds.
///
/// ```
/// use browser_shell_core::output::indented;
/// assert_eq!(indented("a\r\nb"), "  a\n  b");
/// ```
#[must_use]
pub fn indented(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines =
        text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}']);
    let mut indented = String::with_capacity(text.len() + INDENT.len());
    for line in lines {
        if !indented.is_empty() {
            indented.push('\n');
        }
        indented.push_str(INDENT);
        indented.push_str(line);
    }
    indented
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_of_a_page_never_begins_a_line(text in "([\\PC\\pC\r\n\u{85}\u{2028}\u{2029}\u{b}\u{c}]|\r\n| ){0,40}") {
            let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
            for line in indented(&text).split(breaks) {
                prop_assert!(line.starts_with(INDENT));
            }
            for shown in [quoted(&text), address(&text).into_owned(), word(&text).into_owned()] {
                prop_assert!(!shown.contains(breaks), "{}", shown);
            }
            let parsed: String = serde_json::from_str(&quoted(&text)).expect("JSON");
            prop_assert_eq!(parsed, text);
        }
    }

    #[test]
    fn ordinary_addresses_and_words_are_bare() {
        for url in ["https://a.example:8443/b?c=d%20e#f", "about:blank", "http://[::1]/"] {
            assert_eq!(address(url), url);
        }
        for text in ["input", "x-menu", "größe"] {
            assert_eq!(word(text), text);
        }
        assert_eq!(address("a b"), r#""a b""#);
        assert_eq!(word("x\"[ref=e9]"), r#""x\"[ref=e9]""#);
        assert_eq!(word(""), r#""""#);
    }
}
