//! Scheduling of calls (spec [1.11]): one call of a session at a time, parallel sessions, limits, and several
//! processes.

use serde_json::json;
use tempfile::TempDir;

use super::harness::processes::wait_for;
use super::harness::server::{TestEnv, stand_in_env};

#[test]
fn calls_of_one_session_never_overlap() {
    let meeting = TempDir::new().unwrap();
    let server = stand_in_env().serve();
    let order = format!("#fake-alone-{}", meeting.path().display());
    let calls: Vec<_> = (0..6).map(|_| server.begin("s", &["click", &order], None)).collect();
    for call in calls {
        assert_eq!(call.answer().ok().data()["alone"], true);
    }
    // Control: calls of different sessions do overlap. On a busy machine, not at once.
    wait_for("calls that overlap", || {
        let others: Vec<_> =
            (0..6).map(|number| server.begin(&format!("o{number}"), &["click", &order], None)).collect();
        let alone: Vec<_> = others.into_iter().map(|call| call.answer().ok().data()["alone"] == true).collect();
        alone.contains(&false).then_some(())
    });
}

#[test]
fn eight_sessions_run_concurrently() {
    let meeting = TempDir::new().unwrap();
    let server = stand_in_env().serve();
    let order = format!("#fake-meet-8-{}", meeting.path().display());
    let calls: Vec<_> = (0..8).map(|number| server.begin(&format!("s{number}"), &["click", &order], None)).collect();
    for call in calls {
        assert_eq!(call.answer().ok().data()["met"], true);
    }
}

#[test]
fn calls_beyond_limit_wait_then_exit_75() {
    let server = stand_in_env().with("BROWSER_SHELL_CONCURRENCY", "1").serve();
    let long = server.begin("long", &["click", "#fake-sleep-600000"], None);
    wait_for("the long call", || {
        server.processes().iter().any(|process| process.command.contains("fake-sleep")).then_some(())
    });
    server.call_within(1, "short", &["snapshot"]).fails_with(75);
    let patient = server.begin("patient", &["snapshot"], Some(120));
    server.cancel(&long);
    patient.answer().ok();
}

#[test]
fn session_count_is_limited_and_close_frees_a_slot() {
    let server = stand_in_env().with("BROWSER_SHELL_MAX_SESSIONS", "2").serve();
    server.call("one", &["snapshot"]).ok();
    server.call("two", &["snapshot"]).ok();
    server.call("three", &["snapshot"]).fails_with(75);
    server.call("one", &["close"]).ok();
    server.call("three", &["snapshot"]).ok();
}

#[test]
fn close_of_unknown_session_needs_no_place() {
    let server = stand_in_env().with("BROWSER_SHELL_MAX_SESSIONS", "1").serve();
    server.call("one", &["snapshot"]).ok();
    server.call("gone", &["snapshot"]).fails_with(75);
    assert_eq!(server.call("gone", &["close"]).ok().data()["closed"], true);
    server.call("two", &["snapshot"]).fails_with(75);
    server.call("one", &["close"]).ok();
    server.call("two", &["snapshot"]).ok();
}

#[test]
fn refused_call_opens_no_session() {
    let server = stand_in_env().with("BROWSER_SHELL_MAX_SESSIONS", "1").serve();
    for number in 0..5 {
        server.call(&format!("r{number}"), &["open", "http://10.0.0.1/"]).fails_with(77);
    }
    server.call("only", &["snapshot"]).ok();
}

#[test]
fn session_used_by_another_process_is_busy() {
    let env = stand_in_env();
    let other = TestEnv::new(&super::harness::server::stand_in());
    let server = env.serve();
    server.call("s", &["snapshot"]).ok();
    let call = |session: &str, timeout: &str| {
        server.env().run(&["call", "--session", session, "--timeout", timeout, "--", "snapshot"])
    };
    let refused = call("s", "1");
    assert_eq!(refused.status.code(), Some(75));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("session-in-use"));
    assert!(call("another", "60").status.success(), "control: another session");
    server.call("s", &["close"]).ok();
    assert!(call("s", "60").status.success(), "control: the same one when it is closed");
    assert!(
        other.run(&["call", "--session", "s", "--", "snapshot"]).status.success(),
        "other folders have separate sessions"
    );
}

#[test]
fn ids_that_look_like_flags_or_paths_are_plain_sessions() {
    let server = stand_in_env().serve();
    let mut names = std::collections::BTreeSet::new();
    for id in ["--json", "-h", ".x", "a.b", "...", &"x".repeat(64)] {
        let answer = server.call(id, &["click", "#fake-echo"]).ok();
        assert_eq!(answer.session, id);
        let argv = answer.data()["argv"].as_array().unwrap().clone();
        assert_eq!(argv[0], json!("--session"));
        let name = argv[1].as_str().unwrap().to_owned();
        assert!(!name.starts_with(['-', '.']) && !name.contains(['.', '/']), "{name}");
        assert!(names.insert(name), "{id} has the same name as another id");
    }
}

#[test]
fn calls_of_one_session_run_in_arrival_order() {
    // The stand-in appends its calls to this file if it exists next to the program.
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("agent-browser");
    std::fs::copy(super::harness::server::stand_in(), &program).unwrap();
    let kept = folder.path().join("agent-browser.calls");
    std::fs::write(&kept, "").unwrap();
    let env = TestEnv::new(&program).with("BROWSER_SHELL_CDP_PORT", "1");
    // A sandbox would deny access to that file.
    let server = env.with_policy(&json!({"sandbox": {"enabled": false}})).serve();
    let texts: Vec<String> = (0..60).map(|number| format!("n{number}")).collect();
    let calls: Vec<_> = texts.iter().map(|text| server.begin("s", &["fill", "@e1", text], None)).collect();
    for call in calls {
        call.answer().ok();
    }
    let lines = std::fs::read_to_string(kept).unwrap();
    let typed: Vec<String> =
        lines.lines().map(|line| serde_json::from_str::<Vec<String>>(line).unwrap().pop().unwrap()).collect();
    assert_eq!(typed, texts);
}

#[test]
fn slow_daemon_start_is_retried_and_failed_start_exits_69() {
    let server = stand_in_env().serve();
    for (fails, code, tried) in [(0, 0, 1), (1, 0, 2), (2, 0, 3), (9, 69, 3)] {
        let folder = TempDir::new().unwrap();
        let order = format!("#fake-no-daemon-{fails}-{}", folder.path().display());
        let answer = server.call("s", &["click", &order]);
        assert_eq!(answer.code, code, "{fails}: {answer:?}");
        assert!(!answer.stderr.contains(".sock"), "paths must not be shown to the agent: {}", answer.stderr);
        let tries = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(tries, tried, "{fails}");
        server.call("s", &["snapshot"]).ok();
    }
    // Any other failure may occur after the command had an effect.
    let folder = TempDir::new().unwrap();
    let order = format!("#fake-no-daemon-0-{}", folder.path().display());
    server.call("s", &["fill", &order, "#fake-fail-the page says: Daemon failed to start"]).fails_with(1);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "control: it must not be retried");
}

#[test]
fn read_without_a_response_is_run_again_and_an_act_never() {
    let server = stand_in_env().serve();
    for (subcommand, fails, code, tried) in
        [("snapshot", 1, 0, 2), ("snapshot", 2, 0, 3), ("snapshot", 9, 1, 3), ("click", 0, 0, 1), ("click", 9, 1, 1)]
    {
        let folder = TempDir::new().unwrap();
        let order = format!("#fake-no-response-{fails}-{}", folder.path().display());
        let argv = if subcommand == "click" { vec!["click", &order] } else { vec![subcommand, "-s", &order] };
        let answer = server.call("s", &argv);
        assert_eq!(answer.code, code, "{subcommand} {fails}: {answer:?}");
        assert!(code == 0 || answer.stderr.starts_with("outcome-unknown: "), "{subcommand} {fails}: {answer:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), tried, "{subcommand} {fails}");
        server.call("s", &["snapshot"]).ok();
    }
}

/// Returns the process ids of the starts of a slow daemon.
fn starts(folder: &TempDir) -> Vec<i32> {
    let names =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_prefix("start-")?.parse().ok()).collect()
}

fn let_start(folder: &TempDir) {
    std::fs::write(folder.path().join("go"), "").unwrap();
}

// Requirement 1.11.
#[test]
fn daemon_that_starts_slowly_is_awaited() {
    let server = stand_in_env().serve();
    let folder = TempDir::new().unwrap();
    let order = format!("#fake-slow-daemon-{}", folder.path().display());
    let call = server.begin("s", &["click", &order], Some(120));
    let first = wait_for("the daemon", || starts(&folder).pop());
    assert!(!call.is_answered());
    // Control: a daemon that has ended is started again.
    super::harness::processes::signal(first, rustix::process::Signal::KILL);
    wait_for("another daemon", || (starts(&folder).len() == 2).then_some(()));
    assert!(!call.is_answered());
    let_start(&folder);
    call.answer().ok();
    assert_eq!(starts(&folder).len(), 2);
}

// Requirement 1.11.
#[test]
fn daemon_start_outlasting_a_call_is_left_to_next_one() {
    let server = stand_in_env().serve();
    // The call ends after agent-browser has given up, or before.
    for (session, text) in [("after", "x"), ("before", "#fake-sleep-600000")] {
        let folder = TempDir::new().unwrap();
        let order = format!("#fake-slow-daemon-{}", folder.path().display());
        let late = server.call_within(5, session, &["fill", &order, text]).fails_with(124);
        assert!(late.stderr.contains("still starting"), "{session}: {}", late.stderr);
        let first = wait_for("the daemon", || starts(&folder).pop());
        let next = server.begin(session, &["fill", &order, "x"], Some(120));
        let_start(&folder);
        next.answer().ok();
        assert_eq!(starts(&folder), [first], "{session}");
        // Control: a daemon that may have got the command is ended.
        let late = server.call_within(3, session, &["fill", &order, "#fake-sleep-600000"]).fails_with(124);
        assert!(late.stderr.contains("was ended"), "{session}: {}", late.stderr);
        server.call(session, &["fill", &order, "x"]).ok();
        assert_eq!(starts(&folder).len(), 2, "{session}");
    }
}

#[test]
fn only_open_is_retried_after_interrupting_error_page() {
    let server = stand_in_env().serve();
    let tries = |fails: usize, argv: &[&str]| {
        let folder = TempDir::new().unwrap();
        let order = format!("#fake-overtaken-{fails}-{}", folder.path().display());
        let argv: Vec<_> = argv.iter().map(|word| word.replace("ORDER", &order)).collect();
        let answer = server.call("s", &argv.iter().map(String::as_str).collect::<Vec<_>>());
        (answer.code, std::fs::read_dir(folder.path()).unwrap().count())
    };
    let open = ["open", "http://93.184.215.14/ORDER"];
    assert_eq!(tries(0, &open), (0, 1));
    assert_eq!(tries(2, &open), (0, 3));
    assert_eq!(tries(9, &open), (1, 3), "the number of retries must be limited");
    assert_eq!(tries(1, &["click", "ORDER"]), (1, 1), "a click may have had an effect");
}
