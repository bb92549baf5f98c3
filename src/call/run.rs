//! Run of a validated call: the session's lease, the output file, the command, and recovery after a failure; and the answers to commands
//! that run without agent-browser.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::call::before::prepare_output_file;
use crate::call::engines::{run_by_agent_browser, run_by_cdp};
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::prepare::{Prepared, check_number_of_tabs, loss_since, prepare, recover_tabs, refusal_of_comparison};
use crate::call::reply::CallReply;
use crate::call::request::PageAfterClose;
use crate::call::services::Services;
use crate::session::{Lease, Ticket};
use browser_shell_browser::gate::{GateSession, Secrets};
use browser_shell_core::auth::Principal;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::{LocalAnswer, Profile, ValueKind};
use browser_shell_core::output::Body;
use browser_shell_core::policy::Engine;
use browser_shell_core::shares::Party;

/// URL of the empty page.
const BLANK: &str = "about:blank";

/// Timeout for the tabs of a closed session to close.
const BLANK_PAGE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time to read the secrets of pages while one of them shows a dialog: others of its process do not answer.
const DIALOG_TIME: Duration = Duration::from_secs(1);

/// Runs the command of a call in its session.
///
/// # Errors
///
/// A refusal, if the call gets no lease or its file cannot be written. A command that fails has a reply.
pub(super) async fn run(
    context: &CallContext,
    call: &ValidatedCall,
    ticket: Option<Ticket>,
) -> Result<(CompletedRun, CallReply), Decision> {
    let services = &context.services;
    if let Some(answer) = call.command.local_answer().filter(|answer| *answer != LocalAnswer::Dialog) {
        return Ok((CompletedRun::default(), local_reply(context, call, answer).await));
    }
    if is_close_of_nothing(context, call) {
        services.pages.forget(&call.session);
        return Ok((CompletedRun::default(), CallReply::done(Body::Data(json!({ "closed": true })))));
    }
    let (policy, party) =
        (context.policy(&call.session), context.principal.as_ref().map_or(Party::Anyone, Principal::party));
    let timeout = call.remaining_time(context);
    let lease = services.sessions.lease(&call.session, timeout, &context.cancel, ticket, policy, &party).await?;
    if let Some(file) = &call.output_file {
        prepare_output_file(lease.paths(), &file.path)?;
    }
    let mut run = CompletedRun { engine: Some(lease.engine()), ..CompletedRun::default() };
    let timeout = call.remaining_time(context);
    let timeout = timeout.min(lease.sandbox().max_run_time().unwrap_or(Duration::MAX));
    let active = lease.gate().map(|gate| gate.begin_call(context.options.profile));
    if let Some(gate) = lease.gate() {
        gate.remember_typed(&call.command);
    }
    // For an answer whose pages can no longer be asked.
    run.secrets = lease.gate().map(|gate| gate.known_secrets()).unwrap_or_default();
    if let Some(reply) = answer_for_dialog(call, &lease).await {
        run.lease = Some(lease);
        run.active = active;
        return Ok((run, reply));
    }
    let Prepared { timeout, unreachable, instance } = match prepare(context, call, &lease, timeout).await {
        // A session without a browser is closed all the same.
        Err(_) if call.command.is_close() => {
            Prepared { timeout, unreachable: None, instance: call.browser_instance.clone() }
        }
        Err(decision) => return Err(refuse_unprepared(context, call, lease, decision).await),
        Ok(prepared) => prepared,
    };
    run.active = active;
    run.tabs = lease.gate().and_then(|gate| gate.tabs());
    check_number_of_tabs(&call.command, &lease)?;
    let tab = lease.gate().and_then(|gate| gate.active_tab());
    let refused = match lease.gate().filter(|_| unreachable.is_none()) {
        Some(gate) => refusal_of_comparison(&call.command, lease.engine(), gate).await,
        None => None,
    };
    if let Some(gate) = lease.gate().filter(|_| unreachable.is_none() && call.command.may_take_text()) {
        // A field that has just appeared keeps its text from now on. An error is told behind the command.
        let _ = gate.secrets().await;
    }
    let reads_in_dialog =
        call.command.row.name == "tab" && lease.gate().is_some_and(|gate| gate.open_dialog().is_some());
    let mut reply = match (refused, lease.engine(), lease.gate(), &unreachable) {
        (Some(decision), ..) => CallReply::refused(decision),
        (_, Engine::Cdp, Some(gate), None) => run_by_cdp(context, call, gate, timeout, &mut run).await,
        (_, Engine::Cdp, ..) if call.command.is_close() => CallReply::done(Body::Data(json!({ "closed": true }))),
        (_, Engine::Cdp, ..) => {
            CallReply::refused(Decision::new(Code::BrowserUnavailable, "the browser does not answer"))
        }
        (_, Engine::AgentBrowser, ..) => run_by_agent_browser(context, call, &lease, timeout, &mut run).await,
    };
    if let Some(gate) = lease.gate().filter(|_| reads_in_dialog) {
        run.read_secrets = Some(Ok(secrets_in_dialog(gate).await));
    }
    if !call.command.is_close()
        && let Some(gate) = lease.gate()
        && let Some(loss) = loss_since(gate, tab.as_ref()).await
    {
        reply = CallReply::refused(loss);
    }
    if let Some(error) = unreachable.filter(|_| reply.decision.code == Code::BrowserUnavailable) {
        reply.note(&error.to_string());
    }
    record_page(services, call, instance.as_deref(), &reply);
    if call.command.is_close() {
        if context.options.page_after_close == PageAfterClose::Blank {
            blank_page(&lease).await;
        }
        // After a failure too: without its browser, agent-browser leaves its daemon running.
        services.sessions.close(lease).await;
    } else if matches!(reply.decision.code, Code::TimedOut | Code::Cancelled | Code::BrowserUnavailable) {
        recover_tabs_in_background(services, lease);
    } else {
        run.lease = Some(lease);
    }
    Ok((run, reply))
}

/// Returns true for the `close` of a session that there is not. It needs no place among the sessions, of which all may be taken.
fn is_close_of_nothing(context: &CallContext, call: &ValidatedCall) -> bool {
    context.options.profile == Profile::Tool
        && call.command.is_close()
        && context.services.sessions.has_nothing_of(&call.session)
}

/// Returns the refusal of a call that cannot be prepared. A session that begins with a call about a page that it does not have is closed
/// again, so that it takes no place among the sessions. Its next call is not told again.
async fn refuse_unprepared(context: &CallContext, call: &ValidatedCall, lease: Lease, decision: Decision) -> Decision {
    let services = &context.services;
    // A tab that was lost is told until the session opens a page.
    let has_lost_tab = lease.gate().is_some_and(|gate| gate.lost_tab().is_some());
    let is_without_page = decision.code == Code::PageLost && !has_lost_tab;
    if context.options.profile == Profile::Tool && is_without_page && services.sessions.close_unused(lease).await {
        services.pages.record_told(&call.session);
    }
    decision
}

/// Returns the secrets of pages while one of them shows a dialog: those that were seen before, if a page does not answer.
async fn secrets_in_dialog(gate: &Arc<GateSession>) -> Secrets {
    match tokio::time::timeout(DIALOG_TIME, gate.secrets()).await {
        Ok(Ok(secrets)) => secrets,
        _ => Secrets { is_incomplete: true, ..gate.known_secrets() },
    }
}

/// Answers a call of the subcommand `dialog`, and refuses others while a dialog is open, but for those about tabs. A page with a dialog can be
/// left: it gets the safe answer.
async fn answer_for_dialog(call: &ValidatedCall, lease: &Lease) -> Option<CallReply> {
    let gate = lease.gate()?;
    gate.answer_abandoned_dialogs().await;
    if call.command.row.name == "dialog" {
        let text = call.command.typed_text();
        let accept = call.command.form.word == Some("accept");
        return Some(match gate.answer_dialog(accept, text).await {
            Ok(Some(dialog)) => {
                CallReply::done(Body::Data(json!({ "dialog": dialog.to_json(), "answer": dialog.answer })))
            }
            Ok(None) => CallReply::refused(Decision::new(Code::NoDialog, "no dialog is open")),
            Err(error) => {
                tracing::warn!(%error, "a dialog was not answered");
                CallReply::refused(Decision::new(Code::NoDialog, "the browser did not take the answer to the dialog"))
            }
        });
    }
    // The engine `cdp` needs no script of a page for its tab.
    let is_about_tabs = call.command.row.name == "tab" && lease.engine() == Engine::Cdp;
    if call.command.is_close() || is_about_tabs {
        return None;
    }
    if call.command.is_navigation() && gate.open_dialog().is_some() {
        gate.leave_dialogs().await;
    }
    let dialog = gate.open_dialog()?;
    let reason = format!("the page shows a dialog of the type `{}`, which waits for an answer", dialog.kind);
    Some(CallReply::refused(Decision::new(Code::DialogOpen, reason)))
}

/// Records that the session has opened a page, or has none any more.
fn record_page(services: &Services, call: &ValidatedCall, instance: Option<&str>, reply: &CallReply) {
    let (command, session) = (&call.command, &call.session);
    let url = command.value(|kind| kind == ValueKind::Url);
    if command.is_close() || (reply.exit_code == 0 && url == Some(BLANK)) {
        services.pages.forget(session);
    } else if let (Some(instance), Some(_), 0) = (instance, url, reply.exit_code) {
        services.pages.record(session, instance);
    }
}

/// Shows an empty page in a single tab. A browser that does not answer has no page, or is replaced by one without.
async fn blank_page(lease: &Lease) {
    let Some(gate) = lease.gate() else { return };
    if tokio::time::timeout(BLANK_PAGE_TIMEOUT, gate.blank()).await.is_err() {
        tracing::warn!("the tabs of a closed session did not close in time");
    }
}

/// Replaces hung tabs after a call that failed. Its reply does not wait for this; the session's next call does, by the lease.
pub(super) fn recover_tabs_in_background(services: &Services, lease: Lease) {
    services.background.spawn(async move {
        recover_tabs(&lease).await;
        drop(lease);
    });
}

/// Returns the reply of a command that runs without agent-browser.
async fn local_reply(context: &CallContext, call: &ValidatedCall, answer: LocalAnswer) -> CallReply {
    let name = call.session.as_str();
    let body = match answer {
        LocalAnswer::Version => {
            let Some(version) = context.services.transport.version().await else {
                let reason = "agent-browser does not report its version";
                return CallReply::refused(Decision::new(Code::AgentBrowserUnavailable, reason));
            };
            Body::Text(format!("{version}\n"))
        }
        LocalAnswer::Help => Body::Text(help(context.options.profile)),
        LocalAnswer::Session => Body::Data(json!({"session": name})),
        LocalAnswer::Sessions => {
            let names: Vec<_> =
                Some(name).filter(|_| context.services.sessions.is_open(&call.session)).into_iter().collect();
            Body::Data(json!({"sessions": names}))
        }
        // The run answers it, because it knows the session's pages.
        LocalAnswer::Dialog => return CallReply::refused(Decision::new(Code::NoDialog, "no dialog is open")),
    };
    CallReply::done(body)
}

/// Returns the list of the commands of a profile, with one usage line for each form.
fn help(profile: Profile) -> String {
    let mut text = "Send one of these commands:\n\n".to_owned();
    for row in profile.rows() {
        for form in row.forms {
            let _ = writeln!(text, "  {}", format!("{} {}", row.name, form.usage()).trim_end());
        }
        let _ = writeln!(text, "      {}", row.summary);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_command_of_profile() {
        let text = help(Profile::Compat);
        for line in
            ["  open URL\n", "  tab close [INDEX]\n", "  get value SELECTOR\n", "  session list\n", "  --version\n"]
        {
            assert!(text.contains(line), "{line}{text}");
        }
        assert!(!text.contains("eval"), "{text}");
    }
}
