//! The two transports to agent-browser compared. A reply must not depend on the transport, and no transport error may
//! repeat an action.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::Signal;
use serde_json::{Value, json};

use browser_shell_core::grammar::{Availability, GRAMMAR};

use super::{
    hosts::SHOP,
    processes,
    server::{CallReply, Server, TestEnv},
    test_env::{self, Browser},
};

fn shop() -> String {
    format!("http://{SHOP}/")
}

fn env() -> TestEnv {
    let optional = GRAMMAR.iter().filter(|row| row.availability == Availability::Optional);
    let names: Vec<_> = optional.map(|row| row.name).collect();
    test_env::env_with(&test_env::agent_browser())
        .with_short_action_timeout()
        .with_policy(&json!({"subcommands": {"enable": names}}))
}

/// Returns the transports of a server's calls so far, without calls that did not run.
fn transports(server: &Server) -> Vec<String> {
    let lines = server.env().audit();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line["transport"].as_str().map(str::to_owned)).collect()
}

fn last_transport(server: &Server) -> String {
    transports(server).pop().expect("no call has run")
}

/// Every form of every subcommand, and the failures that a page can cause. In this order, each step meets the same
/// page in every run.
const STEPS: &[&[&str]] = &[
    &["snapshot"],
    &["snapshot", "-i"],
    &["snapshot", "-c"],
    &["snapshot", "-d", "2"],
    &["snapshot", "-s", "#order"],
    &["snapshot", "-i", "-c", "-d", "3", "-s", "#order"],
    &["snapshot", "-s", "#nothing"],
    &["snapshot", "-s", "!!"],
    &["snapshot", "-i"],
    &["fill", "@e2", "by reference"],
    &["fill", "@e99", "no such reference"],
    &["fill", "#name", "Ada \u{1f600} \"quoted\" 'text' \\ $HOME `id` \u{2028}"],
    &["fill", "#name", ""],
    &["fill", "#name", "--x=y"],
    &["fill", "#name", "-"],
    &["fill", "#note", "two\nlines\r\n\tand a tab"],
    &["fill", "#nothing", "x"],
    &["fill", "#save", "not a field"],
    &["get", "html", "#note"],
    &["type", "#name", "-n typed"],
    &["type", "#nothing", "x"],
    &["focus", "#name"],
    &["focus", "#nothing"],
    &["press", "End"],
    &["press", "Control+a"],
    &["press", "+"],
    &["check", "#gift"],
    &["check", "#name"],
    &["uncheck", "#news"],
    &["uncheck", "#nothing"],
    &["select", "#size", "l"],
    &["select", "#size", "Medium"],
    &["select", "#size", "s", "m"],
    &["select", "#size", "--none"],
    &["hover", "#over"],
    &["hover", "#nothing"],
    &["dblclick", "#twice"],
    &["dblclick", "#nothing"],
    &["click", "#save"],
    &["click", "text=Twice"],
    &["click", "button"],
    &["click", "#nothing"],
    &["click", "]["],
    &["click", "@e0"],
    &["snapshot"],
    &["get", "text", "#result"],
    &["get", "text", "#nothing"],
    &["get", "html", "#order"],
    &["get", "attr", "#news", "type"],
    &["get", "attr", "#news", "nothing"],
    &["get", "url"],
    &["get", "title"],
    &["get", "count", "button"],
    &["get", "count", "#nothing"],
    &["get", "box", "#save"],
    &["get", "box", "#nothing"],
    &["is", "visible", "#save"],
    &["is", "visible", "#nothing"],
    &["is", "enabled", "#save"],
    &["is", "checked", "#gift"],
    &["is", "checked", "#news"],
    &["is", "checked", "#save"],
    &["click", "#later"],
    &["wait", "#arrived"],
    &["wait", "--text", "It has arrived"],
    &["wait", "--text", "--never"],
    &["wait", "--url", "**/arrived"],
    &["wait", "--url", "**/never"],
    &["wait", "--load", "load"],
    &["wait", "--load", "domcontentloaded"],
    &["wait", "--load", "networkidle"],
    &["wait", "+5"],
    &["wait", "0"],
    &["wait", "#nothing"],
    &["screenshot", "whole.png"],
    &["screenshot", "#save", "part.png"],
    &["screenshot", "#nothing", "none.png"],
    &["pdf", "page.pdf"],
    &["dialog", "dismiss"],
    &["scroll"],
    &["scroll", "up", "5"],
    &["scroll", "down", "5", "-s", "#note"],
    &["scroll", "left", "-s", "#nothing"],
    &["scroll", "#note"],
    &["get", "value", "#name"],
    &["select-text", "#name"],
    &["drag", "#save", "#name"],
    &["drag", "#nothing", "#name"],
    &["tab"],
    &["tab", "list"],
    &["tab", "0"],
    &["tab", "99"],
    &["open", "http://shop.example.com/next"],
    &["back"],
    &["forward"],
    &["reload"],
    &["forward"],
    &["open", "http://shop.example.com:6000/"],
    &["open", "http://shop.example.com/missing"],
    &["open", "about:blank"],
    &["snapshot"],
    &["back"],
    &["close"],
];

/// One call of a run, without values that differ in every run.
#[derive(Debug, PartialEq)]
struct Outcome {
    argv: Vec<String>,
    code: i64,
    stdout: String,
    stderr: String,
    picture: Option<Vec<u8>>,
}

fn run(transport: &str) -> Vec<Outcome> {
    run_with(transport, &test_env::agent_browser())
}

/// Returns true if a command names a tab. The native daemon takes its name, which only the CLI transport reads.
fn names_tab(argv: &[String]) -> bool {
    argv[0] == "tab" && argv.last().is_some_and(|word| word.parse::<u32>().is_ok())
}

fn run_with(transport: &str, agent_browser: &Path) -> Vec<Outcome> {
    let browser = Browser::lock();
    let server =
        env().with("BROWSER_SHELL_TRANSPORT", transport).with("BROWSER_SHELL_AGENT_BROWSER", agent_browser).serve();
    let is_native = agent_browser == test_env::native();
    let workspace = server.env().workspace();
    let workspace = workspace.to_str().unwrap();
    let plain = |text: &str| text.replace(workspace, "WORKSPACE");
    let mut seen = Vec::new();
    server.call("s", &["open", &shop()]).ok();
    for argv in STEPS {
        let CallReply { code, stdout, stderr, picture, .. } = server.call("s", argv);
        assert!(!matches!(code, 64 | 69 | 75 | 124 | 130), "{argv:?} must reach the page: {code} {stderr}");
        let argv = argv.iter().map(|&word| word.to_owned()).collect();
        seen.push(Outcome { argv, code, stdout: plain(&stdout), stderr: plain(&stderr), picture });
    }
    let transports = transports(&server);
    // The control gate answers dialogs itself.
    let carried: Vec<_> = seen.iter().filter(|call| call.argv[0] != "dialog").collect();
    assert_eq!(transports.len(), carried.len() + 1);
    // The first call of a session, and the call after a failed navigation, use the CLI.
    let mut later = "cli";
    let mut cli_steps = 0;
    let opened = &[shop()];
    let first = Outcome { argv: opened.to_vec(), code: 0, stdout: String::new(), stderr: String::new(), picture: None };
    for (way, call) in transports.iter().zip(std::iter::once(&first).chain(carried)) {
        // The control gate takes the steps of the native version in the history.
        if is_native && ["back", "forward"].contains(&call.argv[0].as_str()) {
            assert_eq!(way, "gate", "{:?}", call.argv);
            continue;
        }
        let expected = if is_native && names_tab(&call.argv) { "cli" } else { later };
        assert_eq!(way, expected, "{:?}", call.argv);
        let navigates = ["open", "back", "forward", "reload"].contains(&call.argv[0].as_str());
        let failed = call.code != 0 && (navigates || expected == "cli");
        later = if transport == "cli" || failed { "cli" } else { "daemon" };
        cli_steps += usize::from(later == "cli");
    }
    assert!(transport == "cli" || cli_steps <= 2, "{cli_steps} of {} steps", STEPS.len());
    drop(browser);
    seen
}

/// Returns the reference run through the CLI.
fn cli_outcomes() -> &'static [Outcome] {
    static CLI_RUN: OnceLock<Vec<Outcome>> = OnceLock::new();
    CLI_RUN.get_or_init(|| run("cli"))
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cli_and_daemon_transports_give_same_replies() {
    let names: BTreeSet<_> = STEPS.iter().map(|argv| argv[0]).collect();
    for row in GRAMMAR {
        assert!(names.contains(row.name), "add the forms of the new subcommand `{}`", row.name);
    }
    assert_same_outcomes(cli_outcomes(), &run("auto"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn native_cli_and_daemon_give_same_replies() {
    let native = test_env::native();
    assert_same_outcomes(&run_with("cli", &native), &run_with("auto", &native));
}

fn assert_same_outcomes(slow: &[Outcome], fast: &[Outcome]) {
    let failed = slow.iter().filter(|seen| seen.code != 0).count();
    assert!(failed > 20 && failed < STEPS.len() / 2, "{failed} failures");
    for (slow, fast) in slow.iter().zip(fast) {
        // The text must be equal, including the order of members.
        assert_eq!(slow, fast);
    }
}

/// The image contains less of agent-browser than npm installs.
// Requirement 3.4.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn image_agent_browser_gives_same_replies_as_npm() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::TempDir::with_prefix("image").unwrap();
    let installed = test_env::support().join("node_modules");
    let machine = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" };
    let mut assemble = Command::new(root.join("nix/agent-browser/assemble"));
    assemble.arg(machine).arg(root.join("nix/agent-browser/stubs")).arg(folder.path());
    assemble.args(["agent-browser", "playwright-core", "ws", "zod"].map(|name| installed.join(name)));
    assert!(assemble.status().unwrap().success());
    // As in the image's layers.
    let package = folder.path().join("package");
    std::fs::rename(folder.path().join("node_modules"), package.join("node_modules")).unwrap();
    let size = Command::new("du").args(["-sb", "--"]).arg(package.join("node_modules")).output().unwrap().stdout;
    let size: u64 = String::from_utf8(size).unwrap().split('\t').next().unwrap().parse().unwrap();
    assert!(size < 20_000_000, "{size} bytes");
    let program = package.join("bin/agent-browser");
    for (whole, image) in cli_outcomes().iter().zip(&run_with("cli", &program)) {
        assert_eq!(whole, image);
    }
    // The daemon is byte for byte the supported one, so the fast transport is used.
    let _browser = Browser::lock();
    let server = env().with("BROWSER_SHELL_AGENT_BROWSER", program).serve();
    server.call("s", &["open", &shop()]).ok();
    server.call("s", &["snapshot"]).ok();
    assert_eq!(transports(&server), ["cli", "daemon"]);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn long_text_arrives_complete() {
    let _browser = Browser::lock();
    let server = env().serve();
    server.call("s", &["open", &shop()]).ok();
    // More bytes than one read of a socket returns, in characters of up to four bytes.
    let text: String = "\u{1f600}\u{e9}x\u{4e2d}".chars().cycle().take(8192).collect();
    server.call("s", &["fill", "#note", &text]).ok();
    assert_eq!(last_transport(&server), "daemon");
    server.call("s", &["click", "#save"]).ok();
    let shown = server.call("s", &["get", "text", "#result"]).ok().data()["text"].as_str().unwrap().to_owned();
    assert!(shown.contains(&text), "{} of {} characters", shown.chars().count(), text.chars().count());
}

// Requirement 1.4.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn daemon_transport_types_cli_flags_as_text() {
    let _browser = Browser::lock();
    for (way, works) in [("auto", true), ("cli", false)] {
        let server = env().with("BROWSER_SHELL_TRANSPORT", way).serve();
        let first = server.call("s", &["fill", "#name", "--json"]).fails_with(64);
        assert!(first.stderr.contains("flag-global"), "{first:?}");
        assert_eq!(first.stderr.contains("take a snapshot"), works, "{first:?}");
        server.call("s", &["open", &shop()]).ok();
        for text in ["--json", "--cdp=9333", "--session", "-h", "--version"] {
            let filled = server.call("s", &["fill", "#name", text]);
            if !works {
                filled.fails_with(64);
                continue;
            }
            filled.ok();
            server.call("s", &["click", "#save"]).ok();
            let shown = server.call("s", &["get", "text", "#result"]).ok().data();
            assert!(shown["text"].as_str().unwrap().starts_with(&format!("saved {text}/")), "{shown}");
        }
        // Everywhere else it remains a flag.
        for argv in
            [&["fill", "--json", "x"][..], &["click", "#save", "--json"], &["--cdp", "fill"], &["press", "--json"]]
        {
            server.call("s", argv).fails_with(64);
        }
        assert!(transports(&server)[1..].iter().all(|taken| taken == if works { "daemon" } else { "cli" }));
    }
}

/// Returns the session's daemon process.
fn daemon(server: &Server) -> Vec<processes::Process> {
    let found: Vec<_> =
        server.processes().into_iter().filter(|process| process.command.contains("daemon.js")).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn dead_daemon_is_restarted_by_cli() {
    let _browser = Browser::lock();
    let server = env().serve();
    server.call("s", &["open", &shop()]).ok();
    let old = daemon(&server);
    processes::kill(&old);
    processes::wait_for("the end of the daemon", || (!processes::is_alive(&old[0])).then_some(()));
    server.call("s", &["click", "#twice"]).ok();
    assert_eq!(last_transport(&server), "cli");
    server.call("s", &["click", "#twice"]).ok();
    assert_eq!(last_transport(&server), "daemon");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn daemon_death_during_call_repeats_nothing() {
    let _browser = Browser::lock();
    // A long timeout, so that the call still runs when the daemon dies: the element does not exist.
    let server = env().with("BROWSER_SHELL_ACTION_TIMEOUT_MS", "5000").serve();
    server.call("s", &["open", &shop()]).ok();
    server.call("s", &["snapshot"]).ok();
    let die = |argv: &[&str]| {
        let old = daemon(&server);
        // A stopped daemon reads nothing, so the call is always in progress when it dies.
        processes::signal(old[0].id, Signal::STOP);
        let call = server.begin("s", argv, None);
        std::thread::sleep(std::time::Duration::from_millis(300));
        processes::kill(&old);
        call.answer()
    };
    // The daemon died before it received the action, so the CLI may run it.
    die(&["fill", "#name", "once"]).ok();
    assert_eq!(last_transport(&server), "cli");
    server.call("s", &["snapshot"]).ok();
    assert_eq!(last_transport(&server), "daemon");

    let die_busy = |argv: &[&str]| {
        let old = daemon(&server);
        let call = server.begin("s", argv, None);
        std::thread::sleep(std::time::Duration::from_millis(1500));
        processes::kill(&old);
        call.answer()
    };
    let lost = die_busy(&["click", "#nothing"]).fails_with(1);
    assert!(lost.stderr.contains("outcome-unknown") && lost.stdout.is_empty(), "{lost:?}");
    assert_eq!(last_transport(&server), "daemon");
    server.call("s", &["click", "#twice"]).ok();
    assert_eq!(last_transport(&server), "cli", "after an error");
    server.call("s", &["click", "#later"]).ok();
    assert_eq!(last_transport(&server), "daemon");

    let waited = die_busy(&["wait", "#nothing"]).fails_with(1);
    assert!(!waited.stderr.contains("outcome-unknown"), "a wait can be repeated: {waited:?}");
    assert_eq!(last_transport(&server), "cli");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn doctor_names_transport_in_use() {
    test_env::require_test_network();
    let doctor_transport = |transport: &str| {
        let run = test_env::env_with(&test_env::agent_browser())
            .with("BROWSER_SHELL_TRANSPORT", transport)
            .run(&["doctor", "--json"]);
        let report: Value = serde_json::from_slice(&run.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let line = checks.iter().find(|check| check["name"] == "transport").unwrap();
        line["found"].as_str().unwrap().to_owned()
    };
    assert!(doctor_transport("auto").contains("agent-browser 0.19.0 is supported"), "{}", doctor_transport("auto"));
    assert_eq!(doctor_transport("cli"), "cli: every call starts agent-browser");
}
