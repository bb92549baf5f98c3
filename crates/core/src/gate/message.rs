//! Message of a client of the gate.

use std::borrow::Cow;

use serde::Deserialize;
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
