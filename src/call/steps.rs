//! Run of a command that agent-browser carries out in several steps.

use std::time::Instant;

use crate::agent_browser::{Invocation, Transport};
use crate::os::exec::ExecError;
use browser_shell_core::grammar::{NextStep, Plan, PlanOptions};
use browser_shell_core::output::RawOutput;

/// Runs a command, or its steps within the time of the command.
///
/// # Errors
///
/// As [`Transport::run`].
pub(super) async fn run_steps(
    transport: &dyn Transport,
    invocation: Invocation<'_>,
    has_cursor_elements: bool,
) -> Result<RawOutput, ExecError> {
    let options = PlanOptions { is_native: transport.is_native(), has_cursor_elements };
    let Some(mut plan) = Plan::of(invocation.command, options) else { return transport.run(invocation).await };
    let deadline = Instant::now() + invocation.timeout;
    let mut last = None;
    loop {
        match plan.next(last.take()) {
            NextStep::End(output) => return Ok(output),
            NextStep::Run(command) => {
                let timeout = deadline.saturating_duration_since(Instant::now());
                if timeout.is_zero() {
                    return Err(ExecError::TimedOut);
                }
                last = Some(transport.run(Invocation { command: &command, timeout, ..invocation }).await?);
            }
        }
    }
}
