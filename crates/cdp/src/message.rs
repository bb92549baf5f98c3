//! Messages of the debugging protocol.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::protocol::DebugSessionId;

/// Maximum length of a message of Chromium that is read, in bytes.
pub(super) const MAX_MESSAGE: usize = 128 * 1024 * 1024;

/// Number of bytes that are kept of a message that is not read.
const HEAD: usize = 64;

/// Beginning of an answer.
const ANSWER_START: &[u8] = br#"{"id":"#;

/// Reason why a command has no result.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The connection has ended.
    #[error("the connection to Chromium has ended")]
    Closed,
    /// Chromium did not answer in time.
    #[error("Chromium did not answer `{0}` in time")]
    TimedOut(&'static str),
    /// Chromium's answer is too large or cannot be read. Unlike a refusal, it says nothing about the command's target.
    #[error("the answer of Chromium to `{0}` is too large or cannot be read")]
    Unreadable(&'static str),
    /// Chromium answered with an error, or the command's session ended.
    #[error("Chromium answered `{method}` with an error: {message}")]
    Refused {
        /// Method of the command.
        method: &'static str,
        /// Chromium's message.
        message: String,
    },
}

/// Message that was received from Chromium.
#[derive(Debug)]
pub(super) enum Received {
    /// A text.
    Text(String),
    /// The first bytes of a message that is too long or not a text.
    Unreadable(Vec<u8>),
}

impl Received {
    /// Checks the bytes of a message.
    pub(super) fn new(message: Vec<u8>) -> Self {
        if message.len() > MAX_MESSAGE {
            return Self::unreadable(&message);
        }
        String::from_utf8(message).map_or_else(|error| Self::unreadable(error.as_bytes()), Self::Text)
    }

    /// Keeps the first bytes of a message that is not read.
    pub(super) fn unreadable(message: &[u8]) -> Self {
        Self::Unreadable(message.iter().take(HEAD).copied().collect())
    }
}

/// Message of Chromium.
#[derive(Deserialize)]
pub(super) struct Incoming<'a> {
    pub(super) id: Option<u64>,
    #[serde(borrow)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionId")]
    pub(super) session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// Returns the id of an answer of which only the first bytes are known. Chromium writes the id first.
pub(super) fn leading_id(head: &[u8]) -> Option<u64> {
    let rest = head.strip_prefix(ANSWER_START)?;
    let digits: Vec<u8> = rest.iter().take_while(|byte| byte.is_ascii_digit()).copied().collect();
    // Without the byte that follows, the number may be longer.
    rest.get(digits.len())?;
    String::from_utf8(digits).ok()?.parse().ok()
}

/// Returns the text of a command. `params` is the text of an object.
pub(super) fn encode(id: u64, session: Option<&DebugSessionId>, method: &str, params: Option<&str>) -> String {
    let mut text = format!(r#"{{"id":{id},"method":{}"#, Value::from(method));
    if let Some(params) = params {
        text.push_str(r#","params":"#);
        text.push_str(params);
    }
    if let Some(session) = session {
        text.push_str(r#","sessionId":"#);
        text.push_str(&Value::from(session.as_str()).to_string());
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_id_is_read_from_answers_only() {
        assert_eq!(leading_id(br#"{"id":12,"result":{"da"#), Some(12));
        for head in [&br#"{"method":"Page.x","id":12"#[..], br#"{"id":12"#, br#"{"id":-1,"#, b"{\"id\":,", b""] {
            assert_eq!(leading_id(head), None, "{head:?}");
        }
    }

    #[test]
    fn long_and_binary_messages_are_unreadable() {
        assert!(matches!(Received::new(b"{}".to_vec()), Received::Text(_)), "control");
        let received = Received::new(b"{\"id\":3,\"result\":\"\xff\"}".to_vec());
        assert!(matches!(received, Received::Unreadable(head) if leading_id(&head) == Some(3)));
        let received = Received::new(vec![0; MAX_MESSAGE + 1]);
        assert!(matches!(received, Received::Unreadable(head) if head.len() == HEAD), "too long");
    }
}
