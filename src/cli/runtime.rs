//! `browser-shell runtime`.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::mcp::host_name;
use super::{CliError, context, open_audit, start_log, stop_on_signal, wide_runtime};
use crate::browser::Browser;
use crate::config::{DEFAULT_WORKSPACE, Settings};
use crate::egress;
use crate::log::Stderr;
use crate::pipeline::{Pipeline, Wake, steps};
use crate::policy_source::PolicySource;
use crate::runtime::browser::{Chromium, SandboxChoice, profile_below};
use crate::runtime::calls::Calls;
use crate::runtime::health::{Condition, watch};
use crate::runtime::identity::{DEFAULT_SESSION, Identity, Mode, PATTERN, SandboxId};
use crate::runtime::launch::{self, Launch};
use crate::runtime::metrics::Metrics;
use crate::runtime::service::{Profile, Runtime};
use crate::runtime::{routes, skills};
use crate::web::guard::Guard;

/// The most threads; what they do is mostly waiting.
const MAX_WORKERS: usize = 4;

/// The largest token file, and the shortest token.
const MAX_TOKEN: u64 = 4096;
const MIN_TOKEN: usize = 16;

/// Serve browsers to an orchestrator's agents, over REST and MCP
///
/// A drop-in for the browser container of an orchestrator: `POST /exec` and `/exec_batch` run commands of agent-browser, read by
/// the same grammar and behind the same policy as the tool; `GET /health` and `/meta` say what the orchestrator asks; /mcp has the same
/// as MCP tools; /metrics and /openapi.json are for everybody else.
///
/// In the mode `single` it starts Chromium itself, on a profile that stays in the workspace, behind an egress guard of its own,
/// and stops it when nobody uses it. In the mode `shared` it uses a Chromium that is there, and every request says whose it is.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:\n  \
    browser-shell runtime --listen 127.0.0.1:8115\n  \
    curl -s localhost:8115/exec -H 'content-type: application/json' -d '{\"cmd\": \"open https://example.com\"}'\n  \
    curl -s localhost:8115/exec -H 'content-type: application/json' -d '{\"cmd\": \"snapshot -i\"}'\n\n\
    Variables of the orchestrator: SANDBOX_ID, BAY_SANDBOX_ID, BAY_WORKSPACE_PATH, BAY_CONTAINER_NAME, BAY_SESSION_ID,\n\
    BAY_PROFILE_ENV, AGENT_BROWSER_IDLE_TIMEOUT_MS.\n\
    Exit codes of a command: as of a call (--help); timed out -1 (single) or 124 (shared), no agent-browser -1 or 127.")]
pub(super) struct RuntimeArguments {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_LISTEN", default_value = "0.0.0.0:8115")]
    listen: SocketAddr,

    /// One sandbox with a browser of its own, or several with one that is there
    #[arg(long, value_enum, env = "BROWSER_SHELL_MODE", default_value_t = Mode::Single)]
    mode: Mode,

    /// What agents may say and how they are answered
    #[arg(long, value_enum, env = "BROWSER_SHELL_PROFILE", default_value_t = Profile::Strict)]
    profile: Profile,

    /// The Chromium to start [default: found on PATH]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_CHROMIUM")]
    chromium: Option<PathBuf>,

    /// Whether Chromium must be able to confine its renderers
    #[arg(long, value_enum, env = "BROWSER_SHELL_CHROMIUM_SANDBOX", default_value_t = SandboxChoice::Auto)]
    chromium_sandbox: SandboxChoice,

    /// Where the egress guard of this runtime's Chromium listens
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_EGRESS", default_value = egress::DEFAULT_ADDRESS)]
    egress: SocketAddr,

    /// File with the token that requests must carry [default: none]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_TOKEN_FILE")]
    token_file: Option<PathBuf>,

    /// Host name that clients use, besides addresses, localhost and `BAY_CONTAINER_NAME`; can be given several times
    #[arg(long, value_name = "HOST", env = "BROWSER_SHELL_ALLOW_HOSTS", value_delimiter = ',', value_parser = host_name)]
    allow_host: Vec<String>,

    /// Folder of the skills that are copied into the workspace
    #[arg(long, value_name = "DIR", env = "BROWSER_SHELL_SKILLS", default_value = "/app/skills")]
    skills: PathBuf,

    /// Where agents see their workspace; in the mode `single` also where it is, unless --workspace says otherwise
    #[arg(long, value_name = "DIR", env = "BAY_WORKSPACE_PATH", default_value = DEFAULT_WORKSPACE)]
    workspace_mount: String,

    /// Folder of the workspaces in the mode `shared`, each `bay-cargo-ID`
    #[arg(long, value_name = "DIR", env = "BROWSER_SHELL_CARGOS", default_value = "/cargos")]
    cargos: PathBuf,

    /// Name of the runtime's own session [default: `BAY_SANDBOX_ID`, else `default`]
    #[arg(long, value_name = "ID", env = "SANDBOX_ID")]
    sandbox_id: Option<String>,

    #[arg(long, env = "BAY_SANDBOX_ID", hide = true)]
    bay_sandbox_id: Option<String>,

    #[arg(long, env = "BAY_CONTAINER_NAME", hide = true)]
    bay_container_name: Option<String>,

    #[arg(long, env = "BAY_SESSION_ID", hide = true)]
    bay_session_id: Option<String>,

    #[arg(long, env = "BAY_PROFILE_ENV", hide = true)]
    bay_profile_env: Option<String>,

    /// Milliseconds after which idle sessions, and an idle browser, are ended [default: --idle-sec]
    #[arg(long, value_name = "MS", env = "AGENT_BROWSER_IDLE_TIMEOUT_MS", value_parser = clap::value_parser!(u64).range(1_000..=86_400_000))]
    idle_timeout_ms: Option<u64>,

    /// Seconds that running calls have to end when the runtime is told to
    #[arg(long, value_name = "SEC", env = "BROWSER_SHELL_GRACE_SEC", default_value_t = 15, value_parser = clap::value_parser!(u64).range(0..=600))]
    grace_sec: u64,
}

/// Why a runtime does not start.
#[derive(Debug, Error)]
pub(super) enum RuntimeError {
    #[error("`{name}` is no sandbox id; it must match {PATTERN}")]
    SandboxId { name: String },
    #[error("`{0}` is no place for a workspace; give an absolute path")]
    Mount(String),
    #[error("cannot read the token file `{path}`: {why}")]
    Token { path: String, why: String },
    #[error("there is no Chromium on PATH; install it, or say where it is with --chromium")]
    NoChromium,
    #[error("port {0} stands twice; --listen, --egress and --cdp-port must differ")]
    SamePort(u16),
    #[error("cannot listen on `{address}`: {source}; choose another address with --listen")]
    Listen { address: SocketAddr, source: io::Error },
}

pub(super) fn run(settings: &Settings, options: &RuntimeArguments) -> Result<ExitCode, CliError> {
    let (stderr, _flush) = Stderr::open();
    start_log(tracing::Level::INFO, stderr.clone());
    super::more_files();
    let runtime = wide_runtime(MAX_WORKERS)?;
    let result = runtime.block_on(serve(settings, options, &stderr));
    runtime.shutdown_background();
    result.map(|()| ExitCode::SUCCESS)
}

async fn serve(settings: &Settings, options: &RuntimeArguments, stderr: &Stderr) -> Result<(), CliError> {
    let identity = identity(settings, options)?;
    different([options.listen.port(), options.egress.port(), settings.cdp_port])?;
    let token = options.token_file.as_deref().map(token).transpose()?;
    let settings = &private_settings(settings, options)?;
    if token.is_none() && !options.listen.ip().is_loopback() {
        tracing::warn!(address = %options.listen, "whoever reaches this address drives the browser; --token-file asks for a token");
    }
    tracing::info!(
        session = identity.sandbox.as_str(),
        orchestrator_session = options.bay_session_id.as_deref().unwrap_or_default(),
        environment = options.bay_profile_env.as_deref().unwrap_or_default(),
        mode = ?identity.mode,
        profile = ?options.profile,
        "runtime"
    );

    let (stop, all_stop) = (CancellationToken::new(), CancellationToken::new());
    let (condition, watched) = watch::channel(Condition::Starting);
    let condition = Arc::new(condition);
    let mut context = context(settings, open_audit(settings, Some(stderr.clone()))?, false, options.profile.dialect())?;
    let chromium = match identity.mode {
        Mode::Single => {
            let launch = Launch {
                chromium: launch::find(options.chromium.as_deref()).ok_or(RuntimeError::NoChromium)?,
                profile: profile_below(&identity.workspace),
                private: context.sessions.places().browser(),
                cdp_port: settings.cdp_port,
                guard: options.egress,
            };
            Some(Chromium::new(launch, settings.idle(), options.chromium_sandbox, condition.clone()))
        }
        Mode::Shared => None,
    };
    context.wake = chromium.clone().map(|chromium| Arc::new(chromium) as Arc<dyn Wake>);
    let context = Arc::new(context);
    let pipeline = Arc::new(Pipeline::new(context.clone(), steps()));

    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(|source| RuntimeError::Listen { address: options.listen, source })?;
    let found = skills::find(&options.skills);
    if identity.mode == Mode::Single {
        let (folder, found, workspace) = (options.skills.clone(), found.clone(), identity.own_workspace());
        let _ = tokio::task::spawn_blocking(move || skills::copy(&folder, &found, &workspace)).await;
    }

    // The browser goes before its guard, and the guard is there before the browser.
    let guard_stop = CancellationToken::new();
    let guarding = match chromium {
        Some(_) => {
            let policy = PolicySource::new(settings.policy.clone());
            let audit = open_audit(settings, Some(stderr.clone()))?;
            let guard = egress::bind(options.egress).await?;
            Some(tokio::spawn(egress::serve_on(guard, policy, audit, guard_stop.clone())))
        }
        None => None,
    };
    let keeping = match chromium.clone() {
        Some(chromium) => tokio::spawn(chromium.keep(all_stop.clone())),
        None => tokio::spawn(watch(Browser::new(settings.cdp_port), condition, all_stop.clone())),
    };
    let cleaner = tokio::spawn({
        let context = context.clone();
        async move { context.sessions.close_idle().await }
    });
    let signals = tokio::spawn(stop_on_signal(stop.clone()));

    let with_token = token.is_some();
    let hosts = options.allow_host.iter().cloned().chain(named(options.bay_container_name.as_deref()));
    let runtime = Arc::new(Runtime {
        pipeline,
        identity,
        profile: options.profile,
        condition: watched,
        chromium,
        skills: found,
        metrics: Metrics::default(),
        calls: Calls::default(),
    });
    let guard = Guard::new(hosts).with_addresses().with_token(token);
    tracing::info!(address = %options.listen, "listening");
    routes::serve(runtime, guard, with_token, listener, stop, Duration::from_secs(options.grace_sec)).await;

    // Calls that were cancelled write their last line.
    context.background.close();
    let _ = tokio::time::timeout(LAST_LINES, context.background.wait()).await;
    cleaner.abort();
    signals.abort();
    context.sessions.shutdown().await;
    all_stop.cancel();
    let _ = keeping.await;
    guard_stop.cancel();
    if let Some(guarding) = guarding {
        let _ = guarding.await;
    }
    Ok(())
}

/// How long cancelled calls have to end.
const LAST_LINES: Duration = Duration::from_secs(5);

/// A variable that is set to nothing is not set.
fn named(value: Option<&str>) -> Option<String> {
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

fn identity(settings: &Settings, options: &RuntimeArguments) -> Result<Identity, RuntimeError> {
    let name = named(options.sandbox_id.as_deref())
        .or_else(|| named(options.bay_sandbox_id.as_deref()))
        .unwrap_or_else(|| DEFAULT_SESSION.to_owned());
    let sandbox = SandboxId::new(&name).ok_or(RuntimeError::SandboxId { name })?;
    let mount = options.workspace_mount.clone();
    if !Path::new(&mount).is_absolute() {
        return Err(RuntimeError::Mount(mount));
    }
    // `--workspace` has a default of its own, which means: where agents see it.
    let is_default = settings.workspace == Path::new(DEFAULT_WORKSPACE);
    let workspace = if is_default { PathBuf::from(&mount) } else { settings.workspace.clone() };
    Ok(Identity { mode: options.mode, sandbox, workspace, mount, cargos: options.cargos.clone() })
}

/// The settings of the sessions: their own folders are private ones, from which files are carried to the workspace.
fn private_settings(settings: &Settings, options: &RuntimeArguments) -> Result<Settings, CliError> {
    let mut settings = settings.clone();
    settings.workspace = crate::places::files_below(&settings)?;
    if let Some(idle) = options.idle_timeout_ms {
        settings.idle_sec = idle.div_ceil(1000);
    }
    Ok(settings)
}

/// Ports that are all this runtime's own. Port 0 is one that the system chooses.
fn different(ports: [u16; 3]) -> Result<(), RuntimeError> {
    let twice =
        ports.iter().enumerate().find(|(at, port)| **port > 0 && ports.iter().take(*at).any(|other| other == *port));
    twice.map_or(Ok(()), |(_, port)| Err(RuntimeError::SamePort(*port)))
}

/// The token: what stands in the file, without the line break at its end.
fn token(path: &Path) -> Result<String, RuntimeError> {
    let failed = |why: &str| RuntimeError::Token { path: path.display().to_string(), why: why.to_owned() };
    let metadata = std::fs::metadata(path).map_err(|error| failed(&error.to_string()))?;
    if !metadata.is_file() || metadata.len() > MAX_TOKEN {
        return Err(failed("it is no file of one short line"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error.to_string()))?;
    let token = text.trim_end_matches(['\r', '\n']);
    if token.len() < MIN_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(failed(&format!(
            "it must hold one line of at least {MIN_TOKEN} visible ASCII characters; make one with `openssl rand -hex 32`"
        )));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_must_differ() {
        assert!(different([8115, 8119, 9222]).is_ok() && different([0, 0, 9222]).is_ok());
        for ports in [[1, 1, 2], [1, 2, 1], [2, 1, 1]] {
            assert!(matches!(different(ports), Err(RuntimeError::SamePort(1))), "{ports:?}");
        }
    }

    #[test]
    fn tokens_are_one_line_of_some_length() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("token");
        for (text, ok) in [
            ("0123456789abcdef", true),
            ("0123456789abcdef\n", true),
            ("0123456789abcdef\r\n", true),
            ("", false),
            ("short\n", false),
            ("0123456789abcdef\n0123456789abcdef\n", false),
            ("0123456789 abcdef", false),
        ] {
            std::fs::write(&path, text).expect("written");
            assert_eq!(token(&path).ok().as_deref(), ok.then_some("0123456789abcdef"), "{text:?}");
        }
        assert!(token(&root.path().join("nowhere")).is_err() && token(root.path()).is_err());
    }
}
