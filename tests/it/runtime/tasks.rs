//! How many tasks a runtime is: an orchestrator gives its container 256, and every thread of Chromium counts.

use std::fs;

use super::{
    super::e2e::{hosts::SHOP, world},
    server::{Runtime, Setup},
};

const LIMIT: usize = 256;

/// The threads of the runtime and of everything that it started.
fn tasks(runtime: &Runtime) -> usize {
    let everybody = runtime.started().into_iter().map(|process| process.id).chain([runtime.id()]);
    // a process may end between the listing and the reading
    everybody.filter_map(|id| fs::read_dir(format!("/proc/{id}/task")).ok()).map(Iterator::count).sum()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn five_tabs_are_well_within_the_tasks_of_a_container() {
    world::require_test_network();
    let runtime = Setup::real().arguments(&["--profile", "compat"]).start();
    runtime.exec(&format!("open http://{SHOP}/")).ok();
    let mut most = tasks(&runtime);
    assert!(most > 20, "control: Chromium's own are counted: {most}");
    for number in 2..=5 {
        runtime.exec(&format!("tab new http://{SHOP}/hello?{number}")).ok();
        runtime.exec("snapshot").ok();
        runtime.exec("screenshot").ok();
        most = most.max(tasks(&runtime));
    }
    assert_eq!(runtime.exec("tab list").ok().data()["tabs"].as_array().unwrap().len(), 5, "control");
    eprintln!("{most} tasks at most, with 5 tabs");
    assert!(most < LIMIT, "{most} tasks");
}
