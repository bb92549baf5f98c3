//! Exit codes of the orchestrator's contract.
//!
//! The contract has its own codes for failures that are not the command's, one set for each tenancy. Refusals keep ours, which
//! the contract does not know.

use crate::api::orchestrator::identity::Tenancy;
use browser_shell_core::decision::Code;

/// Returns the contract's exit code for a decision; `exit_code` is that of the call.
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
