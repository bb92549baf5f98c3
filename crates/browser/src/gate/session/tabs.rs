//! Tabs of a session: which one it acts on, which one agent-browser acts on, and the end of one.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use crate::gate::browser::MAX_TABS;
use crate::gate::error::GateError;
use crate::gate::page::{Loss, Page};
use crate::gate::session::state::GateSession;
use browser_shell_cdp::protocol::TargetId;
use browser_shell_cdp::protocol::page::StopLoading;
use browser_shell_cdp::protocol::target::ActivateTarget;

/// Timeout for tabs that pages open to be set up. One that takes longer is reported by a later answer.
const OPENING_TIMEOUT: Duration = Duration::from_secs(1);

/// Timeout for a tab that has crashed to be replaced.
const REPLACEMENT_TIMEOUT: Duration = Duration::from_secs(12);

/// Interval between two looks at a tab that is about to show its first document.
const SHOW_INTERVAL: Duration = Duration::from_millis(10);

/// Waits until a tab is set up, and shows the document that it requested.
async fn is_shown(page: &Page) {
    page.wait_until_ready().await;
    while page.is_about_to_show() {
        tokio::time::sleep(SHOW_INTERVAL).await;
    }
}

impl GateSession {
    /// Returns the tab that the session acts on: the last used one. Without any, it is the first one, which agent-browser begins
    /// with.
    pub(in crate::gate) fn active_page(&self) -> Option<Arc<Page>> {
        let (_, pages) = self.current()?;
        let last = self.lock_used().last().cloned();
        let active = pages.iter().find(|page| Some(&page.target) == last.as_ref());
        active.or_else(|| pages.first()).cloned()
    }

    /// Returns the target of the tab that the session acts on.
    pub fn active_tab(&self) -> Option<TargetId> {
        self.active_page().map(|page| page.target.clone())
    }

    /// Returns the URL of the tab that the session acts on.
    pub fn active_url(&self) -> Option<String> {
        self.active_page().map(|page| page.url())
    }

    /// Makes a tab the one that the session acts on, if it is open.
    pub fn set_active_tab(&self, target: &TargetId) {
        let Some((_, pages)) = self.current() else { return };
        if pages.iter().any(|page| page.target == *target) {
            self.lock_used().take_use(target);
        }
    }

    /// Makes a tab the one that the session acts on, and shows it on the screen.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not open.
    pub async fn show_tab(&self, target: &TargetId) -> Result<(), GateError> {
        self.set_active_tab(target);
        let browser = self.browser().ok_or(GateError::NotRunning)?;
        browser.root(&ActivateTarget { target_id: target }).await?;
        Ok(())
    }

    /// Returns true if the session has as many tabs as it may have.
    pub fn has_all_tabs(&self) -> bool {
        self.current().is_some_and(|(_, pages)| pages.len() >= MAX_TABS)
    }

    /// Closes the tab that the session acts on, and returns its position and the number of tabs that remain. Returns `None` if it
    /// is the only one.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not close it.
    pub async fn close_active_tab(&self) -> Result<Option<(usize, usize)>, GateError> {
        let (Some((browser, pages)), Some(active)) = (self.current(), self.active_page()) else { return Ok(None) };
        let Some(position) = pages.iter().position(|page| page.target == active.target) else { return Ok(None) };
        if pages.len() < 2 {
            return Ok(None);
        }
        browser.close_page(&active).await?;
        let is_gone = tokio::time::timeout(REPLACEMENT_TIMEOUT, active.gone.cancelled()).await.is_ok();
        let remaining = self.current().map(|(_, pages)| pages.len()).unwrap_or_default();
        if is_gone { Ok(Some((position, remaining))) } else { Err(GateError::NoTab) }
    }

    /// Waits until tabs that have crashed are replaced.
    pub async fn wait_until_replaced(&self) {
        let Some((_, pages)) = self.all_pages() else { return };
        let gone = join_all(pages.iter().filter(|page| page.has_crashed()).map(|page| page.gone.cancelled()));
        if tokio::time::timeout(REPLACEMENT_TIMEOUT, gone).await.is_err() {
            tracing::warn!("a tab that has crashed was not replaced in time");
        }
    }

    /// Waits until tabs that pages have opened are set up.
    pub async fn wait_until_opened(&self) {
        let Some((_, pages)) = self.all_pages() else { return };
        let opened = pages.iter().filter(|page| !page.is_ready() || page.is_about_to_show()).map(|page| async {
            tokio::select! {
                () = is_shown(page) => {}
                () = page.gone.cancelled() => {}
            }
        });
        let _ = tokio::time::timeout(OPENING_TIMEOUT, join_all(opened)).await;
    }

    /// Waits until the tab that the session acts on has no navigation pending. Returns false if it still has one at the end of the time.
    pub async fn wait_until_committed(&self, time: Duration) -> bool {
        let Some(page) = self.active_page() else { return true };
        tokio::select! {
            biased;
            () = page.wait_until_committed() => true,
            () = page.gone.cancelled() => true,
            () = tokio::time::sleep(time) => !page.is_loading(),
        }
    }

    /// Returns true if the tab that the session acts on is about to show another document, as far as that is known.
    pub fn is_navigating(&self) -> bool {
        self.active_page().is_some_and(|page| page.is_navigating())
    }

    /// Returns true if the tab that the session acts on waits for the answer of a server.
    pub fn is_loading(&self) -> bool {
        self.active_page().is_some_and(|page| page.is_loading())
    }

    /// Waits until the tab that the session acts on waits for the answer of a server.
    pub async fn wait_until_loading(&self) {
        match self.active_page() {
            Some(page) => page.wait_until_pending().await,
            None => std::future::pending().await,
        }
    }

    /// Ends the navigation that is pending in the tab that the session acts on.
    pub fn stop_loading(&self) {
        if let (Some(browser), Some(page)) = (self.browser(), self.active_page()) {
            browser.connection.notify(Some(&page.session), &StopLoading {});
        }
    }

    /// Waits until a tab that the session acts on has crashed.
    pub async fn wait_for_crash(&self) {
        self.crash.notified().await;
    }

    /// Returns the loss of the tab that the session acts on, if an empty one is in its place.
    pub fn lost_tab(&self) -> Option<Loss> {
        self.active_page().and_then(|page| page.loss())
    }
}
