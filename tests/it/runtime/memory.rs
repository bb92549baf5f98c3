//! Resource use of a runtime over thousands of calls: memory, descriptors and processes do not grow.
//!
//! The stand-ins answer, so the test takes seconds. The memory limit is that of a release build with its code (15 MB).

use std::{fs, thread};

use serde_json::json;

use super::{
    super::harness::processes::wait_for,
    server::{Runtime, Setup},
};

const CLIENTS: usize = 8;

/// Allowed growth of memory after the warm-up in bytes. Half a kilobyte retained for each of 8,000 calls would exceed it.
const GROWTH: u64 = 3 << 20;

/// Allowed memory in bytes, without the program's code, whose size depends on the compiler.
const BOUND: u64 = 15_000_000;

/// Returns the resident memory in bytes, without files such as the program, and the number of open descriptors.
fn resource_usage(runtime: &Runtime) -> (u64, usize) {
    let own = format!("/proc/{}", runtime.id());
    let status = fs::read_to_string(format!("{own}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    (kib * 1024, fs::read_dir(format!("{own}/fd")).unwrap().count())
}

/// Returns the same once no request is in progress.
fn resource_usage_at_rest(runtime: &Runtime) -> (u64, usize) {
    let mut last = resource_usage(runtime);
    wait_for("stable resource usage", || {
        let now = resource_usage(runtime);
        let resting = now.1 == last.1;
        last = now;
        resting.then_some(last)
    })
}

fn call(runtime: &Runtime, number: usize) {
    let sandbox = format!("client-{}", number % CLIENTS);
    let run = |cmd: &str| runtime.exec_with(&json!({"cmd": cmd, "sandbox_id": sandbox}));
    match number / CLIENTS % 20 {
        0 => {
            runtime.get("/meta").expect_status(200);
        }
        1 => {
            runtime.post("/exec", &json!({"cmd": 5, "sandbox_id": sandbox})).expect_status(422);
        }
        2 => {
            let batch = runtime
                .batch(&json!({"commands": ["eval 1", "snapshot"], "stop_on_error": false, "sandbox_id": sandbox}));
            assert_eq!(batch["completed_steps"], json!(2));
        }
        3 => {
            run(&format!("open http://93.184.215.14/{number}")).ok();
        }
        4 => {
            let data = run(&format!("fill #f{number} #fake-echo")).ok().data();
            assert!(
                data["argv"].as_array().unwrap().contains(&json!(format!("#f{number}"))),
                "the reply must belong to the call"
            );
        }
        5 => {
            run("click #fake-fail").fails_with(1);
        }
        6 if number % 800 == 6 * CLIENTS => {
            run("click #fake-big-50000").ok();
        }
        7 if number % 800 == 7 * CLIENTS => {
            runtime.delete(&format!("/sessions/{sandbox}")).expect_status(200);
        }
        8..=12 => assert_eq!(runtime.health().0, 200),
        13 => {
            run(&format!("open file:///{number}")).fails_with(77);
        }
        _ => {
            run(&format!("eval {number}")).fails_with(64);
        }
    }
}

fn calls(runtime: &Runtime, numbers: std::ops::Range<usize>) {
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let numbers = numbers.clone();
            scope.spawn(move || {
                numbers.filter(|number| number % CLIENTS == client).for_each(|number| call(runtime, number));
            });
        }
    });
}

/// Finds every process and descriptor that calls leave, and large leaks of memory.
#[test]
fn two_thousand_calls_leak_nothing() {
    calls_leak_nothing(500, 2_000);
}

#[test]
#[ignore = "takes 25 s of a core: run ./dev test all --part 9"]
fn ten_thousand_calls_leak_nothing() {
    calls_leak_nothing(2_000, 10_000);
}

/// Measures after the first `warm_up` calls and after `count`.
fn calls_leak_nothing(warm_up: usize, count: usize) {
    let runtime = Setup::shared().start();
    calls(&runtime, 0..warm_up);
    let (warm, open) = resource_usage_at_rest(&runtime);
    calls(&runtime, warm_up..count);
    let (end, still_open) = resource_usage_at_rest(&runtime);
    assert!(end <= warm + GROWTH, "memory grew from {warm} to {end} bytes");
    assert!(end < BOUND, "{end} bytes");
    // One for each call would be more than a thousand. A health check of the browser opens a connection now and then.
    assert!(still_open <= open + CLIENTS, "descriptors grew from {open} to {still_open}");
    for client in 0..CLIENTS {
        runtime.delete(&format!("/sessions/client-{client}")).expect_status(200);
    }
    // The runtime's own processes continue, but no process of a session may.
    wait_for("the end of the sessions' processes", || {
        (!runtime.started().iter().any(|process| process.command.contains("fake-agent-browser"))).then_some(())
    });
}
