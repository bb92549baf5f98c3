//! A session's part of the browser: its endpoint, its browser context, and what its pages did.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use browser_shell_core::gate::{Client, Level};
use browser_shell_core::policy::{Isolation, StateSource};
use browser_shell_core::session_id::SessionId;
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::gate::client::ClientConnection;
use crate::gate::documents::Documents;
use crate::gate::endpoint_address::EndpointAddress;
use crate::gate::error::GateError;
use crate::gate::hub::Hub;
use crate::gate::notices::{Notice, Notices};
use crate::gate::owner::PageOwner;
use crate::gate::page::{Page, with};
use crate::gate::scope::{ClientScope, GateServices, SessionContext};
use crate::gate::secret_values::SecretValues;
use crate::gate::state;
use crate::paths::SessionAddress;

/// URL of the empty page.
const BLANK: &str = "about:blank";

/// Time for which a client may have to wait. The native agent-browser repeats its first request in another way after 2 s.
const HOLD_TIME: Duration = Duration::from_millis(1500);

/// A session's part of the browser.
pub(crate) struct GateSession {
    id: SessionId,
    isolation: Isolation,
    endpoint: EndpointAddress,
    /// Address of the egress guard for the session's connections.
    proxy: Mutex<Option<SessionAddress>>,
    /// Saved state that a context of the session begins with.
    saved_state: Option<StateSource>,
    gate: Weak<dyn GateServices>,
    /// Context of the session and the connection that it was made over.
    context: Mutex<Option<Context>>,
    /// Held while the context is made.
    preparation: tokio::sync::Mutex<()>,
    clients: Mutex<Vec<Weak<ClientConnection>>>,
    /// True while clients wait.
    held: watch::Sender<bool>,
    /// Wakes the hold when a client waits.
    waiting: Notify,
    notices: Mutex<Notices>,
    /// Values of secret fields that were seen.
    secrets: Mutex<SecretValues>,
    calls: AtomicUsize,
    /// Wakes a call when a dialog waits for the agent.
    pub(super) dialog: Notify,
    pub(super) stop: CancellationToken,
}

/// Browser context of a session.
#[derive(Clone)]
struct Context {
    hub: Arc<Hub>,
    /// Id of a context of its own; `None` for the default context.
    id: Option<String>,
}

/// Mark of a call of the session; events are those of the session while it lives.
pub(crate) struct ActiveCall(Arc<GateSession>);

impl Drop for ActiveCall {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
        self.0.set_active(false);
    }
}

/// Wait of new clients, until this is dropped.
#[must_use]
pub(crate) struct ClientHold(Arc<GateSession>);

impl ClientHold {
    /// Waits until a client has waited for so long that it may stop asking as a client of this gate asks.
    pub(crate) async fn overdue(&self) {
        self.0.waiting.notified().await;
        tokio::time::sleep(HOLD_TIME).await;
    }
}

impl Drop for ClientHold {
    fn drop(&mut self) {
        self.0.held.send_replace(false);
    }
}

impl GateSession {
    /// Returns the session's id.
    pub(crate) const fn session_id(&self) -> &SessionId {
        &self.id
    }

    /// Creates a session with its endpoint on a port.
    pub(super) fn new(
        id: SessionId,
        isolation: Isolation,
        endpoint: EndpointAddress,
        proxy: Option<SessionAddress>,
        saved_state: Option<StateSource>,
        gate: Weak<dyn GateServices>,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            isolation,
            endpoint,
            proxy: Mutex::new(proxy),
            saved_state,
            gate,
            context: Mutex::new(None),
            preparation: tokio::sync::Mutex::new(()),
            clients: Mutex::default(),
            held: watch::Sender::new(false),
            waiting: Notify::new(),
            notices: Mutex::default(),
            secrets: Mutex::default(),
            calls: AtomicUsize::new(0),
            dialog: Notify::new(),
            stop: CancellationToken::new(),
        })
    }

    /// Returns the port of the session's endpoint.
    pub(crate) const fn port(&self) -> u16 {
        self.endpoint.port
    }

    /// Returns the secret part of the WebSocket's URL.
    pub(super) fn token(&self) -> &str {
        &self.endpoint.token
    }

    /// Returns the address of the endpoint.
    pub(super) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port()))
    }

    fn set_active(&self, is_active: bool) {
        if let Some(gate) = self.gate.upgrade().filter(|_| self.isolation == Isolation::Session) {
            gate.set_active(&self.id, is_active);
        }
    }

    /// Begins a call. What happened before it is older than the call.
    pub(crate) fn begin_call(self: &Arc<Self>) -> ActiveCall {
        self.lock_notices().set_old();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.set_active(true);
        ActiveCall(self.clone())
    }

    /// Returns true if the session has a context of its own, or gets one.
    pub(crate) fn has_own_context(&self) -> bool {
        self.isolation == Isolation::Session
    }

    /// Lets new clients wait for their first answer, so that agent-browser can start while the session is prepared.
    pub(crate) fn hold_clients(self: &Arc<Self>) -> ClientHold {
        self.held.send_replace(true);
        ClientHold(self.clone())
    }

    /// Waits until clients are let in.
    pub(super) async fn wait_for_admission(&self) {
        if *self.held.borrow() {
            self.waiting.notify_one();
            let _ = self.held.subscribe().wait_for(|held| !held).await;
        }
    }

    /// Makes sure that the session has a context with a tab, and shows it on the screen.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub(crate) async fn prepare(self: &Arc<Self>) -> Result<(), GateError> {
        let session = self.clone();
        // A task of its own: a call that gives up must not leave half a context behind.
        tokio::spawn(async move { session.prepare_to_end().await }).await.unwrap_or(Err(GateError::NotRunning))
    }

    async fn prepare_to_end(self: &Arc<Self>) -> Result<(), GateError> {
        let gate = self.gate.upgrade().ok_or(GateError::NotRunning)?;
        let hub = gate.hub().await?;
        let preparation = self.preparation.lock().await;
        if !self.is_open() {
            return Err(GateError::NotRunning);
        }
        let known = self.context().filter(|context| context.hub.generation == hub.generation);
        let current = if let Some(current) = known {
            current
        } else {
            let new = self.create_context(&hub).await?;
            *self.lock_context() = Some(new.clone());
            new
        };
        if Self::usable_pages(&current).is_empty() {
            hub.create_page(current.id.as_deref(), BLANK, current.id.is_some()).await?;
        }
        drop(preparation);
        if self.isolation == Isolation::Session {
            gate.bring_to_front(&self.id, self.pages(&hub).into_iter().next(), &hub).await?;
        }
        Ok(())
    }

    /// Creates the session's context, or joins the default one.
    async fn create_context(self: &Arc<Self>, hub: &Arc<Hub>) -> Result<Context, GateError> {
        if self.isolation == Isolation::Shared {
            let owner: Arc<dyn PageOwner> = self.clone();
            hub.add_shared(&owner);
            return Ok(Context { hub: hub.clone(), id: None });
        }
        let proxy = self.lock_proxy().as_ref().map(|address| format!("http://{}", address.proxy()));
        let bypass = proxy.as_ref().map(|_| "<-loopback>");
        let params = with(json!({ "disposeOnDetach": true }), "proxyServer", proxy);
        let params = with(params, "proxyBypassList", bypass);
        let created = hub.root("Target.createBrowserContext", &params).await?;
        let id =
            created.get("browserContextId").and_then(serde_json::Value::as_str).ok_or(GateError::NoTab)?.to_owned();
        let owner: Arc<dyn PageOwner> = self.clone();
        hub.add_context(&id, &owner);
        if let Err(error) = self.fill_context(hub, &id).await {
            hub.dispose(&id, None).await;
            return Err(error);
        }
        Ok(Context { hub: hub.clone(), id: Some(id) })
    }

    /// Returns the policy of documents.
    pub(super) fn documents(&self) -> Option<Arc<Documents>> {
        self.gate.upgrade().map(|gate| gate.documents())
    }

    /// Sets up a new context: its restrictions, its first tab and its saved state.
    async fn fill_context(&self, hub: &Arc<Hub>, id: &str) -> Result<(), GateError> {
        // An empty list grants nothing and lets no page ask, for the clipboard neither.
        let no_permissions = json!({ "permissions": [], "browserContextId": id });
        // All at once and in this order: Chromium carries them out one after the other, so the tab has the restrictions.
        let ((), _, page) = tokio::try_join!(
            biased;
            async { hub.deny_downloads(Some(id)).await.map_err(GateError::from) },
            async { hub.root("Browser.grantPermissions", &no_permissions).await.map_err(GateError::from) },
            hub.create_page(Some(id), BLANK, true),
        )?;
        maximize(hub, &page).await;
        if let Some(source) = &self.saved_state {
            state::load(hub, id, source).await?;
        }
        Ok(())
    }

    fn usable_pages(context: &Context) -> Vec<Arc<Page>> {
        let pages = context.hub.pages_of(context.id.as_deref());
        pages.into_iter().filter(|page| page.is_ready() && page.is_usable()).collect()
    }

    fn lock_proxy(&self) -> MutexGuard<'_, Option<SessionAddress>> {
        self.proxy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_context(&self) -> MutexGuard<'_, Option<Context>> {
        self.context.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn context(&self) -> Option<Context> {
        self.lock_context().clone()
    }

    /// Returns the session's tabs and the connection to Chromium, if it has any.
    pub(super) fn current(&self) -> Option<(Arc<Hub>, Vec<Arc<Page>>)> {
        let context = self.context().filter(|context| !context.hub.connection.is_closed())?;
        let pages = Self::usable_pages(&context);
        Some((context.hub, pages))
    }

    /// Returns all tabs of the session and the connection to Chromium, also tabs that are not set up yet.
    pub(super) fn all_pages(&self) -> Option<(Arc<Hub>, Vec<Arc<Page>>)> {
        let context = self.context().filter(|context| !context.hub.connection.is_closed())?;
        let pages = context.hub.pages_of(context.id.as_deref());
        Some((context.hub, pages))
    }

    /// Returns the connection to Chromium, if the session is prepared.
    pub(super) fn hub(&self) -> Option<Arc<Hub>> {
        self.context().map(|context| context.hub).filter(|hub| !hub.connection.is_closed())
    }

    /// Returns an id of the session's own context, which differs when its pages were lost. Those of the default context stay.
    pub(crate) fn instance(&self) -> Option<String> {
        let context = self.context()?;
        context.id.map(|id| format!("{}.{id}", context.hub.generation))
    }

    /// Returns the URLs of the session's tabs, `None` if they are not known.
    pub(crate) fn urls(&self) -> Option<Vec<String>> {
        let (_, pages) = self.current()?;
        Some(pages.iter().map(|page| page.url()).collect())
    }

    /// Replaces hung tabs by an empty one. Returns the number of hung tabs.
    pub(crate) async fn recover(&self) -> usize {
        let Some(hub) = self.hub() else { return 0 };
        // Two sessions with the same tabs must not both replace them.
        let _recovery = hub.recovery.lock().await;
        let pages = self.pages(&hub);
        let hung = hub.hung(&pages).await;
        if hung.len() == pages.len() && !hung.is_empty() {
            // Chromium ends with its last tab, so the new one is opened first.
            let context = self.context().and_then(|context| context.id);
            if let Err(error) = hub.create_page(context.as_deref(), BLANK, false).await {
                tracing::debug!(%error, "cannot open an empty tab");
                return 0;
            }
        }
        hub.close_and_wait(&hung).await;
        hung.len()
    }

    /// Replaces all tabs of the default context by an empty one. A context of the session's own ends with it.
    pub(crate) async fn blank(&self) {
        let Some((hub, pages)) = self.current() else { return };
        if self.isolation == Isolation::Session {
            return;
        }
        // Chromium ends with its last tab, so the new one is opened first.
        if let Err(error) = hub.create_page(None, BLANK, false).await {
            tracing::debug!(%error, "cannot open an empty tab");
            return;
        }
        hub.close_and_wait(&pages).await;
    }

    /// Ends the endpoint and the context of the session.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        for client in self.clients() {
            client.stop.cancel();
        }
        // A call that prepares the context right now ends before it.
        let _preparation = self.preparation.lock().await;
        let context = self.lock_context().take();
        if let Some(Context { hub, id: Some(id) }) = context {
            let address = self.lock_proxy().take();
            hub.dispose(&id, address).await;
        }
    }

    pub(super) fn lock_secrets(&self) -> MutexGuard<'_, SecretValues> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_notices(&self) -> MutexGuard<'_, Notices> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add_client(&self, client: &Arc<ClientConnection>) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|known| known.strong_count() > 0);
        clients.push(Arc::downgrade(client));
    }

    fn clients(&self) -> Vec<Arc<ClientConnection>> {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Drop for GateSession {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl PageOwner for GateSession {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn is_open(&self) -> bool {
        !self.stop.is_cancelled()
    }

    fn is_active(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0
    }

    fn add_notice(&self, notice: Notice) {
        let is_new = self.is_active();
        self.lock_notices().add(notice, is_new);
    }

    fn page_opened(&self, page: &Arc<Page>) {
        if page.is_usable() {
            self.clients().iter().for_each(|client| client.page_opened(page));
        }
    }

    fn page_changed(&self, page: &Page) {
        self.clients().iter().for_each(|client| client.page_changed(page));
    }

    fn page_closed(&self, page: &Page) {
        self.clients().iter().for_each(|client| client.page_closed(page));
    }

    fn dialog_waits(&self, page: &Page) {
        for client in self.clients() {
            client.release_input(page);
        }
        self.dialog.notify_waiters();
        self.dialog.notify_one();
    }
}

impl ClientScope for GateSession {
    fn prepare_paste<'a>(&'a self, hub: &'a Arc<Hub>) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(async move {
            match self.gate.upgrade() {
                Some(gate) if self.isolation == Isolation::Session => gate.prepare_paste(&self.id, hub).await,
                Some(_) => Ok(()),
                None => Err(GateError::NotRunning),
            }
        })
    }

    fn allows_cookies(&self) -> bool {
        self.documents().is_some_and(|documents| documents.lets_agents_use_cookies())
    }

    fn has_saved_state(&self) -> bool {
        self.isolation == Isolation::Session && self.saved_state.is_some()
    }

    fn context_id(&self, hub: &Arc<Hub>) -> SessionContext {
        match self.context().filter(|context| context.hub.generation == hub.generation) {
            Some(Context { id: Some(id), .. }) => SessionContext::Own(id),
            Some(Context { id: None, .. }) => SessionContext::Shared,
            None => SessionContext::None,
        }
    }

    fn kind(&self) -> Client {
        self.endpoint.kind
    }

    fn pages(&self, hub: &Arc<Hub>) -> Vec<Arc<Page>> {
        let context = self.context().filter(|context| context.hub.generation == hub.generation);
        context.map(|context| Self::usable_pages(&context)).unwrap_or_default()
    }

    fn create_page<'a>(&'a self, hub: &'a Arc<Hub>, url: &'a str) -> BoxFuture<'a, Result<Arc<Page>, GateError>> {
        Box::pin(async move {
            let context = self.context().ok_or(GateError::NotRunning)?;
            hub.create_page(context.id.as_deref(), url, false).await
        })
    }

    fn close_page<'a>(&'a self, hub: &'a Arc<Hub>, page: &'a Page) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(async move {
            let context = self.context().ok_or(GateError::NotRunning)?;
            hub.replace_or_close_page(context.id.as_deref(), page).await
        })
    }

    fn count_refusal(&self, level: Level, method: &str) {
        if let Some(gate) = self.gate.upgrade() {
            gate.count_refusal(&self.id, level, method);
        }
    }
}

impl std::fmt::Debug for GateSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateSession").field("id", &self.id).field("port", &self.port()).finish_non_exhaustive()
    }
}

/// Gives the window of a tab the whole screen. A browser without windows has none.
async fn maximize(hub: &Hub, page: &Page) {
    let Ok(window) = hub.root("Browser.getWindowForTarget", &json!({ "targetId": page.target })).await else { return };
    if let Some(id) = window.get("windowId") {
        let bounds = json!({ "windowId": id, "bounds": { "windowState": "maximized" } });
        let _ = hub.root("Browser.setWindowBounds", &bounds).await;
    }
}
