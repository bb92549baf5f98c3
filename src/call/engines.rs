//! Run of a command by the engine of its session: our own, or agent-browser.
//!
//! agent-browser's CLI runs the command, and nothing of ours happens meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::reply::{CallReply, decision_for, not_in_engine};
use crate::session::Lease;
use browser_shell_agent_browser::Invocation;
use browser_shell_browser::gate::GateSession;
use browser_shell_core::action::Action;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::mask::MASK;
use browser_shell_core::output::{Body, CommandResult, RawOutput, indented, login_required};
use browser_shell_core::policy::Engine;
use browser_shell_engine::{Carried, Job, Outcome};
use browser_shell_system::os::exec::ExecError;

/// Time for a command to end by itself after a dialog has opened, or its tab has crashed. Most do, because the gate answers their input.
const GRACE: Duration = Duration::from_millis(1500);

/// Carries out the action of a call.
pub(super) async fn run_by_cdp(
    context: &CallContext,
    call: &ValidatedCall,
    gate: &Arc<GateSession>,
    timeout: Duration,
    run: &mut CompletedRun,
) -> CallReply {
    let Some(action) = Action::of(&call.command) else {
        return CallReply::refused(not_in_engine(Engine::Cdp));
    };
    let file = call.output_file.as_ref().map(|file| file.path.as_path());
    let deadline = Instant::now() + timeout;
    let job = Job { gate, action: &action, time: timeout, deadline, cancel: &context.cancel, file };
    let Carried { outcome, secrets } = browser_shell_engine::carry_out(&job).await;
    run.read_secrets = secrets.map(Ok);
    let reply = reply_of_cdp(outcome, timeout);
    let size = if let Body::Data(data) = &reply.body { data.to_string().len() } else { 0 };
    run.output_permit = context.services.output_worker.permit(size).await;
    reply
}

fn reply_of_cdp(outcome: Outcome, timeout: Duration) -> CallReply {
    match outcome {
        Outcome::Done(data) => CallReply::done(Body::Data(data)),
        Outcome::Failed(decision) => CallReply::refused(decision),
        Outcome::Message(stderr) => CallReply::answered(CommandResult { exit_code: 1, body: Body::Empty, stderr }),
        Outcome::Unknown => CallReply::refused(decision_for(&ExecError::Unknown, timeout)),
        Outcome::TimedOut => CallReply::refused(decision_for(&ExecError::TimedOut, timeout)),
        Outcome::Cancelled => CallReply::refused(decision_for(&ExecError::Cancelled, timeout)),
    }
}

/// Runs the command of a call by agent-browser.
pub(super) async fn run_by_agent_browser(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
    run: &mut CompletedRun,
) -> CallReply {
    run.sandbox = Some(lease.sandbox().status().to_owned());
    if let Some(gate) = lease.gate() {
        gate.ignore_acts(call.command.is_list_of_tabs());
    }
    let invocation = Invocation {
        session: lease.paths(),
        command: &call.command,
        timeout,
        cancel: &context.cancel,
        state: lease.transport_state(),
        cdp_port: lease.sandbox().browser_port(),
        sandbox: lease.sandbox(),
    };
    let result = tokio::select! {
        biased;
        result = context.services.transport.run(invocation) => result.map(Some),
        result = wait_for_page(lease.gate()) => result,
    };
    reply_of_agent_browser(context, call, lease, timeout, result, run).await
}

async fn reply_of_agent_browser(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
    result: Result<Option<RawOutput>, ExecError>,
    run: &mut CompletedRun,
) -> CallReply {
    match result {
        Ok(Some(raw)) if raw.is_daemon_start_failure() => {
            lease.end_processes().await;
            CallReply::refused(Decision::new(Code::AgentBrowserUnavailable, "agent-browser's daemon does not start"))
        }
        Ok(Some(raw)) if raw.is_without_response() => {
            lease.end_processes().await;
            CallReply::refused(decision_for(&ExecError::Unknown, timeout))
        }
        Ok(Some(raw)) if raw.is_login_required() => CallReply::refused(login_required()),
        Ok(Some(raw)) if call.output_file.is_some() && raw.is_out_of_space() => {
            // So that it takes no room and cannot be mistaken for a whole one.
            call.remove_output_file();
            CallReply::refused(Decision::new(Code::WorkspaceFull, "there is no room for the file"))
        }
        Ok(Some(raw)) => {
            let raw = match lease.gate().filter(|_| call.command.is_list_of_tabs()) {
                Some(gate) => {
                    let titles = gate.titles().await;
                    raw.with_tab_titles(|target| titles.get(target).cloned())
                }
                None => raw,
            };
            let size = raw.stdout.bytes.len() + raw.stderr.bytes.len();
            run.output_permit = context.services.output_worker.permit(size).await;
            let mut result = run.output_permit.run(move || CommandResult::parse(&raw)).await;
            if lease.gate().is_some_and(|gate| gate.knows_secrets()) {
                result.stderr = without_cut_lines(&result.stderr);
            }
            // It may quote the page.
            if context.output_style().is_plain() && !result.stderr.is_empty() {
                result.stderr = indented(result.stderr.trim_end());
            }
            CallReply::answered(result)
        }
        Ok(None) => {
            // What still runs waits for the dialog.
            lease.end_processes().await;
            CallReply::done(Body::Data(json!({})))
        }
        // The daemon did not get the command, so it cannot act later, and the next call waits for it.
        Err(error @ ExecError::Starting) => CallReply::refused(decision_for(&error, timeout)),
        Err(error) => {
            // It is not known how far agent-browser got, and what still runs could act later.
            lease.end_processes().await;
            CallReply::refused(decision_for(&error, timeout))
        }
    }
}

/// Masks the lines below the first one in which agent-browser has cut a text of the page, as of the elements that a selector matches: a part of
/// a secret is not recognized.
fn without_cut_lines(message: &str) -> String {
    let mask = |(position, line)| if position > 0 && str::contains(line, '\u{2026}') { MASK } else { line };
    message.split('\n').enumerate().map(mask).collect::<Vec<_>>().join("\n")
}

/// Waits until a dialog is open or the tab has crashed, and then for the time in which most commands end by themselves. Returns the
/// result of a command that still runs then.
async fn wait_for_page(gate: Option<&Arc<GateSession>>) -> Result<Option<RawOutput>, ExecError> {
    let Some(gate) = gate else { return std::future::pending().await };
    let result = tokio::select! {
        biased;
        () = gate.wait_for_dialog() => Ok(None),
        () = gate.wait_for_crash() => Err(ExecError::Unknown),
    };
    tokio::time::sleep(GRACE).await;
    result
}
