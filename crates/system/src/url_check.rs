//! Decision on a URL, with the lookup of its name.

use crate::os::dns::Dns;
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::url::{PageUrl, parse};
use browser_shell_core::policy::{Evaluation, Policy};

/// Returns the decision on a URL as an agent would write it.
pub async fn decide_url(policy: &Policy, dns: &Dns, url: &str) -> Decision {
    match parse(url) {
        Ok(target) => decide_target(policy, dns, &target).await,
        Err(decision) => decision,
    }
}

/// Returns the decision on a target, after a name lookup if the policy needs one.
pub async fn decide_target(policy: &Policy, dns: &Dns, target: &PageUrl) -> Decision {
    let name = match policy.check(target) {
        Evaluation::Decided(decision) => return decision,
        Evaluation::Lookup(name) => name,
    };
    match (dns.lookup(&name).await, target) {
        (Ok(addresses), PageUrl::Web(page)) => policy.check_addresses(page, &addresses),
        (Ok(_), PageUrl::Blank) => Decision::new(Code::UrlMalformed, "the URL has no host"),
        (Err(error), _) => {
            tracing::info!(host = name, %error, "name lookup failed");
            Decision::from(error).about(name)
        }
    }
}
