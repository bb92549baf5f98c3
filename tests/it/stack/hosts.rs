//! The wall's host names without credentials: the names that the operator lists, and no others.
//!
//! `attack.py` has the table of foreign hosts; here are the setting, and walls without the check, in which the attack must find
//! the holes.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use super::{
    super::harness::processes::wait_for,
    base::{LISTED_HOSTS, Stack, StackKind, list},
    request::{HttpResponse, PORT, send_to},
    sharing::acquire,
};

/// The file that nginx includes.
const HOSTS: &str = "/opt/gem/browser-shell/hosts.conf";

fn call(host: &str, headers: &[&str]) -> HttpResponse {
    let headers: Vec<&str> = ["Content-Type: application/json"].into_iter().chain(headers.iter().copied()).collect();
    send_to(host, PORT, "POST /mcp", &headers, &list())
}

// Requirement 3.3.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn wall_serves_names_that_operator_lists() {
    let stack = acquire(StackKind::OpenExclusive);
    let _exclusive = stack.browser();
    assert!(LISTED_HOSTS.contains("default"), "a name that means something in nginx's configuration");
    for host in ["listed.example", "LISTED.example:80", "only.example:8443", "default", "localhost", "10.1.2.3:8080"] {
        assert_eq!(call(host, &[]).status, 200, "{host}");
        assert_eq!(call(host, &[&format!("Origin: https://{host}")]).status, 200, "{host}");
        assert_eq!(send_to(host, PORT, "GET /vnc/", &[], "").status, 200, "{host}");
        assert_eq!(call(host, &["Origin: http://evil.example"]).status, 403, "{host}");
    }
    for host in ["only.example", "only.example:80", "listed.example.", "a.listed.example", "listedxexample", "defaults"]
    {
        assert_eq!(call(host, &[]).status, 403, "{host}");
        assert_eq!(call(host, &[&format!("Origin: http://{host}")]).status, 403, "{host}");
        assert_eq!(send_to(host, PORT, "GET /vnc/core/rfb.js", &[], "").status, 403, "{host}");
    }
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn invalid_host_names_fail_and_change_nothing() {
    let stack = acquire(StackKind::OpenExclusive);
    let _exclusive = stack.browser();
    let before = fs::read_to_string(stack.file(HOSTS)).unwrap();
    let write = |value: &str| {
        let variable = format!("BROWSER_SHELL_ALLOW_HOST={value}");
        stack.inside().args(["env", &variable, "/opt/browser-shell/hosts"]).output().unwrap()
    };
    for value in [
        "",
        " ",
        ",",
        "a.example,",
        ",a.example",
        "a.example, b.example",
        "a b",
        "a.example:",
        "a.example:x",
        ":80",
        "a.example:65536",
        "http://a.example",
        "a.example/mcp",
        "*",
        ".*",
        "a$b",
        "a\"b",
        "a;b",
        "a{b",
        "a\nb",
        "[::1",
        "8080-a.example",
    ] {
        let output = write(value);
        assert!(!output.status.success(), "{value:?}: {output:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("BROWSER_SHELL_ALLOW_HOST: `"), "{value:?}: {message}");
        assert_eq!(fs::read_to_string(stack.file(HOSTS)).unwrap(), before, "{value:?}");
    }
    // Controls: these are written, nginx can read them, and the same list gives the same file.
    let output = write("a.example,[2001:db8::1]:80,[::ffff:192.0.2.1],A_b-c.example:65535");
    assert!(output.status.success(), "{output:?}");
    assert_ne!(fs::read_to_string(stack.file(HOSTS)).unwrap(), before);
    let output = stack.inside().args(["/usr/sbin/nginx", "-t", "-q", "-c", "/opt/gem/nginx.conf"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(write(LISTED_HOSTS).status.success());
    assert_eq!(fs::read_to_string(stack.file(HOSTS)).unwrap(), before);
}

/// Replaces nginx's rendered configuration and waits until a host gets another status.
fn reload(stack: &Stack, text: &str, host: &str, status: u16) {
    fs::write(stack.file("/opt/gem/nginx-server-active.conf"), text).unwrap();
    let output =
        stack.inside().args(["/usr/sbin/nginx", "-c", "/opt/gem/nginx.conf", "-s", "reload"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    wait_for("the new configuration", || (call(host, &[]).status == status).then_some(()));
}

/// Returns the groups of the rows that the attack reports.
fn attack() -> Vec<String> {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/aio-base/attack.py"));
    command.args([&format!("http://127.0.0.1:{PORT}"), "--json", "--auth", "off", "--random", "0"]);
    command.env_remove("ATTACK_TOKEN").env_remove("ATTACK_API_KEY");
    let output = command.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no report: {output:?}"));
    let bad = report["rows"].as_array().unwrap().iter().filter(|row| row["verdict"] == "BAD");
    let mut groups: Vec<String> = bad.map(|row| row["group"].as_str().unwrap().to_owned()).collect();
    groups.dedup();
    groups
}

// Requirement 3.3.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn attack_script_finds_walls_open_to_rebinding() {
    let stack = acquire(StackKind::OpenExclusive);
    let _exclusive = stack.browser();
    let right = fs::read_to_string(stack.file("/opt/gem/nginx-server-active.conf")).unwrap();
    let without = |texts: &[&str]| {
        let lines = right.lines().filter(|line| !texts.iter().any(|text| line.contains(text)));
        lines.collect::<Vec<_>>().join("\n")
    };
    let (check, origins) = ("$wall_own_host", "/origins.conf");
    assert_ne!(without(&[check]), right.trim_end());
    assert_eq!(attack(), [""; 0], "control: the real wall");

    reload(&stack, &without(&[check, origins]), "evil.example", 200);
    let found = attack();
    assert!(found.contains(&"hosts that a page can take over".to_owned()), "{found:?}");
    reload(&stack, &right, "evil.example", 403);
    assert_eq!(attack(), [""; 0], "the real wall again");
}

// Requirement 3.3.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn wall_refuses_second_origin_header() {
    let stack = acquire(StackKind::Open);
    let own = format!("127.0.0.1:{PORT}");
    let origin = format!("Origin: http://{own}");
    assert_eq!(call(&own, &[&origin]).status, 200, "control");
    for second in ["Origin: http://evil.example", &origin, "Origin: null", "Origin:", "origin: https://127.0.0.1"] {
        assert_eq!(call(&own, &[&origin, second]).status, 403, "{second}");
        assert_eq!(call(&own, &[second, &origin]).status, 403, "{second}, reversed");
    }
    drop(stack);
}
