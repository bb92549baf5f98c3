//! Replacement of a session's tabs by an empty one.

use browser_shell_core::policy::Isolation;

use crate::gate::page::Loss;
use crate::gate::scope::ClientScope;
use crate::gate::session::context::BLANK;
use crate::gate::session::state::GateSession;

impl GateSession {
    /// Replaces hung tabs by an empty one. Returns the number of hung tabs.
    pub async fn recover(&self) -> usize {
        let Some(browser) = self.browser() else { return 0 };
        // Two sessions with the same tabs must not both replace them.
        let _recovery = browser.recovery.lock().await;
        let pages = self.pages(&browser);
        let hung = browser.hung(&pages).await;
        let is_active = hung.iter().any(|page| browser.is_acted_on(page));
        if is_active || (hung.len() == pages.len() && !hung.is_empty()) {
            // Chromium ends with its last tab, so the new one is opened first.
            let context = self.context().and_then(|context| context.id);
            match browser.create_page(context.as_ref(), BLANK, false).await {
                Ok(page) => page.set_loss(Loss::Hang),
                Err(error) => {
                    tracing::debug!(%error, "cannot open an empty tab");
                    return 0;
                }
            }
        }
        browser.close_and_wait(&hung).await;
        hung.len()
    }

    /// Replaces all tabs of the default context by an empty one. A context of the session's own ends with it.
    pub async fn blank(&self) {
        let Some((browser, pages)) = self.current() else { return };
        if self.isolation == Isolation::Session {
            return;
        }
        // Chromium ends with its last tab, so the new one is opened first.
        if let Err(error) = browser.create_page(None, BLANK, false).await {
            tracing::debug!(%error, "cannot open an empty tab");
            return;
        }
        browser.close_and_wait(&pages).await;
    }
}
