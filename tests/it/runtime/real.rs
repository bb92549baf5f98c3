//! The real agent-browser and Debian's Chromium, started by the runtime itself, on the pages of the test network.

use std::{fs, process::Command};

use serde_json::json;

use super::{
    super::{
        e2e::{
            hosts::{INTRANET, SHOP},
            world,
        },
        harness::processes::{self, until},
    },
    server::Setup,
};

/// The very tests of `contract` and `validation`, in a process of their own that knows a URL and nothing else, as
/// `tests/runtime/prove` starts them.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_contract_holds_with_the_real_parts() {
    world::require_test_network();
    let token = "0123456789-0123456789-0123456789";
    for profile in ["strict", "compat"] {
        // the second one with a token, and with the newest agent-browser
        let setup = if profile == "strict" { Setup::real() } else { Setup::native().token(token) };
        let runtime = setup.arguments(&["--profile", profile]).start();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["runtime::contract", "runtime::validation", "--test-threads", "1"])
            .env("BROWSER_SHELL_TEST_BASE_URL", runtime.url())
            .env("BROWSER_SHELL_TEST_TOKEN", token)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("runtime::contract::exec_answers") && !said.contains(" 0 passed"), "{said}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_form_is_filled_and_sent_in_one_batch() {
    world::require_test_network();
    let runtime = Setup::real().start();
    let commands = json!([
        format!("open http://{SHOP}/"),
        "fill #name 'Ada Lovelace'",
        "select #size l",
        "check #gift",
        "click #save",
        "wait --text 'saved Ada'",
        "snapshot",
        "screenshot shots/after.png",
    ]);
    let batch = runtime.batch(&json!({"commands": commands, "timeout": 120}));
    assert_eq!(batch["success"], json!(true), "{batch}");
    let page = batch["results"][6]["stdout"].as_str().unwrap();
    assert!(page.contains("saved Ada Lovelace//l/gift=true"), "{page}");
    assert!(fs::read(runtime.mount().join("shots/after.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_reach_nothing_that_the_policy_does_not_allow() {
    world::require_test_network();
    let runtime = Setup::real().start();
    runtime.exec(&format!("open http://{INTRANET}/")).fails_with(77);
    // not by a redirect, and not by the page itself: the guard is in the way, and no request arrives
    let before = world::hosts().paths_of(INTRANET).len();
    for path in ["to", "go"] {
        let answer = runtime.exec(&format!("open http://{SHOP}/{path}?http://{INTRANET}/hello"));
        if path == "go" {
            answer.ok();
            runtime.exec("click #go");
            runtime.exec("wait 500");
        }
        assert!(!runtime.exec("snapshot").stdout.contains("Hello from"), "{path}");
    }
    assert_eq!(world::hosts().paths_of(INTRANET).len(), before);
    // nor the runtime's own port, and the browser's
    for port in [runtime.url(), format!("http://127.0.0.1:{}", runtime.cdp())] {
        runtime.exec(&format!("open http://{SHOP}/go?{port}/health")).ok();
        runtime.exec("click #go");
        runtime.exec("wait 500");
        assert!(!runtime.exec("snapshot").stdout.contains("healthy"), "{port}");
    }
    // the control: the same way to a host that is allowed
    runtime.exec(&format!("open http://{SHOP}/go?http://{SHOP}/hello")).ok();
    runtime.exec("click #go").ok();
    runtime.exec("wait --text Hello").ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn a_killed_chromium_comes_back_and_the_next_call_works() {
    world::require_test_network();
    let runtime = Setup::real().start();
    let open = || runtime.exec(&format!("open http://{SHOP}/"));
    open().ok();
    let first = runtime.chromium().unwrap();
    processes::kill(std::slice::from_ref(&first));
    until("another Chromium", || runtime.chromium().filter(|now| now.id != first.id));
    runtime.until_healthy();
    open().ok();
    assert!(runtime.exec("snapshot").ok().stdout.contains("Save"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn the_profile_compat_reads_a_real_page_as_text() {
    world::require_test_network();
    let runtime = Setup::real().arguments(&["--profile", "compat"]).start();
    runtime.exec(&format!("open http://{SHOP}/")).ok();
    let out = |cmd: &str| runtime.exec(cmd).ok().stdout.trim_end_matches('\n').to_owned();
    assert_eq!(out("get title"), "Shop");
    assert_eq!(out("get url"), format!("http://{SHOP}/"));
    assert_eq!(out("is visible #save"), "true");
    assert_eq!(out("get count #save"), "1");
    assert!(out("snapshot -i").contains("button \"Save\" [ref=e"));
    let answer = out("find role button click --name Save");
    assert!(!answer.is_empty(), "{answer}");
    assert!(out("snapshot").contains("saved"));
}
