//! The protocol's own checks, written by others: MCP's conformance suite and
//! its Inspector.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    hosts::SHOP,
    server::{Answer, HttpServer, PROGRAM},
    world::{self, Browser},
};

/// Runs one release of the suite, and says what it printed when it fails. The
/// suite itself fails when the baseline names something that passes by now.
/// Gives the folder of its results.
fn conformance(package: &str, baseline: &str, more: &[&str]) -> TempDir {
    world::require_test_network();
    let server = world::home().serve_http();
    let results = TempDir::with_prefix("conformance").unwrap();
    let run = suite(package, &server, results.path(), |command| {
        command.arg("--expected-failures").arg(world::support().join(baseline)).args(more);
    });
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    // an empty selection would succeed as well
    assert!(said.contains("tools-list"), "{said}");
    results
}

/// The checks of one scenario that failed, by their names.
fn failed_checks(results: &Path, scenario: &str) -> BTreeSet<String> {
    let prefix = format!("server-{scenario}-");
    let mut folders = std::fs::read_dir(results).unwrap().flatten();
    let folder = folders.find(|folder| folder.file_name().to_str().unwrap().starts_with(&prefix)).unwrap();
    let checks = std::fs::read(folder.path().join("checks.json")).unwrap();
    let checks: Vec<Value> = serde_json::from_slice(&checks).unwrap();
    assert!(checks.iter().any(|check| check["status"] == "SUCCESS"), "{checks:?}");
    let failed = checks.iter().filter(|check| check["status"] == "FAILURE");
    failed.map(|check| check["id"].as_str().unwrap().to_owned()).collect()
}

fn suite(package: &str, server: &HttpServer, results: &Path, more: impl Fn(&mut Command)) -> Output {
    let mut command = Command::new("node");
    let shim = world::installed(world::support().join("node-20.mjs"));
    let script = format!("node_modules/@modelcontextprotocol/{package}/dist/index.js");
    command
        .arg("--import")
        .arg(shim)
        .arg(world::installed(world::support().join(script)))
        .args(["server", "--url", &server.url(), "--output-dir"])
        .arg(results)
        .current_dir(results);
    more(&mut command);
    command.output().unwrap()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_conformance_suite_finds_what_the_baseline_says() {
    conformance("conformance", "conformance-baseline.yml", &[]);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_conformance_suite_of_the_newest_protocol_finds_what_its_baseline_says() {
    let revision = ["--requirements", "2026-07-28"];
    let results = conformance("conformance-next", "conformance-baseline-2026-07-28.yml", &revision);
    // the baseline knows only whole scenarios, and this one is about much of the protocol
    let expected = [
        // needs the suite's own tools
        "sep-2575-http-server-no-independent-requests-on-stream",
        "sep-2575-missing-capability-http-400",
        "sep-2575-server-no-log-without-loglevel",
        "sep-2575-server-rejects-undeclared-capability",
        // the library answers `prompts/list` with an empty list
        "sep-2575-server-declares-prompts-in-discover",
    ];
    assert_eq!(failed_checks(results.path(), "server-stateless"), expected.map(str::to_owned).into());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_baseline_that_lists_what_passes_is_stale_and_fails() {
    world::require_test_network();
    let server = world::home().serve_http();
    let results = TempDir::with_prefix("conformance").unwrap();
    let baseline = results.path().join("stale.yml");
    std::fs::write(&baseline, "server:\n  - tools-list\n").unwrap();
    let run = suite("conformance", &server, results.path(), |command| {
        command.args(["--scenario", "tools-list", "--expected-failures"]).arg(&baseline);
    });
    assert!(!run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}

/// Runs the Inspector's command line and reads the JSON that it prints.
fn inspector(mut target: impl FnMut(&mut Command), method: &[&str]) -> Value {
    let home = world::installed(world::support().join("node_modules/@modelcontextprotocol/inspector-cli/build"));
    let mut command = world::node("node_modules/@modelcontextprotocol/inspector-cli/build/cli.js");
    // it looks for its own package.json from the working directory
    command.arg("--cli").current_dir(home);
    target(&mut command);
    let run = command.args(method).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stdout));
    serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("JSON from the Inspector: {said}"))
}

/// Lists the tool, calls it, and has it refuse, each in a process of its own.
fn inspect(target: impl Fn(&mut Command)) {
    let listed = inspector(&target, &["--method", "tools/list"]);
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "{listed}");
    assert_eq!(tools[0]["name"], "browser-shell");

    let call = |argv: &str| {
        let argv = format!("argv={argv}");
        let words = ["--method", "tools/call", "--tool-name", "browser-shell"];
        let arguments = ["--tool-arg", "session_id=inspector", &argv];
        Answer::read(&serde_json::json!({"result": inspector(&target, &[&words[..], &arguments[..]].concat())}))
    };
    let url = format!("http://{SHOP}/");
    assert_eq!(call(&format!(r#"["open","{url}"]"#)).ok().data()["url"], url);
    call(r#"["open","http://127.0.0.1:9222/"]"#).fails_with(77);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_inspector_lists_and_calls_the_tool_over_stdio() {
    let _browser = Browser::take();
    let home = world::home();
    inspect(|command| {
        command.arg(PROGRAM).arg("mcp").env_clear().envs(home.variables());
        // the Inspector gives the server only what it is told to
        for (name, value) in home.variables() {
            command.arg("-e").arg(format!("{name}={value}"));
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_inspector_lists_and_calls_the_tool_over_http() {
    let _browser = Browser::take();
    let server = world::home().serve_http();
    inspect(|command| {
        command.arg(server.url()).args(["--transport", "http"]);
    });
}
