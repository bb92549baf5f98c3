//! Validation of a request: types, grammar and timeout.
//!
//! Requirements: 1.1, 1.4.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::call::phases::{CallContext, ValidatedCall};
use crate::call::reply::not_in_engine;
use crate::call::request::{CallOptions, FileTarget, TimeoutScope};
use browser_shell_core::action::Action;
use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::auth::Principal;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::{self, Command, Profile, ValueKind};
use browser_shell_core::policy::{Engine, Policy, SessionAccess};
use browser_shell_core::request::{CallArguments, DEFAULT_TIMEOUT_SEC};
use browser_shell_core::session_id::SessionId;
use browser_shell_system::os::describe;
use browser_shell_system::policy_source::PolicyError;

/// First step of every call.
pub(crate) struct Validate;

impl Validate {
    /// Name of the step, for the log.
    pub(crate) const NAME: &str = "validate";

    /// Parses the arguments into a call, and sets the policy of the context to the one in force.
    ///
    /// # Errors
    ///
    /// The refusal of the front end, of the grammar, of the audit log or of the timeout. If the policy could enable the subcommand but cannot be
    /// read, the error is that of the policy.
    #[expect(clippy::unused_self, reason = "a step is a value in the list of steps")]
    pub(crate) fn validate(
        &self,
        context: &mut CallContext,
        arguments: Result<CallArguments, Decision>,
    ) -> Result<ValidatedCall, Decision> {
        let CallArguments { session, argv, timeout } = arguments?;
        let in_force = context.services.policy.current();
        let session = match &context.principal {
            Some(principal) => session_of(session, principal, session_access(context, &argv, &in_force)?)?,
            None => session,
        };
        // Rules may be for the sessions of a subject, so they are looked up by the session with its owner.
        let policy = in_force.map(|policy| match policy.for_session(Some(&session)) {
            Cow::Borrowed(_) => Arc::clone(&policy),
            Cow::Owned(own) => Arc::new(own),
        });
        let profile = context.options.profile;
        let enabled = |name: &str| policy.as_ref().is_ok_and(|policy| policy.enables_in(profile, name));
        let argv = with_grammar_paths(&context.options, argv);
        let command = match (grammar::parse(profile, &argv, enabled), &policy) {
            (Ok(command), _) => command,
            // The file could enable the subcommand once it is corrected.
            (Err(decision), Err(error)) if is_not_enabled(decision.code) => return Err(error.clone().into()),
            (Err(decision), _) => return Err(decision),
        };
        context.policy = policy.ok();
        if context.policy.as_ref().is_some_and(|policy| policy.audit.require)
            && let Err(error) = context.services.audit.reserve()
        {
            let reason = format!("the audit log cannot be written: {}", describe(&error));
            return Err(Decision::new(Code::AuditUnavailable, reason).at("audit.require"));
        }
        let engine = context.services.sessions.engine(&session, context.policy.as_deref());
        check_engine(engine, &command)?;
        // The orchestrator's own client gets agent-browser's answers.
        if engine == Engine::AgentBrowser
            && profile != Profile::Compat
            && context.services.transport.kind() == AgentBrowser::Native
        {
            command.check_key_of_native()?;
        }
        let max_timeout = context.limits().max_timeout_sec.map_or(Duration::MAX, Duration::from_secs);
        if context.options.timeout_scope == TimeoutScope::Command
            && timeout.is_some_and(|timeout| timeout > max_timeout)
        {
            let reason = format!("the policy allows at most {} seconds", max_timeout.as_secs());
            return Err(Decision::new(Code::TimeoutInvalid, reason).at("timeout_sec"));
        }
        let timeout = timeout.unwrap_or(Duration::from_secs(DEFAULT_TIMEOUT_SEC)).min(max_timeout);
        Ok(ValidatedCall { session, timeout, command, output_file: None, browser_guard: None, browser_instance: None })
    }
}

/// Checks that an engine has the form of a command.
fn check_engine(engine: Engine, command: &Command) -> Result<(), Decision> {
    match engine {
        Engine::Cdp => {
            command.check_key()?;
            let is_answered = Action::of(command).is_some() || command.local_answer().is_some();
            if is_answered { Ok(()) } else { Err(not_in_engine(engine)) }
        }
        Engine::AgentBrowser if command.form.is_of_cdp() || command.waits_for_reference() => Err(not_in_engine(engine)),
        Engine::AgentBrowser => Ok(()),
    }
}

/// Returns to whom the session of a call belongs. A `close` needs no policy in force.
fn session_access(
    context: &CallContext,
    argv: &[String],
    policy: &Result<Arc<Policy>, PolicyError>,
) -> Result<SessionAccess, PolicyError> {
    let is_close = argv.first().is_some_and(|word| word == "close");
    match policy {
        Ok(policy) => Ok(policy.access.sessions),
        Err(error) => context.services.policy.last_sessions().filter(|_| is_close).ok_or_else(|| error.clone()),
    }
}

/// Returns the session that a name means for a principal.
fn session_of(name: SessionId, principal: &Principal, sessions: SessionAccess) -> Result<SessionId, Decision> {
    match (sessions, &principal.subject) {
        (SessionAccess::Any, _) => Ok(name),
        (SessionAccess::Own, Some(subject)) => Ok(name.owned_by(subject.clone())),
        (SessionAccess::Own, None) => {
            let reason = "sessions belong to subjects (`access.sessions`), and the caller has none";
            Err(Decision::new(Code::SubjectMissing, reason))
        }
    }
}

/// Returns true for a refusal that a policy could lift.
const fn is_not_enabled(code: Code) -> bool {
    matches!(code, Code::SubcommandNotEnabled | Code::RuntimeNotEnabled)
}

/// Replaces workspace paths by the form that the grammar accepts, for a subcommand that takes a file.
fn with_grammar_paths(options: &CallOptions, mut argv: Vec<String>) -> Vec<String> {
    let FileTarget::Workspace(workspace) = &options.file_target else { return argv };
    let row = argv.first().and_then(|name| options.profile.row(name));
    let is_file = |kind| matches!(kind, ValueKind::FileName(_));
    let mut positionals = row.into_iter().flat_map(|row| row.forms).flat_map(|form| form.positionals);
    if positionals.any(|positional| is_file(positional.kind)) {
        for element in argv.iter_mut().skip(1) {
            if let Some(path) = workspace.grammar_path(element) {
                *element = path;
            }
        }
    }
    argv
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::call::request::CallRequest;
    use crate::call::testing::TestPipeline;
    use browser_shell_core::auth::{Evidence, Scope, Subject};

    #[tokio::test]
    async fn arguments_are_validated_before_anything_runs() {
        let pipeline = TestPipeline::new(r#"{"limits":{"max_timeout_sec":5},"subcommands":{"enable":["back"]}}"#);
        for (arguments, code) in [
            (json!({"session_id": "s", "argv": ["snapshot"], "x": 1}), Code::ArgumentsInvalid),
            (json!({"session_id": "s", "argv": ["eval", "1"]}), Code::SubcommandForbidden),
            (json!({"session_id": "s", "argv": ["forward"]}), Code::SubcommandNotEnabled),
            (json!({"session_id": "s", "argv": ["back"], "timeout_sec": 6}), Code::TimeoutInvalid),
        ] {
            assert_eq!(pipeline.call(arguments).await.decision.code, code);
        }
        assert!(pipeline.runs().is_empty(), "nothing ran");
        assert_eq!(
            pipeline.call(json!({"session_id": "s", "argv": ["back"], "timeout_sec": 5})).await.decision.code,
            Code::Ok
        );
        assert_eq!(pipeline.runs(), ["back"], "control");
    }

    #[tokio::test]
    async fn wait_for_a_reference_needs_the_engine_cdp() {
        let pipeline = TestPipeline::new("{}");
        let wait = json!({"session_id": "s", "argv": ["wait", "@e1"]});
        let refused = pipeline.call(wait.clone()).await;
        assert_eq!(refused.decision.code, Code::ArgumentInvalid);
        assert!(
            refused.stderr.contains("`agent-browser` of this session lacks this form; `cdp` has it"),
            "{refused:?}"
        );
        assert!(pipeline.runs().is_empty(), "nothing ran");
        pipeline.write_policy(r#"{"engine":"cdp"}"#);
        assert_ne!(pipeline.call(wait).await.decision.code, Code::ArgumentInvalid, "control");
    }

    #[tokio::test]
    async fn refusal_of_a_form_names_the_engine_that_has_it() {
        let enabled = r#""subcommands":{"enable":["scroll","scroll-to","select-text","select-text-words"]}"#;
        for argv in [["scroll", "--to", "bottom"], ["select-text", "@e1", "words"]] {
            let pipeline = TestPipeline::new(&format!("{{{enabled}}}"));
            let call = json!({"session_id": "s", "argv": argv});
            let refused = pipeline.call(call.clone()).await;
            assert_eq!((refused.exit_code, refused.decision.code), (64, Code::ArgumentInvalid), "{argv:?}");
            assert!(refused.stderr.contains("lacks this form; `cdp` has it"), "{argv:?}: {refused:?}");
            assert!(pipeline.runs().is_empty(), "nothing ran");
            pipeline.write_policy(&format!(r#"{{"engine":"cdp",{enabled}}}"#));
            assert_ne!(pipeline.call(call).await.decision.code, Code::ArgumentInvalid, "control: {argv:?}");
        }
    }

    #[tokio::test]
    async fn broken_policy_is_reported_before_session_opens() {
        let pipeline = TestPipeline::new(r#"{"subcommands":{"enable":["back"]},"opne":{}}"#);
        assert_eq!(
            pipeline.call(json!({"session_id": "s", "argv": ["back"]})).await.decision.code,
            Code::PolicyInvalid
        );
        let click = json!({"session_id": "s", "argv": ["click", "@e1"]});
        assert_eq!(
            pipeline.call(click.clone()).await.decision.code,
            Code::PolicyInvalid,
            "the policy is also that of a new session"
        );
        pipeline.write_policy("{}");
        assert_eq!(pipeline.call(click.clone()).await.decision.code, Code::Ok, "control");
        pipeline.write_policy(r#"{"opne":{}}"#);
        assert_eq!(pipeline.call(click).await.decision.code, Code::Ok, "an open session does not read it again");
    }

    #[test]
    fn session_belongs_to_subject_only_where_policy_says_so() {
        let name = || SessionId::new("s").expect("valid");
        let principal = |subject: Option<&str>| Principal {
            subject: subject.map(|text| Subject::new(text).expect("valid")),
            scope: Some(Scope::Drive),
            evidence: Evidence::None,
        };
        let session = |subject, sessions| session_of(name(), &principal(subject), sessions);
        for subject in [None, Some("alice"), Some("bob")] {
            assert_eq!(session(subject, SessionAccess::Any), Ok(name()));
        }
        let alice = session(Some("alice"), SessionAccess::Own).expect("a session");
        assert_eq!(session(Some("alice"), SessionAccess::Own), Ok(alice.clone()), "control");
        assert_ne!(session(Some("bob"), SessionAccess::Own), Ok(alice.clone()));
        assert_ne!(alice, name(), "callers without credentials have other sessions");
        let decision = session(None, SessionAccess::Own).expect_err("refused");
        assert_eq!(decision.code, Code::SubjectMissing);
    }

    #[tokio::test]
    async fn session_of_a_subject_is_closed_without_a_policy() {
        let own = r#"{"access":{"sessions":"own"},"browser":{"isolation":"session"}}"#;
        let call = async |pipeline: &TestPipeline, word: &str| {
            let arguments = json!({"session_id": "s", "argv": [word]});
            let request = CallRequest::of_tool(arguments.as_object().expect("an object"));
            let ada = Principal { subject: Subject::new("ada"), ..Principal::anonymous() };
            pipeline.send(request.of_principal(Some(ada))).await.decision.code
        };
        let pipeline = TestPipeline::new(own);
        assert_ne!(call(&pipeline, "snapshot").await, Code::PolicyInvalid);
        pipeline.write_policy("no policy");
        assert_eq!(call(&pipeline, "snapshot").await, Code::PolicyInvalid, "control");
        assert_ne!(call(&pipeline, "close").await, Code::PolicyInvalid);
        // It is not known whose session the name means.
        assert_eq!(call(&TestPipeline::new("no policy"), "close").await, Code::PolicyInvalid, "no policy before");
    }

    #[tokio::test]
    async fn caller_without_subject_is_refused_where_sessions_have_owners() {
        let own = r#"{"access":{"sessions":"own"},"browser":{"isolation":"session"}}"#;
        let pipeline = TestPipeline::new("{}");
        let arguments = json!({"session_id": "s", "argv": ["snapshot"]});
        let call = || {
            let request = CallRequest::of_tool(arguments.as_object().expect("an object"));
            pipeline.send(request.of_principal(Some(Principal::anonymous())))
        };
        assert_eq!(call().await.decision.code, Code::Ok, "control");
        pipeline.take_runs();
        for (policy, code) in [(own, Code::SubjectMissing), (r#"{"opne":{}}"#, Code::PolicyInvalid)] {
            pipeline.write_policy(policy);
            assert_eq!(call().await.decision.code, code);
        }
        assert!(pipeline.runs().is_empty(), "nothing ran");
    }
}
