//! The real agent-browser and Debian's Chromium, started by the runtime, on pages of the test network.

use std::{fs, process::Command};

use serde_json::json;

use super::{
    super::{
        e2e::{
            hosts::{INTRANET, SHOP},
            test_env,
        },
        harness::processes::{self, wait_for},
    },
    server::Setup,
};

/// Runs the tests of `contract` and `validation` in a separate process that knows only a URL, as
/// `tests/runtime/prove` does.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn contract_holds_with_real_agent_browser_and_chromium() {
    test_env::require_test_network();
    let token = "0123456789-0123456789-0123456789";
    for profile in ["strict", "compat"] {
        // The second run has a token and the newest agent-browser.
        let setup = if profile == "strict" { Setup::real() } else { Setup::native().token(token) };
        let runtime = setup.arguments(&["--profile", profile]).start();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["runtime::contract", "runtime::validation", "--test-threads", "1"])
            .env("BROWSER_SHELL_TEST_BASE_URL", runtime.url())
            .env("BROWSER_SHELL_TEST_TOKEN", token)
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        assert!(stdout.contains("runtime::contract::exec_returns") && !stdout.contains(" 0 passed"), "{stdout}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn batch_fills_and_submits_form() {
    test_env::require_test_network();
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
fn pages_of_the_runtime_see_a_desktop() {
    test_env::require_test_network();
    let media = "(hover: hover) (any-hover: hover) (pointer: fine) (any-pointer: fine)";
    let runtime = Setup::native().start();
    runtime.exec(&format!("open http://{SHOP}/gate/size")).ok();
    let page = runtime.exec("snapshot").ok().stdout;
    assert!(page.contains(&format!("1280x800 {media}")), "{page}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_reach_only_addresses_the_policy_allows() {
    test_env::require_test_network();
    let runtime = Setup::real().start();
    runtime.exec(&format!("open http://{INTRANET}/")).fails_with(77);
    // The page may leave after the click has been answered: a later answer says so then.
    let go_in_vain = || {
        let mut shown = vec![runtime.exec("click #go")];
        wait_for("the refusal of the page", || {
            shown.push(runtime.exec("wait 100"));
            format!("{shown:?}").contains("address-not-public").then_some(())
        });
    };
    // Neither a redirect nor the page itself gets through: the egress guard refuses, and no request arrives.
    let before = test_env::hosts().paths_of(INTRANET).len();
    for path in ["to", "go"] {
        let answer = runtime.exec(&format!("open http://{SHOP}/{path}?http://{INTRANET}/hello"));
        if path == "go" {
            answer.ok();
            go_in_vain();
        }
        assert!(!runtime.exec("snapshot").stdout.contains("Hello from"), "{path}");
    }
    assert_eq!(test_env::hosts().paths_of(INTRANET).len(), before);
    // The ports of the runtime and of the browser are not reachable either.
    for port in [runtime.url(), format!("http://127.0.0.1:{}", runtime.cdp())] {
        runtime.exec(&format!("open http://{SHOP}/go?{port}/health")).ok();
        go_in_vain();
        assert!(!runtime.exec("snapshot").stdout.contains("healthy"), "{port}");
    }
    // Control: the same navigation to an allowed host.
    runtime.exec(&format!("open http://{SHOP}/go?http://{SHOP}/hello")).ok();
    runtime.exec("click #go").ok();
    runtime.exec("wait --text Hello").ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn killed_chromium_restarts_and_next_call_works() {
    test_env::require_test_network();
    let runtime = Setup::real().start();
    let open = || runtime.exec(&format!("open http://{SHOP}/"));
    open().ok();
    let first = runtime.chromium().unwrap();
    processes::kill(std::slice::from_ref(&first));
    wait_for("another Chromium", || runtime.chromium().filter(|now| now.id != first.id));
    runtime.wait_until_healthy();
    assert!(runtime.exec("snapshot").fails_with(69).stderr.starts_with("page-lost: "));
    open().ok();
    assert!(runtime.exec("snapshot").ok().stdout.contains("Save"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn compat_profile_reads_real_page_as_text() {
    test_env::require_test_network();
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

// Requirement 4.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn compat_close_leaves_empty_page_in_own_browser() {
    test_env::require_test_network();
    // One at a time: a setup holds the browser.
    for setup in [Setup::real, Setup::native] {
        let runtime = setup().arguments(&["--profile", "compat"]).start();
        let out = |cmd: &str| runtime.exec(cmd).ok().stdout;
        assert_eq!(out(&format!("goto http://{SHOP}/")), format!("✓ Shop\n  http://{SHOP}/\n"));
        out(&format!("tab new http://{SHOP}/hello"));
        assert_eq!(out("tab").lines().count(), 2, "control");
        assert_eq!(out("close"), "✓ Browser closed\n");
        assert_eq!(out("get url"), "about:blank\n");
        assert_eq!(out("tab").lines().count(), 1);
        out(&format!("open http://{SHOP}/"));
        assert_eq!(out("get title"), "Shop\n");
    }
    let strict = Setup::real().start();
    strict.exec(&format!("open http://{SHOP}/")).ok();
    strict.exec("close").ok();
    assert!(strict.exec("snapshot").ok().stdout.contains("Save"), "control: the other profile keeps the page");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn compat_refuses_more_tabs_than_a_session_may_have() {
    test_env::require_test_network();
    // One at a time: a setup holds the browser.
    for setup in [Setup::real, Setup::native] {
        let runtime = setup().arguments(&["--profile", "compat"]).start();
        let count = || runtime.exec("tab").ok().stdout.lines().count();
        let hello = format!("http://{SHOP}/hello");
        runtime.exec(&format!("open {hello}")).ok();
        for _ in 2..=16 {
            runtime.exec(&format!("tab new {hello}")).ok();
        }
        assert_eq!(count(), 16, "control: the last one within the limit");
        for command in ["tab new".to_owned(), format!("tab new {hello}")] {
            let refused = runtime.exec(&command).fails_with(75);
            assert!(refused.stderr.starts_with("too-many-tabs: "), "{refused:?}");
        }
        assert_eq!(count(), 16);
        // A tab that ends makes room.
        runtime.exec("tab close").ok();
        runtime.exec(&format!("tab new {hello}")).ok();
        assert_eq!(count(), 16);
    }
}

// Requirement 4.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn compat_drives_tabs_by_number_and_by_name() {
    test_env::require_test_network();
    // One at a time: a setup holds the browser.
    for setup in [Setup::real, Setup::native] {
        let runtime = setup().arguments(&["--profile", "compat"]).start();
        let out = |cmd: &str| runtime.exec(cmd).ok().stdout;
        let (first, second) = (format!("http://{SHOP}/"), format!("http://{SHOP}/hello"));
        out(&format!("open {first}"));
        out(&format!("tab new {second}"));
        for (tab, url) in [("t1", &first), ("1", &second), ("0", &first), ("t2", &second)] {
            out(&format!("tab {tab}"));
            assert_eq!(out("get url").trim_end(), url, "{tab}");
        }
        out("tab close t2");
        runtime.exec("tab t2").fails_with(1);
        runtime.exec("tab 1").fails_with(1);
        out("tab t1");
        // Further commands that both versions run.
        out("fill #name 'Ada'");
        assert_eq!(out("get value #name"), "Ada\n");
        assert!(out("get styles h1").contains("color: "));
        assert_eq!(out("drag h1 #result"), "✓ Done\n");
        assert!(out("--version").starts_with("agent-browser "));
        assert!(out("snapshot -i --json").starts_with("{\"success\":true,"));
    }
}
