//! Result of a method that the gate carries out itself.

use serde_json::{Value, json};

use browser_shell_browser::gate::GateError;
use browser_shell_cdp::CommandError;

/// Error code of the protocol for a command that the server refuses.
const REFUSED: i64 = -32000;

/// Error code of the protocol for an unknown session.
const NO_SESSION: i64 = -32001;

/// Error code of the protocol for a text that is not a message.
const NOT_A_MESSAGE: i64 = -32700;

/// Result for the client, or its error.
pub(super) type MethodResult = Result<Value, Failure>;

/// Error of the protocol.
#[derive(Debug)]
pub(super) struct Failure {
    code: i64,
    message: String,
}

impl Failure {
    /// Creates the error for a command that is refused.
    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self { code: REFUSED, message: message.into() }
    }

    /// Creates the error for a session that is not one of the client.
    pub(super) fn no_session() -> Self {
        Self { code: NO_SESSION, message: "Session with given id not found.".to_owned() }
    }

    /// Creates the error for a text that is not a message.
    pub(super) fn not_a_message(message: impl Into<String>) -> Self {
        Self { code: NOT_A_MESSAGE, message: message.into() }
    }

    /// Returns the error as the protocol has it.
    pub(super) fn to_json(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Refused { message, .. } => Self::refused(message),
            other => Self::refused(other.to_string()),
        }
    }
}

impl From<GateError> for Failure {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Command(error) => error.into(),
            other => Self::refused(other.to_string()),
        }
    }
}
