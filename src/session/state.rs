//! A session and its state.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as AsyncMutex;

use crate::session::lock::SessionLock;
use browser_shell_agent_browser::TransportState;
use browser_shell_agent_browser::sandbox::{PendingSandbox, Sandbox};
use browser_shell_browser::gate::GateSession;
use browser_shell_core::policy::Engine;
use browser_shell_system::paths::SessionPaths;

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub paths: SessionPaths,
    /// State, locked by the call that runs. The lock is fair: waiting calls get it in their order.
    pub state: Arc<AsyncMutex<SessionState>>,
    pub transport_state: TransportState,
    /// Sandbox, set once when the session opens.
    pub sandbox: OnceLock<Arc<dyn Sandbox>>,
    /// Engine, set once when the session opens.
    pub engine: OnceLock<Engine>,
    /// The session's part of the browser, set once when the session opens.
    pub gate: OnceLock<Arc<GateSession>>,
    last_used: Mutex<Instant>,
}

/// State of a session.
#[derive(Debug)]
pub(super) enum SessionState {
    /// Nothing is created yet, and existing folders may belong to another process.
    New,
    /// The session's folders exist and belong to this process.
    Open(SessionLock),
    /// The session is closed. Waiting calls look it up again.
    Closed,
}

impl Session {
    /// Creates a session of which nothing exists yet.
    pub(super) fn new(paths: SessionPaths) -> Self {
        Self {
            paths,
            state: Arc::new(AsyncMutex::new(SessionState::New)),
            transport_state: TransportState::default(),
            sandbox: OnceLock::new(),
            engine: OnceLock::new(),
            gate: OnceLock::new(),
            last_used: Mutex::new(Instant::now()),
        }
    }

    /// Returns the sandbox. Nothing can run in the one of a session that is not open yet.
    pub(super) fn sandbox(&self) -> &dyn Sandbox {
        self.sandbox.get().map_or(&PendingSandbox, |sandbox| &**sandbox)
    }

    /// Returns the time since the last call.
    pub(super) fn idle_time(&self) -> Duration {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Records the end of a call.
    pub(super) fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}
