//! Who runs when (spec [1.11]): one call of a session at a time, sessions side by side, limits, and other processes.

use serde_json::json;
use tempfile::TempDir;

use super::harness::processes::until;
use super::harness::server::{Home, home};

#[test]
fn calls_of_one_session_never_overlap() {
    let meeting = TempDir::new().unwrap();
    let server = home().serve();
    let order = format!("#fake-alone-{}", meeting.path().display());
    let calls: Vec<_> = (0..6).map(|_| server.begin("s", &["click", &order], None)).collect();
    for call in calls {
        assert_eq!(call.answer().ok().data()["alone"], true);
    }
    // control: two sessions do meet in that place
    let others: Vec<_> = (0..6).map(|number| server.begin(&format!("o{number}"), &["click", &order], None)).collect();
    let alone: Vec<_> = others.into_iter().map(|call| call.answer().ok().data()["alone"] == true).collect();
    assert!(alone.contains(&false), "{alone:?}");
}

#[test]
fn eight_sessions_run_side_by_side() {
    let meeting = TempDir::new().unwrap();
    let server = home().serve();
    let order = format!("#fake-meet-8-{}", meeting.path().display());
    let calls: Vec<_> = (0..8).map(|number| server.begin(&format!("s{number}"), &["click", &order], None)).collect();
    for call in calls {
        assert_eq!(call.answer().ok().data()["met"], true);
    }
}

#[test]
fn beyond_the_limit_calls_wait_and_then_end_with_75() {
    let server = home().with("BROWSER_SHELL_CONCURRENCY", "1").serve();
    let long = server.begin("long", &["click", "#fake-sleep-4000"], None);
    until("the long call", || {
        server.processes().iter().any(|process| process.command.contains("fake-sleep")).then_some(())
    });
    server.call_within(1, "short", &["snapshot"]).fails_with(75);
    server.call("patient", &["snapshot"]).ok();
    long.answer().ok();
}

#[test]
fn there_are_only_so_many_sessions_and_closing_one_makes_room() {
    let server = home().with("BROWSER_SHELL_MAX_SESSIONS", "2").serve();
    server.call("one", &["snapshot"]).ok();
    server.call("two", &["snapshot"]).ok();
    server.call("three", &["snapshot"]).fails_with(75);
    server.call("one", &["close"]).ok();
    server.call("three", &["snapshot"]).ok();
}

#[test]
fn a_refused_call_opens_no_session() {
    let server = home().with("BROWSER_SHELL_MAX_SESSIONS", "1").serve();
    for number in 0..5 {
        server.call(&format!("r{number}"), &["open", "http://10.0.0.1/"]).fails_with(77);
    }
    server.call("only", &["snapshot"]).ok();
}

#[test]
fn a_session_that_another_process_uses_is_busy() {
    let home = home();
    let other = Home::new(&super::harness::server::stand_in());
    let server = home.serve();
    server.call("s", &["snapshot"]).ok();
    let call = |session: &str| server.home().run(&["call", "--session", session, "--timeout", "1", "--", "snapshot"]);
    let refused = call("s");
    assert_eq!(refused.status.code(), Some(75));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("session-in-use"));
    assert!(call("another").status.success(), "control: another session");
    server.call("s", &["close"]).ok();
    assert!(call("s").status.success(), "control: the same one when it is closed");
    assert!(other.run(&["call", "--session", "s", "--", "snapshot"]).status.success(), "other folders, other sessions");
}

#[test]
fn ids_that_look_like_flags_and_paths_are_sessions_like_others() {
    let server = home().serve();
    let mut names = std::collections::BTreeSet::new();
    for id in ["--json", "-h", ".x", "a.b", "...", &"x".repeat(64)] {
        let answer = server.call(id, &["click", "#fake-echo"]).ok();
        assert_eq!(answer.session, id);
        let argv = answer.data()["argv"].as_array().unwrap().clone();
        assert_eq!(argv[0], json!("--session"));
        let name = argv[1].as_str().unwrap().to_owned();
        assert!(!name.starts_with(['-', '.']) && !name.contains(['.', '/']), "{name}");
        assert!(names.insert(name), "{id} shares its name");
    }
}

#[test]
fn calls_of_one_session_run_in_the_order_in_which_they_came() {
    // the stand-in keeps its calls in a file beside it, if that is there
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("agent-browser");
    std::fs::copy(super::harness::server::stand_in(), &program).unwrap();
    let kept = folder.path().join("agent-browser.calls");
    std::fs::write(&kept, "").unwrap();
    let home = Home::new(&program).with("BROWSER_SHELL_CDP_PORT", "1");
    // a sandbox would keep it from that file
    let server = home.with_policy(&json!({"sandbox": {"enabled": false}})).serve();
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
fn a_daemon_that_comes_up_late_is_started_again_and_one_that_never_does_is_unavailable() {
    let server = home().serve();
    for (fails, code, tried) in [(0, 0, 1), (1, 0, 2), (2, 0, 3), (9, 69, 3)] {
        let folder = TempDir::new().unwrap();
        let order = format!("#fake-no-daemon-{fails}-{}", folder.path().display());
        let answer = server.call("s", &["click", &order]);
        assert_eq!(answer.code, code, "{fails}: {answer:?}");
        assert!(!answer.stderr.contains(".sock"), "paths are the operator's business: {}", answer.stderr);
        let tries = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(tries, tried, "{fails}");
        server.call("s", &["snapshot"]).ok();
    }
    // any other failure may come after something was done
    let folder = TempDir::new().unwrap();
    let order = format!("#fake-no-daemon-0-{}", folder.path().display());
    server.call("s", &["fill", &order, "#fake-fail-the page says: Daemon failed to start"]).fails_with(1);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "control: it is not tried again");
}

#[test]
fn an_open_that_an_error_page_overtook_is_done_again_and_nothing_else_is() {
    let server = home().serve();
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
    assert_eq!(tries(9, &open), (1, 3), "and not for ever");
    assert_eq!(tries(1, &["click", "ORDER"]), (1, 1), "a click may have done something");
}
