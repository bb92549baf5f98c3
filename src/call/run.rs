//! Run of a validated call: the session's lease, the output file, the command, and recovery after a failure.

use std::time::{Duration, Instant};

use crate::agent_browser::Invocation;
use crate::call::before::file_path::prepare_output_file;
use crate::call::local;
use crate::call::options::{OutputStyle, PageAfterClose};
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::reply::CallReply;
use crate::call::services::Services;
use crate::call::steps::run_steps;
use crate::call::time::{MIN_COMMAND_TIME, rounded_seconds};
use crate::gate::{GateError, GateSession};
use crate::os::exec::ExecError;
use crate::session::{Lease, Ticket};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::{Command, LocalAnswer, ValueKind};
use browser_shell_core::output::{Body, CommandResult, RawOutput};
use serde_json::json;

/// URL of the empty page.
const BLANK: &str = "about:blank";

/// Time for a command to end by itself after a dialog has opened.
const DIALOG_GRACE: Duration = Duration::from_millis(1500);

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
    let active = lease.gate().map(GateSession::begin_call);
    if let Some(reply) = answer_for_dialog(call, &lease).await {
        run.lease = Some(lease);
        run.active = active;
        return Ok((run, reply));
    }
    let Prepared { timeout, unreachable } = match call.command.row.name {
        // A session without a browser is closed all the same.
        "close" => prepare(context, &lease, timeout).await.unwrap_or(Prepared { timeout, unreachable: None }),
        _ => prepare(context, &lease, timeout).await?,
    };
    let instance = call.browser_instance.clone().or_else(|| lease.gate().and_then(|gate| gate.instance()));
    if let Some(instance) = &instance
        && !call.command.works_without_page()
        && services.pages.is_lost(&call.session, instance)
    {
        let reason = "the browser was started again after the session opened its page, and now shows an empty one";
        return Err(Decision::new(Code::PageLost, reason));
    }
    let result = execute(context, &call.command, &lease, timeout, &mut run).await;
    run.active = active;
    let mut reply = match result {
        Ok(Some(raw)) if raw.is_daemon_start_failure() => {
            lease.end_processes().await;
            CallReply::refused(Decision::new(Code::AgentBrowserUnavailable, "agent-browser's daemon does not start"))
        }
        Ok(Some(raw)) if raw.is_login_required() => CallReply::refused(login_required()),
        Ok(Some(raw)) if call.output_file.is_some() && raw.is_out_of_space() => {
            // So that it takes no room and cannot be mistaken for a whole one.
            call.remove_output_file();
            CallReply::refused(Decision::new(Code::WorkspaceFull, "there is no room for the file"))
        }
        Ok(Some(raw)) => {
            run.output_permit = services.output_worker.permit(raw.stdout.bytes.len() + raw.stderr.bytes.len()).await;
            CallReply::answered(run.output_permit.run(move || CommandResult::parse(&raw)).await)
        }
        Ok(None) => {
            // What still runs waits for the dialog.
            lease.end_processes().await;
            CallReply::answered(CommandResult { exit_code: 0, body: Body::Data(json!({})), stderr: String::new() })
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

/// Returns the refusal of a site that asks for a login.
pub(super) fn login_required() -> Decision {
    Decision::new(Code::LoginRequired, "the site asks for a login by HTTP authentication")
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
                let body = Body::Data(json!({ "dialog": dialog.to_json(), "answer": dialog.answer }));
                CallReply::answered(CommandResult { exit_code: 0, body, stderr: String::new() })
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

/// Runs the command by the transport and records in `run` how it ran. Returns `None` if a dialog keeps it from ending.
async fn execute(
    context: &CallContext,
    command: &Command,
    lease: &Lease,
    timeout: Duration,
    run: &mut CompletedRun,
) -> Result<Option<RawOutput>, ExecError> {
    run.sandbox = Some(lease.sandbox().status().to_owned());
    run.tabs = lease.gate().and_then(|gate| gate.tabs());
    let lists_cursor_elements = context.output_style() == OutputStyle::Plain;
    let invocation = Invocation {
        session: lease.paths(),
        command,
        timeout,
        cancel: &context.cancel,
        state: lease.transport_state(),
        cdp_port: lease.sandbox().browser_port(),
        sandbox: lease.sandbox(),
    };
    let result = tokio::select! {
        biased;
        result = run_steps(&*context.services.transport, invocation, lists_cursor_elements) => result.map(Some),
        () = wait_for_dialog(lease) => Ok(None),
    };
    run.transport = lease.transport_state().take_transport();
    result
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

/// Outcome of the preparation of a call.
struct Prepared {
    /// Time that remains for the command.
    timeout: Duration,
    /// Reason why Chromium cannot be reached.
    unreachable: Option<GateError>,
}

/// Prepares the session's part of the browser for the call.
///
/// # Errors
///
/// The refusal of the call. If Chromium cannot be reached, agent-browser reports it.
async fn prepare(context: &CallContext, lease: &Lease, timeout: Duration) -> Result<Prepared, Decision> {
    let Some(gate) = lease.gate() else { return Ok(Prepared { timeout, unreachable: None }) };
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
        if lease.is_first {
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
    Ok(Prepared { timeout: timeout.saturating_sub(began.elapsed()).max(MIN_COMMAND_TIME), unreachable })
}

/// Replaces hung tabs after a call that failed. Its reply does not wait for this; the session's next call does, by the lease.
fn recover_tabs_in_background(services: &Services, lease: Lease) {
    services.background.spawn(async move {
        recover_tabs(&lease).await;
        drop(lease);
    });
}

/// Closes hung tabs: one would keep a new daemon from connecting for longer than most calls may take.
async fn recover_tabs(lease: &Lease) {
    let Some(gate) = lease.gate() else { return };
    match gate.recover().await {
        0 => {}
        count => tracing::warn!(count, "hung tabs were closed"),
    }
}

/// Returns the refusal of a command with a text that agent-browser's CLI would read as a flag.
fn cli_refusal(command: &Command, later: bool) -> Decision {
    let refusal = command.cli_refusal().cloned();
    let mut refusal = refusal.unwrap_or_else(|| Decision::new(Code::FlagGlobal, "a text is a flag of agent-browser"));
    if later {
        refusal
            .reason
            .push_str(" of a session's first call, and of one after a failure: take a snapshot, then try again");
    }
    refusal
}

/// Returns the decision for a run without a result. Paths and system errors are logged only.
fn decision_for(error: &ExecError, timeout: Duration) -> Decision {
    match error {
        ExecError::TimedOut => Decision::new(
            Code::TimedOut,
            format!("timed out after {} s; everything that the call started was ended", rounded_seconds(timeout)),
        ),
        ExecError::Starting => Decision::new(
            Code::TimedOut,
            format!(
                "timed out after {} s: agent-browser is still starting, and the command did not run; try again",
                rounded_seconds(timeout)
            ),
        ),
        ExecError::Cancelled => {
            Decision::new(Code::Cancelled, "the client canceled the call; everything that it started was ended")
        }
        ExecError::Unknown => Decision::new(
            Code::OutcomeUnknown,
            "the connection to agent-browser was lost, and it is not known whether the command ran",
        ),
        ExecError::Start { .. } | ExecError::Wait(_) | ExecError::NotByCli { .. } => {
            tracing::error!(%error, "cannot run agent-browser");
            Decision::new(Code::AgentBrowserUnavailable, "agent-browser cannot be started")
        }
    }
}
