//! Step: types, grammar, time-out (spec [1.1], [1.4]).

use std::time::Duration;

use futures::future::BoxFuture;

use super::{Budget, Call, Files, Step, Terms};
use crate::argv;
use crate::argv::table::Kind;
use crate::decision::{Code, Decision};
use crate::request::Request;

/// Reads the arguments into a request and its command.
pub(super) struct Validate;

impl Step for Validate {
    fn name(&self) -> &'static str {
        "validate"
    }

    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<(), Decision>> {
        Box::pin(std::future::ready(validate(call)))
    }
}

fn validate(call: &mut Call) -> Result<(), Decision> {
    let unread = || Err(Decision::new(Code::ArgumentsInvalid, "the request was read before"));
    let request = call.ask.request.take().unwrap_or_else(unread)?;
    let policy = call.context.policy.current();
    let dialect = call.ask.terms.dialect;
    let enabled = |name: &str| policy.as_ref().is_ok_and(|policy| policy.enables_in(dialect, name));
    let request = Request { argv: spoken(&call.ask.terms, request.argv), ..request };
    let parsed = if call.context.transport.can_pass_the_cli() {
        argv::parse_for_daemon(dialect, &request.argv, enabled)
    } else {
        argv::parse(dialect, &request.argv, enabled)
    };
    let command = match (parsed, &policy) {
        (Ok(command), _) => command,
        // Whether the file enables it is not known until the file is corrected.
        (Err(decision), Err(error)) if is_not_enabled(decision.code) => return Err(error.clone().into()),
        (Err(decision), _) => return Err(decision),
    };
    let policy = policy.ok();
    call.policy.clone_from(&policy);
    let most = policy.as_ref().and_then(|policy| policy.limits.max_timeout_sec);
    if let Some(most) = most
        && call.ask.terms.budget == Budget::Command
        && request.timeout.is_some_and(|timeout| timeout > Duration::from_secs(most))
    {
        let reason = format!("the policy allows at most {most} seconds");
        return Err(Decision::new(Code::TimeoutInvalid, reason).at("timeout_sec"));
    }
    call.request = Some(request);
    call.command = Some(command);
    Ok(())
}

/// Whether a refusal is one that a policy file could lift.
const fn is_not_enabled(code: Code) -> bool {
    matches!(code, Code::SubcommandNotEnabled | Code::RuntimeNotEnabled)
}

/// The elements with paths below the workspace as the grammar knows them, for a subcommand that takes one.
fn spoken(terms: &Terms, mut argv: Vec<String>) -> Vec<String> {
    let Files::Workspace(workspace) = &terms.files else { return argv };
    let row = argv.first().and_then(|name| terms.dialect.row(name));
    let is_file = |kind| matches!(kind, Kind::FileName(_));
    let mut positionals = row.into_iter().flat_map(|row| row.forms).flat_map(|form| form.positionals);
    if positionals.any(|positional| is_file(positional.kind)) {
        for element in argv.iter_mut().skip(1) {
            if let Some(path) = workspace.as_spoken(element) {
                *element = path;
            }
        }
    }
    argv
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use crate::decision::Code;
    use serde_json::json;

    #[tokio::test]
    async fn arguments_are_checked_before_anything_runs() {
        let bench = Bench::new(r#"{"limits":{"max_timeout_sec":5},"subcommands":{"enable":["back"]}}"#);
        for (arguments, code) in [
            (json!({"session_id": "s", "argv": ["snapshot"], "x": 1}), Code::ArgumentsInvalid),
            (json!({"session_id": "s", "argv": ["eval", "1"]}), Code::SubcommandForbidden),
            (json!({"session_id": "s", "argv": ["forward"]}), Code::SubcommandNotEnabled),
            (json!({"session_id": "s", "argv": ["back"], "timeout_sec": 6}), Code::TimeoutInvalid),
        ] {
            assert_eq!(bench.call(arguments).await.decision.code, code);
        }
        assert!(bench.runs().is_empty(), "nothing ran");
        assert_eq!(
            bench.call(json!({"session_id": "s", "argv": ["back"], "timeout_sec": 5})).await.decision.code,
            Code::Ok
        );
        assert_eq!(bench.runs(), ["back"], "control");
    }

    #[tokio::test]
    async fn with_a_broken_policy_an_optional_subcommand_says_what_is_wrong() {
        let bench = Bench::new(r#"{"subcommands":{"enable":["back"]},"opne":{}}"#);
        assert_eq!(bench.call(json!({"session_id": "s", "argv": ["back"]})).await.decision.code, Code::PolicyInvalid);
        let click = json!({"session_id": "s", "argv": ["click", "@e1"]});
        assert_eq!(
            bench.call(click.clone()).await.decision.code,
            Code::PolicyInvalid,
            "it also says what keeps a session in"
        );
        bench.write_policy("{}");
        assert_eq!(bench.call(click.clone()).await.decision.code, Code::Ok, "control");
        bench.write_policy(r#"{"opne":{}}"#);
        assert_eq!(bench.call(click).await.decision.code, Code::Ok, "a session that is open needs it no more");
    }
}
