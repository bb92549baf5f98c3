//! Outcome of an action.

use browser_shell_core::decision::Decision;
use serde_json::Value;

use browser_shell_browser::gate::Secrets;

/// Outcome of an action.
#[derive(Debug)]
pub enum Outcome {
    /// It is done, as far as that can be known, with the data of the answer.
    Done(Value),
    /// It failed, or was refused.
    Failed(Decision),
    /// It failed with a message that has no code of its own.
    Message(String),
    /// Its tab is gone, and it is not known how far it got.
    Unknown,
    /// Its time is over.
    TimedOut,
    /// The client has canceled it.
    Cancelled,
}

/// Action that was carried out.
pub struct Carried {
    /// Outcome.
    pub outcome: Outcome,
    /// Secrets of the pages, if they were read behind all that the answer shows.
    pub secrets: Option<Secrets>,
}

impl From<Outcome> for Carried {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, secrets: None }
    }
}

impl<E: Into<Decision>> From<Result<Value, E>> for Outcome {
    fn from(result: Result<Value, E>) -> Self {
        match result {
            Ok(data) => Self::Done(data),
            Err(error) => Self::Failed(error.into()),
        }
    }
}

impl<E: Into<Decision>> From<Result<Value, E>> for Carried {
    fn from(result: Result<Value, E>) -> Self {
        Outcome::from(result).into()
    }
}
