//! Transport that chooses between the CLI and the session's daemon for each call.
//!
//! The first call of a session, and any after a failure, takes the CLI, which starts and repairs the daemon. Later calls go to
//! the daemon if its version is supported.
//!
//! Invariant: a command that may have run is sent again only if it is repeatable.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use crate::agent_browser::cli::CliTransport;
use crate::agent_browser::direct::supported::{self, SupportedDaemon};
use crate::agent_browser::direct::{self, DaemonError, DaemonReply};
use crate::agent_browser::transport::{Invocation, Transport};
use crate::os::exec::ExecError;
use crate::os::processes::end_marked;
use crate::paths::SessionPaths;
use browser_shell_core::grammar::{DaemonDialect, DaemonRequest};
use browser_shell_core::output::{Disconnect, RawOutput};

/// Transport that uses the daemon if it is supported, and the CLI otherwise.
#[derive(Debug)]
pub(crate) struct AutoTransport {
    cli: CliTransport,
    /// Daemon of the installed agent-browser if it is supported, checked once.
    daemon: OnceCell<Option<SupportedDaemon>>,
}

impl AutoTransport {
    /// Creates a transport that uses `cli` for commands that the daemon cannot run.
    #[must_use]
    pub(crate) const fn new(cli: CliTransport) -> Self {
        Self { cli, daemon: OnceCell::const_new() }
    }

    /// Returns the daemon if it is supported. The first call checks it and logs the result.
    async fn supported_daemon(&self) -> Option<&SupportedDaemon> {
        let check = async {
            match supported::check_supported(self.cli.path()).await {
                Ok(daemon) => {
                    tracing::info!(version = daemon.version, "later calls of a session go to its daemon");
                    Some(daemon)
                }
                Err(reason) => {
                    tracing::warn!(%reason, "every call takes agent-browser's CLI");
                    None
                }
            }
        };
        self.daemon.get_or_init(|| check).await.as_ref()
    }

    /// Runs a command in the daemon. Returns `None` if the CLI has to run it.
    async fn run_in_daemon(&self, invocation: Invocation<'_>) -> Option<Result<RawOutput, ExecError>> {
        let Invocation { session, command, state, cdp_port, .. } = invocation;
        if !state.is_daemon_ready() {
            return None;
        }
        let daemon = self.supported_daemon().await?;
        let dialect = if daemon.program.is_native() {
            DaemonDialect::Native { wait_timeout_ms: self.cli.action_timeout_ms() }
        } else {
            DaemonDialect::Node
        };
        let request = DaemonRequest::from_command(command, dialect)?;
        // It is ready again when the command has succeeded.
        state.set_daemon_ready(false);
        state.record_transport(direct::NAME);
        match direct::call(session, daemon, cdp_port, &request.fields).await {
            Ok(DaemonReply { output, is_connected }) => {
                let disconnect = output.disconnect();
                let needs_cli = match disconnect {
                    // Chromium has ended before the command, and the daemon had not noticed. The CLI reports it.
                    Some(Disconnect::BeforeCommand) => true,
                    Some(Disconnect::DuringCommand) => request.is_repeatable || command.is_navigation(),
                    // The page was not opened. The CLI opens it and waits long enough.
                    None => command.is_navigation() && output.is_interrupted_navigation(),
                };
                if needs_cli {
                    return None;
                }
                // After a navigation that failed, Chromium is still loading its error page. The CLI's pause lets it finish, so
                // that the next call sees the same page with both transports.
                let has_failed = disconnect.is_some() || (command.is_navigation() && output.exit_code != 0);
                state.set_daemon_ready(is_connected && !has_failed);
                Some(Ok(output))
            }
            Err(error) => recover(session, &error, request.is_repeatable).await.map(Err),
        }
    }

    /// Runs a command by the CLI, which starts the daemon for later calls.
    async fn run_by_cli(&self, invocation: Invocation<'_>) -> Result<RawOutput, ExecError> {
        invocation.state.set_daemon_ready(false);
        let result = self.cli.run(invocation).await;
        invocation.state.set_daemon_ready(result.as_ref().is_ok_and(|output| output.exit_code == 0));
        match result {
            Err(ExecError::NotByCli { .. }) => {
                Err(ExecError::NotByCli { later: self.supported_daemon().await.is_some() })
            }
            result => result,
        }
    }
}

/// Prepares the session for the CLI after a failure of the daemon. Returns an error if the CLI must not run the command.
async fn recover(session: &SessionPaths, error: &DaemonError, is_repeatable: bool) -> Option<ExecError> {
    match error {
        DaemonError::NotSent(cause) => tracing::debug!(session = session.key, cause, "the daemon cannot be reached"),
        DaemonError::ForeignProcess(cause) => {
            tracing::warn!(session = session.key, cause, "not the session's daemon; starting a new one");
            // The CLI would connect to any process that listens there.
            end_marked(&session.tmp()).await;
            let _ = std::fs::remove_file(session.socket());
        }
        DaemonError::Unanswered(cause) => {
            tracing::warn!(session = session.key, cause, repeatable = is_repeatable, "the daemon did not answer");
            if !is_repeatable {
                return Some(ExecError::Unknown);
            }
            end_marked(&session.tmp()).await;
        }
    }
    None
}

impl Transport for AutoTransport {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn is_native(&self) -> bool {
        self.cli.is_native()
    }

    fn version(&self) -> BoxFuture<'_, Option<String>> {
        self.cli.version()
    }

    fn can_bypass_cli(&self) -> bool {
        // Before the check the daemon may be supported.
        self.daemon.get().is_none_or(Option::is_some)
    }

    fn run<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>> {
        Box::pin(async move {
            let deadline = Instant::now() + invocation.timeout;
            let daemon_result = tokio::select! {
                // A reply that has arrived takes precedence over a deadline that has just passed.
                biased;
                result = self.run_in_daemon(invocation) => result,
                () = invocation.cancel.cancelled() => Some(Err(ExecError::Cancelled)),
                () = tokio::time::sleep_until(deadline.into()) => Some(Err(ExecError::TimedOut)),
            };
            match daemon_result {
                Some(result) => result,
                None => self.run_by_cli(Invocation { timeout: remaining(deadline), ..invocation }).await,
            }
        })
    }
}

fn remaining(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests;
