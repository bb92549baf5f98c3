//! Act that agent-browser is given while its element is still searched.
//!
//! agent-browser needs about as long to take a command as the gate to find and check an element. So it gets the command first. It may look
//! for the element as soon as that gets its mark, and the gate keeps what it does then until the element is checked. The look at the
//! effect of the act is sent right behind the command with which the act may be done.
//!
//! Invariant: an act that is not allowed has no effect.

use std::future::Future;
use std::time::Instant;

use browser_shell_core::element::{Act, Verb};
use browser_shell_core::output::RawOutput;
use futures::future::{BoxFuture, OptionFuture};

use crate::call::execute::execute;
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::time::time_until;
use crate::gate::{AnnouncedAct, GateSession};
use crate::os::exec::ExecError;
use crate::session::Lease;

/// Result of an execution.
pub(super) type Execution = Result<Option<RawOutput>, ExecError>;

/// Returns the verb of an act that agent-browser is given while its element is searched: one command for its daemon, which runs. A version
/// in Node waits for an element that it does not find.
fn announced_verb(context: &CallContext, call: &ValidatedCall, lease: &Lease) -> Option<Verb> {
    let act = Act::from_command(&call.command).filter(|act| {
        let is_one_command =
            matches!(act.verb, Verb::Click | Verb::DoubleClick | Verb::Hover | Verb::Focus | Verb::Fill | Verb::Select);
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

    /// Returns false if the act cannot be allowed any more. `is_as_seen` is false if the element is not any more where and what it was
    /// when agent-browser may have looked for it.
    pub(super) fn may_act(&self, is_as_seen: bool) -> bool {
        if !is_as_seen {
            self.announced.set_changed();
        }
        !self.announced.is_outdated()
    }

    /// Lets agent-browser act, and returns the result; `None` if it has not and will not do anything. With the result comes that of the
    /// last `look`, which is taken as soon as the act may be done.
    pub(super) async fn allow<T, F: Future<Output = T>>(
        mut self,
        lease: &Lease,
        look: impl Fn() -> F,
    ) -> Option<(Execution, Option<T>)> {
        let is_allowed = self.ended.is_none() && self.announced.allow();
        if !is_allowed {
            if let Some(unfinished @ (Err(_) | Ok(None))) = self.ended {
                return Some((unfinished, None));
            }
            self.cancel(lease).await;
            return None;
        }
        let mut done = self.announced.watch_done();
        let (mut result, mut looking, mut seen) = (None, None, None);
        // Nobody needs a look at an act that did not end.
        while result.is_none() || (looking.is_some() && matches!(&result, Some(Ok(Some(_))))) {
            tokio::select! {
                biased;
                Ok(()) = done.changed() => {
                    seen = None;
                    looking = Some(Box::pin(look()));
                }
                execution = &mut self.execution, if result.is_none() => result = Some(execution),
                Some(looked) = OptionFuture::from(looking.as_mut()) => {
                    seen = Some(looked);
                    looking = None;
                }
            }
        }
        // Without the mark, agent-browser finds nothing and has nothing to act on.
        let is_missing = matches!(&result, Some(Ok(Some(raw))) if raw.is_element_missing());
        let has_acted = !is_missing || self.announced.has_acted();
        result.filter(|_| has_acted).map(|result| (result, seen))
    }

    /// Has agent-browser give up, and waits until it has.
    pub(super) async fn cancel(self, lease: &Lease) {
        self.announced.cancel();
        let ended = match self.ended {
            Some(ended) => ended,
            None => self.execution.await,
        };
        if !matches!(ended, Ok(Some(_))) {
            // What still runs could hold up the next command.
            lease.end_processes().await;
        }
        self.announced.end();
    }
}
