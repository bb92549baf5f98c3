//! Commands that agent-browser carries out without the elements of the gate, and what not all of its versions do: they wait for an element,
//! and type with key events.

use std::time::Instant;

use browser_shell_core::decision::Code;
use browser_shell_core::element::{Effect, Verb};
use browser_shell_core::grammar::Command;
use browser_shell_core::output::{Body, RawOutput};
use serde_json::json;

use crate::call::effect::{EFFECT_TIME, is_done};
use crate::call::execute::{execute, wait_until_dialog, wait_until_slow};
use crate::call::outcome::{Outcome, Output, interrupted, refused};
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::read_back::ActDocument;
use crate::call::reply::CallReply;
use crate::call::time::{APPEAR_TIME, COMMIT_TIME, INTERVAL, READY_TIME, time_until};
use crate::gate::DragWatch;
use crate::os::exec::ExecError;
use crate::session::Lease;

/// Runs the command of a call, and reads what an act did.
pub(super) async fn run_alone(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    deadline: Instant,
    run: &mut CompletedRun,
) -> Outcome {
    let drag = match lease.gate() {
        Some(gate) if call.command.row.name == "drag" => tokio::select! {
            watch = gate.watch_drag() => watch.ok(),
            () = tokio::time::sleep(EFFECT_TIME) => None,
        },
        _ => None,
    };
    // In this order: Chromium is asked for the document before the act reaches it.
    let (before, (result, effect)) = tokio::join!(
        biased;
        ActDocument::of(&call.command, lease),
        carry_out(context, call, lease, deadline, run),
    );
    // Outputs of other commands may be large, and are parsed once, later.
    let effect = match (before, drag) {
        (Some(before), _) if is_done(before.verb(), &result) => {
            Some(before.read_effect(context, &call.command, lease, deadline, run).await)
        }
        (None, Some(drag)) if is_done(Verb::Drag, &result) => Some(drag_effect(&drag, context, lease).await),
        _ => effect,
    };
    (result, effect)
}

/// Reads the effect of a drag, which has ended.
async fn drag_effect(drag: &DragWatch, context: &CallContext, lease: &Lease) -> Effect {
    tokio::select! {
        failure = drag.failure() => failure.map_or(Effect::Done, Effect::None),
        () = wait_until_dialog(lease) => Effect::Done,
        () = context.cancel.cancelled() => Effect::Done,
        () = tokio::time::sleep(EFFECT_TIME) => Effect::Done,
    }
}

async fn carry_out(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    deadline: Instant,
    run: &mut CompletedRun,
) -> Outcome {
    let keys = call.command.focus_for_keys().filter(|_| context.services.transport.is_native());
    let gate = lease.gate().filter(|gate| gate.urls().is_some());
    let (Some(focus), Some(gate), Some(text)) = (keys, gate, call.command.typed_text()) else {
        let result = execute_patiently(context, &call.command, lease, deadline, run).await;
        return (result.map(|raw| raw.map(Output::Raw)), None);
    };
    match execute_patiently(context, &focus, lease, deadline, run).await {
        Ok(Some(raw)) if raw.exit_code == 0 => {}
        result => return (result.map(|raw| raw.map(Output::Raw)), None),
    }
    // The native version's own `type` sends no key events.
    let typed = tokio::select! {
        biased;
        typed = gate.type_keys(text) => typed,
        () = wait_until_dialog(lease) => return (Ok(Some(Output::Own(interrupted(Verb::Type, text, Code::DialogOpen)))), None),
        () = wait_until_slow(lease) => return (Ok(Some(Output::Own(interrupted(Verb::Type, text, Code::PageLoading)))), None),
        () = context.cancel.cancelled() => return (Err(ExecError::Cancelled), None),
        () = tokio::time::sleep_until(deadline.into()) => return (Err(ExecError::TimedOut), None),
    };
    if let Err(error) = typed {
        return refused(error.into());
    }
    let reply = CallReply::done(Body::Data(json!({ "typed": true })));
    (Ok(Some(Output::Own(reply))), None)
}

/// Runs a command, and again for a while if it did nothing because its element is not there yet or something covers it. A page is opened
/// once more if the page before it has asked for another one meanwhile.
async fn execute_patiently(
    context: &CallContext,
    command: &Command,
    lease: &Lease,
    deadline: Instant,
    run: &mut CompletedRun,
) -> Result<Option<RawOutput>, ExecError> {
    let began = Instant::now();
    let mut navigations = lease.gate().and_then(|gate| gate.watch_navigations());
    loop {
        let result = execute(context, command, lease, time_until(deadline), run).await;
        let Ok(Some(raw)) = &result else { return result };
        // What the act before had begun later: the page is opened once more, in place of that.
        if command.row.name == "open"
            && raw.is_navigation_aborted()
            && let Some(gate) = lease.gate()
            && navigations.take_if(|count| count.has_changed().unwrap_or(false)).is_some()
            && !gate.is_page_refused()
        {
            gate.wait_until_committed(COMMIT_TIME.min(time_until(deadline))).await;
            continue;
        }
        let patience = if raw.is_element_missing() {
            APPEAR_TIME
        } else if raw.is_without_input() {
            READY_TIME
        } else {
            return result;
        };
        let next = Instant::now() + INTERVAL;
        // A drag may have begun.
        if command.row.name == "drag" || next >= deadline.min(began + patience) {
            return result;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
