//! Run of a validated call: the session's lease, the output file, the command, and recovery after a failure.

use std::time::{Duration, Instant};

use crate::call::before::file_path::prepare_output_file;
use crate::call::begin::{Begun, EarlyResult, begin};
use crate::call::local;
use crate::call::options::PageAfterClose;
use crate::call::outcome::{GATE, Outcome, Output};
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::prepare::{Prepared, recover_tabs};
use crate::call::refusals::{cli_refusal, decision_for, login_required};
use crate::call::reply::CallReply;
use crate::call::services::Services;
use crate::call::snapshot;
use crate::call::tabs;
use crate::call::wait;
use crate::gate::GateSession;
use crate::os::exec::ExecError;
use crate::session::{Lease, Ticket};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::{LocalAnswer, ValueKind};
use browser_shell_core::output::{Body, CommandResult};
use serde_json::json;

/// URL of the empty page.
const BLANK: &str = "about:blank";

/// Timeout for the tabs of a closed session to close.
const BLANK_PAGE_TIMEOUT: Duration = Duration::from_secs(5);

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
        return Ok((CompletedRun::default(), local::reply(context, call, answer).await));
    }
    let lease = services
        .sessions
        .lease(&call.session, call.remaining_time(context), &context.cancel, ticket, context.policy(&call.session))
        .await?;
    if let Some(file) = &call.output_file {
        prepare_output_file(lease.paths(), &file.path)?;
    }
    let mut run = CompletedRun::default();
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
    let Begun { prepared: Prepared { timeout, unreachable, instance }, early } =
        begin(context, call, &lease, timeout, &mut run).await?;
    run.active = active;
    run.tabs = lease.gate().and_then(|gate| gate.tabs());
    tabs::check_number(&call.command, &lease)?;
    let tab = lease.gate().and_then(|gate| gate.active_tab());
    let is_read_by_gate = unreachable.is_none() && snapshot::is_answered(context, call);
    let mut reply = match lease.gate().filter(|_| is_read_by_gate) {
        Some(gate) => read(context, call, gate, timeout, &mut run).await,
        None => answer(context, call, &lease, timeout, early, &mut run).await,
    };
    if call.command.row.name != "close"
        && let Some(gate) = lease.gate()
        && let Some(loss) = tabs::loss_since(gate, tab.as_deref()).await
    {
        reply = CallReply::refused(loss);
    }
    if let Some(error) = unreachable.filter(|_| reply.decision.code == Code::BrowserUnavailable) {
        reply.note(&error.to_string());
    }
    record_page(services, call, instance.as_deref(), &reply);
    if call.command.row.name == "close" {
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

/// Carries out the command, in most cases by agent-browser, unless that was done early.
async fn answer(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
    early: Option<EarlyResult>,
    run: &mut CompletedRun,
) -> CallReply {
    let services = &context.services;
    if let Some(gate) = lease.gate().filter(|_| early.is_none()) {
        match wait::wait(context, call, gate, timeout).await {
            Ok(None) => {}
            Ok(Some(reply)) => {
                run.transport = Some(GATE);
                return reply;
            }
            Err(error) => return CallReply::refused(decision_for(&error, timeout)),
        }
    }
    let (result, effect) = match early {
        Some(result) => (result.map(|raw| raw.map(Output::Raw)), None),
        None => on_active_tab(context, call, lease, timeout, run).await,
    };
    let mut reply = match result {
        Ok(Some(Output::Own(reply))) => reply,
        Ok(Some(Output::Raw(raw))) if raw.is_daemon_start_failure() => {
            lease.end_processes().await;
            CallReply::refused(Decision::new(Code::AgentBrowserUnavailable, "agent-browser's daemon does not start"))
        }
        Ok(Some(Output::Raw(raw))) if raw.is_login_required() => CallReply::refused(login_required()),
        Ok(Some(Output::Raw(raw))) if call.output_file.is_some() && raw.is_out_of_space() => {
            // So that it takes no room and cannot be mistaken for a whole one.
            call.remove_output_file();
            CallReply::refused(Decision::new(Code::WorkspaceFull, "there is no room for the file"))
        }
        Ok(Some(Output::Raw(raw))) => {
            run.output_permit = services.output_worker.permit(raw.stdout.bytes.len() + raw.stderr.bytes.len()).await;
            CallReply::answered(run.output_permit.run(move || CommandResult::parse(&raw)).await)
        }
        Ok(None) => {
            // What still runs waits for the dialog.
            lease.end_processes().await;
            CallReply::done(Body::Data(json!({})))
        }
        Err(ExecError::NotByCli { later }) => CallReply::refused(cli_refusal(&call.command, later)),
        // The daemon did not get the command, so it cannot act later, and the next call waits for it.
        Err(error @ ExecError::Starting) => CallReply::refused(decision_for(&error, timeout)),
        Err(error) => {
            // It is not known how far agent-browser got, and what still runs could act later.
            lease.end_processes().await;
            CallReply::refused(decision_for(&error, timeout))
        }
    };
    if let Some(effect) = effect {
        reply.add_effect(effect);
    }
    reply
}

/// Carries out the command on the tab that the session acts on. One that has crashed ends the command.
async fn on_active_tab(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    timeout: Duration,
    run: &mut CompletedRun,
) -> Outcome {
    let deadline = Instant::now() + timeout;
    if let Err(end) = tabs::turn(context, &call.command, lease, deadline, run).await {
        return (end.map(|reply| Some(Output::Own(reply))), None);
    }
    if call.command.is_end_of_tab() {
        match tabs::close(context, &call.command, lease, deadline, run).await {
            Ok(None) => {}
            closed => return (closed.map(|reply| reply.map(Output::Own)), None),
        }
    }
    tokio::select! {
        biased;
        outcome = snapshot::of_one_document(context, call, lease, deadline, run) => outcome,
        () = tabs::wait_for_crash(lease) => (Err(ExecError::Unknown), None),
    }
}

/// Reads the page by the control gate.
async fn read(
    context: &CallContext,
    call: &ValidatedCall,
    gate: &GateSession,
    timeout: Duration,
    run: &mut CompletedRun,
) -> CallReply {
    run.transport = Some(GATE);
    let read = tokio::select! {
        read = snapshot::read(gate, &call.command, timeout, &context.cancel) => read,
        // A page with a dialog does not answer.
        () = gate.wait_for_dialog() => Ok((CallReply::done(Body::Data(json!({}))), None)),
    };
    match read {
        Ok((reply, secrets)) => {
            run.read_secrets = secrets.map(Ok);
            let size = if let Body::Data(data) = &reply.body { data.to_string().len() } else { 0 };
            run.output_permit = context.services.output_worker.permit(size).await;
            reply
        }
        Err(error) => CallReply::refused(decision_for(&error, timeout)),
    }
}

/// Answers a call of the subcommand `dialog`, and refuses others while a dialog is open.
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
    let dialog = gate.open_dialog().filter(|_| call.command.row.name != "close")?;
    let reason = format!("the page shows a dialog of the type `{}`, which waits for an answer", dialog.kind);
    Some(CallReply::refused(Decision::new(Code::DialogOpen, reason)))
}

/// Records that the session has opened a page, or has none any more.
fn record_page(services: &Services, call: &ValidatedCall, instance: Option<&str>, reply: &CallReply) {
    let (command, session) = (&call.command, &call.session);
    let url = command.value(|kind| kind == ValueKind::Url);
    if command.row.name == "close" || (reply.exit_code == 0 && url == Some(BLANK)) {
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
