//! Browser context of a session: its preparation and its end.

use std::sync::Arc;

use browser_shell_core::policy::Isolation;

use crate::gate::browser::Browser;
use crate::gate::error::GateError;
use crate::gate::owner::PageOwner;
use crate::gate::session::state::{Context, GateSession};
use crate::gate::state;
use crate::gate::task::to_end;
use browser_shell_cdp::protocol::BrowserContextId;
use browser_shell_cdp::protocol::browser::GrantPermissions;
use browser_shell_cdp::protocol::target::CreateBrowserContext;

/// URL of the empty page.
pub(super) const BLANK: &str = "about:blank";

impl GateSession {
    /// Returns true if the session has a context of its own, or gets one.
    pub fn has_own_context(&self) -> bool {
        self.isolation == Isolation::Session
    }

    /// Makes sure that the session has a context with a tab, and begins to show it on the screen.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub async fn prepare(self: &Arc<Self>) -> Result<(), GateError> {
        // A call that gives up must not leave half a context behind.
        to_end(self.clone().prepare_to_end()).await.unwrap_or(Err(GateError::NotRunning))
    }

    async fn prepare_to_end(self: Arc<Self>) -> Result<(), GateError> {
        let gate = self.gate.upgrade().ok_or(GateError::NotRunning)?;
        let browser = gate.browser().await?;
        let preparation = self.preparation.lock().await;
        if !self.is_open() {
            return Err(GateError::NotRunning);
        }
        let known = self.context().filter(|context| context.browser.generation == browser.generation);
        let current = if let Some(current) = known {
            current
        } else {
            let new = self.create_context(&browser).await?;
            *self.lock_context() = Some(new.clone());
            new
        };
        if Self::usable_pages(&current).is_empty() {
            browser.create_page(current.id.as_ref(), BLANK, current.id.is_some()).await?;
        }
        drop(preparation);
        let session = self.clone();
        let shown = tokio::spawn(async move {
            let active = session.active_page();
            let is_restored = match &active {
                Some(page) => gate.windows().restore(&browser, page, current.id.is_some()).await,
                None => false,
            };
            Ok(match session.isolation {
                Isolation::Session => gate.bring_to_front(&session.id, active, &browser).await? || is_restored,
                Isolation::Shared => is_restored,
            })
        });
        *self.lock_shown() = Some(shown);
        Ok(())
    }

    /// Waits until the tab is shown on the screen, as the preparation began to do. Nothing may act on it before: a window that is
    /// minimized draws nothing, and the clipboard may hold what another session put there. Returns true if it was not shown before.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub async fn wait_until_shown(&self) -> Result<bool, GateError> {
        let shown = self.lock_shown().take();
        match shown {
            Some(shown) => shown.await.unwrap_or(Err(GateError::NotRunning)),
            None => Ok(false),
        }
    }

    /// Creates the session's context, or joins the default one.
    async fn create_context(self: &Arc<Self>, browser: &Arc<Browser>) -> Result<Context, GateError> {
        if self.isolation == Isolation::Shared {
            let owner: Arc<dyn PageOwner> = self.clone();
            browser.add_shared(&owner);
            return Ok(Context { browser: browser.clone(), id: None });
        }
        let proxy_server = self.lock_proxy().as_ref().map(|address| format!("http://{}", address.proxy()));
        let proxy_bypass_list = proxy_server.as_ref().map(|_| "<-loopback>");
        let new = CreateBrowserContext { dispose_on_detach: true, proxy_server, proxy_bypass_list };
        let id = browser.root(&new).await?.browser_context_id;
        let owner: Arc<dyn PageOwner> = self.clone();
        browser.add_context(&id, &owner);
        if let Err(error) = self.fill_context(browser, &id).await {
            browser.dispose(&id, None).await;
            return Err(error);
        }
        Ok(Context { browser: browser.clone(), id: Some(id) })
    }

    /// Sets up a new context: its restrictions, its first tab and its saved state.
    async fn fill_context(&self, browser: &Arc<Browser>, id: &BrowserContextId) -> Result<(), GateError> {
        // An empty list grants nothing and lets no page ask, for the clipboard neither.
        let no_permissions = GrantPermissions { permissions: &[], browser_context_id: id };
        // All at once and in this order: Chromium carries them out one after the other, so the tab has the restrictions.
        let ((), _, page) = tokio::try_join!(
            biased;
            async { browser.deny_downloads(Some(id)).await.map_err(GateError::from) },
            async { browser.root(&no_permissions).await.map_err(GateError::from) },
            browser.create_page(Some(id), BLANK, true),
        )?;
        if let Some(gate) = self.gate.upgrade() {
            gate.windows().give(browser, &page).await;
        }
        if let Some(source) = &self.saved_state {
            let state = state::read(source)?;
            // First: what cannot be masked is not loaded.
            let kept = self.lock_secrets().add_saved(&state.secrets());
            kept.map_err(|error| GateError::State(error.to_string()))?;
            state::load(browser, id, &state).await?;
        }
        Ok(())
    }

    /// Ends the endpoint and the context of the session.
    pub(in crate::gate) async fn end(&self) {
        self.stop.cancel();
        for observer in self.observers() {
            observer.session_ended();
        }
        // A call that prepares the context right now ends before it.
        let _preparation = self.preparation.lock().await;
        let context = self.lock_context().take();
        if let Some(Context { browser, id: Some(id) }) = context {
            let address = self.lock_proxy().take();
            browser.dispose(&id, address).await;
        }
    }
}
