//! Commands that agent-browser carries out without the elements of the gate, and what not all of its versions do: they wait for an element,
//! and type with key events.

use std::time::{Duration, Instant};

use browser_shell_core::grammar::Command;
use browser_shell_core::output::{Body, CommandResult, RawOutput};
use serde_json::json;

use crate::call::execute::{execute, wait_for_dialog};
use crate::call::outcome::{Outcome, Output, refused};
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::reply::CallReply;
use crate::os::exec::ExecError;
use crate::session::Lease;

/// Interval between two tries of a command that did nothing.
const INTERVAL: Duration = Duration::from_millis(100);

/// Time for an element to appear.
const APPEAR_TIME: Duration = Duration::from_secs(2);

/// Time for an element to be uncovered or to stop.
const UNCOVER_TIME: Duration = Duration::from_millis(2500);

/// Runs the command of a call.
pub(super) async fn run_alone(
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
        () = wait_for_dialog(lease) => return (Ok(None), None),
        () = context.cancel.cancelled() => return (Err(ExecError::Cancelled), None),
        () = tokio::time::sleep_until(deadline.into()) => return (Err(ExecError::TimedOut), None),
    };
    if let Err(error) = typed {
        return refused(error.into());
    }
    let data = Body::Data(json!({ "typed": true }));
    let reply = CallReply::answered(CommandResult { exit_code: 0, body: data, stderr: String::new() });
    (Ok(Some(Output::Own(reply))), None)
}

/// Runs a command, and again for a while if it did nothing because its element is not there yet or something covers it.
async fn execute_patiently(
    context: &CallContext,
    command: &Command,
    lease: &Lease,
    deadline: Instant,
    run: &mut CompletedRun,
) -> Result<Option<RawOutput>, ExecError> {
    let began = Instant::now();
    loop {
        let timeout = deadline.saturating_duration_since(Instant::now());
        let result = execute(context, command, lease, timeout, run).await;
        let Ok(Some(raw)) = &result else { return result };
        let patience = if raw.is_element_missing() {
            APPEAR_TIME
        } else if raw.is_without_input() {
            UNCOVER_TIME
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
