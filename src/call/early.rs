//! Act that agent-browser is given while its element is still searched.
//!
//! agent-browser needs about as long to take a command as the gate to find and check an element. So it gets the command first, and the
//! gate keeps what it sends about the element until that is found, checked and marked.
//!
//! Invariant: an act that is not allowed has no effect.

use std::future::Future;
use std::time::Instant;

use browser_shell_core::element::{Act, Verb};
use browser_shell_core::output::RawOutput;
use futures::future::BoxFuture;

use crate::call::execute::execute;
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::time::time_until;
use crate::gate::{AnnouncedAct, GateSession};
use crate::os::exec::ExecError;
use crate::session::Lease;

/// Result of an execution.
pub(super) type Execution = Result<Option<RawOutput>, ExecError>;

/// Returns true if agent-browser is given the act of a command while its element is searched: one command for its daemon, which runs.
/// A version in Node waits for an element that it does not find.
pub(super) fn is_announced(context: &CallContext, call: &ValidatedCall, lease: &Lease) -> bool {
    announced_verb(context, call, lease).is_some()
}

fn announced_verb(context: &CallContext, call: &ValidatedCall, lease: &Lease) -> Option<Verb> {
    let act = Act::from_command(&call.command).filter(|act| {
        let is_one_command = matches!(
            act.verb,
            Verb::Click
                | Verb::DoubleClick
                | Verb::Hover
                | Verb::Focus
                | Verb::Fill
                | Verb::Check
                | Verb::Uncheck
                | Verb::Select
        );
        is_one_command && act.offset.is_none()
    })?;
    let is_ready = context.services.transport.is_native() && lease.transport_state().is_daemon_ready();
    (is_ready && context.is_read_by_gate(&call.session)).then_some(act.verb)
}

/// Announces the act of a command, if agent-browser can take it meanwhile.
pub(super) fn announce(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    gate: &GateSession,
) -> Option<AnnouncedAct> {
    let verb = announced_verb(context, call, lease)?;
    // Without random numbers, the act fails where it needs them.
    gate.announce(verb).ok().flatten()
}

/// Act that agent-browser has been given.
pub(super) struct EarlyAct<'a> {
    announced: AnnouncedAct,
    execution: BoxFuture<'a, Execution>,
    /// Result, if agent-browser gave up before the act was allowed.
    ended: Option<Execution>,
}

impl<'a> EarlyAct<'a> {
    /// Gives agent-browser the command of a call, about an element with the announced mark.
    pub(super) fn begin(
        announced: AnnouncedAct,
        context: &'a CallContext,
        call: &'a ValidatedCall,
        lease: &'a Lease,
        deadline: Instant,
        run: &'a mut CompletedRun,
    ) -> Self {
        let selector = announced.mark().selector();
        let execution = Box::pin(async move {
            let command = call.command.with_selector(&selector);
            execute(context, &command, lease, time_until(deadline), run).await
        });
        Self { announced, execution, ended: None }
    }

    /// Does something else while agent-browser takes the command.
    pub(super) async fn meanwhile<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = std::pin::pin!(other);
        loop {
            tokio::select! {
                biased;
                result = &mut other => return result,
                ended = &mut self.execution, if self.ended.is_none() => self.ended = Some(ended),
            }
        }
    }

    /// Lets agent-browser act, and returns the result; `None` if it had given up before, so that it did nothing.
    pub(super) async fn allow(self) -> Option<Execution> {
        match self.ended {
            Some(Ok(Some(_))) => None,
            Some(unfinished) => Some(unfinished),
            None => {
                self.announced.allow();
                Some(self.execution.await)
            }
        }
    }

    /// Has agent-browser give up, and waits until it has.
    pub(super) async fn cancel(self, lease: &Lease) {
        drop(self.announced);
        let ended = match self.ended {
            Some(ended) => ended,
            None => self.execution.await,
        };
        if !matches!(ended, Ok(Some(_))) {
            // What still runs could hold up the next command.
            lease.end_processes().await;
        }
    }
}
