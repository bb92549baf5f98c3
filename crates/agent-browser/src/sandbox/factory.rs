//! Creation of sandboxes: selects a session's backend and plan.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::backend::BackendError;
use super::enforcement::Enforcement;
use super::host::SandboxHost;
use super::interface::{Sandbox, SandboxError};
use super::plan::{Plan, plan};
use super::select::{BACKENDS, SelectedBackend, backend, select};
use super::session_sandbox::SessionSandbox;
use super::srt_settings;
use crate::installation::files::ProgramFiles;
use crate::installation::locate::find_agent_browser;
use browser_shell_core::policy::sandbox::{BackendName, SandboxMode, SandboxPolicy};
use browser_shell_system::config::{DEFAULT_CDP_PORT, Settings};
use browser_shell_system::os::programs::find_on_path;
use browser_shell_system::paths::{Paths, SessionPaths};

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
        let policy = &*srt_settings::merged(policy)
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
        let policy = srt_settings::merged(policy).unwrap_or_else(|error| {
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
