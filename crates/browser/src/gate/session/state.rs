//! State of a session's part of the browser, with its tabs in the order of their use and the references of its answers: numbers that stand
//! for nodes of its documents.
//!
//! Invariants: a node of a document keeps its number as long as the document is there; a number is never given to another node; the end of
//! a tab leads back to the one that was used before it.

use std::collections::{BTreeMap, HashMap};
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

use crate::gate::browser::{Browser, GateError};
use crate::gate::documents::Documents;
use crate::gate::notices::Notices;
use crate::gate::page::Page;
use crate::gate::scope::{EndpointAddress, GateServices, TabObserver};
use crate::gate::secret_values::SecretValues;
use browser_shell_cdp::protocol::{BackendNodeId, BrowserContextId, DebugSessionId, FrameId, LoaderId, TargetId};
use browser_shell_system::paths::SessionAddress;

/// Maximum number of tabs that are remembered.
const MAX_REMEMBERED: usize = 64;

/// Maximum number of references that a session keeps. Older ones are gone.
const MAX_REFERENCES: usize = 65_536;

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
    pub(super) ignores_acts: AtomicBool,
    /// Grammar profile of the last call.
    pub(super) profile: Mutex<Profile>,
    /// Wakes a call when a dialog waits for the agent.
    pub(in crate::gate) dialog: Notify,
    /// Wakes a call when the tab that it acts on has crashed.
    pub(super) crash: Notify,
    /// Number of the parts of an act whose input was sent.
    pub(super) sent: AtomicUsize,
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
    /// Records that a command is about to open a page, or needs one. Returns true if another one was before it.
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
            sent: AtomicUsize::new(0),
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

/// Targets of tabs, the last used one at the end.
#[derive(Debug, Default)]
pub(super) struct UsedTabs(Vec<TargetId>);

impl UsedTabs {
    /// Records that a tab is used, or was opened, which turns agent-browser to it.
    pub(super) fn take_use(&mut self, target: &TargetId) {
        if self.last() == Some(target) {
            return;
        }
        self.0.retain(|known| known != target);
        if self.0.len() == MAX_REMEMBERED {
            self.0.remove(0);
        }
        self.0.push(target.clone());
    }

    /// Records that a tab has ended. The end of the last used one leads to the tab that opened it, or else to the one used before.
    pub(super) fn take_end(&mut self, target: &TargetId, opener: Option<&TargetId>) {
        let is_last = self.last() == Some(target);
        self.0.retain(|known| known != target);
        if let Some(opener) = opener.filter(|_| is_last)
            && self.0.iter().any(|known| known == opener)
        {
            self.take_use(opener);
        }
    }

    /// Returns the tab that was used last.
    pub(super) fn last(&self) -> Option<&TargetId> {
        self.0.last()
    }
}

/// Node of a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeAddress {
    /// Target of the tab.
    pub page: TargetId,
    /// The gate's own session on the process of the frame.
    pub session: DebugSessionId,
    /// Frame.
    pub frame: FrameId,
    /// Document that the frame showed, by the id of its loader.
    pub document: LoaderId,
    /// Id of the node in its process.
    pub node: BackendNodeId,
}

/// References of a session.
#[derive(Debug, Default)]
pub(in crate::gate) struct References {
    numbers: HashMap<NodeAddress, u32>,
    addresses: BTreeMap<u32, NodeAddress>,
    /// Last number that was given.
    last: u32,
}

impl References {
    /// Returns the number of a node, a new one if it has none. Numbers begin at 1.
    pub(in crate::gate) fn number(&mut self, address: &NodeAddress) -> u32 {
        if let Some(number) = self.numbers.get(address) {
            return *number;
        }
        self.last = self.last.saturating_add(1);
        self.numbers.insert(address.clone(), self.last);
        self.addresses.insert(self.last, address.clone());
        while self.addresses.len() > MAX_REFERENCES {
            let Some((_, oldest)) = self.addresses.pop_first() else { break };
            self.numbers.remove(&oldest);
        }
        self.last
    }

    /// Returns the node of a number.
    pub(in crate::gate) fn find(&self, number: u32) -> Option<NodeAddress> {
        self.addresses.get(&number).cloned()
    }

    /// Forgets the nodes for which a predicate is false.
    pub(in crate::gate) fn retain(&mut self, is_known: impl Fn(&NodeAddress) -> bool) {
        self.numbers.retain(|address, _| is_known(address));
        self.addresses.retain(|_, address| is_known(address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(targets: &[&str]) -> UsedTabs {
        let mut used = UsedTabs::default();
        for target in targets {
            used.take_use(&TargetId::from(*target));
        }
        used
    }

    #[test]
    fn end_of_a_tab_leads_to_its_opener_or_the_one_before() {
        for (order, closed, opener, expected) in [
            (&["a", "b", "c"][..], "c", None, Some("b")),
            (&["a", "b", "c"], "c", Some("a"), Some("a")),
            (&["a", "b", "c"], "c", Some("gone"), Some("b")),
            (&["a", "b", "c"], "b", Some("a"), Some("c")),
            (&["a", "b", "c", "a"], "a", None, Some("c")),
            (&["a"], "a", Some("b"), None),
        ] {
            let mut used = used(order);
            used.take_end(&closed.into(), opener.map(TargetId::from).as_ref());
            assert_eq!(used.last().map(TargetId::as_str), expected, "{order:?} without {closed}");
        }
    }

    #[test]
    fn number_of_tabs_is_limited() {
        let names: Vec<_> = (0..=MAX_REMEMBERED).map(|number| number.to_string()).collect();
        let used = used(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((used.0.len(), used.last().map(TargetId::as_str)), (MAX_REMEMBERED, Some("64")));
        assert_eq!(used.0.first().map(TargetId::as_str), Some("1"));
    }

    fn address(document: &str, node: u64) -> NodeAddress {
        NodeAddress {
            page: "page".into(),
            session: "session".into(),
            frame: "frame".into(),
            document: document.into(),
            node: BackendNodeId(node),
        }
    }

    #[test]
    fn node_keeps_its_number() {
        let mut references = References::default();
        assert_eq!(references.number(&address("a", 7)), 1);
        assert_eq!(references.number(&address("a", 8)), 2);
        assert_eq!(references.number(&address("b", 7)), 3);
        assert_eq!(references.number(&address("a", 7)), 1);
        assert_eq!(references.find(2), Some(address("a", 8)));
        assert_eq!(references.find(4), None);
        assert_eq!(references.find(0), None);
    }

    #[test]
    fn number_of_a_gone_document_is_not_used_again() {
        let mut references = References::default();
        references.number(&address("a", 7));
        references.number(&address("b", 7));
        references.retain(|address| address.document.as_str() == "b");
        assert_eq!(references.find(1), None);
        assert_eq!(references.find(2), Some(address("b", 7)));
        assert_eq!(references.number(&address("a", 7)), 3);
    }

    #[test]
    fn oldest_references_are_forgotten_at_the_limit() {
        let mut references = References::default();
        for node in 0..=MAX_REFERENCES as u64 {
            references.number(&address("a", node));
        }
        assert_eq!(references.find(1), None);
        assert_eq!(references.find(2), Some(address("a", 1)));
        assert_eq!(usize::try_from(references.number(&address("a", 0))).ok(), Some(MAX_REFERENCES + 2));
    }
}
