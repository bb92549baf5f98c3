//! Text of a page, by the elements that it is in.
//!
//! The text is one buffer in the order of the page, in lower case and with single blanks, and an element is a range of it. So a
//! page with deep trees takes no more memory than its text.

use std::collections::HashSet;

use super::item::{collapse, is_blank, is_unseen};
use crate::output::mask::Literals;

/// Character between texts that do not continue each other. No text that is searched contains it.
const END: char = '\0';

/// Maximum length of the text of one element that is compared with a name, in bytes.
const MAX_COMPARED: usize = 8192;

/// Text of a page. Elements are added in the order of the page, each before its text and the elements in it.
#[derive(Default)]
pub(super) struct PageText {
    /// Text in lower case.
    folded: String,
    /// Texts that no element interrupts, as they are.
    runs: Vec<Run>,
    /// Ranges of the elements.
    ranges: Vec<(usize, usize)>,
    /// Parts of the folded text that match nothing, in order.
    hidden: Vec<(usize, usize)>,
    /// True if the next text of the same element continues the last one.
    continues: bool,
}

struct Run {
    element: usize,
    start: usize,
    text: String,
}

impl PageText {
    /// Begins the next element.
    pub(super) fn begin_element(&mut self) {
        self.ranges.push((self.folded.len(), self.folded.len()));
        self.continues = false;
    }

    /// Adds a text of an element.
    pub(super) fn add(&mut self, element: usize, text: &str) {
        let start = self.folded.len();
        for character in text.chars().filter(|character| !is_unseen(*character)) {
            if is_blank(character) {
                self.add_blank();
            } else {
                self.folded.extend(character.to_lowercase().filter(|c| *c != END));
            }
        }
        if let Some((_, end)) = self.ranges.get_mut(element) {
            *end = self.folded.len();
        }
        match self.runs.last_mut().filter(|run| self.continues && run.element == element) {
            Some(run) => run.text.push_str(text),
            None => self.runs.push(Run { element, start, text: text.to_owned() }),
        }
        self.continues = true;
    }

    /// Adds a blank, unless there is one.
    pub(super) fn add_blank(&mut self) {
        if !self.folded.ends_with([' ', END]) {
            self.folded.push(' ');
        }
    }

    /// Ends the text: what is added next does not continue it.
    pub(super) fn end(&mut self) {
        self.folded.push(END);
        self.continues = false;
    }

    /// Extends the range of each element over the elements in it, by the element around each.
    pub(super) fn finish(&mut self, parents: &[Option<usize>]) {
        for (position, parent) in parents.iter().enumerate().rev() {
            let end = self.ranges.get(position).map_or(0, |(_, end)| *end);
            if let Some((_, around)) = parent.and_then(|parent| self.ranges.get_mut(parent)) {
                *around = end.max(*around);
            }
        }
    }

    /// Lets what contains one of these secrets, which are in lower case, match nothing, also where elements stand between their letters.
    pub(super) fn hide(&mut self, secrets: &Literals) {
        self.hidden = secrets.spans(&self.folded).unwrap_or_else(|| vec![(0, self.folded.len())]);
    }

    /// Returns true if a part of the folded text has a part of a secret.
    fn is_hidden(&self, start: usize, end: usize) -> bool {
        let after = self.hidden.partition_point(|(_, last)| *last <= start);
        self.hidden.get(after).is_some_and(|(first, _)| *first < end)
    }

    /// Returns the elements that contain a text, in any case, and have no element in them that does.
    pub(super) fn smallest_with(&self, text: &str, parents: &[Option<usize>]) -> HashSet<usize> {
        let wanted = text.to_lowercase();
        let (mut smallest, mut around) = (HashSet::new(), HashSet::new());
        let mut from = 0;
        while let Some(found) =
            self.folded.get(from..).filter(|_| !wanted.is_empty()).and_then(|rest| rest.find(&wanted))
        {
            let (start, end) = (from + found, from + found + wanted.len());
            from = start + self.folded.get(start..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            if self.is_hidden(start, end) {
                continue;
            }
            let run = self.runs.partition_point(|run| run.start <= start).checked_sub(1);
            let mut element = run.and_then(|run| self.runs.get(run)).map(|run| run.element);
            let parent = |element: usize| parents.get(element).copied().flatten();
            let contains =
                |element: usize| self.ranges.get(element).is_some_and(|(first, last)| *first <= start && end <= *last);
            while let Some(small) = element.filter(|element| !contains(*element)) {
                element = parent(small);
            }
            let Some(small) = element.filter(|element| smallest.insert(*element)) else { continue };
            let mut outer = parent(small);
            while let Some(element) = outer.filter(|element| around.insert(*element)) {
                outer = parent(element);
            }
        }
        smallest.retain(|element| !around.contains(element));
        smallest
    }

    /// Returns the elements with a text that is this one as a whole.
    pub(super) fn with_whole(&self, text: &str) -> HashSet<usize> {
        let runs = self.runs.iter().filter(|run| !text.is_empty() && collapse(&run.text) == text);
        runs.map(|run| run.element).collect()
    }

    /// Returns the text of an element as it is, or its begin.
    pub(super) fn of(&self, element: usize) -> String {
        let Some((first, last)) = self.ranges.get(element).copied() else { return String::new() };
        let begin = self.runs.partition_point(|run| run.start < first);
        let mut text = String::new();
        for run in self.runs.iter().skip(begin).take_while(|run| run.start < last) {
            if text.len() + run.text.len() > MAX_COMPARED {
                break;
            }
            text.push_str(&run.text);
        }
        collapse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds the text of `[[a] b [c [d]]]`-like trees: a number opens an element, `)` closes it, other words are text.
    fn page(tree: &str) -> (PageText, Vec<Option<usize>>) {
        let (mut text, mut parents, mut open) = (PageText::default(), Vec::new(), Vec::new());
        for token in tree.split_inclusive(['(', ')']) {
            let words = token.trim_end_matches(['(', ')']);
            if let (false, Some(element)) = (words.is_empty(), open.last()) {
                text.add(*element, words);
            }
            if token.ends_with('(') {
                parents.push(open.last().copied());
                open.push(parents.len() - 1);
                text.begin_element();
            } else if token.ends_with(')') {
                open.pop();
                text.continues = false;
            }
        }
        text.finish(&parents);
        (text, parents)
    }

    fn smallest(tree: &str, wanted: &str) -> Vec<usize> {
        let (text, parents) = page(tree);
        let mut found: Vec<_> = text.smallest_with(wanted, &parents).into_iter().collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn smallest_element_with_a_text_is_found() {
        assert_eq!(smallest("((Buy)(Sell))", "buy"), [1]);
        assert_eq!(smallest("((Buy)( Buy  now))", "BUY"), [1, 2]);
        assert_eq!(smallest("(Buy (Buy))", "buy"), [1], "the outer one has a smaller one in it");
        assert_eq!(smallest("(Bu(y) it)", "buy"), [0], "the text is in both");
        assert_eq!(smallest("(Bu(y) it)", "y it"), [0]);
        assert_eq!(smallest("((Buy) (it))", "buy it"), [0]);
        assert_eq!(smallest("((a)(aa))", "aa"), [2], "matches that overlap count");
        assert_eq!(smallest("((Straße)(\u{130}x))", "x"), [2]);
        assert!(smallest("((Buy))", "sell").is_empty());
        assert!(smallest("((Buy))", "").is_empty());
    }

    #[test]
    fn whole_text_ends_at_an_element() {
        let whole = |tree: &str, wanted: &str| page(tree).0.with_whole(wanted);
        assert_eq!(whole("(( Log  in )(Log in now))", "Log in"), HashSet::from([1]));
        assert_eq!(whole("(Log (in))", "Log"), HashSet::from([0]));
        assert!(whole("(log in)", "Log in").is_empty());
        assert!(whole("(Log (in))", "Log in").is_empty());
    }

    #[test]
    fn text_of_an_element_is_all_that_is_in_it() {
        let (text, _) = page("(a (b (c) d)(e) f)");
        assert_eq!([0, 1, 2, 3].map(|element| text.of(element)), ["a b c de f", "b c d", "c", "e"]);
    }
}
