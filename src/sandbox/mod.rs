//! The sandbox around a session's agent-browser (spec [5.2]).
//!
//! Decides what agent-browser may reach, which backend enforces it, and what is said where that is less than all of it. The
//! plan is pure (`plan.rs`); backends turn it into rules and stand in one list (`backends.rs`). agent-browser's first run of a
//! session starts its daemon, which inherits the confinement for as long as it lives. Where a sandbox has a network of its own
//! and ends with its first program, that is our resident (`resident.rs`), and what it needs outside stands there (`outside.rs`). Must never run agent-browser outside
//! without saying so in the audit line.

pub mod backends;
pub mod confine;
mod dispatch;
mod engine;
pub mod kernel;
pub mod outside;
pub mod parts;
pub mod plan;
pub mod policy;
pub mod resident;
mod seccomp;
mod session;
mod srt;

use std::path::Path;
use std::time::Duration;

use futures::future::BoxFuture;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::exec::{ExecError, Program};
use crate::output::RawOutput;
use policy::BackendName;

#[cfg(test)]
pub(crate) use session::tests::Bare;
pub use session::{NoSandboxYet, Sandboxing, Survey};

/// Why a sandbox does not do what is asked.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// It was not started.
    #[error("the sandbox was not started")]
    NotStarted,
    /// It is required and switched off.
    #[error("a sandbox is required, and it is switched off")]
    Disabled,
    /// The program in it could not be run.
    #[error(transparent)]
    Execution(#[from] ExecError),
    /// The backend cannot do what is asked on this machine.
    #[error("the sandbox backend `{name}` cannot be used: {why}")]
    UnsupportedBackend {
        /// Which.
        name: BackendName,
        /// What it lacks.
        why: String,
    },
}

/// A session's sandbox.
pub trait Sandbox: Send + Sync + std::fmt::Debug {
    /// What enforces it and how far, such as `landlock:full`; for the audit line.
    fn status(&self) -> &str;

    /// Makes the workspace, from the template if there is one. Nothing runs yet: the first program brings the session's
    /// long-lived process along.
    ///
    /// # Errors
    ///
    /// When it cannot be enforced as the policy wants it.
    fn start(&self) -> Result<(), SandboxError>;

    /// Runs a program in it.
    ///
    /// # Errors
    ///
    /// `NotStarted`, or why the program did not run to its end.
    fn execute<'a>(
        &'a self,
        program: &'a Program,
        timeout: Duration,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RawOutput, SandboxError>>;

    /// Ends what runs in it. Returns whether nothing is left.
    fn stop(&self) -> BoxFuture<'_, bool>;

    /// Whether anything runs in it.
    fn is_running(&self) -> bool;

    /// Whether its files stay when it ends.
    fn keeps_workspace(&self) -> bool {
        false
    }

    /// Where its files are.
    fn workspace(&self) -> &Path;
}
