//! Health of the browser, as the runtime reports it to the orchestrator, and the interface by which a call makes sure that it runs.
//!
//! Invariants: only a browser that answers is healthy, or one that was stopped for idleness and starts with the next call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::decision::Decision;
use futures::future::BoxFuture;
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

/// Source of a running browser.
pub trait EnsureBrowser: Send + Sync {
    /// Waits until the browser runs, and keeps it running until the guard is dropped.
    ///
    /// # Errors
    ///
    /// Returns a decision with the reason if the browser does not run.
    fn ensure_running(&self) -> BoxFuture<'_, Result<BrowserGuard, Decision>>;

    /// Returns the id of the browser that runs now, which differs between two starts; `None` if it is unknown.
    fn instance(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

/// Browser that another program starts.
pub struct ExternalBrowser(pub DebuggedBrowser);

impl EnsureBrowser for ExternalBrowser {
    fn ensure_running(&self) -> BoxFuture<'_, Result<BrowserGuard, Decision>> {
        // A call reports a browser that does not answer.
        Box::pin(std::future::ready(Ok(BrowserGuard(None))))
    }

    fn instance(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.0.instance().await.ok() })
    }
}

/// Guard that keeps the browser from being stopped for idleness.
pub struct BrowserGuard(Option<Box<dyn FnOnce() + Send + Sync>>);

impl BrowserGuard {
    /// Creates a guard that calls `release` when it is dropped.
    pub fn new(release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(release)))
    }
}

impl fmt::Debug for BrowserGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserGuard")
    }
}

impl Drop for BrowserGuard {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
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
