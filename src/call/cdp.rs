//! Call of a session whose engine is our own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use browser_shell_core::action::Action;
use browser_shell_core::output::{Body, CommandResult};
use browser_shell_core::policy::Engine;

use crate::call::phases::{CallContext, CompletedRun, ValidatedCall};
use crate::call::refusals::{decision_for, not_in_engine};
use crate::call::reply::CallReply;
use browser_shell_browser::gate::GateSession;
use browser_shell_engine::{Carried, Job, Outcome};
use browser_shell_system::os::exec::ExecError;

/// Carries out the action of a call.
pub(super) async fn run(
    context: &CallContext,
    call: &ValidatedCall,
    gate: &Arc<GateSession>,
    timeout: Duration,
    run: &mut CompletedRun,
) -> CallReply {
    let Some(action) = Action::of(&call.command) else {
        return CallReply::refused(not_in_engine(Engine::Cdp));
    };
    let file = call.output_file.as_ref().map(|file| file.path.as_path());
    let deadline = Instant::now() + timeout;
    let job = Job { gate, action: &action, time: timeout, deadline, cancel: &context.cancel, file };
    let Carried { outcome, secrets } = browser_shell_engine::carry_out(&job).await;
    run.read_secrets = secrets.map(Ok);
    let reply = reply(outcome, timeout);
    let size = if let Body::Data(data) = &reply.body { data.to_string().len() } else { 0 };
    run.output_permit = context.services.output_worker.permit(size).await;
    reply
}

fn reply(outcome: Outcome, timeout: Duration) -> CallReply {
    match outcome {
        Outcome::Done(data) => CallReply::done(Body::Data(data)),
        Outcome::Failed(decision) => CallReply::refused(decision),
        Outcome::Message(stderr) => CallReply::answered(CommandResult { exit_code: 1, body: Body::Empty, stderr }),
        Outcome::Unknown => CallReply::refused(decision_for(&ExecError::Unknown, timeout)),
        Outcome::TimedOut => CallReply::refused(decision_for(&ExecError::TimedOut, timeout)),
        Outcome::Cancelled => CallReply::refused(decision_for(&ExecError::Cancelled, timeout)),
    }
}
