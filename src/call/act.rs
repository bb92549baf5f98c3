//! Acts on elements that the control gate finds: checked before, carried out on a mark or by the gate, and read back.
//!
//! Invariants: with this engine, a reference never reaches agent-browser; an act is repeated only if the page got no input of it.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Act, Actor, Effect, Neighbor, Reading, Verb, covered, effect};
use browser_shell_core::grammar::count_command;
use browser_shell_core::output::{Body, CommandResult};
use serde_json::Value;
use tokio::sync::watch;

use crate::call::alone::run_alone;
use crate::call::early::{EarlyAct, Execution, announce};
use crate::call::effect::{EFFECT_TIME, EffectReads, has_effect, is_done};
use crate::call::execute::{execute, wait_for_dialog, wait_until_dialog, wait_until_loading, wait_until_slow};
use crate::call::find_element::{Found, Search, SeenBehind, find, not_found, ready};
use crate::call::history;
use crate::call::outcome::{GATE, Outcome, Output, interrupted, refused};
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::picture;
use crate::call::reply::CallReply;
use crate::call::time::{APPEAR_TIME, INTERVAL, READY_TIME, time_until};
use crate::gate::{GateSession, MarkName, MarkResult};
use crate::os::exec::ExecError;
use crate::session::Lease;

/// Act that agent-browser was given while its element was searched, and what was seen behind it.
type EarlyDone = (Execution, Option<SeenBehind>);

/// Runs the command of a call: on an element of the gate, if it names one and the policy says so, or else by agent-browser alone.
pub(super) async fn run(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
    run: &mut CompletedRun,
) -> Outcome {
    let deadline = Instant::now() + timeout;
    if let Some(gate) = lease.gate()
        && let Some(outcome) = history::step(context, call, lease, gate, deadline, run).await
    {
        return outcome;
    }
    let Some(gate) = lease.gate().filter(|_| context.is_read_by_gate(&call.session)) else {
        return run_alone(context, call, lease, deadline, run).await;
    };
    let (found, done) = match search(context, call, lease, gate, deadline, run).await {
        Ok(searched) => searched,
        Err(error) => return (Err(error), None),
    };
    match found {
        Ok(Search::Unknown) => unknown(context, call, lease, deadline, run).await,
        Ok(Search::Found(found)) => found.run(context, call, lease, deadline, done, run).await,
        Ok(Search::Answered(data, secrets)) => {
            run.transport = Some(GATE);
            run.read_secrets = secrets.map(Ok);
            (Ok(Some(Output::Own(answered(data)))), None)
        }
        Err(decision) => refused(decision),
    }
}

/// Returns true if a command itself waits until its tab is shown: while the gate searches its element or takes its picture.
pub(super) fn waits_until_shown(context: &CallContext, call: &ValidatedCall) -> bool {
    let is_done_by_gate = picture::is_of_view(&call.command) || Act::from_command(&call.command).is_some();
    is_done_by_gate && context.is_read_by_gate(&call.session)
}

/// Searches the element of a command. If agent-browser is given the act meanwhile, and the element can take it, the result of the act is
/// returned too.
async fn search(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    gate: &Arc<GateSession>,
    deadline: Instant,
    run: &mut CompletedRun,
) -> Result<(Result<Search, Decision>, Option<EarlyDone>), ExecError> {
    let announced = announce(context, call, lease, gate);
    let name = match announced.as_ref().map_or_else(MarkName::new, |act| Ok(act.mark().clone())) {
        Ok(name) => name,
        Err(error) => return Ok((Err(error.into()), None)),
    };
    let search = Box::pin(async {
        tokio::select! {
            biased;
            found = find_on_screen(gate, call, &name, deadline) => Ok(found),
            () = wait_for_dialog(lease) => {
                Ok(Err(Decision::new(Code::DialogOpen, "the page opened a dialog while the element was searched")))
            }
            () = context.cancel.cancelled() => Err(ExecError::Cancelled),
            () = tokio::time::sleep_until(deadline.into()) => Err(ExecError::TimedOut),
        }
    });
    let Some(announced) = announced else { return Ok((search.await?, None)) };
    let mut early = EarlyAct::begin(announced, context, call, lease, deadline, run);
    let mut found = early.meanwhile(search).await;
    let mut done = None;
    if let Ok(Ok(Search::Found(element))) = &mut found
        && early.may_act(element.mark.is_some())
        && early.meanwhile(element.takes_mark(&name)).await
    {
        let navigations = element.target.watch_navigations();
        done = early.allow(lease, || element.look_behind(lease, navigations.clone())).await;
    } else {
        early.cancel(lease).await;
    }
    if done.is_none() {
        (run.transport, run.sandbox) = (None, None);
        if let Ok(Ok(Search::Found(element))) = &mut found {
            // What names it is refused from now on.
            element.mark = None;
        }
    }
    Ok((found?, done))
}

/// Finds the element of a command, and waits until its tab is shown on the screen. Takes the picture of a command for what is in view.
async fn find_on_screen(
    gate: &Arc<GateSession>,
    call: &ValidatedCall,
    name: &MarkName,
    deadline: Instant,
) -> Result<Search, Decision> {
    if picture::is_of_view(&call.command) {
        let picture = gate.picture_when_shown().await?;
        // Behind the picture, so that they include what it shows.
        let (secrets, written) = tokio::join!(biased; gate.secrets(), async { picture::write(call, &picture) });
        return Ok(Search::Answered(written?, secrets.ok()));
    }
    let (found, shown) = tokio::join!(find(gate, call, name, deadline), gate.wait_until_shown());
    shown?;
    found
}

/// Waits for what a page tells about an act. Returns `None` if it shows a dialog, waits for the server of another page, does not answer, or
/// nobody waits any more.
async fn ask_page<T>(context: &CallContext, lease: &Lease, asked: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        told = asked => Some(told),
        () = wait_until_dialog(lease) => None,
        () = wait_until_loading(lease) => None,
        () = context.cancel.cancelled() => None,
        () = tokio::time::sleep(EFFECT_TIME) => None,
    }
}

fn answered(data: Value) -> CallReply {
    CallReply::done(Body::Data(data))
}

/// Runs a command whose element only agent-browser finds. A version in Node waits long for one that is missing, so it is asked for
/// their number first. A native one does not wait, and counts elements of CSS only.
async fn unknown(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    deadline: Instant,
    run: &mut CompletedRun,
) -> Outcome {
    let until = deadline.min(Instant::now() + APPEAR_TIME);
    let asks_for_none = Act::from_command(&call.command).is_none_or(|act| act.verb == Verb::Read(Reading::IsVisible));
    let is_native = context.services.transport.is_native();
    for selector in call.command.selectors().filter(|_| !asks_for_none && !is_native) {
        let Some(count) = count_command(selector) else { continue };
        loop {
            let output = match execute(context, &count, lease, time_until(deadline), run).await {
                Ok(Some(output)) => output,
                result => return (result.map(|raw| raw.map(Output::Raw)), None),
            };
            match CommandResult::parse(&output).body {
                Body::Data(data) if data.get("count").and_then(Value::as_u64) == Some(0) => {}
                // What is wrong with one that cannot be counted, the act says.
                _ => break,
            }
            if Instant::now() >= until {
                return refused(not_found(selector));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
    run_alone(context, call, lease, deadline, run).await
}

impl Found {
    /// Returns true if agent-browser carries out the act, and the element has a mark of this name for it.
    async fn takes_mark(&mut self, name: &MarkName) -> bool {
        if self.target.actor(self.act.verb, &self.sight) != Actor::AgentBrowser {
            return false;
        }
        if self.mark.is_none() {
            self.mark = Some(self.target.mark(self.act.verb, name).await);
        }
        matches!(self.mark, Some(Ok(_)))
    }

    /// Carries out the act, unless that is done, and reads its effect.
    async fn run(
        mut self,
        context: &CallContext,
        call: &ValidatedCall,
        lease: &Lease,
        deadline: Instant,
        done: Option<EarlyDone>,
        run: &mut CompletedRun,
    ) -> Outcome {
        let result = match self.target.actor(self.act.verb, &self.sight) {
            Actor::Gate => {
                self.mark = None;
                self.act_by_gate(context, call, lease, deadline).await
            }
            Actor::AgentBrowser => self.act_on_mark(context, call, lease, deadline, done, run).await,
        };
        let effect = if let (SeenBehind::Done(secrets), Ok(Some(_))) = (mem::take(&mut self.seen_behind), &result) {
            run.read_secrets = secrets.map(Ok);
            Effect::Done
        } else if has_effect(self.act.verb) && is_done(self.act.verb, &result) {
            ask_page(context, lease, self.effect_and_secrets(lease, run)).await.unwrap_or(Effect::Done)
        } else {
            Effect::Done
        };
        (result, Some(effect))
    }

    /// Looks if the act is done, and reads the secrets of the pages behind that. If a document asks for another one since the act was
    /// allowed, more follows.
    async fn look_behind(&self, lease: &Lease, mut navigations: watch::Receiver<u64>) -> SeenBehind {
        let Some(gate) = lease.gate() else { return SeenBehind::Unclear };
        let effect = async {
            if !has_effect(self.act.verb) {
                return true;
            }
            let state = self.target.state_after_act().await;
            state.is_ok_and(|state| effect(&self.act, &self.sight.state, &state) == Effect::Done)
        };
        let seen = async { tokio::join!(biased; self.look_at_press(), effect, gate.secrets()) };
        let (cover, is_done, secrets) = tokio::select! {
            biased;
            Ok(()) = navigations.changed() => return SeenBehind::Unclear,
            seen = seen => seen,
            () = wait_until_dialog(lease) => return SeenBehind::Done(None),
            () = tokio::time::sleep(EFFECT_TIME) => return SeenBehind::Done(None),
        };
        match (cover, secrets) {
            (Some(cover), _) => SeenBehind::Missed(cover),
            (None, Ok(secrets)) if is_done => SeenBehind::Done(Some(secrets)),
            _ => SeenBehind::Unclear,
        }
    }

    /// Returns what the press of the act would have reached instead of the element, if it was watched.
    async fn look_at_press(&self) -> Option<Neighbor> {
        if self.target.is_press_watched(self.act.verb) { self.target.missed_press().await } else { None }
    }

    /// Returns the same, unless the look behind the act has told.
    async fn missed_press(&self, context: &CallContext, lease: &Lease) -> Option<Neighbor> {
        match &self.seen_behind {
            SeenBehind::Missed(cover) => Some(cover.clone()),
            SeenBehind::Unclear => ask_page(context, lease, self.look_at_press()).await.flatten(),
            SeenBehind::Done(_) => None,
        }
    }

    /// Reads the effect of the act, and meanwhile the secrets of the pages. They are read again for an answer that shows what a field
    /// holds, because they could be older than this.
    async fn effect_and_secrets(&self, lease: &Lease, run: &mut CompletedRun) -> Effect {
        let secrets = async {
            match lease.gate() {
                Some(gate) => Some(gate.secrets().await),
                None => None,
            }
        };
        let (effect, secrets) = tokio::join!(biased; self.effect(), secrets);
        run.read_secrets = secrets.filter(|_| effect == Effect::Done);
        effect
    }

    /// Has the gate carry out the act. It is repeated if its press was kept from what covers the element.
    async fn act_by_gate(
        &mut self,
        context: &CallContext,
        call: &ValidatedCall,
        lease: &Lease,
        deadline: Instant,
    ) -> Result<Option<Output>, ExecError> {
        let until = deadline.min(Instant::now() + READY_TIME);
        let acted = async {
            loop {
                match self.target.act(&self.act, &self.sight, self.other.as_ref()).await {
                    Err(decision)
                        if decision.code == Code::ElementCovered
                            && self.act.verb.is_press()
                            && Instant::now() < until => {}
                    acted => return acted,
                }
                tokio::time::sleep(INTERVAL).await;
                self.look_again(until).await?;
            }
        };
        let acted = tokio::select! {
            biased;
            acted = acted => acted,
            () = wait_until_dialog(lease) => {
                return Ok(Some(Output::Own(interrupted(self.act.verb, &self.act.text, Code::DialogOpen))));
            }
            () = wait_until_slow(lease) => {
                return Ok(Some(Output::Own(interrupted(self.act.verb, &self.act.text, Code::PageLoading))));
            }
            () = context.cancel.cancelled() => return Err(ExecError::Cancelled),
            () = tokio::time::sleep_until(deadline.into()) => return Err(ExecError::TimedOut),
        };
        let acted = match acted {
            Ok(picture) if self.act.verb == Verb::Picture => picture::write(call, &picture),
            acted => acted,
        };
        Ok(Some(Output::Own(acted.map_or_else(CallReply::refused, answered))))
    }

    /// Has agent-browser carry out the act, unless that is done. It is repeated if agent-browser found the element covered and gave no
    /// input, and if its press was kept from what covers the element.
    async fn act_on_mark(
        &mut self,
        context: &CallContext,
        call: &ValidatedCall,
        lease: &Lease,
        deadline: Instant,
        mut done: Option<EarlyDone>,
        run: &mut CompletedRun,
    ) -> Result<Option<Output>, ExecError> {
        let until = deadline.min(Instant::now() + READY_TIME);
        if self.act.offset.is_some()
            && let Err(decision) = self.target.point_at(&self.act).await
        {
            return Ok(Some(Output::Own(CallReply::refused(decision))));
        }
        loop {
            let raw = {
                let mark = match self.mark.take() {
                    Some(mark) => mark,
                    None => self.mark_anew().await,
                };
                let mark = match mark {
                    Ok(mark) => mark,
                    Err(error) => return Ok(Some(Output::Own(CallReply::refused(error.into())))),
                };
                let marked = mark.name().selector();
                self.seen_behind = SeenBehind::Unclear;
                let raw = if let Some((done, seen)) = done.take() {
                    self.seen_behind = seen.unwrap_or_default();
                    done?
                } else {
                    let command = call.command.with_selector(&marked);
                    let executed = tokio::select! {
                        biased;
                        executed = execute(context, &command, lease, time_until(deadline), run) => Some(executed),
                        // A version in Node waits for the page that its act has begun to load.
                        () = wait_until_slow(lease) => None,
                    };
                    let Some(executed) = executed else {
                        lease.end_processes().await;
                        let reply = interrupted(self.act.verb, &self.act.text, Code::PageLoading);
                        return Ok(Some(Output::Own(reply)));
                    };
                    executed?
                };
                // It is removed behind the read of the effect, which the answer waits for.
                self.mark = Some(Ok(mark));
                let Some((raw, selector)) = raw.zip(call.command.selectors().next()) else { return Ok(None) };
                raw.replace(&marked, selector)
            };
            let is_late = Instant::now() >= until;
            match self.missed_press(context, lease).await {
                Some(cover) if is_late => {
                    return Ok(Some(Output::Own(CallReply::refused(covered(&self.sight.state, &cover)))));
                }
                None if !raw.is_without_input() => return Ok(Some(Output::Raw(raw))),
                _ => {}
            }
            tokio::time::sleep(INTERVAL).await;
            match self.look_again(until).await {
                Ok(()) if is_late => return Ok(Some(Output::Raw(raw))),
                Ok(()) => {}
                // This names what is in front.
                Err(decision) => return Ok(Some(Output::Own(CallReply::refused(decision)))),
            }
        }
    }

    async fn mark_anew(&self) -> MarkResult {
        self.target.mark(self.act.verb, &MarkName::new()?).await
    }

    /// Waits until the element can take the act once more.
    async fn look_again(&mut self, until: Instant) -> Result<(), Decision> {
        let seen = self.target.look(self.act.verb, None, &MarkName::new()?).await?;
        (self.sight, self.mark) = ready(&self.act, &self.target, seen, until).await?;
        Ok(())
    }

    /// Reads the effect of the act. An element that is gone, or a tab with a dialog, reports none.
    async fn effect(&self) -> Effect {
        let mut last = Effect::Done;
        let mut reads = EffectReads::of(self.act.verb);
        while reads.next().await {
            if !self.target.is_readable() {
                return Effect::Done;
            }
            let Ok(state) = self.target.state_after_act().await else { return Effect::Done };
            last = effect(&self.act, &self.sight.state, &state);
            if !matches!(last, Effect::None(_)) {
                break;
            }
        }
        last
    }
}
