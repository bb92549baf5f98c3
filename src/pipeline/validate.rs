//! Step: types, grammar, time-out (spec [1.1], [1.4]).

use std::time::Duration;

use futures::future::BoxFuture;

use super::{Call, Step};
use crate::argv;
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
    let request = Request::from_arguments(&call.arguments)?;
    // A policy that is not usable enables nothing; what it refuses is said by the step that needs it.
    call.policy = call.context.policy.current().ok();
    let policy = call.policy.clone();
    let command = argv::parse(&request.argv, |name| policy.as_deref().is_some_and(|policy| policy.enables(name)))?;
    if let (Some(policy), Some(timeout)) = (&policy, request.timeout) {
        let most = policy.limits.max_timeout_sec;
        if timeout > Duration::from_secs(most) {
            let reason = format!("the policy allows at most {most} seconds");
            return Err(Decision::new(Code::TimeoutInvalid, reason).at("timeout_sec"));
        }
    }
    call.request = Some(request);
    call.command = Some(command);
    Ok(())
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
}
