//! Number of tasks of a runtime. An orchestrator limits its container to 256 tasks, and every thread of Chromium
//! counts.

use std::fs;

use super::{
    super::e2e::{hosts::SHOP, test_env},
    server::{Runtime, Setup},
};

const LIMIT: usize = 256;

/// Returns the number of threads of the runtime and of all processes that it started.
fn tasks(runtime: &Runtime) -> usize {
    let ids = runtime.started().into_iter().map(|process| process.id).chain([runtime.id()]);
    // A process may end between listing and reading.
    ids.filter_map(|id| fs::read_dir(format!("/proc/{id}/task")).ok()).map(Iterator::count).sum()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn five_tabs_fit_container_task_limit() {
    test_env::require_test_network();
    let runtime = Setup::real().arguments(&["--profile", "compat"]).start();
    runtime.exec(&format!("open http://{SHOP}/")).ok();
    let mut most = tasks(&runtime);
    assert!(most > 20, "control: Chromium's threads must be counted: {most}");
    for number in 2..=5 {
        runtime.exec(&format!("tab new http://{SHOP}/hello?{number}")).ok();
        runtime.exec("snapshot").ok();
        runtime.exec("screenshot").ok();
        most = most.max(tasks(&runtime));
    }
    assert_eq!(runtime.exec("tab list").ok().stdout.lines().count(), 5, "control: one line for each tab");
    eprintln!("{most} tasks at most, with 5 tabs");
    assert!(most < LIMIT, "{most} tasks");
}
