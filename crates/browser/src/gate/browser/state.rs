//! State of a browser: its connection, and the tabs and contexts that it knows.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::OnceCell;

use crate::gate::documents::Documents;
use crate::gate::notices::{Notice, Notices, SeenNotice};
use crate::gate::owner::PageOwner;
use crate::gate::page::Page;
use browser_shell_cdp::protocol::browser::{GetVersion, Version};
use browser_shell_cdp::protocol::{BrowserContextId, CdpCommand, DebugSessionId, FrameId, TargetId};
use browser_shell_cdp::{CommandError, Connection};
use browser_shell_system::paths::SessionAddress;

/// Tabs of one Chromium.
pub struct Browser {
    /// Connection to the browser.
    pub connection: Arc<Connection>,
    /// Number of this connection in the process.
    pub(in crate::gate) generation: u64,
    pub(super) documents: Arc<Documents>,
    /// Name of the function by which documents report that they ask for a permission. No page sees it.
    pub(in crate::gate) report_binding: String,
    /// The gate's session on the tab that empties the clipboard.
    pub(in crate::gate) clipboard_tab: tokio::sync::Mutex<Option<DebugSessionId>>,
    /// Held while hung tabs are replaced.
    pub(in crate::gate) recovery: tokio::sync::Mutex<()>,
    /// Held while a tab that has crashed is replaced.
    pub(super) replacement: tokio::sync::Mutex<()>,
    pub(super) tables: Mutex<Tables>,
    /// Held for reading while the gate opens a tab whose id it does not know yet.
    pub(super) opening: tokio::sync::RwLock<()>,
    /// Number of dialogs that have waited for an agent.
    pub(super) dialogs: AtomicU64,
    /// Version of Chromium, once it has told it.
    version: OnceCell<Version>,
    pub(super) me: Weak<Self>,
}

/// Tabs, debugging sessions and contexts.
#[derive(Default)]
pub(super) struct Tables {
    /// Id of the context that Chromium starts with.
    pub(super) default_context: Option<BrowserContextId>,
    /// Tabs by target.
    pub(super) pages: HashMap<TargetId, Arc<Page>>,
    /// Tabs by the gate's own sessions on them.
    pub(super) sessions: HashMap<DebugSessionId, Arc<Page>>,
    /// Targets of the tabs that the gate opened.
    pub(super) opened: HashSet<TargetId>,
    /// Targets of the tabs that the gate was asked to close.
    pub(super) closing: HashSet<TargetId>,
    /// Contexts that the gate made, with their session if they are one's.
    pub(super) contexts: HashMap<BrowserContextId, Option<Weak<dyn PageOwner>>>,
    /// Contexts that Chromium has ended, but not all of whose tabs are known to be gone.
    pub(super) ended: HashSet<BrowserContextId>,
    /// Addresses of the egress guard of contexts that could not be ended.
    pub(super) orphans: Vec<SessionAddress>,
    /// Number of tabs that were seen.
    pub(super) count: u64,
    /// Documents that the gate let a tab request and that Chromium has not requested yet, by frame.
    pub(super) allowed: HashMap<FrameId, AllowedDocument>,
    /// Targets of the tabs in contexts that somebody else made.
    pub(super) others: HashSet<TargetId>,
    /// Sessions that share the default context.
    pub(super) shared: Vec<Weak<dyn PageOwner>>,
    /// Notices of the default context that came while no call ran.
    pub(super) notices: Notices,
}

/// Document that the gate let a tab request.
pub(super) struct AllowedDocument {
    /// Target of the tab.
    pub(super) target: TargetId,
    /// URL.
    pub(super) url: String,
}

impl Tables {
    /// Forgets a context that Chromium has ended, with the last of its tabs: without an owner, they belong to nobody.
    pub(super) fn forget_context(&mut self, context: &BrowserContextId) {
        if self.ended.contains(context) && !self.pages.values().any(|page| page.context == *context) {
            self.ended.remove(context);
            self.contexts.remove(context);
        }
    }
}

impl Browser {
    pub(super) fn new(
        connection: Arc<Connection>,
        generation: u64,
        documents: Arc<Documents>,
        report_binding: String,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            connection,
            generation,
            documents,
            report_binding,
            clipboard_tab: tokio::sync::Mutex::default(),
            recovery: tokio::sync::Mutex::default(),
            replacement: tokio::sync::Mutex::default(),
            tables: Mutex::default(),
            opening: tokio::sync::RwLock::default(),
            dialogs: AtomicU64::new(0),
            version: OnceCell::new(),
            me: me.clone(),
        })
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a command to the browser itself.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser refuses the command or is gone.
    pub async fn root<C: CdpCommand>(&self, command: &C) -> Result<C::Response, CommandError> {
        self.connection.send(None, command).await
    }

    /// Returns the version of Chromium, which is asked for it once. agent-browser asks before each command whether it is there, and
    /// loses its connection when it is not.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not answer.
    pub async fn version(&self) -> Result<Version, CommandError> {
        let ask = async || self.root(&GetVersion {}).await;
        if self.connection.is_closed() { ask().await } else { self.version.get_or_try_init(ask).await.cloned() }
    }

    /// Returns the version of Chromium, if it was asked for before.
    pub fn known_version(&self) -> Option<Version> {
        self.version.get().filter(|_| !self.connection.is_closed()).cloned()
    }

    /// Returns all tabs.
    pub fn pages(&self) -> Vec<Arc<Page>> {
        self.tables().pages.values().cloned().collect()
    }

    /// Returns the tabs of a context, that of the default context for `None`, the oldest first.
    pub fn pages_of(&self, context: Option<&BrowserContextId>) -> Vec<Arc<Page>> {
        let tables = self.tables();
        let is_own = |page: &&Arc<Page>| match context {
            Some(context) => page.context == *context,
            None => !tables.contexts.contains_key(&page.context),
        };
        let mut pages: Vec<_> = tables.pages.values().filter(is_own).cloned().collect();
        pages.sort_by_key(|page| page.number);
        pages
    }

    /// Returns a tab by its target.
    pub fn page(&self, target: &TargetId) -> Option<Arc<Page>> {
        self.tables().pages.get(target).cloned()
    }

    /// Returns the sessions that a tab belongs to.
    pub(super) fn owners(&self, page: &Page) -> Vec<Arc<dyn PageOwner>> {
        let tables = self.tables();
        match tables.contexts.get(&page.context) {
            Some(session) => session.as_ref().and_then(Weak::upgrade).into_iter().collect(),
            None => tables.shared.iter().filter_map(Weak::upgrade).filter(|session| session.is_open()).collect(),
        }
    }

    /// Returns the sessions that a tab belongs to and that run a call now; all of them if none does.
    pub(super) fn active_owners(&self, page: &Page) -> Vec<Arc<dyn PageOwner>> {
        let owners = self.owners(page);
        let active: Vec<_> = owners.iter().filter(|session| session.is_active()).cloned().collect();
        if active.is_empty() { owners } else { active }
    }

    /// Gives a notice to each call that runs in the context of a tab, or else to the next one.
    pub(super) fn notice(&self, page: &Page, notice: &Notice) {
        let owners = self.active_owners(page);
        let is_shared = !self.tables().contexts.contains_key(&page.context);
        if is_shared && !owners.iter().any(|owner| owner.is_active()) {
            return self.tables().notices.add(notice.clone(), false);
        }
        for session in owners {
            session.add_notice(notice.clone());
        }
    }

    /// Returns and forgets the notices of the default context that came while no call ran.
    pub(in crate::gate) fn take_notices(&self) -> Vec<SeenNotice> {
        self.tables().notices.take()
    }

    /// Removes the notice of a dialog that has been answered.
    pub(in crate::gate) fn remove_notice_of_dialog(&self, number: u64) {
        self.tables().notices.remove_dialog(number);
    }

    /// Runs something about a tab in the background.
    pub(super) fn spawn<F: Future<Output = ()> + Send + 'static>(&self, task: impl FnOnce(Arc<Self>) -> F) {
        if let Some(browser) = self.me.upgrade() {
            tokio::spawn(task(browser));
        }
    }

    /// Forgets a tab.
    pub(super) fn forget(&self, target: &TargetId) -> Option<Arc<Page>> {
        let mut tables = self.tables();
        tables.opened.remove(target);
        tables.closing.remove(target);
        let page = tables.pages.remove(target)?;
        page.gone.cancel();
        for session in page.sessions() {
            tables.sessions.remove(&session);
            self.connection.remove_session(&session);
        }
        tables.allowed.retain(|_, document| document.target != page.target);
        tables.forget_context(&page.context);
        Some(page)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Tabs wait for the gate as long as the connection lives.
        self.connection.close();
    }
}
