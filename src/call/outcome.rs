//! Outcome of a command before it becomes the reply of its call.

use browser_shell_core::decision::Decision;
use browser_shell_core::element::Effect;
use browser_shell_core::output::RawOutput;

use crate::call::reply::CallReply;
use crate::os::exec::ExecError;

/// Name of the control gate in audit lines, where it answers in place of agent-browser.
pub(super) const GATE: &str = "gate";

/// Output of a command.
pub(super) enum Output {
    /// Output of agent-browser.
    Raw(RawOutput),
    /// Reply without agent-browser.
    Own(CallReply),
}

/// Result of a command, `None` if a dialog keeps it from ending, and its effect if that was read.
pub(super) type Outcome = (Result<Option<Output>, ExecError>, Option<Effect>);

/// Returns the outcome of a call that was refused before its command ran.
pub(super) fn refused(decision: Decision) -> Outcome {
    (Ok(Some(Output::Own(CallReply::refused(decision)))), None)
}
