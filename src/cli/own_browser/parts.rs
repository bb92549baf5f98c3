//! Parts of a Chromium of a server's own that exist before it starts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::cli::error::CliError;
use crate::cli::own_browser::error::OwnBrowserError;
use browser_shell_browser::display::RunningDisplay;
use browser_shell_browser::health::BrowserHealth;
use browser_shell_browser::launch::{self, LaunchConfig};
use browser_shell_browser::supervisor::{ChromiumSupervisor, RendererSandbox};
use browser_shell_cdp::Connection;
use browser_shell_core::grammar::Profile;
use browser_shell_egress::Listeners;
use browser_shell_system::config::Settings;
use browser_shell_system::paths::{MAX_SESSION_ADDRESSES, Paths, SessionAddresses};

/// Parts of a Chromium of a server's own that exist before it starts.
pub(in crate::cli) struct OwnBrowser {
    /// Private folder of Chromium.
    pub private: PathBuf,
    /// Listeners of the egress guard.
    pub(super) listeners: Listeners,
    /// Folder that names the sessions of the guard's addresses.
    pub(super) folder: PathBuf,
    /// Addresses of the egress guard for sessions.
    pub addresses: Arc<SessionAddresses>,
    /// Number of these addresses.
    count: u8,
    /// Connection to the Chromium that runs.
    pub connection: watch::Sender<Option<Arc<Connection>>>,
}

/// Settings of a start that differ between servers.
pub(in crate::cli) struct BrowserStart {
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
    /// Listens on the addresses of the egress guard, and creates the folder that names their sessions.
    ///
    /// # Errors
    ///
    /// Returns an error if an address is in use or a folder cannot be used.
    pub(in crate::cli) async fn prepare(
        settings: &Settings,
        profile: Profile,
        guard: SocketAddr,
    ) -> Result<Self, CliError> {
        let paths = Paths::open(settings, profile)?;
        let count = u8::try_from(settings.max_sessions).unwrap_or(MAX_SESSION_ADDRESSES).min(MAX_SESSION_ADDRESSES);
        let listeners = browser_shell_egress::bind(guard, "--egress", count).await?;
        let port = listeners.address().port();
        let folder = paths.session_addresses();
        let addresses = Arc::new(SessionAddresses::create(&folder, port, count)?);
        Ok(Self { private: paths.browser(), listeners, folder, addresses, count, connection: watch::Sender::new(None) })
    }

    /// Returns the address of the egress guard for what belongs to no session.
    pub(in crate::cli) const fn guard(&self) -> SocketAddr {
        self.listeners.address()
    }

    /// Creates the supervisor of the Chromium.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no Chromium.
    pub(in crate::cli) fn supervisor(
        &self,
        start: BrowserStart,
        health: Arc<watch::Sender<BrowserHealth>>,
    ) -> Result<Arc<ChromiumSupervisor>, OwnBrowserError> {
        let config = LaunchConfig {
            chromium: launch::find(start.chromium.as_deref()).ok_or(OwnBrowserError::NoChromium)?,
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
