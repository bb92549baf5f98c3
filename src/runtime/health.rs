//! What is known of the browser, and what an orchestrator is told of it.
//!
//! Decides what counts as healthy: only a browser that answers, or one that was stopped for idleness and starts with the next
//! call. Must never say so of one that nobody has asked.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::browser::Browser;

/// How often the browser is asked.
pub const TICK: Duration = Duration::from_secs(1);

/// How long it has to answer.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// How many times in a row it may say nothing before it is taken for hung: half a minute, which a busy machine never takes.
pub const SILENCES: u32 = 10;

/// What is known of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It is being started, or started again, or has just stopped answering.
    Starting,
    /// It answers.
    Ready,
    /// It was stopped since nobody used it; the next call starts it.
    Asleep,
    /// It is not there, and nothing is done about it for now.
    Gone,
}

impl Condition {
    /// The word of the contract.
    #[must_use]
    pub const fn status(self) -> &'static str {
        match self {
            Self::Ready | Self::Asleep => "healthy",
            Self::Starting => "degraded",
            Self::Gone => "unhealthy",
        }
    }

    /// Whether a browser runs.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Ready | Self::Starting)
    }
}

/// Whether the browser answers, within the patience for it.
pub async fn answers(browser: &Browser) -> bool {
    tokio::time::timeout(PATIENCE, browser.version()).await.is_ok_and(|version| version.is_ok())
}

/// Watches a browser that somebody else starts.
pub async fn watch(browser: Browser, condition: Arc<watch::Sender<Condition>>, stop: CancellationToken) {
    loop {
        let now = if answers(&browser).await { Condition::Ready } else { Condition::Gone };
        let changed = condition.send_if_modified(|last| std::mem::replace(last, now) != now);
        if changed {
            tracing::info!(status = now.status(), "the browser");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
    }
}
