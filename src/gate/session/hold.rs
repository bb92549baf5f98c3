//! Wait of a session's clients until the session is prepared, and of commands about an act until it is allowed.

use std::sync::Arc;

use browser_shell_core::policy::Isolation;
use tokio::sync::watch;

use crate::gate::error::GateError;
use crate::gate::hub::Hub;
use crate::gate::session::kept::KeptCommands;
use crate::gate::session::state::GateSession;

/// Wait of clients for the answers to their commands, until this is dropped.
#[must_use]
pub(crate) struct ClientHold(Arc<GateSession>);

impl Drop for ClientHold {
    fn drop(&mut self) {
        self.0.held.send_replace(None);
    }
}

impl GateSession {
    /// Returns true if the session has a context of its own, or gets one.
    pub(crate) fn has_own_context(&self) -> bool {
        self.isolation == Isolation::Session
    }

    /// Lets clients connect and wait, so that agent-browser can start while the session is prepared.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium cannot be reached.
    pub(crate) async fn hold_clients(self: &Arc<Self>) -> Result<ClientHold, GateError> {
        let hub = self.gate.upgrade().ok_or(GateError::NotRunning)?.hub().await?;
        self.held.send_replace(Some(hub));
        Ok(ClientHold(self.clone()))
    }

    /// Keeps the commands of clients that name a mark until the act is allowed, and refuses them when the sender is dropped before. Those
    /// about the act before this one are no longer known.
    pub(in crate::gate) fn keep_commands_about(&self, mark: &str) -> watch::Sender<bool> {
        let (sender, kept) = KeptCommands::about(mark);
        *self.lock_kept() = Some(kept);
        sender
    }

    /// Returns the decision that a message of a client waits for, if it is about an act that is not allowed yet.
    pub(in crate::gate) fn decision_for(&self, message: &str) -> Option<watch::Receiver<bool>> {
        self.lock_kept().as_ref()?.decision_for(message)
    }

    /// Returns true while clients wait.
    pub(in crate::gate) fn is_held(&self) -> bool {
        self.held.borrow().is_some()
    }

    /// Returns the connection to Chromium while clients wait.
    pub(in crate::gate) fn held_hub(&self) -> Option<Arc<Hub>> {
        self.held.borrow().clone()
    }

    /// Waits until the commands of clients are answered.
    pub(in crate::gate) async fn wait_for_admission(&self) {
        let _ = self.held.subscribe().wait_for(Option::is_none).await;
    }
}
