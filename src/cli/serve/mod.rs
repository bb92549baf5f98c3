//! Command `browser-shell serve`: its arguments, and the start and stop of the server and of its parts.
//!
//! Invariants: Chromium runs only while its egress guard does, and on its display only; each part stops before those that it needs;
//! the kernel ends Chromium and the display if this process is killed.

mod health;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use chrono::Utc;
use clap::Args;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::api::auth::Authenticator;
use crate::api::http::filter::RequestFilter;
use crate::api::mcp::server::McpServer;
use crate::api::public_port::{self, PublicPort, Screen, ViewerError, ViewerFiles};
use crate::call::Pipeline;
use crate::cli::output::CliError;
use crate::cli::own_browser::{BrowserStart, OwnBrowser, RunningBrowser, Task, check_proxies};
use crate::cli::process::{run_server, stop_on_signal};
use crate::cli::serve::health::ServeHealth;
use crate::cli::server_arguments::{CredentialArguments, parse_host_name};
use crate::cli::services::{BrowserAccess, DefaultPolicy, check_folders, services};
use browser_shell_browser::EnsureBrowser;
use browser_shell_browser::display::{self, DisplayConfig, DisplaySupervisor};
use browser_shell_browser::gate::WindowMode;
use browser_shell_browser::health::BrowserHealth;
use browser_shell_browser::supervisor::RendererSandbox;
use browser_shell_core::auth::ScreenContent;
use browser_shell_core::grammar::Profile;
use browser_shell_system::audit::AuditLog;
use browser_shell_system::config::{Settings, listen_address};
use browser_shell_system::os::describe;
use browser_shell_system::os::exec::check_program;
use browser_shell_system::paths::Paths;
use browser_shell_system::policy_source::PolicySource;

/// Smallest and largest width and height of the screen, in pixels.
const SIDES: std::ops::RangeInclusive<u16> = 320..=7680;

/// Maximum number of threads. Calls mostly wait.
const MAX_THREADS: usize = 8;

/// Folder of the viewer in Debian's package.
pub(super) const NOVNC: &str = "/usr/share/novnc";

/// Screen of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ScreenChoice {
    /// Xvnc, which people watch and use at /vnc/
    Xvnc,
    /// The page of a session, which people watch and use at /vnc/: the page only, not the whole browser; needs no Xvnc
    Cast,
    /// No screen; Chromium runs without windows
    None,
}

/// Serve the tool, and the screen to watch it, with a Chromium of its own
///
/// One process starts and watches everything that the product consists of: the display (Xvnc, on a private socket), Chromium, its
/// egress guard, the control gate, the tool at /mcp, and the viewer of the screen at /vnc/. Both are on one port, which answers 403
/// to everything else. It needs neither root nor a container.
///
/// Chromium shows the page of the session that made the last call. It keeps running until the server stops; with `--screen none` it
/// is stopped when no call uses it.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  browser-shell serve --workspace ~/browser-shell
  browser-shell serve --screen cast
  browser-shell serve --screen none --listen 127.0.0.1:8090
  browser-shell serve --listen 0.0.0.0:8080 --api-keys keys.txt

Then, from this machine:
  http://127.0.0.1:8080/mcp     the tool, for MCP clients
  http://127.0.0.1:8080/vnc/    the screen, for people

`browser-shell doctor --serve` names the packages that are missing.

To listen on an address that other machines can reach, you must give --api-keys
or --jwt-keys. The variables JWT_PUBLIC_KEY, SANDBOX_API_KEY and
TICKET_TTL_SECONDS of the image mean the same here.")]
pub(super) struct ServeArguments {
    /// Address to listen on; a port alone listens on 127.0.0.1
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_LISTEN", default_value = "127.0.0.1:8080", value_parser = listen_address)]
    listen: SocketAddr,

    /// Host name that clients use besides localhost and addresses, with or without a port; repeat the flag for more
    #[arg(long, value_name = "HOST", env = "BROWSER_SHELL_ALLOW_HOST", value_delimiter = ',', value_parser = parse_host_name)]
    allow_host: Vec<String>,

    /// Screen on which people watch the browser
    #[arg(long, value_enum, env = "BROWSER_SHELL_SCREEN", default_value_t = ScreenChoice::Xvnc)]
    screen: ScreenChoice,

    /// Width and height of the screen, in pixels
    #[arg(long, value_name = "WIDTHxHEIGHT", env = "BROWSER_SHELL_SCREEN_SIZE", default_value = "1280x800", value_parser = parse_size)]
    screen_size: (u16, u16),

    /// Xvnc to start [default: found on PATH]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_XVNC")]
    xvnc: Option<PathBuf>,

    /// Folder of noVNC, the viewer
    #[arg(long, value_name = "DIR", env = "BROWSER_SHELL_NOVNC", default_value = NOVNC)]
    novnc: PathBuf,

    /// Chromium to start [default: found on PATH]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_CHROMIUM")]
    chromium: Option<PathBuf>,

    /// Requirement on Chromium's renderer sandbox
    #[arg(long, value_enum, env = "BROWSER_SHELL_CHROMIUM_SANDBOX", default_value_t = RendererSandbox::Auto)]
    chromium_sandbox: RendererSandbox,

    /// Address on which the egress guard of this server's Chromium listens
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_EGRESS", default_value = browser_shell_egress::DEFAULT_ADDRESS)]
    egress: SocketAddr,

    /// Address of /healthz, /livez and /metrics, which tell monitors what is usable [default: none]
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_HEALTH")]
    health: Option<SocketAddr>,

    #[command(flatten)]
    credentials: CredentialArguments,
}

/// Parses a width and a height.
///
/// # Errors
///
/// Returns the message for the user.
fn parse_size(text: &str) -> Result<(u16, u16), &'static str> {
    let side = |text: &str| text.parse().ok().filter(|side| SIDES.contains(side));
    let sides = text.split_once('x').and_then(|(width, height)| Some((side(width)?, side(height)?)));
    sides.ok_or("not a size; use a width and a height from 320 to 7680, such as 1280x800")
}

/// Reason why `browser-shell serve` does not start, or ends.
#[derive(Debug, Error)]
enum ServeError {
    #[error(
        "`{0}` can be reached from other machines, and this server has no credentials; give --api-keys or --jwt-keys, or listen on 127.0.0.1"
    )]
    NotLoopback(SocketAddr),
    #[error("cannot listen on `{address}`: {}; choose another address with {flag}", describe(source))]
    Listen { address: SocketAddr, flag: &'static str, source: io::Error },
    #[error(
        "there is no Xvnc; install the package tigervnc-standalone-server, give its path with --xvnc, or use `--screen cast` or `--screen none`"
    )]
    NoXvnc,
    #[error("cannot start `{}`: {}; choose another one with --xvnc, or use `--screen cast` or `--screen none`", path.display(), describe(source))]
    Xvnc { path: PathBuf, source: io::Error },
    #[error(
        "Chromium failed three starts in a row: {0}; choose another one with --chromium, or see what is missing with `browser-shell doctor`"
    )]
    BrokenChromium(String),
    #[error("{0}; install the package novnc, give its folder with --novnc, or use `--screen none`")]
    Viewer(#[source] ViewerError),
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        Self::Command(Box::new(error))
    }
}

/// Serves until a signal.
///
/// # Errors
///
/// Returns an error if the server cannot start.
pub(super) fn run(settings: &Settings, options: &ServeArguments) -> Result<ExitCode, CliError> {
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
    check_folders(settings)?;
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
        async move { authenticator.watch().await }
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
    services.audit.write_all_omitted(Utc::now());
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
            check_program(&server).map_err(|source| ServeError::Xvnc { path: server.clone(), source })?;
            let viewer = Some(viewer()?);
            let folder = Paths::open(settings, Profile::Tool)?.display();
            let config = DisplayConfig { server, folder, size: options.screen_size };
            ScreenParts { display: Some(DisplaySupervisor::new(config)), viewer }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screen_sizes_have_a_width_and_a_height() {
        assert_eq!(parse_size("1280x800"), Ok((1280, 800)));
        for text in ["", "1280", "1280x", "x800", "1280X800", "1280x800x24", "0x0", "99999x800", "-1x800", "1280 x 800"]
        {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
