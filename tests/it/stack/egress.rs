//! The egress guard where it is in the image: between the container's Chromium and everything else (spec [5.1]).
//! What pages try against it, one by one, is in `policies/egress`.

use serde_json::{Value, json};

use super::{
    super::{
        e2e::{
            hosts::{INTRANET, NEWS, SHOP},
            world,
        },
        harness::processes::until,
    },
    base::{Kind, Stack, enter},
    request::send,
};

/// The audit lines of the guard.
fn connections(stack: &Stack) -> Vec<Value> {
    let logs = stack.logs();
    let (_, text) = logs.iter().find(|(name, _)| name == "browser-shell-egress.log").expect("the guard's log");
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn has_arrived(path: &str) -> bool {
    world::hosts().paths_of(SHOP).iter().any(|seen| seen == path)
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn spec_5_1_while_the_guard_is_down_the_containers_browser_reaches_nothing() {
    let stack = enter(Kind::HurtOpen);
    let _turn = stack.browser();
    stack.begin("closed");
    let open = |path: &str| stack.call("closed", &["open", &format!("http://{SHOP}{path}")]);
    open("/hello?before").ok();
    assert!(has_arrived("/hello?before"), "control");
    stack.supervisor(&["stop", "browser-shell-egress"]);
    let said = open("/hello?down");
    assert_ne!(said.code, 0, "{said:?}");
    assert!(!has_arrived("/hello?down"));
    // what is asked of Chromium itself does not go through the guard
    assert_eq!(send(9222, "GET /json/version", &[], "").status, 200);
    stack.supervisor(&["start", "browser-shell-egress"]);
    until("a page with the guard back", || (open("/hello?after").code == 0).then_some(()));
    assert!(has_arrived("/hello?after"));
    stack.call("closed", &["close"]).ok();
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn spec_5_1_no_page_in_the_container_reaches_its_services() {
    let stack = enter(Kind::HurtOpen);
    let _turn = stack.browser();
    stack.begin("inside");
    // a page that leads to the base's shell, to CDP, to the tool; and to another machine
    let targets = [("127.0.0.1", 8091), ("localhost", 9222), ("127.1", 8079), (INTRANET, 80)];
    for (host, port) in targets {
        let answer = stack.call("inside", &["open", &format!("http://{SHOP}/to?http://{host}:{port}/v1/shell/exec")]);
        assert_ne!(answer.code, 0, "{host}: {answer:?}");
        let refused = |line: &Value| {
            line["port"] == port && ["address-not-public", "host-not-public"].iter().any(|code| line["code"] == *code)
        };
        until("the guard's line", || connections(&stack).iter().any(refused).then_some(()));
    }
    assert!(stack.trap().is_empty(), "{}", stack.trap());
    // the control: a redirect between public hosts arrives, and is in the log with its address
    let answer = stack.call("inside", &["open", &format!("http://{SHOP}/to?http://{NEWS}/hello")]).ok();
    assert_eq!(answer.data()["url"], format!("http://{NEWS}/hello"));
    let fits = |line: &Value| line["host"] == NEWS && line["code"] == "allowed" && line["address"] == "93.184.215.21";
    until("the guard's line", || connections(&stack).iter().any(fits).then_some(()));

    // and the trap is one: where the file allows loopback, the page gets there
    stack.write_policy(&json!({"open": {"allow_cidrs": ["127.0.0.0/8"]}}));
    stack.call("inside", &["open", &format!("http://{SHOP}/to?http://127.0.0.1:8091/v1/shell/exec")]).ok();
    assert!(!stack.trap().is_empty(), "control");
    stack.write_policy(&json!({}));
    stack.call("inside", &["open", "about:blank"]).ok();
    stack.call("inside", &["close"]).ok();
    stack.forget_trap();
}
