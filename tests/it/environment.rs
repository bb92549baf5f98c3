//! Which descriptors agent-browser gets (spec [1.12]); `child` has its variables, folder and arguments.

use std::fs;

use serde_json::Value;

use super::harness::server::home;

/// The descriptors that whoever runs the tests passes on to every program that they start.
fn passed_on() -> Vec<String> {
    let close_on_exec = 0o2_000_000;
    let entries = fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let passed = entries.filter(|entry| {
        // the one that lists them is gone when it is asked for
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:")).map(str::trim);
        flags.is_some_and(|flags| u64::from_str_radix(flags, 8).unwrap() & close_on_exec == 0)
    });
    passed.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn spec_1_12_the_server_gives_the_child_three_streams_and_nothing_else_of_its_own() {
    let server = home().serve();
    // the second call: by then the server holds a lock, a pipe to its keeper and the audit file
    server.call("s", &["snapshot"]).ok();
    let data = server.call("s", &["click", "#fake-env"]).ok().data();
    // each is `NUMBER TARGET`
    let open: Vec<_> = data["fds"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let stream = |number: &str| open.iter().find_map(|one| one.strip_prefix(number)).unwrap_or_default();
    assert_eq!(stream("0 "), "/dev/null", "it cannot read the client's messages: {open:?}");
    assert!(stream("1 ").starts_with("pipe:") && stream("2 ").starts_with("pipe:"), "{open:?}");
    let passed_on = passed_on();
    let more: Vec<_> = open
        .iter()
        .filter(|one| {
            let number = one.split(' ').next().unwrap();
            !["0", "1", "2"].contains(&number) && !passed_on.iter().any(|passed| passed == number)
        })
        .collect();
    assert_eq!(more, [] as [&&str; 0]);
}
