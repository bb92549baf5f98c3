//! Wait of a session's clients until the session is prepared, and of commands about an act until it is allowed.

use std::sync::Arc;

use browser_shell_core::element::Verb;
use browser_shell_core::policy::Isolation;

use crate::gate::act_permission::{ActPermission, Awaiting, LastCommand};
use crate::gate::error::GateError;
use crate::gate::hub::Hub;
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

    /// Announces an act on the element with a mark. The one before it is no longer known.
    pub(in crate::gate) fn announce_act(&self, mark: &str, verb: Verb) -> Arc<ActPermission> {
        let act = Arc::new(ActPermission::new(mark, verb));
        *self.lock_act() = Some(act.clone());
        act
    }

    /// Returns the act that was announced on the element with a mark.
    pub(in crate::gate) fn announced_act(&self, mark: &str) -> Option<Arc<ActPermission>> {
        self.lock_act().clone().filter(|act| act.mark() == mark)
    }

    /// Returns what a message of a client waits for, if it names the mark of an act that is not allowed yet.
    pub(in crate::gate) fn awaited(&self, message: &str) -> Option<Awaiting> {
        Awaiting::about(self.lock_act().as_ref()?, message)
    }

    /// Returns what a command means for the act that was announced last, if it may be done with it.
    pub(in crate::gate) fn last_command_of_act(&self, method: &str, params: Option<&str>) -> Option<LastCommand> {
        LastCommand::of(self.lock_act().as_ref()?, method, params)
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
