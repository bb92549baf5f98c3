//! Tabs, version and flags of the browser.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use hyper::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::browser::cdp::connection::{DebugPort, answer, command, notification};
use crate::browser::cdp::error::BrowserError;

/// Timeout for a tab to answer. A page may be busy for a while without being hung. One whose server does not answer does not
/// answer either, and is then asked to stop loading.
const TAB_TIMEOUT: Duration = Duration::from_secs(4);

/// Additional timeout for a tab that was asked to stop loading.
const STOP_LOADING_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval between checks of tabs that are being closed.
const CLOSE_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Chromium with its debugging port on 127.0.0.1.
#[derive(Debug)]
pub struct Browser {
    port: DebugPort,
    /// Lets one recovery run at a time.
    recovery: Mutex<()>,
}

impl Browser {
    /// Returns the browser on a port, without connecting to it.
    #[must_use]
    pub fn new(port: u16) -> Self {
        Self { port: DebugPort(port), recovery: Mutex::new(()) }
    }

    /// Returns the browser's name and version.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer.
    pub async fn version(&self) -> Result<String, BrowserError> {
        let version = self.port.request(Method::GET, "/json/version").await?;
        let name = version.get("Browser").and_then(Value::as_str).map(str::to_owned);
        name.ok_or_else(|| self.port.not_a_browser(&"it does not report its version"))
    }

    /// Returns the browser's id, which differs between two starts.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer, or does not report its id.
    pub(crate) async fn instance(&self) -> Result<String, BrowserError> {
        let version = self.port.request(Method::GET, "/json/version").await?;
        let id = version.get("webSocketDebuggerUrl").and_then(Value::as_str).and_then(|url| url.rsplit('/').next());
        id.map(str::to_owned).ok_or_else(|| self.port.not_a_browser(&"it does not report its id"))
    }

    /// Replaces all tabs by an empty one.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer; then nothing was replaced.
    pub(crate) async fn reset_tabs(&self) -> Result<(), BrowserError> {
        let _recovery = self.recovery.lock().await;
        let tabs = self.tabs().await?;
        // Chromium ends with its last tab, so the new one is opened first.
        self.port.request(Method::PUT, "/json/new?about:blank").await?;
        for tab in &tabs {
            // The request fails if the tab is closed already.
            let _ = self.port.request(Method::GET, &format!("/json/close/{tab}")).await;
        }
        // A tab that is still in the list could become the next session's page.
        loop {
            let left = self.tabs().await?;
            if !left.iter().any(|tab| tabs.contains(tab)) {
                return Ok(());
            }
            tokio::time::sleep(CLOSE_POLL_INTERVAL).await;
        }
    }

    /// Replaces hung tabs by an empty one. Returns the number of hung tabs.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer; then nothing was replaced.
    pub async fn recover(&self) -> Result<usize, BrowserError> {
        let _recovery = self.recovery.lock().await;
        let tabs = self.tabs().await?;
        let alive = futures::future::join_all(tabs.iter().map(|tab| self.is_alive(tab))).await;
        let hung: Vec<_> = tabs.iter().zip(&alive).filter(|(_, alive)| !**alive).map(|(tab, _)| tab).collect();
        if hung.len() == tabs.len() {
            // Chromium ends with its last tab, so the new one is opened first.
            self.port.request(Method::PUT, "/json/new?about:blank").await?;
        }
        for tab in &hung {
            // The request fails if the tab is closed already.
            let _ = self.port.request(Method::GET, &format!("/json/close/{tab}")).await;
        }
        Ok(hung.len())
    }

    /// Returns the URLs of all tabs.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer, or does not report the URL of a tab.
    pub async fn urls(&self) -> Result<Vec<String>, BrowserError> {
        let url = |page: Value| Some(page.get("url")?.as_str()?.to_owned());
        let unknown = || self.port.not_a_browser(&"it does not report the URL of a tab");
        self.pages().await?.into_iter().map(|page| url(page).ok_or_else(unknown)).collect()
    }

    /// Returns the flags that the browser was started with, on one line.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer, or does not report its flags.
    pub async fn flags(&self) -> Result<String, BrowserError> {
        let info = self.port.command("SystemInfo.getInfo").await?;
        let flags = info.pointer("/result/commandLine").and_then(Value::as_str).map(str::to_owned);
        flags.ok_or_else(|| self.port.not_a_browser(&"it does not report its flags"))
    }

    /// Asks the browser to write its profile and end. A signal would lose the cookies of the last half minute.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer; then it may not have received the request.
    pub async fn close(&self) -> Result<(), BrowserError> {
        self.port.command("Browser.close").await.map(|_| ())
    }

    /// Returns the ids of all tabs.
    async fn tabs(&self) -> Result<Vec<String>, BrowserError> {
        let pages = self.pages().await?;
        let ids = pages.iter().filter_map(|page| page.get("id")?.as_str());
        // An id becomes part of a path.
        Ok(ids.filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric())).map(str::to_owned).collect())
    }

    /// Returns all tabs, as the browser describes them.
    async fn pages(&self) -> Result<Vec<Value>, BrowserError> {
        let Value::Array(mut targets) = self.port.request(Method::GET, "/json/list").await? else {
            return Err(self.port.not_a_browser(&"its list of tabs is not a list"));
        };
        targets.retain(|target| target.get("type").and_then(Value::as_str) == Some("page"));
        Ok(targets)
    }

    /// Returns whether a tab can run a minimal script, if necessary after it was asked to stop loading.
    async fn is_alive(&self, tab: &str) -> bool {
        let Some(mut socket) = self.port.open(&format!("devtools/page/{tab}")).await else { return false };
        if socket.send(command("Runtime.evaluate", &json!({ "expression": "1" }))).await.is_err() {
            return false;
        }
        let (mut sender, mut receiver) = socket.split();
        let stop_loading = async {
            tokio::time::sleep(TAB_TIMEOUT).await;
            let _ = sender.send(notification("Page.stopLoading")).await;
            std::future::pending::<()>().await;
        };
        let is_answered = async {
            tokio::select! {
                answer = answer(&mut receiver) => answer.is_some(),
                () = stop_loading => false,
            }
        };
        tokio::time::timeout(TAB_TIMEOUT + STOP_LOADING_TIMEOUT, is_answered).await.unwrap_or(false)
    }
}
