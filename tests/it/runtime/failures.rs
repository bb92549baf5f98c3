//! Failures of clients, Chromium and the disk, and shutdown. Other calls are not affected, the runtime recovers where
//! it can, and no process is left.

use std::{
    fs,
    io::{Read, Write},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    super::{
        e2e::test_env,
        harness::processes::{self, peak_memory, wait_for},
    },
    client::{ExecOutcome, SESSION},
    server::{Runtime, Setup},
};

/// Waits until a command runs.
fn wait_until_running(runtime: &Runtime, part: &str) {
    wait_for("the command", || runtime.started().iter().any(|process| process.command.contains(part)).then_some(()));
}

#[test]
fn two_hundred_concurrent_clients_are_all_answered() {
    let runtime = Setup::stand_in().start();
    let codes: Vec<_> = thread::scope(|scope| {
        let one = |number: usize| {
            let runtime = &runtime;
            move || {
                assert_eq!(runtime.health().0, 200);
                let answer = runtime.exec_with(
                    &json!({"cmd": format!("fill #f{number} #fake-echo"), "timeout": 120, "sandbox_id": SESSION}),
                );
                let data = answer.ok().data();
                data["argv"].as_array().unwrap().contains(&json!(format!("#f{number}")))
            }
        };
        let clients: Vec<_> = (0..200).map(|number| scope.spawn(one(number))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(codes, vec![true; 200], "each client must get its own reply");
}

#[test]
fn killed_browser_is_restarted() {
    let runtime = Setup::stand_in().start();
    runtime.exec("snapshot").ok();
    // Held back, so that the test can observe the interval without a browser.
    runtime.set_control_file("hold", true);
    processes::kill(&[runtime.chromium().unwrap()]);
    let (status, health) =
        wait_for("an unhealthy status", || Some(runtime.health()).filter(|(status, _)| *status != 200));
    assert_eq!((status, &health["browser_ready"], &health["browser_active"]), (503, &json!(false), &json!(false)));
    wait_for("the next start", || (runtime.starts() == 2).then_some(()));
    assert_eq!(runtime.health().1["status"], json!("degraded"));
    runtime.set_control_file("hold", false);
    runtime.wait_until_healthy();
    assert_eq!(runtime.health().1["browser_active"], json!(true));
    runtime.exec("snapshot").ok();
    assert_eq!(runtime.starts(), 2);
}

#[test]
fn stopped_browser_is_restarted() {
    let runtime = Setup::stand_in().start();
    runtime.exec("snapshot").ok();
    let stopped = runtime.chromium().unwrap();
    // Control: one that is stopped for a moment goes on.
    processes::signal(stopped.id, Signal::STOP);
    processes::signal(stopped.id, Signal::CONT);
    runtime.exec("snapshot").ok();
    assert_eq!(runtime.starts(), 1);
    processes::signal(stopped.id, Signal::STOP);
    wait_for("the next start", || (runtime.starts() == 2).then_some(()));
    runtime.wait_until_healthy();
    runtime.exec("snapshot").ok();
}

/// Runs two tests in parallel, because each waits for half a minute.
#[test]
fn partial_requests_time_out_and_failing_browser_backs_off() {
    thread::scope(|scope| {
        for wait in [incomplete_requests_time_out, failing_browser_starts_are_limited] {
            scope.spawn(wait);
        }
    });
}

fn failing_browser_starts_are_limited() {
    let runtime = Setup::stand_in().start();
    runtime.set_control_file("broken", true);
    processes::kill(&[runtime.chromium().unwrap()]);
    let health = wait_for("the status `unhealthy`", || {
        Some(runtime.health().1).filter(|health| health["status"] == "unhealthy")
    });
    assert_eq!((&health["browser_ready"], &health["browser_active"]), (&json!(false), &json!(false)));
    let starts = runtime.starts();
    assert!((2..=20).contains(&starts), "{starts} starts");
    // A call fails at once instead of waiting for its timeout.
    let answer = runtime.exec_with(&json!({"cmd": "click #fake-cdp-down", "timeout": 60, "sandbox_id": SESSION}));
    answer.fails_with(69);
    runtime.set_control_file("broken", false);
    // The runtime tries again later.
    wait_for("a healthy runtime", || {
        runtime.exec("snapshot");
        (runtime.health().0 == 200).then_some(())
    });
    runtime.exec("snapshot").ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn full_disk_is_reported_and_runtime_recovers() {
    test_env::require_test_network();
    let setup = Setup::stand_in();
    let mount = setup.mount();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&mount).status().unwrap();
    assert!(mounted.success(), "mount: {mounted}");
    let runtime = setup.start();
    runtime.exec("screenshot small.png").ok();
    let answer = runtime.exec("screenshot #fake-png-3000000 big.png").fails_with(75);
    assert!(answer.stderr.starts_with("workspace-full"), "{answer:?}");
    assert!(!mount.join("big.png").exists(), "a partial file must not remain");
    // The disk is completely full.
    let filler = mount.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    drop(file);
    runtime.exec("screenshot other.png").fails_with(75);
    runtime.exec("snapshot").ok();
    fs::remove_file(&filler).unwrap();
    runtime.exec("screenshot other.png").ok();
    assert!(mount.join("other.png").exists());
    assert_eq!(
        fs::read_dir(&mount).unwrap().flatten().filter(|entry| entry.path().is_file()).count(),
        2,
        "no temporary file may remain"
    );
    drop(runtime);
    let unmounted = Command::new("umount").arg("--lazy").arg(&mount).status().unwrap();
    assert!(unmounted.success());
}

fn incomplete_requests_time_out() {
    let runtime = Setup::stand_in().start();
    let whole = runtime.request_bytes("POST", "/exec", &["Content-Type: application/json"], "{\"cmd\": \"snapshot\"}");
    let head = whole.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    // Nothing, half a line, half a head, a head, a body without its last byte.
    let mut half: Vec<_> = [0, 5, head - 7, head + 4, whole.len() - 1]
        .iter()
        .flat_map(|&end| std::iter::repeat_n(end, 20))
        .map(|end| {
            let mut stream = runtime.connect();
            stream.write_all(&whole[..end]).unwrap();
            stream
        })
        .collect();
    for _ in 0..5 {
        runtime.exec("snapshot").ok();
        assert_eq!(runtime.health().0, 200);
    }
    for stream in &mut half {
        // A response such as 408, or none, and then the end of the connection.
        let mut rest = String::new();
        let ended = stream.read_to_string(&mut rest);
        assert!(
            ended.is_ok() || ended.as_ref().unwrap_err().kind() == std::io::ErrorKind::ConnectionReset,
            "{ended:?}"
        );
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 4"), "{rest}");
    }
}

#[test]
fn partial_request_does_not_delay_shutdown() {
    let mut runtime = Setup::stand_in().arguments(&["--grace-sec", "600"]).start();
    let half: Vec<_> = ["", "POST /exec HT", "POST /exec HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"]
        .iter()
        .map(|part| {
            let mut stream = runtime.connect();
            stream.write_all(part.as_bytes()).unwrap();
            stream
        })
        .collect();
    runtime.exec("snapshot").ok();
    let signalled_at = Instant::now();
    runtime.signal(Signal::TERM);
    assert!(runtime.wait().success());
    // Nothing runs, so shutdown waits neither for the grace period nor for the rest of a request.
    assert!(signalled_at.elapsed() < Duration::from_secs(15), "{:?}", signalled_at.elapsed());
    drop(half);
}

#[test]
fn client_that_does_not_read_blocks_no_other_client() {
    let runtime = Setup::stand_in().start();
    let before = peak_memory(runtime.id());
    // More than the system buffers for a client that does not read.
    let requests = "GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".repeat(1000);
    let slow: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = runtime.connect();
            // As much as the server accepts: it reads no further than it can respond.
            stream.set_nonblocking(true).unwrap();
            drop(stream.write_all(requests.as_bytes()));
            stream
        })
        .collect();
    for _ in 0..10 {
        runtime.exec("snapshot").ok();
    }
    let grown = peak_memory(runtime.id()).saturating_sub(before);
    assert!(grown < 64 << 20, "unread responses must not be buffered: {grown} bytes");
    drop(slow);
}

#[test]
fn runtime_client_disconnect_ends_its_command() {
    let runtime = Setup::stand_in().start();
    let mut stream = runtime.connect();
    let body = json!({"cmd": "click #fake-sleep-600000", "timeout": 300, "sandbox_id": SESSION}).to_string();
    stream.write_all(&runtime.request_bytes("POST", "/exec", &["Content-Type: application/json"], &body)).unwrap();
    wait_until_running(&runtime, "600000");
    drop(stream);
    wait_for("the end of its command", || {
        (!runtime.started().iter().any(|process| process.command.contains("600000"))).then_some(())
    });
    runtime.exec("snapshot").ok();
}

#[test]
fn command_in_a_protocol_session_ends_by_its_cancellation() {
    let runtime = Setup::stand_in().start();
    let types = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    let hello = runtime.request("POST", "/mcp", &types, &hello.to_string()).expect_status(200);
    let id = format!("Mcp-Session-Id: {}", hello.header("mcp-session-id").unwrap());
    let headers = [&types[..], &[id.as_str()]].concat();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_browser", "arguments":
        {"cmd": "click #fake-sleep-600000", "timeout": 300, "sandbox_id": SESSION}}});
    let is_running = || runtime.started().iter().any(|process| process.command.contains("600000"));
    let mut stream = runtime.connect();
    stream.write_all(&runtime.request_bytes("POST", "/mcp", &headers, &call.to_string())).unwrap();
    wait_until_running(&runtime, "600000");
    drop(stream);
    runtime.request("POST", "/mcp", &headers, r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).expect_status(200);
    assert!(is_running(), "the end of the connection leaves it");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}).to_string();
    // The document of the routes does not have the statuses of notifications.
    let canceled = runtime.send(&runtime.request_bytes("POST", "/mcp", &headers, &cancel)).unwrap();
    assert_eq!(canceled.status, 202);
    wait_for("its end", || (!is_running()).then_some(()));
    runtime.exec("snapshot").ok();
}

#[test]
fn queued_call_waits_no_longer_than_its_timeout() {
    let runtime = Setup::stand_in().start();
    thread::scope(|scope| {
        let first = scope.spawn(|| runtime.exec("click #fake-sleep-4000"));
        wait_until_running(&runtime, "fake-sleep");
        let second = runtime.exec_with(&json!({"cmd": "snapshot", "timeout": 1, "sandbox_id": SESSION}));
        assert!([-1, 75].contains(&second.code) && !second.stderr.is_empty(), "{second:?}");
        assert!(!first.is_finished(), "control: the first call must still run");
        first.join().unwrap().ok();
    });
    runtime.exec("snapshot").ok();
}

#[test]
fn session_deleted_during_call_is_gone() {
    let runtime = Setup::shared().start();
    let body = json!({"cmd": "click #fake-sleep-600000", "timeout": 300, "sandbox_id": "one"});
    thread::scope(|scope| {
        let running = scope.spawn(|| ExecOutcome::read(&runtime.post("/exec", &body).expect_status(200).json()));
        wait_until_running(&runtime, "600000");
        assert_eq!(runtime.delete("/sessions/one").expect_status(200).json()["destroyed"], json!(true));
        assert!(
            !runtime.started().iter().any(|process| process.command.contains("600000")),
            "its process must have ended"
        );
        assert_ne!(running.join().unwrap().code, 0);
    });
    runtime.exec_with(&json!({"cmd": "snapshot", "sandbox_id": "one"})).ok();
}

#[test]
fn batch_of_fifty_steps_ends_at_its_timeout() {
    let runtime = Setup::stand_in().start();
    let mut commands = vec!["snapshot"; 50];
    commands[5] = "click #fake-sleep-600000";
    let batch =
        runtime.batch(&json!({"commands": commands, "timeout": 4, "stop_on_error": false, "sandbox_id": SESSION}));
    assert_eq!(
        (&batch["total_steps"], &batch["completed_steps"], &batch["success"]),
        (&json!(50), &json!(6), &json!(false))
    );
    let steps: Vec<_> = batch["results"].as_array().unwrap().iter().map(ExecOutcome::read).collect();
    assert!(steps[..5].iter().all(|step| step.code == 0), "{batch}");
    assert!(steps[5].code != 0 && steps[5].stderr.contains("timed out"), "{:?}", steps[5]);
    assert!(!runtime.started().iter().any(|process| process.command.contains("600000")), "its process must have ended");
    // Control: without a sleeping step, all steps complete.
    let whole = runtime.batch(&json!({"commands": vec!["snapshot"; 50], "timeout": 600, "sandbox_id": SESSION}));
    assert_eq!((&whole["completed_steps"], &whole["success"]), (&json!(50), &json!(true)));
}

#[test]
fn running_call_finishes_before_shutdown() {
    let mut runtime = Setup::stand_in().start();
    runtime.exec("click #fake-daemon").ok();
    let answer = thread::scope(|scope| {
        let call = scope.spawn(|| runtime.exec("click #fake-sleep-2000"));
        wait_until_running(&runtime, "fake-sleep");
        runtime.signal(Signal::TERM);
        call.join().unwrap()
    });
    answer.ok();
    assert!(runtime.wait().success());
    // Dropping the runtime waits until all processes that it started have ended.
}

#[test]
fn running_stream_finishes_before_shutdown() {
    let mut runtime = Setup::stand_in().start();
    let types = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "execute_browser", "_meta": {"progressToken": "t"},
        "arguments": {"cmd": "click #fake-sleep-4000", "timeout": 60, "sandbox_id": SESSION},
    }});
    let mut stream = runtime.connect();
    stream.write_all(&runtime.request_bytes("POST", "/mcp", &types, &call.to_string())).unwrap();
    wait_until_running(&runtime, "fake-sleep");
    runtime.signal(Signal::TERM);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("notifications/progress"), "control: it is a stream: {answer}");
    assert!(answer.contains(r#""isError":false"#), "{answer}");
    assert!(runtime.wait().success());
}

#[test]
fn call_exceeding_grace_period_is_ended() {
    let mut runtime = Setup::stand_in().arguments(&["--grace-sec", "1"]).start();
    runtime.exec("click #fake-daemon-stubborn").ok();
    let reply = thread::scope(|scope| {
        let body = json!({"cmd": "click #fake-ignore-term", "timeout": 300, "sandbox_id": SESSION}).to_string();
        let bytes = runtime.request_bytes("POST", "/exec", &["Content-Type: application/json"], &body);
        let client = runtime.with_token(None);
        let call = scope.spawn(move || client.send(&bytes));
        wait_until_running(&runtime, "sleep 600");
        wait_for("the command itself", || {
            (runtime.started().iter().filter(|process| process.command.contains("sleep 600")).count() == 2)
                .then_some(())
        });
        runtime.signal(Signal::TERM);
        call.join().unwrap()
    });
    // The connection was closed or the call failed, but it never succeeded.
    assert!(reply.is_none_or(|reply| reply.status != 200 || ExecOutcome::read(&reply.json()).code != 0));
    assert!(runtime.wait().success());
}

#[test]
fn killed_runtime_leaves_no_process() {
    let mut runtime = Setup::stand_in().start();
    runtime.exec("click #fake-daemon").ok();
    let body = json!({"cmd": "click #fake-sleep-600000", "timeout": 300, "sandbox_id": SESSION}).to_string();
    let mut stream = runtime.connect();
    stream.write_all(&runtime.request_bytes("POST", "/exec", &["Content-Type: application/json"], &body)).unwrap();
    wait_until_running(&runtime, "600000");
    let started = runtime.started();
    assert!(started.len() >= 3, "control: Chromium, a daemon and a command: {started:?}");
    runtime.signal(Signal::KILL);
    assert_eq!(runtime.wait().code(), None);
    wait_for("the end of everything that it started", || (!started.iter().any(processes::is_alive)).then_some(()));
}

#[test]
fn wrong_policy_refuses_and_fixed_policy_applies_at_once() {
    let runtime = Setup::stand_in().start();
    let open = || runtime.exec("open http://93.184.215.14/");
    open().ok();
    let without = json!({"sandbox": {"enabled": false}});
    let policy = |open: Value| {
        let mut policy = without.clone();
        policy["open"] = open;
        policy
    };
    runtime.write_policy(&policy(json!({"deny_hosts": ["93.184.215.14"]})));
    open().fails_with(77);
    runtime.write_policy(&policy(json!({"deny_hosts": 5})));
    assert!(open().fails_with(77).stderr.starts_with("policy-invalid"));
    runtime.write_policy(&without);
    open().ok();
}
