//! Sandbox of one session, enforced by a backend.
//!
//! The policy of the session's first call holds for the whole session, whose workspace begins with the files of the template.
//!
//! Invariants: a program never runs unconfined because its backend failed.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::sandbox::backend::{Backend, BackendError, LaunchMode};
use crate::sandbox::confine;
use crate::sandbox::container::{protocol, relay};
use crate::sandbox::denied_files::{self, SearchError};
use crate::sandbox::host::SandboxHost;
use crate::sandbox::interface::{Sandbox, SandboxError};
use crate::sandbox::plan::Plan;
use browser_shell_core::output::RawOutput;
use browser_shell_core::policy::sandbox::{BackendName, SandboxPolicy};
use browser_shell_system::os::exec::{ExecError, Program, run};
use browser_shell_system::os::processes::end_marked;
use browser_shell_system::os::reexec::{EXEC_FAILED, failure_prefix};
use browser_shell_system::paths::{MAX_FILES, SessionPaths};

/// Maximum size of a template, in bytes.
const MAX_TEMPLATE_BYTES: u64 = 64 * 1024 * 1024;

/// A sandbox that runs each program through a backend.
pub(super) struct SessionSandbox {
    pub backend: &'static Backend,
    pub host: SandboxHost,
    pub policy: SandboxPolicy,
    pub plan: Plan,
    pub paths: SessionPaths,
    pub template: Option<PathBuf>,
    pub status: String,
    pub is_started: AtomicBool,
    /// Held while the sandbox init is started, if the backend has one.
    pub init_start: tokio::sync::Mutex<()>,
}

impl SessionSandbox {
    fn unsupported(&self, reason: BackendError) -> SandboxError {
        SandboxError::UnsupportedBackend { name: self.backend.name, reason }
    }

    /// Returns the plan with the denied files that exist now, if the backend has a file view of its own that can hide them.
    async fn plan_of_now(&self) -> Result<Cow<'_, Plan>, SandboxError> {
        if self.backend.name == BackendName::Landlock || !self.policy.filesystem.has_patterns() {
            return Ok(Cow::Borrowed(&self.plan));
        }
        let (rules, plan) = (self.policy.filesystem.clone(), self.plan.clone());
        let found = tokio::task::spawn_blocking(move || denied_files::find(&rules, &plan)).await;
        let found = found.unwrap_or(Err(SearchError::Aborted));
        found.map(Cow::Owned).map_err(|reason| self.unsupported(reason.into()))
    }

    /// Runs a program through the backend.
    async fn run_confined(
        &self,
        program: &Program,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<RawOutput, SandboxError> {
        let start = Instant::now();
        let plan = tokio::select! {
            biased;
            plan = self.plan_of_now() => plan?,
            () = cancel.cancelled() => return Err(ExecError::Cancelled.into()),
            () = tokio::time::sleep(timeout) => return Err(ExecError::TimedOut.into()),
        };
        let timeout = timeout.saturating_sub(start.elapsed());
        match self.backend.launch_mode {
            LaunchMode::Wrap(wrap) => {
                let wrapped =
                    wrap(&self.host, &self.policy, &plan, program).map_err(|reason| self.unsupported(reason))?;
                run(&wrapped, timeout, cancel).await.map_err(execution_error)
            }
            LaunchMode::Init(relay_config) => {
                let start = Instant::now();
                let config = || {
                    relay_config(&self.host, &self.policy, &plan, &self.paths)
                        .map_err(|reason| self.unsupported(reason))
                };
                let connecting = relay::connect(&self.host.executable, &self.paths, &self.init_start, config, cancel);
                let stream = tokio::time::timeout(timeout, connecting)
                    .await
                    .map_err(|_| SandboxError::from(ExecError::TimedOut))??;
                let timeout = timeout.saturating_sub(start.elapsed());
                protocol::run(stream, program, timeout, cancel).await.map_err(execution_error)
            }
        }
    }
}

/// Returns the error of a run through a backend: what fails to start there is the sandbox, since the program is there.
fn execution_error(error: ExecError) -> SandboxError {
    match error {
        ExecError::Start { source, .. } | ExecError::Wait(source) => SandboxError::Execution(source),
        other => SandboxError::Program(other),
    }
}

impl std::fmt::Debug for SessionSandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionSandbox")
            .field("status", &self.status)
            .field("key", &self.paths.key)
            .finish_non_exhaustive()
    }
}

impl Sandbox for SessionSandbox {
    fn status(&self) -> &str {
        &self.status
    }

    fn browser_port(&self) -> u16 {
        self.plan.browser_port()
    }

    fn start(&self) -> Result<(), SandboxError> {
        // A rule needs an existing folder. If it cannot be created, screenshots fail later with the reason.
        match self.paths.make_files() {
            Ok(0) => {
                if let Some(template) = &self.template {
                    copy_template(template, &self.paths.files).map_err(|source| {
                        // With a part of it, the next start would take the workspace for a used one.
                        let _ = fs::remove_dir_all(&self.paths.files);
                        SandboxError::Template { path: template.clone(), source }
                    })?;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "cannot create the session's workspace"),
        }
        self.is_started.store(true, Ordering::Release);
        Ok(())
    }

    fn execute<'a>(
        &'a self,
        program: &'a Program,
        timeout: Duration,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RawOutput, SandboxError>> {
        Box::pin(async move {
            if !self.is_started.load(Ordering::Acquire) {
                return Err(SandboxError::NotStarted);
            }
            let timeout = timeout.min(self.max_run_time().unwrap_or(Duration::MAX));
            if self.backend.name == BackendName::None {
                return Ok(run(program, timeout, cancel).await?);
            }
            // A missing program is the same error with and without a backend.
            if let Err(error) = rustix::fs::access(&program.path, rustix::fs::Access::EXEC_OK) {
                return Err(ExecError::Start { path: program.path.clone(), source: error.into() }.into());
            }
            let output = self.run_confined(program, timeout, cancel).await?;
            if output.exit_code == i32::from(EXEC_FAILED)
                && output.stderr.bytes.starts_with(failure_prefix(confine::SUBCOMMAND).as_bytes())
            {
                return Err(SandboxError::Execution(io::Error::other(output.stderr.to_text().trim().to_owned())));
            }
            Ok(output)
        })
    }

    fn stop(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            self.is_started.store(false, Ordering::Release);
            let has_ended = end_marked(&self.paths.tmp()).await;
            if self.policy.runtime.cleanup_on_exit {
                self.paths.remove();
            } else {
                self.paths.remove_private();
            }
            has_ended
        })
    }

    fn max_run_time(&self) -> Option<Duration> {
        self.policy.runtime.timeout.map(Duration::from_secs)
    }

    fn keeps_workspace(&self) -> bool {
        !self.policy.runtime.cleanup_on_exit
    }
}

/// Copies a template: regular files and folders, at most as many as a workspace may hold.
///
/// # Errors
///
/// If a file cannot be copied, is neither a file nor a folder, or the template is too large.
fn copy_template(from: &Path, to: &Path) -> io::Result<()> {
    let (mut files, mut bytes) = (0, 0);
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (file_type, target) = (entry.file_type()?, to.join(entry.file_name()));
            files += 1;
            if file_type.is_dir() {
                fs::create_dir(&target)?;
                folders.push((entry.path(), target));
            } else if file_type.is_file() {
                bytes += entry.metadata()?.len();
                fs::copy(entry.path(), target)?;
            } else {
                return Err(io::Error::other(format!("`{}` is neither a file nor a folder", entry.path().display())));
            }
            if files > MAX_FILES || bytes > MAX_TEMPLATE_BYTES {
                return Err(io::Error::other(format!(
                    "a template has at most {MAX_FILES} files and folders and {MAX_TEMPLATE_BYTES} bytes"
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
