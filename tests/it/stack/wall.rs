//! The wall from outside: every row of `attack.py`, that it finds the holes which
//! it is for, and what the wall writes down.
//!
//! A row that is skipped is no success, and rows must not vanish: there are at
//! least as many as when this was written.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use rustix::process::Signal;
use serde_json::Value;

use super::{
    super::harness::processes::{self, children_of, until},
    base::{Guest, Kind, Stack, enter, is_open},
    request::{PORT, ask, post, send, websocket},
};

/// Rows without authentication; with it, but without a token; and with one, which
/// sends most of them again.
const ROWS: usize = 2_181;
const ROWS_WITHOUT_TOKEN: usize = 2_273;
const ROWS_WITH_TOKEN: usize = 4_362;

/// The holes of `holed.conf.template`.
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
        // not an argument: those are for everyone to read
        command.env("ATTACK_TOKEN", token);
    }
    command.stdin(Stdio::null()).output().unwrap()
}

/// The report, and its rows with this verdict.
fn read(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("no report: {error}; {said}"))
}

fn rows<'a>(report: &'a Value, verdict: &str) -> Vec<&'a Value> {
    report["rows"].as_array().unwrap().iter().filter(|row| row["verdict"] == verdict).collect()
}

/// Attacks, and fails unless every answer was the right one.
fn stands(token: Option<&str>, auth: &str, least: usize) -> Value {
    let output = attack(token, &["--auth", auth, "--random", "1000"]);
    let report = read(&output);
    let bad = rows(&report, "BAD");
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(output.status.success());
    assert_eq!(report["auth"], auth);
    let good = rows(&report, "ok");
    assert!(good.len() >= least, "{} rows are fewer than the {least} that there were", good.len());
    let random = good.iter().filter(|row| row["group"] == "random paths").count();
    assert_eq!(random, 1000, "random paths");
    report
}

/// Nobody has reached the base's server, nor any of the services behind.
fn nobody_was_trapped(stack: &Stack) {
    let trap = stack.trap();
    assert!(trap.is_empty(), "reached from outside: {trap}");
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn spec_3_1_everything_but_the_few_routes_is_refused() {
    let stack = enter(Kind::HurtOpen);
    let report = stands(None, "off", ROWS);
    assert!(rows(&report, "skip").is_empty(), "nothing is left out");
    nobody_was_trapped(&stack);
    the_log_is_discreet(&stack, &[]);
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn spec_3_3_nobody_gets_in_without_credentials() {
    let stack = enter(Kind::HurtJwt);
    let _turn = stack.browser();
    let report = stands(None, "on", ROWS_WITHOUT_TOKEN);
    // what a token opens cannot be tried without one; the next test does
    let skipped = rows(&report, "skip");
    assert!(skipped.iter().all(|row| row["group"].as_str().unwrap().starts_with("with credentials")), "{skipped:#?}");
    nobody_was_trapped(&stack);
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn spec_3_3_a_token_opens_the_few_routes_and_no_other() {
    let stack = enter(Kind::HurtJwt);
    let _turn = stack.browser();
    let token = stack.token();
    let report = stands(Some(&token), "on", ROWS_WITH_TOKEN);
    assert!(rows(&report, "skip").is_empty(), "nothing is left out");
    nobody_was_trapped(&stack);
    the_log_is_discreet(&stack, &[&token]);
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn spec_3_2_the_older_generations_hub_is_behind_the_same_wall_with_one_tool() {
    let stack = enter(Kind::Hub);
    let _turn = stack.browser();
    // its first row is that tools/list has one tool, ours
    let report = stands(Some(&stack.token()), "on", ROWS_WITH_TOKEN);
    assert!(rows(&report, "skip").is_empty(), "nothing is left out");
    nobody_was_trapped(&stack);
    stack.begin("hub");
    let server = stack.processes_of("/usr/local/bin/browser-shell mcp");
    assert_eq!(server.len(), 1, "started by the hub: {server:?}");
    assert!(!server[0].command.contains("--http"), "over its pipes: {server:?}");
    assert_eq!(
        stack.processes_of("/usr/local/bin/browser-shell egress").len(),
        1,
        "the guard, as in the other generation"
    );
    stack.call("hub", &["open", &format!("http://{}/hello?hub", crate::e2e::hosts::SHOP)]).ok();
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn tokens_that_are_expired_or_of_another_issuer_are_refused() {
    let stack = enter(Kind::Jwt);
    let list = super::base::list();
    let status = |token: &str| post("/mcp", &[format!("Authorization: Bearer {token}")], &list).status;
    assert_eq!(status(&stack.key().token(3600)), 200, "control");
    assert_eq!(status(&stack.key().token(-60)), 401, "expired");
    assert_eq!(status(&super::key::Key::new().token(3600)), 401, "of another issuer");
}

/// The log says who asked for what path, and nothing that opens anything. Every
/// line of every service counts, since a query must not get as far as that either.
fn the_log_is_discreet(stack: &Guest, secrets: &[&str]) {
    // one request of each kind that carries something, and is found again by its path
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

    let access = until("the lines of these requests", || {
        let (_, text) = stack.logs().into_iter().find(|(name, _)| name == "nginx.log")?;
        // a WebSocket's line is written when it ends
        (text.contains("/needle-path") && text.contains("\"101\"")).then_some(text)
    });
    for path in ["/mcp", "/vnc/index.html", "/tickets", "/websockify", "/needle-path"] {
        assert!(access.contains(&format!("\"path\":\"{path}\"")), "control: {path} is in the log");
    }
    for line in access.lines() {
        assert!(!line.contains('?'), "a query in the log: {line}");
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
            assert!(!text.contains(secret), "`{secret}` stands in {name}");
        }
    }
}

/// nginx with a bad configuration, in the place of the good one.
struct Holed(Child);

impl Holed {
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
        let mut holed = Self(child);
        until("nginx with the hole", || {
            assert!(holed.0.try_wait().unwrap().is_none(), "nginx does not start with `{hole}`");
            is_open(PORT).then_some(())
        });
        holed
    }
}

impl Drop for Holed {
    fn drop(&mut self) {
        // nginx is the child of nsenter, which waits for it
        for nginx in children_of(i32::try_from(self.0.id()).unwrap()) {
            processes::signal(nginx.id, Signal::TERM);
        }
        drop(self.0.wait());
    }
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn the_attack_finds_every_hole_that_it_is_for() {
    let stack = enter(Kind::HurtJwt);
    let _turn = stack.browser();
    let token = stack.token();
    let described = fs::read_to_string(support().join("holed.conf.template")).unwrap();
    let listed: Vec<&str> = described
        .lines()
        .filter_map(|line| line.strip_prefix("#     "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "none")
        .collect();
    assert_eq!(listed, HOLES, "every hole of the template is tried");

    nobody_was_trapped(&stack);
    stack.supervisor(&["stop", "nginx"]);
    until("the end of the good nginx", || (!is_open(PORT)).then_some(()));
    let found = |hole: &str| {
        until("a free port", || (!is_open(PORT)).then_some(()));
        let _holed = Holed::start(&stack, hole);
        let output = attack(Some(&token), &["--auth", "on", "--random", "0", "--timeout", "5"]);
        let report = read(&output);
        let bad = rows(&report, "BAD").len();
        assert_eq!(output.status.code(), Some(i32::from(bad > 0)), "{hole}");
        bad
    };
    assert_eq!(found("none"), 0, "control: without a hole there is nothing to find");
    let missed: Vec<&str> = HOLES.into_iter().filter(|hole| found(hole) == 0).collect();
    assert!(missed.is_empty(), "holes that the attack does not find: {missed:?}");
    assert!(!stack.trap().is_empty(), "control: what comes through a hole is trapped");

    stack.forget_trap();
    until("the port", || (!is_open(PORT)).then_some(()));
    stack.supervisor(&["start", "nginx"]);
    until("the good nginx", || (ask("GET /vnc/core/rfb.js").status == 200).then_some(()));
}
