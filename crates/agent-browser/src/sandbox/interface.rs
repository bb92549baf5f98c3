//! Interface of a session's sandbox.

use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::backend::BackendError;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::RawOutput;
use browser_shell_core::policy::sandbox::BackendName;
use browser_shell_system::os::exec::{ExecError, Program};
use browser_shell_system::os::{describe, is_out_of_space};

/// Error of a sandbox.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// The sandbox was not started.
    #[error("the sandbox was not started")]
    NotStarted,
    /// The policy requires a sandbox and switches it off.
    #[error("a sandbox is required, and it is switched off")]
    Disabled,
    /// The program could not be run or did not end, as it can happen without a sandbox.
    #[error(transparent)]
    Program(#[from] ExecError),
    /// The sandbox could not run the program.
    #[error("the sandbox cannot run a program: {}", describe(.0))]
    Execution(std::io::Error),
    /// The workspace could not be created from the template.
    #[error("cannot copy the template `{}`: {}", path.display(), describe(source))]
    Template {
        /// The template.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The backend cannot enforce the policy on this machine.
    #[error("the sandbox backend `{name}` cannot be used: {reason}")]
    UnsupportedBackend {
        /// The backend.
        name: BackendName,
        /// The reason.
        reason: BackendError,
    },
}

impl From<SandboxError> for Decision {
    fn from(error: SandboxError) -> Self {
        tracing::error!(%error, "the sandbox that the policy requires cannot be used");
        match error {
            SandboxError::Template { source, .. } if is_out_of_space(&source) => {
                Self::new(Code::WorkspaceFull, "there is no room for the session's files")
            }
            SandboxError::Disabled => {
                Self::new(Code::SandboxDisabled, "a sandbox is required, and it is switched off").at("sandbox.require")
            }
            SandboxError::NotStarted => Self::new(Code::SandboxNotStarted, "the session's sandbox does not run"),
            SandboxError::Execution(_) => {
                Self::new(Code::SandboxExecutionFailed, "the session's sandbox cannot run agent-browser")
            }
            SandboxError::UnsupportedBackend { name, reason: BackendError::NotFull(_) } => {
                let reason = format!("the sandbox backend `{name}` enforces less than the policy requires");
                Self::new(Code::SandboxUnavailable, reason)
            }
            SandboxError::UnsupportedBackend { name, .. } => {
                let reason = format!("the sandbox backend `{name}` cannot be used on this machine");
                Self::new(Code::SandboxBackendUnsupported, reason)
            }
            SandboxError::Template { .. } | SandboxError::Program(_) => {
                Self::new(Code::SandboxUnavailable, "the session's sandbox cannot be created")
            }
        }
    }
}

/// A session's sandbox.
pub trait Sandbox: Send + Sync + std::fmt::Debug {
    /// Returns the backend and how much it enforces, such as `landlock:full`, for the audit line.
    fn status(&self) -> &str;

    /// Returns the port at which programs in the sandbox reach the session's endpoint.
    fn browser_port(&self) -> u16;

    /// Creates the workspace, from the template if there is one. Nothing runs yet: the first program starts the session's
    /// daemon.
    ///
    /// # Errors
    ///
    /// If the workspace cannot be created from the template.
    fn start(&self) -> Result<(), SandboxError>;

    /// Runs a program in the sandbox.
    ///
    /// # Errors
    ///
    /// `NotStarted`, or the reason why the program did not run to its end.
    fn execute<'a>(
        &'a self,
        program: &'a Program,
        timeout: Duration,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RawOutput, SandboxError>>;

    /// Returns the longest time that one command may take, if there is a limit, however the command gets into the sandbox.
    fn max_run_time(&self) -> Option<Duration> {
        None
    }

    /// Ends all processes of the sandbox. Returns true if none is left.
    fn stop(&self) -> BoxFuture<'_, bool>;

    /// Returns true if the files stay when the sandbox ends.
    fn keeps_workspace(&self) -> bool {
        false
    }
}

/// The sandbox of a session that has none yet. Nothing runs in it.
#[derive(Debug)]
pub struct PendingSandbox;

impl Sandbox for PendingSandbox {
    fn status(&self) -> &'static str {
        "not-started"
    }

    fn browser_port(&self) -> u16 {
        0
    }

    fn start(&self) -> Result<(), SandboxError> {
        Err(SandboxError::NotStarted)
    }

    fn execute<'a>(
        &'a self,
        _: &'a Program,
        _: Duration,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RawOutput, SandboxError>> {
        Box::pin(std::future::ready(Err(SandboxError::NotStarted)))
    }

    fn stop(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::host::Enforcement;

    // Requirement 5.2.
    #[test]
    fn each_sandbox_error_has_its_code() {
        let name = BackendName::Landlock;
        let io = |kind| std::io::Error::from(kind);
        let template = |source| SandboxError::Template { path: "/template".into(), source };
        for (error, code) in [
            (SandboxError::Disabled, Code::SandboxDisabled),
            (SandboxError::NotStarted, Code::SandboxNotStarted),
            (
                SandboxError::UnsupportedBackend { name, reason: BackendError::NoLandlock },
                Code::SandboxBackendUnsupported,
            ),
            (SandboxError::Execution(io(std::io::ErrorKind::NotFound)), Code::SandboxExecutionFailed),
            (
                SandboxError::UnsupportedBackend { name, reason: BackendError::NotFull(Enforcement::NONE) },
                Code::SandboxUnavailable,
            ),
            (template(io(std::io::ErrorKind::NotFound)), Code::SandboxUnavailable),
            (template(rustix::io::Errno::NOSPC.into()), Code::WorkspaceFull),
        ] {
            let text = error.to_string();
            let decision = Decision::from(error);
            assert_eq!(decision.code, code, "{text}");
            assert!(!decision.reason.contains('/'), "a path of the machine in {}", decision.reason);
        }
    }
}
