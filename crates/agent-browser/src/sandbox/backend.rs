//! Interface of a sandbox backend.

use browser_shell_core::policy::sandbox::{BackendName, SandboxPolicy};
use futures::future::BoxFuture;
use thiserror::Error;

use crate::sandbox::bubblewrap::BubblewrapError;
use crate::sandbox::container::config::RelayConfig;
use crate::sandbox::container::docker::DockerError;
use crate::sandbox::denied_files::SearchError;
use crate::sandbox::host::{Enforcement, SandboxHost};
use crate::sandbox::plan::Plan;
use crate::sandbox::srt::{SrtError, SrtSettingsError};
use browser_shell_system::os::exec::Program;
use browser_shell_system::paths::SessionPaths;

/// A way to enforce plans.
pub struct Backend {
    /// The name.
    pub name: BackendName,
    /// Check of how much of a plan the backend would enforce on this machine.
    pub probe: Probe,
    /// The way a program gets into the sandbox.
    pub launch_mode: LaunchMode,
}

/// A check of a backend on this machine. It waits for another program or a container engine for at most five seconds, without
/// blocking its thread.
pub type Probe =
    for<'a> fn(&'a SandboxHost, &'a SandboxPolicy, &'a Plan) -> BoxFuture<'a, Result<Enforcement, BackendError>>;

/// The way a program gets into a sandbox.
pub enum LaunchMode {
    /// Each program is wrapped: returns the program that runs the given one confined.
    Wrap(fn(&SandboxHost, &SandboxPolicy, &Plan, &Program) -> Result<Program, BackendError>),
    /// The sandbox init runs all programs of a session: returns the configuration of the host relay, which starts it.
    Init(fn(&SandboxHost, &SandboxPolicy, &Plan, &SessionPaths) -> Result<RelayConfig, BackendError>),
}

/// Reason why a backend cannot be used.
#[derive(Debug, Error)]
pub enum BackendError {
    /// No backend has the name.
    #[error("there is no such backend")]
    Unknown,
    /// The denied files cannot be searched for.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// srt's own settings file cannot be used.
    #[error(transparent)]
    SrtSettings(#[from] SrtSettingsError),
    /// The policy requires more than the backend enforces.
    #[error("full enforcement is required, and this machine has {0}")]
    NotFull(Enforcement),
    /// The kernel does not offer Landlock.
    #[error(
        "the kernel has no Landlock, or it is switched off (`landlock` is missing in its parameter `lsm=`), or a seccomp filter of the container hides it"
    )]
    NoLandlock,
    /// bubblewrap cannot be used.
    #[error(transparent)]
    Bubblewrap(#[from] BubblewrapError),
    /// srt cannot be used.
    #[error(transparent)]
    Srt(#[from] SrtError),
    /// The container engine cannot be used.
    #[error(transparent)]
    Docker(#[from] DockerError),
}
