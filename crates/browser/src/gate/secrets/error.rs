//! Errors of reading secret fields.

use browser_shell_core::decision::{Code, Decision};
use thiserror::Error;

use crate::gate::secret_values::SecretLimit;
use browser_shell_cdp::CommandError;

/// Reason why the secrets of a session are not known.
#[derive(Debug, Error)]
pub enum SecretsError {
    /// Chromium did not carry out a command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// There are more secrets than the gate keeps.
    #[error(transparent)]
    Limit(#[from] SecretLimit),
    /// A field did not report its value.
    #[error("a secret field did not report its value")]
    Field,
}

impl From<SecretsError> for Decision {
    fn from(_: SecretsError) -> Self {
        Self::new(Code::PageUnreadable, "a page did not say which secrets it shows")
    }
}
