//! Start and stop of the server and of its parts.
//!
//! Invariants: Chromium runs only while its egress guard does, and on its display only; each part stops before those that it needs;
//! the kernel ends Chromium and the display if this process is killed.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::api::auth::Authenticator;
use crate::api::http::filter::RequestFilter;
use crate::api::mcp::server::McpServer;
use crate::api::public_port::{self, PublicPort, Screen, ViewerFiles};
use crate::call::Pipeline;
use crate::cli::error::CliError;
use crate::cli::own_browser::{BrowserStart, OwnBrowser, RunningBrowser, check_proxies};
use crate::cli::process::{run_server, stop_on_signal};
use crate::cli::serve::arguments::{ScreenChoice, ServeArguments};
use crate::cli::serve::error::ServeError;
use crate::cli::serve::health::{self, ServeHealth};
use crate::cli::services::{BrowserAccess, DefaultPolicy, services};
use crate::cli::task::Task;
use browser_shell_browser::EnsureBrowser;
use browser_shell_browser::display::{self, DisplayConfig, DisplaySupervisor};
use browser_shell_browser::gate::WindowMode;
use browser_shell_browser::health::BrowserHealth;
use browser_shell_core::auth::ScreenContent;
use browser_shell_core::grammar::Profile;
use browser_shell_system::audit::AuditLog;
use browser_shell_system::config::Settings;
use browser_shell_system::paths::Paths;
use browser_shell_system::policy_source::PolicySource;

/// Maximum number of threads. Calls mostly wait.
const MAX_THREADS: usize = 8;

/// Serves until a signal.
///
/// # Errors
///
/// Returns an error if the server cannot start.
pub(in crate::cli) fn run(settings: &Settings, options: &ServeArguments) -> Result<ExitCode, CliError> {
    run_server(MAX_THREADS, settings, DefaultPolicy::Recommended, async |policy, audit| {
        serve(settings, options, policy, audit).await
    })
}

async fn serve(
    settings: &Settings,
    options: &ServeArguments,
    policy: PolicySource,
    audit: AuditLog,
) -> Result<(), CliError> {
    // A policy file that cannot be used is reported by every call.
    check_proxies(&policy.current().unwrap_or_default(), |name| std::env::var(name).ok())?;
    let screen = screen_parts(settings, options)?;
    let display = screen.display.as_ref().map(|display| display.subscribe());
    let shows_pages = options.screen == ScreenChoice::Cast;

    let own = OwnBrowser::prepare(settings, Profile::Tool, options.egress).await?;
    let (browser_health, health_receiver) = watch::channel(BrowserHealth::Starting);
    let start = BrowserStart {
        chromium: options.chromium.clone(),
        // Sessions have contexts of their own, which end with them.
        profile: own.private.join("profile"),
        guard: own.guard(),
        user_agent: None,
        // A person may be using a screen at any time.
        idle: screen.viewer.is_none().then(|| settings.idle()),
        display: display.clone(),
        screen_size: options.screen_size,
        sandbox: options.chromium_sandbox,
    };
    let chromium = own.supervisor(start, Arc::new(browser_health))?;
    // Bars that nobody sees take no part of the screen.
    let windows = if display.is_some() { WindowMode::Maximized } else { WindowMode::Fullscreen };
    let access = BrowserAccess::of_own(&own, windows);
    let mut services = services(settings, policy.clone(), audit.clone(), false, Profile::Tool, access)?;
    services.ensure_browser = Some(Arc::new(chromium.clone()) as Arc<dyn EnsureBrowser>);
    let services = Arc::new(services);
    let credentials = options.credentials.settings().with_base_variables(|name| std::env::var(name).ok())?;
    let content = if shows_pages { ScreenContent::Page } else { ScreenContent::Windows };
    let authenticator = Arc::new(Authenticator::open(services.clone(), &credentials)?.with_screen(content));
    if !options.listen.ip().is_loopback() && !authenticator.has_credentials() {
        return Err(ServeError::NotLoopback(options.listen).into());
    }
    let listener = bind(options.listen, "--listen").await?;
    let health_listener = match options.health {
        Some(address) => Some(bind(address, "--health").await?),
        None => None,
    };

    let stop = CancellationToken::new();
    let display_task = screen.display.map(|display| Task::start(|stop| display.run(stop)));
    let broken = tokio::spawn({
        let (chromium, stop) = (chromium.clone(), stop.clone());
        async move {
            let reason = chromium.broken().await;
            stop.cancel();
            reason
        }
    });
    let browser = RunningBrowser::start(own, chromium.clone(), policy, audit, services.metrics.clone());
    let idle_closer = tokio::spawn({
        let services = services.clone();
        async move { services.sessions.close_idle().await }
    });
    let key_watch = tokio::spawn({
        let authenticator = authenticator.clone();
        async move { authenticator.close_sessions_without_key().await }
    });
    let signals = tokio::spawn(stop_on_signal(stop.clone()));

    let filter = RequestFilter::new(options.allow_host.iter().cloned()).with_addresses().with_tls_proxy();
    let port = Arc::new(PublicPort {
        // A page that uses a name of its own has no credentials.
        filter: if authenticator.has_credentials() { filter.with_names() } else { filter },
        proxies: options.credentials.proxies(),
        authenticator,
        screen: screen.viewer.map(|files| {
            let screen = match display {
                Some(display) => Screen::new(display, stop.clone()),
                None => Screen::of_pages(services.gate.clone(), options.screen_size, stop.clone()),
            };
            (files, screen)
        }),
    });
    let health = health_listener.map(|listener| {
        let health = ServeHealth { browser: health_receiver, port: port.clone(), services: services.clone(), chromium };
        tokio::spawn(health::serve(health, listener, stop.clone()))
    });
    tracing::info!(address = %options.listen, screen = port.screen.is_some(), "listening");
    let server = McpServer::new(Arc::new(Pipeline::new(services.clone())));
    public_port::serve(port, server, listener, stop).await;

    idle_closer.abort();
    key_watch.abort();
    signals.abort();
    services.sessions.shutdown().await;
    browser.stop().await;
    if let Some(display_task) = display_task {
        display_task.stop().await;
    }
    if let Some(health) = health {
        let _ = health.await;
    }
    broken.abort();
    match broken.await {
        Ok(reason) => Err(ServeError::BrokenChromium(reason).into()),
        // It was not broken until now.
        Err(_) => Ok(()),
    }
}

async fn bind(address: SocketAddr, flag: &'static str) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|source| ServeError::Listen { address, flag, source })
}

/// Parts of the screen.
struct ScreenParts {
    /// Display; without one, the screen shows pages.
    display: Option<Arc<DisplaySupervisor>>,
    /// Files of the viewer, unless the server has no screen.
    viewer: Option<ViewerFiles>,
}

/// Returns the parts of the screen.
fn screen_parts(settings: &Settings, options: &ServeArguments) -> Result<ScreenParts, CliError> {
    let viewer = || ViewerFiles::read(&options.novnc).map_err(ServeError::Viewer);
    Ok(match options.screen {
        ScreenChoice::None => ScreenParts { display: None, viewer: None },
        ScreenChoice::Cast => ScreenParts { display: None, viewer: Some(viewer()?) },
        ScreenChoice::Xvnc => {
            let server = display::find(options.xvnc.as_deref()).ok_or(ServeError::NoXvnc)?;
            let viewer = Some(viewer()?);
            let folder = Paths::open(settings, Profile::Tool)?.display();
            let config = DisplayConfig { server, folder, size: options.screen_size };
            ScreenParts { display: Some(DisplaySupervisor::new(config)), viewer }
        }
    })
}
