//! Text that a page or a client has chosen, made safe to show.
//!
//! A terminal obeys control characters: an escape sequence writes to its clipboard or its title, and a line feed ends a line of a log. A
//! bidirectional control changes the order in which a line is read. A model reads characters that nobody sees, such as the tags by which any
//! ASCII text can be hidden in another one. All are shown as escapes, such as `\u{1b}`, or left out of texts that are shown as they are.
//!
//! In an answer that is plain text, a page chooses titles, names, addresses and texts, and could write lines such as
//! `opened "Bank" https://bank.example/`. So what a page says stands in quotes, or in lines that begin with two blanks. No other line of
//! an answer begins with a blank, but those of a tree, whose names are in quotes.
//!
//! Invariants:
//! - No escaped text holds such a character, but the line feeds and tabs that [`escape_for_terminal`] keeps, and the tags of three flags. Other
//!   text remains as it is.
//! - No text of a page in an answer has a line break that is not followed by two blanks, and [`quoted`], [`address`] and [`word`] have none.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

/// Escapes text for a terminal. Line feeds and tabs are kept.
///
/// ```
/// use browser_shell_core::output::escape_for_terminal;
/// assert_eq!(escape_for_terminal("é\n\u{1b}[31m"), "é\n\\u{1b}[31m");
/// ```
#[must_use]
pub fn escape_for_terminal(text: &str) -> Cow<'_, str> {
    replace(text, |character| is_unsafe(character) && !matches!(character, '\n' | '\t'), push_escape)
}

/// Escapes text for a line of a log, so that it remains one line.
///
/// ```
/// use browser_shell_core::output::escape_for_log;
/// assert_eq!(escape_for_log("a\nb"), "a\\nb");
/// ```
#[must_use]
pub fn escape_for_log(text: &str) -> Cow<'_, str> {
    replace(text, is_unsafe, push_escape)
}

/// Escapes the controls in a text, so that it remains one line. Characters that nobody sees are kept.
pub(super) fn escape_controls(text: &str) -> Cow<'_, str> {
    replace(text, is_control, push_escape)
}

/// Escapes the characters of a text that nobody sees.
///
/// ```
/// use browser_shell_core::output::escape_invisible;
/// assert_eq!(escape_invisible("a\u{e0041}\n"), "a\\u{e0041}\n");
/// ```
#[must_use]
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    replace(text, is_invisible, push_escape)
}

/// Leaves out the characters of a text that nobody sees.
pub(super) fn without_invisible(text: &str) -> Cow<'_, str> {
    replace(text, is_invisible, |_, _| {})
}

/// Escapes text that is JSON, which remains the same JSON. It has its line feeds escaped already.
#[must_use]
pub fn escape_json(text: &str) -> Cow<'_, str> {
    replace(text, is_unsafe, push_json_escape)
}

/// Escapes the characters of JSON that nobody sees. It remains the same JSON.
pub(super) fn escape_invisible_json(text: &str) -> Cow<'_, str> {
    replace(text, is_invisible, push_json_escape)
}

/// Writes some characters of a text in another way, but for those of flags.
fn replace(text: &str, is_replaced: impl Fn(char) -> bool, push_replaced: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.contains(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let flag = FLAGS.iter().find(|flag| rest.starts_with(**flag));
        match flag {
            Some(flag) => replaced.push_str(flag),
            None if is_replaced(character) => push_replaced(&mut replaced, character),
            None => replaced.push(character),
        }
        rest = rest.get(flag.map_or(character.len_utf8(), |flag| flag.len())..).unwrap_or_default();
    }
    Cow::Owned(replaced)
}

fn push_escape(text: &mut String, character: char) {
    text.extend(character.escape_default());
}

/// Appends a character as JSON escapes it: one above U+FFFF is a pair of surrogates.
fn push_json_escape(text: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(text, "\\u{unit:04x}");
    }
}

/// Returns true for what no answer shows as it is.
const fn is_unsafe(character: char) -> bool {
    is_control(character) || is_invisible(character)
}

/// Returns true for the controls of C0 and C1, DEL, line and paragraph separators, and bidirectional controls.
const fn is_control(character: char) -> bool {
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

/// Returns true for a character that nobody sees, and that a model reads: tags, variation selectors of ideographs, marks of places without
/// width. Those that join letters or emoji are none, because other languages and pictures need them.
pub(crate) const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Flags of England, Scotland and Wales: a black flag with a name in tags. They are all that Unicode recommends (`RGI_Emoji_Tag_Sequence` of
/// UTS #51). If any name were kept, a text could be hidden in a row of flags.
const FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

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

/// Returns a text with two blanks at the begin of each line. Line breaks of all kinds become line feeds, and characters that nobody sees are
/// left out.
///
/// ```
/// use browser_shell_core::output::indented;
/// assert_eq!(indented("a\r\nb"), "  a\n  b");
/// ```
#[must_use]
pub fn indented(text: &str) -> String {
    let text = without_invisible(text).replace("\r\n", "\n");
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
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

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

    /// Text that is kept: of several languages, with emoji that have joiners, a variation selector or tags.
    const ORDINARY: &str = "plain, 中文, é, e\u{301}, שלום, \u{6cc}\u{200c}\u{6a9}, \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}, \
        \u{2764}\u{fe0f}, \u{1f3f4}, \u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}, \
        \u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}, \u{a0}, \\u{1b}, \"q\"";

    /// Returns a text in tags, as it is hidden in another one.
    fn tags(text: &str) -> String {
        text.chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect()
    }

    /// Returns all characters that nobody sees.
    fn invisible() -> impl Iterator<Item = char> {
        let ranges = [0xad..=0xad, 0x180e..=0x180e, 0x200b..=0x200b, 0x2060..=0x2064, 0x206a..=0x206f, 0xfeff..=0xfeff];
        let others = [0xfff9..=0xfffb, 0xe0000..=0xe0fff];
        ranges.into_iter().chain(others).flatten().filter_map(char::from_u32)
    }

    /// Returns all characters that are escaped.
    fn controls() -> impl Iterator<Item = char> {
        let ranges = [0..=0x1f, 0x7f..=0x9f, 0x61c..=0x61c, 0x200e..=0x200f, 0x2028..=0x202e, 0x2066..=0x2069];
        ranges.into_iter().flatten().filter_map(char::from_u32).chain(invisible())
    }

    #[test]
    fn invisible_characters_reach_no_answer() {
        for character in invisible() {
            let text = format!("a{character}b\n");
            let log = escape_for_log(&text);
            for shown in [&escape_invisible(&text), &log, &escape_for_terminal(&text)] {
                assert!(!shown.contains(character) && shown.starts_with("a\\u{"), "{shown:?}");
            }
            assert_eq!(indented(&text), "  ab\n  ");
            let json = Value::from(text.as_str()).to_string();
            for shown in [quoted(&text), escape_invisible_json(&json).into_owned()] {
                assert!(shown.is_ascii(), "{shown}");
                assert_eq!(serde_json::from_str::<String>(&shown).expect("JSON"), text);
            }
        }
        assert_eq!(quoted(&tags("A")), r#""\udb40\udc41""#);
        for shown in [escape_invisible(ORDINARY), without_invisible(ORDINARY), escape_invisible_json(ORDINARY)] {
            assert_eq!(shown, ORDINARY, "control");
        }
        assert_eq!(indented(ORDINARY), format!("  {ORDINARY}"), "control");
    }

    #[test]
    fn tags_are_kept_in_flags_only() {
        let flag = FLAGS[1];
        let begin: String = flag.chars().take(4).collect();
        for hidden in [
            format!("\u{1f3f4}{}\u{e007f}", tags("gbxyz")),
            format!("\u{1f3f4}{}", tags("gbeng")),
            format!("{flag}{}", tags("eng\u{7f}")),
            format!("{begin}x{}", tags("ct\u{7f}")),
            tags("gbeng\u{7f}"),
        ] {
            let shown = without_invisible(&hidden).replace(flag, "");
            assert!(!shown.contains(is_invisible), "{hidden:?}: {shown:?}");
            assert!(!escape_for_log(&hidden).replace(flag, "").contains(is_invisible), "{hidden:?}");
        }
        for flag in FLAGS {
            let text = format!("{}{flag}{flag}\u{ad}", tags("a"));
            assert_eq!(without_invisible(&text), format!("{flag}{flag}"), "control");
        }
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
        let without_flags = FLAGS.iter().fold(escaped.clone(), |text, flag| text.replace(flag, ""));
        assert!(!without_flags.contains(is_unsafe), "{escaped}");
        assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
    }
}
