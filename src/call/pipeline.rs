//! The pipeline: the order of the steps that take a call from its request to its reply.
//!
//! Invariants: every call gets a reply, and every reply goes through all steps after the run, refusals too.

use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::call::after::Audit;
use crate::call::after::files::{AttachPicture, Deliver};
use crate::call::after::landing::CheckLanding;
use crate::call::after::notices::ReportNotices;
use crate::call::after::secrets::{MaskSecrets, ReadSecrets};
use crate::call::after::text::{Mask, RemoveEcho, Truncate};
use crate::call::before::validate::Validate;
use crate::call::before::{AssignFilePath, CheckUrl, EnsureBrowserStep};
use crate::call::phases::{AfterStep, AnsweredCall, BeforeStep, CallContext, FinishedCall};
use crate::call::request::CallRequest;
use crate::call::run::{recover_tabs_in_background, run};
use crate::call::services::Services;
use crate::session::Ticket;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::Engine;
use browser_shell_core::request::CallArguments;

/// The ordered list of steps.
///
/// Validation is always the first one, since it creates the [`ValidatedCall`](super::phases::ValidatedCall) that the others need.
struct Steps {
    /// Validation of the request.
    validate: Validate,
    /// Steps between validation and the run.
    before: Vec<Box<dyn BeforeStep>>,
    /// Steps after the run.
    after: Vec<Box<dyn AfterStep>>,
}

impl Steps {
    /// Creates a list that consists of validation.
    const fn new(validate: Validate) -> Self {
        Self { validate, before: Vec::new(), after: Vec::new() }
    }

    /// Appends a step before the run.
    fn before(mut self, step: impl BeforeStep + 'static) -> Self {
        self.before.push(Box::new(step));
        self
    }

    /// Appends a step after the run.
    fn after(mut self, step: impl AfterStep + 'static) -> Self {
        self.after.push(Box::new(step));
        self
    }
}

/// Returns all steps in order.
///
/// Masking precedes truncation: half a secret is not recognized, and a mask can be longer than the secret.
fn steps() -> Steps {
    Steps::new(Validate)
        .before(CheckUrl)
        .before(AssignFilePath)
        .before(EnsureBrowserStep)
        .after(CheckLanding)
        .after(ReadSecrets)
        .after(ReportNotices)
        .after(MaskSecrets)
        .after(AttachPicture)
        .after(Deliver)
        .after(RemoveEcho)
        .after(Mask)
        .after(Truncate)
        .after(Audit)
}

/// Pipeline of a process.
pub struct Pipeline {
    services: Arc<Services>,
    steps: Steps,
}

impl Pipeline {
    /// Creates a pipeline that uses these services.
    #[must_use]
    pub fn new(services: Arc<Services>) -> Self {
        Self { services, steps: steps() }
    }

    /// Returns the services that all calls share.
    pub(crate) const fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// Takes one call from its request to its reply.
    pub(crate) async fn call(&self, request: CallRequest, cancel: CancellationToken) -> FinishedCall {
        self.call_in_order(request, cancel, None).await
    }

    /// Takes one call from its request to its reply, without overtaking the call before its ticket.
    pub(crate) async fn call_in_order(
        &self,
        request: CallRequest,
        cancel: CancellationToken,
        mut ticket: Option<Ticket>,
    ) -> FinishedCall {
        if let Some(ticket) = &mut ticket {
            tokio::select! {
                () = ticket.wait() => {}
                () = cancel.cancelled() => {}
            }
        }
        let CallRequest { session, word, arguments, options, principal } = request;
        let services = self.services.clone();
        let started = Instant::now();
        let context =
            CallContext { services, session, word, options, principal, cancel, started, policy: None, host: None };
        let mut call = Box::pin(self.answer(context, arguments, ticket)).await;
        for step in &self.steps.after {
            step.after(&mut call).await;
        }
        if call.reply.decision.code == Code::PageUnreadable
            && let Some(lease) = call.run.as_mut().and_then(|run| run.lease.take())
        {
            recover_tabs_in_background(&call.context.services, lease);
        }
        if let Some(gate) = call.lease().and_then(|lease| lease.gate())
            && call.lease().is_some_and(|lease| lease.engine() == Engine::Cdp)
        {
            gate.make_ready_for_acts();
        }
        let (subcommand, style) = (call.subcommand(), call.context.output_style());
        self.services.metrics.count_call(subcommand, call.reply.decision.code, started.elapsed());
        FinishedCall { reply: call.reply, session: call.context.session, subcommand, style }
    }

    /// Runs the steps before the run and the run itself, or returns the first refusal. A refused call drops its ticket at
    /// once.
    async fn answer(
        &self,
        mut context: CallContext,
        arguments: Result<CallArguments, Decision>,
        ticket: Option<Ticket>,
    ) -> AnsweredCall {
        let mut call = match self.steps.validate.validate(&mut context, arguments) {
            Ok(call) => call,
            Err(decision) => {
                tracing::debug!(step = Validate::NAME, code = %decision.code, "refused");
                return AnsweredCall::refused(context, None, decision);
            }
        };
        for step in &self.steps.before {
            if let Err(decision) = step.before(&mut context, &mut call).await {
                tracing::debug!(step = step.name(), code = %decision.code, "refused");
                return AnsweredCall::refused(context, Some(call), decision);
            }
        }
        match run(&context, &call, ticket).await {
            Ok((run, reply)) => AnsweredCall { context, validated: Some(call), run: Some(run), reply },
            Err(decision) => AnsweredCall::refused(context, Some(call), decision),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::poll;
    use serde_json::{Value, json};

    use crate::call::testing::TestPipeline;
    use browser_shell_core::decision::Code;

    fn snapshot(session: &str) -> Value {
        json!({ "session_id": session, "argv": ["snapshot"] })
    }

    /// Runs on one thread, which a blocking call would hold up.
    // Requirement 5.2.
    #[tokio::test]
    async fn hung_engine_blocks_only_its_session_under_one_policy() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("e");
        let engine = tokio::net::UnixListener::bind(&socket).expect("bound");
        let docker = json!({ "image": "x", "socket": socket });
        let pipeline =
            TestPipeline::new(&json!({"sandbox": {"backend": "docker", "backends": {"docker": docker}}}).to_string());
        let mut hung = pin!(pipeline.call(snapshot("s")));
        let connection = tokio::select! {
            biased;
            reply = &mut hung => panic!("it did not wait: {reply:?}"),
            connection = engine.accept() => connection.expect("accepted"),
        };
        pipeline.write_policy(r#"{"sandbox":{"enabled":false}}"#);
        let other = tokio::select! {
            biased;
            reply = &mut hung => panic!("it did not wait: {reply:?}"),
            reply = pipeline.call(snapshot("t")) => reply,
        };
        assert_eq!(other.decision.code, Code::Ok);
        // The policy file changes before this call, which waits, opens its session.
        let mut next = pin!(pipeline.call(snapshot("s")));
        assert!(poll!(&mut next).is_pending(), "it waits for the first call");
        pipeline.write_policy("no policy");
        drop(connection);
        assert_eq!(hung.await.decision.code, Code::SandboxBackendUnsupported, "the engine closed the connection");
        assert_eq!(next.await.decision.code, Code::Ok);
        assert_eq!(pipeline.call(snapshot("u")).await.decision.code, Code::PolicyInvalid, "control");
        assert_eq!(pipeline.runs(), ["snapshot", "snapshot"]);
    }
}
