//! Step: the URL policy before a page is opened (spec section 2).

use futures::future::BoxFuture;

use super::{Call, Step};
use crate::argv::table::Kind;
use crate::decision::{Code, Decision};
use crate::dns::Dns;
use crate::policy::url::{Target, parse};
use crate::policy::{Policy, Verdict};

/// Decides about the URL of a command that has one and puts the checked form in its place.
pub(super) struct CheckUrl;

impl Step for CheckUrl {
    fn name(&self) -> &'static str {
        "check-url"
    }

    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<(), Decision>> {
        Box::pin(async move {
            let Some(url) =
                call.command.as_ref().and_then(|command| command.value(|kind| kind == Kind::Url)).map(str::to_owned)
            else {
                return Ok(());
            };
            let policy = call.policy()?;
            let target = parse(&url)?;
            let decision = decide(&policy, &call.context.dns, &target).await;
            call.host.clone_from(&decision.host);
            if !decision.is_allowed() {
                return Err(decision);
            }
            if let Some(command) = &mut call.command {
                command.put("URL", Kind::Url, target.as_str().to_owned());
            }
            Ok(())
        })
    }
}

/// Decides about a URL as an agent would write it.
pub async fn decide_url(policy: &Policy, dns: &Dns, url: &str) -> Decision {
    match parse(url) {
        Ok(target) => decide(policy, dns, &target).await,
        Err(decision) => decision,
    }
}

/// Decides about a target, with a lookup where the policy needs one.
async fn decide(policy: &Policy, dns: &Dns, target: &Target) -> Decision {
    let name = match policy.check(target) {
        Verdict::Decided(decision) => return decision,
        Verdict::Lookup(name) => name,
    };
    match (dns.lookup(&name).await, target) {
        (Ok(addresses), Target::Page(page)) => policy.check_addresses(page, &addresses),
        (Ok(_), Target::Blank) => Decision::new(Code::UrlMalformed, "the URL has no host"),
        (Err(error), _) => {
            tracing::info!(host = name, %error, "lookup");
            Decision::from(error).about(name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use crate::decision::Code;
    use serde_json::json;

    #[tokio::test]
    async fn a_refused_url_does_not_reach_the_browser() {
        let bench = Bench::new("{}");
        for (url, code) in [
            ("http://127.0.0.1:8091/", Code::AddressNotPublic),
            ("file:///etc/passwd", Code::SchemeNotAllowed),
            ("http://private.test/", Code::AddressNotPublic),
            ("http://mixed.test/", Code::AddressNotPublic),
            ("http://unknown.test/", Code::NameLookupFailed),
        ] {
            let reply = bench.call(json!({"session_id": "s", "argv": ["open", url]})).await;
            assert_eq!((reply.decision.code, reply.exit_code), (code, 77), "{url}");
        }
        assert!(bench.runs().is_empty());
        let reply = bench.call(json!({"session_id": "s", "argv": ["open", "PUBLIC.test"]})).await;
        assert_eq!(reply.decision.code, Code::Ok);
        assert_eq!(bench.runs(), ["open https://public.test/"], "control, and the browser gets the checked form");
    }

    #[tokio::test]
    async fn spec_2_1_a_broken_policy_refuses_every_open_and_says_why() {
        let bench = Bench::new(r#"{"open":{"allow_hostz":[]}}"#);
        let reply = bench.call(json!({"session_id": "s", "argv": ["open", "https://93.184.215.14/"]})).await;
        assert_eq!(reply.exit_code, 77);
        assert!(reply.stderr.starts_with("policy-invalid at open.allow_hostz: "), "{}", reply.stderr);
        bench.write_policy("{}");
        let reply = bench.call(json!({"session_id": "s", "argv": ["open", "https://93.184.215.14/"]})).await;
        assert_eq!(reply.exit_code, 0, "control: corrected, without a restart");
    }
}
