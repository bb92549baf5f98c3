//! Lease of a session: the right to run one call now.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use crate::session::slots::CallSlot;
use crate::session::state::{Session, SessionState};
use browser_shell_agent_browser::TransportState;
use browser_shell_agent_browser::sandbox::Sandbox;
use browser_shell_browser::gate::GateSession;
use browser_shell_core::policy::Engine;
use browser_shell_core::session_id::SessionId;
use browser_shell_system::os::processes::end_marked;
use browser_shell_system::paths::SessionPaths;

/// Right to run one call of an open session. Dropping it lets the next call of the session run.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(super) id: SessionId,
    pub(super) session: Arc<Session>,
    pub(super) state: OwnedMutexGuard<SessionState>,
    /// True for the session's first call in this process.
    pub(crate) is_first: bool,
    pub(super) _slot: CallSlot,
}

impl Lease {
    /// Returns the paths of the session.
    #[must_use]
    pub(crate) fn paths(&self) -> &SessionPaths {
        &self.session.paths
    }

    /// Returns the state that the transport keeps for the session.
    #[must_use]
    pub(crate) fn transport_state(&self) -> &TransportState {
        &self.session.transport_state
    }

    /// Returns the sandbox that agent-browser runs in.
    #[must_use]
    pub(crate) fn sandbox(&self) -> &dyn Sandbox {
        self.session.sandbox()
    }

    /// Returns the engine that carries out the session's calls.
    #[must_use]
    pub(crate) fn engine(&self) -> Engine {
        self.session.engine.get().copied().unwrap_or(Engine::AgentBrowser)
    }

    /// Returns the session's part of the browser.
    #[must_use]
    pub(crate) fn gate(&self) -> Option<&Arc<GateSession>> {
        self.session.gate.get()
    }

    /// Ends all processes of the session, its daemon too; the next call starts it again. This is for a call that did not end by
    /// itself: a daemon that is still busy with it would act later.
    pub(crate) async fn end_processes(&self) {
        if !end_marked(&self.session.paths.tmp()).await {
            tracing::error!(session = %self.id, "cannot end the session's processes");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.session.touch();
    }
}
