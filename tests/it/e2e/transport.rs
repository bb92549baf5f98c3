//! The two ways to agent-browser, side by side: what a call gives must not
//! depend on the one that it took, and no trouble on the way may do an action
//! twice.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::Signal;
use serde_json::{Value, json};

use browser_shell::argv::table::{Availability, GRAMMAR};

use super::{
    hosts::SHOP,
    processes,
    server::{Answer, Home, Server},
    world::{self, Browser},
};

fn shop() -> String {
    format!("http://{SHOP}/")
}

fn home() -> Home {
    let optional = GRAMMAR.iter().filter(|row| row.availability == Availability::Optional);
    let names: Vec<_> = optional.map(|row| row.name).collect();
    world::home().impatient().with_policy(&json!({"subcommands": {"enable": names}}))
}

/// The ways that the calls of a server took so far, without those that did not run.
fn ways(server: &Server) -> Vec<String> {
    let lines = server.home().audit();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line["transport"].as_str().map(str::to_owned)).collect()
}

fn last_way(server: &Server) -> String {
    ways(server).pop().expect("a call that ran")
}

/// Every form of every subcommand, and the failures that a page can cause, in
/// an order in which each meets the same page however it is run.
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
    &["press", "NoSuchKey"],
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
    &["scroll"],
    &["scroll", "up", "5"],
    &["scroll", "down", "5", "-s", "#note"],
    &["scroll", "left", "-s", "#nothing"],
    &["tab"],
    &["tab", "list"],
    &["tab", "0"],
    &["tab", "99"],
    &["open", "http://shop.example.com/next"],
    &["back"],
    &["forward"],
    &["reload"],
    &["forward"],
    &["open", "http://shop.example.com:9/"],
    &["open", "http://shop.example.com/missing"],
    &["open", "about:blank"],
    &["snapshot"],
    &["back"],
    &["close"],
];

/// One call of a run, without what is another's in every run.
#[derive(Debug, PartialEq)]
struct Seen {
    argv: Vec<String>,
    code: i64,
    stdout: String,
    stderr: String,
    picture: Option<Vec<u8>>,
}

fn run(transport: &str) -> Vec<Seen> {
    run_with(transport, &world::agent_browser())
}

fn run_with(transport: &str, agent_browser: &Path) -> Vec<Seen> {
    let browser = Browser::take();
    let server =
        home().with("BROWSER_SHELL_TRANSPORT", transport).with("BROWSER_SHELL_AGENT_BROWSER", agent_browser).serve();
    let workspace = server.home().workspace();
    let workspace = workspace.to_str().unwrap();
    let plain = |text: &str| text.replace(workspace, "WORKSPACE");
    let mut seen = Vec::new();
    server.call("s", &["open", &shop()]).ok();
    for argv in STEPS {
        let Answer { code, stdout, stderr, picture, .. } = server.call("s", argv);
        assert!(!matches!(code, 64 | 69 | 75 | 124 | 130), "{argv:?} reaches the page: {code} {stderr}");
        let argv = argv.iter().map(|&word| word.to_owned()).collect();
        seen.push(Seen { argv, code, stdout: plain(&stdout), stderr: plain(&stderr), picture });
    }
    let ways = ways(&server);
    assert_eq!(ways.len(), STEPS.len() + 1);
    // a session's first call, and the one after a navigation that failed, are the CLI's
    let mut later = "cli";
    let mut left_to_the_cli = 0;
    let opened = &[shop()];
    let first = Seen { argv: opened.to_vec(), code: 0, stdout: String::new(), stderr: String::new(), picture: None };
    for (way, call) in ways.iter().zip(std::iter::once(&first).chain(&seen)) {
        assert_eq!(way, later, "{:?}", call.argv);
        let navigates = ["open", "back", "forward", "reload"].contains(&call.argv[0].as_str());
        later = if transport == "cli" || (navigates && call.code != 0) { "cli" } else { "daemon" };
        left_to_the_cli += usize::from(later == "cli");
    }
    assert!(transport == "cli" || left_to_the_cli <= 2, "{left_to_the_cli} of {} steps", STEPS.len());
    drop(browser);
    seen
}

/// The run through the CLI that others are compared with.
fn slow() -> &'static [Seen] {
    static SLOW: OnceLock<Vec<Seen>> = OnceLock::new();
    SLOW.get_or_init(|| run("cli"))
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn both_ways_give_the_same_answers() {
    let names: BTreeSet<_> = STEPS.iter().map(|argv| argv[0]).collect();
    for row in GRAMMAR {
        assert!(names.contains(row.name), "the table has a new subcommand, `{}`: add its forms here", row.name);
    }
    let (slow, fast) = (slow(), run("auto"));
    let failed = slow.iter().filter(|seen| seen.code != 0).count();
    assert!(failed > 20 && failed < STEPS.len() / 2, "{failed} failures, as meant");
    for (slow, fast) in slow.iter().zip(&fast) {
        // the text, not only what it means: not even the order of its members differs
        assert_eq!(slow, fast);
    }
}

/// What the image has of agent-browser is less than what npm installs.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_3_4_the_images_agent_browser_gives_the_same_answers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::TempDir::with_prefix("image").unwrap();
    let installed = world::support().join("node_modules");
    let machine = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" };
    let mut assemble = Command::new(root.join("nix/agent-browser/assemble"));
    assemble.arg(machine).arg(root.join("nix/agent-browser/stubs")).arg(folder.path());
    assemble.args(["agent-browser", "playwright-core", "ws"].map(|name| installed.join(name)));
    assemble.arg(installed.join("agent-browser/node_modules/zod"));
    assert!(assemble.status().unwrap().success());
    // as the layers put them together
    let package = folder.path().join("package");
    std::fs::rename(folder.path().join("node_modules"), package.join("node_modules")).unwrap();
    let size = Command::new("du").args(["-sb", "--"]).arg(package.join("node_modules")).output().unwrap().stdout;
    let size: u64 = String::from_utf8(size).unwrap().split('\t').next().unwrap().parse().unwrap();
    assert!(size < 20_000_000, "{size} bytes");
    let program = package.join("bin/agent-browser");
    for (whole, image) in slow().iter().zip(&run_with("cli", &program)) {
        assert_eq!(whole, image);
    }
    // and it is believed: not a byte of the daemon is another
    let _browser = Browser::take();
    let server = home().with("BROWSER_SHELL_AGENT_BROWSER", program).serve();
    server.call("s", &["open", &shop()]).ok();
    server.call("s", &["snapshot"]).ok();
    assert_eq!(ways(&server), ["cli", "daemon"]);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_long_text_arrives_whole() {
    let _browser = Browser::take();
    let server = home().serve();
    server.call("s", &["open", &shop()]).ok();
    // more bytes than one read of a socket gives, in characters of four bytes
    let text: String = "\u{1f600}\u{e9}x\u{4e2d}".chars().cycle().take(8192).collect();
    server.call("s", &["fill", "#note", &text]).ok();
    assert_eq!(last_way(&server), "daemon");
    server.call("s", &["click", "#save"]).ok();
    let shown = server.call("s", &["get", "text", "#result"]).ok().data()["text"].as_str().unwrap().to_owned();
    assert!(shown.contains(&text), "{} of {} characters", shown.chars().count(), text.chars().count());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn spec_1_4_a_flag_of_the_cli_is_a_text_once_the_cli_is_not_in_between() {
    let _browser = Browser::take();
    for (way, works) in [("auto", true), ("cli", false)] {
        let server = home().with("BROWSER_SHELL_TRANSPORT", way).serve();
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
        // everywhere else it is what it always was
        for argv in
            [&["fill", "--json", "x"][..], &["click", "#save", "--json"], &["--cdp", "fill"], &["press", "--json"]]
        {
            server.call("s", argv).fails_with(64);
        }
        assert!(ways(&server)[1..].iter().all(|taken| taken == if works { "daemon" } else { "cli" }));
    }
}

/// The session's daemon, and nothing else of the server.
fn daemon(server: &Server) -> Vec<processes::Process> {
    let found: Vec<_> =
        server.processes().into_iter().filter(|process| process.command.contains("daemon.js")).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_dead_daemon_is_started_again_through_the_cli() {
    let _browser = Browser::take();
    let server = home().serve();
    server.call("s", &["open", &shop()]).ok();
    let old = daemon(&server);
    processes::kill(&old);
    processes::until("the daemon's end", || (!processes::lives(&old[0])).then_some(()));
    server.call("s", &["click", "#twice"]).ok();
    assert_eq!(last_way(&server), "cli");
    server.call("s", &["click", "#twice"]).ok();
    assert_eq!(last_way(&server), "daemon");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_daemon_that_dies_in_mid_call_does_nothing_twice() {
    let _browser = Browser::take();
    // time to die in: what is asked for is not there
    let server = home().with("BROWSER_SHELL_ACTION_TIMEOUT_MS", "5000").serve();
    server.call("s", &["open", &shop()]).ok();
    server.call("s", &["snapshot"]).ok();
    let die = |argv: &[&str]| {
        let old = daemon(&server);
        // it reads nothing until it is gone: the call is under way whenever it dies
        processes::signal(old[0].id, Signal::STOP);
        let call = server.begin("s", argv, None);
        std::thread::sleep(std::time::Duration::from_millis(300));
        processes::kill(&old);
        call.answer()
    };
    // it died before it was asked for the action, so the CLI may do it
    die(&["fill", "#name", "once"]).ok();
    assert_eq!(last_way(&server), "cli");
    server.call("s", &["snapshot"]).ok();
    assert_eq!(last_way(&server), "daemon");

    let die_busy = |argv: &[&str]| {
        let old = daemon(&server);
        let call = server.begin("s", argv, None);
        std::thread::sleep(std::time::Duration::from_millis(1500));
        processes::kill(&old);
        call.answer()
    };
    let lost = die_busy(&["click", "#nothing"]).fails_with(1);
    assert!(lost.stderr.contains("outcome-unknown") && lost.stdout.is_empty(), "{lost:?}");
    assert_eq!(last_way(&server), "daemon");
    server.call("s", &["click", "#twice"]).ok();
    assert_eq!(last_way(&server), "cli", "after trouble");
    server.call("s", &["click", "#later"]).ok();
    assert_eq!(last_way(&server), "daemon");

    let waited = die_busy(&["wait", "#nothing"]).fails_with(1);
    assert!(!waited.stderr.contains("outcome-unknown"), "waiting can be repeated: {waited:?}");
    assert_eq!(last_way(&server), "cli");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn doctor_says_which_way_calls_take() {
    world::require_test_network();
    let said = |transport: &str| {
        let run = world::home().with("BROWSER_SHELL_TRANSPORT", transport).run(&["doctor", "--json"]);
        let report: Value = serde_json::from_slice(&run.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let line = checks.iter().find(|check| check["name"] == "transport").unwrap();
        line["found"].as_str().unwrap().to_owned()
    };
    assert!(said("auto").contains("proved with agent-browser 0.19.0"), "{}", said("auto"));
    assert_eq!(said("cli"), "cli: every call starts agent-browser");
}
