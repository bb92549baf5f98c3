//! Words in the text of an element.
//!
//! They are compared with the text as the agent may read it: a line of which something is masked is left out as a whole, whatever the
//! words are. Neither what is found nor where the first of it is depends on what is behind a mask.

use std::convert::identity;
use std::mem;

use crate::output::collapse_blanks;
use crate::output::mask::{self, Literals};

/// Way to compare the words with the text: with their case or without it, as whole words or as parts of them.
struct Way {
    fold: fn(char) -> char,
    is_whole: bool,
}

/// Ways in the order in which they are tried. What another way finds is not counted.
const WAYS: [Way; 4] = [
    Way { fold: identity, is_whole: true },
    Way { fold: identity, is_whole: false },
    Way { fold: lower_case, is_whole: true },
    Way { fold: lower_case, is_whole: false },
];

/// Words that are looked for. The kind of blanks and line breaks between them does not matter.
#[derive(Clone, Debug)]
pub struct Words {
    text: String,
}

/// Result of the search for words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordsFound {
    /// The text has them this often. The first of them begins and ends at these places, in UTF-16 code units.
    At {
        /// Begin.
        start: usize,
        /// Place behind the end.
        end: usize,
        /// Number of times that the text has them.
        count: usize,
    },
    /// The text does not have them.
    Nowhere {
        /// `true` if lines were left out.
        has_masked: bool,
    },
}

/// Character of a text whose blanks are collapsed, with its place in the text, in UTF-16 code units.
#[derive(Clone, Copy, Debug)]
struct Placed {
    character: char,
    start: usize,
    end: usize,
}

impl Words {
    /// Creates what is looked for.
    #[must_use]
    pub fn new(words: &str) -> Self {
        Self { text: collapse_blanks(words) }
    }

    /// Finds the words in a text, which has line breaks where the page shows some.
    ///
    /// ```
    /// use browser_shell_core::element::{Words, WordsFound};
    /// use browser_shell_core::output::mask::Literals;
    ///
    /// let found = Words::new("second  line").find("the first\nand the second\nline", &Literals::default());
    /// assert_eq!(found, WordsFound::At { start: 18, end: 29, count: 1 });
    /// ```
    #[must_use]
    pub fn find(&self, text: &str, secrets: &Literals) -> WordsFound {
        let (runs, has_masked) = readable(text, secrets);
        for way in &WAYS {
            let wanted: String = self.text.chars().map(way.fold).collect();
            let mut found = runs.iter().flat_map(|run| matches(run, &wanted, way));
            if let Some((start, end)) = found.next() {
                return WordsFound::At { start, end, count: 1 + found.count() };
            }
        }
        WordsFound::Nowhere { has_masked }
    }
}

/// Returns the lines of a text of which nothing is masked, those that follow each other joined, and true if others were left out.
fn readable(text: &str, secrets: &Literals) -> (Vec<Vec<Placed>>, bool) {
    let mut begin = 0;
    let lines: Vec<_> = text
        .split('\n')
        .map(|line| {
            let start = begin;
            begin += line.encode_utf16().count() + 1;
            collapsed(line, start)
        })
        .collect();
    let texts: Vec<String> = lines.iter().map(|line| line.iter().map(|placed| placed.character).collect()).collect();
    let shown = texts.join("\n");
    let literals = secrets.mask_text(&shown);
    let masked = mask::text(&literals);
    let masked: Vec<_> = masked.split('\n').collect();
    if masked.len() != lines.len() {
        // What is masked has several lines, and it is not known which.
        return (Vec::new(), true);
    }
    let mut runs: Vec<Vec<Placed>> = vec![Vec::new()];
    let mut has_masked = false;
    for ((line, text), masked) in lines.into_iter().zip(&texts).zip(masked) {
        if text != masked {
            has_masked = true;
            runs.push(Vec::new());
        } else if let (Some(run), Some(first)) = (runs.last_mut(), line.first()) {
            if !run.is_empty() {
                run.push(Placed { character: ' ', start: first.start, end: first.start });
            }
            run.extend(line);
        }
    }
    (runs, has_masked)
}

/// Returns the characters of a line that begins at a place of its text, with one blank in place of several.
fn collapsed(line: &str, mut start: usize) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::new();
    let mut has_blank = false;
    for character in line.chars() {
        let end = start + character.len_utf16();
        if character.is_whitespace() {
            has_blank = !placed.is_empty();
        } else {
            if mem::take(&mut has_blank) {
                placed.push(Placed { character: ' ', start, end: start });
            }
            placed.push(Placed { character, start, end });
        }
        start = end;
    }
    placed
}

/// Returns the places of words in lines.
fn matches(run: &[Placed], wanted: &str, way: &Way) -> Vec<(usize, usize)> {
    let mut text = String::new();
    let mut begins = Vec::with_capacity(run.len());
    for placed in run {
        begins.push(text.len());
        text.push((way.fold)(placed.character));
    }
    let is_word = |text: &str, is_end: bool| {
        let nearest = if is_end { text.chars().next_back() } else { text.chars().next() };
        nearest.is_some_and(char::is_alphanumeric)
    };
    let is_cut = |before: &str, behind: &str| is_word(before, true) && is_word(behind, false);
    let place = |(start, found): (usize, &str)| {
        let end = start + found.len();
        let (before, behind) = (text.get(..start)?, text.get(end..)?);
        if way.is_whole && (is_cut(before, found) || is_cut(found, behind)) {
            return None;
        }
        let first = run.get(begins.binary_search(&start).ok()?)?;
        let last = run.get(begins.partition_point(|begin| *begin < end).checked_sub(1)?)?;
        Some((first.start, last.end))
    };
    text.match_indices(wanted).filter_map(place).collect()
}

/// Returns a letter in lower case, if that is one character.
fn lower_case(character: char) -> char {
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn find(words: &str, text: &str) -> Option<(String, usize)> {
        find_behind(words, text, &[])
    }

    /// Returns what of a text is selected, and how often the text has it.
    fn find_behind(words: &str, text: &str, secrets: &[&str]) -> Option<(String, usize)> {
        let secrets = Literals::new(secrets.iter().map(|secret| (*secret).to_owned()));
        match Words::new(words).find(text, &secrets) {
            WordsFound::At { start, end, count } => {
                let units: Vec<u16> = text.encode_utf16().collect();
                Some((String::from_utf16(&units[start..end]).expect("whole characters"), count))
            }
            WordsFound::Nowhere { .. } => None,
        }
    }

    #[test]
    fn words_are_found_whatever_blanks_are_between_them() {
        for (words, text, found) in [
            ("the words", "here are the words that count", "the words"),
            (" the \t words ", "here are the  words", "the  words"),
            ("two words", "two\u{a0}words", "two\u{a0}words"),
            ("one two three", "zero one\n\n  two\nthree four", "one\n\n  two\nthree"),
            ("\u{e9}t\u{e9}", "\u{1f600} l'\u{e9}t\u{e9} 2026", "\u{e9}t\u{e9}"),
            ("\u{1f600}", "a \u{1f600} b", "\u{1f600}"),
            ("-5 \u{b0}C", "It is -5 \u{b0}C.", "-5 \u{b0}C"),
            ("\u{4e2d}\u{6587}", "\u{8fd9}\u{662f}\u{4e2d}\u{6587}", "\u{4e2d}\u{6587}"),
        ] {
            assert_eq!(find(words, text), Some((found.to_owned(), 1)), "{words:?} in {text:?}");
        }
        for (words, text) in [("the words", "the other words"), ("a b", "ab"), ("a", "")] {
            assert_eq!(find(words, text), None, "{words:?} in {text:?}");
        }
    }

    #[test]
    fn whole_words_and_their_case_come_first() {
        for (words, text, found, count) in [
            ("cat", "concatenate, then Cat and cat", "cat", 1),
            ("cat", "concatenate, Cat", "cat", 1),
            ("cat", "CAT, conCATenation of Cat", "CAT", 2),
            ("SAVE", "unsaved", "save", 1),
            ("a", "a b a b a", "a", 3),
            ("\u{130}", "a \u{130}", "\u{130}", 1),
        ] {
            assert_eq!(find(words, text), Some((found.to_owned(), count)), "{words} in {text}");
        }
    }

    // Requirement 6.3.
    #[test]
    fn lines_with_masks_are_left_out_whatever_the_words_are() {
        let text = "code Hunter2xyz of Ada\nthe code is Ada's\nCookie: sid=1; theme=dark";
        let found = |words: &str| find_behind(words, text, &["Hunter2xyz"]);
        for words in ["Hunter2xyz", "Hunter", "2", "of Ada", "theme", "Ada the", "***"] {
            assert_eq!(found(words), None, "{words}");
        }
        assert_eq!(found("Ada"), Some(("Ada".to_owned(), 1)));
        assert_eq!(found("code"), Some(("code".to_owned(), 1)));
        assert_eq!(find("Hunter2xyz", text).map(|(_, count)| count), Some(1), "control");
        // A secret of several lines.
        assert_eq!(find_behind("Ada", "two\nlines\nAda", &["two\nlines"]), None);
        assert_eq!(
            find_behind("Ada", "two\nlines\nAda", &["three\nlines"]).map(|(_, count)| count),
            Some(1),
            "control"
        );
    }

    #[test]
    fn masked_lines_are_said() {
        let nowhere = |text: &str| Words::new("x").find(text, &Literals::new(["hidden1".to_owned()]));
        assert_eq!(nowhere("a hidden1"), WordsFound::Nowhere { has_masked: true });
        assert_eq!(nowhere("a shown"), WordsFound::Nowhere { has_masked: false });
    }

    proptest! {
        /// The part has the words, and nothing that is found depends on a secret.
        #[test]
        fn found_part_is_the_words(words in "[ab ]{0,3}[ab]", text in "[ab \n\u{1f600}]{0,30}", secret in "[ab]{4,6}1") {
            let collapse = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some((found, count)) = find(&words, &text) {
                prop_assert_eq!(collapse(&found), collapse(&words));
                prop_assert!(count > 0);
            } else {
                prop_assert!(!collapse(&text).contains(&collapse(&words)));
            }
            let with = |secret: &str| {
                let masked = Literals::new([secret.to_owned()]);
                Words::new(&words).find(&format!("{text}\n{secret}\n{text}"), &masked)
            };
            prop_assert_eq!(with(&secret), with(&format!("{}1", "c".repeat(secret.len() - 1))));
        }
    }
}
