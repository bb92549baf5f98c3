//! From one line of text to the elements of a command: POSIX words without a shell.
//!
//! Decides where a word begins and ends and which quotes and backslashes go; it reads a line as Python's `shlex.split` does. Must
//! never expand, substitute or drop anything: `$`, a backtick, `*`, `;`, `|`, `&`, `<`, `>`, `~`, `{` and `#` are characters like any
//! other. That is why it is ours: the crates for this (shlex, shell-words) follow the shell where `#` begins a comment, so that
//! `click #submit` would lose its selector and `fill @e1 #5` its text, and both read the line as one that a shell could run.

use crate::decision::{Code, Decision};

/// What the next character means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Outside of quotes.
    Plain,
    /// Between single quotes, where every character is itself.
    Single,
    /// Between double quotes, where a backslash stands before `"` and `\`.
    Double,
}

/// Splits a line into its words.
///
/// Words are separated by spaces, tabs, carriage returns and line feeds. Single quotes keep everything as it is. Between double
/// quotes a backslash takes its meaning from a following `"` or `\`, and is itself before anything else. Outside of quotes it
/// makes the next character, whichever it is, part of the word. `''` is an empty word.
///
/// # Errors
///
/// When a quote is not closed, or the line ends with a backslash that nothing follows. Where the line stands is for the caller
/// to say.
pub fn split(text: &str) -> Result<Vec<String>, Decision> {
    let mut words = Vec::new();
    // `None` between words: an empty word is one too.
    let mut word: Option<String> = None;
    let mut state = State::Plain;
    let mut opened = 0;
    let mut characters = text.chars().enumerate().peekable();
    while let Some((position, c)) = characters.next() {
        match (state, c) {
            (State::Plain, ' ' | '\t' | '\r' | '\n') => words.extend(word.take()),
            (State::Plain, '\'' | '"') => {
                word.get_or_insert_default();
                state = if c == '"' { State::Double } else { State::Single };
                opened = position;
            }
            (State::Single, '\'') | (State::Double, '"') => state = State::Plain,
            (State::Plain, '\\') => match characters.next() {
                Some((_, next)) => word.get_or_insert_default().push(next),
                None => return Err(unbalanced("the backslash at the end has nothing behind it".to_owned())),
            },
            (State::Double, '\\') => {
                let taken = characters.next_if(|(_, next)| matches!(next, '"' | '\\'));
                word.get_or_insert_default().push(taken.map_or(c, |(_, next)| next));
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    let quote = match state {
        State::Plain => {
            words.extend(word);
            return Ok(words);
        }
        State::Single => "single",
        State::Double => "double",
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
    fn lines_and_their_words() {
        let rows: &[(&str, &[&str], &str)] = &[
            ("", &[], "nothing"),
            (" \t\r\n ", &[], "nothing but separators"),
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
            ("a'b c'd\"e f\"g", &["ab cde fg"], "quotes inside of a word"),
            ("'' \"\" a''", &["", "", "a"], "empty words"),
            ("''''", &[""], "two empty pieces are one word"),
            (r"'a\b\' c", &[r"a\b\", "c"], "a backslash between single quotes"),
            (r#"'say "hi"' "it's""#, &[r#"say "hi""#, "it's"], "quotes in quotes"),
            (r#""a\"b\\c""#, &[r#"a"b\c"#], "what a backslash takes between double quotes"),
            (r#""\$\n\'\ \`""#, &[r"\$\n\'\ \`"], "and what it does not"),
            ("\"a\\\nb\"", &["a\\\nb"], "no line is continued between double quotes"),
            ("a\\\nb", &["a\nb"], "nor outside"),
            (r"a\ b \' \\ \n", &["a b", "'", r"\", "n"], "a backslash outside of quotes"),
            (r"'it'\''s'", &["it's"], "the usual way to write a single quote"),
            ("\"a\nb\" 'c\r\nd'", &["a\nb", "c\r\nd"], "line breaks in quotes"),
            ("a\0b", &["a\0b"], "whether a word may hold it is for others to say"),
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
    fn lines_that_do_not_end() {
        let rows: &[(&str, &str)] = &[
            ("fill @e1 'hunter2", "the single quote at character 10 is not closed"),
            ("fill @e1 \"hunter2\\\"", "the double quote at character 10 is not closed"),
            ("'\u{1f600}' '", "the single quote at character 5 is not closed"),
            ("it's", "the single quote at character 3 is not closed"),
            ("a\\", "the backslash at the end has nothing behind it"),
            ("\\", "the backslash at the end has nothing behind it"),
            ("\"\\", "the double quote at character 1 is not closed"),
        ];
        for (text, reason) in rows {
            let refusal = split(text).expect_err(text);
            assert_eq!((refusal.code, refusal.reason.as_str()), (Code::WordsUnbalanced, *reason), "{text:?}");
            assert!(!refusal.to_string().contains("hunter2"), "{refusal}");
        }
        assert_eq!(Code::WordsUnbalanced.class().exit_code(), Some(64));
    }

    /// A word in single quotes, as every shell takes it.
    fn quoted(word: &str) -> String {
        format!("'{}'", word.replace('\'', r"'\''"))
    }

    /// A word between double quotes.
    fn double_quoted(word: &str) -> String {
        format!("\"{}\"", word.replace('\\', r"\\").replace('"', "\\\""))
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(words in proptest::collection::vec("[a '\"\\\\#$`\\n\\t]{0,6}|\\PC{0,8}", 0..6), gap in "[ \\t\\r\\n]{1,3}") {
            for quote in [quoted, double_quoted] {
                let line = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(&gap);
                prop_assert_eq!(split(&line), Ok(words.clone()));
                prop_assert_eq!(split(&format!("{gap}{line}{gap}")), Ok(words.clone()));
            }
        }

        /// It never panics, and nothing is made up: what comes out is in the line, in this order.
        #[test]
        fn words_are_parts_of_the_line(line in "[ab \"'\\\\\\n]{0,24}|\\PC{0,24}") {
            if let Ok(words) = split(&line) {
                let mut rest = line.chars();
                for c in words.concat().chars() {
                    prop_assert!(rest.any(|other| other == c), "{:?}", line);
                }
            }
        }

        /// Without quotes and backslashes it is a split at white space.
        #[test]
        fn plain_lines_are_split_at_white_space(line in "[a-z0-9#$*;|&<>~{}() \\t\\r\\n]{0,40}") {
            let expected: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
            prop_assert_eq!(split(&line), Ok(expected));
        }
    }
}
