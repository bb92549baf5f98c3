//! Known secrets, masked in every encoding.
//!
//! A page shows the value of a password field in many forms: as it is, in JSON, in HTML and in URLs, also in one of these inside
//! another. So the text is decoded, and what matches is masked where it comes from.
//!
//! Invariants:
//! - No result contains a value of the set that has a letter, a digit or a sign other than `*`, as it is or in an encoding or two.
//! - A value of less than [`FREE_LENGTH`] characters is masked only where no ASCII letter or digit touches it, because `12` is in
//!   many words and numbers.

use std::borrow::Cow;
use std::fmt;

use aho_corasick::AhoCorasick;
use serde_json::{Map, Value};

use super::encoding::{Decoded, Encoding};

/// Replacement for a secret.
pub const MASK: &str = "***";

/// The number of characters from which on a value is masked anywhere.
const FREE_LENGTH: usize = 4;

/// The number of encodings, one inside the other, that are decoded.
const MAX_DEPTH: usize = 2;

/// The number of passes after which a text that still has a value is masked as a whole. A second pass is needed where a mask makes
/// a new value out of its surroundings.
const MAX_PASSES: usize = 8;

/// A set of secrets. `Debug` shows how many there are.
#[derive(Clone, Default)]
pub struct Literals {
    values: Vec<Literal>,
    search: Option<AhoCorasick>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Literal {
    text: String,
    /// True for a value that is masked only where no letter or digit touches it.
    is_short: bool,
}

impl fmt::Debug for Literals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Literals").field("values", &self.values.len()).finish_non_exhaustive()
    }
}

impl Literals {
    /// Creates a set. Values without anything but blanks and asterisks hide nothing and are left out.
    ///
    /// ```
    /// use browser_shell_core::output::mask::Literals;
    ///
    /// let literals = Literals::new(["p&ss w\u{f6}rd".to_owned(), "12".to_owned()]);
    /// assert_eq!(literals.mask_text("p&amp;ss w&#246;rd, p%26ss+w%C3%B6rd, p&ss w\\u00f6rd"), "***, ***, ***");
    /// assert_eq!(literals.mask_text("code 12 of 2012"), "code *** of 2012");
    /// ```
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut literals = Vec::new();
        for value in values {
            // Snapshots collapse blanks.
            let collapsed = value.split_whitespace().collect::<Vec<_>>().join(" ");
            for text in [collapsed, value] {
                if text.contains(|c: char| !c.is_whitespace() && c != '*') {
                    let is_short = text.chars().count() < FREE_LENGTH;
                    literals.push(Literal { text, is_short });
                }
            }
        }
        literals.sort_unstable();
        literals.dedup();
        // A set that is too large to search for masks everything.
        let search = AhoCorasick::new(literals.iter().map(|literal| &literal.text)).ok();
        Self { values: literals, search }
    }

    /// Returns `true` if there is nothing to mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Masks the values in a text, in every encoding.
    #[must_use]
    pub fn mask_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = Cow::Borrowed(text);
        for _ in 0..MAX_PASSES {
            match self.find(&masked) {
                None => return Cow::Borrowed(MASK),
                Some(spans) if spans.is_empty() => return masked,
                Some(spans) => masked = Cow::Owned(replace(&masked, &spans)),
            }
        }
        Cow::Borrowed(MASK)
    }

    /// Masks the values in data: in strings, in keys, and numbers that contain one.
    pub(crate) fn mask_json(&self, value: &mut Value) {
        match value {
            Value::String(string) => {
                if let Cow::Owned(masked) = self.mask_text(string) {
                    *string = masked;
                }
            }
            // Counts and positions are short numbers. Only a value that is masked anywhere is masked in them.
            Value::Number(number) => {
                let text = number.to_string();
                if self.values.iter().any(|literal| !literal.is_short && text.contains(&literal.text)) {
                    *value = MASK.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_json(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.mask_json(member));
                if members.keys().any(|name| matches!(self.mask_text(name), Cow::Owned(_))) {
                    let masked = std::mem::take(members).into_iter();
                    *members = masked
                        .map(|(name, member)| (self.mask_text(&name).into_owned(), member))
                        .collect::<Map<_, _>>();
                }
            }
            Value::Bool(_) | Value::Null => {}
        }
    }

    /// Returns the parts of a text that contain a value, sorted and apart from each other. `None` if it cannot be searched.
    fn find(&self, text: &str) -> Option<Vec<(usize, usize)>> {
        let search = self.search.as_ref()?;
        let mut found = Vec::new();
        self.find_decoded(search, &Decoded::new(text)?, MAX_DEPTH, &mut found);
        found.sort_unstable();
        let mut spans = Vec::new();
        for span in found {
            join(&mut spans, span);
        }
        Some(spans)
    }

    fn find_decoded(&self, search: &AhoCorasick, text: &Decoded, depth: usize, found: &mut Vec<(usize, usize)>) {
        let mut spans = Vec::new();
        for hit in search.find_overlapping_iter(&text.bytes) {
            let is_short = self.values.get(hit.pattern().as_usize()).is_some_and(|literal| literal.is_short);
            if !is_short || !is_touched(&text.bytes, hit.start(), hit.end()) {
                join(&mut spans, text.source(hit.start(), hit.end()));
            }
        }
        found.append(&mut spans);
        if depth == 0 {
            return;
        }
        for encoding in Encoding::ALL {
            // Without a `+`, forms are encoded as URLs are.
            if encoding == Encoding::Form && !text.bytes.contains(&b'+') {
                continue;
            }
            if let Some(decoded) = text.decode(encoding) {
                self.find_decoded(search, &decoded, depth - 1, found);
            }
        }
    }
}

/// Adds a part to parts that end no later, and joins it with those that it touches.
fn join(spans: &mut Vec<(usize, usize)>, (mut start, mut end): (usize, usize)) {
    while let Some(last) = spans.pop_if(|last| start <= last.1) {
        (start, end) = (start.min(last.0), end.max(last.1));
    }
    spans.push((start, end));
}

/// Returns `true` if an ASCII letter or digit stands right before or behind a part of a text.
fn is_touched(text: &[u8], start: usize, end: usize) -> bool {
    let before = start.checked_sub(1).and_then(|position| text.get(position));
    before.into_iter().chain(text.get(end)).any(u8::is_ascii_alphanumeric)
}

/// Replaces parts of a text, which are sorted and apart from each other, by the mask.
fn replace(text: &str, spans: &[(usize, usize)]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, end) in spans {
        result.push_str(text.get(copied..*start).unwrap_or_default());
        result.push_str(MASK);
        copied = *end;
    }
    result.push_str(text.get(copied..).unwrap_or_default());
    result
}

#[cfg(test)]
mod tests;
