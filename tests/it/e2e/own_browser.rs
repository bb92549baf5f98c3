//! `browser-shell mcp --browser`: a server over stdio that starts a Chromium of its own.

use serde_json::json;

use super::{
    hosts::SHOP,
    processes::wait_for,
    server::{Server, TestEnv},
    test_env,
};

/// Creates the environment of servers that share a runtime folder, on a machine without agent-browser.
fn env() -> TestEnv {
    test_env::hosts();
    test_env::env_with(test_env::no_agent_browser())
        .with("BROWSER_SHELL_BROWSER", "true")
        .without("BROWSER_SHELL_WORKSPACE")
        .with_policy(&json!({"subcommands": {"enable": ["get"]}}))
}

fn open(server: &Server, page: &str) {
    server.call("s", &["open", &format!("http://{SHOP}/hello?{page}")]).ok();
}

#[track_caller]
fn shows(server: &Server, page: &str) {
    let address = server.call("s", &["get", "url"]).ok().stdout;
    assert!(address.contains(&format!("/hello?{page}")), "{address}");
    let picture = server.call("s", &["screenshot"]).ok();
    assert!(picture.picture.is_some(), "{picture:?}");
}

/// Returns the numbers of the folders that servers have for themselves.
fn folders(env: &TestEnv) -> Vec<String> {
    let entries = std::fs::read_dir(format!("{}/run/i", env.folder())).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<_> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn servers_with_own_browsers_run_beside_each_other() {
    let env = env();
    let first = env.shared().serve();
    let mut second = env.shared().serve();
    open(&first, "first");
    open(&second, "second");
    shows(&first, "first");
    shows(&second, "second");
    assert_eq!(folders(&env), ["1", "2"]);

    // Its client closes its input. This fails if one of its processes stays.
    drop(first);
    assert_eq!(folders(&env), ["2"], "its profile must go with it");
    shows(&second, "second");

    // Nothing can be done by a server that is killed; its Chromium must end all the same.
    second.kill();
    let third = env.shared().serve();
    assert_eq!(folders(&env), ["1"]);
    open(&third, "third");
    shows(&third, "third");
}

// Requirement 7.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn own_browser_comes_with_recommended_policy_without_a_file() {
    let text = env().without("BROWSER_SHELL_POLICY").serve().begin("s", &["dialog", "status"], None).text();
    assert!(!text.contains("not-enabled"), "{text}");
    assert_eq!(env().serve().call("s", &["dialog", "status"]).code, 77, "control: a file that does not enable it");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn redirect_to_another_program_ends_no_browser() {
    let server = env().serve();
    let open = |session: &str, path: &str| server.call(session, &["open", &format!("http://{SHOP}/{path}")]).ok();
    open("other", "hello?kept");
    open("s", "gate/programs");
    // One that only Chromium takes for a URL, too.
    for selector in ["#framed", "#unread", "#sent", "#blank"] {
        let mut shown = server.call("s", &["click", selector]).ok().stderr;
        wait_for(selector, || {
            if !shown.contains("was not followed") {
                shown.push_str(&server.call("s", &["get", "url"]).ok().stderr);
            }
            shown.contains("was not followed").then_some(())
        });
    }
    let address = server.call("other", &["get", "url"]).ok().stdout;
    assert!(address.contains("/hello?kept"), "{address}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn tab_for_another_program_is_closed_and_told() {
    let server = env().with_policy(&json!({"subcommands": {"enable": ["get", "tab"]}})).serve();
    server.call("s", &["open", &format!("http://{SHOP}/gate/programs")]).ok();
    let tabs = || server.call("s", &["tab"]).ok().data()["tabs"].as_array().unwrap().len();
    // More than a session may have, if they stayed.
    for round in 0..10 {
        for (selector, scheme) in [("#mail-tab", "mailto"), ("#meet-tab", "meet+app")] {
            let told = format!("a link to another program (`{scheme}:`) was not followed");
            let mut shown = server.call("s", &["click", selector]).ok().stderr;
            wait_for(selector, || {
                if !shown.contains(&told) {
                    shown.push_str(&server.call("s", &["get", "url"]).ok().stderr);
                }
                shown.contains(&told).then_some(())
            });
            assert!(!shown.contains("more tabs"), "{round}: {shown}");
        }
    }
    assert_eq!(tabs(), 1);
    // Control: a tab that shows nothing yet stays, and there is room for it.
    let opened = server.call("s", &["click", "#empty-tab"]).ok();
    assert!(!opened.stderr.contains("more tabs"), "{opened:?}");
    wait_for("control: the empty tab", || (tabs() == 2).then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn request_that_asks_for_a_login_takes_no_input() {
    let server = env().serve();
    let call = |argv: &[&str]| server.call_within(30, "s", argv);
    call(&["open", &format!("http://{SHOP}/gate/asked")]).ok();
    let text = |selector: &str| call(&["get", "text", selector]).ok().data()["text"].as_str().unwrap().to_owned();
    for (number, selector, ended) in [(1, "#fetch", "fetch 401"), (2, "#image", "image failed")] {
        call(&["click", selector]).ok();
        wait_for(ended, || (text("#log") == ended).then_some(()));
        call(&["click", "#count"]).ok();
        assert_eq!(text("#counted"), format!("counted {number}"), "{selector}");
    }
    // A page that asks is not shown as one that was opened; control: one that does not ask.
    let asked = call(&["open", &format!("http://{SHOP}/login-wall?Basic")]).fails_with(1);
    assert!(asked.stderr.starts_with("login-required: "), "{asked:?}");
    assert_eq!(call(&["open", &format!("http://{SHOP}/login-wall")]).ok().data()["status"], 401);
    open(&server, "after");
    shows(&server, "after");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn flooding_tab_takes_the_browser_from_nobody() {
    for way in ["hash", "frames"] {
        let server = env().serve();
        open(&server, "first");
        let browser = server.call("s", &["get", "title"]).ok();
        server.call_within(60, "flood", &["open", &format!("http://{SHOP}/gate/flood?{way}")]);
        // Nothing is lost but its page.
        let flooded = wait_for("the end of the flood", || {
            let reply = server.call_within(10, "flood", &["get", "title"]);
            let is_told =
                ["tab-flooded: ", "tab-crashed: ", "page-lost: "].iter().any(|code| reply.stderr.starts_with(code));
            is_told.then_some(reply)
        });
        assert!(flooded.stderr.starts_with("tab-flooded: "), "{way}: {flooded:?}");
        // The others have their page: with another Chromium, this would be 69.
        let kept = wait_for("the other session", || {
            let reply = server.call_within(30, "s", &["get", "title"]);
            (reply.code != 75 && reply.code != 124).then_some(reply)
        });
        assert_eq!((kept.code, &kept.stdout), (0, &browser.stdout), "{way}: {kept:?}");
        shows(&server, "first");
        server.call_within(60, "flood", &["open", &format!("http://{SHOP}/hello?second")]).ok();
    }
}
