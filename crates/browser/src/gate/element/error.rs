//! Errors of acts on elements.

use browser_shell_core::decision::{Code, Decision};
use thiserror::Error;

use browser_shell_cdp::CommandError;

/// Reason why an element cannot be used.
#[derive(Debug, Error)]
pub enum ElementError {
    /// The element, or its document, is not there any more.
    #[error("the element is gone")]
    Gone,
    /// The element is in another tab than the active one.
    #[error("the element is in another tab")]
    OtherTab,
    /// The act cannot be carried out by the gate.
    #[error("{0}")]
    Unsupported(&'static str),
    /// A script of the gate has failed or has another result.
    #[error("an element did not report its state")]
    Unreadable,
    /// Chromium did not carry out a command.
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl From<ElementError> for Decision {
    fn from(error: ElementError) -> Self {
        tracing::debug!(%error, "an element cannot be used");
        match error {
            ElementError::Gone => Self::new(Code::StaleReference, "the element is gone"),
            ElementError::OtherTab => Self::new(Code::StaleReference, "the element is in another tab"),
            ElementError::Unsupported(reason) => Self::new(Code::NoEffect, reason),
            ElementError::Command(CommandError::TimedOut(_)) => Self::new(Code::TimedOut, "the page does not answer"),
            ElementError::Unreadable | ElementError::Command(_) => {
                Self::new(Code::GateUnavailable, "the control gate could not read the state of the element")
            }
        }
    }
}
