//! Steps in the history of a tab.

use std::time::{Duration, Instant};

use browser_shell_core::gate::classify_url;

use crate::gate::browser::Browser;
use crate::gate::element::ElementError;
use crate::gate::element::located::command;
use crate::gate::loading::{COMPLETE, ready_state};
use crate::gate::notices::Notice;
use crate::gate::page::Page;
use crate::gate::session::GateSession;
use browser_shell_cdp::protocol::page::{GetNavigationHistory, NavigateToHistoryEntry, NavigationHistory};

/// Time for Chromium to ask for a document, or to show one that it still has.
const START_TIME: Duration = Duration::from_secs(1);

/// Time for a document that is shown to load as a whole. Some never do.
const LOAD_TIME: Duration = Duration::from_secs(3);

/// Interval between two looks at the history.
const INTERVAL: Duration = Duration::from_millis(10);

/// Result of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum HistoryMove {
    /// The tab shows the page with this URL.
    Taken(String),
    /// The history has no page there that may be opened. The tab shows the one with this URL.
    NoPage(String),
    /// The tab stays at the page with this URL.
    Stayed(String),
}

/// History of a tab.
struct History(NavigationHistory);

impl History {
    async fn of(browser: &Browser, page: &Page) -> Result<Self, ElementError> {
        command(browser, &page.session, &GetNavigationHistory {}).await.map(Self)
    }

    /// Returns the history of a tab that leaves a page. The process of that page may take an answer with it.
    async fn during_step(browser: &Browser, page: &Page) -> Result<Self, ElementError> {
        let started = Instant::now();
        loop {
            match Self::of(browser, page).await {
                Err(ElementError::Gone) if started.elapsed() < START_TIME && !page.gone.is_cancelled() => {}
                history => return history,
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Returns the id of the entry before or behind the one that the tab shows, if it may be opened.
    fn entry_beside(&self, is_back: bool) -> Option<i64> {
        let NavigationHistory { current_index, entries } = &self.0;
        let index = if is_back { current_index.checked_sub(1) } else { current_index.checked_add(1) };
        let entry = entries.get(index?)?;
        classify_url(&entry.url).may_be_returned_to().then_some(entry.id)
    }

    /// Returns the URL that the tab shows.
    fn url(&self) -> String {
        self.0.entries.get(self.0.current_index).map(|entry| entry.url.clone()).unwrap_or_default()
    }
}

impl GateSession {
    /// Goes one page back in the history of the active tab, or forward, and waits until it has loaded. Returns `None` if there is no tab,
    /// or its history cannot be read.
    ///
    /// # Errors
    ///
    /// Returns an error if the tab is gone, or Chromium does not answer.
    pub async fn step_in_history(&self, is_back: bool) -> Result<Option<HistoryMove>, ElementError> {
        let Ok((browser, page)) = &self.active() else { return Ok(None) };
        let Ok(before) = History::of(browser, page).await else { return Ok(None) };
        let Some(entry_id) = before.entry_beside(is_back) else { return Ok(Some(HistoryMove::NoPage(before.url()))) };
        let started = Instant::now();
        page.add_navigation(&page.frame);
        match command(browser, &page.session, &NavigateToHistoryEntry { entry_id }).await {
            // The process of the page that the tab leaves may take the answer with it.
            Ok(_) | Err(ElementError::Gone) => {}
            Err(error) => return Err(error),
        }
        loop {
            let now = History::during_step(browser, page).await?;
            if now.0.current_index != before.0.current_index {
                break;
            }
            let is_coming = page.is_document_coming() || started.elapsed() < START_TIME;
            if !is_coming || self.is_page_refused() {
                return Ok(Some(HistoryMove::Stayed(now.url())));
            }
            tokio::time::sleep(INTERVAL).await;
        }
        let shown = Instant::now();
        while shown.elapsed() < LOAD_TIME && ready_state(browser, page).await.ok().as_deref() != Some(COMPLETE) {
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(Some(HistoryMove::Taken(History::during_step(browser, page).await?.url())))
    }

    /// Returns true if the policy has refused a document of a page itself since the call began.
    pub fn is_page_refused(&self) -> bool {
        let is_refusal = |notice: &Notice| matches!(notice, Notice::RefusedDocument { is_frame: false, .. });
        self.lock_notices().has_new(is_refusal)
    }
}
