//! Tabs of a session during a call: agent-browser acts on the one that the session acts on, and the end of one is known.
//!
//! agent-browser numbers its tabs anew when one ends, and does not say which one it acts on then. So it is turned to the tab that
//! was used before, and the gate sees whether it is there.

use std::iter;
use std::time::{Duration, Instant};

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::{Command, tab_command};
use browser_shell_core::output::{Body, CommandResult};
use serde_json::json;

use crate::call::execute::execute;
use crate::call::phases::{CallContext, CompletedRun};
use crate::call::prepare::loss_decision;
use crate::call::reply::CallReply;
use crate::call::time::time_until;
use crate::gate::GateSession;
use crate::os::exec::ExecError;
use crate::session::Lease;

/// Time for agent-browser to turn to a tab.
const TURN_TIME: Duration = Duration::from_secs(5);

/// Interval between two attempts to turn to a tab.
const TURN_INTERVAL: Duration = Duration::from_millis(30);

/// Time for a command to end by itself after the tab that it acts on has crashed.
const CRASH_GRACE: Duration = Duration::from_millis(1500);

/// Returns the refusal of a new tab if the session has as many as it may have.
pub(super) fn check_number(command: &Command, lease: &Lease) -> Result<(), Decision> {
    let is_full = command.is_new_tab() && lease.gate().is_some_and(|gate| gate.has_all_tabs());
    if is_full {
        return Err(Decision::new(Code::TooManyTabs, "the session has as many tabs as it may have, which is 16"));
    }
    Ok(())
}

/// Outcome of a command for which agent-browser must act on the right tab.
pub(super) type Turned = Result<(), Result<CallReply, ExecError>>;

/// Turns agent-browser to the tab that the session acts on, unless it is there.
///
/// # Errors
///
/// Returns the reply of a call that cannot go on.
pub(super) async fn turn(
    context: &CallContext,
    command: &Command,
    lease: &Lease,
    deadline: Instant,
    run: &mut CompletedRun,
) -> Turned {
    // A command that names a tab waits too: agent-browser turns to a new tab by itself when it sees it, which may be later.
    let is_elsewhere = command.is_new_tab() || command.row.name == "close";
    let Some(gate) = lease.gate().filter(|_| !is_elsewhere) else { return Ok(()) };
    let until = deadline.min(Instant::now() + TURN_TIME);
    loop {
        // Anew each time: the tab may end meanwhile, as popups do.
        let (Some((position, count)), Some(target)) = (gate.tab_to_turn_to(), gate.active_tab()) else { return Ok(()) };
        // agent-browser numbers tabs in the order in which it saw them, which is mostly that of their age.
        for index in iter::once(position).chain((0..count).filter(|index| *index != position)) {
            let Some(turn) = tab_command(index) else { continue };
            let turned = execute(context, &turn, lease, time_until(deadline), run).await;
            let is_there = gate.is_turned_to(&target);
            gate.set_active_tab(&target);
            match turned {
                Err(error) => return Err(Err(error)),
                Ok(_) if is_there => return Ok(()),
                Ok(_) => {}
            }
        }
        if Instant::now() >= until {
            let reason = "agent-browser does not turn to the active tab";
            return Err(Ok(CallReply::refused(Decision::new(Code::PageUnknown, reason))));
        }
        // agent-browser may not have seen a new tab yet.
        tokio::time::sleep(TURN_INTERVAL).await;
    }
}

/// Closes a tab. Returns `None` if agent-browser answers the command itself, because it is the only tab.
pub(super) async fn close(
    context: &CallContext,
    command: &Command,
    lease: &Lease,
    deadline: Instant,
    run: &mut CompletedRun,
) -> Result<Option<CallReply>, ExecError> {
    let Some(gate) = lease.gate() else { return Ok(None) };
    let before = gate.active_tab();
    if let Some(turn) = command.to_turn().filter(|_| gate.tabs().is_some_and(|tabs| tabs.len() > 1)) {
        match execute(context, &turn, lease, time_until(deadline), run).await? {
            Some(raw) if raw.exit_code == 0 => {}
            raw => return Ok(raw.map(|raw| CallReply::answered(CommandResult::parse(&raw)))),
        }
    }
    let named = gate.active_tab();
    let closed = match gate.close_active_tab().await {
        Ok(closed) => closed,
        Err(error) => return Ok(Some(CallReply::refused(error.into()))),
    };
    if let Some(before) = before.filter(|before| named.as_ref() != Some(before)) {
        gate.set_active_tab(&before);
    }
    Ok(closed.map(|(position, remaining)| {
        CallReply::done(Body::Data(json!({ "closed": position, "remaining": remaining })))
    }))
}

/// Waits until the tab that the command acts on has crashed and the command does not end by itself.
pub(super) async fn wait_for_crash(lease: &Lease) {
    match lease.gate() {
        Some(gate) => gate.wait_for_crash().await,
        None => std::future::pending().await,
    }
    tokio::time::sleep(CRASH_GRACE).await;
}

/// Returns the refusal of a command whose tab was lost while it ran.
pub(super) async fn loss_since(gate: &GateSession, before: Option<&str>) -> Option<Decision> {
    gate.wait_until_replaced().await;
    let is_new = gate.active_tab().as_deref() != before;
    gate.lost_tab().filter(|_| is_new).map(loss_decision)
}
