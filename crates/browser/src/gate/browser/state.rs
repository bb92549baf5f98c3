//! State of a browser: its connection, the tabs and contexts that it knows, and whose they are.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::session_id::SessionId;
use thiserror::Error;
use tokio::sync::OnceCell;

use crate::gate::documents::Documents;
use crate::gate::notices::{Notice, Notices, SeenNotice};
use crate::gate::page::Page;
use browser_shell_cdp::protocol::browser::{DownloadBehavior, GetVersion, SetDownloadBehavior, Version};
use browser_shell_cdp::protocol::target::DisposeBrowserContext;
use browser_shell_cdp::protocol::{BrowserContextId, CdpCommand, DebugSessionId, FrameId, TargetId};
use browser_shell_cdp::{BrowserError, CommandError, Connection};
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
    /// Documents that the gate let each tab request and that Chromium has not requested yet.
    allowed: HashMap<TargetId, AllowedDocuments>,
    /// Targets of the tabs in contexts that somebody else made.
    pub(super) others: HashSet<TargetId>,
    /// Sessions that share the default context.
    pub(super) shared: Vec<Weak<dyn PageOwner>>,
    /// Notices of the default context that came while no call ran.
    pub(super) notices: Notices,
}

/// Hash of the URL of a document by its frame: pages choose how long a URL is.
type AllowedDocuments = HashMap<FrameId, u64>;

/// Number of documents above which a tab loses those that it may request: frames that are gone request none.
const MAX_ALLOWED: usize = 1024;

/// Returns the hash of a URL, which nobody outside of this process can find another URL for.
fn hash(url: &str) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one(url)
}

impl Tables {
    /// Lets a frame of a tab request a document.
    pub(super) fn allow(&mut self, target: &TargetId, frame: &FrameId, url: &str) {
        let documents = self.allowed.entry(target.clone()).or_default();
        if documents.len() >= MAX_ALLOWED {
            documents.clear();
        }
        documents.insert(frame.clone(), hash(url));
    }

    /// Returns true if a frame may request this document. It may no longer request any.
    pub(super) fn take_allowed(&mut self, frame: &FrameId, url: &str) -> bool {
        self.allowed.values_mut().find_map(|documents| documents.remove(frame)) == Some(hash(url))
    }

    /// Forgets what a frame of a tab may request.
    pub(super) fn forget_allowed(&mut self, target: &TargetId, frame: &FrameId) {
        if let Some(documents) = self.allowed.get_mut(target) {
            documents.remove(frame);
        }
    }

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
        tables.allowed.remove(target);
        tables.forget_context(&page.context);
        Some(page)
    }

    /// Denies the downloads of a context and has them reported.
    pub(in crate::gate) async fn deny_downloads(&self, context: Option<&BrowserContextId>) -> Result<(), CommandError> {
        let deny =
            SetDownloadBehavior { behavior: DownloadBehavior::Deny, events_enabled: true, browser_context_id: context };
        self.root(&deny).await.map(drop)
    }

    /// Adds a session with a context of its own.
    pub(in crate::gate) fn add_context(&self, context: &BrowserContextId, session: &Arc<dyn PageOwner>) {
        self.tables().contexts.insert(context.clone(), Some(Arc::downgrade(session)));
    }

    /// Adds a context of the gate's own, whose tabs are no session's.
    pub(in crate::gate) fn add_own_context(&self, context: &BrowserContextId) {
        self.tables().contexts.insert(context.clone(), None);
    }

    /// Ends the context of a session. If Chromium does not, its address stays in use: its pages could use it.
    pub(in crate::gate) async fn dispose(&self, context: &BrowserContextId, address: Option<SessionAddress>) {
        if let Err(error) = self.root(&DisposeBrowserContext { browser_context_id: context }).await {
            if self.connection.is_closed() {
                return;
            }
            tracing::warn!(%error, "a session's browser context could not be ended");
            // It stays in the table: without an owner, its pages belong to nobody.
            self.tables().orphans.extend(address);
            return;
        }
        let mut tables = self.tables();
        tables.ended.insert(context.clone());
        tables.forget_context(context);
    }

    /// Returns the number of contexts that the gate made and that may have tabs.
    pub(in crate::gate) fn context_count(&self) -> usize {
        self.tables().contexts.len()
    }

    /// Adds a session that uses the default context.
    pub(in crate::gate) fn add_shared(&self, session: &Arc<dyn PageOwner>) {
        let mut tables = self.tables();
        tables.shared.retain(|known| known.strong_count() > 0);
        if !tables.shared.iter().any(|known| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(session))) {
            tables.shared.push(Arc::downgrade(session));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Tabs wait for the gate as long as the connection lives.
        self.connection.close();
    }
}

/// Owner of tabs.
pub(in crate::gate) trait PageOwner: Send + Sync {
    /// Returns the session's id.
    fn id(&self) -> &SessionId;

    /// Returns true until the session is closed.
    fn is_open(&self) -> bool;

    /// Returns true while a call of the session runs.
    fn is_active(&self) -> bool;

    /// Returns true if the policy lets the agent of the session answer dialogs, by the grammar profile of its last call.
    fn can_answer_dialogs(&self) -> bool;

    /// Records something that a tab did.
    fn add_notice(&self, notice: Notice);

    /// Takes a new tab.
    fn page_opened(&self, page: &Arc<Page>);

    /// Called when a tab shows another page.
    fn page_changed(&self, page: &Page);

    /// Called when a tab was closed.
    fn page_closed(&self, page: &Page);

    /// Returns true if the tab is the one that the session acts on.
    fn is_acting_on(&self, page: &Page) -> bool;

    /// Called when the tab which the session acts on has crashed.
    fn active_tab_crashed(&self);

    /// Called when a dialog of a tab waits for the agent.
    fn dialog_waits(&self, page: &Page);
}

/// Reason why the gate cannot serve a session.
#[derive(Debug, Error)]
pub enum GateError {
    /// Chromium is not reachable.
    #[error(transparent)]
    Browser(#[from] BrowserError),
    /// Chromium did not carry out a command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Chromium of this process is not running.
    #[error("Chromium does not run")]
    NotRunning,
    /// The endpoint cannot be opened.
    #[error("cannot open the endpoint of the session: {0}")]
    Endpoint(#[from] std::io::Error),
    /// Another program listens on the port of the endpoint.
    #[error("port {0} on 127.0.0.1 is in use")]
    PortInUse(u16),
    /// The kernel gives no random bytes.
    #[error("cannot read random bytes: {0}")]
    Random(std::io::Error),
    /// The egress guard has no more addresses for sessions.
    #[error("the egress guard has no free address for the session")]
    NoAddress,
    /// Another session may copy something right now.
    #[error("another session uses the clipboard; try again")]
    ClipboardInUse,
    /// The clipboard still holds what another session copied.
    #[error("the clipboard could not be emptied")]
    Clipboard,
    /// A target did not appear.
    #[error("a new tab did not become ready in time")]
    NoTab,
    /// The saved state of the session cannot be used.
    #[error("cannot use the saved state of the session: {0}")]
    State(String),
}

impl From<GateError> for Decision {
    fn from(error: GateError) -> Self {
        tracing::error!(%error, "the control gate cannot serve a session");
        if matches!(error, GateError::NoAddress) {
            return Self::new(Code::TooManySessions, "all addresses of the egress guard are in use");
        }
        if let GateError::PortInUse(port) = error {
            let reason = format!("another program listens on port {port}, at which agent-browser reaches the browser");
            return Self::new(Code::EndpointPortInUse, reason);
        }
        let reason = match error {
            GateError::State(_) => "the saved state of the session cannot be used; the server's log says why",
            _ => "the control gate could not prepare the session's part of the browser",
        };
        Self::new(Code::GateUnavailable, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_one_tab_displace_none_of_another() {
        let mut tables = Tables::default();
        let [many, few]: [TargetId; 2] = ["many", "few"].map(Into::into);
        let frame = |number: usize| FrameId::from(format!("frame{number}").as_str());
        tables.allow(&few, &"first".into(), "http://first/");
        for number in 0..=MAX_ALLOWED {
            tables.allow(&many, &frame(number), "http://many/");
        }
        assert!(!tables.take_allowed(&frame(0), "http://many/"), "control: the tab has lost its own");
        assert!(tables.take_allowed(&frame(MAX_ALLOWED), "http://many/"), "control: the last one");
        for number in 0..MAX_ALLOWED {
            tables.allow(&many, &frame(number), "http://many/");
        }
        tables.allow(&few, &"second".into(), "http://second/");
        assert!(tables.take_allowed(&"first".into(), "http://first/"));
        assert!(!tables.take_allowed(&"first".into(), "http://first/"), "once");
        assert!(!tables.take_allowed(&"second".into(), "http://other/"), "another URL");
    }

    #[test]
    fn document_of_a_frame_that_is_gone_is_not_allowed() {
        let mut tables = Tables::default();
        let (tab, frame) = (TargetId::from("tab"), FrameId::from("frame"));
        tables.allow(&tab, &frame, "http://page/");
        tables.forget_allowed(&TargetId::from("other"), &frame);
        tables.forget_allowed(&tab, &frame);
        assert!(!tables.take_allowed(&frame, "http://page/"));
    }
}
