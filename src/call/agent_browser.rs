//! Call of a session whose engine is agent-browser: its CLI runs the command, and nothing of ours happens meanwhile.

use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::mask::MASK;
use browser_shell_core::output::{Body, CommandResult, RawOutput, indented, login_required};
use serde_json::json;

use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::refusals::decision_for;
use crate::call::reply::CallReply;
use crate::session::Lease;
use browser_shell_agent_browser::Invocation;
use browser_shell_browser::gate::GateSession;
use browser_shell_system::os::exec::ExecError;

/// Time for a command to end by itself after a dialog has opened, or its tab has crashed. Most do, because the gate answers their input.
const GRACE: Duration = Duration::from_millis(1500);

/// Runs the command of a call by agent-browser.
pub(super) async fn run(
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
    reply(context, call, lease, timeout, result, run).await
}

async fn reply(
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
