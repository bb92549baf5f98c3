//! Known secrets, masked in every encoding.
//!
//! A page shows the value of a password field in many forms: as it is, in JSON, in HTML and in URLs, also in one of these inside
//! another. So the text is decoded, and what matches is masked where it comes from.
//!
//! Of what the agent typed itself, only values of fields are masked. agent-browser reports the value of a field in a member of the data,
//! in a tree, and in the attributes of HTML.
//!
//! Text that a page or a person put into a field can be cut there until no whole secret is left. A field with a piece of one counts as secret
//! as a whole. A secret in parts that follow each other, as a code in boxes, is masked by the rules of [`SplitSecrets`].
//!
//! Invariants:
//! - No result contains any other value of the set, unless that is blanks and `*` alone, as it is or in an encoding or two.
//! - A value of letters or digits alone, or of less than [`FREE_LENGTH`] characters, is masked only as a whole word, because `12`
//!   is in many numbers and `admin` in many words.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::encoding::{Decoded, Encoding};
use super::rules::MASK;
use super::split::{SplitSecrets, is_of_word};
use super::tree::{TreeLine, each_line, has_lines};
use crate::output::page_text::collapse_blanks;

/// The number of characters from which on a value that is no word is masked anywhere.
const FREE_LENGTH: usize = 4;

/// The number of characters from which on a value is masked in upper and lower case, too.
const LEAST_SHOWN: usize = 6;

/// The same for a value of letters alone: a shorter one is a word of pages in other letters.
const LEAST_WORD_SHOWN: usize = 12;

/// The number of characters up to which a value is masked so. No style shows a longer one, such as a saved JSON text.
const MAX_SHOWN: usize = 512;

/// The number of encodings, one inside the other, that are decoded.
const MAX_DEPTH: usize = 2;

/// Number of hits that any text may have.
const MIN_HITS: usize = 1000;

/// Number of further hits that a text may have for each of its bytes.
const HITS: usize = 16;

/// The number of places in a text, in all its encodings, at which a value is looked at. A page can choose values that are in each other;
/// a text with more of them is masked as a whole.
const MAX_HITS: usize = 1_000_000;

/// The number of passes after which a text that still has a value is masked as a whole. A second pass is needed where a mask makes
/// a new value out of its surroundings.
const MAX_PASSES: usize = 8;

/// A set of secrets. `Debug` shows how many there are.
#[derive(Clone, Default)]
pub struct Literals {
    values: Vec<Literal>,
    search: Option<AhoCorasick>,
    /// `true` if one of the values has a blank in it, in place of which a text may have other white space.
    has_blanks: bool,
    /// The values as a page may show them in parts.
    split: SplitSecrets,
    /// Secrets that are masked only as values of fields.
    fields: Option<Box<Self>>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Literal {
    text: String,
    /// True for a value that is masked only where no letter or digit touches it.
    is_word: bool,
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
        for value in values.into_iter().flat_map(as_shown) {
            // Snapshots collapse blanks.
            for text in [collapse_blanks(&value), value] {
                if text.contains(|c: char| !c.is_whitespace() && c != '*') {
                    let is_word = text.chars().count() < FREE_LENGTH
                        || text.chars().all(char::is_alphabetic)
                        || text.chars().all(char::is_numeric);
                    literals.push(Literal { text, is_word });
                }
            }
        }
        literals.sort_unstable();
        literals.dedup();
        // A page chooses the values: a DFA for letters that repeat thousands of times takes minutes to build.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        // A set that is too large to search for masks everything.
        let search = AhoCorasick::builder().kind(kind).build(literals.iter().map(|literal| &literal.text)).ok();
        let has_blanks = literals.iter().any(|literal| literal.text.contains(' '));
        let split = SplitSecrets::new(literals.iter().map(|literal| literal.text.as_str()));
        Self { values: literals, search, has_blanks, split, fields: None }
    }

    /// Adds secrets that are masked as values of fields, and nowhere else.
    ///
    /// ```
    /// use browser_shell_core::output::{Body, mask::Literals};
    /// use serde_json::json;
    ///
    /// let literals = Literals::default().with_field_values(["admin".to_owned()]);
    /// let mut body = Body::Data(json!({ "value": "admin", "title": "admin login" }));
    /// body.mask_literals(&literals);
    /// assert_eq!(body, Body::Data(json!({ "value": "***", "title": "admin login" })));
    /// ```
    #[must_use]
    pub fn with_field_values(self, values: impl IntoIterator<Item = String>) -> Self {
        Self { fields: Some(Box::new(Self::new(values))).filter(|fields| !fields.is_empty()), ..self }
    }

    /// Returns `true` if there is nothing to mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.fields.is_none()
    }

    /// Returns `true` if a text is one of the values and nothing else.
    fn is_value(&self, text: &str) -> bool {
        let text = text.trim();
        text.contains(|character| character != '*') && self.mask_text(text) == MASK
    }

    /// Masks the values in a text, in every encoding.
    #[must_use]
    pub fn mask_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        if self.values.is_empty() {
            return masked;
        }
        for _ in 0..MAX_PASSES {
            match self.find(&masked) {
                None => return Cow::Borrowed(MASK),
                Some(spans) if spans.is_empty() => return masked,
                Some(spans) => masked = Cow::Owned(replace(&masked, &spans)),
            }
        }
        Cow::Borrowed(MASK)
    }

    /// Returns the parts of a text that contain a value, in order and apart from each other. `None` if it cannot be searched.
    pub(crate) fn spans(&self, text: &str) -> Option<Vec<(usize, usize)>> {
        if self.values.is_empty() { Some(Vec::new()) } else { self.find(text) }
    }

    /// Returns `true` if values are looked for in parts.
    pub(crate) fn has_split(&self) -> bool {
        !self.split.is_empty()
    }

    /// Returns which of some texts that follow each other in a page are parts of a value.
    pub(crate) fn split_in(&self, texts: &[String]) -> Vec<bool> {
        self.split.are_in(texts)
    }

    /// Masks the values in data: in strings, in keys, and numbers that contain one.
    pub(crate) fn mask_json(&self, value: &mut Value) {
        if let Some(fields) = &self.fields {
            mask_json(value, &|text| fields.is_value(text));
        }
        self.mask_everywhere(value);
    }

    /// Masks the values in the text of an answer.
    pub(crate) fn mask_answer(&self, text: &str) -> String {
        let fields =
            self.fields.as_ref().map_or(Cow::Borrowed(text), |fields| mask_tree(text, &|text| fields.is_value(text)));
        self.mask_text(&fields).into_owned()
    }

    /// Masks the values in a message about the page.
    #[must_use]
    pub fn mask_message(&self, text: &str) -> String {
        let fields = self
            .fields
            .as_ref()
            .map_or(Cow::Borrowed(text), |fields| mask_message(text, &|text| fields.is_value(text)));
        self.mask_text(&fields).into_owned()
    }

    fn mask_everywhere(&self, value: &mut Value) {
        match value {
            Value::String(string) => {
                if let Cow::Owned(masked) = self.mask_text(string) {
                    *string = masked;
                }
            }
            // Counts and positions are short numbers. No short value is masked in them.
            Value::Number(number) => {
                let text = number.to_string();
                let is_long = |literal: &&Literal| literal.text.chars().count() >= FREE_LENGTH;
                let is_in = |literal: &Literal| {
                    if literal.is_word { text == literal.text } else { text.contains(&literal.text) }
                };
                if self.values.iter().filter(is_long).any(is_in) {
                    *value = MASK.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_everywhere(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.mask_everywhere(member));
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
        // A text with more hits than this for its length is masked as a whole.
        let (mut found, mut left) = (Vec::new(), MAX_HITS.min(MIN_HITS + HITS * text.len()));
        self.find_decoded(search, &Decoded::new(text)?, MAX_DEPTH, &mut left, &mut found)?;
        self.split.add_spans(text, &mut found);
        Some(joined(found))
    }

    /// Adds the parts of a text that contain a value, in every encoding. `None` if there are more hits than are left.
    fn find_decoded(
        &self,
        search: &AhoCorasick,
        text: &Decoded,
        depth: usize,
        left: &mut usize,
        found: &mut Vec<(usize, usize)>,
    ) -> Option<()> {
        self.find_plain(search, text, left, found)?;
        if let Some(collapsed) = self.has_blanks.then(|| text.decode(Encoding::Blanks)).flatten() {
            self.find_plain(search, &collapsed, left, found)?;
        }
        if depth == 0 {
            return Some(());
        }
        for encoding in Encoding::ALL {
            // Without a `+`, forms are encoded as URLs are.
            if encoding == Encoding::Form && !text.bytes.contains(&b'+') {
                continue;
            }
            if let Some(decoded) = text.decode(encoding) {
                self.find_decoded(search, &decoded, depth - 1, left, found)?;
            }
        }
        Some(())
    }

    /// Adds the parts of a text that contain a value as it is. `None` if there are more hits than are left.
    fn find_plain(
        &self,
        search: &AhoCorasick,
        text: &Decoded,
        left: &mut usize,
        found: &mut Vec<(usize, usize)>,
    ) -> Option<()> {
        let mut spans = Vec::new();
        for hit in search.find_overlapping_iter(&text.bytes) {
            *left = left.checked_sub(1)?;
            let is_word = self.values.get(hit.pattern().as_usize()).is_some_and(|literal| literal.is_word);
            if !is_word || !is_touched(&text.bytes, hit.start(), hit.end()) {
                join(&mut spans, text.source(hit.start(), hit.end()));
            }
        }
        found.append(&mut spans);
        Some(())
    }
}

/// Returns parts of a text in order, those that touch as one.
pub(crate) fn joined(mut parts: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    parts.sort_unstable();
    let mut joined = Vec::with_capacity(parts.len());
    for part in parts {
        join(&mut joined, part);
    }
    joined
}

/// Adds a part to parts that end no later, and joins it with those that it touches.
fn join(spans: &mut Vec<(usize, usize)>, (mut start, mut end): (usize, usize)) {
    while let Some(last) = spans.pop_if(|last| start <= last.1) {
        (start, end) = (start.min(last.0), end.max(last.1));
    }
    spans.push((start, end));
}

/// Returns `true` if a letter or digit stands right before or behind a part of a text. Those of scripts that write no blanks
/// between words do not count.
fn is_touched(text: &[u8], start: usize, end: usize) -> bool {
    const LONGEST: usize = 4;
    let before = text.get(start.saturating_sub(LONGEST)..start).unwrap_or_default();
    let before = (1..=before.len()).find_map(|length| str::from_utf8(before.get(before.len() - length..)?).ok());
    let behind = text.get(end..).and_then(|rest| rest.get(..rest.len().min(LONGEST))).unwrap_or_default();
    let behind = behind.utf8_chunks().next().map(|chunk| chunk.valid());
    before.and_then(|text| text.chars().last()).is_some_and(is_of_word)
        || behind.and_then(|text| text.chars().next()).is_some_and(is_of_word)
}

/// Returns a value in the forms in which a style may show it (`text-transform`). Short words stay as they are: in other forms they are words of
/// pages.
fn as_shown(value: String) -> Vec<String> {
    let is_word = value.chars().all(|character| character.is_alphabetic() || character.is_whitespace());
    let least = if is_word { LEAST_WORD_SHOWN } else { LEAST_SHOWN };
    if !(least..=MAX_SHOWN).contains(&value.chars().count()) {
        return vec![value];
    }
    let mut forms = vec![
        value.to_uppercase(),
        value.to_lowercase(),
        capitalized(&value, |_| false),
        capitalized(&value, |before| !before.is_alphanumeric()),
        // Browsers take these for parts of a word: `don't`, `a.b`, `a_b`.
        capitalized(&value, |before| {
            !before.is_alphanumeric() && !matches!(before, '\'' | '\u{2019}' | '.' | ':' | '_')
        }),
    ];
    forms.retain(|form| *form != value);
    forms.push(value);
    forms
}

/// Returns a text with its first character in upper case, and each behind one that ends a word.
fn capitalized(text: &str, ends_word: impl Fn(char) -> bool) -> String {
    let mut capitalized = String::with_capacity(text.len());
    let mut before = None;
    for character in text.chars() {
        if before.is_none_or(&ends_word) {
            capitalized.extend(character.to_uppercase());
        } else {
            capitalized.push(character);
        }
        before = Some(character);
    }
    capitalized
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

/// Members of data that hold the value of a field.
const MEMBERS: &[&str] = &["holds", "value"];

/// Roles of fields.
const ROLES: &[&str] = &["combobox", "searchbox", "spinbutton", "textbox"];

/// Values in HTML: attributes, and the content of an element for text. Outside of quotes, a tag ends at the next one: otherwise each of many
/// tags that do not end would be read to the end of the text.
static HTML: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?i)(\svalue\s*=\s*"|<textarea\b(?:(?:[^<>"]|"[^"]*")*|[^<>]*)>)([^"<]*)"#,
        r#"|(\svalue\s*=\s*'?)([^\s"'>][^'>]*)"#
    ))
    .ok()
});

/// Value of a field in a message.
static MESSAGE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"( holds )("(?:[^"\\]|\\.)*")"#).ok());

/// Masks values in data.
fn mask_json(value: &mut Value, is_secret: &dyn Fn(&str) -> bool) {
    let Value::Object(members) = value else { return };
    for (name, member) in members {
        let Value::String(text) = member else { continue };
        let masked = match name.as_str() {
            name if MEMBERS.contains(&name) && is_secret(text) => Cow::Borrowed(MASK),
            "html" => replace_values(text, &HTML, is_secret),
            "snapshot" => mask_tree(text, is_secret),
            _ => continue,
        };
        if masked != text.as_str() {
            *text = masked.into_owned();
        }
    }
}

/// Masks values in a message.
fn mask_message<'a>(text: &'a str, is_secret: &dyn Fn(&str) -> bool) -> Cow<'a, str> {
    replace_values(text, &MESSAGE, is_secret)
}

fn replace_values<'a>(
    text: &'a str,
    pattern: &LazyLock<Option<Regex>>,
    is_secret: &dyn Fn(&str) -> bool,
) -> Cow<'a, str> {
    let Some(pattern) = pattern.as_ref() else { return Cow::Borrowed(MASK) };
    pattern.replace_all(text, |found: &Captures<'_>| {
        let group = |first: usize, second: usize| {
            found.get(first).or_else(|| found.get(second)).map_or("", |group| group.as_str())
        };
        let (before, value) = (group(1, 3), group(2, 4));
        let inner = value.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
        match inner {
            Some(inner) if is_secret(inner) => format!("{before}\"{MASK}\""),
            None if is_secret(value) => format!("{before}{MASK}"),
            _ => format!("{before}{value}"),
        }
    })
}

/// Masks values in a tree: of a field, and of what is in a field.
fn mask_tree<'a>(text: &'a str, is_secret: &dyn Fn(&str) -> bool) -> Cow<'a, str> {
    if !has_lines(text) {
        return if is_secret(text) { Cow::Borrowed(MASK) } else { Cow::Borrowed(text) };
    }
    let mut field = None;
    let masked = each_line(text, |line| {
        let Some(parsed) = TreeLine::parse(line) else { return line.to_owned() };
        field.take_if(|indent| parsed.indent <= *indent);
        let is_below = field.is_some();
        if field.is_none() && ROLES.contains(&parsed.role) {
            field = Some(parsed.indent);
        }
        let mut masked = String::with_capacity(line.len());
        for (position, piece) in parsed.pieces.iter().enumerate() {
            let is_value = is_below || field.is_some() && parsed.value == Some(position);
            let is_hidden = is_value && is_secret(piece.text());
            piece.push_to(&mut masked, is_hidden.then_some(MASK));
        }
        masked
    });
    if masked == text { Cow::Borrowed(text) } else { Cow::Owned(masked) }
}

/// Length of a piece, in characters.
const LENGTH: usize = 4;

/// Maximum number of pieces that an agent has sent and that are remembered.
const MAX_SENT: usize = 64 * 1024;

/// All pieces of a set of secrets. `Debug` shows how many there are.
#[derive(Clone, Default)]
pub struct Pieces(HashSet<[char; LENGTH]>);

/// Pieces of the texts that an agent has sent. They are no pieces of a secret: it could send guesses and see which of them are.
#[derive(Clone, Debug, Default)]
pub struct SentPieces {
    pieces: HashSet<[char; LENGTH]>,
    /// End of what was sent before, which single keys continue.
    end: Vec<char>,
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pieces").field(&self.0.len()).finish()
    }
}

impl Pieces {
    /// Creates the set of all pieces of these secrets. A secret of less than 4 characters has none.
    ///
    /// ```
    /// use browser_shell_core::output::mask::Pieces;
    ///
    /// let pieces = Pieces::new(["hunter2!"]);
    /// assert!(pieces.is_in("the nter of it") && !pieces.is_in("hun r2! HUNTER2!"));
    /// ```
    #[must_use]
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self(secrets.into_iter().flat_map(pieces).collect())
    }

    /// Returns the pieces that an agent has not sent.
    #[must_use]
    pub fn without(self, sent: &SentPieces) -> Self {
        Self(self.0.difference(&sent.pieces).copied().collect())
    }

    /// Returns `true` if there are no pieces.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns which parts of a text have characters of a piece, which may be in several of them.
    #[must_use]
    pub fn are_in(&self, parts: &[String]) -> Vec<bool> {
        let characters = parts.iter().enumerate().flat_map(|(part, text)| text.chars().map(move |c| (part, c)));
        let characters: Vec<_> = characters.collect();
        let mut are_in = vec![false; parts.len()];
        for window in characters.windows(LENGTH) {
            let piece: Vec<_> = window.iter().map(|(_, character)| *character).collect();
            if <[char; LENGTH]>::try_from(piece).is_ok_and(|piece| self.0.contains(&piece)) {
                for (part, _) in window {
                    are_in.get_mut(*part).into_iter().for_each(|is_in| *is_in = true);
                }
            }
        }
        are_in
    }

    /// Returns `true` if a text has one of the pieces.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        !self.is_empty() && pieces(text).iter().any(|piece| self.0.contains(piece))
    }
}

impl SentPieces {
    /// Adds a text.
    ///
    /// ```
    /// use browser_shell_core::output::mask::{Pieces, SentPieces};
    ///
    /// let mut sent = SentPieces::default();
    /// for text in ["guess", "h", "u", "n", "t"] {
    ///     sent.add(text);
    /// }
    /// let pieces = Pieces::new(["hunter"]).without(&sent);
    /// assert!(pieces.is_in("unter") && !pieces.is_in("hunt"));
    /// ```
    pub fn add(&mut self, text: &str) {
        let joined: String = self.end.iter().copied().chain(text.chars()).collect();
        if !self.is_full() {
            self.pieces.extend(pieces(&joined));
        }
        let count = joined.chars().count();
        self.end = joined.chars().skip(count.saturating_sub(LENGTH - 1)).collect();
    }

    /// Returns `true` if there may be others that are not remembered.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.pieces.len() >= MAX_SENT
    }
}

/// Returns all pieces of a text.
fn pieces(text: &str) -> Vec<[char; LENGTH]> {
    let characters: Vec<_> = text.chars().collect();
    characters.windows(LENGTH).filter_map(|piece| piece.try_into().ok()).collect()
}

#[cfg(test)]
mod tests;
