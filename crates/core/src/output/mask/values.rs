//! Values behind sensitive keys.
//!
//! A value never leaves the quotes that its key stands in: a label that ends with a colon, such as `"Password: "`, has none. It takes
//! no reference of a snapshot with it either.

use std::borrow::Cow;

use regex::Regex;

/// Replacement for a secret.
pub const MASK: &str = "***";

/// Reference of a snapshot, up to its number.
const REFERENCE: &str = "[ref=e";

/// Length of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MaskExtent {
    /// To the end of the line; pairs have a `=`.
    Line { is_pairs: bool },
    /// One word, or a text in quotes.
    Word,
}

/// Treatment of quotes around and in a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// They are a part of the value.
    Masked,
    /// They stay, because they may belong to the syntax around it.
    Kept,
}

/// Masks the values behind keys.
pub(super) fn mask<'a>(text: &'a str, key: &Regex, extent: MaskExtent, quotes: Quotes) -> Cow<'a, str> {
    let mut masked = String::new();
    let (mut copied, mut searched) = (0, 0);
    while let Some(found) = key.find_at(text, searched) {
        let line = text.get(..found.end()).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |end| end + 1);
        let open = Open::at_end_of(text.get(line..found.end()).unwrap_or_default());
        let (start, end) = value(text, found.end(), &open, extent);
        searched = end.max(found.end());
        let value = text.get(start..end).unwrap_or_default();
        if value.is_empty() || extent == (MaskExtent::Line { is_pairs: true }) && !value.contains('=') {
            continue;
        }
        masked.push_str(text.get(copied..start).unwrap_or_default());
        match quotes {
            Quotes::Masked => masked.push_str(MASK),
            Quotes::Kept => push_between_quotes(&mut masked, value),
        }
        copied = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(masked)
}

/// Adds a mask for each part of a value between quotes, and the quotes.
fn push_between_quotes(masked: &mut String, value: &str) {
    for part in value.split_inclusive(['"', '\'']) {
        let content = part.trim_end_matches(['"', '\'', '\\']);
        if !content.is_empty() {
            masked.push_str(MASK);
        }
        masked.push_str(part.get(content.len()..).unwrap_or_default());
    }
}

/// Returns the beginning and the end of the value at a position.
fn value(text: &str, position: usize, open: &Open, extent: MaskExtent) -> (usize, usize) {
    let mut start = position;
    let mut end = position;
    while let Some(rest) = text.get(end..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(REFERENCE) {
            break;
        }
        if let Some(quote) = Quote::at(rest) {
            if open.contains(quote) {
                break;
            }
            let is_line = matches!(extent, MaskExtent::Line { .. });
            let closed = quote.length_until_closed(rest, open).filter(|_| !is_line);
            match closed {
                Some(length) => end += length,
                // What follows a quote that nothing closes is the value.
                None if end == start => {
                    end += quote.length();
                    start = end;
                }
                None => break,
            }
            continue;
        }
        let Some(character) = rest.chars().next() else { break };
        let ends = match extent {
            MaskExtent::Line { .. } => matches!(character, '\n' | '\r'),
            MaskExtent::Word => character.is_whitespace() || matches!(character, ',' | ';' | '&' | '}' | ']' | ')'),
        };
        let behind = rest.trim_start_matches('\\');
        let escapes = rest.len() - behind.len();
        // An odd number of backslashes is not only some that are escaped themselves.
        let is_escaped_break = open.is_any() && escapes % 2 == 1 && behind.starts_with(['n', 'r']);
        if ends || is_escaped_break {
            break;
        }
        end += escapes.max(character.len_utf8());
    }
    let value = text.get(start..end).unwrap_or_default();
    (start, start + value.trim_end_matches([' ', '\t']).len())
}

/// Quote, with the backslashes in front of it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Quote {
    character: char,
    escapes: usize,
}

impl Quote {
    /// Returns the quote that a text begins with.
    fn at(text: &str) -> Option<Self> {
        let quoted = text.trim_start_matches('\\');
        let character = quoted.chars().next().filter(|character| matches!(character, '"' | '\''))?;
        Some(Self { character, escapes: text.len() - quoted.len() })
    }

    const fn length(self) -> usize {
        self.escapes + 1
    }

    /// Returns the length of the text in quotes that a text begins with, if it ends before other quotes, the line and a reference.
    fn length_until_closed(self, text: &str, open: &Open) -> Option<usize> {
        let mut length = self.length();
        loop {
            let rest = text.get(length..).filter(|rest| !rest.starts_with(REFERENCE))?;
            match Self::at(rest) {
                Some(quote) if quote == self => return Some(length + quote.length()),
                Some(quote) if open.contains(quote) => return None,
                Some(quote) => length += quote.length(),
                None => {
                    let character = rest.chars().next().filter(|character| !matches!(character, '\n' | '\r'))?;
                    length += character.len_utf8();
                }
            }
        }
    }
}

/// Double quotes of a line that are open, by the number of backslashes in front of them. Apostrophes are no quotes in a text.
#[derive(Default)]
struct Open(Vec<usize>);

impl Open {
    /// Returns the quotes that a beginning of a line opens and does not close.
    fn at_end_of(line: &str) -> Self {
        let mut open = Self::default();
        let mut rest = line;
        while let Some(position) = rest.find('"') {
            let (before, after) = rest.split_at(position);
            let escapes = before.len() - before.trim_end_matches('\\').len();
            match open.0.iter().position(|level| *level == escapes) {
                Some(position) => {
                    open.0.remove(position);
                }
                None => open.0.push(escapes),
            }
            rest = after.get(1..).unwrap_or_default();
        }
        open
    }

    fn contains(&self, quote: Quote) -> bool {
        quote.character == '"' && self.0.contains(&quote.escapes)
    }

    const fn is_any(&self) -> bool {
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::text;

    // Requirement 1.8.
    #[test]
    fn value_ends_with_the_quotes_around_its_key() {
        for (given, expected) in [
            (r#"textbox "Password: " [ref=e3], button "a""#, None),
            (r#"link "Cookie:" [ref=e3] [value="a=b"]"#, None),
            (r#"x "Authorization:" [ref=e1] "b""#, None),
            (r#"{"snapshot":"- textbox \"Password: \" [ref=e3]\n- link \"Token: \" [ref=e4]"}"#, None),
            ("password:[ref=e3]", None),
            (r#"button "Password: hunter2" [ref=e3]"#, Some(r#"button "Password: ***" [ref=e3]"#)),
            (
                r#"{"s":"- a \"Password: hunter2\" [ref=e3]\n- b"}"#,
                Some(r#"{"s":"- a \"Password: ***\" [ref=e3]\n- b"}"#),
            ),
            (r#"{"s":"token=hunter2\n- b"}"#, Some(r#"{"s":"token=***\n- b"}"#)),
            (r#"{"s":"Cookie: a=b\n- b"}"#, Some(r#"{"s":"Cookie: ***\n- b"}"#)),
            (r#"{\"api_key\":\"hunter2\",\"n\":1}"#, Some(r#"{\"api_key\":***,\"n\":1}"#)),
            ("\"authorization\": \"Basic x\", 1", Some("\"authorization\": \"***\", 1")),
            ("password: \"hunter2", Some("password: \"***")),
        ] {
            assert_eq!(text(given), expected.unwrap_or(given), "{given}");
        }
    }
}
