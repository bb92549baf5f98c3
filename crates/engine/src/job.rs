//! An action to carry out with the time that its parts may take, and its outcome.

use std::fs::OpenOptions;
use std::future::Future;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use browser_shell_browser::gate::{GateSession, Secrets};
use browser_shell_core::action::Action;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_system::os::describe;

/// Time for an element to appear.
pub(super) const APPEAR_TIME: Duration = Duration::from_secs(2);

/// Time for an element to be uncovered, shown, or still.
pub(super) const READY_TIME: Duration = Duration::from_millis(2500);

/// Time for a page to come that an act has begun to load. Its answer says if the page still loads then.
pub(super) const COMMIT_TIME: Duration = Duration::from_secs(3);

/// Time before the end of an action in which its answer is given.
const ANSWER_TIME: Duration = Duration::from_millis(250);

/// Interval between two looks at a page.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

/// Time for a page to tell what an act did.
const EFFECT_TIME: Duration = Duration::from_secs(5);

/// An action to carry out.
pub struct Job<'a> {
    /// The session's part of the browser.
    pub gate: &'a Arc<GateSession>,
    /// The action.
    pub action: &'a Action,
    /// Time that it may take.
    pub time: Duration,
    /// End of that time.
    pub deadline: Instant,
    /// Cancellation by the client.
    pub cancel: &'a CancellationToken,
    /// File that it writes.
    pub file: Option<&'a Path>,
}

impl Job<'_> {
    /// Returns the deadline of something that may take this time.
    pub(super) fn until(&self, time: Duration) -> Instant {
        self.deadline.min(Instant::now() + time)
    }

    /// Returns the time by which its answer is given.
    pub(super) fn answer_time(&self) -> Instant {
        self.deadline.checked_sub(ANSWER_TIME).unwrap_or(self.deadline)
    }

    /// Writes what Chromium made, in base64, to the file of the action, and returns the data of the answer.
    ///
    /// # Errors
    ///
    /// `workspace-full`, `workspace-unavailable`, or `page-unreadable` if Chromium made nothing.
    pub(super) fn write_file(&self, made: &Value) -> Result<Value, Decision> {
        let bytes = made.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
        let (Some(path), Some(bytes)) = (self.file, bytes) else {
            return Err(Decision::new(Code::PageUnreadable, "the browser took no picture"));
        };
        // A file of this name was removed before, and a link is not followed.
        let written =
            OpenOptions::new().write(true).create_new(true).open(path).and_then(|mut file| file.write_all(&bytes));
        written.map_err(|error| {
            // So that it takes no room and cannot be mistaken for a whole one.
            let _ = std::fs::remove_file(path);
            if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge) {
                return Decision::new(Code::WorkspaceFull, "there is no room for the file");
            }
            tracing::warn!(error = describe(&error), "cannot write the file of a call");
            Decision::new(Code::WorkspaceUnavailable, "the file cannot be written")
        })?;
        Ok(json!({ "path": path }))
    }
}

/// Waits for what a page tells. Returns `None` if it shows a dialog, waits for the server of another page, or does not answer.
pub(super) async fn ask_page<T>(gate: &GateSession, asked: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        told = asked => Some(told),
        () = gate.wait_for_dialog() => None,
        () = gate.wait_until_loading() => None,
        () = tokio::time::sleep(EFFECT_TIME) => None,
    }
}

/// Outcome of an action.
#[derive(Debug)]
pub enum Outcome {
    /// It is done, as far as that can be known, with the data of the answer.
    Done(Value),
    /// It failed, or was refused.
    Failed(Decision),
    /// It failed with a message that has no code of its own.
    Message(String),
    /// Its tab is gone, and it is not known how far it got.
    Unknown,
    /// Its time is over.
    TimedOut,
    /// The client has canceled it.
    Cancelled,
}

/// Action that was carried out.
pub struct Carried {
    /// Outcome.
    pub outcome: Outcome,
    /// Secrets of the pages, if they were read behind all that the answer shows.
    pub secrets: Option<Secrets>,
}

impl From<Outcome> for Carried {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, secrets: None }
    }
}

impl<E: Into<Decision>> From<Result<Value, E>> for Outcome {
    fn from(result: Result<Value, E>) -> Self {
        match result {
            Ok(data) => Self::Done(data),
            Err(error) => Self::Failed(error.into()),
        }
    }
}

impl<E: Into<Decision>> From<Result<Value, E>> for Carried {
    fn from(result: Result<Value, E>) -> Self {
        Outcome::from(result).into()
    }
}
