//! Lines of a snapshot's tree, of the control gate and of all versions of agent-browser.
//!
//! A line is `- ROLE "NAME" [STATES]: VALUE`, indented by two blanks for each level. The name and some values are JSON; a version in Node puts
//! what YAML would misread in apostrophes.
//!
//! Invariant: what is masked is the content of a name, a state or a value. Every line and every reference stays.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::rules::{END_OF_KEY, MASK, Quotes, START_OF_KEY, apply_rules};
use crate::output::page_text::quoted;

/// Beginning of a line with something to protect.
static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(?m)^ *- '?[\w/-]+ ["\[]"#).ok());

/// Reference of a line, with the states in the same brackets and the quote in front of it.
static REFERENCE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#""? ?\[(?:[^\[\]"\n]*, )?ref=e\d+[^\]\n]*\]"#).ok());

/// Name of a field that holds a secret.
static SECRET: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)token|passw|passphrase|secret|api[ _-]?key").ok());

/// Returns `true` if a text has lines of a tree.
pub(super) fn has_lines(text: &str) -> bool {
    text.contains("- ") && LINE.as_ref().is_none_or(|pattern| pattern.is_match(text))
}

/// Masks the secrets in a tree.
pub(super) fn mask(text: &str) -> Cow<'_, str> {
    let mut mask = TreeMask::default();
    let masked = each_line(text, |line| mask.line(line));
    if masked == text { Cow::Borrowed(text) } else { Cow::Owned(masked) }
}

/// Replaces each line of a text.
pub(super) fn each_line(text: &str, replace: impl FnMut(&str) -> String) -> String {
    text.split('\n').map(replace).collect::<Vec<_>>().join("\n")
}

/// Part of a line.
pub(super) enum Piece<'a> {
    /// Syntax of the tree.
    Syntax(&'a str),
    /// Text in quotes, and what it means.
    Quoted(&'a str, String),
    /// Text as it is.
    Plain(&'a str),
}

impl Piece<'_> {
    /// Returns the text.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Syntax(_) => "",
            Self::Quoted(_, text) => text,
            Self::Plain(text) => text,
        }
    }

    /// Adds the part to a line, with another text if there is one.
    pub(super) fn push_to(&self, line: &mut String, text: Option<&str>) {
        match (self, text) {
            (Self::Syntax(raw) | Self::Plain(raw) | Self::Quoted(raw, _), None) | (Self::Syntax(raw), _) => {
                line.push_str(raw);
            }
            (Self::Plain(_), Some(text)) => line.push_str(text),
            (Self::Quoted(..), Some(text)) => line.push_str(&quoted(text)),
        }
    }
}

/// Line of a tree.
pub(super) struct TreeLine<'a> {
    /// Number of blanks in front of it.
    pub(super) indent: usize,
    pub(super) role: &'a str,
    pub(super) name: String,
    pub(super) pieces: Vec<Piece<'a>>,
    /// Position of the value among the pieces.
    pub(super) value: Option<usize>,
}

impl<'a> TreeLine<'a> {
    /// Parses a line. Returns `None` if it has another form.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let item = line.trim_start_matches(' ').strip_prefix("- ")?;
        let item = item.strip_prefix('\'').unwrap_or(item);
        let is_role = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '/');
        let mut rest = item.trim_start_matches(is_role);
        let role = item.strip_suffix(rest).filter(|role| !role.is_empty())?;
        let indent = line.len() - line.trim_start_matches(' ').len();
        let mut pieces = vec![Piece::Syntax(line.strip_suffix(rest)?)];
        let mut name = String::new();
        if rest.starts_with(" \"") {
            name = take_quoted(&mut rest, 1, &mut pieces)?;
        }
        loop {
            // Versions in Rust have a word between the states and the ways to act on an element.
            let states = rest.trim_start_matches(|character| character == ' ' || is_role(character));
            if !states.starts_with('[') || !rest.starts_with(' ') {
                break;
            }
            let before = rest.len() - states.len();
            take_syntax(&mut rest, before, &mut pieces)?;
            take_states(&mut rest, &mut pieces)?;
        }
        let apostrophe = usize::from(rest.starts_with('\''));
        take_syntax(&mut rest, apostrophe, &mut pieces)?;
        if rest.is_empty() {
            return Some(Self { indent, role, name, pieces, value: None });
        }
        let value = rest.strip_prefix(':')?;
        let blanks = value.len() - value.trim_start_matches([' ', '\t']).len();
        if blanks == 0 && !value.is_empty() {
            return None;
        }
        take_syntax(&mut rest, 1 + blanks, &mut pieces)?;
        let position = pieces.len();
        let mut behind = rest;
        if take_quoted(&mut behind, 0, &mut pieces).is_none() || !behind.trim().is_empty() {
            pieces.truncate(position);
            pieces.push(Piece::Plain(rest));
        } else {
            pieces.push(Piece::Syntax(behind));
        }
        let value = (!rest.is_empty())
            .then_some(position + usize::from(matches!(pieces.get(position), Some(Piece::Syntax(_)))));
        Some(Self { indent, role, name, pieces, value })
    }
}

/// Takes syntax of this length.
fn take_syntax<'a>(rest: &mut &'a str, length: usize, pieces: &mut Vec<Piece<'a>>) -> Option<()> {
    let (syntax, behind) = rest.split_at_checked(length)?;
    pieces.push(Piece::Syntax(syntax));
    *rest = behind;
    Some(())
}

/// Takes the text in quotes at a position, and returns what it means.
fn take_quoted<'a>(rest: &mut &'a str, position: usize, pieces: &mut Vec<Piece<'a>>) -> Option<String> {
    let from = rest.get(position..).filter(|from| from.starts_with('"'))?;
    let mut values = serde_json::Deserializer::from_str(from).into_iter::<String>();
    let text = values.next()?.ok()?;
    let (raw, behind) = from.split_at_checked(values.byte_offset())?;
    pieces.push(Piece::Syntax(rest.get(..position)?));
    pieces.push(Piece::Quoted(raw, text.clone()));
    *rest = behind;
    Some(text)
}

/// Takes a bracket with states.
fn take_states<'a>(rest: &mut &'a str, pieces: &mut Vec<Piece<'a>>) -> Option<()> {
    let until = rest.find([']', ',']).unwrap_or(rest.len());
    if let Some(equals) = rest.get(..until).and_then(|states| states.find("=\"")) {
        take_quoted(rest, equals + 1, pieces)?;
        let closes = rest.starts_with(']');
        return closes.then(|| take_syntax(rest, 1, pieces))?;
    }
    let is_end = |behind: &str| behind.is_empty() || behind.starts_with([' ', ':', '\'']);
    let end = rest.match_indices(']').map(|(end, _)| end).find(|end| rest.get(end + 1..).is_some_and(is_end))?;
    let states = rest.get(..end)?;
    // Of states without quotes, only an address can have a secret in it.
    let address = states.find("url=").map_or(end, |address| address + "url=".len());
    take_syntax(rest, address, pieces)?;
    let (url, behind) = rest.split_at_checked(end - address)?;
    pieces.push(Piece::Plain(url));
    *rest = behind;
    take_syntax(rest, 1, pieces)
}

/// Masking of one tree, line by line.
#[derive(Default)]
struct TreeMask {
    /// `true` between the lines in which a private key begins and ends.
    is_in_key: bool,
    /// Lines of the value of a secret field, and the indentation of its line: what is below it repeats the value.
    hidden: Option<(usize, HashSet<String>)>,
}

impl TreeMask {
    fn line(&mut self, line: &str) -> String {
        let Some(parsed) = TreeLine::parse(line) else {
            return match &mut self.hidden {
                // A value of several lines.
                Some((_, hidden)) if !line.trim_start().starts_with("- ") => {
                    hidden.insert(line.trim().to_owned());
                    hide(line)
                }
                _ => self.between_references(line),
            };
        };
        self.hidden.take_if(|(indent, _)| parsed.indent <= *indent);
        let is_secret =
            SECRET.as_ref().is_none_or(|secret| secret.is_match(&parsed.name) || secret.is_match(parsed.role));
        let mut masked = String::with_capacity(line.len());
        for (position, piece) in parsed.pieces.iter().enumerate() {
            let text = piece.text();
            let is_value = parsed.value == Some(position);
            let replaced = if text.trim().is_empty() {
                None
            } else if is_value && is_secret {
                self.hidden = Some((parsed.indent, text.trim().lines().map(|line| line.trim().to_owned()).collect()));
                Some(hide(text))
            } else if self.is_hidden(text) {
                Some(MASK.to_owned())
            } else {
                Some(self.between_references(text)).filter(|masked| masked != text)
            };
            piece.push_to(&mut masked, replaced.as_deref());
        }
        masked
    }

    /// Returns `true` if a text repeats a line of the value of the secret field around it.
    fn is_hidden(&self, text: &str) -> bool {
        self.hidden.as_ref().is_some_and(|(_, hidden)| hidden.contains(text.trim()))
    }

    /// Masks a text that may have references in it: a version in Node puts them into names with quotes.
    fn between_references(&mut self, text: &str) -> String {
        replace_between_references(text, |part| self.content(part))
    }

    /// Masks a text of the page.
    fn content(&mut self, text: &str) -> String {
        let (Some(start), Some(end)) = (START_OF_KEY.as_ref(), END_OF_KEY.as_ref()) else { return MASK.to_owned() };
        if self.is_in_key {
            let Some(found) = end.find(text) else {
                return if text.trim().is_empty() { text.to_owned() } else { MASK.to_owned() };
            };
            self.is_in_key = false;
            let rest = self.content(text.get(found.end()..).unwrap_or_default());
            return format!("{MASK}{rest}");
        }
        let last = start.find_iter(text).last();
        self.is_in_key = last.is_some_and(|last| end.find_at(text, last.end()).is_none());
        apply_rules(text, Quotes::Kept).into_owned()
    }
}

/// Replaces a text by the mask, but for references.
fn hide(text: &str) -> String {
    replace_between_references(text, |part| if part.trim().is_empty() { part.to_owned() } else { MASK.to_owned() })
}

fn replace_between_references(text: &str, mut replace: impl FnMut(&str) -> String) -> String {
    let Some(reference) = REFERENCE.as_ref() else { return MASK.to_owned() };
    let mut replaced = String::with_capacity(text.len());
    let mut copied = 0;
    for found in reference.find_iter(text) {
        replaced.push_str(&replace(text.get(copied..found.start()).unwrap_or_default()));
        replaced.push_str(found.as_str());
        copied = found.end();
    }
    replaced.push_str(&replace(text.get(copied..).unwrap_or_default()));
    replaced
}

#[cfg(test)]
mod tests;
