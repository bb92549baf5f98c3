//! Run of a command that agent-browser carries out in several steps.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::agent_browser::{Invocation, Transport};
use crate::call::time::time_until;
use crate::os::exec::ExecError;
use browser_shell_core::grammar::{NextStep, Plan, PlanOptions};
use browser_shell_core::output::RawOutput;

/// Timeout for the release of a button after a step that did not end by itself.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

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
                let timeout = time_until(deadline);
                let output = if timeout.is_zero() {
                    Err(ExecError::TimedOut)
                } else {
                    transport.run(Invocation { command: &command, timeout, ..invocation }).await
                };
                match output {
                    Ok(output) => last = Some(output),
                    Err(error) => {
                        // A button that stays pressed would turn the next act into a drag. The end of the call does not cancel this.
                        if let Some(command) = plan.release() {
                            let cancel = &CancellationToken::new();
                            let release =
                                Invocation { command: &command, timeout: RELEASE_TIMEOUT, cancel, ..invocation };
                            if let Err(error) = transport.run(release).await {
                                tracing::warn!(%error, "a pressed button was not released");
                            }
                        }
                        return Err(error);
                    }
                }
            }
        }
    }
}
