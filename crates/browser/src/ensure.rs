//! Interface by which a call makes sure that the browser runs.

use std::fmt;

use browser_shell_core::decision::Decision;
use futures::future::BoxFuture;

use browser_shell_cdp::DebuggedBrowser;

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
