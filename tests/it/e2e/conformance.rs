//! Third-party checks of the protocol: MCP's conformance suite and the Inspector.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    hosts::SHOP,
    server::{CallReply, HttpServer, PROGRAM},
    test_env::{self, Browser},
};

/// Runs one release of the suite and returns the folder with its results. The suite fails if the baseline lists a
/// check that passes.
fn conformance(package: &str, baseline: &str, more: &[&str]) -> TempDir {
    test_env::require_test_network();
    let server = test_env::default_env().serve_http();
    let results = TempDir::with_prefix("conformance").unwrap();
    let run = suite(package, &server, results.path(), |command| {
        command.arg("--expected-failures").arg(test_env::support().join(baseline)).args(more);
    });
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stderr));
    // An empty selection would succeed too.
    assert!(text.contains("tools-list"), "{text}");
    results
}

/// Returns the names of the failed checks of one scenario.
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
    let shim = test_env::installed(test_env::support().join("node-20.mjs"));
    let script = format!("node_modules/@modelcontextprotocol/{package}/dist/index.js");
    command
        .arg("--import")
        .arg(shim)
        .arg(test_env::installed(test_env::support().join(script)))
        .args(["server", "--url", &server.url(), "--output-dir"])
        .arg(results)
        .current_dir(results);
    more(&mut command);
    command.output().unwrap()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn conformance_results_match_baseline() {
    conformance("conformance", "conformance-baseline.yml", &[]);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn newest_conformance_results_match_baseline() {
    let revision = ["--requirements", "2026-07-28"];
    let results = conformance("conformance-next", "conformance-baseline-2026-07-28.yml", &revision);
    // The baseline can only list whole scenarios, and this one covers much of the protocol.
    let expected = [
        // Need tools that the suite expects.
        "sep-2575-http-server-no-independent-requests-on-stream",
        "sep-2575-missing-capability-http-400",
        "sep-2575-server-no-log-without-loglevel",
        "sep-2575-server-rejects-undeclared-capability",
    ];
    assert_eq!(failed_checks(results.path(), "server-stateless"), expected.map(str::to_owned).into());
    // Lists that this server does not have.
    let expected = ["prompts-list", "resources-list", "resources-templates-list"];
    let expected = expected.map(|name| format!("sep-2549-{name}-caching-hints"));
    assert_eq!(failed_checks(results.path(), "caching"), expected.into());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn stale_conformance_baseline_fails() {
    test_env::require_test_network();
    let server = test_env::default_env().serve_http();
    let results = TempDir::with_prefix("conformance").unwrap();
    let baseline = results.path().join("stale.yml");
    std::fs::write(&baseline, "server:\n  - tools-list\n").unwrap();
    let run = suite("conformance", &server, results.path(), |command| {
        command.args(["--scenario", "tools-list", "--expected-failures"]).arg(&baseline);
    });
    assert!(!run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}

/// Runs the Inspector's CLI and parses its JSON output.
fn inspector(mut target: impl FnMut(&mut Command), method: &[&str]) -> Value {
    let folder =
        test_env::installed(test_env::support().join("node_modules/@modelcontextprotocol/inspector-cli/build"));
    let mut command = test_env::node("node_modules/@modelcontextprotocol/inspector-cli/build/cli.js");
    // It searches for its package.json from the working directory.
    command.arg("--cli").current_dir(folder);
    target(&mut command);
    let run = command.args(method).output().unwrap();
    let text = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stdout));
    serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("the Inspector did not print JSON: {text}"))
}

/// Lists the tool, calls it, and triggers a refusal, each in a separate process.
fn inspect(target: impl Fn(&mut Command)) {
    let listed = inspector(&target, &["--method", "tools/list"]);
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "{listed}");
    assert_eq!(tools[0]["name"], "browser-shell");

    let call = |argv: &str| {
        let argv = format!("argv={argv}");
        let words = ["--method", "tools/call", "--tool-name", "browser-shell"];
        let arguments = ["--tool-arg", "session_id=inspector", &argv];
        CallReply::read(&serde_json::json!({"result": inspector(&target, &[&words[..], &arguments[..]].concat())}))
    };
    let url = format!("http://{SHOP}/");
    assert_eq!(call(&format!(r#"["open","{url}"]"#)).ok().data()["url"], url);
    call(r#"["open","http://127.0.0.1:9222/"]"#).fails_with(77);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn inspector_lists_and_calls_tool_over_stdio() {
    let _browser = Browser::lock();
    let env = test_env::default_env();
    inspect(|command| {
        command.arg(PROGRAM).arg("mcp").env_clear().envs(env.variables());
        // The Inspector passes only the listed variables to the server.
        for (name, value) in env.variables() {
            command.arg("-e").arg(format!("{name}={value}"));
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn inspector_lists_and_calls_tool_over_http() {
    let _browser = Browser::lock();
    let server = test_env::default_env().serve_http();
    inspect(|command| {
        command.arg(server.url()).args(["--transport", "http"]);
    });
}
