//! Preparation of the browser for a call: the session's context and tab, without hung tabs and refused frames; and the refusals that
//! follow from the state of the browser: of one tab too many, for a tab that was lost, and of commands that would spell a secret letter
//! by letter, although no answer shows it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::phases::{CallContext, ValidatedCall};
use crate::call::reply::{ANSWER_TIME, COMMIT_TIME, MIN_COMMAND_TIME, decision_for};
use crate::session::Lease;
use browser_shell_browser::gate::{GateError, GateSession, Loss};
use browser_shell_cdp::protocol::TargetId;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::{Command, Profile};
use browser_shell_core::policy::Engine;
use browser_shell_system::os::exec::ExecError;

/// Outcome of the preparation of a call.
pub(super) struct Prepared {
    /// Time that remains for the command.
    pub timeout: Duration,
    /// Reason why Chromium cannot be reached.
    pub unreachable: Option<GateError>,
    /// Browser of the session, if it is known.
    pub instance: Option<String>,
}

/// Prepares the session's part of the browser for the call.
///
/// # Errors
///
/// The refusal of a call whose browser cannot be prepared, or has lost its page. If Chromium cannot be reached, agent-browser
/// reports it.
pub(super) async fn prepare(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
) -> Result<Prepared, Decision> {
    let instance = call.browser_instance.clone();
    let Some(gate) = lease.gate() else { return Ok(Prepared { timeout, unreachable: None, instance }) };
    let began = Instant::now();
    let preparation = async {
        // The empty tab that takes the place of a crashed one is not opened twice.
        gate.wait_until_replaced().await;
        let prepared = match gate.prepare().await {
            Ok(()) if !call.looks_for_element(lease.engine()) => gate.wait_until_shown().await.map(drop),
            prepared => prepared,
        };
        match prepared {
            Ok(()) => {}
            Err(error @ (GateError::Browser(_) | GateError::NotRunning)) => {
                tracing::debug!(%error, "the session has no browser");
                return Ok(Some(error));
            }
            Err(error) => return Err(Decision::from(error)),
        }
        wait_for_load(call, gate, timeout).await?;
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
    // The runtime keeps its contract.
    if context.options.profile == Profile::Tool
        && unreachable.is_none()
        && gate.has_own_context()
        && (call.command.opens_page() || needs_page(&call.command))
        && !gate.begin_page()
        && !context.services.pages.take_told(&call.session)
        && !call.command.opens_page()
    {
        let reason = "this server has no page of the session: it was started again, the session was closed, or none was opened yet";
        return Err(Decision::new(Code::PageLost, reason));
    }
    if let Some(loss) = gate.lost_tab()
        && !call.command.works_without_page()
        && !is_about_tabs(&call.command)
    {
        return Err(loss_decision(loss));
    }
    Ok(Prepared { timeout: timeout.saturating_sub(began.elapsed()).max(MIN_COMMAND_TIME), unreachable, instance })
}

/// Waits for the page that the tab has begun to load, where the command is about that page. A command that opens another one ends a load
/// that goes on: it would else be ended by it.
///
/// # Errors
///
/// `page-loading` if the page's server does not answer within the time of the call.
async fn wait_for_load(call: &ValidatedCall, gate: &GateSession, timeout: Duration) -> Result<(), Decision> {
    let command = &call.command;
    if command.is_close() || is_about_tabs(command) || command.is_wait_for_time() {
        return Ok(());
    }
    let is_replaced = command.is_navigation();
    let time = if is_replaced { COMMIT_TIME } else { timeout.saturating_sub(ANSWER_TIME) };
    if gate.wait_until_committed(time).await {
        return Ok(());
    }
    if is_replaced {
        gate.stop_loading();
        // It ends at once.
        gate.wait_until_committed(COMMIT_TIME).await;
        return Ok(());
    }
    let seconds = time.as_secs_f64().round();
    Err(Decision::new(
        Code::PageLoading,
        format!("the page is still loading: its server did not answer within {seconds} s"),
    ))
}

/// Returns the refusal of a command about a page that was lost with its tab.
fn loss_decision(loss: Loss) -> Decision {
    match loss {
        Loss::Crash => Decision::new(Code::TabCrashed, "the tab crashed, and an empty one is in its place"),
        Loss::Flood => {
            let reason = "the page took too much of the whole browser and was closed, and an empty one is in its place";
            Decision::new(Code::TabFlooded, reason)
        }
        Loss::Hang => {
            Decision::new(Code::PageLost, "the page did not respond and was closed, and an empty one is in its place")
        }
    }
}

/// Returns true for commands that read a page or act on it.
fn needs_page(command: &Command) -> bool {
    !command.works_without_page() && !is_about_tabs(command) && !command.is_wait_for_time()
}

/// Returns true for commands that find, change or close tabs.
fn is_about_tabs(command: &Command) -> bool {
    command.row.name == "tab"
}

/// Closes hung tabs: one would keep a new daemon from connecting for longer than most calls may take.
pub(super) async fn recover_tabs(lease: &Lease) {
    let Some(gate) = lease.gate() else { return };
    match gate.recover().await {
        0 => {}
        count => tracing::warn!(count, "hung tabs were closed"),
    }
}

/// Returns the refusal of a new tab if the session has as many as it may have.
pub(super) fn check_number_of_tabs(command: &Command, lease: &Lease) -> Result<(), Decision> {
    let is_full = command.is_new_tab() && lease.gate().is_some_and(|gate| gate.has_all_tabs());
    if is_full {
        return Err(Decision::new(Code::TooManyTabs, "the session has as many tabs as it may have, which is 16"));
    }
    Ok(())
}

/// Returns the refusal of a command whose tab was lost while it ran.
pub(super) async fn loss_since(gate: &GateSession, before: Option<&TargetId>) -> Option<Decision> {
    gate.wait_until_replaced().await;
    let is_new = gate.active_tab().as_ref() != before;
    gate.lost_tab().filter(|_| is_new).map(loss_decision)
}

/// Returns the refusal of a command of the engine `agent-browser` that compares its text with what the page holds, while there is a secret
/// that the agent did not send. The engine `cdp` looks itself where a selector is compared.
///
/// The pages are read first: in a session that shares its tabs, another one may have left a secret there.
pub(super) async fn refusal_of_comparison(
    command: &Command,
    engine: Engine,
    gate: &Arc<GateSession>,
) -> Option<Decision> {
    if engine == Engine::Cdp || !command.compares_unmasked() {
        return None;
    }
    if let Err(error) = gate.secrets().await {
        return Some(error.into());
    }
    let reason = "the selector or text could tell something about what the page keeps from you";
    gate.knows_secrets().then(|| Decision::new(Code::SecretObservable, reason))
}
