//! Check of the egress guard, and that the browser uses it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use crate::cli::doctor::check::Check;
use browser_shell_cdp::DebuggedBrowser;
use browser_shell_core::policy::{EgressMode, EgressRules};
use browser_shell_egress::Status;
use browser_shell_system::policy_source::PolicySource;

const NAME: &str = "egress guard";

/// Default address of the guard.
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8119);

/// Returns the flags of Chromium that send every connection to the guard at `address`.
fn proxy_flags(address: SocketAddr) -> [String; 2] {
    [format!("--proxy-server=http://{address}"), "--proxy-bypass-list=<-loopback>".to_owned()]
}

/// Returns the reason why the operator expects a guard: its address was given, or the policy file has rules for it.
fn expectation(address: Option<SocketAddr>, policy: &PolicySource) -> Option<&'static str> {
    if address.is_some() {
        return Some("its address is set");
    }
    let policy = policy.current().ok()?;
    (policy.egress != EgressRules::default()).then_some("the policy file has rules for it in `egress`")
}

/// Checks the guard and the browser's flags. A proxy in the browser's managed policy is not visible here.
pub(super) async fn check(address: Option<SocketAddr>, cdp_port: u16, policy: &PolicySource) -> Check {
    let expectation = expectation(address, policy);
    let address = address.unwrap_or(DEFAULT_ADDRESS);
    let flags = DebuggedBrowser::new(cdp_port).flags().await.ok();
    let is_used = flags.map(|flags| proxy_flags(address).iter().all(|flag| flags.contains(flag.as_str())));
    let status = browser_shell_egress::query_status(address).await;
    report(status, is_used, address, expectation, policy.path())
}

/// Returns the check for a state of the guard.
///
/// A guard that runs in the mode `off`, or that the browser may not use, is a warning. So is a missing one, unless it is
/// expected: then it is an error, because pages can connect where the operator forbade it.
fn report(
    status: Status,
    is_used: Option<bool>,
    address: SocketAddr,
    expectation: Option<&str>,
    policy: &Path,
) -> Check {
    match (status, is_used) {
        (Status::Running(mode), Some(true)) if mode == EgressMode::Off.as_str() => Check::warned(
            NAME,
            format!("{mode}, on {address}; pages can connect to every address except this machine's own"),
            "set egress.mode in the policy file to `public` or `allowlist`",
        ),
        (Status::Running(mode), Some(true)) => {
            Check::passed(NAME, format!("{mode}, on {address}; the browser was started with it"))
        }
        (Status::Running(mode), None) => Check::warned(
            NAME,
            format!("{mode}, on {address}; the browser does not say whether it uses the guard"),
            "start the browser, then run this again",
        ),
        (Status::Running(mode), Some(false)) => Check::failed(
            NAME,
            format!("{mode}, on {address}, but the browser was not started with it"),
            format!(
                "start Chromium with --proxy-server=http://{address} '--proxy-bypass-list=<-loopback>' \
                 --webrtc-ip-handling-policy=disable_non_proxied_udp \
                 '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {}' --disable-features=WebRtcHideLocalIpsWithMdns",
                address.ip()
            ),
        ),
        (Status::PolicyInvalid, _) => Check::failed(
            NAME,
            format!("on {address}, every connection is refused because the policy file is missing or invalid"),
            format!("run `browser-shell policy check {}` and correct the file", policy.display()),
        ),
        (Status::Absent, Some(true)) => Check::failed(
            NAME,
            format!("nothing answers on {address}, so the browser cannot connect to anything"),
            "start `browser-shell egress`",
        ),
        (Status::Absent, _) => {
            let found =
                format!("off: no guard on {address}, so pages can connect to everything that the browser can reach");
            let fix = "start `browser-shell egress`, and Chromium with the flags of `browser-shell egress --help`";
            match expectation {
                Some(reason) => Check::failed(NAME, format!("{found}; it is expected, since {reason}"), fix),
                None => Check::warned(NAME, found, fix),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::Severity;

    #[test]
    fn only_a_guard_in_use_and_in_force_is_ok() {
        let level = |status: Status, is_used, expectation| {
            report(status, is_used, DEFAULT_ADDRESS, expectation, Path::new("p.json")).level
        };
        let running = |mode: &str| Status::Running(mode.to_owned());
        for (status, is_used, expectation, expected) in [
            (running("public"), Some(true), None, Severity::Ok),
            (running("allowlist"), Some(true), Some("set"), Severity::Ok),
            (running("off"), Some(true), None, Severity::Warn),
            (running("public"), None, None, Severity::Warn),
            (running("public"), Some(false), None, Severity::Bad),
            (Status::PolicyInvalid, Some(true), None, Severity::Bad),
            (Status::Absent, Some(true), None, Severity::Bad),
            (Status::Absent, Some(false), None, Severity::Warn),
            (Status::Absent, None, None, Severity::Warn),
            (Status::Absent, Some(false), Some("set"), Severity::Bad),
            (Status::Absent, None, Some("set"), Severity::Bad),
        ] {
            assert_eq!(level(status.clone(), is_used, expectation), expected, "{status:?} {is_used:?} {expectation:?}");
        }
    }

    #[test]
    fn default_address_is_that_of_the_guard() {
        assert_eq!(DEFAULT_ADDRESS.to_string(), browser_shell_egress::DEFAULT_ADDRESS);
    }
}
