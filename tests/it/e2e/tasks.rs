//! A part of the benchmark of web tasks (`benches/tasks`), whose pages say themselves whether an agent did what was asked.
//!
//! The benchmark starts its own Chromium and web server, on ports of their own.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::{server::PROGRAM, test_env};

/// Tasks of many kinds that must not get lost: forms, lists, dialogs, tabs, mail, a shop, slow and failing pages.
const TASKS: [&str; 14] = [
    "dialog-confirm",
    "dialog-prompt",
    "failing-page",
    "form-contact",
    "form-enabled-when-complete",
    "form-select",
    "history-back",
    "list-filter",
    "login",
    "mail-forward",
    "new-tab-and-back",
    "shop-cart",
    "table-row-action",
    "wizard",
];

/// Runs tasks with the newest agent-browser and the recommended policy. Returns their episodes.
fn episodes(tasks: &[&str]) -> Vec<Value> {
    test_env::require_test_network();
    drop(test_env::native());
    let mut command = Command::new("python3");
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["benches/tasks/run", "--json", "--seeds", "1", "--cdp-port", "9337", "--web-port", "8337"])
        .args(["--contestant", "browser-shell cdp", "--program", PROGRAM])
        .args(tasks.iter().flat_map(|task| ["--only", task]))
        // Shown in the output of a failed test.
        .stderr(Stdio::inherit());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{:?}", done.status);
    let result: Value = serde_json::from_slice(&done.stdout).unwrap();
    let mut contestants = result["episodes"].as_object().unwrap().values();
    let episodes = contestants.next().unwrap().as_array().unwrap().clone();
    assert!(contestants.next().is_none(), "one contestant only");
    episodes
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn web_tasks_are_solved_by_references() {
    let episodes = episodes(&TASKS);
    assert!(episodes.len() >= TASKS.len(), "{}", episodes.len());
    let failed: Vec<_> = episodes.iter().filter(|episode| episode["by_reference"] != true).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let false_done: Vec<_> = episodes.iter().filter(|episode| episode["false_done"] != false).collect();
    assert!(false_done.is_empty(), "{false_done:#?}");
}
