//! Which way a command takes: the CLI, or straight to the session's daemon.
//!
//! Decides it call by call. The first call of a session, and any after trouble, goes through the CLI, which starts the daemon
//! and repairs what can be repaired. Later ones speak to the daemon, if its version is proved. Must never let an action
//! happen twice: once it was asked for, only what can be repeated is asked for again.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use super::cli::Cli;
use super::daemon::{self, Answered, Trouble};
use super::proof::{self, Proof, Unproved};
use super::{Invocation, Transport};
use crate::argv::request::Request;
use crate::config::Settings;
use crate::exec::ExecError;
use crate::output::{Closed, RawOutput};
use crate::places::SessionPlaces;
use crate::processes::end_marked;

/// The CLI, and the daemon where that is proved to be the same.
#[derive(Debug)]
pub struct Auto {
    cli: Cli,
    cdp_port: u16,
    /// What was found out about the agent-browser here, once.
    proof: OnceCell<Option<Proof>>,
}

impl Auto {
    /// Uses the settings, and this for what goes through the CLI.
    #[must_use]
    pub const fn new(settings: &Settings, cli: Cli) -> Self {
        Self { cli, cdp_port: settings.cdp_port, proof: OnceCell::const_new() }
    }

    /// Looks once whether the daemon may be spoken to, and says in the log if not.
    async fn proof(&self) -> Option<&Proof> {
        let look = async {
            match proof::prove(self.cli.path()).await {
                Ok(proof) => {
                    tracing::info!(version = proof.version, "later calls of a session go straight to its daemon");
                    Some(proof)
                }
                Err(why @ Unproved::Native) => {
                    tracing::info!(%why, "every call goes through agent-browser's command line");
                    None
                }
                Err(why @ Unproved::Unknown(_)) => {
                    tracing::warn!(%why, "every call goes through agent-browser's command line");
                    None
                }
            }
        };
        self.proof.get_or_init(|| look).await.as_ref()
    }

    /// The way straight to the daemon; `None` where nothing was asked, so that the CLI can do it.
    async fn fast(&self, invocation: Invocation<'_>) -> Option<Result<RawOutput, ExecError>> {
        let Invocation { session, command, link, .. } = invocation;
        if !link.is_warm() {
            return None;
        }
        let request = Request::of(command)?;
        let proof = self.proof().await?;
        // Until it has ended well.
        link.set_warm(false);
        link.took(daemon::NAME);
        match daemon::call(session, proof, self.cdp_port, &request.fields).await {
            Ok(Answered { output, connected }) => {
                let closed = output.closed();
                let is_the_clis = match closed {
                    // The browser has ended, and the daemon was about to notice: the CLI finds out, and says so.
                    Some(Closed::Before) => true,
                    Some(Closed::Under) => request.repeatable || command.navigates(),
                    // The page was not opened: the CLI opens it, and has the patience.
                    None => command.navigates() && output.is_overtaken(),
                };
                if is_the_clis {
                    return None;
                }
                // After a navigation that failed, the browser is still on its way to its own error page. The CLI's pause lets
                // it get there, so that the next call sees one page however it goes.
                let is_trouble = closed.is_some() || (command.navigates() && output.exit_code != 0);
                link.set_warm(connected && !is_trouble);
                Some(Ok(output))
            }
            Err(trouble) => settle(session, &trouble, request.repeatable).await.map(Err),
        }
    }

    /// The way through the CLI. What it starts is what later calls speak to.
    async fn slow(&self, invocation: Invocation<'_>) -> Result<RawOutput, ExecError> {
        invocation.link.set_warm(false);
        let result = self.cli.run(invocation).await;
        invocation.link.set_warm(result.as_ref().is_ok_and(|output| output.exit_code == 0));
        match result {
            Err(ExecError::NotByCli { .. }) => Err(ExecError::NotByCli { later: self.proof().await.is_some() }),
            result => result,
        }
    }
}

/// Makes room for the CLI after trouble; an error where it must not try.
async fn settle(session: &SessionPlaces, trouble: &Trouble, repeatable: bool) -> Option<ExecError> {
    match trouble {
        Trouble::NotAsked(why) => tracing::debug!(session = session.key, why, "no way to the daemon"),
        Trouble::NotOurs(why) => {
            tracing::warn!(session = session.key, why, "not the session's daemon; starting another");
            // The CLI would speak to whoever is there.
            end_marked(&session.tmp()).await;
            let _ = std::fs::remove_file(session.socket());
        }
        Trouble::Unanswered(why) => {
            tracing::warn!(session = session.key, why, repeatable, "the daemon did not answer");
            if !repeatable {
                return Some(ExecError::Unknown);
            }
            end_marked(&session.tmp()).await;
        }
    }
    None
}

impl Transport for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn can_pass_the_cli(&self) -> bool {
        // Where it is not known yet it is found out when it matters.
        self.proof.get().is_none_or(Option::is_some)
    }

    fn run<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>> {
        Box::pin(async move {
            let deadline = Instant::now() + invocation.timeout;
            let fast = tokio::select! {
                // An answer that is there wins over a deadline that has just passed.
                biased;
                answer = self.fast(invocation) => answer,
                () = invocation.cancel.cancelled() => Some(Err(ExecError::Cancelled)),
                () = tokio::time::sleep_until(deadline.into()) => Some(Err(ExecError::TimedOut)),
            };
            match fast {
                Some(result) => result,
                None => self.slow(Invocation { timeout: left(deadline), ..invocation }).await,
            }
        })
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests;
