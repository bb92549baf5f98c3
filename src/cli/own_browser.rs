//! Chromium that a server starts itself, with its egress guard: shared by `runtime`, `serve` and `mcp --browser`.
//!
//! Invariants: Chromium runs only while its egress guard does; no two servers have one runtime folder.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cli::output::CliError;
use browser_shell_browser::display::RunningDisplay;
use browser_shell_browser::health::BrowserHealth;
use browser_shell_browser::launch::{self, LaunchConfig};
use browser_shell_browser::supervisor::{ChromiumSupervisor, RendererSandbox};
use browser_shell_cdp::Connection;
use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::Policy;
use browser_shell_egress::Listeners;
use browser_shell_system::audit::AuditLog;
use browser_shell_system::config::Settings;
use browser_shell_system::metrics::Metrics;
use browser_shell_system::os::describe;
use browser_shell_system::os::exec::check_program;
use browser_shell_system::paths::{MAX_SESSION_ADDRESSES, Paths, ServerLock, SessionAddresses};
use browser_shell_system::policy_source::PolicySource;

/// Variables by which HTTP clients find a proxy.
const PROXY_VARIABLES: &[&str] = &["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Locks of the runtime folders of this process, which holds them until it ends: the display, which stops last, removes its files there.
static LOCKS: Mutex<Vec<ServerLock>> = Mutex::new(Vec::new());

/// Reason why a server does not start.
#[derive(Debug, Error)]
pub(crate) enum OwnBrowserError {
    #[error(
        "{0} is set, but pages connect through the egress guard and would not use it; name the proxy in `egress.upstream` of the policy file, or remove the variable"
    )]
    Proxy(&'static str),
    #[error("there is no Chromium on PATH; install it, or give its path with --chromium")]
    NoChromium,
    #[error("cannot start `{}`: {}; choose another one with --chromium", path.display(), describe(source))]
    Program { path: PathBuf, source: io::Error },
}

impl From<OwnBrowserError> for CliError {
    fn from(error: OwnBrowserError) -> Self {
        Self::Command(Box::new(error))
    }
}

/// Parts of a Chromium of a server's own that exist before it starts.
pub(super) struct OwnBrowser {
    /// Private folder of Chromium.
    pub private: PathBuf,
    /// Listeners of the egress guard.
    listeners: Listeners,
    /// Folder that names the sessions of the guard's addresses.
    folder: PathBuf,
    /// Addresses of the egress guard for sessions.
    pub addresses: Arc<SessionAddresses>,
    /// Number of these addresses.
    count: u8,
    /// Connection to the Chromium that runs.
    pub connection: watch::Sender<Option<Arc<Connection>>>,
}

/// Settings of a start that differ between servers.
pub(super) struct BrowserStart {
    /// Chromium to start, if one is named.
    pub chromium: Option<PathBuf>,
    /// Folder of the profile.
    pub profile: PathBuf,
    /// Address of the egress guard that Chromium uses unless a session has one.
    pub guard: SocketAddr,
    /// User agent that pages see, if one is named.
    pub user_agent: Option<String>,
    /// Display that shows the windows, if there is one.
    pub display: Option<watch::Receiver<Option<RunningDisplay>>>,
    /// Width and height of the screen.
    pub screen_size: (u16, u16),
    /// Time without a call after which Chromium is stopped, if it ever is.
    pub idle: Option<Duration>,
    /// Requirement on Chromium's renderer sandbox.
    pub sandbox: RendererSandbox,
}

impl OwnBrowser {
    /// Takes the runtime folder for this process, listens on the addresses of the egress guard, and creates the folder that names their
    /// sessions. Call it before anything in the runtime folder is removed.
    ///
    /// # Errors
    ///
    /// Returns an error if another server has the runtime folder, an address is in use or a folder cannot be used.
    pub(super) async fn prepare(settings: &Settings, profile: Profile, guard: SocketAddr) -> Result<Self, CliError> {
        let paths = Paths::open(settings, profile)?;
        let lock = paths.lock_for_server()?;
        LOCKS.lock().unwrap_or_else(PoisonError::into_inner).push(lock);
        let count = u8::try_from(settings.max_sessions).unwrap_or(MAX_SESSION_ADDRESSES).min(MAX_SESSION_ADDRESSES);
        let listeners = browser_shell_egress::bind(guard, "--egress", count).await?;
        let port = listeners.address().port();
        let folder = paths.session_addresses();
        let addresses = Arc::new(SessionAddresses::create(&folder, port, count)?);
        Ok(Self { private: paths.browser(), listeners, folder, addresses, count, connection: watch::Sender::new(None) })
    }

    /// Returns the address of the egress guard for what belongs to no session.
    pub(super) const fn guard(&self) -> SocketAddr {
        self.listeners.address()
    }

    /// Creates the supervisor of the Chromium.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no Chromium, or the one that is named cannot be started.
    pub(super) fn supervisor(
        &self,
        start: BrowserStart,
        health: Arc<watch::Sender<BrowserHealth>>,
    ) -> Result<Arc<ChromiumSupervisor>, OwnBrowserError> {
        let path = launch::find(start.chromium.as_deref()).ok_or(OwnBrowserError::NoChromium)?;
        check_program(&path).map_err(|source| OwnBrowserError::Program { path: path.clone(), source })?;
        let config = LaunchConfig {
            chromium: path,
            profile: start.profile,
            private: self.private.clone(),
            guard: start.guard,
            session_addresses: self.count,
            user_agent: start.user_agent,
            display: start.display,
            screen_size: start.screen_size,
        };
        Ok(ChromiumSupervisor::new(config, start.idle, start.sandbox, health, self.connection.clone()))
    }
}

/// Checks that the environment names no proxy which pages would pass, unless the policy has one.
///
/// # Errors
///
/// Returns an error with the name of the variable.
pub(super) fn check_proxies(policy: &Policy, variable: impl Fn(&str) -> Option<String>) -> Result<(), OwnBrowserError> {
    let set = PROXY_VARIABLES.iter().find(|name| variable(name).is_some_and(|value| !value.is_empty()));
    match (set, &policy.egress.upstream) {
        (Some(name), None) => Err(OwnBrowserError::Proxy(name)),
        (Some(name), Some(_)) => {
            tracing::info!(
                variable = name,
                "pages use the proxy of the policy's `egress.upstream`, not that of the environment"
            );
            Ok(())
        }
        (None, _) => Ok(()),
    }
}

/// Chromium that runs, and its egress guard, which starts before it and stops after it.
pub(super) struct RunningBrowser {
    guard: Task,
    chromium: Task,
}

impl RunningBrowser {
    /// Starts the guard and then the supervisor of Chromium.
    pub(super) fn start(
        own: OwnBrowser,
        chromium: Arc<ChromiumSupervisor>,
        policy: PolicySource,
        audit: AuditLog,
        metrics: Arc<Metrics>,
    ) -> Self {
        let guard = Task::start(|stop| async move {
            // A guard that ends early is logged, and Chromium has no connection then.
            let _ = browser_shell_egress::serve(own.listeners, Some(own.folder), policy, audit, metrics, stop).await;
        });
        Self { guard, chromium: Task::start(|stop| chromium.run(stop)) }
    }

    /// Stops both, and waits until they have ended.
    pub(super) async fn stop(self) {
        self.chromium.stop().await;
        self.guard.stop().await;
    }
}

/// Part of a server that runs until it is told to stop.
pub(super) struct Task {
    handle: JoinHandle<()>,
    stop: CancellationToken,
}

impl Task {
    /// Starts the part, which gets the token that tells it to stop.
    pub(super) fn start<F>(run: impl FnOnce(CancellationToken) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = CancellationToken::new();
        Self { handle: tokio::spawn(run(stop.clone())), stop }
    }

    /// Stops the part and waits until it has ended.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        let _ = self.handle.await;
    }
}
