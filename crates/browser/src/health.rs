//! Health of the browser, as the runtime reports it to the orchestrator.
//!
//! Invariants: only a browser that answers is healthy, or one that was stopped for idleness and starts with the next call.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use browser_shell_cdp::DebuggedBrowser;

/// Interval between health checks.
pub const HEALTH_INTERVAL: Duration = Duration::from_secs(1);

/// Timeout of one health check.
pub const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// Number of failed checks in a row after which the browser counts as hung: half a minute, which a busy machine never takes.
pub const MAX_UNANSWERED: u32 = 10;

/// Health of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrowserHealth {
    /// Starts, restarts, or has just stopped answering.
    Starting,
    /// Answers.
    Ready,
    /// Stopped because no call used it; the next call starts it.
    Idle,
    /// Does not run, and is not being started.
    Unavailable,
}

impl BrowserHealth {
    /// Returns the word of the orchestrator's contract.
    #[must_use]
    pub const fn status(self) -> &'static str {
        match self {
            Self::Ready | Self::Idle => "healthy",
            Self::Starting => "degraded",
            Self::Unavailable => "unhealthy",
        }
    }

    /// Returns whether a browser runs and answers.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Returns whether a call would find a browser now.
    #[must_use]
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::Ready | Self::Idle)
    }
}

/// Returns whether the browser answers within [`HEALTH_TIMEOUT`].
pub async fn answers(browser: &DebuggedBrowser) -> bool {
    tokio::time::timeout(HEALTH_TIMEOUT, browser.version()).await.is_ok_and(|version| version.is_ok())
}

/// Sets the health, and notifies its receivers if it changed. Returns whether it did.
#[allow(clippy::must_use_candidate, reason = "most callers only notify")]
pub fn set(health: &watch::Sender<BrowserHealth>, now: BrowserHealth) -> bool {
    health.send_if_modified(|last| std::mem::replace(last, now) != now)
}

/// Watches a browser that another program starts.
pub async fn watch(browser: DebuggedBrowser, health: Arc<watch::Sender<BrowserHealth>>, stop: CancellationToken) {
    loop {
        let now = if answers(&browser).await { BrowserHealth::Ready } else { BrowserHealth::Unavailable };
        if set(&health, now) {
            tracing::info!(status = now.status(), "the browser");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(HEALTH_INTERVAL) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_browser_that_answers_is_active() {
        use BrowserHealth::{Idle, Ready, Starting, Unavailable};
        let seen = [Starting, Ready, Idle, Unavailable].map(|health| (health.is_active(), health.is_usable()));
        assert_eq!(seen, [(false, false), (true, true), (false, true), (false, false)]);
    }
}
