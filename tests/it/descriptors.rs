//! Descriptors that agent-browser inherits (spec [1.12]).

use std::fs;

use serde_json::Value;

use super::harness::server::stand_in_env;

/// Returns the descriptors that the test process itself passes on to child processes.
fn inherited() -> Vec<String> {
    let close_on_exec = 0o2_000_000;
    let entries = fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let passed = entries.filter(|entry| {
        // The descriptor of this listing is closed again by now.
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:")).map(str::trim);
        flags.is_some_and(|flags| u64::from_str_radix(flags, 8).unwrap() & close_on_exec == 0)
    });
    passed.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

// Requirement 1.12.
#[test]
fn server_passes_only_three_streams_to_child() {
    let server = stand_in_env().serve();
    // By the second call, the server has a lock, a pipe to the reaper and the audit file open.
    server.call("s", &["snapshot"]).ok();
    let data = server.call("s", &["click", "#fake-env"]).ok().data();
    // Each entry is `NUMBER TARGET`.
    let open: Vec<_> = data["fds"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let stream = |number: &str| open.iter().find_map(|one| one.strip_prefix(number)).unwrap_or_default();
    assert_eq!(stream("0 "), "/dev/null", "the child must not read the client's messages: {open:?}");
    assert!(stream("1 ").starts_with("pipe:") && stream("2 ").starts_with("pipe:"), "{open:?}");
    let inherited = inherited();
    let more: Vec<_> = open
        .iter()
        .filter(|one| {
            let number = one.split(' ').next().unwrap();
            !["0", "1", "2"].contains(&number) && !inherited.iter().any(|passed| passed == number)
        })
        .collect();
    assert_eq!(more, [] as [&&str; 0]);
}
