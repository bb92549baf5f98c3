//! Messages of clients of the gate, and JSON as Chromium writes it.
//!
//! A string of a page may contain half of a surrogate pair, which Chromium writes as an escape of its own (`\ud800`). No `str`
//! holds such a character.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

/// Maximum length of a client's message, in bytes. The longest that agent-browser sends is the text of a `fill`.
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Largest id of a message: the largest integer that JSON numbers of every parser represent exactly.
const MAX_ID: u64 = (1 << 53) - 1;

/// Parsed message of a client: exactly the members that the protocol has, each once.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientMessage<'a> {
    /// Number that the answer repeats.
    pub id: u64,
    /// Method, such as `Page.navigate`.
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    /// Parameters of the method, an object.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// Session of a target; absent for the browser itself.
    #[serde(borrow, default, rename = "sessionId")]
    pub session_id: Option<Cow<'a, str>>,
}

/// Reason why a message is not one of the protocol.
#[derive(Debug, Error)]
pub enum MessageError {
    /// It is longer than [`MAX_MESSAGE`].
    #[error("the message has {0} bytes, more than {MAX_MESSAGE}")]
    TooLong(usize),
    /// It is not an object.
    #[error("the message is not an object")]
    NotAnObject,
    /// It is not an object with these members.
    #[error("not a message of the protocol: {0}")]
    Invalid(#[from] serde_json::Error),
    /// Its id is not an integer that every parser reads alike.
    #[error("the id `{0}` is too large")]
    Id(u64),
    /// Its parameters are not an object.
    #[error("the parameters are not an object")]
    Params,
}

impl<'a> ClientMessage<'a> {
    /// Parses a message.
    ///
    /// # Errors
    ///
    /// An unknown or repeated member, an id that is not a number of at most 53 bits, parameters that are not an object, or a
    /// message longer than [`MAX_MESSAGE`].
    pub fn parse(text: &'a str) -> Result<Self, MessageError> {
        if text.len() > MAX_MESSAGE {
            return Err(MessageError::TooLong(text.len()));
        }
        // A list of the values of all members would be read as well.
        if !text.trim_start().starts_with('{') {
            return Err(MessageError::NotAnObject);
        }
        let message: Self = serde_json::from_str(text)?;
        if message.id > MAX_ID {
            return Err(MessageError::Id(message.id));
        }
        if message.params.is_some_and(|params| !params.get().starts_with('{')) {
            return Err(MessageError::Params);
        }
        Ok(message)
    }
}

/// Escape of the replacement character.
const REPLACEMENT: &str = r"\ufffd";

/// Length of an escape without its backslash, in bytes: `u` and four digits.
const ESCAPE: usize = 5;

/// Reads a text of Chromium into a type of its own, which leaves out what it has no place for. Halves of surrogate pairs become
/// replacement characters.
///
/// # Errors
///
/// Returns an error if the text is not JSON, is nested too deeply, or has another form.
pub fn read_chromium<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    read(text).or_else(|_| read(&replace_lone_surrogates(text)))
}

/// Reads a text. It is not inlined, so that the program holds it once for each type.
#[inline(never)]
fn read<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text)
}

/// Parses the parameters of an event; `null` if there are none, or they cannot be read.
#[must_use]
pub fn parse_params(params: Option<&RawValue>) -> Value {
    params.and_then(|params| read_chromium(params.get()).ok()).unwrap_or_default()
}

/// Replaces the escapes of surrogates that have no other half.
fn replace_lone_surrogates(text: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        replaced.push_str(before);
        let length = match code_unit(escape) {
            Some(0xD800..=0xDBFF) if has_low_half(escape) => 2 * ESCAPE + 1,
            Some(0xD800..=0xDFFF) => {
                replaced.push_str(REPLACEMENT);
                rest = escape.get(ESCAPE..).unwrap_or_default();
                continue;
            }
            // `\\` is passed as a whole: its second character begins no escape.
            _ => escape.chars().next().map_or(0, char::len_utf8),
        };
        let (escape, following) = escape.split_at_checked(length).unwrap_or((escape, ""));
        replaced.push('\\');
        replaced.push_str(escape);
        rest = following;
    }
    replaced.push_str(rest);
    replaced
}

/// Returns true if the low half of a pair follows an escape.
fn has_low_half(escape: &str) -> bool {
    let next = escape.get(ESCAPE..).and_then(|rest| rest.strip_prefix('\\'));
    matches!(next.and_then(code_unit), Some(0xDC00..=0xDFFF))
}

/// Returns the code unit of an escape `uXXXX`.
fn code_unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix('u')?.get(..ESCAPE - 1)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        let cases = [
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\uDC00""#, "\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud800\n\\ud800""#, "\u{fffd}\n\\ud800"),
            (r#""\\\udfff\u0041é""#, "\\\u{fffd}Aé"),
        ];
        for (text, expected) in cases {
            assert!(serde_json::from_str::<Value>(text).is_err(), "control: {text}");
            assert_eq!(read_chromium::<Value>(text).unwrap(), json!(expected), "{text}");
        }
        assert_eq!(read_chromium::<Value>(r#""\ud83d\ude00""#).unwrap(), json!("\u{1f600}"), "control");
    }

    #[test]
    fn other_invalid_texts_remain_errors() {
        for text in [r#""\ud800"#, r#""\u12"#, r#""\x""#, "\"\\", "{", ""] {
            assert!(read_chromium::<Value>(text).is_err(), "{text}");
        }
    }
}
