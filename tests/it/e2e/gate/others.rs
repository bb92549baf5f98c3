//! Targets, sessions and handles of other sessions of the same browser.

use serde_json::{Value, json};

use super::{
    super::{hosts, processes::wait_for},
    attack, attacked,
    browser::GateBrowser,
    open_blank,
    script::{OWN_PAGE, evaluate, loaded, meet, on_page, own_page, send},
    shop,
};

/// Returns commands that use the target of another session.
fn on_target(target: &str) -> Vec<Value> {
    let params = json!({ "targetId": target });
    vec![
        send("Target.attachToTarget", json!({"targetId": target, "flatten": true})),
        send("Target.attachToTarget", params.clone()),
        on_page("Target.attachToTarget", json!({"targetId": target, "flatten": true})),
        send("Target.getTargetInfo", params.clone()),
        on_page("Target.getTargetInfo", params.clone()),
        send("Target.activateTarget", params.clone()),
        send("Target.exposeDevToolsProtocol", params.clone()),
        send("Target.detachFromTarget", params.clone()),
        send(
            "Target.sendMessageToTarget",
            json!({"targetId": target, "message": r#"{"id":1,"method":"Page.enable"}"#}),
        ),
        send("Target.autoAttachRelated", json!({"targetId": target, "waitForDebuggerOnStart": true})),
        send("Browser.getWindowForTarget", params.clone()),
        send("Target.closeTarget", params.clone()),
        on_page("Target.closeTarget", params),
        json!({ "http": format!("GET /json/activate/{target}") }),
        json!({ "http": format!("GET /json/close/{target}") }),
        json!({ "ws": format!("/devtools/page/{target}") }),
    ]
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn target_of_another_session_is_out_of_reach() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let url = shop("hello?victim");
    attack(&server, "victim", &own_page(&[on_page("Page.navigate", json!({ "url": url })), loaded(&url)]));
    let victim = wait_for("the page of the victim", || browser.tabs().into_iter().find(|tab| tab.url == url));
    let steps = on_target(&victim.id);
    let replies = attack(&server, "s", &own_page(&steps));
    for (number, step) in steps.iter().enumerate() {
        let answer = replies.reply(OWN_PAGE + number);
        let is_refused = answer.get("error").is_some() || answer.get("failure").is_some();
        let is_status = answer["status"].as_u64().is_some_and(|status| status >= 400);
        assert!(is_refused || is_status, "{step}: {answer}");
    }
    assert!(browser.is_at(&url), "the page must stay open: {:?}", browser.tabs());
    let seen = attack(
        &server,
        "s",
        &own_page(&[
            send("Target.setDiscoverTargets", json!({"discover": true})),
            send("Target.setAutoAttach", json!({"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true})),
            send("Target.getTargets", json!({})),
            send("Target.getTargets", json!({"filter": [{}]})),
            json!({"http": "GET /json/list"}),
            json!({"http": "GET /json"}),
        ]),
    );
    assert!(!seen.text().contains(&victim.id) && !seen.text().contains("victim"), "{seen:#?}");
    // Control: the same commands reach it through Chromium's own port. The closing ones come last.
    let control = browser.run(&own_page(&steps));
    assert!(!control.is_refused(OWN_PAGE) && !control.is_refused(OWN_PAGE + 3), "control: {control:#?}");
    wait_for("control: the end of the page", || (!browser.is_at(&url)).then_some(()));
}

/// Returns a script that makes its own session id, a stream handle and an object id readable as titles, then waits.
fn publish() -> Value {
    let mut print = on_page("Page.printToPDF", json!({"transferMode": "ReturnAsStream"}));
    print["let"] = json!({"STREAM": "/result/stream"});
    let title = |name: &str| evaluate(&format!("document.title = '{name}'"));
    own_page(&[
        on_page("Page.navigate", json!({"url": shop("hello?victim")})),
        loaded(&shop("hello?victim")),
        print,
        title("$PAGE $STREAM"),
        meet("streams"),
        on_page("IO.read", json!({"handle": "$STREAM", "size": 4})),
    ])
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn session_ids_and_streams_of_others_are_unknown() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let script = publish().to_string();
    open_blank(&server, "victim");
    let victim = server.begin("victim", &["fill", "@e1", &script], Some(100));
    let title = wait_for("the ids of the victim", || {
        let list = super::super::chromium::debug_request(browser.port(), "GET", "/json/list")?;
        let titles = list.as_array()?.iter().filter_map(|tab| tab["title"].as_str());
        titles.map(str::to_owned).find(|title| title.split(' ').count() == 2 && title.len() > 20)
    });
    let (session, stream) = title.split_once(' ').unwrap();
    let by_session =
        |method: &str, params: Value| json!({"send": {"method": method, "params": params, "session": session}});
    let mut steps = vec![
        by_session("Runtime.evaluate", json!({"expression": "document.title = 'changed'"})),
        by_session("Page.navigate", json!({"url": shop("next")})),
        by_session("IO.read", json!({"handle": stream})),
        send("Target.detachFromTarget", json!({"sessionId": session})),
        send("IO.read", json!({"handle": stream})),
        on_page("IO.read", json!({"handle": stream})),
        on_page("IO.close", json!({"handle": stream})),
        on_page("IO.resolveBlob", json!({"objectId": "1"})),
    ];
    for made_up in ["", "0", "0123456789ABCDEF0123456789ABCDEF"] {
        steps.push(json!({"send": {"method": "Runtime.evaluate", "params": {"expression": "1"}, "session": made_up}}));
        steps.push(on_page("IO.read", json!({"handle": made_up})));
    }
    let replies = attack(&server, "s", &own_page(&steps));
    for (number, step) in steps.iter().enumerate() {
        assert!(replies.is_refused(OWN_PAGE + number), "{step}: {replies:#?}");
    }
    // Control: the owner still has its page and its stream.
    hosts::meet("streams");
    let owner = super::Replies::read(victim.answer().ok().data());
    assert!(!owner.is_refused(OWN_PAGE + 5), "control: {owner:#?}");
    assert!(browser.is_at(&shop("hello?victim")), "{:?}", browser.tabs());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn target_cannot_be_created_in_another_context() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    attack(&server, "victim", &own_page(&[]));
    attack(&server, "s", &own_page(&[]));
    let contexts = browser.contexts();
    assert!(contexts.len() >= 2, "each session must have its context: {contexts:?}");
    for context in contexts {
        let url = shop("hello?planted");
        let mut create = send("Target.createTarget", json!({"url": url, "browserContextId": context}));
        create["let"] = json!({"NEW": "/result/targetId"});
        let steps = json!([
            {"ws": "browser"},
            create,
            send("Target.getTargets", json!({})),
            send("Target.closeTarget", json!({"targetId": "$NEW"})),
        ]);
        wait_for("a refusal, or a target in the client's own context, where the client sees it", || {
            let replies = attack(&server, "s", &steps);
            let created = replies.reply(1)["result"]["targetId"].as_str();
            let own = replies.reply(2)["result"]["targetInfos"].to_string();
            created.is_none_or(|target| own.contains(target)).then_some(())
        });
        let control = browser.run(&steps);
        let targets = control.result(2)["targetInfos"].as_array().unwrap();
        // Its document may be refused: one of the contexts is the gate's own.
        let planted = targets.iter().find(|target| target["targetId"] == control.result(1)["targetId"]);
        assert_eq!(planted.expect("control: no target")["browserContextId"], context.as_str(), "control");
    }
}
