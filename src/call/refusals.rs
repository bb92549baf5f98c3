//! Refusals of calls whose command did not run to its end.

use std::time::Duration;

use crate::call::time::rounded_seconds;
use crate::os::exec::ExecError;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::Command;

/// Returns the refusal of a site that asks for a login.
pub(super) fn login_required() -> Decision {
    Decision::new(Code::LoginRequired, "the site asks for a login by HTTP authentication")
}

/// Returns the refusal of a command with a text that agent-browser's CLI would read as a flag.
pub(super) fn cli_refusal(command: &Command, later: bool) -> Decision {
    let refusal = command.cli_refusal().cloned();
    let mut refusal = refusal.unwrap_or_else(|| Decision::new(Code::FlagGlobal, "a text is a flag of agent-browser"));
    if later {
        refusal
            .reason
            .push_str(" of a session's first call, and of one after a failure: take a snapshot, then try again");
    }
    refusal
}

/// Returns the decision for a run without a result. Paths and system errors are logged only.
pub(super) fn decision_for(error: &ExecError, timeout: Duration) -> Decision {
    match error {
        ExecError::TimedOut => Decision::new(
            Code::TimedOut,
            format!("timed out after {} s; everything that the call started was ended", rounded_seconds(timeout)),
        ),
        ExecError::Starting => Decision::new(
            Code::TimedOut,
            format!(
                "timed out after {} s: agent-browser is still starting, and the command did not run; try again",
                rounded_seconds(timeout)
            ),
        ),
        ExecError::Cancelled => {
            Decision::new(Code::Cancelled, "the client canceled the call; everything that it started was ended")
        }
        ExecError::Unknown => Decision::new(
            Code::OutcomeUnknown,
            "the connection to agent-browser was lost, and it is not known whether the command ran",
        ),
        ExecError::Start { .. } | ExecError::Wait(_) | ExecError::NotByCli { .. } => {
            tracing::error!(%error, "cannot run agent-browser");
            Decision::new(Code::AgentBrowserUnavailable, "agent-browser cannot be started")
        }
    }
}
