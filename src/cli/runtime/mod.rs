//! Command `browser-shell runtime`: start and stop of a runtime and of its parts.
//!
//! Invariants: Chromium runs only while its egress guard does; calls that were canceled at the end still write their audit
//! lines.

mod arguments;
mod setup;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::api::http::filter::RequestFilter;
use crate::api::orchestrator::identity::{RuntimeIdentity, Tenancy};
use crate::api::orchestrator::service::{ActiveCalls, Runtime};
use crate::api::orchestrator::{routes, skills};
use crate::call::Pipeline;
use crate::cli::output::CliError;
use crate::cli::own_browser::{BrowserStart, OwnBrowser, RunningBrowser, Task, check_proxies};
use crate::cli::process::{run_server, stop_on_signal};
use crate::cli::runtime::arguments::BrowserOrigin;
use crate::cli::runtime::setup::{
    Deployment, RuntimeError, check_distinct_ports, deployment, identity, non_empty, read_token, session_settings,
};
use crate::cli::services::{BrowserAccess, DefaultPolicy, check_template, services};
use crate::session::EngineChoice;
use browser_shell_browser::gate::{ChromiumAddress, IsolationChoice, WindowMode};
use browser_shell_browser::health::{self, BrowserHealth};
use browser_shell_browser::supervisor::profile_folder;
use browser_shell_browser::{EnsureBrowser, ExternalBrowser};
use browser_shell_cdp::DebuggedBrowser;
use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::{Engine, Isolation};
use browser_shell_system::audit::AuditLog;
use browser_shell_system::config::Settings;
use browser_shell_system::paths::SessionAddress;
use browser_shell_system::policy_source::PolicySource;

pub(super) use arguments::RuntimeArguments;

/// Maximum number of threads. Calls mostly wait.
const MAX_THREADS: usize = 4;

/// Width and height of pages.
const SCREEN_SIZE: (u16, u16) = (1280, 800);

/// Timeout for canceled calls to end.
const CANCELED_CALLS_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves until a signal.
///
/// # Errors
///
/// Returns an error if the runtime cannot start.
pub(super) fn run(settings: &Settings, options: &RuntimeArguments) -> Result<ExitCode, CliError> {
    run_server(MAX_THREADS, settings, DefaultPolicy::Safe, async |policy, audit| {
        serve(settings, options, policy, audit).await
    })
}

async fn serve(
    settings: &Settings,
    options: &RuntimeArguments,
    policy: PolicySource,
    audit: AuditLog,
) -> Result<(), CliError> {
    let deployment = deployment(settings, options)?;
    // A policy file that cannot be used is reported by every call.
    check_proxies(&policy.current().unwrap_or_default(), |name| std::env::var(name).ok())?;
    let identity = identity(settings, options, deployment.mode)?;
    check_distinct_ports([options.listen.port(), options.egress.port(), deployment.cdp_port])?;
    // An orchestrator may make the workspace writable after the start.
    check_template(settings)?;
    let token = options.token_file.as_deref().map(read_token).transpose()?;
    let has_token = token.is_some();
    let settings = &session_settings(settings, options, deployment.cdp_port)?;
    log_start(&identity, &deployment, options, has_token);

    let (health, health_receiver) = watch::channel(BrowserHealth::Starting);
    let health = Arc::new(health);
    let own = match deployment.browser {
        BrowserOrigin::Own => Some(OwnBrowser::prepare(settings, options.profile.into(), options.egress).await?),
        BrowserOrigin::External => None,
    };
    let access = BrowserAccess {
        upstream: match &own {
            Some(own) => ChromiumAddress::Own(own.connection.subscribe()),
            None => ChromiumAddress::Port(settings.cdp_port),
        },
        isolation: match identity.tenancy {
            // The profile is the workspace's, so that a login outlives the container.
            Tenancy::Single => IsolationChoice::Always(Isolation::Shared),
            Tenancy::Shared => IsolationChoice::ByPolicy(Isolation::Session),
        },
        engine: engine_of(options.profile.into(), &policy)?,
        addresses: own.as_ref().map(|own| own.addresses.clone()),
        windows: if own.is_some() { WindowMode::Fullscreen } else { WindowMode::Maximized },
        gate_port: None,
    };
    let mut services = services(settings, policy.clone(), audit.clone(), false, options.profile.into(), access)?;
    // All connections of Chromium are those of a runtime's only tenant.
    let tenant = own.as_ref().filter(|_| identity.tenancy == Tenancy::Single);
    let tenant = tenant.and_then(|own| own.addresses.allocate(&identity.tenant.session_id()));
    let own = match own {
        Some(own) => {
            let start = start(settings, options, &deployment, &identity, &own, tenant.as_ref());
            Some((own.supervisor(start, health.clone())?, own))
        }
        None => None,
    };
    let chromium = own.as_ref().map(|(chromium, _)| chromium.clone());
    services.ensure_browser = Some(match chromium.clone() {
        Some(chromium) => Arc::new(chromium) as Arc<dyn EnsureBrowser>,
        None => Arc::new(ExternalBrowser(DebuggedBrowser::new(settings.cdp_port))),
    });
    let services = Arc::new(services);
    let pipeline = Arc::new(Pipeline::new(services.clone()));

    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(|source| RuntimeError::Listen { address: options.listen, source })?;
    let found = skills::find(&options.skills);
    let stop = CancellationToken::new();
    let skills_copy = (identity.tenancy == Tenancy::Single).then(|| {
        let (folder, found, workspace) = (options.skills.clone(), found.clone(), identity.own_workspace());
        tokio::spawn(skills::copy_all(folder, found, workspace, stop.clone()))
    });

    let (browser, watch) = match own {
        Some((chromium, own)) => {
            (Some(RunningBrowser::start(own, chromium, policy, audit, services.metrics.clone())), None)
        }
        None => (None, Some(Task::start(|stop| health::watch(DebuggedBrowser::new(settings.cdp_port), health, stop)))),
    };
    let idle_closer = tokio::spawn({
        let services = services.clone();
        async move { services.sessions.close_idle().await }
    });
    let signals = tokio::spawn(stop_on_signal(stop.clone()));

    let runtime = Arc::new(Runtime {
        pipeline,
        identity,
        profile: options.profile.into(),
        browser_health: health_receiver,
        chromium,
        skills: found,
        calls: ActiveCalls::default(),
    });
    let hosts = options.allow_host.iter().cloned().chain(non_empty(options.bay_container_name.as_deref()));
    let filter = RequestFilter::new(hosts).with_addresses().with_token(token);
    tracing::info!(address = %options.listen, "listening");
    routes::serve(runtime, filter, has_token, listener, stop, Duration::from_secs(options.grace_sec)).await;

    services.background.close();
    let _ = tokio::time::timeout(CANCELED_CALLS_TIMEOUT, services.background.wait()).await;
    idle_closer.abort();
    signals.abort();
    if let Some(skills_copy) = skills_copy {
        let _ = skills_copy.await;
    }
    services.sessions.shutdown().await;
    if let Some(browser) = browser {
        browser.stop().await;
    }
    if let Some(watch) = watch {
        watch.stop().await;
    }
    Ok(())
}

/// Returns the choice of the engine in a profile. The compat profile has the answers of agent-browser.
fn engine_of(profile: Profile, policy: &PolicySource) -> Result<EngineChoice, CliError> {
    match profile {
        Profile::Tool | Profile::Strict => Ok(EngineChoice::ByPolicy(Engine::Cdp)),
        Profile::Compat if policy.current().is_ok_and(|policy| policy.engine() == Some(Engine::Cdp)) => {
            Err(RuntimeError::EngineOfCompat.into())
        }
        Profile::Compat => Ok(EngineChoice::Always(Engine::AgentBrowser)),
    }
}

fn log_start(identity: &RuntimeIdentity, deployment: &Deployment, options: &RuntimeArguments, has_token: bool) {
    if !has_token && !options.listen.ip().is_loopback() {
        tracing::warn!(address = %options.listen, "every client that reaches this address can use the browser; require a token with --token-file");
    }
    tracing::info!(
        session = identity.tenant.as_str(),
        orchestrator_session = options.bay_session_id.as_deref().unwrap_or_default(),
        environment = options.bay_profile_env.as_deref().unwrap_or_default(),
        mode = ?identity.tenancy,
        browser = ?deployment.browser,
        profile = ?options.profile,
        "runtime"
    );
}

/// Returns the start of the runtime's own Chromium.
fn start(
    settings: &Settings,
    options: &RuntimeArguments,
    deployment: &Deployment,
    identity: &RuntimeIdentity,
    own: &OwnBrowser,
    tenant: Option<&SessionAddress>,
) -> BrowserStart {
    BrowserStart {
        chromium: deployment.chromium.clone(),
        profile: match identity.tenancy {
            Tenancy::Single => profile_folder(&identity.workspace),
            // No workspace is everyone's. The profile ends with the container.
            Tenancy::Shared => own.private.join("profile"),
        },
        guard: tenant.map_or_else(|| own.guard(), SessionAddress::proxy),
        user_agent: deployment.user_agent.clone(),
        display: None,
        screen_size: SCREEN_SIZE,
        idle: Some(settings.idle()),
        sandbox: options.chromium_sandbox,
    }
}
