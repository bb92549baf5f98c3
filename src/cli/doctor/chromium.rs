//! Checks of the control gate's way to Chromium, and of the rules that Chromium runs under.

use std::time::Duration;

use crate::cli::doctor::check::Check;
use browser_shell_browser::launch::{missing, runs_under_rules};
use browser_shell_cdp::protocol::browser::{GetVersion, Version};
use browser_shell_core::policy::Isolation;
use browser_shell_system::config::Settings;
use browser_shell_system::confinement::kernel::KernelFeatures;
use browser_shell_system::policy_source::PolicySource;

const GATE: &str = "control gate";

const RULES: &str = "launch rules";

/// Timeout for Chromium to answer the gate.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks that the gate can connect to Chromium, as it does for the first session.
pub(super) async fn control_gate(port: u16, policy: &PolicySource) -> Check {
    let asking = async {
        let connection = browser_shell_cdp::over_port(port).await.map_err(|error| error.to_string())?;
        let version = connection.send(None, &GetVersion {}).await;
        connection.close();
        version.map_err(|error| error.to_string())
    };
    let answered = tokio::time::timeout(ANSWER_TIMEOUT, asking).await;
    let answered = answered.unwrap_or_else(|_| Err(format!("127.0.0.1:{port} does not answer in time")));
    // An invalid file has a check of its own.
    let isolation = policy.current().ok().and_then(|policy| policy.browser.isolation).unwrap_or(Isolation::Shared);
    gate_report(answered, port, isolation)
}

fn gate_report(answered: Result<Version, String>, port: u16, isolation: Isolation) -> Check {
    let version = match answered {
        Ok(version) => version,
        Err(error) => {
            let found = format!("no session gets tabs: {error}");
            let fix = format!("start Chromium with --remote-debugging-port={port}, or give its port with --cdp-port");
            return Check::failed(GATE, found, fix);
        }
    };
    let Version { product, protocol_version: protocol, .. } = version;
    let sessions = match isolation {
        Isolation::Session => "each session has tabs and cookies of its own",
        Isolation::Shared => "all sessions have the same tabs and cookies",
    };
    let found = format!("connects to {product}, protocol {protocol}, on 127.0.0.1:{port}; {sessions}");
    Check::passed(GATE, found)
}

/// Checks the rules that the Chromium of this machine runs under.
pub(super) fn launch_rules(settings: &Settings) -> Check {
    rules_report(KernelFeatures::detect(), runs_under_rules(settings.cdp_port), settings.cdp_port)
}

fn rules_report(kernel: KernelFeatures, has_rules: Option<bool>, port: u16) -> Check {
    let lacks = missing(kernel).join("; no ");
    let landlock = match kernel.landlock {
        0 => "no Landlock".to_owned(),
        version => format!("Landlock ABI {version}"),
    };
    let filter = if kernel.seccomp { "seccomp" } else { "no seccomp" };
    let has = format!("this kernel has {landlock} and {filter}");
    match has_rules {
        Some(true) if lacks.is_empty() => {
            Check::passed(RULES, format!("Chromium runs with rules for files, ports and system calls; {has}"))
        }
        Some(true) => Check::warned(
            RULES,
            format!("Chromium runs with the rules that the kernel has; {has}; no {lacks}"),
            "use Linux 6.7 or newer with Landlock and seccomp",
        ),
        Some(false) => Check::warned(
            RULES,
            format!("Chromium runs without them: it may use all files of its user; {has}"),
            "in the image, start Chromium by the program that /opt/browser-shell/browser put in its place; \
             `browser-shell runtime` starts its own with rules",
        ),
        None => Check::warned(
            RULES,
            format!("no process with --remote-debugging-port={port} is visible; {has}"),
            "start Chromium, and run this in its container",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::Severity;

    #[test]
    fn gate_that_cannot_connect_is_bad() {
        let member = |text: &str| text.to_owned();
        let version = Version {
            protocol_version: member("1.3"),
            product: member("Chrome/150.0"),
            revision: String::new(),
            user_agent: String::new(),
            js_version: String::new(),
        };
        let found = gate_report(Ok(version), 9223, Isolation::Session);
        assert_eq!(found.level, Severity::Ok);
        insta::assert_snapshot!(found.found, @"connects to Chrome/150.0, protocol 1.3, on 127.0.0.1:9223; each session has tabs and cookies of its own");
        let found = gate_report(Err("127.0.0.1:9223 does not answer".to_owned()), 9223, Isolation::Shared);
        assert_eq!(found.level, Severity::Bad);
        assert!(found.fix.is_some_and(|fix| fix.contains("--remote-debugging-port=9223")));
    }

    #[test]
    fn chromium_without_all_launch_rules_is_a_warning() {
        let whole = KernelFeatures { landlock: 6, seccomp: true };
        for (kernel, has_rules, level) in [
            (whole, Some(true), Severity::Ok),
            (whole, Some(false), Severity::Warn),
            (whole, None, Severity::Warn),
            (KernelFeatures { landlock: 3, seccomp: true }, Some(true), Severity::Warn),
            (KernelFeatures { landlock: 0, seccomp: false }, Some(true), Severity::Warn),
        ] {
            assert_eq!(rules_report(kernel, has_rules, 9222).level, level, "{kernel:?} {has_rules:?}");
        }
        let found = rules_report(KernelFeatures { landlock: 3, seccomp: true }, Some(true), 9222).found;
        assert!(found.contains("Landlock ABI 3") && found.contains("no rules for TCP"), "{found}");
    }
}
