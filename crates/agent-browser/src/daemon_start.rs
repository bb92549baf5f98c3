//! Start of a session's daemon that takes longer than agent-browser's CLI waits for it.
//!
//! The CLI gives up after five seconds, in which a busy machine may not have started Node. The daemon goes on starting, and a
//! second one would only slow it down.
//!
//! Invariant: a start is left to the next call only while the daemon does not listen, so that it cannot have got a command.

use std::time::{Duration, Instant};

use tokio::net::UnixStream;

use crate::transport::Invocation;
use browser_shell_system::os::exec::ExecError;
use browser_shell_system::os::processes::runs_script;

/// Interval between two checks.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// File name of the daemon's script. A native agent-browser has none, and starts in a few milliseconds.
const SCRIPT: &str = "daemon.js";

/// Time after which a daemon that does not listen is not left to the next call any more.
const START_TIMEOUT: Duration = Duration::from_mins(3);

/// A start during one call.
pub(super) struct DaemonStart<'a> {
    invocation: Invocation<'a>,
    deadline: Instant,
    /// Time at which this call, or the one that left the start, began.
    since: Instant,
    was_left: bool,
}

impl<'a> DaemonStart<'a> {
    /// Creates the start of a call, which ends at the deadline. It continues one that an earlier call has left.
    pub(super) fn new(invocation: Invocation<'a>, deadline: Instant) -> Self {
        let left = invocation.state.starting_since();
        invocation.state.set_starting_since(None);
        Self { invocation, deadline, since: left.unwrap_or_else(Instant::now), was_left: left.is_some() }
    }

    /// Returns true if an earlier call has left the start to this one.
    pub(super) const fn was_left(&self) -> bool {
        self.was_left
    }

    /// Waits until the daemon listens. Returns false if it has ended.
    ///
    /// # Errors
    ///
    /// `Cancelled`; `Starting` at the deadline, or `TimedOut` if the start takes too long.
    pub(super) async fn wait(&self) -> Result<bool, ExecError> {
        let listening = async {
            loop {
                if self.is_listening().await {
                    return true;
                }
                if !self.is_running().await {
                    return false;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            biased;
            is_listening = listening => Ok(is_listening),
            () = self.invocation.cancel.cancelled() => Err(ExecError::Cancelled),
            () = tokio::time::sleep_until(self.deadline.into()) => Err(self.leave()),
        }
    }

    /// Returns true if the daemon has not got a command yet and can still start.
    pub(super) async fn is_going_on(&self) -> bool {
        !self.is_listening().await && self.is_running().await
    }

    /// Leaves the start to the next call, and returns the error that says so. A daemon that takes too long is not left.
    pub(super) fn leave(&self) -> ExecError {
        if self.since.elapsed() > START_TIMEOUT {
            return ExecError::TimedOut;
        }
        self.invocation.state.set_starting_since(Some(self.since));
        ExecError::Starting
    }

    async fn is_running(&self) -> bool {
        runs_script(&self.invocation.session.tmp(), SCRIPT).await
    }

    async fn is_listening(&self) -> bool {
        UnixStream::connect(self.invocation.session.socket()).await.is_ok()
    }
}
