//! Secrets that a page shows in parts, such as a one-time code with each digit in a box of its own.
//!
//! A short text is a line, a text between two tags, a name or a state of a tree, or a word of a line, if it has at most [`MAX_SHORT`]
//! characters; blanks, dashes and dots do not count. Those that follow each other, without another text between them, are a run. These groups
//! of a run are compared with secrets, and each text of a group that is one is masked:
//!
//! 1. the whole run;
//! 2. all of the same length and kind (digits, letters, others) that follow each other;
//! 3. all of the same length that follow each other.
//!
//! Part of a group is never compared: the days 1 to 5 of a calendar stay where a 6 follows, as do numbers in a table of such numbers, whatever
//! the secret is. A group that happens to be a secret is masked, as a word is that happens to be one. So a group confirms no more than a word
//! does: a whole guess, of a secret that the agent did not type.
//!
//! Invariants:
//! - Each text is in one run and in three groups, so that the time grows with the length of the text only.
//! - In a tree, no part of a role, a reference or a quote is masked.

use std::collections::HashSet;
use std::iter;
use std::ops::RangeInclusive;

use super::super::page_text::is_invisible;
use super::tree::{Piece, TreeLine, has_lines};

/// Maximum length of a short text, in characters.
const MAX_SHORT: usize = 4;

/// Length of the secrets that are looked for, in characters that count.
const LENGTHS: RangeInclusive<usize> = 4..=64;

/// Maximum number of short texts in a run. What follows is another run.
const MAX_RUN: usize = 4096;

/// Maximum length of a text in HTML whose character references are read, in bytes.
const MAX_ESCAPED: usize = 64;

/// A blank in HTML that is written as a character reference.
const HTML_BLANK: &str = "&nbsp;";

/// Secrets that are looked for in parts, by the characters that count.
#[derive(Clone, Default)]
pub(super) struct SplitSecrets(HashSet<String>);

/// Kind of the characters of a short text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    Digits,
    Letters,
    Others,
}

/// Text of at most [`MAX_SHORT`] characters.
struct ShortText {
    /// Characters that count, and others behind them.
    characters: [char; MAX_SHORT],
    length: usize,
    kind: CharacterKind,
    /// Beginning and end of what is masked.
    span: (usize, usize),
    /// Level in a tree.
    indent: usize,
    /// True if it only repeats the text of the line around its own.
    is_repeated: bool,
}

/// Short texts that follow each other, and what has to be masked of those before.
struct ShortRun<'a> {
    secrets: &'a SplitSecrets,
    texts: Vec<ShortText>,
    spans: Vec<(usize, usize)>,
}

impl SplitSecrets {
    /// Creates a set. Secrets with too few characters that count, and those with too many, are left out.
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let counted = secrets
            .into_iter()
            .map(|secret| secret.chars().filter(|c| !is_ignored(*c)).take(LENGTHS.end() + 1).collect::<String>());
        let is_wanted =
            |secret: &String| LENGTHS.contains(&secret.chars().count()) && !secret.chars().all(|c| c == '*');
        Self(counted.filter(is_wanted).collect())
    }

    /// Returns true if nothing is looked for.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the parts of a text that are parts of a secret.
    pub(super) fn add_spans(&self, text: &str, spans: &mut Vec<(usize, usize)>) {
        if self.is_empty() || text.len() <= *LENGTHS.start() {
            return;
        }
        spans.extend(self.in_words(text));
        if has_lines(text) {
            spans.extend(self.in_tree(text));
            return;
        }
        spans.extend(self.in_lines(text));
        if text.contains('<') {
            spans.extend(self.between_tags(text));
        }
    }

    /// Returns which of some texts that follow each other are parts of a secret.
    pub(super) fn are_in(&self, texts: &[String]) -> Vec<bool> {
        let mut run = ShortRun::new(self);
        for (number, text) in texts.iter().enumerate() {
            run.add(text, (number, number + 1), 0);
        }
        let mut are_in = vec![false; texts.len()];
        for (number, _) in run.finish() {
            are_in.get_mut(number).into_iter().for_each(|is_in| *is_in = true);
        }
        are_in
    }

    /// Looks at the words of each line.
    fn in_words(&self, text: &str) -> Vec<(usize, usize)> {
        let mut run = ShortRun::new(self);
        let mut position = 0;
        while let Some(next) = text.get(position..).and_then(|rest| rest.chars().next()) {
            let rest = text.get(position..).unwrap_or_default();
            let word = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
            if word > 0 {
                run.add(rest.get(..word).unwrap_or_default(), (position, position + word), 0);
                position += word;
                continue;
            }
            let is_blank = rest.starts_with(HTML_BLANK);
            if next == '\n' || !is_blank && !is_ignored(next) {
                run.end();
            }
            position += if is_blank { HTML_BLANK.len() } else { next.len_utf8() };
        }
        run.finish()
    }

    /// Looks at whole lines.
    fn in_lines(&self, text: &str) -> Vec<(usize, usize)> {
        let mut run = ShortRun::new(self);
        let mut position = 0;
        for line in text.split('\n') {
            run.add_at(line, position);
            position += line.len() + 1;
        }
        run.finish()
    }

    /// Looks at the texts between the tags of HTML.
    fn between_tags(&self, text: &str) -> Vec<(usize, usize)> {
        let mut run = ShortRun::new(self);
        let (mut start, mut searched, mut close) = (0, 0, 0);
        while let Some(distance) = text.get(searched..).and_then(|rest| rest.find('<')) {
            let open = searched + distance;
            searched = open + 1;
            let next = text.as_bytes().get(searched);
            if !next.is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!' | b'?')) {
                continue;
            }
            // The next end is looked for once, however many tags have none.
            if close < open {
                let Some(distance) = text.get(open..).and_then(|rest| rest.find('>')) else { break };
                close = open + distance;
            }
            run.add_escaped(text.get(start..open).unwrap_or_default(), start);
            (start, searched) = (close + 1, close + 1);
        }
        run.add_escaped(text.get(start..).unwrap_or_default(), start);
        run.finish()
    }

    /// Looks at the names and texts of a tree, and at the states of its lines.
    fn in_tree(&self, text: &str) -> Vec<(usize, usize)> {
        let (mut names, mut states) = (ShortRun::new(self), ShortRun::new(self));
        let mut start = 0;
        for line in text.split('\n') {
            let mut position = start;
            start += line.len() + 1;
            let Some(parsed) = TreeLine::parse(line) else {
                names.end();
                states.end();
                continue;
            };
            for (number, piece) in parsed.pieces.iter().enumerate() {
                // A name is behind the role and a blank.
                let is_name = number == 2 || parsed.value == Some(number);
                let run = if is_name { &mut names } else { &mut states };
                let length = match piece {
                    Piece::Syntax(raw) => raw.len(),
                    Piece::Quoted(raw, text) => {
                        let end = (position + raw.len()).saturating_sub(1);
                        run.add(text, (position + 1, end), parsed.indent);
                        raw.len()
                    }
                    Piece::Plain(raw) => {
                        let (trimmed, begin) = trimmed(raw, position);
                        run.add(trimmed, (begin, begin + trimmed.len()), parsed.indent);
                        raw.len()
                    }
                };
                position += length;
            }
        }
        let mut spans = names.finish();
        spans.append(&mut states.finish());
        spans
    }

    /// Returns true if several texts are a secret together.
    fn has(&self, group: &[ShortText]) -> bool {
        let own = || group.iter().filter(|text| !text.is_repeated);
        let length: usize = own().map(|text| text.length).sum();
        own().nth(1).is_some()
            && LENGTHS.contains(&length)
            && self.0.contains(&own().flat_map(ShortText::counted).collect::<String>())
    }
}

impl ShortText {
    /// Returns the characters that count.
    fn counted(&self) -> impl Iterator<Item = char> {
        self.characters.into_iter().take(self.length)
    }
}

impl<'a> ShortRun<'a> {
    const fn new(secrets: &'a SplitSecrets) -> Self {
        Self { secrets, texts: Vec::new(), spans: Vec::new() }
    }

    /// Adds a text with what is masked of it. One that is not short, or masked already, ends the run.
    fn add(&mut self, text: &str, span: (usize, usize), indent: usize) {
        let mut characters = [char::default(); MAX_SHORT];
        let mut length = 0;
        for character in text.chars().filter(|c| !is_ignored(*c)) {
            let Some(free) = characters.get_mut(length) else { return self.end() };
            *free = character;
            length += 1;
        }
        if length == 0 {
            return;
        }
        let all = |is_of_kind: fn(char) -> bool| characters.iter().take(length).all(|c| is_of_kind(*c));
        if all(|c| c == '*') {
            return self.end();
        }
        let kind = match () {
            () if all(char::is_numeric) => CharacterKind::Digits,
            () if all(char::is_alphabetic) => CharacterKind::Letters,
            () => CharacterKind::Others,
        };
        if self.texts.len() >= MAX_RUN {
            self.end();
        }
        let is_around =
            |last: &ShortText| last.indent < indent && (last.length, last.characters) == (length, characters);
        let is_repeated = self.texts.last().is_some_and(is_around);
        self.texts.push(ShortText { characters, length, kind, span, indent, is_repeated });
    }

    /// Adds a text at a position, without the blanks around it.
    fn add_at(&mut self, text: &str, position: usize) {
        let (trimmed, begin) = trimmed(text, position);
        self.add(trimmed, (begin, begin + trimmed.len()), 0);
    }

    /// Adds a text of HTML at a position.
    fn add_escaped(&mut self, text: &str, position: usize) {
        if text.len() > MAX_ESCAPED || !text.contains('&') {
            return self.add_at(text, position);
        }
        let (trimmed, begin) = trimmed(text, position);
        let plain = trimmed.replace(HTML_BLANK, " ").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        self.add(&plain, (begin, begin + trimmed.len()), 0);
    }

    /// Ends the run.
    fn end(&mut self) {
        let Self { secrets, texts, spans } = self;
        if texts.len() > 1 {
            let alike = texts.chunk_by(|a, b| (a.length, a.kind) == (b.length, b.kind));
            let of_length = texts.chunk_by(|a, b| a.length == b.length);
            for group in iter::once(texts.as_slice()).chain(alike).chain(of_length) {
                if secrets.has(group) {
                    spans.extend(group.iter().map(|text| text.span));
                }
            }
        }
        texts.clear();
    }

    /// Returns what has to be masked.
    fn finish(mut self) -> Vec<(usize, usize)> {
        self.end();
        self.spans
    }
}

/// Returns a text at a position without the blanks around it, and its own position.
fn trimmed(text: &str, position: usize) -> (&str, usize) {
    let rest = text.trim_start_matches(is_ignored);
    (rest.trim_end_matches(is_ignored), position + text.len() - rest.len())
}

/// Returns true for what may stand between the parts of a code: blanks, dashes, dots in the middle of a line, and what nobody sees.
fn is_ignored(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '-' | '\u{b7}' | '\u{200c}' | '\u{200d}' | '\u{2010}'..='\u{2015}' | '\u{2022}')
        || matches!(character, '\u{2212}' | '\u{30fb}')
        || is_invisible(character)
}

/// Returns true for a letter or digit of a script that writes blanks between words.
pub(crate) fn is_of_word(character: char) -> bool {
    let has_no_blanks =
        matches!(character, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..);
    character.is_alphanumeric() && !has_no_blanks
}

#[cfg(test)]
mod tests {
    use super::super::Literals;
    use super::SplitSecrets;

    fn masked(secrets: &[&str], text: &str) -> String {
        Literals::new(secrets.iter().map(|secret| (*secret).to_owned())).mask_text(text).into_owned()
    }

    // Requirement 6.3.
    #[test]
    fn secret_in_parts_of_a_text_is_masked() {
        for (text, expected) in [
            ("482-913", "***-***"),
            ("Code: 482-913.", "Code: ***-***."),
            ("code 4 8 2 9 1 3 was sent", "code *** *** *** *** *** *** was sent"),
            ("48 29 13", "*** *** ***"),
            ("482\u{a0}\u{b7}\u{a0}913", "***\u{a0}\u{b7}\u{a0}***"),
            ("\u{9a8c}\u{8bc1}\u{7801}482-913", "\u{9a8c}\u{8bc1}\u{7801}***-***"),
            (
                "Enter the code\n\n4\n8\n2\n-\n9\n1\n3\n\nSend",
                "Enter the code\n\n***\n***\n***\n-\n***\n***\n***\n\nSend",
            ),
            ("Step 2 of 2\n4\n8\n2\n9\n1\n3\nMail\n30\ns", "Step 2 of 2\n***\n***\n***\n***\n***\n***\nMail\n30\ns"),
            ("4\t8\t2\n  9\t1\t3", "***\n  ***"),
            // A run of texts of several lengths.
            ("4829-13, (4 82 913)", "***-***, (*** *** ***)"),
        ] {
            assert_eq!(masked(&["482913"], text), expected, "{text}");
        }
        for (secret, text, expected) in [
            ("482-913", "482 913", "*** ***"),
            ("a3F9k2", "A\n3\nF\n9\nK\n2", "***\n***\n***\n***\n***\n***"),
            ("p@s5", "p\n@\ns\n5", "***\n***\n***\n***"),
            ("WDJBMJHT", "Use WDJB-MJHT to sign in", "Use ***-*** to sign in"),
        ] {
            assert_eq!(masked(&[secret], text), expected, "{text}");
        }
    }

    // Requirement 6.3.
    #[test]
    fn secret_in_parts_between_tags_is_masked() {
        for (html, expected) in [
            (
                "<p>Enter the code</p><div><div class=\"s\">4</div><div>8</div>\n<b>2</b><hr>9<i>1</i><b>3</b></div><p>Mail</p>",
                "<p>Enter the code</p><div><div class=\"s\">***</div><div>***</div>\n<b>***</b><hr>***<i>***</i><b>***</b></div><p>Mail</p>",
            ),
            ("<p>Code: <span>482</span>-<span>913</span></p>", "<p>Code: <span>***</span>-<span>***</span></p>"),
            ("<p>482&nbsp;913</p>", "<p>***&nbsp;***</p>"),
            ("a < b <b> 482 </b>&nbsp;<b>913&nbsp;</b>", "a < b <b> *** </b>&nbsp;<b>***</b>"),
            ("<b>482</b><b>914</b>", "<b>482</b><b>914</b>"),
        ] {
            assert_eq!(masked(&["482913"], html), expected, "{html}");
        }
        assert_eq!(masked(&["a&b<"], "<i>a</i><i>&amp;</i><i>b</i><i>&lt;</i>"), "<i>***</i>");
    }

    // Requirement 6.3.
    #[test]
    fn secret_in_parts_of_a_tree_is_masked() {
        let lines = |texts: &[&str]| texts.join("\n");
        for (tree, expected) in [
            (
                lines(&[
                    "- text \"Enter the code\" [ref=e1]",
                    "- text \"48\" [ref=e2]",
                    "- list",
                    "  - listitem \"29\" [ref=e3]",
                    "    - StaticText \"29\"",
                    "- text: \"13\"",
                    "- row [ref=e4] [near=\"482\"]",
                    "- row [ref=e5] [near=\"913\"]",
                    "- button \"Mail\" [ref=e6]",
                ]),
                lines(&[
                    "- text \"Enter the code\" [ref=e1]",
                    "- text \"***\" [ref=e2]",
                    "- list",
                    "  - listitem \"***\" [ref=e3]",
                    "    - StaticText \"***\"",
                    "- text: \"***\"",
                    "- row [ref=e4] [near=\"***\"]",
                    "- row [ref=e5] [near=\"***\"]",
                    "- button \"Mail\" [ref=e6]",
                ]),
            ),
            (
                "- text \"Code: 482-913\" [ref=e1]\n- text: 482 913".to_owned(),
                "- text \"Code: ***-***\" [ref=e1]\n- text: *** ***".to_owned(),
            ),
        ] {
            assert_eq!(masked(&["482913"], &tree), expected);
        }
        // No role and no reference is a short text.
        let tree = "- row \"1\" [ref=e1]\n- row [ref=e2]\n- e1 \"2\" [ref=e1] [ref=e2]";
        assert_eq!(masked(&["rowrow", "e1e2", "rowe1", "refe2"], tree), tree);
    }

    // Requirement 6.3.
    #[test]
    fn part_of_a_group_that_is_a_secret_stays() {
        let days = (1..=31).map(|day| day.to_string()).collect::<Vec<_>>();
        for secret in ["12345", "2345", "1011", "101112", "9101112", "1234567891", "3031"] {
            for separator in ["\n", " ", "</td><td>", "\"\n- cell \""] {
                let calendar = format!("- cell \"{}\"", days.join(separator));
                assert_eq!(masked(&[secret], &calendar), calendar, "{secret}");
            }
        }
        for text in
            ["1\n2\n3\n4\n5\n6", "7 1 2 3 4 5", "<td>1<td>2<td>3<td>4<td>5<td>6", "1234-56", "12 34 5x", "12, 345"]
        {
            assert_eq!(masked(&["12345"], text), text);
        }
        // Control: exactly such a run.
        assert_eq!(masked(&["12345"], "Page\n1\n2\n3\n4\n5\nNext page"), "Page\n***\n***\n***\n***\n***\nNext page");
        // Words of prose, and secrets that are too short.
        for text in ["so to day we ride", "1 2 3", "12-3", "* * * *"] {
            assert_eq!(masked(&["today", "123", "****"], text), text);
        }
    }

    // Requirement 6.3.
    #[test]
    fn typed_secret_is_not_masked_in_parts() {
        let typed = Literals::default().with_field_values(["482913".to_owned()]);
        for text in ["4 8 2 9 1 3", "<b>482</b><b>913</b>", "- text \"482\"\n- text \"913\""] {
            assert_eq!(typed.mask_answer(text), text);
        }
        assert_eq!(masked(&["482913"], "482 913"), "*** ***", "control");
    }

    #[test]
    fn long_runs_of_short_texts_take_no_time() {
        // What compares each part of a run does not end in time.
        for text in ["1 ", "1\n", "<b>1", "<a", "- p \"1\"\n", "&nbsp;"] {
            let mut spans = Vec::new();
            let secrets = SplitSecrets::new(["1111", "11111111"]);
            secrets.add_spans(&text.repeat(100_000), &mut spans);
            assert!(spans.is_empty(), "{text}");
            secrets.add_spans(&format!("{}</a>\n\"</b><i>11</i><i>11</i>", text.repeat(9)), &mut spans);
            assert!(text.starts_with("- ") || !spans.is_empty(), "control: {text}");
        }
    }
}
