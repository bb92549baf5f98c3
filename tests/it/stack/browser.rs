//! The image's Chromium: the base starts it, and `rootfs/opt/browser-shell/browser` sets rules for it.

use std::{collections::BTreeMap, fs, process::Output};

use serde_json::json;

use super::{
    base::{Stack, StackKind},
    request::send,
    sharing::acquire,
};

const GEM: u32 = 1_000;

/// A Chromium of the base that is bash, so that it can try what a compromised browser would.
const PROGRAM: &str = "/usr/local/bin/chrome";
const PROFILE: &str = "--user-data-dir=/home/gem/.config/attempts";

/// The cookie file of the display, as in image.env.
const AUTHORITY: &str = "XAUTHORITY=/run/browser-shell-display/authority";

/// Attempts, each printed with its result, which is a refusal for those with `-`.
const ATTEMPTS: &str = r#"
profile=/home/gem/.config/attempts
try() { local name=$1; shift; if ("$@") >/dev/null 2>&1; then echo "$name: ok"; else echo "$name: refused"; fi; }
write() { echo x >>"$1"; }
connect() { exec 5<>"/dev/tcp/127.0.0.1/$1"; }
try '+write the profile' write "$profile/written"
try '+write a temporary file' write "$TMPDIR/written"
try '+read a library' cat /usr/bin/env
try '+read the managed policy' cat /etc/browser/policies/managed/zz-browser-shell.json
try '+read the cookie of the display' cat /run/browser-shell-display/authority
try '+connect to the egress guard' connect 8119
try '-connect to the base' connect 8091
try '-connect to the tool' connect 8079
try '-connect to the debugging port' connect 9223
try '-write a startup file' write /home/gem/.profile
try '-write into the first folder of PATH' write /home/gem/.npm-global/bin/cat
try '-read a file of the person' cat /home/gem/notes.txt
try '-read the policy' cat /etc/agent-browser/browser-shell.policy.json
try '-write for everyone' write /tmp/planted
"#;

fn attempt(stack: &Stack, program: &str) -> BTreeMap<String, String> {
    let run = ["env", "HOME=/home/gem", "TMPDIR=/tmp", AUTHORITY, program, "-c", ATTEMPTS, PROFILE];
    let output = stack.inside_as(GEM, &run);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let results: BTreeMap<String, String> = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, result)| (name.into(), result.into()))
        .collect();
    assert_eq!(results.len(), ATTEMPTS.matches("\ntry '").count(), "{output:?}");
    results
}

// Requirement 5.1.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn chromium_of_base_gets_rules_and_ports_of_its_own() {
    let stack = acquire(StackKind::Open);
    assert_eq!(send(9223, "GET /json/version", &[], "").status, 200, "control");
    let find = "for p in /proc/[0-9]*; do grep -qz -- '^--remote-debugging-port=' $p/cmdline 2>/dev/null && \
                ! grep -qz -- '^--type=' $p/cmdline && grep -H -E 'NoNewPrivs|Seccomp_filters' $p/status; done; true";
    let found = stack.inside_as(GEM, &["bash", "-c", find]);
    let text = String::from_utf8_lossy(&found.stdout).replace('\t', " ");
    assert!(text.contains("NoNewPrivs: 1") && !text.contains("NoNewPrivs: 0"), "{found:?}");
    assert!(text.contains("Seccomp_filters: 1") && !text.contains("Seccomp_filters: 0"), "{found:?}");
}

// Requirement 5.1.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn replaced_browser_uses_only_its_files_and_ports() {
    let stack = acquire(StackKind::OpenExclusive);
    let _exclusive = stack.browser();
    stack.write_policy(&json!({}));
    let run = |arguments: &[&str]| -> Output {
        stack.inside().arg("/opt/browser-shell/browser").args(arguments).output().unwrap()
    };
    assert!(run(&["--check"]).status.success(), "control");
    let unconfined = format!("{PROGRAM}.unconfined");
    fs::copy("/bin/bash", stack.file(PROGRAM)).unwrap();
    let found = run(&["--check"]);
    assert!(!found.status.success() && String::from_utf8_lossy(&found.stderr).contains(PROGRAM), "{found:?}");
    let replaced = run(&[]);
    assert!(replaced.status.success() && run(&["--check"]).status.success(), "{replaced:?}");
    assert!(!String::from_utf8_lossy(&run(&[]).stderr).contains("replaced"), "it must be done once");
    let prepare = "mkdir -p /home/gem/.npm-global/bin; echo private >/home/gem/notes.txt";
    assert!(stack.inside_as(GEM, &["sh", "-c", prepare]).status.success());

    let inside = attempt(&stack, PROGRAM);
    for (name, result) in &inside {
        let expected = if name.starts_with('+') { "ok" } else { "refused" };
        assert_eq!(result, expected, "{name}: {inside:#?}");
    }
    let outside = attempt(&stack, &unconfined);
    for (name, result) in &outside {
        assert_eq!(result, "ok", "control, {name}: {outside:#?}");
    }
    let clean =
        "rm -f /home/gem/.npm-global/bin/cat /home/gem/notes.txt /tmp/planted; rm -rf /home/gem/.config/attempts";
    assert!(stack.inside_as(GEM, &["sh", "-c", clean]).status.success());
    for path in [PROGRAM, &unconfined] {
        fs::remove_file(stack.file(path)).unwrap();
    }
}
