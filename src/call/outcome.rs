//! Outcome of a command before it becomes the reply of its call.

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::element::{Effect, Verb};
use browser_shell_core::output::{Body, RawOutput};
use serde_json::json;

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

/// Returns the reply of an act of the gate whose page opened a dialog, or began to load another page, before it ended. What was begun is
/// done, but no further keys follow.
pub(super) fn interrupted(verb: Verb, text: &str, code: Code) -> CallReply {
    let is_cut = verb == Verb::Drag || (verb == Verb::Type && text.chars().nth(1).is_some());
    if is_cut {
        let what = if code == Code::DialogOpen { "opened a dialog" } else { "began to load another one" };
        return CallReply::refused(Decision::new(code, format!("the page {what} before the act was complete")));
    }
    CallReply::done(Body::Data(json!({})))
}
