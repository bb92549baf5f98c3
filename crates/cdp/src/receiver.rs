//! Receivers of what Chromium sends.

use serde_json::value::RawValue;

use crate::protocol::DebugSessionId;

/// Result or error of a command, as Chromium wrote it.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The result.
    Result(&'a RawValue),
    /// The error.
    Error(&'a RawValue),
}

/// Event of a session of the protocol.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Session, `None` for the browser itself.
    pub session: Option<&'a DebugSessionId>,
    /// Method.
    pub method: &'a str,
    /// Parameters.
    pub params: Option<&'a RawValue>,
}

/// Receiver of answers and events. Its functions must not wait.
pub trait Receiver: Send + Sync {
    /// Takes the answer to a command that was sent with this tag.
    fn answer(&self, tag: u64, answer: Answer<'_>);

    /// Takes an event of one of the receiver's sessions.
    fn event(&self, event: Event<'_>);
}
