//! Refusals of calls whose command did not run to its end.

use std::time::Duration;

use crate::call::time::rounded_seconds;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::Engine;
use browser_shell_system::os::exec::ExecError;

/// Returns the refusal of a command that an engine lacks.
pub(super) fn not_in_engine(engine: Engine) -> Decision {
    let other = match engine {
        Engine::Cdp => Engine::AgentBrowser,
        Engine::AgentBrowser => Engine::Cdp,
    };
    let reason =
        format!("the engine `{engine}` of this session lacks this form; `{other}` has it (`engine` in the policy)");
    Decision::new(Code::ArgumentInvalid, reason)
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
        ExecError::Cancelled => Decision::new(
            Code::Cancelled,
            "the client canceled the call, or the server stops; everything that it started was ended",
        ),
        ExecError::Unknown => Decision::new(
            Code::OutcomeUnknown,
            "the connection to agent-browser was lost, and it is not known whether the command ran",
        ),
        ExecError::Refused(decision) => (**decision).clone(),
        ExecError::Start { .. } | ExecError::Wait(_) => {
            tracing::error!(%error, "cannot run agent-browser");
            Decision::new(Code::AgentBrowserUnavailable, "agent-browser cannot be started")
        }
    }
}
