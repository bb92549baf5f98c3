//! Pages that are read, pictured, printed and scrolled.

use std::time::{Duration, Instant};

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::selector::SelectorChain;
use serde_json::{Value, json};

use crate::find::unknown;
use crate::job::{INTERVAL, Job};
use crate::outcome::{Carried, Outcome};
use crate::tabs::no_tab;
use crate::{file, observed};
use browser_shell_browser::gate::{ElementError, GateSession, ReadError, ReadPage, SnapshotRequest};
use browser_shell_cdp::CommandError;

/// Longest wait for a document that is being replaced.
const CHANGE_TIME: Duration = Duration::from_secs(2);

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

/// Returns the URL of the page.
pub(super) fn url(gate: &GateSession) -> Result<Value, Decision> {
    gate.active_url().map(|url| json!({ "url": url })).ok_or_else(no_tab)
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
    let (secrets, written) = tokio::join!(biased; job.gate.secrets(), async { file::write(job.file, &picture) });
    Carried { outcome: written.into(), secrets: secrets.ok() }
}

/// Takes a picture of the whole page.
pub(super) async fn picture_of_page(job: &Job<'_>) -> Result<Value, Decision> {
    file::write(job.file, &job.gate.picture_of_page().await?)
}

/// Prints the page.
pub(super) async fn print(job: &Job<'_>) -> Result<Value, Decision> {
    file::write(job.file, &job.gate.print().await?)
}
