//! What a single value may be, kind by kind.
//!
//! Decides about one text without its neighbours. Must stay at least as strict as agent-browser's own parser: a text that it
//! would silently ignore or read as something else is refused here.

use super::Dialect;
use super::table::{Kind, MAX_WAIT_MS};

/// The workspace as agents see it. A path may begin with it; what is passed on is what follows.
pub const WORKSPACE: &str = "/workspace/";

/// The most bytes of a path below the workspace, and of one part of it.
const MAX_PATH: usize = 1024;
const MAX_COMPONENT: usize = 255;

/// Whether a value may begin with a dash. Everywhere else a leading dash is for the table's own flags.
pub(super) fn may_begin_with_dash(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::MultilineText | Kind::Text => true,
        // The minus key.
        Kind::Key => text == "-",
        _ => false,
    }
}

/// The line breaks of Unicode (UAX 14, mandatory breaks).
pub(super) const fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Checks a value that holds no NUL, and gives what is passed on: all of it, but of a path below the workspace what is relative
/// to that.
///
/// # Errors
///
/// What is wrong with it and what to write; without the value itself.
pub(super) fn check(dialect: Dialect, kind: Kind, text: &str) -> Result<&str, String> {
    match kind {
        Kind::FileName(ending) if dialect.has_workspace_paths() => workspace_path(text, ending),
        _ => check_as_it_is(kind, text).map(|()| text),
    }
}

fn check_as_it_is(kind: Kind, text: &str) -> Result<(), String> {
    match kind {
        // Texts may be empty: `fill @e1 ""` clears a field. URLs are read by the policy.
        Kind::MultilineText | Kind::Text | Kind::Url => Ok(()),
        Kind::Selector => selector(text),
        Kind::SelectorOrMilliseconds => match text.parse::<u64>() {
            // The same test as in agent-browser, which reads `+5` as a number too.
            Ok(milliseconds) if milliseconds <= u64::from(MAX_WAIT_MS) => Ok(()),
            Ok(_) => Err(format!("at most {MAX_WAIT_MS} milliseconds; wait again, or wait for a text or an element")),
            Err(_) if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() => {
                Err(format!("at most {MAX_WAIT_MS} milliseconds"))
            }
            Err(_) if text.starts_with('@') => {
                Err("agent-browser cannot wait for a reference; wait for a CSS selector or --text".to_owned())
            }
            Err(_) => selector(text),
        },
        Kind::Key => key(text),
        Kind::UrlPattern => not_empty(text, "a URL pattern such as `**/done`"),
        Kind::Number(least, most) => {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            match text.parse::<u32>() {
                Ok(number) if digits && (least..=most).contains(&number) => Ok(()),
                _ => Err(format!("must be a whole number from {least} to {most}")),
            }
        }
        Kind::Word(words) if words.contains(&text) => Ok(()),
        Kind::Word(words) => Err(format!("must be one of {}", words.join(", "))),
        Kind::AttributeName => {
            let valid = (1..=100).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.'));
            if valid { Ok(()) } else { Err("must be the name of an attribute, such as `href`".to_owned()) }
        }
        Kind::Role => {
            let valid = (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            if valid { Ok(()) } else { Err("must be a role such as `button`, `link` or `textbox`".to_owned()) }
        }
        Kind::Label => not_empty(text, "a text in one line"),
        Kind::CssSelector if text.starts_with('@') => {
            Err("agent-browser cannot do this with a reference; give a CSS selector, or hover the element".to_owned())
        }
        Kind::CssSelector => not_empty(text, "a CSS selector"),
        Kind::FileName(ending) => file_name(text, ending),
    }
}

fn not_empty(text: &str, what: &str) -> Result<(), String> {
    if text.trim().is_empty() { Err(format!("must be {what}; it is empty")) } else { Ok(()) }
}

fn selector(text: &str) -> Result<(), String> {
    not_empty(text, "a reference such as `@e1` or a CSS selector")
}

/// Keys are short: one character, a name, or such with modifiers before it.
fn key(text: &str) -> Result<(), String> {
    let valid = (1..=64).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if valid { Ok(()) } else { Err("must be a key such as `Enter`, `a` or `Control+a`".to_owned()) }
}

/// A plain name: it stays one path component under every reading.
fn file_name(text: &str, ending: &str) -> Result<(), String> {
    let valid = text.len() <= 100
        && text.len() > ending.len()
        && text.ends_with(ending)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if valid {
        Ok(())
    } else {
        Err(format!(
            "must be a plain file name of letters, digits, `.`, `_` and `-` that ends in `{ending}`, without folders"
        ))
    }
}

/// A path below the workspace: nothing in it leads out of there, is hidden, or could be read as a flag.
fn workspace_path<'a>(text: &'a str, ending: &str) -> Result<&'a str, String> {
    let relative = text.strip_prefix(WORKSPACE).unwrap_or(text);
    let is_plain = |component: &str| {
        !component.is_empty()
            && component.len() <= MAX_COMPONENT
            && !component.starts_with(['.', '-'])
            && !component.contains(|c: char| c == '\\' || c.is_control())
    };
    if relative.len() <= MAX_PATH && relative.ends_with(ending) && relative.split('/').all(is_plain) {
        Ok(relative)
    } else {
        Err(format!(
            "must be a path below the workspace that ends in `{ending}`, such as `name{ending}`, `dir/name{ending}` or `{WORKSPACE}dir/name{ending}`; no part of it may be empty, begin with `.` or `-`, hold a backslash or a control character, or be longer than {MAX_COMPONENT} bytes"
        ))
    }
}
