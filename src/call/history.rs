//! Steps in the history of a tab, by the control gate.
//!
//! agent-browser says "done" where there is no page to go to, and waits half a second each time. Version 0.41 fails if the page that it
//! leaves is gone before that has answered.

use std::sync::Arc;
use std::time::Instant;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::Body;
use serde_json::{Value, json};

use crate::call::execute::wait_until_dialog;
use crate::call::outcome::{GATE, Outcome, Output, refused};
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::reply::CallReply;
use crate::gate::{GateSession, HistoryStep};
use crate::os::exec::ExecError;
use crate::session::Lease;

/// Takes the step of a command. Returns `None` if it asks for something else, or only agent-browser can take it.
pub(super) async fn step(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    gate: &Arc<GateSession>,
    deadline: Instant,
    run: &mut CompletedRun,
) -> Option<Outcome> {
    let name = call.command.row.name;
    let is_read_by_gate = context.is_read_by_gate(&call.session);
    if !matches!(name, "back" | "forward") || !(is_read_by_gate || context.services.transport.is_native()) {
        return None;
    }
    let answered = |data: Value| (Ok(Some(Output::Own(CallReply::done(Body::Data(data))))), None);
    let step = tokio::select! {
        biased;
        step = gate.step_in_history(name == "back") => step,
        // The page that is left asks whether it may be.
        () = wait_until_dialog(lease) => return Some(answered(json!({}))),
        () = context.cancel.cancelled() => return Some((Err(ExecError::Cancelled), None)),
        () = tokio::time::sleep_until(deadline.into()) => return Some((Err(ExecError::TimedOut), None)),
    };
    let step = step.transpose()?;
    run.transport = Some(GATE);
    let without_effect = |reason| refused(Decision::new(Code::NoEffect, reason));
    Some(match step {
        Ok(HistoryStep::Taken(url)) => answered(json!({ "url": url })),
        // As agent-browser answers.
        Ok(HistoryStep::NoPage(url) | HistoryStep::Stayed(url)) if !is_read_by_gate => answered(json!({ "url": url })),
        Ok(HistoryStep::NoPage(_)) => without_effect(format!("this tab has no page to go {name} to")),
        Ok(HistoryStep::Stayed(_)) => without_effect("the tab stays at the page that it shows".to_owned()),
        Err(error) => refused(error.into()),
    })
}
