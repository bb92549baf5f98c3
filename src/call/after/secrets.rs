//! Removal of the values of secret fields from the answer.
//!
//! Invariant: an answer is shown only if all pages of the session could be asked for these values.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::call::phases::{AfterStep, AnsweredCall};
use crate::call::reply::{COMMIT_TIME, CallReply};
use browser_shell_browser::gate::{GateSession, Secrets};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::Command;
use browser_shell_core::output::Body;
use browser_shell_core::policy::Engine;

/// Step that reads the secret fields, and refuses an answer whose secrets are unknown or that is a picture of one.
pub(crate) struct ReadSecrets;

/// Step that masks the values of secret fields.
pub(crate) struct MaskSecrets;

impl AfterStep for ReadSecrets {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(gate) = call.lease().and_then(|lease| lease.gate()).cloned() else { return };
            let read = call.run.as_mut().and_then(|run| run.read_secrets.take());
            let was_read = read.is_some();
            // What the command began to load may show other secrets.
            let is_replaced = gate.is_navigating();
            let mut is_loading = !gate.wait_until_committed(commit_time(call)).await;
            let mut read = match read {
                Some(read) if !is_replaced => read,
                _ => gate.secrets().await,
            };
            // It may have begun to load another page meanwhile.
            if !is_loading && gate.is_loading() {
                is_loading = !gate.wait_until_committed(commit_time(call)).await;
                read = gate.secrets().await;
            }
            is_loading |= gate.is_loading();
            let secrets = match read {
                Ok(secrets) => secrets,
                Err(_) if is_loading => Secrets { is_incomplete: true, ..gate.known_secrets() },
                Err(error) => {
                    tracing::warn!(%error, "a page did not report its secret fields");
                    if call.reply.decision.is_allowed() || call.reply.decision.code.describes_page() {
                        let reason = "a page did not say which secrets it shows";
                        withhold(call, Decision::new(Code::PageUnreadable, reason));
                    }
                    Secrets { is_incomplete: true, ..gate.known_secrets() }
                }
            };
            let is_picture = call.command().is_some_and(|command| matches!(command.row.name, "screenshot" | "pdf"));
            if is_picture
                && call.reply.decision.is_allowed()
                && let Some(refusal) = if secrets.is_visible { Some(plain()) } else { shown_secret(&gate).await }
            {
                withhold(call, refusal);
            }
            let shows_page =
                if is_loading { !was_read && shows_page(call) } else { is_picture && secrets.is_incomplete };
            if shows_page && call.reply.decision.is_allowed() {
                let reason = "the page began to load another document, or one in a frame, while it was read";
                withhold(call, Decision::new(Code::PageLoading, reason));
            }
            if let Some(run) = &mut call.run {
                run.secrets = secrets;
            }
            if is_loading && call.reply.decision.is_allowed() {
                call.reply.body.add_member("loading", true.into());
            }
        })
    }
}

impl AfterStep for MaskSecrets {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let engine = call.run.as_ref().and_then(|run| run.engine);
            let mut secrets = call.run.as_mut().map(|run| mem::take(&mut run.secrets)).unwrap_or_default();
            // Our own engine knows in which field a value is.
            if engine != Some(Engine::Cdp) {
                secrets.typed.append(&mut secrets.remainders);
            }
            if secrets.values.is_empty() && secrets.typed.is_empty() {
                return;
            }
            let mut body = mem::replace(&mut call.reply.body, Body::Empty);
            let stderr = mem::take(&mut call.reply.stderr);
            let mask = move || {
                let literals = secrets.literals();
                body.mask_literals(&literals);
                (body, literals.mask_message(&stderr))
            };
            (call.reply.body, call.reply.stderr) = call.process(mask).await;
        })
    }
}

/// Returns the time for a page to come that the command began to load.
fn commit_time(call: &AnsweredCall) -> Duration {
    let Some(validated) = &call.validated else { return Duration::ZERO };
    if validated.command.is_wait_for_time() || validated.command.row.name == "tab" {
        return Duration::ZERO;
    }
    COMMIT_TIME.min(validated.timeout.saturating_sub(call.context.started.elapsed()))
}

/// Returns the refusal of a picture that would show a secret.
fn plain() -> Decision {
    Decision::new(Code::PlainValueVisible, "the page shows a password or a one-time code as plain text")
}

/// Returns the refusal of a picture if the page shows a secret of a field as text, or does not say.
async fn shown_secret(gate: &Arc<GateSession>) -> Option<Decision> {
    let shows = tokio::select! {
        biased;
        () = gate.wait_for_dialog() => None,
        shows = gate.shows_secret() => shows.ok(),
    };
    match shows {
        Some(true) => Some(plain()),
        Some(false) => None,
        None => Some(Decision::new(Code::PageUnreadable, "the page did not say if its text has a secret")),
    }
}

/// Returns true if the answer has content of the page, which agent-browser has read.
fn shows_page(call: &AnsweredCall) -> bool {
    let is_read =
        |command: &Command| matches!(command.row.name, "snapshot" | "get" | "is" | "find" | "screenshot" | "pdf");
    call.reply.decision.code.describes_page() || call.command().is_some_and(is_read)
}

/// Replaces the answer by a refusal, and removes the file that the command wrote.
pub(super) fn withhold(call: &mut AnsweredCall, decision: Decision) {
    if let Some(validated) = &call.validated {
        validated.remove_output_file();
    }
    call.reply = CallReply::refused(decision);
}
