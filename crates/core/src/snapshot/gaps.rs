//! Gaps between texts that continue each other in the document. Where a person sees one, a blank is read, although the document has none:
//! pages leave room by margins and by boxes in a line.

use super::capture::TextBox;
use crate::output::mask;

/// Part of its height that a text shares with another one in the same line.
const SHARED: f64 = 0.3;

/// Width of a gap between words, as a part of the height of a line.
const WORDS: f64 = 0.125;

/// The same between single letters, which pages set apart by less than a blank.
const LETTERS: f64 = 0.2;

/// The same between single digits, each in a box of its own, as in a counter.
const DIGITS: f64 = 0.6;

/// The same where no blank is expected, as before a comma.
const MARKS: f64 = 0.5;

/// The same in a script that writes no blanks between words, whose letters may be set apart a bit.
const SCRIPTS: f64 = 0.25;

/// Difference of the base lines of two numbers beside each other, as a part of the height of a line: the one that is higher is no part of
/// the other, as cents behind a price.
const RAISED: f64 = 0.1;

/// Place of the base line in a text, as a part of its height.
const BASE: f64 = 0.8;

/// Part of the height of a line that a number has at least to be a part of the one beside it.
const SMALL: f64 = 0.8;

/// Number of digits in a group of a number, as behind the comma of `1,299`.
const GROUP: usize = 3;

/// Distance from a text to one that is clearly further down than in the next line, as a part of the height of a line.
const FAR: f64 = 1.5;

/// Number of characters from which on the form of a text tells the direction of its lines.
const MIN_TURNED: usize = 3;

/// Place of a text: where it begins and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
pub(super) struct TextPlace {
    first: TextBox,
    last: TextBox,
    /// Position of the element around it that is a box in a line, as an `inline-block` is.
    inline_box: Option<usize>,
    is_letter: bool,
    is_digit: bool,
    /// True if it ends with decimals, as a rate of which the last ones are drawn smaller.
    has_decimals: bool,
    /// True if its lines go from above to below.
    is_turned: bool,
}

impl TextBox {
    fn right(&self) -> f64 {
        self.x + self.width
    }

    fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// Returns the place of the line on which its letters stand.
    fn base(&self) -> f64 {
        self.y + self.height * BASE
    }

    /// Returns the box with the edges of one that is drawn around it in its line.
    pub(super) fn widened(self, around: &Self) -> Self {
        let (left, right) = (self.x - around.x, around.right() - self.right());
        let is_edge = |distance: f64| (0.0..=self.height).contains(&distance);
        let x = if is_edge(left) { around.x } else { self.x };
        let end = if is_edge(right) { around.right() } else { self.right() };
        Self { x, width: end - x, ..self }
    }

    /// Returns the box with the direction of its lines from left to right.
    fn turned(self) -> Self {
        Self { x: self.y, y: -self.right(), width: self.height, height: self.width }
    }
}

impl TextPlace {
    /// Creates the place of a text, by the boxes of its first and last line.
    pub(super) fn new(text: &str, first: TextBox, last: TextBox, inline_box: Option<usize>) -> Self {
        let mut characters = text.trim().chars();
        let single = characters.next().filter(|_| characters.next().is_none());
        let (is_letter, is_digit) =
            (single.is_some_and(char::is_alphabetic), single.is_some_and(|single| single.is_ascii_digit()));
        let is_turned = first.height > first.width * 2.0 && text.trim().chars().nth(MIN_TURNED - 1).is_some();
        let has_decimals = has_decimals(text.trim());
        Self { first, last, inline_box, is_letter, is_digit, has_decimals, is_turned }
    }

    /// Returns the place of the text with one that continues it.
    pub(super) fn until(&self, next: &Self) -> Self {
        Self { first: self.first, ..*next }
    }

    /// Returns true if a person sees a gap between the text, which ends with a character, and one that begins with another one.
    pub(super) fn has_gap(&self, next: &Self, before: char, after: char) -> bool {
        let is_turned = self.is_turned || next.is_turned;
        let turned = |place: TextBox| if is_turned { place.turned() } else { place };
        let (own, other) = (turned(self.last), turned(next.first));
        let (line, lower) = (own.height.max(other.height), own.height.min(other.height));
        if lower <= 0.0 {
            return false;
        }
        let is_in_number = matches!(before, '.' | ',') && after.is_ascii_digit();
        let is_mark = is_opening(before) || is_closing(after) || is_in_number;
        let has_blanks = is_of_word(before, after);
        let are_letters = self.is_letter && next.is_letter;
        let are_single = self.is_digit && next.is_digit;
        let part = match (is_mark, are_letters) {
            _ if are_single => DIGITS,
            (true, _) => MARKS,
            _ if !has_blanks => SCRIPTS,
            (_, true) => LETTERS,
            _ => WORDS,
        };
        // Lines may begin at the right.
        let beside = (other.x - own.right()).max(own.x - other.right());
        let shared = own.bottom().min(other.bottom()) - own.y.max(other.y);
        if shared > lower * SHARED {
            // The digits of a counter may move one by one.
            let is_raised = !are_single && (own.base() - other.base()).abs() > line * RAISED;
            let is_small = !self.has_decimals && lower < line * SMALL;
            let are_digits = before.is_ascii_digit() && after.is_ascii_digit();
            return beside > line * part || are_digits && (is_raised || is_small);
        }
        // A word that is broken at the end of a line goes on in the next one. What an animation moves up and down stays beside it.
        let is_moved = beside.abs() <= line * part;
        let is_far = other.y - own.bottom() > line * FAR;
        !are_letters && !is_moved && (is_far || !is_mark && has_blanks && self.inline_box != next.inline_box)
    }
}

/// Returns false if texts with these characters beside each other are in a script that writes no blanks between words.
fn is_of_word(before: char, after: char) -> bool {
    let has_no_blanks =
        |character: char| character.is_alphabetic() && !is_hangul(character) && !mask::is_of_word(character);
    !(has_no_blanks(before) && has_no_blanks(after))
}

/// Returns true for a letter or syllable of Korean, which writes blanks between words.
const fn is_hangul(character: char) -> bool {
    matches!(character, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}')
}

/// Returns true if a text ends with a number that has decimals already: a mark in it that separates no group of three digits.
fn has_decimals(text: &str) -> bool {
    let Some((before, after)) = text.rsplit_once(['.', ',']) else { return false };
    let is_zero = before.trim_start_matches(|c: char| !c.is_ascii_digit()) == "0";
    let is_digits = !after.is_empty() && after.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && before.ends_with(|c: char| c.is_ascii_digit()) && (after.len() != GROUP || is_zero)
}

/// Returns true for a character behind which no blank is expected.
const fn is_opening(character: char) -> bool {
    matches!(character, '(' | '[' | '{' | '\u{201c}' | '\u{2018}' | '\u{ab}' | '\u{bf}' | '\u{a1}')
}

/// Returns true for a character before which no blank is expected.
const fn is_closing(character: char) -> bool {
    matches!(
        character,
        ')' | ']' | '}' | ',' | '.' | ';' | ':' | '!' | '?' | '%' | '\u{201d}' | '\u{2019}' | '\u{bb}' | '\u{2026}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if there is a gap between two texts, each with the left and upper edge and the width of its box, which is 20 pixels
    /// high, and the box in a line that it is in.
    fn has_gap(one: (&str, [f64; 3], usize), other: (&str, [f64; 3], usize)) -> bool {
        let place = |(text, [x, y, width], inline_box): (&str, [f64; 3], usize)| {
            let own = TextBox { x, y, width, height: 20.0 };
            TextPlace::new(text, own, own, Some(inline_box).filter(|at| *at > 0))
        };
        let (before, after) = (one.0.chars().next_back().unwrap(), other.0.chars().next().unwrap());
        place(one).has_gap(&place(other), before, after)
    }

    #[test]
    fn gap_in_a_line_is_a_blank() {
        assert!(has_gap(("Widget", [0.0, 0.0, 50.0], 0), ("3", [62.0, 0.0, 8.0], 1)));
        assert!(!has_gap(("Wid", [0.0, 0.0, 50.0], 0), ("get", [50.0, 0.0, 50.0], 0)), "one word");
        assert!(!has_gap(("Wid", [0.0, 0.0, 50.0], 0), ("get", [52.0, 0.0, 50.0], 0)), "less than a blank");
        assert!(has_gap(("$12", [0.0, 0.0, 50.0], 0), ("99", [60.0, -8.0, 20.0], 0)), "higher in the line");
        assert!(has_gap(("$12", [0.0, 0.0, 50.0], 0), ("99", [50.0, -8.0, 20.0], 0)), "cents");
        assert!(!has_gap(("Tea", [0.0, 0.0, 50.0], 0), ("99", [50.0, -8.0, 20.0], 0)), "no number before it");
    }

    #[test]
    fn raised_or_smaller_number_is_another_one() {
        let has_gap = |one: &str, other: &str, y, height| {
            let own = TextBox { x: 0.0, y: 0.0, width: 40.0, height: 20.0 };
            let next = TextBox { x: 40.0, y, width: 20.0, height };
            let (before, after) = (one.chars().next_back().unwrap(), other.chars().next().unwrap());
            TextPlace::new(one, own, own, None).has_gap(&TextPlace::new(other, next, next, None), before, after)
        };
        assert!(has_gap("$19", "99", 0.0, 12.0), "at the top");
        assert!(has_gap("249", "50", 6.0, 14.0), "small on the line");
        assert!(has_gap("7", "49", 0.0, 17.0), "a bit smaller, at the top");
        assert!(has_gap("$1,299", "99", 6.0, 14.0), "behind a group");
        assert!(has_gap("1.08", "3", 0.0, 12.0), "a note behind decimals");
        assert!(!has_gap("19", "99", 0.0, 20.0) && !has_gap("19", "99", 2.6, 17.0), "one number");
        assert!(!has_gap("1.08", "45", 6.0, 13.5) && !has_gap("0.001", "45", 6.0, 13.5), "decimals that matter less");
        assert!(!has_gap("1.08", "45", 11.4, 6.0), "much smaller ones");
        assert!(!has_gap("1", "2", -6.0, 20.0), "a counter that moves");
        assert!(!has_gap("19", "%", 0.0, 12.0) && !has_gap("Mc", "D", 0.0, 12.0), "no two numbers");
    }

    #[test]
    fn words_of_scripts_without_blanks_need_a_clear_gap() {
        let apart = |one, other, gap| has_gap((one, [0.0, 0.0, 40.0], 1), (other, [40.0 + gap, 0.0, 40.0], 2));
        let pairs = [
            ("\u{82f9}\u{679c}", "\u{9999}\u{8549}"),
            ("\u{308a}\u{3093}", "\u{30d0}\u{30ca}"),
            ("\u{e41}\u{e14}", "\u{e40}\u{e02}"),
        ];
        for (one, other) in pairs {
            assert!(apart(one, other, 6.0), "{one} {other}");
            assert!(!apart(one, other, 4.0), "control: {one} {other}");
        }
        assert!(apart("\u{c0ac}\u{acfc}", "\u{bc30}\u{b098}", 4.0), "Korean writes blanks");
        assert!(!apart("\u{c0ac}\u{acfc}", "\u{bc30}\u{b098}", 1.0), "control");
    }

    #[test]
    fn letters_and_marks_need_a_larger_gap() {
        assert!(!has_gap(("H", [0.0, 0.0, 10.0], 1), ("e", [13.5, 0.0, 10.0], 2)));
        assert!(has_gap(("M", [0.0, 0.0, 10.0], 1), ("T", [30.0, 0.0, 10.0], 2)), "days of a week");
        assert!(!has_gap(("1", [0.0, 0.0, 8.0], 1), ("2", [16.0, 0.0, 8.0], 2)), "a counter");
        assert!(has_gap(("1", [0.0, 0.0, 8.0], 1), ("2", [30.0, 0.0, 8.0], 2)), "cells");
        assert!(!has_gap(("3.", [0.0, 0.0, 16.0], 1), ("5", [22.0, 0.0, 8.0], 2)), "a number");
        assert!(has_gap(("Mo", [0.0, 0.0, 20.0], 1), ("Tu", [23.5, 0.0, 20.0], 2)), "control");
        assert!(!has_gap(("code", [0.0, 0.0, 40.0], 0), (", then", [45.0, 0.0, 40.0], 0)));
        assert!(!has_gap(("see (", [0.0, 0.0, 40.0], 0), ("code", [45.0, 0.0, 40.0], 0)));
        assert!(has_gap(("Price", [0.0, 0.0, 40.0], 0), (".50", [55.0, 0.0, 40.0], 0)));
    }

    #[test]
    fn word_that_goes_on_in_the_next_line_is_one() {
        assert!(!has_gap(("foo", [60.0, 0.0, 40.0], 0), ("bar", [0.0, 20.0, 40.0], 0)), "broken");
        assert!(has_gap(("foo", [60.0, 0.0, 40.0], 1), ("bar", [0.0, 20.0, 40.0], 2)), "boxes in a line");
        assert!(!has_gap(("\u{4eca}\u{65e5}", [60.0, 0.0, 40.0], 1), ("\u{5929}", [0.0, 20.0, 40.0], 2)), "no blanks");
        assert!(has_gap(("foo", [60.0, 0.0, 40.0], 0), ("bar", [0.0, 80.0, 40.0], 0)), "far below");
        assert!(!has_gap(("Hel", [0.0, 0.0, 30.0], 1), ("lo", [30.0, 20.0, 20.0], 2)), "moved by an animation");
        assert!(!has_gap(("l", [90.0, 0.0, 10.0], 1), ("o", [0.0, 20.0, 10.0], 2)), "letters of a broken word");
    }

    #[test]
    fn vertical_lines_are_read_from_above_to_below() {
        let place = |text: &str, y, height| {
            let own = TextBox { x: 10.0, y, width: 20.0, height };
            TextPlace::new(text, own, own, Some(usize::from(y > 0.0)))
        };
        let first = place("\u{6771}\u{4eac}\u{90fd}", 0.0, 57.0);
        assert!(!first.has_gap(&place("\u{5185}", 57.0, 19.0), '\u{90fd}', '\u{5185}'));
        assert!(first.has_gap(&place("\u{5185}", 77.0, 19.0), '\u{90fd}', '\u{5185}'), "control");
    }

    #[test]
    fn box_drawn_around_a_text_belongs_to_it() {
        let own = |x, width| TextBox { x, y: 0.0, width, height: 20.0 };
        let code = own(10.0, 40.0).widened(&own(5.0, 50.0));
        assert_eq!(code, own(5.0, 50.0));
        assert_eq!(own(10.0, 40.0).widened(&own(-90.0, 300.0)), own(10.0, 40.0), "further texts are in it");
    }

    proptest::proptest! {
        /// Lines from the right have the gaps that lines from the left have, and a distance of nothing is none.
        #[test]
        fn mirrored_line_has_the_same_gaps(
            text in "[a-z]{1,3}", other in "[a-z,(]{1,3}", width in 11.0..60.0, gap in 0.0..40.0, y in -60.0..60.0,
        ) {
            let is_apart = has_gap((&text, [0.0, 0.0, width], 1), (&other, [width + gap, y, 30.0], 2));
            let mirrored = has_gap((&text, [-width, 0.0, width], 1), (&other, [-width - gap - 30.0, y, 30.0], 2));
            proptest::prop_assert_eq!(is_apart, mirrored);
            proptest::prop_assert!(!has_gap((&text, [0.0, 0.0, width], 1), (&other, [width, y, 30.0], 2)));
        }
    }
}
