//! Services of a process, built from its settings.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::call::{OutputWorker, Pages, Pipeline, Services};
use crate::cli::output::CliError;
use crate::cli::own_browser::OwnBrowser;
use crate::session::{EngineChoice, Sessions};
use browser_shell_agent_browser::gateway::Endpoints;
use browser_shell_agent_browser::{CliTransport, Transport as _};
use browser_shell_browser::gate::{
    ChromiumAddress, ControlGate, GateConfig, IsolationChoice, WindowMode, problems_of_state,
};
use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::file::parse;
use browser_shell_core::policy::{Engine, Isolation, Policy, Problem, StateSource};
use browser_shell_system::audit::AuditLog;
use browser_shell_system::config::{DEFAULT_WORKSPACE, Settings};
use browser_shell_system::os::dns::Dns;
use browser_shell_system::os::files::is_writable_folder;
use browser_shell_system::os::log::Stderr;
use browser_shell_system::paths::{Paths, SessionAddresses};
use browser_shell_system::policy_source::PolicySource;

/// Creates the pipeline. With `keep_open`, sessions outlive the process.
pub(super) fn pipeline(
    settings: &Settings,
    policy: PolicySource,
    audit: AuditLog,
    keep_open: bool,
    browser: BrowserAccess,
) -> Result<Pipeline, CliError> {
    let services = services(settings, policy, audit, keep_open, Profile::Tool, browser)?;
    Ok(Pipeline::new(Arc::new(services)))
}

/// Access of a process to the browser.
pub(super) struct BrowserAccess {
    /// Way to Chromium.
    pub upstream: ChromiumAddress,
    /// Choice of the isolation of sessions.
    pub isolation: IsolationChoice,
    /// Choice of the engine of sessions.
    pub engine: EngineChoice,
    /// Addresses of the egress guard for sessions.
    pub addresses: Option<Arc<SessionAddresses>>,
    /// State of the windows of sessions.
    pub windows: WindowMode,
    /// Port of the endpoint of the context that sessions share; any without it.
    pub gate_port: Option<u16>,
}

impl BrowserAccess {
    /// Returns the access to a Chromium that the operator starts.
    pub(super) fn of_operator(settings: &Settings) -> Self {
        Self {
            upstream: ChromiumAddress::Port(settings.cdp_port),
            isolation: IsolationChoice::ByPolicy(Isolation::Shared),
            engine: EngineChoice::ByPolicy(Engine::AgentBrowser),
            addresses: None,
            windows: WindowMode::Maximized,
            gate_port: None,
        }
    }

    /// Returns the access to a Chromium that the server starts, in which each session has a context of its own.
    pub(super) fn of_own(own: &OwnBrowser, windows: WindowMode) -> Self {
        Self {
            upstream: ChromiumAddress::Own(own.connection.subscribe()),
            isolation: IsolationChoice::ByPolicy(Isolation::Session),
            engine: EngineChoice::ByPolicy(Engine::Cdp),
            addresses: Some(own.addresses.clone()),
            windows,
            gate_port: None,
        }
    }

    /// Returns the access of a command that runs one call. A context of a session's own would end with it, and so would references.
    pub(super) fn of_command(settings: &Settings) -> Self {
        Self {
            isolation: IsolationChoice::Always(Isolation::Shared),
            engine: EngineChoice::Always(Engine::AgentBrowser),
            ..Self::of_operator(settings)
        }
    }
}

/// Creates the services that all calls of a process share.
pub(super) fn services(
    settings: &Settings,
    policy: PolicySource,
    audit: AuditLog,
    keep_open: bool,
    profile: Profile,
    browser: BrowserAccess,
) -> Result<Services, CliError> {
    if settings.transport.is_some() {
        tracing::warn!(
            "--transport (BROWSER_SHELL_TRANSPORT) has no effect any more: agent-browser's CLI is the only one; leave it out"
        );
    }
    let paths = Paths::open(settings, profile)?;
    let cli = CliTransport::new(settings, paths.action_policy());
    let gate = ControlGate::new(GateConfig {
        upstream: browser.upstream,
        isolation: browser.isolation,
        addresses: browser.addresses,
        windows: browser.windows,
        policy: policy.clone(),
    });
    let endpoints = Arc::new(Endpoints::new(gate.clone(), cli.kind(), browser.gate_port));
    Ok(Services {
        policy,
        dns: Dns::default(),
        sessions: Sessions::new(settings, paths, endpoints, browser.engine, keep_open),
        gate,
        transport: Arc::new(cli),
        ensure_browser: None,
        pages: Pages::default(),
        audit,
        metrics: Arc::default(),
        background: TaskTracker::new(),
        output_worker: OutputWorker::default(),
    })
}

/// Checks the folders that the operator named, before a call finds out that they cannot be used. The default workspace may be missing, because
/// only calls that write a file need it.
///
/// # Errors
///
/// The folder with the reason and its flag.
pub(super) fn check_folders(settings: &Settings) -> Result<(), CliError> {
    let workspace = &settings.workspace;
    let failed = |error| CliError::Folder { flag: "--workspace", path: workspace.clone(), error };
    match is_writable_folder(workspace).map_err(failed) {
        Ok(_) => {}
        Err(error) if workspace == Path::new(DEFAULT_WORKSPACE) => {
            tracing::warn!(%error, "calls that write a file, such as pictures, will fail");
        }
        Err(error) => return Err(error),
    }
    check_template(settings)
}

/// Checks the template, with whose files the folder of each session begins.
///
/// # Errors
///
/// The folder with the reason and its flag.
pub(super) fn check_template(settings: &Settings) -> Result<(), CliError> {
    let Some(path) = &settings.template else { return Ok(()) };
    let failed = |error| CliError::Folder { flag: "--template", path: path.clone(), error };
    fs::read_dir(path).map(drop).map_err(failed)
}

/// Policy of a server that has no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultPolicy {
    /// The safe defaults.
    Safe,
    /// The recommended policy, which is built in.
    Recommended,
}

/// Opens the policy file of a server, and logs which policy is in force.
pub(super) fn open_policy(settings: &Settings, default: DefaultPolicy) -> Result<PolicySource, CliError> {
    let named = settings.policy.as_deref();
    let policy = match default {
        DefaultPolicy::Safe => PolicySource::open(named)?,
        DefaultPolicy::Recommended => PolicySource::open_with_default(named, recommended())?,
    };
    let path = policy.path().display();
    match default {
        // One that cannot be used is logged by the watch.
        _ if policy.exists() => {
            if let (Some(hash), Ok(_)) = policy.in_force() {
                tracing::info!(%path, hash, "the policy file is in force");
            }
        }
        DefaultPolicy::Safe => tracing::warn!(%path, "no policy file: the safe defaults are in force"),
        DefaultPolicy::Recommended => {
            tracing::warn!(%path, "no policy file: the recommended policy, which is built in, is in force");
        }
    }
    if default == DefaultPolicy::Recommended {
        for problem in policy.current().map(|policy| state_problems(&policy)).unwrap_or_default() {
            tracing::warn!(%problem, "sessions cannot begin with a saved state, and their calls are refused until you correct its file");
        }
    }
    Ok(policy)
}

/// Returns the problems of the saved states that a policy names, as the sessions that begin with them meet them. With the isolation `shared`,
/// none does.
pub(super) fn state_problems(policy: &Policy) -> Vec<Problem> {
    if policy.browser.isolation == Some(Isolation::Shared) {
        return Vec::new();
    }
    let problems = policy.browser.state.iter().flat_map(|state| {
        let member = if matches!(state.source, StateSource::File(_)) { ".file" } else { "" };
        let path = format!("browser.state.{}{member}", state.selector.pattern);
        problems_of_state(&state.source).into_iter().map(move |message| Problem::new(path.clone(), message))
    });
    problems.collect()
}

/// Returns the recommended policy. A test reads it.
pub(super) fn recommended() -> Policy {
    parse(include_str!("../../examples/policy.recommended.json")).unwrap_or_default()
}

/// Opens the audit log. Only a server has a `stderr` to write it to; commands for people then discard it.
pub(super) fn open_audit(settings: &Settings, stderr: Option<Stderr>) -> Result<AuditLog, CliError> {
    let log = match stderr {
        _ if settings.audit.as_os_str() != "-" => AuditLog::to_file(&settings.audit),
        Some(stderr) => Ok(AuditLog::to_stderr(stderr)),
        None => AuditLog::discard(),
    };
    log.map_err(|error| CliError::Audit { path: settings.audit.clone(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement 7.1.
    #[test]
    fn recommended_policy_is_built_in() {
        let policy = recommended();
        assert_ne!(policy, Policy::default());
        assert_eq!((policy.engine(), policy.browser.isolation), (Some(Engine::Cdp), Some(Isolation::Session)));
        assert!(policy.enables("dialog"));
    }
}
