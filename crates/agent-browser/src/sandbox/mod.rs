//! Sandbox of a session's agent-browser: the selection of its backend by policy and machine, and its creation.
//!
//! A [`plan`](mod@plan) says as data which files, ports and limits a session gets. A [`backend`](mod@backend) enforces it. The
//! first run of agent-browser in a session starts its daemon, which inherits the confinement for as long as it lives. Some
//! sandboxes have their own network and end with their first program; [`container`] holds the helpers for those.
//!
//! Invariants: agent-browser never runs without a sandbox unless the audit line says so.
//!
//! Requirement 5.2.

pub mod backend;
mod bubblewrap;
pub mod confine;
pub mod container;
mod denied_files;
pub mod host;
mod interface;
pub mod plan;
mod session_sandbox;
mod srt;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::future::ready;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::TryFutureExt;

use crate::installation::files::ProgramFiles;
use crate::installation::find_agent_browser;
use crate::sandbox::backend::{Backend, BackendError, LaunchMode};
use crate::sandbox::container::docker;
use crate::sandbox::host::{Enforcement, EnforcementLevel, SandboxHost};
use crate::sandbox::plan::{Plan, plan};
use crate::sandbox::session_sandbox::SessionSandbox;
use browser_shell_core::policy::sandbox::{BackendName, SandboxMode, SandboxPolicy};
use browser_shell_system::config::{DEFAULT_CDP_PORT, Settings};
use browser_shell_system::os::exec::find_on_path;
use browser_shell_system::paths::{Paths, SessionPaths};

pub use interface::{PendingSandbox, Sandbox, SandboxError};

/// All backends, in order of preference.
pub const BACKENDS: &[Backend] = &[
    Backend {
        name: BackendName::Landlock,
        probe: |host, policy, plan| Box::pin(ready(confine::probe(host, policy, plan).ok_or(BackendError::NoLandlock))),
        launch_mode: LaunchMode::Wrap(|host, _, plan, program| Ok(confine::wrap(host, plan, program))),
    },
    Backend {
        name: BackendName::Bubblewrap,
        probe: |host, policy, plan| Box::pin(bubblewrap::probe(host, policy, plan).err_into()),
        launch_mode: LaunchMode::Wrap(|host, policy, plan, program| Ok(bubblewrap::wrap(host, policy, plan, program)?)),
    },
    Backend {
        name: BackendName::Srt,
        probe: |host, policy, plan| Box::pin(srt::probe(host, policy, plan).err_into()),
        launch_mode: LaunchMode::Init(|host, policy, plan, paths| Ok(srt::relay_config(host, policy, plan, paths)?)),
    },
    Backend {
        name: BackendName::Docker,
        probe: |host, policy, plan| Box::pin(docker::probe(host, policy, plan).err_into()),
        launch_mode: LaunchMode::Init(|host, policy, plan, paths| Ok(docker::relay_config(host, policy, plan, paths)?)),
    },
    Backend {
        name: BackendName::None,
        probe: |_, _, _| Box::pin(ready(Ok(Enforcement::NONE))),
        launch_mode: LaunchMode::Wrap(|_, _, _, program| Ok(program.clone())),
    },
];

/// A factory for all sandboxes of a process.
#[derive(Debug)]
pub struct SandboxFactory {
    files: ProgramFiles,
    action_policy: PathBuf,
    template: Option<PathBuf>,
    host: OnceLock<SandboxHost>,
    /// The last status that was logged.
    logged_status: Mutex<Option<String>>,
}

impl SandboxFactory {
    /// Creates a factory for these settings.
    #[must_use]
    pub fn new(settings: &Settings, paths: &Paths) -> Self {
        Self {
            files: ProgramFiles::find(&find_agent_browser(settings), find_on_path("node").as_deref()),
            action_policy: paths.action_policy(),
            template: settings.template.clone(),
            host: OnceLock::new(),
            logged_status: Mutex::default(),
        }
    }

    fn host(&self) -> &SandboxHost {
        self.host.get_or_init(SandboxHost::detect)
    }

    fn plan(&self, policy: &SandboxPolicy, backend: BackendName, paths: &SessionPaths, endpoint: u16) -> Plan {
        plan(policy, backend, paths, &self.files, &self.action_policy, endpoint)
    }

    /// Makes the sandbox of a session whose endpoint has this port, for this policy. It is not started yet.
    ///
    /// # Errors
    ///
    /// If this machine has no sandbox that satisfies the policy.
    pub async fn make(
        &self,
        policy: &SandboxPolicy,
        paths: &SessionPaths,
        endpoint: u16,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let policy = &*srt::with_settings_file(policy)
            .map_err(|error| SandboxError::UnsupportedBackend { name: BackendName::Srt, reason: error.into() })?;
        let selected = select(self.host(), policy, |name| self.plan(policy, name, paths, endpoint)).await?;
        self.log(&selected);
        let plan = self.plan(policy, selected.name, paths, endpoint);
        let name = selected.name;
        let backend = backend(name).ok_or(SandboxError::UnsupportedBackend { name, reason: BackendError::Unknown })?;
        Ok(Arc::new(SessionSandbox {
            backend,
            host: self.host().clone(),
            policy: policy.clone(),
            plan,
            paths: paths.clone(),
            template: self.template.clone(),
            status: selected.status(),
            is_started: AtomicBool::new(false),
            init_start: tokio::sync::Mutex::default(),
        }))
    }

    /// Reports the backend of a session under this policy, and the enforcement of every backend.
    pub async fn survey(&self, policy: &SandboxPolicy, paths: &SessionPaths) -> SandboxReport {
        let mut settings_error = None;
        let policy = srt::with_settings_file(policy).unwrap_or_else(|error| {
            settings_error = Some(SandboxError::UnsupportedBackend { name: BackendName::Srt, reason: error.into() });
            Cow::Borrowed(policy)
        });
        let policy = &*policy;
        // The plan of a report runs nothing, so any port stands for that of an endpoint.
        let plan_of = |name| self.plan(policy, name, paths, DEFAULT_CDP_PORT);
        let mut backends = Vec::new();
        for backend in BACKENDS.iter().filter(|backend| backend.name != BackendName::None) {
            backends.push((backend.name, (backend.probe)(self.host(), policy, &plan_of(backend.name)).await));
        }
        let chosen = match settings_error {
            Some(error) => Err(error),
            None => select(self.host(), policy, plan_of).await,
        };
        SandboxReport { chosen, backends, mode: policy.mode }
    }

    /// Logs the selected backend if it differs from the last one.
    fn log(&self, selected: &SelectedBackend) {
        let status = selected.status();
        let mut logged = self.logged_status.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.as_ref() == Some(&status) {
            return;
        }
        let enforcement = &selected.enforcement;
        match selected.name {
            BackendName::None if selected.is_off => {
                tracing::warn!("the sandbox is switched off: agent-browser runs with all rights of this server");
            }
            BackendName::None => {
                tracing::warn!(
                    "there is no sandbox on this machine: agent-browser runs with all rights of this server; run `browser-shell doctor` for the reasons"
                );
            }
            name if enforcement.missing.is_empty() => tracing::info!(%name, %enforcement, "sessions are confined"),
            name => tracing::warn!(%name, %enforcement, "sessions are not fully confined"),
        }
        *logged = Some(status);
    }
}

/// The sandboxes of this machine, as `browser-shell doctor` reports them.
#[derive(Debug)]
pub struct SandboxReport {
    /// The backend that a session would get.
    pub chosen: Result<SelectedBackend, SandboxError>,
    /// The enforcement of each backend, or the reason why it cannot run.
    pub backends: Vec<(BackendName, Result<Enforcement, BackendError>)>,
    /// The sharing mode of the policy.
    pub mode: SandboxMode,
}

/// The backend of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedBackend {
    /// The name.
    pub name: BackendName,
    /// The enforcement of the plan.
    pub enforcement: Enforcement,
    /// True if the policy switched the sandbox off, as opposed to a machine without one.
    pub is_off: bool,
}

impl SelectedBackend {
    /// Returns the text of the audit line: `landlock:full`, `none` or `off`.
    #[must_use]
    pub fn status(&self) -> String {
        match self.name {
            BackendName::None if self.is_off => "off".to_owned(),
            BackendName::None => "none".to_owned(),
            name => format!("{name}:{}", self.enforcement.level),
        }
    }
}

/// Returns the backend of this name.
#[must_use]
pub fn backend(name: BackendName) -> Option<&'static Backend> {
    BACKENDS.iter().find(|backend| backend.name == name)
}

/// Selects the backend that the policy names, else the first that enforces everything, else the one that enforces most, else
/// none.
///
/// # Errors
///
/// If the named backend cannot run, or full enforcement is required and not available.
pub async fn select(
    host: &SandboxHost,
    policy: &SandboxPolicy,
    plan: impl Fn(BackendName) -> Plan + Send + Sync,
) -> Result<SelectedBackend, SandboxError> {
    if policy.is_off() {
        if policy.require {
            return Err(SandboxError::Disabled);
        }
        return Ok(SelectedBackend { name: BackendName::None, enforcement: Enforcement::NONE, is_off: true });
    }
    let selected = match policy.backend {
        Some(name) => {
            let unsupported = |reason| SandboxError::UnsupportedBackend { name, reason };
            let backend = backend(name).ok_or_else(|| unsupported(BackendError::Unknown))?;
            let enforcement = (backend.probe)(host, policy, &plan(name)).await.map_err(unsupported)?;
            SelectedBackend { name, enforcement, is_off: false }
        }
        None => best(host, policy, plan).await,
    };
    if policy.require && selected.enforcement.level < EnforcementLevel::Full {
        let reason = BackendError::NotFull(selected.enforcement);
        return Err(SandboxError::UnsupportedBackend { name: selected.name, reason });
    }
    Ok(selected)
}

/// Returns the best backend that an operator need not choose.
async fn best(
    host: &SandboxHost,
    policy: &SandboxPolicy,
    plan: impl Fn(BackendName) -> Plan + Send + Sync,
) -> SelectedBackend {
    let mut best = SelectedBackend { name: BackendName::None, enforcement: Enforcement::NONE, is_off: false };
    for name in [BackendName::Landlock, BackendName::Bubblewrap] {
        let Some(backend) = backend(name) else { continue };
        let Ok(enforcement) = (backend.probe)(host, policy, &plan(name)).await else { continue };
        let rank = |enforcement: &Enforcement| (enforcement.level, Reverse(enforcement.missing.len()));
        if rank(&enforcement) > rank(&best.enforcement) {
            best = SelectedBackend { name, enforcement, is_off: false };
        }
        if best.enforcement.level == EnforcementLevel::Full {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests;
