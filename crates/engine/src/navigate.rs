//! Pages that are opened, loaded again, or returned to.

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::{LOGIN_ERRORS, login_required};
use serde_json::{Value, json};

use crate::job::Job;
use crate::outcome::Outcome;
use browser_shell_browser::gate::{GateSession, HistoryMove, OpenError, OpenedPage};

/// Opens a URL.
pub(super) async fn open(job: &Job<'_>, url: &str) -> Outcome {
    match job.gate.open_page(url, job.deadline).await {
        Ok(OpenedPage { url, title, awaits }) => Outcome::Done(answer(json!({ "title": title, "url": url }), awaits)),
        Err(error) => failure(job, error),
    }
}

/// Loads the page again.
pub(super) async fn reload(job: &Job<'_>) -> Outcome {
    match job.gate.reload_page(job.deadline).await {
        Ok(OpenedPage { url, awaits, .. }) => Outcome::Done(answer(json!({ "url": url }), awaits)),
        Err(error) => failure(job, error),
    }
}

fn answer(mut data: Value, awaits: Option<String>) -> Value {
    if let (Some(awaits), Some(members)) = (awaits, data.as_object_mut()) {
        members.insert("awaits".to_owned(), awaits.into());
    }
    data
}

fn failure(job: &Job<'_>, error: OpenError) -> Outcome {
    match error {
        OpenError::Network(error) if LOGIN_ERRORS.contains(&error.as_str()) => Outcome::Failed(login_required()),
        OpenError::Network(error) => Outcome::Message(format!("the page was not opened: {error}")),
        OpenError::NoPage => {
            Outcome::Message("the server answered without a page, and the tab stays at its own".to_owned())
        }
        OpenError::Tab(error) if std::time::Instant::now() >= job.deadline => {
            tracing::debug!(%error, "a page did not open in time");
            Outcome::TimedOut
        }
        OpenError::Tab(error) => Outcome::Failed(error.into()),
    }
}

/// Goes one page back in the history, or forward.
pub(super) async fn step(gate: &GateSession, is_back: bool) -> Outcome {
    let without_effect = |reason: String| Outcome::Failed(Decision::new(Code::NoEffect, reason));
    match gate.step_in_history(is_back).await {
        Ok(Some(HistoryMove::Taken(url))) => Outcome::Done(json!({ "url": url })),
        Ok(Some(HistoryMove::NoPage(_)) | None) => {
            let name = if is_back { "back" } else { "forward" };
            without_effect(format!("this tab has no page to go {name} to"))
        }
        Ok(Some(HistoryMove::Stayed(_))) => without_effect("the tab stays at the page that it shows".to_owned()),
        Err(error) => Outcome::Failed(error.into()),
    }
}
