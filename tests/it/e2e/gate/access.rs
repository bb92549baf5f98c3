//! Clients that may connect to a session's endpoint: its own agent-browser and nobody else.

use std::process::Command;

use serde_json::json;

use super::{
    attack, attacked,
    browser::GateBrowser,
    script::{Replies, own_page},
};

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn sandbox_reaches_endpoint_of_its_own_session_only() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let other = attack(&server, "other", &own_page(&[])).port();
    let own = attack(&server, "s", &own_page(&[])).port();
    assert_ne!(own, other, "each session must have a port of its own");
    assert_ne!(own, browser.port(), "agent-browser must not get Chromium's own port");
    for port in [other, browser.port()] {
        let steps = json!([
            {"connect": port},
            {"connect": port, "address": "127.0.0.2"},
            {"connect": port, "address": "::1"},
            {"http": "GET /json/version", "port": port},
            {"ws": "browser", "port": port},
        ]);
        let replies = attack(&server, "s", &steps);
        for step in 0..5 {
            assert!(replies.reply(step).get("failure").is_some(), "{port}: {replies:#?}");
        }
    }
    let control = attack(&server, "s", &json!([{"connect": own}, {"http": "GET /json/version"}, {"ws": "browser"}]));
    assert_eq!(control.reply(0)["connected"], true, "control: {control:#?}");
    assert_eq!(control.reply(1)["status"], 200, "control: {control:#?}");
    assert_eq!(control.reply(2)["connected"], true, "control: {control:#?}");
    // Control: the ports are open. Only the sandbox refuses.
    assert_eq!(Replies::run(other, &json!([{"connect": other}])).reply(0)["connected"], true, "control");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn endpoint_refuses_other_paths_hosts_and_origins() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let port = attack(&server, "s", &own_page(&[])).port();
    let raw = browser.port();
    let steps = json!([
        {"ws": "/"},
        {"ws": "/devtools/browser"},
        {"ws": "/devtools/browser/"},
        {"ws": "/devtools/browser/0123456789abcdef0123456789abcdef"},
        {"ws": "/devtools/browser/00000000-0000-0000-0000-000000000000"},
        {"ws": "browser", "headers": {"Origin": "http://shop.example.com"}},
        {"ws": "browser", "headers": {"Origin": "null"}},
        {"ws": "browser", "headers": {"Host": "shop.example.com"}},
        {"http": "GET /json/version", "headers": {"Host": "shop.example.com"}},
        {"http": "GET /json/list", "headers": {"Host": format!("rebound.example.com:{port}")}},
        {"http": "GET /json/version", "headers": {"Origin": "http://shop.example.com"}},
        {"http": "PUT /json/new?about:blank"},
        {"http": "GET /json/protocol"},
        {"http": "GET /devtools/inspector.html"},
        {"http": "GET /../json/version"},
        {"http": format!("CONNECT 127.0.0.1:{raw}")},
        {"http": "POST /json/version"},
    ]);
    let replies = attack(&server, "s", &steps);
    for (number, step) in steps.as_array().unwrap().iter().enumerate() {
        let reply = replies.reply(number);
        let is_error = reply["status"].as_u64().is_some_and(|status| status >= 400);
        assert!(is_error || reply.get("failure").is_some(), "{step}: {reply}");
    }
    let control =
        attack(&server, "s", &json!([{"ws": "browser"}, {"http": "GET /json/version"}, {"http": "GET /json/list"}]));
    assert_eq!(control.reply(0)["connected"], true, "control: {control:#?}");
    // A request in absolute form is no way to Chromium's own port.
    let forwarded = attack(&server, "s", &json!([{"http": format!("GET http://127.0.0.1:{raw}/json/version")}]));
    assert!(!forwarded.text().contains(&format!("127.0.0.1:{raw}/devtools")), "{forwarded:#?}");
    let url = control.reply(1)["body"]["webSocketDebuggerUrl"].as_str().unwrap().to_owned();
    let secret = url.rsplit('/').next().unwrap();
    assert!(secret.len() >= 32, "the path must not be guessable: {url}");
    assert!(browser.run(&json!([{"http": "GET /json/protocol"}])).reply(0)["status"] == 200, "control");
    // The path of one session is not that of another.
    let other = attack(&server, "other", &json!([{"http": "GET /json/version"}]));
    assert!(!other.text().contains(secret), "{other:#?}");
}

#[test]
#[ignore = "needs the test network and root: run ./dev test"]
fn endpoint_refuses_other_users() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let port = attack(&server, "s", &own_page(&[])).port();
    let steps = json!([{"http": "GET /json/version"}, {"ws": "browser"}]);
    let as_user = |port: u16| {
        // The test's own folders are closed to other users.
        let program = tempfile::Builder::new().prefix("attacker").tempdir().unwrap();
        let path = program.path().join("cdp-attacker");
        assert!(Command::new("cp").arg(super::attacker()).arg(&path).status().unwrap().success());
        let open = Command::new("chmod").args(["755", program.path().to_str().unwrap()]).status().unwrap();
        assert!(open.success());
        let mut user = Command::new("setpriv");
        user.args(["--reuid", "54321", "--regid", "54321", "--clear-groups"]).arg(path);
        let output = super::script::command(user, port, &steps).output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the attacker must answer");
        Replies::read(answer["data"].clone())
    };
    let replies = as_user(port);
    assert_ne!(replies.reply(0)["status"], 200, "{replies:#?}");
    assert!(replies.reply(1).get("failure").is_some(), "{replies:#?}");
    assert_eq!(as_user(browser.port()).reply(1)["connected"], true, "control: Chromium's own port asks for no user");
    assert_eq!(attack(&server, "s", &steps).reply(1)["connected"], true, "control: agent-browser of the session");
}
