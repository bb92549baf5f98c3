//! Variables by which other programs find a proxy.

use crate::cli::own_browser::error::OwnBrowserError;
use browser_shell_core::policy::Policy;

/// Variables by which HTTP clients find a proxy.
const PROXY_VARIABLES: &[&str] = &["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Checks that the environment names no proxy which pages would pass, unless the policy has one.
///
/// # Errors
///
/// Returns an error with the name of the variable.
pub(in crate::cli) fn check_proxies(
    policy: &Policy,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), OwnBrowserError> {
    let set = PROXY_VARIABLES.iter().find(|name| variable(name).is_some_and(|value| !value.is_empty()));
    match (set, &policy.egress.upstream) {
        (Some(name), None) => Err(OwnBrowserError::Proxy(name)),
        (Some(name), Some(_)) => {
            tracing::info!(
                variable = name,
                "pages use the proxy of the policy's `egress.upstream`, not that of the environment"
            );
            Ok(())
        }
        (None, _) => Ok(()),
    }
}
