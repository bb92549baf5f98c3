//! Network rules of the process that the runtime starts as Chromium: the ports that it can connect to and listen on.

use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use super::harness::server::{PROGRAM, free_port};

/// The first version of Landlock with rules for TCP.
const WITH_TCP: u8 = 4;

/// Runs a bash script in place of Chromium. It may connect to one port and listen on another.
fn launched(connect: u16, landlock: u8, script: &str) -> Output {
    let orders = json!({"connect": connect, "bind": 1, "landlock": landlock}).to_string();
    let mut command = Command::new(PROGRAM);
    command.args(["launch", &orders, "/bin/bash", "-c", script]).stdin(Stdio::null()).env_clear();
    command.output().unwrap()
}

// Requirement 5.1.
#[test]
#[ignore = "needs bash and Python: run ./dev test"]
fn launched_program_connects_only_to_guard() {
    let guard = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let (guard, other) = (guard.local_addr().unwrap().port(), other.local_addr().unwrap().port());
    let script = |port: u16| format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let is_connected = |output: &Output| output.stdout == b"connected\n";
    assert!(is_connected(&launched(guard, WITH_TCP, &script(guard))), "control: the guard's port must be reachable");
    let refused = launched(guard, WITH_TCP, &script(other));
    assert!(!is_connected(&refused) && !refused.status.success(), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Permission denied"), "{refused:?}");
    assert!(is_connected(&launched(guard, 0, &script(other))), "control: without the rule it must connect");
    // Child processes are under the same rule.
    let below = launched(guard, WITH_TCP, &format!("/bin/bash -c '{}' || echo refused", script(other)));
    assert_eq!(below.stdout, b"refused\n", "{below:?}");
}

// Requirement 5.1.
#[test]
#[ignore = "needs bash and Python: run ./dev test"]
fn launched_program_listens_only_on_debugging_port() {
    let port = free_port();
    let script = format!(
        "exec /usr/bin/python3 -I -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", {port})); print(\"bound\")'"
    );
    let refused = launched(1, WITH_TCP, &script);
    assert!(
        refused.stdout.is_empty() && String::from_utf8_lossy(&refused.stderr).contains("Permission"),
        "{refused:?}"
    );
    assert_eq!(launched(1, 0, &script).stdout, b"bound\n", "control: without the rule it must listen");
}
