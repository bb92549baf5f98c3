//! The control gate of a process: its connection to Chromium, the sessions that it serves, and Chromium's clipboard, which all of its
//! contexts share.
//!
//! A page reads the clipboard only when somebody pastes. So it is emptied before another session's window comes to the front.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use browser_shell_core::gate::Level;
use browser_shell_core::policy::{Isolation, Policy};
use browser_shell_core::session_id::SessionId;
use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::gate::browser::{Browser, GateError, WindowMode};
use crate::gate::documents::Documents;
use crate::gate::page::Page;
use crate::gate::scope::{Denied, EndpointAddress, GateServices};
use crate::gate::session::{GateSession, to_end};
use browser_shell_cdp::protocol::DebugSessionId;
use browser_shell_cdp::protocol::browser::{GetVersion, Version};
use browser_shell_cdp::protocol::network::SetFocusEmulationEnabled;
use browser_shell_cdp::protocol::runtime::Evaluate;
use browser_shell_cdp::protocol::target::{ActivateTarget, AttachToTarget, CreateBrowserContext, CreateTarget};
use browser_shell_cdp::{CommandError, Connection};
use browser_shell_system::paths::SessionAddresses;
use browser_shell_system::policy_source::PolicySource;

/// Maximum number of different refused methods that are logged as warnings.
const MAX_LOGGED: usize = 256;

/// Way to Chromium's debugging interface.
#[derive(Debug)]
pub enum ChromiumAddress {
    /// Port on loopback of a Chromium that another program starts.
    Port(u16),
    /// Connection of a Chromium that this process starts; `None` while it does not run.
    Own(watch::Receiver<Option<Arc<Connection>>>),
}

/// Choice of the isolation of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationChoice {
    /// That of the policy, or this one if it names none.
    ByPolicy(Isolation),
    /// This one, whatever the policy names.
    Always(Isolation),
}

/// Settings of a control gate.
#[derive(Debug)]
pub struct GateConfig {
    /// Way to Chromium.
    pub upstream: ChromiumAddress,
    /// Choice of the isolation of sessions.
    pub isolation: IsolationChoice,
    /// Addresses of the egress guard for sessions, if it has any.
    pub addresses: Option<Arc<SessionAddresses>>,
    /// State of the windows of sessions.
    pub windows: WindowMode,
    /// Policy of documents.
    pub policy: PolicySource,
}

/// The control gate of a process.
pub struct ControlGate {
    upstream: ChromiumAddress,
    isolation: IsolationChoice,
    addresses: Option<Arc<SessionAddresses>>,
    windows: WindowMode,
    documents: Arc<Documents>,
    browser: tokio::sync::Mutex<Option<Arc<Browser>>>,
    sessions: Mutex<Vec<Weak<GateSession>>>,
    generations: AtomicU64,
    /// Session whose window is in front.
    front: tokio::sync::Mutex<Option<SessionId>>,
    clipboard: Mutex<ClipboardUsers>,
    /// Held while the clipboard is emptied.
    emptying: tokio::sync::Mutex<()>,
    refusals: AtomicU64,
    logged: Mutex<HashSet<String>>,
    me: Weak<Self>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ControlGate {
    /// Creates a gate. It connects to Chromium when a session needs it.
    #[must_use]
    pub fn new(config: GateConfig) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            upstream: config.upstream,
            isolation: config.isolation,
            addresses: config.addresses,
            windows: config.windows,
            documents: Arc::new(Documents::new(config.policy)),
            browser: tokio::sync::Mutex::new(None),
            sessions: Mutex::default(),
            generations: AtomicU64::new(1),
            front: tokio::sync::Mutex::new(None),
            clipboard: Mutex::default(),
            emptying: tokio::sync::Mutex::default(),
            refusals: AtomicU64::new(0),
            logged: Mutex::default(),
            me: me.clone(),
        })
    }

    /// Creates a gate without a browser, for tests whose agent-browser is a stand-in.
    #[must_use]
    pub fn without_browser(policy: PolicySource) -> Arc<Self> {
        let isolation = IsolationChoice::ByPolicy(Isolation::Shared);
        // Nothing listens on the first port.
        Self::new(GateConfig {
            upstream: ChromiumAddress::Port(1),
            isolation,
            addresses: None,
            windows: WindowMode::Maximized,
            policy,
        })
    }

    /// Returns the number of browser contexts that the gate made, or `None` while it connects to a Chromium.
    pub fn contexts(&self) -> Option<usize> {
        let browser = self.browser.try_lock().ok()?;
        Some(browser.as_ref().map_or(0, |browser| browser.context_count()))
    }

    /// Returns the number of methods that clients were refused.
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Returns the isolation of a session under its policy.
    #[must_use]
    pub fn isolation(&self, policy: &Policy) -> Isolation {
        match self.isolation {
            IsolationChoice::ByPolicy(default) => policy.browser.isolation.unwrap_or(default),
            IsolationChoice::Always(isolation) => isolation,
        }
    }

    /// Opens the part of a session. A program that has an endpoint of its context keeps it open by the address.
    ///
    /// # Errors
    ///
    /// Returns an error if no address of the egress guard is left.
    pub fn open(
        &self,
        id: &SessionId,
        policy: &Policy,
        endpoint: Option<Arc<EndpointAddress>>,
    ) -> Result<Arc<GateSession>, GateError> {
        let isolation = self.isolation(policy);
        let proxy = match &self.addresses {
            Some(addresses) if isolation == Isolation::Session => {
                Some(addresses.allocate(id).ok_or(GateError::NoAddress)?)
            }
            _ => None,
        };
        let saved_state = policy.browser_state(id).cloned();
        let me: Weak<dyn GateServices> = self.me.clone();
        let session = GateSession::new(id.clone(), isolation, endpoint, proxy, saved_state, me);
        let mut sessions = lock(&self.sessions);
        sessions.retain(|known| known.strong_count() > 0);
        sessions.push(Arc::downgrade(&session));
        Ok(session)
    }

    /// Returns the version of Chromium, over a connection that is made if there is none; `None` if it does not answer.
    pub async fn version(&self) -> Option<Version> {
        self.browser().await.ok()?.root(&GetVersion {}).await.ok()
    }

    /// Returns the open sessions.
    pub(in crate::gate) fn sessions(&self) -> Vec<Arc<GateSession>> {
        lock(&self.sessions).iter().filter_map(Weak::upgrade).collect()
    }

    /// Ends a session's part of the browser.
    pub async fn close(&self, session: &GateSession) {
        session.end().await;
        self.front.lock().await.take_if(|front| front == session.session_id());
    }

    /// Empties the clipboard, unless nobody but the session can have put something into it. Nobody empties it while the guard
    /// lives.
    async fn empty_clipboard_for(
        &self,
        session: &SessionId,
        browser: &Arc<Browser>,
    ) -> Result<tokio::sync::MutexGuard<'_, ()>, GateError> {
        let emptying = self.emptying.lock().await;
        if !lock(&self.clipboard).is_only(session) {
            let users = lock(&self.clipboard).begin_emptying();
            clear_clipboard(browser).await.inspect_err(|_| lock(&self.clipboard).undo_emptying(users))?;
        }
        Ok(emptying)
    }

    /// Returns the tabs of Chromium, over a connection that is made if there is none.
    async fn connect(&self) -> Result<Arc<Browser>, GateError> {
        let mut browser = self.browser.lock().await;
        let connection = match (&self.upstream, &*browser) {
            (ChromiumAddress::Port(_), Some(browser)) if !browser.connection.is_closed() => return Ok(browser.clone()),
            (ChromiumAddress::Port(port), _) => browser_shell_cdp::over_port(*port).await?,
            (ChromiumAddress::Own(connection), known) => {
                let connection = connection.borrow().clone().filter(|connection| !connection.is_closed());
                let connection = connection.ok_or(GateError::NotRunning)?;
                match known {
                    Some(browser) if Arc::ptr_eq(&browser.connection, &connection) => return Ok(browser.clone()),
                    _ => connection,
                }
            }
        };
        let generation = self.generations.fetch_add(1, Ordering::Relaxed);
        let new = Browser::start(connection, generation, self.documents.clone()).await?;
        *browser = Some(new.clone());
        Ok(new)
    }
}

impl GateServices for ControlGate {
    fn set_active(&self, session: &SessionId, is_active: bool) {
        lock(&self.clipboard).set_active(session, is_active);
    }

    fn prepare_paste<'a>(
        &'a self,
        session: &'a SessionId,
        browser: &'a Arc<Browser>,
    ) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(async move {
            let _emptying = self.empty_clipboard_for(session, browser).await?;
            // Another session may copy at any time while its call runs.
            if lock(&self.clipboard).is_only(session) { Ok(()) } else { Err(GateError::ClipboardInUse) }
        })
    }

    fn browser(&self) -> BoxFuture<'_, Result<Arc<Browser>, GateError>> {
        Box::pin(async {
            let gate = self.me.upgrade().ok_or(GateError::NotRunning)?;
            // A caller that gives up must not leave half a connection behind, for which tabs would wait.
            to_end(async move { gate.connect().await }).await.unwrap_or(Err(GateError::NotRunning))
        })
    }

    fn bring_to_front<'a>(
        &'a self,
        session: &'a SessionId,
        page: Option<Arc<Page>>,
        browser: &'a Arc<Browser>,
    ) -> BoxFuture<'a, Result<bool, GateError>> {
        Box::pin(async move {
            let mut front = self.front.lock().await;
            if front.as_ref() == Some(session) {
                return Ok(false);
            }
            drop(self.empty_clipboard_for(session, browser).await?);
            *front = Some(session.clone());
            if let Some(page) = page {
                let _ = browser.root(&ActivateTarget { target_id: &page.target }).await;
            }
            Ok(true)
        })
    }

    fn documents(&self) -> Arc<Documents> {
        self.documents.clone()
    }

    fn windows(&self) -> WindowMode {
        self.windows
    }

    fn count_refusal(&self, session: &SessionId, level: Level, denied: Denied<'_>) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
        let (method, message) = match denied {
            Denied::Method(name) => (name, "the control gate refused a method of agent-browser"),
            Denied::BetweenCalls(name) => {
                (name, "the control gate refused a method of agent-browser, because no call of its session runs")
            }
            Denied::Event(name) => (name, "the control gate withheld an event that it does not know"),
        };
        // The text is a client's.
        let method: String = method.chars().take(80).collect();
        let is_new = {
            let mut logged = lock(&self.logged);
            logged.len() < MAX_LOGGED && logged.insert(format!("{level:?} {method}"))
        };
        if is_new {
            tracing::warn!(%session, ?level, method, "{message}");
        } else {
            tracing::debug!(%session, ?level, method, "{message}");
        }
    }
}

impl std::fmt::Debug for ControlGate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlGate").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

/// Script that copies nothing, so that the clipboard holds nothing.
const EMPTY: &str = "(() => { addEventListener('copy', event => { event.clipboardData.setData('text/plain', ''); \
                     event.preventDefault(); }, { once: true }); return document.execCommand('copy'); })()";

/// Sessions that may have put something into the clipboard.
#[derive(Debug, Default)]
struct ClipboardUsers {
    /// Sessions with a call since the clipboard was emptied last.
    since_emptied: HashSet<SessionId>,
    /// Sessions with a call now, and the number of their calls.
    active: HashMap<SessionId, usize>,
}

impl ClipboardUsers {
    /// Records that a call of a session begins or has ended.
    fn set_active(&mut self, session: &SessionId, is_active: bool) {
        self.since_emptied.insert(session.clone());
        let calls = self.active.entry(session.clone()).or_default();
        *calls = if is_active { *calls + 1 } else { calls.saturating_sub(1) };
        if *calls == 0 {
            self.active.remove(session);
        }
    }

    /// Records that the clipboard is being emptied: from now on, only calls that run may have used it. Returns the sessions that
    /// used it before.
    fn begin_emptying(&mut self) -> HashSet<SessionId> {
        let active = self.active.keys().cloned().collect();
        std::mem::replace(&mut self.since_emptied, active)
    }

    /// Records that the clipboard could not be emptied.
    fn undo_emptying(&mut self, users: HashSet<SessionId>) {
        self.since_emptied.extend(users);
    }

    /// Returns true if nobody but the session has used the clipboard.
    fn is_only(&self, session: &SessionId) -> bool {
        self.since_emptied.iter().all(|user| user == session)
    }
}

/// Empties the clipboard, from a tab that nobody sees.
///
/// # Errors
///
/// Returns an error if it could not be emptied: the next session must not paste from it.
async fn clear_clipboard(browser: &Arc<Browser>) -> Result<(), GateError> {
    let mut tab = browser.clipboard_tab.lock().await;
    if let Some(session) = &*tab
        && copy_nothing(browser, session).await.is_ok()
    {
        return Ok(());
    }
    // The first time, or after the tab has ended.
    let session = open_clipboard_tab(browser).await?;
    copy_nothing(browser, &session).await?;
    *tab = Some(session);
    Ok(())
}

/// Opens the tab in a context of its own and returns the gate's session on it. It stays open, because opening one takes long.
async fn open_clipboard_tab(browser: &Arc<Browser>) -> Result<DebugSessionId, GateError> {
    let new = CreateBrowserContext { dispose_on_detach: true, proxy_server: None, proxy_bypass_list: None };
    let context = browser.root(&new).await?.browser_context_id;
    browser.add_own_context(&context);
    let blank = || CreateTarget { url: "about:blank", browser_context_id: Some(&context), ..CreateTarget::default() };
    let created = match browser.root(&CreateTarget { hidden: Some(true), ..blank() }).await {
        // An older Chromium has no hidden tabs.
        Err(CommandError::Refused { .. }) => browser.root(&CreateTarget { background: Some(true), ..blank() }).await?,
        created => created?,
    };
    let session = browser.root(&AttachToTarget::new(&created.target_id)).await?.session_id;
    browser.connection.send(Some(&session), &SetFocusEmulationEnabled { enabled: true }).await?;
    Ok(session)
}

async fn copy_nothing(browser: &Browser, session: &DebugSessionId) -> Result<(), GateError> {
    let script = Evaluate { expression: EMPTY, user_gesture: true, return_by_value: true, ..Evaluate::default() };
    match browser.connection.send(Some(session), &script).await?.value() {
        Some(true) => Ok(()),
        _ => Err(GateError::Clipboard),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_session_may_paste_without_emptying() {
        let (one, two) = (SessionId::new("one").expect("valid"), SessionId::new("two").expect("valid"));
        let mut users = ClipboardUsers::default();
        users.set_active(&one, true);
        assert!(users.is_only(&one), "control");
        users.set_active(&two, true);
        assert!(!users.is_only(&one) && !users.is_only(&two));
        users.set_active(&two, false);
        assert!(!users.is_only(&one), "its call may have copied something");
        let before = users.begin_emptying();
        assert!(users.is_only(&one));
        users.undo_emptying(before);
        assert!(!users.is_only(&one), "it was not emptied");
        users.begin_emptying();
        users.set_active(&two, true);
        users.begin_emptying();
        assert!(!users.is_only(&one), "a call that runs may copy after it");
    }
}
