//! Tests of clients against a stand-in for Chromium.

mod setup;

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use browser_shell_core::gate::Level;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;
use tracing_subscriber::layer::SubscriberExt;

use self::setup::{Scope, Setup, TIMEOUT, scope, serve};
use crate::gateway::client::commands;
use crate::gateway::client::connection::MAX_SESSIONS;
use browser_shell_browser::gate::browser::MAX_TABS;
use browser_shell_browser::gate::scope::{SessionContext, TabObserver as _};
use browser_shell_cdp::{Event, Receiver};
use browser_shell_system::os::log::log_lines;

#[tokio::test]
async fn attach_that_outlives_the_client_is_ended() {
    let setup = Setup::new(0).await;
    let attach = json!({ "id": 1, "method": "Target.attachToTarget", "params": { "targetId": "T" } });
    setup.client.receive(&attach.to_string()).await;
    setup.chromium.wait_for("Target.attachToTarget").await;
    assert!(setup.chromium.commands("Target.detachFromTarget").is_empty(), "control");
    setup.client.end();
    setup.chromium.attaches.add_permits(1);
    let detach = setup.chromium.wait_for("Target.detachFromTarget").await;
    assert!(detach["params"]["sessionId"].as_str().unwrap().starts_with('s'));
    assert!(setup.client.state().sessions.is_empty());
}

#[tokio::test]
async fn sessions_end_when_the_service_is_dropped() {
    let mut setup = Setup::new(8).await;
    let session = setup.attach().await;
    let (_other_end, stream) = tokio::io::duplex(1024);
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let (_sender, queue) = mpsc::channel(1);
    let serving = tokio::time::timeout(Duration::from_millis(20), setup.client.serve(socket, queue));
    assert!(serving.await.is_err(), "control: the client is served until then");
    assert_eq!(setup.chromium.wait_for("Target.detachFromTarget").await["params"]["sessionId"], json!(session));
}

#[tokio::test]
async fn message_that_is_not_utf8_ends_its_client_only() {
    let setup = Setup::new(0).await;
    let (mut bad, bad_serving) = serve(&setup.browser).await;
    let (good, good_serving) = serve(&setup.browser).await;
    // A text frame of one byte, with a mask of zeros.
    bad.write_all(&[0x81, 0x81, 0, 0, 0, 0, 0xff]).await.unwrap();
    tokio::time::timeout(TIMEOUT, bad_serving).await.expect("the client ends").unwrap();
    let mut good = WebSocketStream::from_raw_socket(good, Role::Client, None).await;
    good.send(Message::text(r#"{"id":1,"method":"Browser.getVersion"}"#)).await.unwrap();
    let answer = tokio::time::timeout(TIMEOUT, good.next()).await.expect("an answer").unwrap().unwrap();
    let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
    assert_eq!(answer["id"], 1);
    assert!(!good_serving.is_finished() && !setup.browser.connection.is_closed());
}

#[tokio::test]
async fn detach_needs_the_session_that_attached() {
    let mut setup = Setup::new(8).await;
    let session = setup.attach().await;
    let info =
        json!({ "targetId": "W", "type": "worker", "title": "", "url": "", "attached": true, "browserContextId": "D" });
    let params = serde_json::value::to_raw_value(&json!({ "sessionId": "child", "targetInfo": info })).unwrap();
    setup.client.event(Event { session: Some(&session), method: "Target.attachedToTarget", params: Some(&params) });
    let detach = |id, over: Option<&str>, session: &str| {
        let mut command = json!({ "id": id, "method": "Target.detachFromTarget", "params": { "sessionId": session } });
        if let Some(over) = over {
            command["sessionId"] = over.into();
        }
        command
    };
    assert_eq!(setup.call(&detach(2, None, "child")).await["error"]["code"], -32001);
    assert_eq!(setup.call(&detach(3, Some(session.as_str()), session.as_str())).await["error"]["code"], -32001);
    assert!(setup.chromium.commands("Target.detachFromTarget").is_empty());
    assert_eq!(setup.call(&detach(4, Some(session.as_str()), "child")).await["result"], json!({}));
    assert!(!setup.client.state().sessions.contains_key("child"));
    assert_eq!(setup.call(&detach(5, None, session.as_str())).await["result"], json!({}));
    assert!(setup.client.state().sessions.is_empty());
}

#[tokio::test]
async fn sessions_attached_over_an_ended_one_end_with_it() {
    let mut setup = Setup::new(8).await;
    let session = setup.attach().await;
    for (parent, child) in [(&session, "frame"), (&"frame".into(), "worker")] {
        let kind = if child == "frame" { "iframe" } else { "worker" };
        let info = json!({ "targetId": child, "type": kind, "title": "", "url": "", "attached": true, "browserContextId": "D" });
        let params = serde_json::value::to_raw_value(&json!({ "sessionId": child, "targetInfo": info })).unwrap();
        setup.client.event(Event { session: Some(parent), method: "Target.attachedToTarget", params: Some(&params) });
    }
    assert_eq!(setup.client.state().sessions.len(), 3, "control");
    assert!(setup.client.forget_session(&session));
    assert!(setup.client.state().sessions.is_empty());
}

#[tokio::test]
async fn workers_that_end_leave_room_for_others() {
    let mut setup = Setup::new(8).await;
    let session = setup.attach().await;
    let event = |method, params: &Value| {
        let params = serde_json::value::to_raw_value(params).unwrap();
        setup.client.event(Event { session: Some(&session), method, params: Some(&params) });
    };
    for number in 0..2 * MAX_SESSIONS {
        let info = json!({
            "targetId": number.to_string(), "type": "worker", "title": "", "url": "", "attached": true, "browserContextId": "D",
        });
        event("Target.attachedToTarget", &json!({ "sessionId": number.to_string(), "targetInfo": info }));
        assert_eq!(setup.client.state().sessions.len(), 2, "control");
        event("Target.detachedFromTarget", &json!({ "sessionId": number.to_string() }));
        // Its queue is bounded, too.
        while setup.queue.try_recv().is_ok() {}
    }
    assert_eq!(setup.client.state().sessions.len(), 1);
    assert!(setup.chromium.commands("Target.detachFromTarget").is_empty());
}

#[tokio::test]
async fn tab_announced_twice_is_attached_once() {
    let mut setup = Setup::new(8).await;
    setup.client.state().attaches = true;
    let page = setup.browser.page(&"T".into()).unwrap();
    setup.client.page_opened(&page);
    setup.client.page_opened(&page);
    setup.chromium.wait_for("Target.attachToTarget").await;
    setup.attach().await;
    // The command of the client attaches once more, as in Chromium.
    assert_eq!(setup.chromium.commands("Target.attachToTarget").len(), 2);
}

#[tokio::test]
async fn commands_for_chromium_keep_their_order() {
    let mut setup = Setup::new(8).await;
    let session = setup.attach().await;
    setup.chromium.commands.lock().unwrap().clear();
    let methods = ["Target.setAutoAttach", "Page.navigate", "Page.reload", "Page.printToPDF", "Runtime.evaluate"];
    for (id, method) in methods.iter().enumerate() {
        let params = match *method {
            "Page.navigate" => json!({ "url": "http://example.com/" }),
            _ => json!({ "autoAttach": true }),
        };
        let command = json!({ "id": id + 2, "method": method, "params": params, "sessionId": session });
        setup.client.receive(&command.to_string()).await;
    }
    setup.chromium.wait_for("Runtime.evaluate").await;
    let commands = setup.chromium.commands.lock().unwrap();
    let sent: Vec<_> = commands.iter().map(|command| command["method"].as_str().unwrap()).collect();
    assert_eq!(sent, methods);
}

#[tokio::test]
async fn last_tab_is_replaced_before_it_is_closed() {
    let mut setup = Setup::new(8).await;
    let close = json!({ "id": 2, "method": "Target.closeTarget", "params": { "targetId": "T" } });
    assert_eq!(setup.call(&close).await["result"], json!({ "success": true }));
    let methods: Vec<_> =
        setup.chromium.commands.lock().unwrap().iter().map(|command| command["method"].clone()).collect();
    let place = |method: &str| methods.iter().position(|known| known == method);
    assert!(place("Target.createTarget") < place("Target.closeTarget") && place("Target.createTarget").is_some());
    // Control: the tab is closed at once when another one stays.
    assert_eq!(setup.call(&close).await["result"], json!({ "success": true }));
    assert_eq!(setup.chromium.commands("Target.createTarget").len(), 1);
}

#[tokio::test]
async fn tabs_that_pages_open_over_the_limit_are_closed() {
    let mut setup = Setup::new(8).await;
    for number in 0..=MAX_TABS {
        setup.chromium.open_tab(&format!("popup{number:02}"));
    }
    let last = format!("popup{MAX_TABS}").as_str().into();
    let wait = async {
        while setup.browser.page(&last).is_some() || setup.chromium.commands("Target.closeTarget").len() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, wait).await.unwrap();
    assert_eq!(setup.browser.pages().len(), MAX_TABS);
    for page in setup.browser.pages() {
        tokio::time::timeout(TIMEOUT, page.wait_until_ready()).await.unwrap();
    }
    let create = json!({ "id": 2, "method": "Target.createTarget", "params": { "url": "about:blank" } });
    assert_eq!(setup.call(&create).await["error"]["message"], "too many tabs");
    // The gate itself may open one more, for example to replace the others.
    setup.browser.create_page(None, "about:blank", false).await.unwrap();
    assert_eq!(setup.browser.pages().len(), MAX_TABS + 1);
}

#[test]
fn cookies_need_the_policy_a_context_and_no_saved_state() {
    let params = json!({ "browserContextId": "other" });
    let check = |scope: &Scope, level, context| {
        let checked = commands::cookies(level, "Storage.getCookies", params.clone(), scope, context);
        checked.map(|text| serde_json::from_str::<Value>(&text).unwrap()).ok()
    };
    let own = || SessionContext::Own("C".into());
    let allowed = scope(true, false);
    assert_eq!(check(&allowed, Level::Root, own()), Some(json!({ "browserContextId": "C" })));
    assert_eq!(check(&allowed, Level::Root, SessionContext::Shared), Some(json!({})));
    assert_eq!(allowed.refusals.load(Ordering::Relaxed), 0);
    assert_eq!(check(&allowed, Level::Root, SessionContext::None), None);
    assert_eq!(check(&allowed, Level::Page, SessionContext::None), None);
    assert_eq!(allowed.refusals.load(Ordering::Relaxed), 2);
    assert_eq!(check(&scope(true, true), Level::Root, own()), None);
    assert_eq!(check(&scope(true, true), Level::Page, own()), None);
    assert_eq!(check(&scope(false, false), Level::Root, own()), None);
}

#[tokio::test]
async fn events_pass_the_table_and_bring_no_headers() {
    let mut setup = Setup::new(8).await;
    let session = setup.attach().await;
    let secret = json!({ "Cookie": "secret", "Authorization": "secret" });
    let request =
        json!({ "requestId": "1", "request": { "url": "http://a.example/", "headers": secret, "postData": "secret" } });
    for (method, params) in [
        ("Made.up", json!({ "headers": secret })),
        ("Network.requestWillBeSentExtraInfo", json!({ "headers": secret, "associatedCookies": [secret] })),
        ("Network.responseReceivedExtraInfo", json!({ "headers": secret, "blockedCookies": [secret] })),
        ("Page.javascriptDialogOpening", json!({ "message": "secret" })),
        ("Network.requestWillBeSent", request),
        ("Page.loadEventFired", json!({ "timestamp": 1 })),
    ] {
        setup.chromium.send(&json!({ "method": method, "params": params, "sessionId": session }));
    }
    let mut methods = Vec::new();
    while methods.last().is_none_or(|method| method != "Page.loadEventFired") {
        let message = tokio::time::timeout(TIMEOUT, setup.queue.recv()).await.unwrap().unwrap();
        assert!(!message.contains("secret"), "{message}");
        let message: Value = serde_json::from_str(&message).unwrap();
        if message["method"] == "Network.requestWillBeSent" {
            let request = json!({ "url": "http://a.example/", "headers": {} });
            assert_eq!(message["params"], json!({ "requestId": "1", "request": request }));
        }
        methods.extend(message["method"].as_str().map(str::to_owned));
    }
    methods.retain(|method| !method.starts_with("Target."));
    assert_eq!(methods, ["Network.requestWillBeSent", "Page.loadEventFired"]);
    assert_eq!(setup.scope.refusals.load(Ordering::Relaxed), 1, "only the unknown one is counted");
}

#[tokio::test]
async fn decided_parameters_are_written_anew() {
    let mut setup = Setup::new(8).await;
    let session = setup.attach().await;
    let command = |method: &str, params: &str| {
        format!(r#"{{"id":7,"method":"{method}","sessionId":"{session}","params":{params}}}"#)
    };
    for (method, params) in [
        ("Input.dispatchKeyEvent", r#"{"type":"keyDown","windowsVirtualKeyCode":86.0,"modifiers":2}"#),
        ("Input.dispatchKeyEvent", r#"{"type":"keyDown","key":"a","key":"b"}"#),
        ("Input.dispatchKeyEvent", r#"{"type":"rawKeyDown","key":"F13","commands":["PasteGlobalSelection"]}"#),
        ("Input.dispatchMouseEvent", r#"{"type":"mousePressed","x":1,"y":1,"buttons":4.0}"#),
        ("Input.dispatchMouseEvent", r#"{"type":"mousePressed","x":1,"y":1,"button":"middle"}"#),
        ("Input.dispatchMouseEvent", r#"{"type":"mouseReleased","x":1,"y":1,"button":"left","buttons":5}"#),
        ("Input.insertText", r#"{"text":"a","text":"b"}"#),
        ("Page.navigate", r#"{"url":"http://a.example/","url":"chrome://settings/"}"#),
        ("Page.navigate", r#"{"url":["http://a.example/"]}"#),
        ("Page.captureScreenshot", r#"{"format":"png","madeUp":1}"#),
        ("Target.setAutoAttach", r#"{"autoAttach":1}"#),
    ] {
        setup.client.receive(&command(method, params)).await;
        let answer = setup.answer(&json!(7)).await;
        assert!(answer["error"].is_object(), "{method} {params}: {answer}");
    }
    for (method, params) in [
        ("Input.dispatchMouseEvent", r#"{"type":"mousePressed","x":1.0,"y":1.0,"button":"left","buttons":1}"#),
        ("Input.dispatchKeyEvent", r#"{ "\u0074ype" : "keyDown", "windowsVirtualKeyCode": 65 }"#),
        ("Page.navigate", r#"{ "url": "http:\/\/a.example\/" }"#),
    ] {
        setup.client.receive(&command(method, params)).await;
        let answer = setup.answer(&json!(7)).await;
        assert!(answer["result"].is_object(), "control: {method}: {answer}");
        let sent = setup.chromium.commands(method);
        assert_eq!(sent.len(), 1, "{method}");
        assert_eq!(sent.first().unwrap()["params"], serde_json::from_str::<Value>(params).unwrap(), "{method}");
    }
}

#[tokio::test]
async fn member_of_a_client_cannot_forge_a_log_line() {
    let setup = Setup::new(0).await;
    let (reader, writer) = std::io::pipe().unwrap();
    let log =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(log_lines(Mutex::new(writer), false)));
    let forged = "x\n2026-11-25T00:00:00Z  INFO forged\u{1b}[31m";
    setup.client.receive(&json!({ "id": 1, "method": "Page.enable", (forged): 1 }).to_string()).await;
    drop(log);
    let log = std::io::read_to_string(reader).unwrap();
    assert!(log.contains("INFO forged"), "control: the log names the member: {log}");
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(!log.contains('\u{1b}'), "{log}");
}

#[tokio::test]
async fn methods_between_calls_set_a_client_up_only() {
    let mut setup = Setup::new(8).await;
    let session = setup.attach().await;
    let command = |method: &str| json!({ "id": 2, "method": method, "params": {}, "sessionId": session });
    for (is_idle, refusals) in [(true, 2), (false, 2)] {
        setup.scope.is_idle.store(is_idle, Ordering::Relaxed);
        for method in ["Page.reload", "Runtime.evaluate"] {
            let answer = setup.call(&command(method)).await;
            assert_eq!(answer["error"]["message"] == "no call of the session runs", is_idle, "{method}: {answer}");
        }
        assert_eq!(setup.call(&command("Runtime.enable")).await["result"], json!({}));
        assert_eq!(setup.scope.refusals.load(Ordering::Relaxed), refusals);
    }
    assert_eq!(setup.chromium.commands("Page.reload").len(), 1, "control: during a call");
}
