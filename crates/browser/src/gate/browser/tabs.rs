//! Tabs that the gate opens and closes.

use std::sync::Arc;
use std::time::Duration;

use crate::gate::browser::setup::SETUP_TIMEOUT;
use crate::gate::browser::state::Browser;
use crate::gate::error::GateError;
use crate::gate::page::Page;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::page::Navigate;
use browser_shell_cdp::protocol::target::{CloseTarget, CreateTarget, GetTargetInfo};
use browser_shell_cdp::protocol::{BrowserContextId, TargetId};

/// Timeout for tabs to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between two looks for a new tab.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl Browser {
    /// Opens a tab, waits until it is set up, and opens a URL in it. Chromium would request the URL before that.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not open it.
    pub async fn create_page(
        &self,
        context: Option<&BrowserContextId>,
        url: &str,
        new_window: bool,
    ) -> Result<Arc<Page>, GateError> {
        let blank = CreateTarget {
            url: "about:blank",
            browser_context_id: context,
            new_window: Some(new_window),
            ..CreateTarget::default()
        };
        let target = {
            let _opening = self.opening.read().await;
            let target = self.root(&blank).await?.target_id;
            self.tables().opened.insert(target.clone());
            target
        };
        let ready = async {
            let page = self.wait_for_page(&target).await;
            page.wait_until_ready().await;
            page
        };
        let page = tokio::time::timeout(SETUP_TIMEOUT, ready).await.map_err(|_| GateError::NoTab)?;
        if url != "about:blank" {
            self.connection.notify(Some(&page.session), &Navigate::to(url));
        }
        Ok(page)
    }

    /// Returns a tab by its target, as soon as Chromium has reported it.
    pub(super) async fn wait_for_page(&self, target: &TargetId) -> Arc<Page> {
        loop {
            if let Some(page) = self.page(target) {
                return page;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns the title that a tab has now. Chromium does not report when a page changes its title.
    pub(in crate::gate) async fn title(&self, target: &TargetId) -> Option<String> {
        let found = self.root(&GetTargetInfo { target_id: target }).await.ok()?;
        Some(found.target_info.title)
    }

    /// Closes tabs and waits until they are gone: one that is closing could become a session's page.
    pub(in crate::gate) async fn close_and_wait(&self, pages: &[Arc<Page>]) {
        for page in pages {
            let _ = self.close_page(page).await;
        }
        let gone = async {
            while pages.iter().any(|page| self.page(&page.target).is_some()) {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        if tokio::time::timeout(CLOSE_TIMEOUT, gone).await.is_err() {
            tracing::warn!("tabs did not close in time");
        }
    }

    /// Closes a tab.
    pub(in crate::gate) async fn close_page(&self, page: &Page) -> Result<(), CommandError> {
        self.root(&CloseTarget { target_id: &page.target }).await.map(drop)
    }

    /// Closes a tab of a context, that of the default context for `None`. If it is the last one, an empty one is opened first:
    /// Chromium ends with its last tab.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not open or close a tab.
    pub async fn replace_or_close_page(
        &self,
        context: Option<&BrowserContextId>,
        page: &Page,
    ) -> Result<(), GateError> {
        let is_last = {
            let mut tables = self.tables();
            tables.closing.insert(page.target.clone());
            let remains = |other: &Arc<Page>| {
                other.context == page.context
                    && other.is_ready()
                    && other.is_usable()
                    && !tables.closing.contains(&other.target)
            };
            !tables.pages.values().any(remains)
        };
        let close = async {
            if is_last {
                self.create_page(context, "about:blank", false).await?;
            }
            Ok(self.close_page(page).await?)
        };
        let closed = close.await;
        if closed.is_err() {
            self.tables().closing.remove(&page.target);
        }
        closed
    }
}
