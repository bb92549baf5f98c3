//! When something goes wrong: clients, Chromium, the disk, the end. Who is not concerned notices nothing, what can come back
//! comes back, and nothing is left running.

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
        e2e::world,
        harness::processes::{self, peak_memory, until},
    },
    door::{Ran, SESSION},
    server::{Runtime, Setup},
};

/// Waits until a command is under way.
fn until_running(runtime: &Runtime, part: &str) {
    until("the command", || runtime.started().iter().any(|process| process.command.contains(part)).then_some(()));
}

#[test]
fn two_hundred_clients_at_once_are_all_answered() {
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
    assert_eq!(codes, vec![true; 200], "each gets its own answer");
}

#[test]
fn a_browser_that_was_killed_is_started_again() {
    let runtime = Setup::stand_in().start();
    runtime.exec("snapshot").ok();
    // held, so that it cannot be back before anybody looks
    runtime.order("hold", true);
    processes::kill(&[runtime.chromium().unwrap()]);
    let (status, health) = until("another health", || Some(runtime.health()).filter(|(status, _)| *status != 200));
    assert_eq!((status, &health["browser_ready"]), (503, &json!(false)));
    until("the next start", || (runtime.starts() == 2).then_some(()));
    assert_eq!(runtime.health().1["status"], json!("degraded"));
    runtime.order("hold", false);
    runtime.until_healthy();
    runtime.exec("snapshot").ok();
    assert_eq!(runtime.starts(), 2);
}

/// Two that wait for half a minute each, side by side.
#[test]
fn half_requests_are_ended_and_a_browser_that_does_not_start_is_left_alone_for_a_while() {
    thread::scope(|scope| {
        for wait in [half_a_request_holds_nobody_up_and_is_ended, a_browser_that_does_not_start_is_not_started_for_ever]
        {
            scope.spawn(wait);
        }
    });
}

fn a_browser_that_does_not_start_is_not_started_for_ever() {
    let runtime = Setup::stand_in().start();
    runtime.order("broken", true);
    processes::kill(&[runtime.chromium().unwrap()]);
    let health =
        until("the end of the tries", || Some(runtime.health().1).filter(|health| health["status"] == "unhealthy"));
    assert_eq!(health["browser_ready"], json!(false));
    let starts = runtime.starts();
    assert!((2..=20).contains(&starts), "{starts} starts");
    // a call says so, and does not wait for its time-out to do it
    let answer = runtime.exec_with(&json!({"cmd": "click #fake-cdp-down", "timeout": 60, "sandbox_id": SESSION}));
    answer.fails_with(69);
    runtime.order("broken", false);
    // for now, not for ever
    until("a healthy runtime", || {
        runtime.exec("snapshot");
        (runtime.health().0 == 200).then_some(())
    });
    runtime.exec("snapshot").ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_full_disk_is_said_to_be_full_and_the_next_call_after_repair_works() {
    world::require_test_network();
    let setup = Setup::stand_in();
    let mount = setup.mount();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&mount).status().unwrap();
    assert!(mounted.success(), "mount: {mounted}");
    let runtime = setup.start();
    runtime.exec("screenshot small.png").ok();
    let answer = runtime.exec("screenshot #fake-png-3000000 big.png").fails_with(75);
    assert!(answer.stderr.starts_with("workspace-full"), "{answer:?}");
    assert!(!mount.join("big.png").exists(), "half a picture is none");
    // nothing left at all: not one byte for a small one
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
        "and no leftovers"
    );
    drop(runtime);
    let unmounted = Command::new("umount").arg("--lazy").arg(&mount).status().unwrap();
    assert!(unmounted.success());
}

fn half_a_request_holds_nobody_up_and_is_ended() {
    let runtime = Setup::stand_in().start();
    let whole = runtime.request("POST", "/exec", &["Content-Type: application/json"], "{\"cmd\": \"snapshot\"}");
    let head = whole.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    // nothing, half a line, half a head, a head, a body without its last byte
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
        // an answer such as 408, or none; and then the end
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
fn half_a_request_does_not_hold_the_end() {
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
    let told = Instant::now();
    runtime.signal(Signal::TERM);
    assert!(runtime.wait().success());
    // nothing runs, so that nothing is waited for: neither for the grace nor for the rest of a request
    assert!(told.elapsed() < Duration::from_secs(15), "{:?}", told.elapsed());
    drop(half);
}

#[test]
fn a_client_that_does_not_read_holds_nobody_up() {
    let runtime = Setup::stand_in().start();
    let before = peak_memory(runtime.id());
    // more than the system keeps for a reader that does not come
    let requests = "GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".repeat(1000);
    let slow: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = runtime.connect();
            // as much as the server takes: it reads no further than it can answer
            stream.set_nonblocking(true).unwrap();
            drop(stream.write_all(requests.as_bytes()));
            stream
        })
        .collect();
    for _ in 0..10 {
        runtime.exec("snapshot").ok();
    }
    let grown = peak_memory(runtime.id()).saturating_sub(before);
    assert!(grown < 64 << 20, "the answers that nobody reads are not kept: {grown} bytes");
    drop(slow);
}

#[test]
fn a_client_that_goes_away_ends_its_command() {
    let runtime = Setup::stand_in().start();
    let mut stream = runtime.connect();
    let body = json!({"cmd": "click #fake-sleep-600000", "timeout": 300, "sandbox_id": SESSION}).to_string();
    stream.write_all(&runtime.request("POST", "/exec", &["Content-Type: application/json"], &body)).unwrap();
    until_running(&runtime, "600000");
    drop(stream);
    until("the end of its command", || {
        (!runtime.started().iter().any(|process| process.command.contains("600000"))).then_some(())
    });
    runtime.exec("snapshot").ok();
}

#[test]
fn a_call_that_waits_for_another_one_does_not_wait_longer_than_it_may() {
    let runtime = Setup::stand_in().start();
    thread::scope(|scope| {
        let first = scope.spawn(|| runtime.exec("click #fake-sleep-4000"));
        until_running(&runtime, "fake-sleep");
        let second = runtime.exec_with(&json!({"cmd": "snapshot", "timeout": 1, "sandbox_id": SESSION}));
        assert!([-1, 75].contains(&second.code) && !second.stderr.is_empty(), "{second:?}");
        assert!(!first.is_finished(), "control: the first one still runs");
        first.join().unwrap().ok();
    });
    runtime.exec("snapshot").ok();
}

#[test]
fn a_session_that_is_deleted_in_mid_call_is_gone() {
    let runtime = Setup::shared().start();
    let body = json!({"cmd": "click #fake-sleep-600000", "timeout": 300, "sandbox_id": "one"});
    thread::scope(|scope| {
        let running = scope.spawn(|| Ran::read(&runtime.post("/exec", &body).is(200).json()));
        until_running(&runtime, "600000");
        assert_eq!(runtime.delete("/sessions/one").is(200).json()["destroyed"], json!(true));
        assert!(!runtime.started().iter().any(|process| process.command.contains("600000")), "nothing of it goes on");
        assert_ne!(running.join().unwrap().code, 0);
    });
    runtime.exec_with(&json!({"cmd": "snapshot", "sandbox_id": "one"})).ok();
}

#[test]
fn a_batch_of_fifty_steps_ends_with_its_time() {
    let runtime = Setup::stand_in().start();
    let mut commands = vec!["snapshot"; 50];
    commands[5] = "click #fake-sleep-600000";
    let batch =
        runtime.batch(&json!({"commands": commands, "timeout": 4, "stop_on_error": false, "sandbox_id": SESSION}));
    assert_eq!(
        (&batch["total_steps"], &batch["completed_steps"], &batch["success"]),
        (&json!(50), &json!(6), &json!(false))
    );
    let steps: Vec<_> = batch["results"].as_array().unwrap().iter().map(Ran::read).collect();
    assert!(steps[..5].iter().all(|step| step.code == 0), "{batch}");
    assert!(steps[5].code != 0 && steps[5].stderr.contains("timed out"), "{:?}", steps[5]);
    assert!(!runtime.started().iter().any(|process| process.command.contains("600000")), "nothing of it goes on");
    // the control: with nothing that sleeps, all of them
    let whole = runtime.batch(&json!({"commands": vec!["snapshot"; 50], "timeout": 600, "sandbox_id": SESSION}));
    assert_eq!((&whole["completed_steps"], &whole["success"]), (&json!(50), &json!(true)));
}

#[test]
fn what_runs_when_it_is_told_to_end_is_finished_first() {
    let mut runtime = Setup::stand_in().start();
    runtime.exec("click #fake-daemon").ok();
    let answer = thread::scope(|scope| {
        let call = scope.spawn(|| runtime.exec("click #fake-sleep-2000"));
        until_running(&runtime, "fake-sleep");
        runtime.signal(Signal::TERM);
        call.join().unwrap()
    });
    answer.ok();
    assert!(runtime.wait().success());
    // dropping it waits for the end of everything that it started
}

#[test]
fn what_takes_longer_than_the_grace_is_ended() {
    let mut runtime = Setup::stand_in().arguments(&["--grace-sec", "1"]).start();
    runtime.exec("click #fake-daemon-stubborn").ok();
    let reply = thread::scope(|scope| {
        let body = json!({"cmd": "click #fake-ignore-term", "timeout": 300, "sandbox_id": SESSION}).to_string();
        let bytes = runtime.request("POST", "/exec", &["Content-Type: application/json"], &body);
        let door = runtime.with_token(None);
        let call = scope.spawn(move || door.send(&bytes));
        until_running(&runtime, "sleep 600");
        until("the command itself", || {
            (runtime.started().iter().filter(|process| process.command.contains("sleep 600")).count() == 2)
                .then_some(())
        });
        runtime.signal(Signal::TERM);
        call.join().unwrap()
    });
    // hung up, or told so; never a success
    assert!(reply.is_none_or(|reply| reply.status != 200 || Ran::read(&reply.json()).code != 0));
    assert!(runtime.wait().success());
}

#[test]
fn when_it_is_killed_nothing_of_it_goes_on() {
    let mut runtime = Setup::stand_in().start();
    runtime.exec("click #fake-daemon").ok();
    let body = json!({"cmd": "click #fake-sleep-600000", "timeout": 300, "sandbox_id": SESSION}).to_string();
    let mut stream = runtime.connect();
    stream.write_all(&runtime.request("POST", "/exec", &["Content-Type: application/json"], &body)).unwrap();
    until_running(&runtime, "600000");
    let started = runtime.started();
    assert!(started.len() >= 3, "control: Chromium, a daemon and a command: {started:?}");
    runtime.signal(Signal::KILL);
    assert_eq!(runtime.wait().code(), None);
    until("the end of everything that it started", || (!started.iter().any(processes::lives)).then_some(()));
}

#[test]
fn a_wrong_policy_refuses_and_a_right_one_counts_at_once() {
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
