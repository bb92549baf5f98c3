//! Log lines about the mode of the guard.

use std::sync::{Mutex, PoisonError};

use crate::policy_source::PolicySource;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::EgressMode;

/// Mode that was logged last, or the code of the policy error.
#[derive(Debug, Default)]
pub(super) struct ModeLog(Mutex<Option<Result<EgressMode, Code>>>);

impl ModeLog {
    /// Logs the mode, or the error in the policy file, if it differs from the one logged last.
    pub(super) fn log_change(&self, policy: &PolicySource) {
        let mode = policy.current().map(|policy| policy.egress.mode).map_err(|error| {
            let text = error.to_string();
            (Decision::from(error).code, text)
        });
        let current = mode.as_ref().map(|mode| *mode).map_err(|(code, _)| *code);
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(current);
        if last == Some(current) {
            return;
        }
        match mode {
            Ok(EgressMode::Off) => {
                tracing::warn!("egress.mode is `off`: pages can reach every address except this machine's own");
            }
            Ok(mode) => tracing::info!(mode = mode.as_str(), "guarding"),
            Err((_, error)) => tracing::error!(error, "every connection is refused until you correct the policy file"),
        }
    }
}
