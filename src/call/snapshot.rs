//! Subcommand `snapshot`, where the policy has the control gate read pages.

use std::time::{Duration, Instant};

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::{Command, ValueKind};
use browser_shell_core::output::{Body, CommandResult};
use browser_shell_core::snapshot::Options;
use tokio_util::sync::CancellationToken;

use crate::browser::cdp::CommandError;
use crate::call::act;
use crate::call::outcome::{Outcome, Output};
use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::reply::CallReply;
use crate::call::time::{ANSWER_TIME, time_until};
use crate::gate::{GateSession, ReadError, ReadPage, Secrets, SnapshotRequest};
use crate::os::exec::ExecError;
use crate::session::Lease;

/// Number of times that agent-browser reads a page while it changes.
const ATTEMPTS: usize = 5;

/// Returns true if the control gate answers the command, not agent-browser.
pub(super) fn is_answered(context: &CallContext, call: &ValidatedCall) -> bool {
    call.command.row.name == "snapshot" && context.is_read_by_gate(&call.session)
}

/// Runs the command of a call. A snapshot of agent-browser consists of several reads, so it is taken again if the tab shows another
/// document afterwards: its tree and its origin could be of different ones.
pub(super) async fn of_one_document(
    context: &CallContext,
    call: &ValidatedCall,
    lease: &Lease,
    deadline: Instant,
    run: &mut CompletedRun,
) -> Outcome {
    let is_snapshot = call.command.row.name == "snapshot";
    let Some(gate) = lease.gate().filter(|gate| is_snapshot && gate.active_tab().is_some()) else {
        return act::run(context, call, lease, time_until(deadline), run).await;
    };
    for _ in 0..ATTEMPTS {
        let before = tokio::time::timeout(time_until(deadline), gate.shown_document()).await.ok().flatten();
        let outcome = act::run(context, call, lease, time_until(deadline), run).await;
        if !matches!(&outcome.0, Ok(Some(Output::Raw(raw))) if raw.exit_code == 0) {
            return outcome;
        }
        let after = tokio::time::timeout(time_until(deadline), gate.shown_document()).await.ok().flatten();
        if before.is_some() && before == after {
            return outcome;
        }
    }
    (Ok(Some(Output::Own(failure(ReadError::Changed)))), None)
}

/// Reads the page of a session, and the secrets that the answer must not contain.
///
/// # Errors
///
/// Returns an error if the call ends before. A page that cannot be read is a result.
pub(super) async fn read(
    gate: &GateSession,
    command: &Command,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<(CallReply, Option<Secrets>), ExecError> {
    let request = request(command);
    let until = Instant::now() + timeout.saturating_sub(ANSWER_TIME);
    let read = tokio::select! {
        read = gate.read_page(&request, until) => read,
        () = cancel.cancelled() => return Err(ExecError::Cancelled),
        () = tokio::time::sleep(timeout) => return Err(ExecError::TimedOut),
    };
    Ok(match read {
        Ok(ReadPage { data, secrets, .. }) => (CallReply::done(Body::Data(data)), secrets),
        Err(error) => (failure(error), None),
    })
}

fn failure(error: ReadError) -> CallReply {
    match error {
        error @ (ReadError::Stale(_) | ReadError::OtherTab(_)) => {
            CallReply::refused(Decision::new(Code::StaleReference, error.to_string()))
        }
        ReadError::Command(CommandError::TimedOut(_)) => {
            CallReply::refused(Decision::new(Code::TimedOut, "the page does not answer"))
        }
        error => CallReply::answered(CommandResult { exit_code: 1, body: Body::Empty, stderr: error.to_string() }),
    }
}

/// Returns the snapshot that a command asks for.
fn request(command: &Command) -> SnapshotRequest {
    let depth = command.value(|kind| matches!(kind, ValueKind::Number(..)));
    SnapshotRequest {
        options: Options {
            is_interactive: command.has_flag("-i"),
            is_compact: command.has_flag("-c"),
            depth: depth.and_then(|depth| depth.parse().ok()),
            root: None,
        },
        selector: command.value(|kind| kind == ValueKind::Selector).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser_shell_core::grammar::{Profile, parse};

    #[test]
    fn request_has_the_flags_of_the_command() {
        let command = ["snapshot", "-i", "-d", "3", "-s", "#a"].map(str::to_owned);
        let request = request(&parse(Profile::Tool, &command, |_| true).unwrap());
        let options = Options { is_interactive: true, is_compact: false, depth: Some(3), root: None };
        assert_eq!((request.options, request.selector.as_deref()), (options, Some("#a")));
    }

    #[test]
    fn page_that_cannot_be_read_is_a_failure() {
        let failed = failure(ReadError::NoMatch("#a".to_owned()));
        assert_eq!((failed.exit_code, failed.body), (1, Body::Empty));
        assert_eq!(failed.stderr, "no element matches `#a`; take a snapshot without `-s`");
        let stale = failure(ReadError::Stale("@e7".to_owned()));
        assert_eq!((stale.exit_code, stale.decision.code), (1, Code::StaleReference));
        assert!(stale.stderr.contains("`@e7` is gone"), "{stale:?}");
    }
}
