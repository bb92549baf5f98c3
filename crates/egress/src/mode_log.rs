//! Log lines about the mode of the guard.

use std::sync::{Mutex, PoisonError};

use browser_shell_core::policy::EgressMode;
use browser_shell_system::policy_source::PolicySource;

/// Mode that was logged last. What is wrong with the policy file is logged elsewhere.
#[derive(Debug, Default)]
pub(super) struct ModeLog(Mutex<Option<EgressMode>>);

impl ModeLog {
    /// Logs the mode if it differs from the one logged last.
    pub(super) fn log_change(&self, policy: &PolicySource) {
        let mode = policy.current().ok().map(|policy| policy.egress.mode);
        let last = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), mode);
        match mode {
            Some(mode) if last == Some(mode) => {}
            Some(EgressMode::Off) => {
                tracing::warn!("egress.mode is `off`: pages can reach every address except this machine's own");
            }
            Some(mode) => tracing::info!(mode = mode.as_str(), "guarding"),
            None => {}
        }
    }
}
