//! Phases of a call, each with its own type, and the steps between them.
//!
//! Validation turns a [`CallRequest`](crate::call::request::CallRequest) into a [`ValidatedCall`]. The steps before the run complete
//! it, and the run adds a [`CompletedRun`]. The steps after the run work on an [`AnsweredCall`], which records the phase that
//! the call reached. The front end receives a [`FinishedCall`].
//!
//! Steps have one interface for each side of the run, and form one ordered list.
//!
//! Requirement 1.13.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::call::reply::{CallReply, MIN_COMMAND_TIME};
use crate::call::request::{CallOptions, OutputStyle, TimeoutScope};
use crate::call::services::{OutputPermit, Services};
use crate::session::Lease;
use browser_shell_browser::BrowserGuard;
use browser_shell_browser::gate::{ActiveCall, Secrets, SecretsError, SeenTab};
use browser_shell_core::action::Action;
use browser_shell_core::auth::Principal;
use browser_shell_core::decision::Decision;
use browser_shell_core::grammar::{Command, FORBIDDEN_SUBCOMMANDS, Profile};
use browser_shell_core::policy::{AnswerStyle, CallLimits, Engine, Policy};
use browser_shell_core::session_id::SessionId;
use browser_shell_system::os::describe;
use browser_shell_system::policy_source::PolicyError;

/// Context of a call in all its phases.
pub(super) struct CallContext {
    /// Services that all calls share.
    pub services: Arc<Services>,
    /// Session, if the request named a valid one.
    pub session: Option<SessionId>,
    /// First element of `argv` as received.
    pub word: Option<String>,
    /// Options of the front end.
    pub options: CallOptions,
    /// Principal of the caller, at a front end that authenticates requests.
    pub principal: Option<Principal>,
    /// Cancellation by the client.
    pub cancel: CancellationToken,
    /// Start of the call.
    pub started: Instant,
    /// Policy that was in force at validation; `None` before it, and if the file could not be used then.
    pub policy: Option<Arc<Policy>>,
    /// Host of the URL that the call is about, for the audit line.
    pub host: Option<String>,
}

impl CallContext {
    /// Returns the policy of the call, so that all of the call sees the same one. If the file could not be used at validation,
    /// this is the policy in force now.
    pub(super) fn policy(&self, session: &SessionId) -> Result<Arc<Policy>, PolicyError> {
        let in_force = || self.services.policy.current_for(Some(session));
        self.policy.as_ref().map_or_else(in_force, |policy| Ok(policy.clone()))
    }

    /// Returns the format of `stdout`: that of the front end, or for the tool the one of the policy.
    pub(super) fn output_style(&self) -> OutputStyle {
        let style = self.options.output_style;
        if self.options.profile != Profile::Tool || style != OutputStyle::Data {
            return style;
        }
        let in_force = || self.services.policy.current().unwrap_or_default();
        match self.policy.clone().unwrap_or_else(in_force).output.style {
            AnswerStyle::Data => style,
            AnswerStyle::Text => OutputStyle::Plain { with_code: false },
            AnswerStyle::TextWithCode => OutputStyle::Plain { with_code: true },
        }
    }

    /// Returns the limits of the call's policy, or the default limits if there is none.
    pub(super) fn limits(&self) -> CallLimits {
        self.policy.as_deref().map_or_else(|| Policy::default().limits, |policy| policy.limits)
    }
}

/// A call with valid arguments and a parsed command.
pub(super) struct ValidatedCall {
    /// Session of the call.
    pub session: SessionId,
    /// Timeout: that of the arguments or the default, within the policy's limit.
    pub timeout: Duration,
    /// Command. Steps replace the values that only this program may choose.
    pub command: Command,
    /// File that the command writes.
    pub output_file: Option<OutputFile>,
    /// Guard that keeps Chromium running until the call has ended.
    pub browser_guard: Option<BrowserGuard>,
    /// Id of the browser that runs, if it is known.
    pub browser_instance: Option<String>,
}

/// File that a command writes.
pub(super) struct OutputFile {
    /// Absolute path in the session's folder.
    pub path: PathBuf,
    /// Path in the workspace to which the file is delivered, if the call has one.
    pub destination: Option<String>,
}

impl ValidatedCall {
    /// Returns true if the engine itself waits until the tab is shown: while it looks for an element, or takes a picture.
    pub(super) fn looks_for_element(&self, engine: Engine) -> bool {
        engine == Engine::Cdp && Action::of(&self.command).is_some_and(|action| action.looks_for_element())
    }

    /// Removes the file that the command wrote, as far as it did.
    pub(super) fn remove_output_file(&self) {
        if let Some(file) = &self.output_file
            && let Err(error) = std::fs::remove_file(&file.path)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(error = describe(&error), "cannot remove the file of a command that was refused or failed");
        }
    }

    /// Returns the time that the command may take from now on.
    pub(super) fn remaining_time(&self, context: &CallContext) -> Duration {
        match context.options.timeout_scope {
            TimeoutScope::Command => self.timeout,
            TimeoutScope::Whole => {
                self.timeout.saturating_sub(context.started.elapsed()).max(MIN_COMMAND_TIME.min(self.timeout))
            }
        }
    }
}

/// Record of a run, successful or not.
#[derive(Default)]
pub(super) struct CompletedRun {
    /// Engine of the session, for the audit line.
    pub engine: Option<Engine>,
    /// Sandbox that the command ran in and its enforcement, for the audit line.
    pub sandbox: Option<String>,
    /// Mark by which what pages do belongs to this call.
    pub active: Option<ActiveCall>,
    /// Values that the answer must not contain.
    pub secrets: Secrets,
    /// These values as they were read after all that the answer shows, if the command has read them.
    pub read_secrets: Option<Result<Secrets, SecretsError>>,
    /// Tabs of the session before the command.
    pub tabs: Option<Vec<SeenTab>>,
    /// Lease of the session, if its browser can still be used.
    pub lease: Option<Lease>,
    /// Permit to process the output.
    pub output_permit: OutputPermit,
}

/// A call with its reply, for the steps after the run.
pub(super) struct AnsweredCall {
    /// Context of the call.
    pub context: CallContext,
    /// Validated call, unless validation refused it.
    pub validated: Option<ValidatedCall>,
    /// Run, unless the call was refused before it.
    pub run: Option<CompletedRun>,
    /// Reply, which the steps complete.
    pub reply: CallReply,
}

impl AnsweredCall {
    /// Creates the answer to a call that was refused before its run.
    pub(super) fn refused(context: CallContext, validated: Option<ValidatedCall>, decision: Decision) -> Self {
        Self { context, validated, run: None, reply: CallReply::refused(decision) }
    }

    /// Returns the command, if the call was validated.
    pub(super) fn command(&self) -> Option<&Command> {
        self.validated.as_ref().map(|call| &call.command)
    }

    /// Returns the lease, if the call ran and its session can still be used.
    pub(super) fn lease(&self) -> Option<&Lease> {
        self.run.as_ref()?.lease.as_ref()
    }

    /// Returns the subcommand if it is a known word; anything else is text of the agent.
    pub(super) fn subcommand(&self) -> Option<&'static str> {
        if let Some(command) = self.command() {
            return Some(command.row.name);
        }
        let name = self.context.word.as_deref()?;
        let known = self.context.options.profile.row(name).map(|row| row.name);
        known.or_else(|| FORBIDDEN_SUBCOMMANDS.iter().copied().find(|forbidden| *forbidden == name))
    }

    /// Processes output under the permit of this call.
    pub(super) async fn process<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        match &self.run {
            Some(run) => run.output_permit.run(work).await,
            None => work(),
        }
    }
}

/// Outcome of a call for its front end.
pub(crate) struct FinishedCall {
    /// Reply.
    pub reply: CallReply,
    /// Session, if the request named a valid one.
    pub session: Option<SessionId>,
    /// Subcommand, if it is a known word.
    pub subcommand: Option<&'static str>,
    /// Format of `stdout`.
    pub style: OutputStyle,
}

/// A step before the run.
pub(super) trait BeforeStep: Send + Sync {
    /// Returns the name of the step, for the log.
    fn name(&self) -> &'static str;

    /// Checks or completes a call.
    ///
    /// # Errors
    ///
    /// A refusal. The remaining steps before the run and the run itself are skipped.
    fn before<'a>(
        &'a self,
        context: &'a mut CallContext,
        call: &'a mut ValidatedCall,
    ) -> BoxFuture<'a, Result<(), Decision>>;
}

/// A step after the run or after a refusal.
pub(super) trait AfterStep: Send + Sync {
    /// Checks or completes the reply.
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()>;
}
