//! Report of what pages did during a call: documents that were refused or are errors, dialogs, downloads, new pages.

use futures::future::BoxFuture;

use crate::call::after::secrets::withhold;
use crate::call::phases::{AfterStep, AnsweredCall};
use crate::call::reply::CallReply;
use browser_shell_browser::gate::{GateSession, Notice, Secrets};
use browser_shell_core::grammar::Command;
use browser_shell_core::output::mask::{self, Literals};
use browser_shell_core::output::{Body, address, login_required, quoted};

/// Type of the dialog in which Chromium asks for a name and a password.
const AUTHENTICATION: &str = "auth";

/// Maximum length of a text of a page in a notice, in characters.
const MAX_TEXT: usize = 1000;

/// Least HTTP status that is an error.
const FIRST_ERROR: u64 = 400;

/// Note about a tab that closed without a command.
const TAB_CLOSED: &str = "a tab that a page had opened was closed";

/// Step that reports what pages did.
pub(crate) struct ReportNotices;

impl AfterStep for ReportNotices {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(gate) = call.lease().and_then(|lease| lease.gate()).cloned() else { return };
            gate.wait_until_opened().await;
            gate.wait_until_decided().await;
            // The policy may have changed while the command ran, and a frame may have been read.
            if let Some(decision) = gate.leave_refused_frames().await
                && call.reply.decision.is_allowed()
            {
                call.context.host.clone_from(&decision.host);
                withhold(call, decision);
            }
            let notices = gate.take_notices();
            if !notices.is_empty() {
                let shortener = Shortener::of(call);
                for (notice, is_new) in notices {
                    report(call, &shortener, notice, is_new);
                }
            }
            report_status(call, &gate).await;
            if call.context.output_style().is_plain() {
                report_pages(call, &gate);
            }
        })
    }
}

/// Shortener of texts of pages. It masks them before, because a part of a secret is not recognized.
struct Shortener(Literals);

impl Shortener {
    fn of(call: &AnsweredCall) -> Self {
        let known = call.run.as_ref().map(|run| &run.secrets);
        Self(known.map(Secrets::literals).unwrap_or_default())
    }

    fn shorten(&self, text: &str) -> String {
        mask::text(&self.0.mask_message(text)).chars().take(MAX_TEXT).collect()
    }
}

/// Adds a notice to the reply. A document of the page itself that was refused makes the reply a refusal, if this call caused it.
fn report(call: &mut AnsweredCall, shortener: &Shortener, notice: Notice, is_new: bool) {
    // A text of a page may be a secret that is not known.
    let is_plain = call.context.output_style().is_plain();
    let hides_texts = call.run.as_ref().is_some_and(|run| run.secrets.is_incomplete);
    match notice {
        Notice::RefusedDocument { decision, is_frame: false } if is_new => {
            call.context.host.clone_from(&decision.host);
            let mut reply = CallReply::refused(decision);
            reply.note("the page was about to show a document that the policy refuses, and stayed where it was");
            call.reply = reply;
        }
        Notice::RefusedDocument { decision, is_frame } => {
            let part =
                if is_frame { "a frame of the page was left out" } else { "the page was kept from another document" };
            let host = decision.host.as_deref().unwrap_or("no host");
            call.reply.note(&format!("{part}: {} ({host})", decision.code));
        }
        Notice::Dialog(dialog) if dialog.kind == AUTHENTICATION && is_new && is_navigation(call) => {
            call.reply = CallReply::refused(login_required());
        }
        Notice::Dialog(dialog) => {
            let dialog = dialog.shown(|text| shortener.shorten(text));
            let state = dialog.answer.unwrap_or("open: answer it with `dialog accept` or `dialog dismiss`");
            let shown = |before: &str, text: &str| {
                let is_shown = is_plain && !hides_texts && !text.is_empty();
                if is_shown { format!("{before}{}", quoted(text)) } else { String::new() }
            };
            let message = shown(" with ", &dialog.message) + &shown(" and the default ", &dialog.default);
            call.reply.note(&format!("a dialog of the type `{}`{message} appeared and is {state}", dialog.kind));
            if is_new && !hides_texts {
                call.reply.body.add_member("dialog", dialog.to_json());
            }
        }
        Notice::Permission(dialog) => {
            let dialog = dialog.shown(|text| shortener.shorten(text));
            let state = dialog.answer.unwrap_or("dismissed");
            call.reply
                .note(&format!("the page asked for the permission `{}`, and the question is {state}", dialog.message));
            // A dialog of another type says more.
            if is_new && !hides_texts && !call.reply.body.has_member("dialog") {
                call.reply.body.add_member("dialog", dialog.to_json());
            }
        }
        Notice::TabCrashed => call.reply.note("a tab that was not the active one crashed, and was closed"),
        Notice::TooManyTabs => {
            call.reply.note("a page opened more tabs than a session may have; those beyond the limit were closed");
        }
        // The answer says it, or that of the call before.
        Notice::TabClosed
            if call.command().is_none_or(|command| matches!(command.row.name, "tab" | "close")) && is_new => {}
        Notice::TabClosed => call.reply.note(TAB_CLOSED),
        Notice::ClosedScheme { scheme } => {
            call.reply
                .note(&format!("the page led to a `{scheme}:` address, which the browser does not open from a page"));
        }
        Notice::KeptSecret => call
            .reply
            .note("the text of a field for a password or a code stayed in it: it cannot be copied, cut or dragged out"),
        Notice::OtherProgram { .. } if hides_texts => call.reply.note("a link to another program was not followed"),
        Notice::OtherProgram { scheme } => {
            call.reply.note(&format!("a link to another program (`{scheme}:`) was not followed"));
        }
        Notice::Download { .. } if hides_texts => call.reply.note("a download was denied; downloads are off"),
        Notice::Download { name } => {
            call.reply
                .note(&format!("a download of {} was denied; downloads are off", quoted(&shortener.shorten(&name))));
        }
    }
}

/// Adds the HTTP status of the document that a command opened, if it is an error.
async fn report_status(call: &mut AnsweredCall, gate: &GateSession) {
    if !is_navigation(call) || call.reply.exit_code != 0 {
        return;
    }
    let url = match &call.reply.body {
        Body::Data(data) => data.get("url").and_then(serde_json::Value::as_str).map(str::to_owned),
        _ => None,
    };
    let Some(url) = url else { return };
    if let Some(status) = gate.document_status(&url).await.filter(|status| *status >= FIRST_ERROR) {
        call.reply.body.add_member("status", status.into());
    }
}

/// Notes tabs that appeared and pages that changed, unless the answer is about them, and the tab that is active after the end of
/// another one.
fn report_pages(call: &mut AnsweredCall, gate: &GateSession) {
    let hides_texts = call.run.as_ref().is_none_or(|run| run.secrets.is_incomplete);
    if call.command().is_some_and(Command::is_end_of_tab) && call.reply.exit_code == 0 && !hides_texts {
        return note_active_tab(call, gate);
    }
    let is_told =
        is_navigation(call) || call.command().is_none_or(|command| matches!(command.row.name, "tab" | "close"));
    if hides_texts || is_told || !call.reply.decision.is_allowed() {
        return;
    }
    let before = call.run.as_mut().and_then(|run| run.tabs.take());
    let (Some(before), Some(after)) = (before, gate.tabs()) else { return };
    let has_ended = before.iter().any(|tab| after.iter().all(|known| known.target != tab.target));
    let shown = |url: &str| match url {
        "" => "about:blank".to_owned(),
        url if url.starts_with("blob:") || url.starts_with("data:") => {
            format!("{}, which cannot be read: only pages of http and https can", address(url))
        }
        url => address(url).into_owned(),
    };
    for tab in after {
        match before.iter().find(|known| known.target == tab.target) {
            Some(known) if known.url == tab.url && known.documents == tab.documents => {}
            Some(known) if known.url == tab.url => call.reply.note("the page was loaded again"),
            Some(_) => call.reply.note(&format!("the page is now {}", shown(&tab.url))),
            None if tab.is_loading => call.reply.note(&format!("a new tab is loading: {}", shown(&tab.url))),
            None => call.reply.note(&format!("a new tab opened: {}", shown(&tab.url))),
        }
    }
    if has_ended {
        if !call.reply.stderr.contains(TAB_CLOSED) {
            call.reply.note("a tab was closed");
        }
        note_active_tab(call, gate);
    }
}

/// Notes which tab is the active one.
fn note_active_tab(call: &mut AnsweredCall, gate: &GateSession) {
    if let Some(url) = gate.active_url() {
        call.reply.note(&format!("the active tab is now {}", address(&url)));
    }
}

/// Returns true if the command opened a page.
fn is_navigation(call: &AnsweredCall) -> bool {
    call.command().is_some_and(Command::is_navigation)
}
