//! Pages that the engine `cdp` opens, and the wait until they can be used.
//!
//! A page can be used when its document is parsed and drawn once, and no document, script, style or answer to a script is awaited. Images,
//! media and streams do not count.

use std::time::{Duration, Instant};

use browser_shell_core::action::LoadState;

use crate::gate::browser::Browser;
use crate::gate::element::ElementError;
use crate::gate::element::find::evaluate;
use crate::gate::element::located::{answered, in_world};
use crate::gate::page::Page;
use crate::gate::session::GateSession;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::page::{Navigate, Reload};
use browser_shell_cdp::protocol::runtime::Evaluate;

/// Longest wait from the begin of a document until it can be used.
const USE_TIME: Duration = Duration::from_secs(3);

/// Longest wait for a page to be drawn. One whose window is covered may never be.
const DRAW_TIME: Duration = Duration::from_millis(500);

/// Time without a request after which the network is idle.
const IDLE_TIME: Duration = Duration::from_millis(500);

/// Time for Chromium to ask for a document again.
const START_TIME: Duration = Duration::from_secs(1);

/// Interval between two looks at the load of a page.
const INTERVAL: Duration = Duration::from_millis(20);

/// Error of a navigation that another one has taken the place of.
const ABORTED: &str = "net::ERR_ABORTED";

/// Number of times that a page is opened whose navigation another one ends.
const ATTEMPTS: usize = 3;

/// Ends when the page is drawn, at once if nobody sees it.
const DRAWN: &str = "document.visibilityState === 'hidden' ? 0
    : new Promise(end => requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel(); port1.onmessage = end; port2.postMessage(0); }))";

/// State of a document that has loaded.
pub(in crate::gate) const COMPLETE: &str = "complete";

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
}

/// Returns the state of the document that a tab shows, as `document.readyState` names it.
///
/// # Errors
///
/// Returns an error if the page does not answer, or is being replaced.
pub(in crate::gate) async fn ready_state(browser: &Browser, page: &Page) -> Result<String, ElementError> {
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
