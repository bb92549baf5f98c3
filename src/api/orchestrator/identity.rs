//! Identity of a runtime: its tenancy with the exit codes of the contract for it, its own session, and its workspaces.

use std::path::PathBuf;

use crate::api::orchestrator::requests::Caller;
use crate::call::FileTarget;
use crate::call::workspace::Workspace;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::session_id::{CargoId, TenantId};

/// Name of the session of a runtime that was given none.
pub(crate) const DEFAULT_SESSION: &str = "default";

/// Number of tenants that a runtime serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Tenancy {
    /// One sandbox: the runtime starts Chromium, and has one session and one workspace
    Single,
    /// Many sandboxes: the runtime uses a running Chromium, and requests name their sandbox
    Shared,
}

/// Identity of a runtime, which does not change while it runs.
#[derive(Clone, Debug)]
pub(crate) struct RuntimeIdentity {
    /// Number of tenants.
    pub tenancy: Tenancy,
    /// Tenant whose session is the runtime's own.
    pub tenant: TenantId,
    /// Folder of the single tenant's workspace.
    pub workspace: PathBuf,
    /// Path of the workspace as agents see it.
    pub mount: String,
    /// Folder that holds the workspaces of many tenants.
    pub cargos: PathBuf,
}

impl RuntimeIdentity {
    /// Returns true if a request must name its tenant.
    #[must_use]
    pub(crate) fn requires_tenant(&self) -> bool {
        self.tenancy == Tenancy::Shared
    }

    /// Returns the tenant of a request.
    #[must_use]
    pub(crate) fn tenant_of(&self, caller: &Caller) -> TenantId {
        match (self.tenancy, &caller.tenant) {
            (Tenancy::Shared, Some(tenant)) => tenant.clone(),
            _ => self.tenant.clone(),
        }
    }

    /// Returns the workspace of a runtime with one tenant.
    #[must_use]
    pub(crate) fn own_workspace(&self) -> Workspace {
        Workspace::new(self.workspace.clone(), self.mount.clone())
    }

    /// Returns the workspace that the files of a request go to.
    #[must_use]
    pub(crate) fn file_target(&self, cargo: Option<&CargoId>) -> FileTarget {
        let workspace = match (self.tenancy, cargo) {
            (Tenancy::Single, _) => self.own_workspace(),
            (Tenancy::Shared, Some(cargo)) => {
                Workspace::below(self.cargos.clone(), cargo.folder_name(), self.mount.clone())
            }
            (Tenancy::Shared, None) => {
                let reason = "this command writes a file, and the request does not name the workspace";
                return FileTarget::Nowhere(Decision::new(Code::ArgumentMissing, reason).at("cargo_id"));
            }
        };
        FileTarget::Workspace(workspace.into())
    }
}

/// Returns the contract's exit code for a decision; `exit_code` is that of the call. The contract has its own codes for failures that are
/// not the command's, one set for each tenancy. Refusals keep ours, which the contract does not know.
pub(crate) const fn contract_exit_code(tenancy: Tenancy, code: Code, exit_code: i32) -> i32 {
    match (tenancy, code) {
        (Tenancy::Single, Code::TimedOut | Code::AgentBrowserUnavailable | Code::OutcomeUnknown | Code::Cancelled) => {
            -1
        }
        (Tenancy::Shared, Code::TimedOut) => 124,
        (Tenancy::Shared, Code::AgentBrowserUnavailable) => 127,
        (Tenancy::Shared, Code::OutcomeUnknown | Code::Cancelled) => 1,
        _ => exit_code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement 4.1.
    #[test]
    fn tenant_and_cargo_fields_count_only_in_shared_tenancy() {
        let identity = |tenancy| RuntimeIdentity {
            tenancy,
            tenant: TenantId::new("own").expect("a valid name"),
            workspace: "/workspace".into(),
            mount: "/workspace".to_owned(),
            cargos: "/cargos".into(),
        };
        let caller = Caller { tenant: TenantId::new("other"), cargo: CargoId::new("c1") };
        let cargo = caller.cargo.as_ref();
        let (single, shared) = (identity(Tenancy::Single), identity(Tenancy::Shared));
        assert_eq!(single.tenant_of(&caller).as_str(), "own");
        assert_eq!(shared.tenant_of(&caller).as_str(), "other");
        let expected = Workspace::below("/cargos".into(), "bay-cargo-c1".to_owned(), "/workspace".to_owned());
        assert!(matches!(shared.file_target(cargo), FileTarget::Workspace(workspace) if *workspace == expected));
        assert!(
            matches!(single.file_target(cargo), FileTarget::Workspace(workspace) if *workspace == single.own_workspace())
        );
        assert!(
            matches!(shared.file_target(None), FileTarget::Nowhere(decision) if decision.code == Code::ArgumentMissing)
        );
    }

    // Requirement 4.1.
    #[test]
    fn exit_codes_map_to_contract() {
        for (code, exit_code, single, shared) in [
            (Code::Ok, 0, 0, 0),
            (Code::CommandFailed, 3, 3, 3),
            (Code::TimedOut, 124, -1, 124),
            (Code::AgentBrowserUnavailable, 69, -1, 127),
            (Code::OutcomeUnknown, 1, -1, 1),
            (Code::Cancelled, 130, -1, 1),
            (Code::BrowserUnavailable, 69, 69, 69),
            (Code::FlagGlobal, 64, 64, 64),
            (Code::HostDenied, 77, 77, 77),
            (Code::Busy, 75, 75, 75),
        ] {
            assert_eq!(contract_exit_code(Tenancy::Single, code, exit_code), single, "{code}");
            assert_eq!(contract_exit_code(Tenancy::Shared, code, exit_code), shared, "{code}");
        }
    }
}
