//! The egress guard in the image, between the container's Chromium and everything else (spec [5.1]).
//! `policies/egress` tests the individual attacks of pages.

use serde_json::{Value, json};

use super::{
    super::{
        e2e::{
            hosts::{INTRANET, NEWS, SHOP},
            test_env,
        },
        harness::processes::wait_for,
    },
    base::{Stack, StackKind},
    request::send,
    sharing::acquire,
};

/// Returns the guard's audit lines.
fn connections(stack: &Stack) -> Vec<Value> {
    let logs = stack.logs();
    let (_, text) = logs.iter().find(|(name, _)| name == "browser-shell-egress.log").expect("no log of the guard");
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn has_arrived(path: &str) -> bool {
    test_env::hosts().paths_of(SHOP).iter().any(|seen| seen == path)
}

// Requirement 5.1.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn container_browser_reaches_nothing_while_guard_is_down() {
    let stack = acquire(StackKind::OpenExclusive);
    let _exclusive = stack.browser();
    stack.begin("closed");
    let open = |path: &str| stack.call("closed", &["open", &format!("http://{SHOP}{path}")]);
    open("/hello?before").ok();
    assert!(has_arrived("/hello?before"), "control");
    stack.supervisor(&["stop", "browser-shell-egress"]);
    let reply = open("/hello?down");
    assert_ne!(reply.code, 0, "{reply:?}");
    assert!(!has_arrived("/hello?down"));
    // A request to Chromium itself does not go through the guard.
    assert_eq!(send(9223, "GET /json/version", &[], "").status, 200);
    stack.supervisor(&["start", "browser-shell-egress"]);
    wait_for("a page with the guard back", || (open("/hello?after").code == 0).then_some(()));
    assert!(has_arrived("/hello?after"));
    stack.call("closed", &["close"]).ok();
}

// Requirement 5.2.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn container_accepts_home_folder_in_policy_file() {
    let stack = acquire(StackKind::OpenExclusive);
    let _exclusive = stack.browser();
    let open = |path: &str| stack.call("home", &["open", &format!("http://{SHOP}{path}")]);
    stack.write_policy(&json!({"sandbox": {"filesystem": {"denyRead": ["~/.ssh"], "allowWrite": ["~/work"]}}}));
    // The server and the guard read the file, as users without an account.
    open("/hello?home").ok();
    assert!(has_arrived("/hello?home"));
    stack.write_policy(&json!({"sandbox": {"filesystem": {"denyRead": ["~other/.ssh"]}}}));
    open("/hello?other").fails_with(77);
    assert!(!has_arrived("/hello?other"), "control");
    stack.write_policy(&json!({}));
    stack.call("home", &["close"]).ok();
}

// Requirement 5.1.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn container_pages_cannot_reach_its_services() {
    let stack = acquire(StackKind::OpenExclusive);
    let _exclusive = stack.browser();
    stack.begin("inside");
    // Pages that redirect to the base's shell, to CDP, to the tool, and to another machine.
    let targets = [("127.0.0.1", 8091), ("localhost", 9222), ("localhost", 9223), ("127.1", 8079), (INTRANET, 80)];
    for (host, port) in targets {
        let answer = stack.call("inside", &["open", &format!("http://{SHOP}/to?http://{host}:{port}/v1/shell/exec")]);
        // The control gate refuses the document, so that the guard is not even asked.
        assert_eq!(answer.code, 77, "{host}: {answer:?}");
    }
    assert!(stack.trap_log().is_empty(), "{}", stack.trap_log());
    // Control: a redirect between public hosts succeeds and is logged with its address.
    let answer = stack.call("inside", &["open", &format!("http://{SHOP}/to?http://{NEWS}/hello")]).ok();
    assert_eq!(answer.data()["url"], format!("http://{NEWS}/hello"));
    let fits = |line: &Value| line["host"] == NEWS && line["code"] == "allowed" && line["address"] == "93.184.215.21";
    wait_for("the guard's line", || connections(&stack).iter().any(fits).then_some(()));

    // Control: the trap log works. If the policy allows loopback, the page reaches the service.
    stack.write_policy(&json!({"open": {"allow_cidrs": ["127.0.0.0/8"]}}));
    stack.call("inside", &["open", &format!("http://{SHOP}/to?http://127.0.0.1:8091/v1/shell/exec")]).ok();
    assert!(!stack.trap_log().is_empty(), "control");
    stack.write_policy(&json!({}));
    stack.call("inside", &["open", "about:blank"]).ok();
    stack.call("inside", &["close"]).ok();
    stack.clear_trap_log();
}
