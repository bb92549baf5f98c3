//! Begin of a call's run: the browser is prepared, and a session's first page may be opened meanwhile.
//!
//! In a session with a context of its own, the first call needs a window with a tab and the start of agent-browser's daemon. Both
//! take a while and happen at the same time. The gate lets agent-browser connect, and answers its commands when the browser is
//! prepared.

use std::sync::Arc;
use std::time::Duration;

use crate::call::execute::execute;
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::prepare::{Prepared, prepare};
use crate::gate::GateSession;
use crate::os::exec::ExecError;
use crate::session::Lease;
use browser_shell_core::decision::Decision;
use browser_shell_core::output::RawOutput;

/// Result of a command that began before the browser was prepared.
pub(super) type EarlyResult = Result<Option<RawOutput>, ExecError>;

/// Outcome of the begin.
pub(super) struct Begun {
    /// Outcome of the preparation.
    pub prepared: Prepared,
    /// Result of the command, if it has run.
    pub early: Option<EarlyResult>,
}

/// Prepares the browser, and opens the first page of a session meanwhile.
///
/// # Errors
///
/// The refusal of a call whose browser cannot be prepared, or has lost its page.
pub(super) async fn begin(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
    run: &mut CompletedRun,
) -> Result<Begun, Decision> {
    let opens_first_page = lease.is_first && call.command.row.name == "open";
    match (call.command.row.name, lease.gate().filter(|gate| opens_first_page && gate.has_own_context())) {
        // A session without a browser is closed all the same.
        ("close", _) => {
            let instance = call.browser_instance.clone();
            let unprepared = Prepared { timeout, unreachable: None, instance };
            let prepared = prepare(context, call, lease, timeout).await.unwrap_or(unprepared);
            Ok(Begun { prepared, early: None })
        }
        (_, Some(gate)) => begin_early(context, call, lease, timeout, gate, run).await,
        (_, None) => Ok(Begun { prepared: prepare(context, call, lease, timeout).await?, early: None }),
    }
}

/// Prepares the browser while agent-browser starts, whose commands the gate answers afterwards.
async fn begin_early(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
    gate: &Arc<GateSession>,
    run: &mut CompletedRun,
) -> Result<Begun, Decision> {
    let Ok(hold) = gate.hold_clients().await else {
        return Ok(Begun { prepared: prepare(context, call, lease, timeout).await?, early: None });
    };
    let mut preparation = Box::pin(prepare(context, call, lease, timeout));
    let mut command = Box::pin(execute(context, &call.command, lease, timeout, run));
    let prepared = tokio::select! {
        biased;
        prepared = &mut preparation => prepared,
        // It gave up before its first command was answered, so it had no effect.
        _ = &mut command => {
            drop(command);
            lease.end_processes().await;
            drop(hold);
            return Ok(Begun { prepared: preparation.await?, early: None });
        }
    };
    match prepared {
        Ok(prepared) if prepared.unreachable.is_none() => {
            drop(hold);
            Ok(Begun { prepared, early: Some(command.await) })
        }
        prepared => {
            drop(command);
            // Before anybody is let in: a daemon could still carry out the command.
            lease.end_processes().await;
            drop(hold);
            Ok(Begun { prepared: prepared?, early: None })
        }
    }
}
