//! Start of an idle browser by a call.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::ensure::{BrowserGuard, EnsureBrowser};
use crate::health::BrowserHealth;
use crate::supervisor::run::ChromiumSupervisor;
use browser_shell_core::decision::{Code, Decision};

impl EnsureBrowser for Arc<ChromiumSupervisor> {
    fn ensure_running(&self) -> BoxFuture<'_, Result<BrowserGuard, Decision>> {
        Box::pin(async move {
            let supervisor = self.clone();
            supervisor.usage.begin();
            let guard = BrowserGuard::new(move || supervisor.usage.end());
            let mut health = self.health.subscribe();
            loop {
                match *health.borrow_and_update() {
                    BrowserHealth::Ready => return Ok(guard),
                    BrowserHealth::Idle => self.wake_request.notify_one(),
                    BrowserHealth::Starting => {}
                    BrowserHealth::Unavailable => {
                        return Err(Decision::new(Code::BrowserUnavailable, "the browser does not keep running"));
                    }
                }
                if health.changed().await.is_err() {
                    return Err(Decision::new(Code::BrowserUnavailable, "the server stops"));
                }
            }
        })
    }

    fn instance(&self) -> BoxFuture<'_, Option<String>> {
        // Every start counts, so no request to the browser is needed.
        Box::pin(std::future::ready(Some(self.starts().to_string())))
    }
}
