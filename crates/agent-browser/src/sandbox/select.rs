//! Selection of a session's backend by policy and machine.

use std::cmp::Reverse;
use std::future::ready;

use browser_shell_core::policy::sandbox::{BackendName, SandboxPolicy};
use futures::TryFutureExt;

use super::backend::{Backend, BackendError, LaunchMode};
use super::container::docker;
use super::enforcement::{Enforcement, EnforcementLevel};
use super::host::SandboxHost;
use super::interface::SandboxError;
use super::plan::Plan;
use super::{bubblewrap, landlock, srt};

/// All backends, in order of preference.
pub const BACKENDS: &[Backend] = &[
    Backend {
        name: BackendName::Landlock,
        probe: |host, policy, plan| {
            Box::pin(ready(landlock::probe(host, policy, plan).ok_or(BackendError::NoLandlock)))
        },
        launch_mode: LaunchMode::Wrap(|host, _, plan, program| Ok(landlock::wrap(host, plan, program))),
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
