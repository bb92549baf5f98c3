//! `benches/pool.py`, the simulation of a pool, compared with the queue M/M/c, whose waiting times are known, and with itself.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Runs the simulation, and returns the figures of each of its runs.
fn simulate(arguments: &[&str]) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/pool.py");
    let mut python = Command::new("python3");
    let run = python.arg("-B").arg(script).args(arguments).arg("--json").stdin(Stdio::null()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

/// Mean length of a session, in seconds.
const LENGTH_S: f64 = 30.0;

fn figure(run: &Value, name: &str) -> f64 {
    run[name].as_f64().unwrap_or_else(|| panic!("no `{name}` in {run}"))
}

/// Returns the probability that a customer of M/M/c waits, by Erlang's formula C, for a load in erlangs.
fn erlang_c(servers: u32, load: f64) -> f64 {
    let blocked = (1..=servers).fold(1.0, |blocked, count| load * blocked / (f64::from(count) + load * blocked));
    let utilization = load / f64::from(servers);
    blocked / (1.0 - utilization * (1.0 - blocked))
}

#[test]
#[ignore = "takes 8 s of a core, and is about a simulation: run ./dev test all --part 9"]
fn pool_without_starts_and_losses_waits_as_erlang_c_says() {
    assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-9, "control: M/M/1");
    for (servers, load, days) in [(1_u32, 0.7, 61), (4, 3.0, 21), (10, 8.0, 11)] {
        let rate = (load * 3600.0 / LENGTH_S).to_string();
        let (hourly, count, days) = ([rate.as_str(); 24].join(","), servers.to_string(), days.to_string());
        let fixed =
            ["--first-call", "0", "--cold-start", "0", "--slots", "1", "--tail", "0", "--length", "30", "--spare", "0"];
        let own = ["--per-hour", &hourly, "--least", &count, "--most", &count, "--days", &days];
        let run = simulate(&[&fixed[..], &own].concat()).remove(0);
        let waits = erlang_c(servers, load);
        // Sessions that wait do so for an exponential time with this mean.
        let mean = LENGTH_S / (f64::from(servers) - load);
        let at = |share: f64| (mean * (waits / (1.0 - share)).ln()).max(0.0);
        let (seconds, share) = (0.01 * LENGTH_S, 0.01);
        for (name, expected, slack) in [
            ("waited", waits, share),
            ("mean_s", waits * mean, seconds),
            ("p50_s", at(0.5), seconds),
            ("p99_s", at(0.99), seconds),
            ("pods", f64::from(servers), 0.0),
        ] {
            let found = figure(&run, name);
            let is_close = (found - expected).abs() <= 0.08 * expected + slack;
            assert!(is_close, "{servers} servers, {name}: {found} instead of {expected}");
        }
    }
}

#[test]
fn spare_slots_cost_pods_and_save_waits() {
    let fixed = ["--first-call", "0.5", "--cold-start", "30", "--slots", "2", "--per-hour", "400"];
    let runs = simulate(&[&fixed[..], &["--spare", "0", "--spare", "2", "--spare", "16"]].concat());
    for pair in runs.windows(2) {
        assert!(figure(&pair[0], "cost") < figure(&pair[1], "cost"), "{pair:?}");
        assert!(figure(&pair[0], "p99_s") > figure(&pair[1], "p99_s"), "{pair:?}");
        assert_eq!(pair[0]["sessions"], pair[1]["sessions"], "the same sessions arrive");
    }
    // The first call is the least; a pod that starts is most of the longest wait.
    assert!((figure(&runs[2], "p50_s") - 0.5).abs() < 1e-9, "{runs:?}");
    assert!((20.0..=31.0).contains(&figure(&runs[0], "p99_s")), "{runs:?}");
    assert_eq!(simulate(&[&fixed[..], &["--spare", "0"]].concat())[0], runs[0], "the same seed");

    // Pods that are lost on average after two hours take sessions with them, which wait once more.
    let lost = simulate(&[&fixed[..], &["--spare", "0", "--lost-hours", "2"]].concat()).remove(0);
    assert!(figure(&lost, "lost") > 100.0 && figure(&runs[0], "lost") == 0.0, "{lost}");
    assert!(figure(&lost, "cold") > figure(&runs[0], "cold"), "{lost}");
}

#[test]
fn simulation_without_times_says_what_is_missing() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/pool.py");
    let run = Command::new("python3").arg("-B").arg(script).output().unwrap();
    let error = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success() && error.contains("--figures"), "{error}");
}
