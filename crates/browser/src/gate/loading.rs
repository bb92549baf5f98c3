//! Pages that the engine `cdp` opens, the wait until they can be used, steps in the history of a tab, and documents that are left.
//!
//! A page can be used when its document is parsed and drawn once, and no document, script, style or answer to a script is awaited. Images,
//! media and streams do not count.
//!
//! The document of a refused host in a frame is not requested. One that was loaded before the policy changed is left, so that nothing of it
//! is read.

use std::cell::LazyCell;
use std::time::{Duration, Instant};

use browser_shell_core::action::LoadState;
use browser_shell_core::decision::Decision;
use browser_shell_core::gate::classify_url;

use crate::gate::browser::{Browser, PageOwner};
use crate::gate::element::ElementError;
use crate::gate::element::find::evaluate;
use crate::gate::element::located::{answered, command, in_world};
use crate::gate::notices::Notice;
use crate::gate::page::Page;
use crate::gate::session::GateSession;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::page::{
    GetNavigationHistory, Navigate, NavigateToHistoryEntry, NavigationHistory, Reload,
};
use browser_shell_cdp::protocol::runtime::Evaluate;

/// Longest wait from the begin of a document until it can be used.
const USE_TIME: Duration = Duration::from_secs(3);

/// Longest wait for a page to be drawn. One whose window is covered may never be.
const DRAW_TIME: Duration = Duration::from_millis(500);

/// Time without a request after which the network is idle.
const IDLE_TIME: Duration = Duration::from_millis(500);

/// Time for Chromium to ask for a document, or to show one that it still has.
const START_TIME: Duration = Duration::from_secs(1);

/// Interval between two looks at the load of a page.
const INTERVAL: Duration = Duration::from_millis(20);

/// Error of a navigation that another one has taken the place of.
const ABORTED: &str = "net::ERR_ABORTED";

/// Chromium's error for an HTTP error whose answer is empty.
const EMPTY_ERROR: &str = "net::ERR_HTTP_RESPONSE_CODE_FAILURE";

/// Number of times that a page is opened whose navigation another one ends.
const ATTEMPTS: usize = 3;

/// Ends when the page is drawn, at once if nobody sees it.
const DRAWN: &str = "document.visibilityState === 'hidden' ? 0
    : new Promise(end => requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel(); port1.onmessage = end; port2.postMessage(0); }))";

/// State of a document that has loaded.
const COMPLETE: &str = "complete";

/// Time for a document that is shown to load as a whole. Some never do.
const LOAD_TIME: Duration = Duration::from_secs(3);

/// Interval between two looks at the history.
const STEP_INTERVAL: Duration = Duration::from_millis(10);

/// Timeout for the decision on a document: somewhat longer than for the lookup of a name.
const DECISION_TIMEOUT: Duration = Duration::from_secs(6);

/// Page that was opened.
#[derive(Debug)]
pub struct OpenedPage {
    /// URL that the tab shows.
    pub url: String,
    /// Title of the page.
    pub title: String,
    /// URL of a request that the page still waits for.
    pub awaits: Option<String>,
}

/// Reason why a page was not opened.
#[derive(Debug)]
pub enum OpenError {
    /// Chromium's error, such as `net::ERR_NAME_NOT_RESOLVED`.
    Network(String),
    /// The answer of the server is a download, or no document.
    NoPage,
    /// The tab is gone, or Chromium does not answer.
    Tab(ElementError),
}

impl<T: Into<ElementError>> From<T> for OpenError {
    fn from(error: T) -> Self {
        Self::Tab(error.into())
    }
}

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
            tokio::time::sleep(STEP_INTERVAL).await;
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
    /// Opens a URL in the active tab, and waits until its page can be used, for 3 s behind its begin at most.
    ///
    /// # Errors
    ///
    /// Chromium's error, or the end of the tab.
    pub async fn open_page(&self, url: &str, deadline: Instant) -> Result<OpenedPage, OpenError> {
        let (browser, page) = &self.active()?;
        for attempt in 1.. {
            let mut navigations = page.watch_navigations();
            let time = deadline.saturating_duration_since(Instant::now());
            let answer = browser.connection.send_within(time, Some(&page.session), &Navigate::to(url)).await?;
            match answer.error_text {
                None => break,
                // An HTTP error without a page, for which the browser shows one of its own.
                Some(error) if error == EMPTY_ERROR => break,
                _ if answer.is_download => return Err(OpenError::NoPage),
                Some(error) if error == ABORTED => {
                    // The page before has asked for another one meanwhile: this one is opened in its place.
                    let is_other = navigations.has_changed().unwrap_or(false) || page.is_navigating();
                    if !is_other || attempt >= ATTEMPTS || self.is_page_refused() {
                        return Err(OpenError::NoPage);
                    }
                    navigations.mark_unchanged();
                    self.wait_until_committed(USE_TIME.min(time)).await;
                }
                Some(error) => return Err(OpenError::Network(error)),
            }
        }
        let awaits = self.wait_until_usable(deadline).await?;
        self.shown_page(awaits).await
    }

    /// Loads the page of the active tab again, and waits until it can be used.
    ///
    /// # Errors
    ///
    /// Chromium's error, or the end of the tab.
    pub async fn reload_page(&self, deadline: Instant) -> Result<OpenedPage, OpenError> {
        let (browser, page) = &self.active()?;
        let (before, began) = (page.documents_shown(), Instant::now());
        page.add_navigation(&page.frame);
        browser.connection.send(Some(&page.session), &Reload {}).await?;
        while page.documents_shown() == before {
            let is_coming = page.is_document_coming() || began.elapsed() < START_TIME;
            if page.gone.is_cancelled() || Instant::now() >= deadline || self.is_page_refused() || !is_coming {
                return Err(OpenError::NoPage);
            }
            tokio::time::sleep(INTERVAL).await;
        }
        let awaits = self.wait_until_usable(deadline).await?;
        self.shown_page(awaits).await
    }

    async fn shown_page(&self, awaits: Option<String>) -> Result<OpenedPage, OpenError> {
        let (browser, page) = self.active()?;
        let title = browser.title(&page.target).await.unwrap_or_default();
        Ok(OpenedPage { url: page.url(), title, awaits })
    }

    /// Leaves a page for an empty one, in each tab that shows it. Returns false if one stays.
    pub async fn leave(&self, url: &str) -> bool {
        let Some((browser, pages)) = self.current() else { return false };
        for page in pages.iter().filter(|page| page.url() == url) {
            let left = browser.connection.send(Some(&page.session), &Navigate::to("about:blank")).await;
            if !left.is_ok_and(|answer| answer.error_text.is_none()) {
                return false;
            }
        }
        let left = async {
            while pages.iter().any(|page| page.url() == url && !page.gone.is_cancelled()) {
                tokio::time::sleep(INTERVAL).await;
            }
        };
        tokio::time::timeout(USE_TIME, left).await.is_ok()
    }

    /// Returns the title of the active tab.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no tab.
    pub async fn title(&self) -> Result<String, ElementError> {
        let (browser, page) = self.active()?;
        browser.title(&page.target).await.ok_or(ElementError::Gone)
    }

    /// Waits until the page of the active tab can be used, for 3 s at most. Returns the URL of a request that it still waits for then.
    ///
    /// # Errors
    ///
    /// Returns an error if the tab is gone.
    pub async fn wait_until_usable(&self, deadline: Instant) -> Result<Option<String>, ElementError> {
        let (browser, page) = &self.active()?;
        let until = deadline.min(Instant::now() + USE_TIME);
        let usable = async {
            loop {
                page.wait_until_committed().await;
                page.wait_until_parsed().await;
                let _ = page.watch_requests().wait_for(|requests| requests.len() == 0).await;
                wait_until_drawn(browser, page).await;
                // What it asked for once it was drawn.
                if page.watch_requests().borrow().len() == 0 && !page.is_parsing() && !page.is_loading() {
                    return;
                }
            }
        };
        tokio::select! {
            () = usable => Ok(None),
            () = page.gone.cancelled() => Err(ElementError::Gone),
            () = tokio::time::sleep_until(until.into()) => Ok(page.watch_requests().borrow().example()),
        }
    }

    /// Returns true if the active tab has reached a load state.
    ///
    /// # Errors
    ///
    /// Returns an error if the page does not answer, or is being replaced.
    pub async fn has_reached(&self, state: LoadState) -> Result<bool, ElementError> {
        let (browser, page) = &self.active()?;
        if page.is_loading() {
            return Ok(false);
        }
        if state == LoadState::NetworkIdle && !page.watch_requests().borrow().are_idle_for(IDLE_TIME) {
            return Ok(false);
        }
        let ready = ready_state(browser, page).await?;
        Ok(ready == COMPLETE || (ready == "interactive" && state == LoadState::Parsed))
    }

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
            tokio::time::sleep(STEP_INTERVAL).await;
        }
        let shown = Instant::now();
        while shown.elapsed() < LOAD_TIME && ready_state(browser, page).await.ok().as_deref() != Some(COMPLETE) {
            tokio::time::sleep(STEP_INTERVAL).await;
        }
        Ok(Some(HistoryMove::Taken(History::during_step(browser, page).await?.url())))
    }

    /// Returns true if the policy has refused a document of a page itself since the call began.
    pub fn is_page_refused(&self) -> bool {
        let is_refusal = |notice: &Notice| matches!(notice, Notice::RefusedDocument { is_frame: false, .. });
        self.lock_notices().has_new(is_refusal)
    }

    /// Leaves the documents in frames that the policy refuses by now. Returns the decision on the first of them.
    pub async fn leave_refused_frames(&self) -> Option<Decision> {
        let (Some((browser, pages)), Some(documents)) = (self.current(), self.documents()) else { return None };
        // The file of the policy is read once for all frames, if there are any.
        let policy = LazyCell::new(|| documents.shown_to(self.session_id()));
        let mut first = None;
        for page in pages {
            for document in page.documents() {
                if document.frame == page.frame {
                    continue;
                }
                let Some(decision) = policy.refusal(&document.url) else { continue };
                first.get_or_insert_with(|| decision.clone());
                self.add_notice(Notice::RefusedDocument { decision, is_frame: true });
                let blank = Navigate { url: "about:blank", frame_id: Some(&document.frame) };
                if let Err(error) = browser.connection.send(Some(&document.session), &blank).await {
                    tracing::warn!(%error, "a frame with a refused document could not be left");
                }
            }
        }
        first
    }

    /// Waits until all documents that pages have requested are decided.
    pub async fn wait_until_decided(&self) {
        let Some((_, pages)) = self.current() else { return };
        for page in pages {
            if tokio::time::timeout(DECISION_TIMEOUT, page.wait_until_decided()).await.is_err() {
                return;
            }
        }
    }
}

/// Returns the state of the document that a tab shows, as `document.readyState` names it.
///
/// # Errors
///
/// Returns an error if the page does not answer, or is being replaced.
async fn ready_state(browser: &Browser, page: &Page) -> Result<String, ElementError> {
    let ask = |world| async move { evaluate(browser, &page.session, &world, "document.readyState", true).await };
    let (answer, _) = in_world(browser, page, ask).await?;
    Ok(answer.into_value().unwrap_or_default())
}

/// Waits until the document of a tab is drawn, for half a second at most.
async fn wait_until_drawn(browser: &Browser, page: &Page) {
    let sent = in_world(browser, page, |world| async move {
        let drawn = Evaluate {
            expression: DRAWN,
            context_id: Some(world.id),
            await_promise: true,
            return_by_value: true,
            ..Evaluate::default()
        };
        answered(browser.connection.send_within(DRAW_TIME, Some(&page.session), &drawn).await)
    });
    match sent.await {
        Ok(_) | Err(ElementError::Command(CommandError::TimedOut(_))) => {}
        // The document is being replaced.
        Err(_) => tokio::time::sleep(INTERVAL).await,
    }
}
