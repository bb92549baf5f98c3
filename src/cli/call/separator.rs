//! Message for a `call` without `--` before its command.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns the message for a parser error that a missing `--` caused, with the line to type.
pub(in crate::cli) fn missing_separator(arguments: &[OsString], error: &clap::Error) -> Option<String> {
    let words: Vec<_> = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let call = words.iter().position(|word| word == "call")?;
    if words.iter().any(|word| word == "--") {
        return None;
    }
    let example = || vec!["open".to_owned(), "https://example.com".to_owned()];
    let (before, command) = match error.kind() {
        ErrorKind::MissingRequiredArgument => (words, example()),
        ErrorKind::UnknownArgument => {
            let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
            let position = words.iter().skip(call + 1).position(|word| word == unknown)? + call + 1;
            let is_flag = unknown.starts_with('-');
            if is_flag {
                return None;
            }
            let (before, command) = words.split_at_checked(position)?;
            (before.to_vec(), command.to_vec())
        }
        _ => return None,
    };
    let line = |words: &[String]| words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    Some(format!("write `--` before the command of a call:\n  browser-shell {} -- {}", line(&before), line(&command)))
}

/// Quotes a word for a shell if it needs to be.
fn quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
