//! Execution of a call's command, after its session's part of the browser was prepared.
//!
//! On a session's first call both take a while: a window with a tab, and the start of agent-browser's daemon. They happen at the
//! same time, and the gate lets agent-browser in when the browser is prepared.

use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use crate::agent_browser::Invocation;
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::refusals::decision_for;
use crate::call::time::MIN_COMMAND_TIME;
use crate::gate::{GateError, GateSession};
use crate::os::exec::ExecError;
use crate::session::Lease;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::RawOutput;

/// Time for a command to end by itself after a dialog has opened.
const DIALOG_GRACE: Duration = Duration::from_millis(1500);

/// Outcome of an execution.
pub(super) struct Executed {
    /// Output of the command; `None` if a dialog kept it from ending.
    pub result: Result<Option<RawOutput>, ExecError>,
    /// Time that the command had.
    pub timeout: Duration,
    /// Reason why Chromium cannot be reached.
    pub unreachable: Option<GateError>,
    /// Browser that the command ran in.
    pub instance: Option<String>,
}

/// Outcome of the preparation of a call.
struct Prepared {
    /// Time that remains for the command.
    timeout: Duration,
    /// Reason why Chromium cannot be reached.
    unreachable: Option<GateError>,
    /// Browser of the session.
    instance: Option<String>,
}

impl Prepared {
    fn executed(self, result: Result<Option<RawOutput>, ExecError>) -> Executed {
        let Self { timeout, unreachable, instance } = self;
        Executed { result, timeout, unreachable, instance }
    }
}

/// Prepares the browser and runs the command.
///
/// # Errors
///
/// The refusal of a call whose browser cannot be prepared, or has lost its page.
pub(super) async fn execute(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
    run: &mut CompletedRun,
) -> Result<Executed, Decision> {
    run.sandbox = Some(lease.sandbox().status().to_owned());
    let own_context = lease.gate().filter(|gate| lease.is_first && gate.has_own_context());
    let executed = match (call.command.row.name, own_context) {
        // A session without a browser is closed all the same.
        ("close", _) => {
            let instance = call.browser_instance.clone();
            let unprepared = Prepared { timeout, unreachable: None, instance };
            let prepared = prepare(context, call, lease, timeout).await.unwrap_or(unprepared);
            let timeout = prepared.timeout;
            Ok(prepared.executed(run_command(context, call, lease, timeout).await))
        }
        (_, Some(gate)) => execute_during_preparation(context, call, lease, timeout, gate).await,
        (_, None) => {
            let prepared = prepare(context, call, lease, timeout).await?;
            let timeout = prepared.timeout;
            Ok(prepared.executed(run_command(context, call, lease, timeout).await))
        }
    };
    run.transport = lease.transport_state().take_transport();
    executed
}

/// Prepares the browser while agent-browser starts, which the gate lets in afterwards.
async fn execute_during_preparation(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
    gate: &Arc<GateSession>,
) -> Result<Executed, Decision> {
    let hold = gate.hold_clients();
    let mut early = Box::pin(run_command(context, call, lease, timeout));
    let mut preparation = Box::pin(prepare(context, call, lease, timeout));
    let (prepared, early): (_, Option<BoxFuture<'_, _>>) = tokio::select! {
        biased;
        prepared = &mut preparation => (prepared, Some(early)),
        result = &mut early => {
            // It gave up before it was let in, so the command had no effect.
            let has_failed = matches!(&result, Ok(Some(output)) if output.exit_code != 0);
            (preparation.await, Some(result).filter(|_| !has_failed).map(|result| Box::pin(ready(result)) as _))
        }
        () = hold.overdue() => {
            drop(early);
            (preparation.await, None)
        }
    };
    match (prepared, early) {
        (Ok(prepared), Some(early)) => {
            drop(hold);
            Ok(Prepared { timeout, ..prepared }.executed(early.await))
        }
        (prepared, early) => {
            drop(early);
            // Before anybody is let in: a daemon could still carry out the command.
            lease.end_processes().await;
            drop(hold);
            let prepared = prepared?;
            let timeout = prepared.timeout;
            Ok(prepared.executed(run_command(context, call, lease, timeout).await))
        }
    }
}

/// Prepares the session's part of the browser for the call.
///
/// # Errors
///
/// The refusal of the call. If Chromium cannot be reached, agent-browser reports it.
async fn prepare(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
) -> Result<Prepared, Decision> {
    let instance = call.browser_instance.clone();
    let Some(gate) = lease.gate() else { return Ok(Prepared { timeout, unreachable: None, instance }) };
    let began = Instant::now();
    let preparation = async {
        match gate.prepare().await {
            Ok(()) => {}
            Err(error @ (GateError::Browser(_) | GateError::NotRunning)) => {
                tracing::debug!(%error, "the session has no browser");
                return Ok(Some(error));
            }
            Err(error) => return Err(Decision::from(error)),
        }
        // The tab of a new context has just answered.
        if lease.is_first && !gate.has_own_context() {
            recover_tabs(lease).await;
        }
        gate.leave_refused_frames().await;
        Ok(None)
    };
    let unreachable = tokio::select! {
        result = preparation => result?,
        () = context.cancel.cancelled() => return Err(decision_for(&ExecError::Cancelled, timeout)),
        () = tokio::time::sleep(timeout) => return Err(decision_for(&ExecError::TimedOut, timeout)),
    };
    tracing::debug!(took = ?began.elapsed(), "the session's part of the browser is prepared");
    let instance = instance.or_else(|| gate.instance());
    if let Some(instance) = &instance
        && !call.command.works_without_page()
        && context.services.pages.is_lost(&call.session, instance)
    {
        let reason = "the browser was started again after the session opened its page, and now shows an empty one";
        return Err(Decision::new(Code::PageLost, reason));
    }
    Ok(Prepared { timeout: timeout.saturating_sub(began.elapsed()).max(MIN_COMMAND_TIME), unreachable, instance })
}

/// Runs the command by the transport. Returns `None` if a dialog keeps it from ending.
async fn run_command(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
) -> Result<Option<RawOutput>, ExecError> {
    let invocation = Invocation {
        session: lease.paths(),
        command: &call.command,
        timeout,
        cancel: &context.cancel,
        state: lease.transport_state(),
        cdp_port: lease.sandbox().browser_port(),
        sandbox: lease.sandbox(),
    };
    tokio::select! {
        biased;
        result = context.services.transport.run(invocation) => result.map(Some),
        () = wait_for_dialog(lease) => Ok(None),
    }
}

/// Waits until a dialog keeps the command from ending.
async fn wait_for_dialog(lease: &Lease) {
    match lease.gate() {
        Some(gate) => gate.wait_for_dialog().await,
        None => std::future::pending().await,
    }
    // Most commands end by themselves, because the gate answers their input.
    tokio::time::sleep(DIALOG_GRACE).await;
}

/// Closes hung tabs: one would keep a new daemon from connecting for longer than most calls may take.
pub(super) async fn recover_tabs(lease: &Lease) {
    let Some(gate) = lease.gate() else { return };
    match gate.recover().await {
        0 => {}
        count => tracing::warn!(count, "hung tabs were closed"),
    }
}
