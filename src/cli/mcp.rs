//! Command `browser-shell mcp`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use clap::Args;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::api::auth::Authenticator;
use crate::api::mcp::http;
use crate::api::mcp::server::{McpServer, serve_stdio};
use crate::call::Pipeline;
use crate::cli::output::CliError;
use crate::cli::own_browser::{BrowserStart, OwnBrowser, RunningBrowser, check_proxies};
use crate::cli::process::{
    Hangups, multi_thread_executor, raise_file_limit, start_log, stop_on_signal, stop_on_signal_or_hangup,
};
use crate::cli::server_arguments::{CredentialArguments, parse_host_name};
use crate::cli::services::{BrowserAccess, DefaultPolicy, check_folders, open_audit, open_policy, services};
use browser_shell_browser::EnsureBrowser;
use browser_shell_browser::gate::WindowMode;
use browser_shell_browser::health::BrowserHealth;
use browser_shell_browser::supervisor::{ChromiumSupervisor, RendererSandbox};
use browser_shell_core::grammar::Profile;
use browser_shell_system::config::Settings;
use browser_shell_system::os::log::Stderr;
use browser_shell_system::paths::{Instance, SessionAddresses};
use browser_shell_system::policy_source::PolicySource;

/// Timeout for a client over stdio to read its last replies when the server stops. Over HTTP, each connection has a timeout.
const LAST_REPLIES_TIMEOUT: Duration = Duration::from_secs(4);

/// Width and height of pages.
const SCREEN_SIZE: (u16, u16) = (1280, 800);

/// Maximum number of threads. Calls mostly wait.
const MAX_THREADS: usize = 8;

// `--allow-host` has no effect without `--http`: a container may set its variable for every start.
/// Serve the tool to an MCP client, over stdio or HTTP
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  Over stdio, as MCP clients start it:
    browser-shell mcp
  Over stdio, with a Chromium of its own, which ends with the client:
    browser-shell mcp --browser
  Over HTTP, for clients on this machine:
    browser-shell mcp --http 127.0.0.1:8079
  Over HTTP, for clients with an API key:
    browser-shell mcp --http 0.0.0.0:8079 --api-keys keys.txt
  Over HTTP, behind a proxy that authenticates clients:
    browser-shell mcp --http 0.0.0.0:8079 --allow-host box.example

To listen on an address that other machines can reach, you must give --api-keys,
--jwt-keys or --allow-host.")]
pub(super) struct McpArguments {
    /// Start a Chromium, with its egress guard, and end it when the client ends; without it, one must run already
    ///
    /// Chromium has no windows. Several of these servers can run beside each other. Without a policy file, the recommended policy is in
    /// force; without --workspace, pictures are deleted when the server ends.
    #[arg(long, env = "BROWSER_SHELL_BROWSER", conflicts_with_all = ["http", "gate_port", "egress"])]
    browser: bool,

    /// Chromium to start with --browser [default: found on PATH]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_CHROMIUM")]
    chromium: Option<PathBuf>,

    /// Requirement on the renderer sandbox of the Chromium of --browser
    #[arg(long, value_enum, env = "BROWSER_SHELL_CHROMIUM_SANDBOX", default_value_t = RendererSandbox::Auto)]
    chromium_sandbox: RendererSandbox,

    /// Serve streamable HTTP at <http://ADDRESS/mcp> instead of stdio
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_HTTP")]
    http: Option<SocketAddr>,

    /// Host name that clients use besides localhost and addresses, with or without a port; repeat the flag for more
    #[arg(long, value_name = "HOST", env = "BROWSER_SHELL_ALLOW_HOST", value_delimiter = ',', value_parser = parse_host_name)]
    allow_host: Vec<String>,

    /// Port on 127.0.0.1 at which sessions that share their tabs reach them, and other programs see that Chromium answers [default: any, for
    /// sessions only]
    #[arg(long, value_name = "PORT", env = "BROWSER_SHELL_GATE_PORT", value_parser = clap::value_parser!(u16).range(1..))]
    gate_port: Option<u16>,

    /// Address of the egress guard, whose connections then name their session [default: none]
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_EGRESS", requires = "egress_sessions")]
    egress: Option<SocketAddr>,

    /// Folder that tells the egress guard the sessions of its addresses: its setting --sessions [default: none]
    #[arg(long, value_name = "DIR", env = "BROWSER_SHELL_EGRESS_SESSIONS", requires = "egress")]
    egress_sessions: Option<PathBuf>,

    /// Number of addresses that the egress guard has for sessions: its setting --session-addresses
    #[arg(long, value_name = "N", env = "BROWSER_SHELL_SESSION_ADDRESSES", default_value_t = 64, value_parser = clap::value_parser!(u8).range(1..=250))]
    session_addresses: u8,

    #[command(flatten)]
    credentials: CredentialArguments,
}

pub(super) fn run(settings: &Settings, options: &McpArguments) -> Result<ExitCode, CliError> {
    let (stderr, _flush) = Stderr::open();
    start_log(tracing::Level::WARN, stderr.clone());
    let executor = multi_thread_executor(MAX_THREADS)?;
    let result = executor.block_on(serve(settings, options, stderr));
    // A blocked read of standard input must not keep the process alive.
    executor.shutdown_background();
    result.map(|()| ExitCode::SUCCESS)
}

async fn serve(settings: &Settings, options: &McpArguments, stderr: Stderr) -> Result<(), CliError> {
    // A server for many clients stays; one over stdio ends with its client.
    let hangups = options.http.map(|_| Hangups::listen()).transpose()?;
    let instance = if options.browser { Some(Instance::take(settings)?) } else { None };
    let settings = &instance.as_ref().map_or_else(|| settings.clone(), |instance| instance.settings(settings));
    check_folders(settings)?;
    let default = if options.browser { DefaultPolicy::Recommended } else { DefaultPolicy::Safe };
    let policy = open_policy(settings, default)?;
    tokio::spawn(policy.clone().watch());
    let audit = open_audit(settings, Some(stderr))?;
    if let Some(hangups) = hangups {
        tokio::spawn(hangups.reopen(audit.clone()));
    }
    let own = if options.browser { Some(prepare(settings, options, &policy).await?) } else { None };
    let mut access = match &own {
        Some((own, _)) => BrowserAccess::of_own(own, WindowMode::Fullscreen),
        None => BrowserAccess::of_operator(settings),
    };
    if let (Some(guard), Some(folder)) = (options.egress, &options.egress_sessions) {
        let addresses = SessionAddresses::create(folder, guard.port(), options.session_addresses)?;
        access.addresses = Some(Arc::new(addresses));
    }
    access.gate_port = options.gate_port;
    let mut services = services(settings, policy.clone(), audit.clone(), false, Profile::Tool, access)?;
    let browser = own.map(|(own, chromium)| {
        services.ensure_browser = Some(Arc::new(chromium.clone()) as Arc<dyn EnsureBrowser>);
        RunningBrowser::start(own, chromium, policy, audit, services.metrics.clone())
    });
    let services = Arc::new(services);
    let stop = CancellationToken::new();
    if options.gate_port.is_some() {
        tokio::spawn(services.sessions.endpoints().clone().serve_port(stop.clone()));
    }
    let idle_closing = tokio::spawn({
        let services = services.clone();
        async move { services.sessions.close_idle().await }
    });
    let signals = match options.http {
        Some(_) => tokio::spawn(stop_on_signal(stop.clone())),
        None => tokio::spawn(stop_on_signal_or_hangup(stop.clone())),
    };
    let authenticator = Arc::new(Authenticator::open(services.clone(), &options.credentials.settings())?);
    let key_watch = tokio::spawn({
        let authenticator = authenticator.clone();
        async move { authenticator.watch().await }
    });
    let server = McpServer::new(Arc::new(Pipeline::new(services.clone())));
    let result: Result<(), CliError> = if let Some(address) = options.http {
        let proxies = options.credentials.proxies();
        let serving = http::serve(server, authenticator, address, &options.allow_host, proxies, stop.clone());
        serving.await.map_err(CliError::from)
    } else {
        tokio::select! {
            ended = Box::pin(serve_stdio(server, stop.clone())) => ended.map_err(CliError::from),
            // A client that neither sends nor reads must not delay the end of the sessions.
            () = after(&stop, LAST_REPLIES_TIMEOUT) => Ok(()),
        }
    };
    stop.cancel();
    idle_closing.abort();
    key_watch.abort();
    signals.abort();
    services.sessions.shutdown().await;
    services.audit.write_all_omitted(Utc::now());
    if let Some(browser) = browser {
        browser.stop().await;
    }
    result
}

/// Waits until a time after the stop of a server.
async fn after(stop: &CancellationToken, time: Duration) {
    stop.cancelled().await;
    tokio::time::sleep(time).await;
}

/// Prepares a Chromium of the server's own.
async fn prepare(
    settings: &Settings,
    options: &McpArguments,
    policy: &PolicySource,
) -> Result<(OwnBrowser, Arc<ChromiumSupervisor>), CliError> {
    raise_file_limit();
    // A policy file that cannot be used is reported by every call.
    check_proxies(&policy.current().unwrap_or_default(), |name| std::env::var(name).ok())?;
    // Any port: other servers may run beside this one.
    let own = OwnBrowser::prepare(settings, Profile::Tool, (Ipv4Addr::LOCALHOST, 0).into()).await?;
    let start = BrowserStart {
        chromium: options.chromium.clone(),
        profile: own.private.join("profile"),
        guard: own.guard(),
        user_agent: None,
        idle: Some(settings.idle()),
        display: None,
        screen_size: SCREEN_SIZE,
        sandbox: options.chromium_sandbox,
    };
    let chromium = own.supervisor(start, Arc::new(watch::Sender::new(BrowserHealth::Starting)))?;
    Ok((own, chromium))
}
