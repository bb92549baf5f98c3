//! The endpoint of the tabs that sessions share: its port, and whose processes may use it when.

use std::{fs, net::TcpListener, path::PathBuf};

use serde_json::{Value, json};

use super::{
    super::{
        processes::wait_for,
        server::{Server, free_port},
    },
    attack, attacker,
    browser::GateBrowser,
    env,
    script::{OWN_PAGE, Replies, evaluate, own_page, send},
    shared_policy,
};

/// Starts a server whose sessions share their tabs, at an endpoint on this port.
fn shared(browser: &GateBrowser, port: u16) -> Server {
    env(browser, &attacker(), &shared_policy()).with("BROWSER_SHELL_GATE_PORT", port.to_string()).serve()
}

/// Returns a file in the temporary folder of a session.
fn file(server: &Server, session: &str, name: &str) -> PathBuf {
    PathBuf::from(server.env().folder()).join("run/k").join(session).join("tmp").join(name)
}

/// Waits until a session's process has written a file.
fn wait_for_file(server: &Server, session: &str, name: &str) {
    let path = file(server, session, name);
    wait_for(name, || path.exists().then_some(()));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn sessions_that_share_tabs_have_the_port_of_the_setting() {
    let browser = GateBrowser::start();
    let port = free_port();
    let server = shared(&browser, port);
    let [a, b] = ["a", "b"].map(|session| attack(&server, session, &own_page(&[evaluate("1 + 1")])));
    for replies in [&a, &b] {
        assert_eq!((replies.port(), replies.value(OWN_PAGE)), (port, &json!(2)), "{replies:#?}");
    }
    assert_eq!(a.reply(0)["body"][0]["id"], b.reply(0)["body"][0]["id"], "the same tab");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn other_programs_see_at_the_shared_endpoint_that_chromium_runs() {
    let browser = GateBrowser::start();
    let port = free_port();
    let server = shared(&browser, port);
    let url = json!([{"http": "GET /json/version", "let": {"URL": "/body/webSocketDebuggerUrl"}}, {"ws": "$URL"}]);
    let own = attack(&server, "a", &url);
    assert_eq!(own.reply(1)["connected"], true, "control: {own:#?}");
    let url = &own.reply(0)["body"]["webSocketDebuggerUrl"];
    let steps = json!([{"http": "GET /json/version"}, {"http": "GET /json/list"}, {"ws": url}]);
    let foreign = Replies::run(port, &steps);
    assert!(foreign.reply(0)["body"]["Browser"].as_str().unwrap().contains("Chrome/"), "{foreign:#?}");
    assert_eq!(foreign.reply(0)["body"]["webSocketDebuggerUrl"], Value::Null, "{foreign:#?}");
    assert_eq!(foreign.reply(1)["body"], json!([]), "{foreign:#?}");
    assert!(foreign.reply(2).get("failure").is_some(), "{foreign:#?}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn session_sends_methods_during_its_own_calls_only() {
    let browser = GateBrowser::start();
    let server = shared(&browser, free_port());
    let targets = send("Target.getTargets", json!({}));
    let wait = |name: &str| json!({"wait": name, "within": 60_000});
    let act = evaluate("document.title = 'acted'");
    let background = own_page(&[
        act.clone(),
        json!({"touch": "started"}),
        wait("other-runs"),
        targets.clone(),
        act.clone(),
        json!({"touch": "refused"}),
        wait("own-runs"),
        targets,
        act,
    ]);
    let steps = json!([{"background": background, "to": "replies"}, wait("started")]);
    assert_eq!(attack(&server, "a", &steps).reply(1)["found"], "started");
    let other = own_page(&[json!({"touch": "runs"}), wait("end"), evaluate("document.title")]).to_string();
    let other = server.begin("b", &["fill", "@e1", &other], Some(110));
    wait_for_file(&server, "b", "runs");
    fs::write(file(&server, "a", "other-runs"), "").unwrap();
    wait_for_file(&server, "a", "refused");
    fs::write(file(&server, "b", "end"), "").unwrap();
    let other = Replies::read(other.answer().ok().data());
    assert_eq!(other.value(OWN_PAGE + 2), "acted", "control: sessions share the tab");
    let steps = json!([{"touch": "own-runs"}, {"replies": "replies", "within": 60_000}]);
    let replies = attack(&server, "a", &steps).reply(1).clone();
    let replies = Replies::read(replies);
    assert_eq!(replies.value(OWN_PAGE), "acted", "control: during the call that started it");
    for step in [OWN_PAGE + 3, OWN_PAGE + 4] {
        let message = &replies.reply(step)["error"]["message"];
        assert_eq!(message, "no call of the session runs", "{replies:#?}");
    }
    assert!(replies.result(OWN_PAGE + 7)["targetInfos"].is_array(), "control: the same socket, during the next call");
    assert_eq!(replies.value(OWN_PAGE + 8), "acted", "control");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn endpoint_port_in_use_is_waited_for_within_the_call() {
    let browser = GateBrowser::start();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = shared(&browser, taken.local_addr().unwrap().port());
    let refused = server.call_within(2, "a", &["snapshot"]).fails_with(69);
    assert!(refused.stderr.contains("endpoint-port-in-use"), "{refused:?}");
    let waiting = server.begin("a", &["snapshot"], Some(110));
    drop(taken);
    waiting.answer().ok();
}
