//! URL policy before a page is opened.

use futures::future::BoxFuture;

use crate::call::phases::{CallContext, ValidatedCall};
use crate::call::step::BeforeStep;
use browser_shell_core::decision::Decision;
use browser_shell_core::grammar::ValueKind;
use browser_shell_core::policy::url::parse;
use browser_shell_system::url_check::decide_target;

/// Step that checks the URL of a command and replaces it by the normalized form that was checked.
pub(crate) struct CheckUrl;

impl BeforeStep for CheckUrl {
    fn name(&self) -> &'static str {
        "check-url"
    }

    fn before<'a>(
        &'a self,
        context: &'a mut CallContext,
        call: &'a mut ValidatedCall,
    ) -> BoxFuture<'a, Result<(), Decision>> {
        Box::pin(async move {
            let Some(url) = call.command.value(|kind| kind == ValueKind::Url) else { return Ok(()) };
            let policy = context.policy(&call.session)?;
            let target = parse(url)?;
            let policy = policy.for_session(context.session.as_ref());
            let decision = decide_target(&policy, &context.services.dns, &target).await;
            context.host.clone_from(&decision.host);
            if !decision.is_allowed() {
                return Err(decision);
            }
            call.command.set_value("URL", ValueKind::Url, target.as_str().to_owned());
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::call::testing::TestPipeline;
    use browser_shell_core::decision::Code;
    use serde_json::json;

    #[tokio::test]
    async fn rules_of_a_session_apply_to_its_calls() {
        let pipeline = TestPipeline::new(
            r#"{"open":{"allow_hosts":["8.8.8.8"]},"sessions":[{"match":"u1-*","open":{"allow_hosts":["9.9.9.9"]}}]}"#,
        );
        for (session, url, code) in [
            ("s", "http://8.8.8.8/", 0),
            ("s", "http://9.9.9.9/", 77),
            ("u1-a", "http://8.8.8.8/", 77),
            ("u1-a", "http://9.9.9.9/", 0),
        ] {
            let reply = pipeline.call(json!({"session_id": session, "argv": ["open", url]})).await;
            assert_eq!(reply.exit_code, code, "{session} {url}: {}", reply.stderr);
        }
    }

    #[tokio::test]
    async fn refused_url_does_not_reach_browser() {
        let pipeline = TestPipeline::new("{}");
        for (url, code) in [
            ("http://127.0.0.1:8091/", Code::AddressNotPublic),
            ("file:///etc/passwd", Code::SchemeNotAllowed),
            ("http://private.test/", Code::AddressNotPublic),
            ("http://mixed.test/", Code::AddressNotPublic),
            ("http://unknown.test/", Code::NameLookupFailed),
        ] {
            let reply = pipeline.call(json!({"session_id": "s", "argv": ["open", url]})).await;
            assert_eq!((reply.decision.code, reply.exit_code), (code, 77), "{url}");
        }
        assert!(pipeline.runs().is_empty());
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["open", "PUBLIC.test"]})).await;
        assert_eq!(reply.decision.code, Code::Ok);
        assert_eq!(pipeline.runs(), ["open https://public.test/"], "control: the browser receives the checked form");
    }

    // Requirement 2.1.
    #[tokio::test]
    async fn broken_policy_refuses_every_open_with_reason() {
        let pipeline = TestPipeline::new(r#"{"open":{"allow_hostz":[]}}"#);
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["open", "https://93.184.215.14/"]})).await;
        assert_eq!(reply.exit_code, 77);
        assert!(reply.stderr.starts_with("policy-invalid at open.allow_hostz: "), "{}", reply.stderr);
        pipeline.write_policy("{}");
        let reply = pipeline.call(json!({"session_id": "s", "argv": ["open", "https://93.184.215.14/"]})).await;
        assert_eq!(reply.exit_code, 0, "control: corrected without a restart");
    }
}
