//! The control gate of a process: its connection to Chromium, and the sessions that it serves.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::gate::Level;
use browser_shell_core::policy::{Engine, Isolation, Policy};
use browser_shell_core::session_id::SessionId;
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::browser::cdp::protocol::target::ActivateTarget;
use crate::browser::cdp::{self, Connection};
use crate::gate::browser::Browser;
use crate::gate::clipboard::{self, ClipboardUsers};
use crate::gate::documents::Documents;
use crate::gate::endpoint::Endpoint;
use crate::gate::endpoint_address::EndpointAddress;
use crate::gate::error::GateError;
use crate::gate::page::Page;
use crate::gate::scope::{Denied, GateServices};
use crate::gate::session::GateSession;
use crate::gate::task::to_end;
use crate::gate::window::WindowMode;
use crate::paths::SessionAddresses;
use crate::policy_source::PolicySource;

/// Maximum number of different refused methods that are logged as warnings.
const MAX_LOGGED: usize = 256;

/// Interval between attempts to listen on the operator's port.
const PORT_INTERVAL: Duration = Duration::from_millis(100);

/// Way to Chromium's debugging interface.
#[derive(Debug)]
pub(crate) enum ChromiumAddress {
    /// Port on loopback of a Chromium that another program starts.
    Port(u16),
    /// Connection of a Chromium that this process starts; `None` while it does not run.
    Own(watch::Receiver<Option<Arc<Connection>>>),
}

/// Choice of the isolation of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IsolationChoice {
    /// That of the policy, or this one if it names none.
    ByPolicy(Isolation),
    /// This one, whatever the policy names.
    Always(Isolation),
}

/// Settings of a control gate.
#[derive(Debug)]
pub(crate) struct GateConfig {
    /// Way to Chromium.
    pub upstream: ChromiumAddress,
    /// Kind of the installed agent-browser.
    pub client: AgentBrowser,
    /// Choice of the isolation of sessions.
    pub isolation: IsolationChoice,
    /// Addresses of the egress guard for sessions, if it has any.
    pub addresses: Option<Arc<SessionAddresses>>,
    /// State of the windows of sessions.
    pub windows: WindowMode,
    /// Port of the endpoint of the context that sessions share, and of Chromium's version for other programs; any without it.
    pub port: Option<u16>,
    /// Policy of documents.
    pub policy: PolicySource,
}

/// The control gate of a process.
pub struct ControlGate {
    upstream: ChromiumAddress,
    client: AgentBrowser,
    isolation: IsolationChoice,
    addresses: Option<Arc<SessionAddresses>>,
    windows: WindowMode,
    port: Option<u16>,
    /// Endpoint of the context that sessions share.
    shared: tokio::sync::Mutex<Weak<Endpoint>>,
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

/// Listens on loopback, on the preferred port if it is free.
async fn listen(preferred: Option<u16>) -> Result<TcpListener, GateError> {
    let bind = |port| TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let preferred = match preferred {
        Some(port) => bind(port).await.ok(),
        None => None,
    };
    Ok(match preferred {
        Some(listener) => listener,
        None => bind(0).await?,
    })
}

impl ControlGate {
    /// Creates a gate. It connects to Chromium when a session needs it.
    #[must_use]
    pub(crate) fn new(config: GateConfig) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            upstream: config.upstream,
            client: config.client,
            isolation: config.isolation,
            addresses: config.addresses,
            windows: config.windows,
            port: config.port,
            shared: tokio::sync::Mutex::default(),
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
            client: AgentBrowser::Node,
            isolation,
            addresses: None,
            windows: WindowMode::Maximized,
            port: None,
            policy,
        })
    }

    /// Returns the number of browser contexts that the gate made, or `None` while it connects to a Chromium.
    pub(crate) fn contexts(&self) -> Option<usize> {
        let browser = self.browser.try_lock().ok()?;
        Some(browser.as_ref().map_or(0, |browser| browser.context_count()))
    }

    /// Returns the number of methods that clients were refused.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Opens the part of a session. agent-browser, whose processes are known by the folder of their sockets, gets the endpoint of the
    /// session's context, on the preferred port if it is free; our own engine needs none.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no port until the deadline, or no randomness.
    pub(crate) async fn open(
        &self,
        id: &SessionId,
        policy: &Policy,
        engine: Engine,
        sockets: &Path,
        preferred: Option<u16>,
        deadline: Instant,
    ) -> Result<Arc<GateSession>, GateError> {
        let isolation = match self.isolation {
            IsolationChoice::ByPolicy(default) => policy.browser.isolation.unwrap_or(default),
            IsolationChoice::Always(isolation) => isolation,
        };
        let (endpoint, address) = match (engine, isolation) {
            (Engine::Cdp, _) => None,
            (Engine::AgentBrowser, Isolation::Session) => {
                Some(Endpoint::open(listen(preferred).await?, self.client, self.me.clone(), false)?)
            }
            (Engine::AgentBrowser, Isolation::Shared) => {
                let opened = tokio::time::timeout_at(deadline.into(), self.shared_endpoint(preferred)).await;
                Some(opened.unwrap_or_else(|_| Err(GateError::PortInUse(self.port.unwrap_or_default())))?)
            }
        }
        .unzip();
        let proxy = match &self.addresses {
            Some(addresses) if isolation == Isolation::Session => {
                Some(addresses.allocate(id).ok_or(GateError::NoAddress)?)
            }
            _ => None,
        };
        let saved_state = policy.browser_state(id).cloned();
        let me: Weak<dyn GateServices> = self.me.clone();
        let session = GateSession::new(id.clone(), isolation, address, proxy, saved_state, me);
        {
            let mut sessions = lock(&self.sessions);
            sessions.retain(|known| known.strong_count() > 0);
            sessions.push(Arc::downgrade(&session));
        }
        if let Some(endpoint) = endpoint {
            endpoint.add(&session, sockets);
        }
        Ok(session)
    }

    /// Returns the endpoint of the context that sessions share, and opens it if there is none, as soon as its port is free: a browser can
    /// start the next server before the last one has ended.
    async fn shared_endpoint(
        &self,
        preferred: Option<u16>,
    ) -> Result<(Arc<Endpoint>, Arc<EndpointAddress>), GateError> {
        let mut is_logged = false;
        loop {
            let mut shared = self.shared.lock().await;
            if let Some(endpoint) = shared.upgrade()
                && let Some(address) = endpoint.address.upgrade()
            {
                return Ok((endpoint, address));
            }
            let listener = match self.port {
                Some(port) => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await,
                None => Ok(listen(preferred).await?),
            };
            match listener {
                Ok(listener) => {
                    let opened = Endpoint::open(listener, self.client, self.me.clone(), self.port.is_some())?;
                    *shared = Arc::downgrade(&opened.0);
                    return Ok(opened);
                }
                Err(error) if !is_logged => {
                    tracing::warn!(port = self.port, %error, "the port of the gate is not free yet");
                    is_logged = true;
                }
                Err(_) => {}
            }
            drop(shared);
            tokio::time::sleep(PORT_INTERVAL).await;
        }
    }

    /// Answers programs at the operator's port, also while no session uses it, until `stop` is canceled.
    pub(crate) async fn serve_port(self: Arc<Self>, stop: CancellationToken) {
        tokio::select! {
            opened = self.shared_endpoint(None) => match opened {
                Ok(_kept) => stop.cancelled().await,
                Err(error) => tracing::error!(%error, "the port of the gate cannot be served"),
            },
            () = stop.cancelled() => {}
        }
    }

    /// Returns the sessions that have an endpoint.
    pub(in crate::gate) fn sessions(&self) -> Vec<Arc<GateSession>> {
        lock(&self.sessions).iter().filter_map(Weak::upgrade).collect()
    }

    /// Ends a session's part of the browser.
    pub(crate) async fn close(&self, session: &GateSession) {
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
            clipboard::clear(browser).await.inspect_err(|_| lock(&self.clipboard).undo_emptying(users))?;
        }
        Ok(emptying)
    }

    /// Returns the tabs of Chromium, over a connection that is made if there is none.
    async fn connect(&self) -> Result<Arc<Browser>, GateError> {
        let mut browser = self.browser.lock().await;
        let connection = match (&self.upstream, &*browser) {
            (ChromiumAddress::Port(_), Some(browser)) if !browser.connection.is_closed() => return Ok(browser.clone()),
            (ChromiumAddress::Port(port), _) => cdp::over_port(*port).await?,
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
