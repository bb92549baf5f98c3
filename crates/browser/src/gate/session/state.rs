//! State of a session's part of the browser.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::{Isolation, StateSource};
use browser_shell_core::session_id::SessionId;
use futures::future::join_all;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::gate::browser::Browser;
use crate::gate::documents::Documents;
use crate::gate::endpoint_address::EndpointAddress;
use crate::gate::error::GateError;
use crate::gate::notices::Notices;
use crate::gate::page::Page;
use crate::gate::references::{NodeAddress, References};
use crate::gate::scope::{GateServices, TabObserver};
use crate::gate::secret_values::SecretValues;
use crate::gate::session::used_tabs::UsedTabs;
use browser_shell_cdp::protocol::{BrowserContextId, TargetId};
use browser_shell_system::paths::SessionAddress;

/// A session's part of the browser.
pub struct GateSession {
    pub(super) id: SessionId,
    pub(super) isolation: Isolation,
    /// Endpoint for agent-browser; `None` where it does not run.
    pub(super) endpoint: Option<Arc<EndpointAddress>>,
    /// Address of the egress guard for the session's connections.
    pub(super) proxy: Mutex<Option<SessionAddress>>,
    /// Saved state that a context of the session begins with.
    pub(super) saved_state: Option<StateSource>,
    pub(super) gate: Weak<dyn GateServices>,
    /// Context of the session and the connection that it was made over.
    pub(super) context: Mutex<Option<Context>>,
    /// Held while the context is made.
    pub(super) preparation: tokio::sync::Mutex<()>,
    /// Task that shows the tab on the screen, until somebody has waited for it.
    shown: Mutex<Option<JoinHandle<Result<bool, GateError>>>>,
    /// Observers of the session's tabs, such as the clients of its endpoint.
    observers: Mutex<Vec<Weak<dyn TabObserver>>>,
    pub(super) notices: Mutex<Notices>,
    /// Values of secret fields that were seen, and of the saved state.
    pub(super) secrets: Mutex<SecretValues>,
    /// Numbers of nodes that answers showed.
    references: Mutex<References>,
    /// Tabs in the order of their use.
    used: Mutex<UsedTabs>,
    pub(super) calls: AtomicUsize,
    /// Beginning of the last call.
    last_call: Mutex<Option<Instant>>,
    /// True if a page was opened, or it was said that there is none.
    has_page: AtomicBool,
    /// True while the client's commands do not tell which tab is the active one.
    ignores_acts: AtomicBool,
    /// Grammar profile of the last call.
    pub(super) profile: Mutex<Profile>,
    /// Wakes a call when a dialog waits for the agent.
    pub(in crate::gate) dialog: Notify,
    /// Wakes a call when the tab that it acts on has crashed.
    pub(super) crash: Notify,
    /// Canceled at the end of the session.
    pub stop: CancellationToken,
}

/// Browser context of a session.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) browser: Arc<Browser>,
    /// Id of a context of its own; `None` for the default context.
    pub(super) id: Option<BrowserContextId>,
}

impl GateSession {
    /// Takes that a command is about to open a page, or needs one. Returns true if another one was before it.
    pub fn begin_page(&self) -> bool {
        self.has_page.swap(true, Ordering::Relaxed)
    }

    /// Returns the session's id.
    pub const fn session_id(&self) -> &SessionId {
        &self.id
    }

    /// Creates a session, with the endpoint of its context if it has one.
    pub(in crate::gate) fn new(
        id: SessionId,
        isolation: Isolation,
        endpoint: Option<Arc<EndpointAddress>>,
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
            shown: Mutex::default(),
            observers: Mutex::default(),
            notices: Mutex::default(),
            secrets: Mutex::default(),
            references: Mutex::default(),
            used: Mutex::default(),
            calls: AtomicUsize::new(0),
            last_call: Mutex::default(),
            has_page: AtomicBool::new(false),
            ignores_acts: AtomicBool::new(false),
            profile: Mutex::default(),
            dialog: Notify::new(),
            crash: Notify::new(),
            stop: CancellationToken::new(),
        })
    }

    /// Returns the port of the endpoint of the session's context, if it has one.
    pub fn port(&self) -> Option<u16> {
        self.endpoint.as_ref().map(|endpoint| endpoint.port)
    }

    /// Returns the policy of documents.
    pub(in crate::gate) fn documents(&self) -> Option<Arc<Documents>> {
        self.gate.upgrade().map(|gate| gate.documents())
    }

    pub(super) fn usable_pages(context: &Context) -> Vec<Arc<Page>> {
        let pages = context.browser.pages_of(context.id.as_ref());
        pages.into_iter().filter(|page| page.is_ready() && page.is_usable()).collect()
    }

    pub(super) fn lock_proxy(&self) -> MutexGuard<'_, Option<SessionAddress>> {
        self.proxy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_context(&self) -> MutexGuard<'_, Option<Context>> {
        self.context.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_shown(&self) -> MutexGuard<'_, Option<JoinHandle<Result<bool, GateError>>>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn context(&self) -> Option<Context> {
        self.lock_context().clone()
    }

    /// Returns the session's tabs and the connection to Chromium, if it has any.
    pub fn current(&self) -> Option<(Arc<Browser>, Vec<Arc<Page>>)> {
        let context = self.context().filter(|context| !context.browser.connection.is_closed())?;
        let pages = Self::usable_pages(&context);
        Some((context.browser, pages))
    }

    /// Returns all tabs of the session and the connection to Chromium, also tabs that are not set up yet.
    pub(in crate::gate) fn all_pages(&self) -> Option<(Arc<Browser>, Vec<Arc<Page>>)> {
        let context = self.context().filter(|context| !context.browser.connection.is_closed())?;
        let pages = context.browser.pages_of(context.id.as_ref());
        Some((context.browser, pages))
    }

    /// Returns the connection to Chromium, if the session is prepared.
    pub fn browser(&self) -> Option<Arc<Browser>> {
        self.context().map(|context| context.browser).filter(|browser| !browser.connection.is_closed())
    }

    /// Returns an id of the session's own context, which differs when its pages were lost. Those of the default context stay.
    pub fn instance(&self) -> Option<String> {
        let context = self.context()?;
        context.id.map(|id| format!("{}.{id}", context.browser.generation))
    }

    /// Returns the URL of the active tab if it shows a PDF.
    pub fn pdf_url(&self) -> Option<String> {
        self.active_page().filter(|page| page.is_pdf(&page.frame)).map(|page| page.url())
    }

    /// Returns the titles of the session's tabs by their ids.
    pub async fn titles(&self) -> HashMap<TargetId, String> {
        let Some((browser, pages)) = self.current() else { return HashMap::new() };
        let titles = pages.iter().map(async |page| Some((page.target.clone(), browser.title(&page.target).await?)));
        join_all(titles).await.into_iter().flatten().collect()
    }

    pub(super) fn lock_profile(&self) -> MutexGuard<'_, Profile> {
        self.profile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::gate) fn lock_secrets(&self) -> MutexGuard<'_, SecretValues> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::gate) fn lock_references(&self) -> MutexGuard<'_, References> {
        self.references.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the node of a reference, if its document is still known.
    pub fn find_reference(&self, number: u32) -> Option<NodeAddress> {
        self.lock_references().find(number)
    }

    /// Ignores which tabs the client's commands are for, or no longer: a list of all tabs is about none of them.
    pub fn ignore_acts(&self, is_ignored: bool) {
        self.ignores_acts.store(is_ignored, Ordering::Relaxed);
    }

    /// Returns the beginning of the last call, `None` before the first one.
    pub(in crate::gate) fn last_call(&self) -> Option<Instant> {
        *self.lock_last_call()
    }

    pub(super) fn lock_last_call(&self) -> MutexGuard<'_, Option<Instant>> {
        self.last_call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true while the client's commands do not tell which tab is the active one.
    pub(super) fn is_ignoring_acts(&self) -> bool {
        self.ignores_acts.load(Ordering::Relaxed)
    }

    pub(super) fn lock_used(&self) -> MutexGuard<'_, UsedTabs> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::gate) fn lock_notices(&self) -> MutexGuard<'_, Notices> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells an observer what happens to the session's tabs, for as long as it exists.
    pub fn add_observer(&self, observer: &Arc<dyn TabObserver>) {
        let mut observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner);
        observers.retain(|known| known.strong_count() > 0);
        observers.push(Arc::downgrade(observer));
    }

    pub(super) fn observers(&self) -> Vec<Arc<dyn TabObserver>> {
        let observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner);
        observers.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Drop for GateSession {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl std::fmt::Debug for GateSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateSession").field("id", &self.id).field("port", &self.port()).finish_non_exhaustive()
    }
}
