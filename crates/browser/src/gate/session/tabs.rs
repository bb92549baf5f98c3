//! Tabs of a session: what they show, which one it acts on, which one agent-browser acts on, the end of one, and their replacement by an
//! empty one.

use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::policy::Isolation;
use futures::future::join_all;

use crate::gate::browser::{Browser, GateError, MAX_TABS};
use crate::gate::page::{Loss, Page};
use crate::gate::scope::ClientScope;
use crate::gate::session::context::BLANK;
use crate::gate::session::state::GateSession;
use browser_shell_cdp::protocol::TargetId;
use browser_shell_cdp::protocol::page::StopLoading;
use browser_shell_cdp::protocol::runtime::Evaluate;
use browser_shell_cdp::protocol::target::ActivateTarget;

/// Timeout for tabs that pages open to be set up. One that takes longer is reported by a later answer.
const OPENING_TIMEOUT: Duration = Duration::from_secs(1);

/// Timeout for a tab that is still loading to be set up, when it is turned to.
const SETUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for a tab that has crashed to be replaced.
const REPLACEMENT_TIMEOUT: Duration = Duration::from_secs(12);

/// Interval between two looks at a tab that is about to show its first document.
const SHOW_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum time to ask a page for the status.
const STATUS_TIMEOUT: Duration = Duration::from_secs(1);

/// Expression for the status of the response that the document came from.
const STATUS: &str = "performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0";

/// Tab of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenTab {
    /// Id of the tab.
    pub target: TargetId,
    /// URL that it shows.
    pub url: String,
    /// Number of documents that it has shown, with its first one while that is on its way.
    pub documents: u64,
    /// True while its first document is on its way, which has the URL.
    pub is_loading: bool,
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
        // Of a server that takes long, one call waits.
        let is_coming = |page: &&Arc<Page>| (!page.is_ready() || page.is_about_to_show()) && !page.is_awaited_longer();
        let opened = pages.iter().filter(is_coming).map(|page| async {
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

    /// Returns the session's tabs; `None` if they are not known. Those that wait for the server of their first document come last.
    pub fn tabs(&self) -> Option<Vec<SeenTab>> {
        let (_, pages) = self.all_pages()?;
        let usable = pages.into_iter().filter(|page| page.is_usable());
        let (ready, others): (Vec<_>, Vec<_>) = usable.partition(|page| page.is_ready());
        let opened = others.iter().filter(|page| page.has_opener() && page.awaited().is_some());
        let seen = |page: &Arc<Page>| {
            let (target, documents) = (page.target.clone(), page.documents_shown());
            match page.awaited() {
                Some(url) => SeenTab { target, url, documents: documents + 1, is_loading: true },
                None => SeenTab { target, url: page.url(), documents, is_loading: false },
            }
        };
        Some(ready.iter().chain(opened).map(seen).collect())
    }

    /// Waits until a tab that a page has opened is set up. Returns false if it is not at the end of the time.
    pub async fn wait_until_set_up(&self, target: &TargetId) -> bool {
        let Some(page) = self.browser().and_then(|browser| browser.page(target)) else { return false };
        tokio::select! {
            biased;
            () = page.wait_until_ready() => true,
            () = page.gone.cancelled() => false,
            () = tokio::time::sleep(SETUP_TIMEOUT) => false,
        }
    }

    /// Closes a tab that is not set up yet. Returns false for another one.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not close it.
    pub async fn close_new_tab(&self, target: &TargetId) -> Result<bool, GateError> {
        let browser = self.browser().ok_or(GateError::NotRunning)?;
        let Some(page) = browser.page(target).filter(|page| !page.is_ready()) else { return Ok(false) };
        browser.close_page(&page).await?;
        let is_gone = tokio::time::timeout(REPLACEMENT_TIMEOUT, page.gone.cancelled()).await.is_ok();
        if is_gone { Ok(true) } else { Err(GateError::NoTab) }
    }

    /// Returns the HTTP status of the document that a tab shows at a URL; `None` if it is not known.
    pub async fn document_status(&self, url: &str) -> Option<u64> {
        let (browser, pages) = self.current()?;
        let page = pages.iter().rev().find(|page| page.url() == url && page.dialog().is_none())?;
        tokio::time::timeout(STATUS_TIMEOUT, ask_status(&browser, page)).await.ok().flatten()
    }

    /// Replaces hung tabs by an empty one. Returns the number of hung tabs.
    pub async fn recover(&self) -> usize {
        let Some(browser) = self.browser() else { return 0 };
        // Two sessions with the same tabs must not both replace them.
        let _recovery = browser.recovery.lock().await;
        let hung = browser.hung(&self.pages(&browser)).await;
        self.replace_tabs(&browser, &hung).await
    }

    /// Closes tabs whose pages cannot be used. An empty one takes their place if a session acts on one of them, or no other is left.
    /// Returns the number of closed tabs. Its caller holds the lock of the recovery.
    pub(in crate::gate) async fn replace_tabs(&self, browser: &Arc<Browser>, lost: &[Arc<Page>]) -> usize {
        let is_active = lost.iter().any(|page| browser.is_acted_on(page));
        if is_active || (lost.len() == self.pages(browser).len() && !lost.is_empty()) {
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
        browser.close_and_wait(lost).await;
        lost.len()
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

/// Waits until a tab is set up, and shows the document that it requested.
async fn is_shown(page: &Page) {
    page.wait_until_ready().await;
    while page.is_about_to_show() {
        tokio::time::sleep(SHOW_INTERVAL).await;
    }
}

async fn ask_status(browser: &Browser, page: &Page) -> Option<u64> {
    let world = browser.isolated_world(&page.session, &page.frame, STATUS_TIMEOUT).await.ok()?;
    let status = Evaluate { expression: STATUS, context_id: Some(world), return_by_value: true, ..Evaluate::default() };
    let answer = browser.connection.send(Some(&page.session), &status).await.ok()?;
    answer.value().filter(|status| *status > 0)
}
