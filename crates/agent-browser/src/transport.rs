//! Interface of all transports to agent-browser.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::sandbox::Sandbox;
use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::grammar::Command;
use browser_shell_core::output::RawOutput;
use browser_shell_system::os::exec::ExecError;
use browser_shell_system::paths::SessionPaths;

/// One command for one session.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// Paths of the session; its key is agent-browser's name for the session.
    pub session: &'a SessionPaths,
    /// Command, checked and completed.
    pub command: &'a Command,
    /// Maximum time of the command.
    pub timeout: Duration,
    /// Cancellation by the client.
    pub cancel: &'a CancellationToken,
    /// State that the transport keeps for the session.
    pub state: &'a TransportState,
    /// Port at which agent-browser reaches the session's endpoint of the control gate.
    pub cdp_port: u16,
    /// Sandbox that agent-browser runs in.
    pub sandbox: &'a dyn Sandbox,
}

/// Transport of commands to agent-browser.
pub trait Transport: Send + Sync {
    /// Returns the kind of agent-browser.
    fn kind(&self) -> AgentBrowser {
        AgentBrowser::Node
    }

    /// Returns the version that agent-browser reports; `None` if it cannot be started.
    fn version(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// Runs a command. The caller runs one command of a session at a time, and ends the session's processes after an error
    /// other than [`ExecError::Starting`].
    fn run<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>>;
}

/// Time at which a session's daemon began to start, if a call has left it to that. A transport keeps it between the calls.
#[derive(Debug, Default)]
pub struct TransportState(Mutex<Option<Instant>>);

impl TransportState {
    fn starting(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time at which the session's daemon began to start, if an earlier call did not wait until its end.
    pub(super) fn starting_since(&self) -> Option<Instant> {
        *self.starting()
    }

    pub(super) fn set_starting_since(&self, since: Option<Instant>) {
        *self.starting() = since;
    }
}
