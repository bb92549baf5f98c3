//! Values of arguments and flags: the check of each kind.
//!
//! Invariants: a check is at least as strict as agent-browser's parser. A text that agent-browser would ignore, or
//! parse as something else, is refused.

use thiserror::Error;

use super::profile::Profile;
use super::selector::{enters_frame, is_plain_text};
use super::spec::ValueKind;
use super::table::MAX_WAIT_MS;
use crate::keyboard::Modifier;
use crate::selector::{MAX_PARTS, SelectorChain};

/// Path of the workspace for agents. A file name may begin with it; agent-browser receives the part after it.
pub const WORKSPACE_PREFIX: &str = "/workspace/";

/// Maximum length of a path below the workspace, in bytes.
const MAX_PATH: usize = 1024;

/// Maximum length of one component of such a path, in bytes.
const MAX_COMPONENT: usize = 255;

/// Violation of the rule of a [`ValueKind`].
///
/// The message describes a valid value and, like every decision, does not repeat the refused one.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum ValueError {
    #[error("must be {0}; it is empty")]
    Empty(&'static str),
    #[error("must be {0}")]
    Form(&'static str),
    #[error("must be one of {}", .0.join(", "))]
    Word(&'static [&'static str]),
    #[error("must be a whole number from {0} to {1}")]
    Number(u32, u32),
    #[error("must be the number of a tab, such as `1`, or its name, such as `t1`")]
    Tab,
    #[error("must be at most {MAX_WAIT_MS} milliseconds; call wait again, or wait for a text or an element")]
    Milliseconds,
    #[error("agent-browser accepts no reference here; use a CSS selector, or hover the element")]
    Reference,
    #[error(
        "must not name an engine that can enter a frame, such as `internal:control`; use CSS, `text=` or a reference"
    )]
    EntersFrame,
    #[error("must have at most {MAX_PARTS} parts between `>>`; use one part of CSS for several, such as `ul li a`")]
    Parts,
    #[error("names no HTML element; use a reference such as `@e1` from a snapshot, or a CSS selector")]
    PlainText,
    #[error("must be a plain file name of letters, digits, `.`, `_` and `-` that ends in `{0}`, without folders")]
    FileName(&'static str),
    #[error(
        "must be a path below the workspace that ends in `{0}`, such as `name{0}`, `dir/name{0}` or `{WORKSPACE_PREFIX}dir/name{0}`; no component may be empty, begin with `.` or `-`, contain a backslash or a control character, or be longer than {MAX_COMPONENT} bytes"
    )]
    WorkspacePath(&'static str),
}

/// Returns `true` if a value may begin with a dash. Otherwise only flags do.
pub(super) fn may_begin_with_dash(kind: ValueKind, text: &str) -> bool {
    match kind {
        ValueKind::MultilineText | ValueKind::Text | ValueKind::Phrase => true,
        // The minus key.
        ValueKind::Key => text == "-",
        _ => false,
    }
}

/// Returns `true` for a mandatory line break of Unicode (UAX 14).
pub(super) const fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Checks a value that contains no NUL, and returns the text to pass on: a path below the workspace without its prefix,
/// any other value unchanged.
pub(super) fn check(profile: Profile, kind: ValueKind, text: &str) -> Result<&str, ValueError> {
    match kind {
        ValueKind::FileName(ending) if profile.has_workspace_paths() => check_workspace_path(text, ending),
        ValueKind::Selector | ValueKind::SelectorOrMilliseconds
            if profile != Profile::Compat && is_plain_text(text) =>
        {
            Err(ValueError::PlainText)
        }
        _ => check_unchanged(kind, text).map(|()| text),
    }
}

fn check_unchanged(kind: ValueKind, text: &str) -> Result<(), ValueError> {
    match kind {
        // Text may be empty: `fill @e1 ""` clears a field. The policy parses URLs.
        ValueKind::MultilineText | ValueKind::Text | ValueKind::Url => Ok(()),
        ValueKind::Phrase => check_not_empty(text, "words that the text has"),
        ValueKind::Selector => check_selector(text),
        ValueKind::SelectorOrMilliseconds => check_selector_or_milliseconds(text),
        ValueKind::Key => {
            let is_valid = (1..=64).contains(&text.chars().count()) && !text.chars().any(char::is_control);
            form_if(is_valid, "a key such as `Enter`, `a` or `Control+a`")
        }
        ValueKind::UrlPattern => check_not_empty(text, "a URL pattern such as `**/done`"),
        ValueKind::Number(min, max) => match text.parse::<u32>() {
            Ok(number) if is_digits(text) && (min..=max).contains(&number) => Ok(()),
            _ => Err(ValueError::Number(min, max)),
        },
        ValueKind::Tab if tab(text).is_some() => Ok(()),
        ValueKind::Tab => Err(ValueError::Tab),
        ValueKind::Word(words) if words.contains(&text) => Ok(()),
        ValueKind::Word(words) => Err(ValueError::Word(words)),
        ValueKind::Offset => {
            form_if(offset(text).is_some(), "a point such as `10,20`, in pixels from the element's upper left corner")
        }
        ValueKind::Modifiers => {
            let expected = "keys to hold: `Control`, `Shift`, `Alt` or `Meta`, several with `+` between them";
            form_if(Modifier::list(text).is_some(), expected)
        }
        ValueKind::AttributeName => {
            let is_valid = (1..=100).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.'));
            form_if(is_valid, "the name of an attribute, such as `href`")
        }
        ValueKind::Role => {
            let is_valid = (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            form_if(is_valid, "a role such as `button`, `link` or `textbox`")
        }
        ValueKind::Label => check_not_empty(text, "text on one line"),
        ValueKind::CssSelector if text.starts_with('@') => Err(ValueError::Reference),
        ValueKind::CssSelector => check_stays_in_document(text, "a CSS selector"),
        ValueKind::FileName(ending) => check_file_name(text, ending),
    }
}

fn form_if(is_valid: bool, expected: &'static str) -> Result<(), ValueError> {
    if is_valid { Ok(()) } else { Err(ValueError::Form(expected)) }
}

fn check_not_empty(text: &str, expected: &'static str) -> Result<(), ValueError> {
    if text.trim().is_empty() { Err(ValueError::Empty(expected)) } else { Ok(()) }
}

fn check_selector(text: &str) -> Result<(), ValueError> {
    check_stays_in_document(text, "a reference such as `@e1` or a CSS selector")
}

fn check_stays_in_document(text: &str, expected: &'static str) -> Result<(), ValueError> {
    check_not_empty(text, expected)?;
    if SelectorChain::is_too_long(text) {
        Err(ValueError::Parts)
    } else if enters_frame(text) {
        Err(ValueError::EntersFrame)
    } else {
        Ok(())
    }
}

fn check_selector_or_milliseconds(text: &str) -> Result<(), ValueError> {
    // agent-browser parses the same type, so that `+5` is a number for it too.
    match text.parse::<u64>() {
        Ok(milliseconds) if milliseconds <= u64::from(MAX_WAIT_MS) => Ok(()),
        Ok(_) => Err(ValueError::Milliseconds),
        Err(_) if is_digits(text) => Err(ValueError::Milliseconds),
        Err(_) => check_selector(text),
    }
}

/// Largest distance from the corner of an element, in CSS pixels.
const MAX_OFFSET: u32 = 100_000;

/// Parses the distance from the upper left corner of an element: `10,20`.
pub(super) fn offset(text: &str) -> Option<(u32, u32)> {
    let number = |digits: &str| digits.parse().ok().filter(|number| is_digits(digits) && *number <= MAX_OFFSET);
    let (x, y) = text.split_once(',')?;
    Some((number(x)?, number(y)?))
}

/// Tab that a command names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// Position in the list of tabs, from 0.
    Index(usize),
    /// Number in the name that newer versions of agent-browser give a tab, from 1.
    Name(usize),
}

impl Tab {
    /// Returns the position of the tab for versions of agent-browser without names: the first tab is `t1`.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Index(index) => index,
            Self::Name(number) => number.saturating_sub(1),
        }
    }
}

/// Largest number of a tab.
const MAX_TAB: usize = 999;

/// Parses a tab: `0` to `999`, or `t1` to `t999` without leading zeros.
pub(super) fn tab(text: &str) -> Option<Tab> {
    let number = |digits: &str| digits.parse().ok().filter(|number| is_digits(digits) && *number <= MAX_TAB);
    match text.strip_prefix('t') {
        Some(digits) if !digits.starts_with('0') => number(digits).map(Tab::Name),
        Some(_) => None,
        None => number(text).map(Tab::Index),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Checks that a file name is plain, so that every parser reads it as one path component.
fn check_file_name(text: &str, ending: &'static str) -> Result<(), ValueError> {
    let is_valid = text.len() <= 100
        && text.len() > ending.len()
        && text.ends_with(ending)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if is_valid { Ok(()) } else { Err(ValueError::FileName(ending)) }
}

/// Checks a path below the workspace and returns it without the prefix. No component leads out of the workspace, is
/// hidden, or could be parsed as a flag.
fn check_workspace_path<'a>(text: &'a str, ending: &'static str) -> Result<&'a str, ValueError> {
    let relative = text.strip_prefix(WORKSPACE_PREFIX).unwrap_or(text);
    let is_plain = |component: &str| {
        !component.is_empty()
            && component.len() <= MAX_COMPONENT
            && !component.starts_with(['.', '-'])
            && !component.contains(|c: char| c == '\\' || c.is_control())
    };
    if relative.len() <= MAX_PATH && relative.ends_with(ending) && relative.split('/').all(is_plain) {
        Ok(relative)
    } else {
        Err(ValueError::WorkspacePath(ending))
    }
}
