//! Interface by which a call makes sure that the browser runs.

use std::fmt;

use browser_shell_core::decision::Decision;
use futures::future::BoxFuture;

/// Source of a running browser.
pub trait EnsureBrowser: Send + Sync {
    /// Waits until the browser runs, and keeps it running until the guard is dropped.
    ///
    /// # Errors
    ///
    /// Returns a decision with the reason if the browser does not run.
    fn ensure_running(&self) -> BoxFuture<'_, Result<BrowserGuard, Decision>>;
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
