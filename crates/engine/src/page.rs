//! Pages that are opened, loaded again or returned to, and those that are read, pictured and printed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::find::unknown;
use crate::job::{COMMIT_TIME, Carried, INTERVAL, Job, Outcome};
use crate::observed;
use crate::tabs::no_tab;
use browser_shell_browser::gate::{
    ElementError, GateSession, HistoryMove, OpenError, OpenedPage, ReadError, ReadPage, SnapshotRequest,
};
use browser_shell_cdp::CommandError;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::output::{LOGIN_ERRORS, login_required};
use browser_shell_core::selector::SelectorChain;

/// Longest wait for a document that is being replaced.
const CHANGE_TIME: Duration = Duration::from_secs(2);

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
        OpenError::Tab(error) if Instant::now() >= job.deadline => {
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

/// Reads the page as a tree.
pub(super) async fn snapshot(job: &Job<'_>, request: &SnapshotRequest) -> Carried {
    let until = job.answer_time();
    let read = || job.gate.read_page(request, until);
    let read = match &request.selector {
        None => Ok(Some(read().await)),
        Some(selector) => observed::look(job.gate, Some(selector), read()).await,
    };
    match read {
        Ok(Some(Ok(ReadPage { data, secrets, .. }))) => Carried { outcome: Outcome::Done(data), secrets },
        Ok(Some(Err(error))) => unread(&error).into(),
        Ok(None) => unread(&ReadError::Changed).into(),
        Err(decision) => Outcome::Failed(decision).into(),
    }
}

fn unread(error: &ReadError) -> Outcome {
    match error {
        ReadError::Stale(_) | ReadError::OtherTab(_) => {
            Outcome::Failed(Decision::new(Code::StaleReference, error.to_string()))
        }
        ReadError::Command(CommandError::TimedOut(_)) => {
            Outcome::Failed(Decision::new(Code::TimedOut, "the page does not answer"))
        }
        error => Outcome::Message(error.to_string()),
    }
}

/// Returns the number of elements that a selector matches.
pub(super) async fn count(job: &Job<'_>, selector: &str) -> Result<Value, Decision> {
    let until = job.until(CHANGE_TIME);
    loop {
        let count = async {
            match SelectorChain::parse(selector) {
                Some(chain) => job.gate.count(&chain).await.map(|count| count.map(|count| count as u64)),
                None => job.gate.count_matches(selector).await,
            }
        };
        let counted = observed::look(job.gate, Some(selector), count).await?;
        match counted.unwrap_or(Err(ElementError::Gone)) {
            Err(ElementError::Gone) if Instant::now() < until => tokio::time::sleep(INTERVAL).await,
            counted => return Ok(json!({ "count": counted?.ok_or_else(unknown)? })),
        }
    }
}

/// Returns the URL of the page, and of the one that is about to be shown if it comes soon.
pub(super) async fn url(job: &Job<'_>) -> Result<Value, Decision> {
    let time = job.deadline.saturating_duration_since(Instant::now());
    job.gate.wait_until_committed(COMMIT_TIME.min(time)).await;
    let url = job.gate.active_url().ok_or_else(no_tab)?;
    // A new tab whose page has not come yet.
    Ok(json!({ "url": if url.is_empty() { "about:blank".to_owned() } else { url } }))
}

/// Returns the title of the page.
pub(super) async fn title(gate: &GateSession) -> Result<Value, ElementError> {
    Ok(json!({ "title": gate.title().await? }))
}

/// Takes a picture of what is in view, as soon as the tab is shown.
pub(super) async fn picture_of_view(job: &Job<'_>) -> Carried {
    let picture = match job.gate.picture_when_shown().await {
        Ok(picture) => picture,
        Err(decision) => return Outcome::Failed(decision).into(),
    };
    // Behind the picture, so that they include what it shows.
    let (secrets, written) = tokio::join!(biased; job.gate.secrets(), async { job.write_file(&picture) });
    Carried { outcome: written.into(), secrets: secrets.ok() }
}

/// Takes a picture of the whole page.
pub(super) async fn picture_of_page(job: &Job<'_>) -> Result<Value, Decision> {
    job.write_file(&job.gate.picture_of_page().await?)
}

/// Prints the page.
pub(super) async fn print(job: &Job<'_>) -> Result<Value, Decision> {
    job.write_file(&job.gate.print().await?)
}
