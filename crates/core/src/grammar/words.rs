//! Word splitting: from one line of text to the elements of a command, without a shell.
//!
//! Splits a line as Python's `shlex.split` does. The crates shlex and shell-words treat `#` as the start of a comment,
//! so that `click #submit` would lose its selector.
//!
//! Invariants: nothing is expanded, substituted or dropped. `$`, a backtick, `*`, `;`, `|`, `&`, `<`, `>`, `~`, `{` and
//! `#` are ordinary characters.

use crate::decision::{Code, Decision};

/// Quotation state of the next character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteState {
    /// Outside of quotes.
    Plain,
    /// Between single quotes, where every character is literal.
    Single,
    /// Between double quotes, where a backslash escapes `"` and `\`.
    Double,
}

/// Splits a line into its words.
///
/// Words are separated by spaces, tabs, carriage returns and line feeds. Between single quotes every character is
/// literal. Between double quotes a backslash escapes `"` and `\` and is literal otherwise. Outside quotes a backslash
/// makes the next character literal. `''` is an empty word.
///
/// # Errors
///
/// Returns a refusal if a quote is not closed or if the line ends with an escaping backslash. The caller sets its
/// location.
pub fn split(text: &str) -> Result<Vec<String>, Decision> {
    let mut words = Vec::new();
    // `None` between words, because a word may be empty.
    let mut word: Option<String> = None;
    let mut state = QuoteState::Plain;
    let mut opened = 0;
    let mut characters = text.chars().enumerate().peekable();
    while let Some((position, c)) = characters.next() {
        match (state, c) {
            (QuoteState::Plain, ' ' | '\t' | '\r' | '\n') => words.extend(word.take()),
            (QuoteState::Plain, '\'' | '"') => {
                word.get_or_insert_default();
                state = if c == '"' { QuoteState::Double } else { QuoteState::Single };
                opened = position;
            }
            (QuoteState::Single, '\'') | (QuoteState::Double, '"') => state = QuoteState::Plain,
            (QuoteState::Plain, '\\') => match characters.next() {
                Some((_, next)) => word.get_or_insert_default().push(next),
                None => return Err(unbalanced("the backslash at the end escapes nothing".to_owned())),
            },
            (QuoteState::Double, '\\') => {
                let escaped = characters.next_if(|(_, next)| matches!(next, '"' | '\\'));
                word.get_or_insert_default().push(escaped.map_or(c, |(_, next)| next));
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    let quote = match state {
        QuoteState::Plain => {
            words.extend(word);
            return Ok(words);
        }
        QuoteState::Single => "single",
        QuoteState::Double => "double",
    };
    Err(unbalanced(format!("the {quote} quote at character {} is not closed", opened + 1)))
}

fn unbalanced(reason: String) -> Decision {
    Decision::new(Code::WordsUnbalanced, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn command_lines_split_into_words() {
        let rows: &[(&str, &[&str], &str)] = &[
            ("", &[], "nothing"),
            (" \t\r\n ", &[], "only separators"),
            ("snapshot -i", &["snapshot", "-i"], ""),
            ("  a\tb\r\nc\n", &["a", "b", "c"], "every separator"),
            ("a\u{a0}b\u{2028}c\u{b}d", &["a\u{a0}b\u{2028}c\u{b}d"], "other white space is text"),
            ("click #submit", &["click", "#submit"], "no comments"),
            ("fill @e1 #5 # x", &["fill", "@e1", "#5", "#", "x"], "no comments"),
            ("a;b|c&d>e<f(g)", &["a;b|c&d>e<f(g)"], "no operators"),
            (
                "$HOME `id` $(id) ~ * ? {a,b} [c] !x",
                &["$HOME", "`id`", "$(id)", "~", "*", "?", "{a,b}", "[c]", "!x"],
                "",
            ),
            ("'a b' \"c d\"", &["a b", "c d"], "quotes"),
            ("a'b c'd\"e f\"g", &["ab cde fg"], "quotes inside a word"),
            ("'' \"\" a''", &["", "", "a"], "empty words"),
            ("''''", &[""], "two empty pieces are one word"),
            (r"'a\b\' c", &[r"a\b\", "c"], "a backslash between single quotes"),
            (r#"'say "hi"' "it's""#, &[r#"say "hi""#, "it's"], "quotes in quotes"),
            (r#""a\"b\\c""#, &[r#"a"b\c"#], "escapes between double quotes"),
            (r#""\$\n\'\ \`""#, &[r"\$\n\'\ \`"], "no escapes between double quotes"),
            ("\"a\\\nb\"", &["a\\\nb"], "no line continuation between double quotes"),
            ("a\\\nb", &["a\nb"], "no line continuation outside quotes"),
            (r"a\ b \' \\ \n", &["a b", "'", r"\", "n"], "a backslash outside quotes"),
            (r"'it'\''s'", &["it's"], "the usual way to quote a single quote"),
            ("\"a\nb\" 'c\r\nd'", &["a\nb", "c\r\nd"], "line breaks in quotes"),
            ("a\0b", &["a\0b"], "the parser refuses NUL later"),
            ("\u{e9} \u{1f600}'\u{1f600} x'", &["\u{e9}", "\u{1f600}\u{1f600} x"], "beyond ASCII"),
        ];
        for (text, expected, why) in rows {
            assert_eq!(
                split(text).as_deref(),
                Ok(&expected.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()[..]),
                "{text:?} {why}"
            );
        }
    }

    #[test]
    fn unterminated_command_lines_are_refused() {
        let rows: &[(&str, &str)] = &[
            ("fill @e1 'hunter2", "the single quote at character 10 is not closed"),
            ("fill @e1 \"hunter2\\\"", "the double quote at character 10 is not closed"),
            ("'\u{1f600}' '", "the single quote at character 5 is not closed"),
            ("it's", "the single quote at character 3 is not closed"),
            ("a\\", "the backslash at the end escapes nothing"),
            ("\\", "the backslash at the end escapes nothing"),
            ("\"\\", "the double quote at character 1 is not closed"),
        ];
        for (text, reason) in rows {
            let refusal = split(text).expect_err(text);
            assert_eq!((refusal.code, refusal.reason.as_str()), (Code::WordsUnbalanced, *reason), "{text:?}");
            assert!(!refusal.to_string().contains("hunter2"), "{refusal}");
        }
        assert_eq!(Code::WordsUnbalanced.class().exit_code(), Some(64));
    }

    /// Quotes a word with single quotes, as for any shell.
    fn single_quoted(word: &str) -> String {
        format!("'{}'", word.replace('\'', r"'\''"))
    }

    /// Quotes a word with double quotes.
    fn double_quoted(word: &str) -> String {
        format!("\"{}\"", word.replace('\\', r"\\").replace('"', "\\\""))
    }

    proptest! {
        #[test]
        fn quoted_words_round_trip(words in proptest::collection::vec("[a '\"\\\\#$`\\n\\t]{0,6}|\\PC{0,8}", 0..6), gap in "[ \\t\\r\\n]{1,3}") {
            for quote in [single_quoted, double_quoted] {
                let line = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(&gap);
                prop_assert_eq!(split(&line), Ok(words.clone()));
                prop_assert_eq!(split(&format!("{gap}{line}{gap}")), Ok(words.clone()));
            }
        }

        /// All characters of the words occur in the line, in the same order.
        #[test]
        fn words_are_substrings_of_their_line(line in "[ab \"'\\\\\\n]{0,24}|\\PC{0,24}") {
            if let Ok(words) = split(&line) {
                let mut rest = line.chars();
                for c in words.concat().chars() {
                    prop_assert!(rest.any(|other| other == c), "{:?}", line);
                }
            }
        }

        /// A line without quotes and backslashes is split at white space.
        #[test]
        fn plain_lines_split_at_white_space(line in "[a-z0-9#$*;|&<>~{}() \\t\\r\\n]{0,40}") {
            let expected: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
            prop_assert_eq!(split(&line), Ok(expected));
        }
    }
}
