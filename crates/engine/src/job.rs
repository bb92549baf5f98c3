//! An action to carry out, and the time that its parts may take.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use browser_shell_core::action::Action;
use tokio_util::sync::CancellationToken;

use browser_shell_browser::gate::GateSession;

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
pub(super) const EFFECT_TIME: Duration = Duration::from_secs(5);

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
