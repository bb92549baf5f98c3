//! The wall from outside: every row of `attack.py`, the holes that it must find, and the contents of the wall's log.
//!
//! A skipped row is not a success, and rows must not disappear: the numbers below are minimums.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use rustix::process::Signal;
use serde_json::Value;

use super::{
    super::harness::processes::{self, children_of, wait_for},
    base::{Stack, StackKind, is_open},
    request::{PORT, post, request, send, websocket},
    sharing::{StackHandle, acquire},
};

/// Minimum numbers of rows without authentication, with authentication but no token, and with a token, which repeats
/// most of them.
const ROWS: usize = 2_786;
const ROWS_WITHOUT_TOKEN: usize = 2_878;
const ROWS_WITH_TOKEN: usize = 5_541;

/// The holes in `holed.conf.template`.
const HOLES: [&str; 14] = [
    "port-proxy",
    "port-header",
    "static-suffix",
    "prefix-location",
    "tidied-path",
    "auth-first",
    "rewrite-header",
    "any-host",
    "foreign-pages",
    "any-method",
    "page-alias",
    "free-tickets",
    "ticket-for-ticket",
    "large-bodies",
];

fn support() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/aio-base"))
}

fn attack(token: Option<&str>, more: &[&str]) -> Output {
    let mut command = Command::new(support().join("attack.py"));
    command.arg(format!("http://127.0.0.1:{PORT}")).arg("--json").args(more);
    command.env_remove("ATTACK_TOKEN").env_remove("ATTACK_API_KEY");
    if let Some(token) = token {
        // Not an argument, because every user can read those.
        command.env("ATTACK_TOKEN", token);
    }
    command.stdin(Stdio::null()).output().unwrap()
}

/// Parses the report.
fn read(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("no report: {error}; {stderr}"))
}

fn rows<'a>(report: &'a Value, verdict: &str) -> Vec<&'a Value> {
    report["rows"].as_array().unwrap().iter().filter(|row| row["verdict"] == verdict).collect()
}

/// Runs the attack and fails unless every response was correct.
fn assert_wall_holds(token: Option<&str>, auth: &str, least: usize) -> Value {
    let output = attack(token, &["--auth", auth, "--random", "1000"]);
    let report = read(&output);
    let bad = rows(&report, "BAD");
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(output.status.success());
    assert_eq!(report["auth"], auth);
    let good = rows(&report, "ok");
    assert!(good.len() >= least, "{} rows are fewer than the expected {least}", good.len());
    let random = good.iter().filter(|row| row["group"] == "random paths").count();
    assert_eq!(random, 1000, "random paths");
    report
}

/// Checks that no request reached the base's server or the unwanted services.
fn assert_trap_log_is_empty(stack: &Stack) {
    let trap = stack.trap_log();
    assert!(trap.is_empty(), "reached from outside: {trap}");
}

// Requirement 3.1.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn wall_refuses_every_route_not_on_allow_list() {
    let stack = acquire(StackKind::OpenExclusive);
    let report = assert_wall_holds(None, "off", ROWS);
    assert!(rows(&report, "skip").is_empty(), "no row may be skipped");
    assert_trap_log_is_empty(&stack);
    assert_log_has_no_secrets(&stack, &[]);
}

// Requirement 3.3.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn wall_requires_credentials() {
    let stack = acquire(StackKind::JwtExclusive);
    let _exclusive = stack.browser();
    let report = assert_wall_holds(None, "on", ROWS_WITHOUT_TOKEN);
    // Rows that need a token cannot run without one. The next test runs them.
    let skipped = rows(&report, "skip");
    assert!(skipped.iter().all(|row| row["group"].as_str().unwrap().starts_with("with credentials")), "{skipped:#?}");
    assert_trap_log_is_empty(&stack);
}

// Requirement 3.3.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn token_opens_only_allowed_routes() {
    let stack = acquire(StackKind::JwtExclusive);
    let _exclusive = stack.browser();
    let token = stack.token();
    let report = assert_wall_holds(Some(&token), "on", ROWS_WITH_TOKEN);
    assert!(rows(&report, "skip").is_empty(), "no row may be skipped");
    assert_trap_log_is_empty(&stack);
    assert_log_has_no_secrets(&stack, &[&token]);
}

// Requirement 3.2.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn older_base_generation_exposes_one_tool_behind_same_wall() {
    let stack = acquire(StackKind::Hub);
    let _exclusive = stack.browser();
    // Its first row checks that tools/list contains one tool, ours.
    let report = assert_wall_holds(Some(&stack.token()), "on", ROWS_WITH_TOKEN);
    assert!(rows(&report, "skip").is_empty(), "no row may be skipped");
    assert_trap_log_is_empty(&stack);
    stack.begin("hub");
    let server = stack.processes_of("/usr/local/bin/browser-shell mcp");
    assert_eq!(server.len(), 1, "the hub must start one server: {server:?}");
    assert!(!server[0].command.contains("--http"), "the hub must use stdio: {server:?}");
    assert_eq!(
        stack.processes_of("/usr/local/bin/browser-shell egress").len(),
        1,
        "the guard must run as in the other generation"
    );
    stack.call("hub", &["open", &format!("http://{}/hello?hub", crate::e2e::hosts::SHOP)]).ok();
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn expired_and_foreign_tokens_are_refused() {
    let stack = acquire(StackKind::Jwt);
    let list = super::base::list();
    let status = |token: &str| post("/mcp", &[format!("Authorization: Bearer {token}")], &list).status;
    assert_eq!(status(&stack.key().token(3600)), 200, "control");
    assert_eq!(status(&stack.key().token(-60)), 401, "expired");
    assert_eq!(status(&super::key::Key::new().token(3600)), 401, "of another issuer");
}

/// Checks that the log contains clients and paths, but no secret. All lines of every service are checked, because a
/// query must not be logged anywhere.
fn assert_log_has_no_secrets(stack: &StackHandle, secrets: &[&str]) {
    // One request of each kind that contains a secret. Each is identified by its path.
    let authorization = stack.credentials();
    let mut headers: Vec<&str> = authorization.iter().map(String::as_str).collect();
    headers.extend([
        "Referer: http://x.example/?needle-referer",
        "Cookie: needle-cookie=1",
        "User-Agent: needle-agent",
    ]);
    let ticket = stack.ticket();
    let page = format!("GET /vnc/index.html?ticket={ticket}&path=websockify%3Fticket%3D{ticket}");
    assert_eq!(send(PORT, &page, &headers, "").status, 200, "control");
    assert_eq!(send(PORT, "GET /needle-path?ticket=needle-query", &headers, "").status, 403);
    assert_eq!(send(PORT, "GET /needle-fragment#needle-behind", &headers, "").status, 403);
    drop(websocket(&format!("ws://127.0.0.1:{PORT}/websockify?ticket={ticket}"), Some("binary")).expect("control"));

    let access = wait_for("the lines of these requests", || {
        let (_, text) = stack.logs().into_iter().find(|(name, _)| name == "nginx.log")?;
        // The line of a WebSocket is written when it ends.
        (text.contains("/needle-path") && text.contains("\"101\"")).then_some(text)
    });
    for path in ["/mcp", "/vnc/index.html", "/tickets", "/websockify", "/needle-path"] {
        assert!(access.contains(&format!("\"path\":\"{path}\"")), "control: {path} must be in the log");
    }
    for line in access.lines() {
        assert!(!line.contains('?'), "the log contains a query: {line}");
    }
    let mut never = vec![
        "needle-query",
        "needle-behind",
        "needle-referer",
        "needle-cookie",
        "needle-agent",
        "ticket=",
        "api_key=",
        "Bearer",
        &ticket,
    ];
    never.extend(secrets);
    never.extend(authorization.iter().map(|header| header.rsplit(' ').next().unwrap()));
    for (name, text) in stack.logs() {
        for secret in &never {
            assert!(!text.contains(secret), "`{secret}` is in {name}");
        }
    }
}

/// nginx with a faulty configuration in place of the real one.
struct FaultyNginx(Child);

impl FaultyNginx {
    fn start(stack: &Stack, hole: &str) -> Self {
        let template = fs::read_to_string(support().join("holed.conf.template")).unwrap();
        let values = [
            ("HOLE", hole),
            ("PUBLIC_PORT", "8080"),
            ("SANDBOX_SRV_PORT", "8091"),
            ("PUBLIC_LISTEN_IPV4", "0.0.0.0"),
            ("PUBLIC_LISTEN_IPV6", "[::]"),
            ("RUNTIME_LISTEN", ""),
        ];
        let conf = values.iter().fold(template, |text, (name, value)| text.replace(&format!("${{{name}}}"), value));
        fs::write(stack.file("/opt/gem/holed.conf"), conf).unwrap();
        let child = stack
            .inside()
            .args(["/usr/sbin/nginx", "-c", "/opt/gem/holed.conf", "-g", "daemon off;"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut nginx = Self(child);
        wait_for("nginx with the hole", || {
            assert!(nginx.0.try_wait().unwrap().is_none(), "nginx failed to start with `{hole}`");
            is_open(PORT).then_some(())
        });
        nginx
    }
}

impl Drop for FaultyNginx {
    fn drop(&mut self) {
        // nginx is the child of nsenter, which waits for it.
        for nginx in children_of(i32::try_from(self.0.id()).unwrap()) {
            processes::signal(nginx.id, Signal::TERM);
        }
        drop(self.0.wait());
    }
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn attack_script_finds_every_known_hole() {
    let stack = acquire(StackKind::JwtExclusive);
    let _exclusive = stack.browser();
    let token = stack.token();
    let described = fs::read_to_string(support().join("holed.conf.template")).unwrap();
    let listed: Vec<&str> = described
        .lines()
        .filter_map(|line| line.strip_prefix("#     "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "none")
        .collect();
    assert_eq!(listed, HOLES, "every hole of the template must be tested");

    assert_trap_log_is_empty(&stack);
    stack.supervisor(&["stop", "nginx"]);
    wait_for("the end of the real nginx", || (!is_open(PORT)).then_some(()));
    let found = |hole: &str| {
        wait_for("a free port", || (!is_open(PORT)).then_some(()));
        let _nginx = FaultyNginx::start(&stack, hole);
        let output = attack(Some(&token), &["--auth", "on", "--random", "0", "--timeout", "5"]);
        let report = read(&output);
        let bad: Vec<String> = rows(&report, "BAD").iter().map(ToString::to_string).collect();
        assert_eq!(output.status.code(), Some(i32::from(!bad.is_empty())), "{hole}");
        bad
    };
    assert_eq!(found("none"), [""; 0], "control: without a hole the attack must find nothing");
    let missed: Vec<&str> = HOLES.into_iter().filter(|hole| found(hole).is_empty()).collect();
    assert!(missed.is_empty(), "holes that the attack does not find: {missed:?}");
    assert!(!stack.trap_log().is_empty(), "control: requests through a hole must be in the trap log");

    stack.clear_trap_log();
    wait_for("the port", || (!is_open(PORT)).then_some(()));
    stack.supervisor(&["start", "nginx"]);
    wait_for("the real nginx", || (request("GET /vnc/core/rfb.js").status == 200).then_some(()));
}
