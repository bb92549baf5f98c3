//! Documents that the policy refuses: they are never requested, and the page before them stays.

use serde_json::{Value, json};

use super::{
    super::{
        hosts::{NEWS, SHOP},
        processes::wait_for,
        server::{CallReply, Server},
        test_env,
    },
    agent_browsers, attacker,
    browser::GateBrowser,
    env, only_hosts, open_blank, own_policy,
    script::{evaluate, loaded, on_page, own_page, send},
    session_policy, shop, shown_until, text_of,
};

/// Returns the number of requests to the refused host so far.
fn requests() -> usize {
    test_env::hosts().paths_of(NEWS).len()
}

/// Elements of the page that lead away, each with `true` if it does so in the same tab.
const WAYS: &[(&str, bool)] =
    &[("#link", true), ("#submit", true), ("#script", true), ("#meta", true), ("#blank", false), ("#popup", false)];

fn open_leave(server: &Server) -> CallReply {
    server.call_within(60, "s", &["open", &shop(&format!("gate/leave?http://{NEWS}/hello"))]).ok()
}

/// Fails unless the reply says which host was refused, and by which rule.
#[track_caller]
fn assert_refused(reply: CallReply, way: &str) {
    let reply = reply.fails_with(77);
    let text = text_of(&reply);
    assert!(text.contains("host-not-in-allowlist") && text.contains("open.allow_hosts"), "{way}: {text}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn refused_document_is_not_requested_and_page_stays() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &only_hosts(&[SHOP])).serve();
        for (way, _) in WAYS {
            open_leave(&server);
            let before = requests();
            // The page may leave after the click has been answered. Between two calls, no reply can be a refusal of its own.
            shown_until(&server, &server.call("s", &["click", way]), "host-not-in-allowlist");
            let page = server.call("s", &["snapshot"]).ok();
            assert!(page.page().contains("This page stays"), "{way}: {page:?}");
            assert!(page.data()["origin"].as_str().unwrap().starts_with(&shop("gate/leave")), "{way}: {page:?}");
            let is_refused_host = |url: &str| url.starts_with(&format!("http://{NEWS}/"));
            assert!(!browser.tabs().iter().any(|tab| is_refused_host(&tab.url)), "{way}: {:?}", browser.tabs());
            assert_eq!(requests(), before, "{way}: the host must see no request");
        }
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_takes_input_after_a_document_was_refused() {
    let browser = GateBrowser::start();
    let mut policy = own_policy();
    policy["open"] = json!({ "allow_hosts": [SHOP] });
    let server = env(&browser, test_env::no_agent_browser(), &policy).serve();
    for way in ["#link", "#submit", "#script"] {
        open_leave(&server);
        shown_until(&server, &server.call("s", &["click", way]), "host-not-in-allowlist");
        server.call("s", &["type", "#kept", "ab"]).ok();
        server.call("s", &["click", "#counter"]).ok();
        let text = |element: &str| server.call("s", &["get", "text", element]).ok().data()["text"].clone();
        assert_eq!(text("#counter"), "1", "{way}: the page must get the press");
        assert_eq!(server.call("s", &["get", "value", "#kept"]).ok().data()["value"], "ab", "{way}");
    }
}

/// Acts on fields that lead away from the page in the same tab.
const FIELDS: &[&[&str]] = &[
    &["select", "#choice", "leave"],
    &["select", "#sent", "leave"],
    &["fill", "#text", "leave"],
    &["type", "#text", "x"],
    &["check", "#box"],
];

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn field_that_leads_to_refused_document_is_reported() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let policies = [vec![SHOP], vec![SHOP, NEWS]].map(|hosts| {
            let mut policy = only_hosts(&hosts);
            policy["snapshot"]["engine"] = "gate".into();
            policy
        });
        for (policy, is_refused) in policies.iter().zip([true, false]) {
            let server = env(&browser, &program, policy).serve();
            for act in FIELDS {
                open_leave(&server);
                let before = requests();
                let acted = server.call("s", act);
                if is_refused {
                    shown_until(&server, &acted, "host-not-in-allowlist");
                    assert_eq!(requests(), before, "{act:?}");
                } else {
                    wait_for("control: the request", || (requests() > before).then_some(()));
                    let next = server.call("s", &["snapshot"]);
                    let replies = format!("{}{}", text_of(&acted), text_of(&next));
                    assert!(!replies.contains("host-not-in-allowlist"), "{act:?}: {replies}");
                }
            }
        }
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn allowed_document_opens_in_every_way() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &only_hosts(&[SHOP, NEWS])).serve();
        for (way, is_same_tab) in WAYS {
            open_leave(&server);
            let before = requests();
            server.call("s", &["click", way]).ok();
            wait_for(&format!("control: the request of {way}"), || (requests() > before).then_some(()));
            if *is_same_tab {
                wait_for(&format!("control: the page of {way}"), || {
                    server.call("s", &["snapshot"]).ok().page().contains("Hello from").then_some(())
                });
            }
            // The next way starts with one tab.
            server.call("s", &["close"]).ok();
        }
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn redirect_to_refused_host_never_reaches_it() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &only_hosts(&[SHOP])).serve();
        server.call_within(60, "s", &["open", &shop("hello")]).ok();
        let before = requests();
        let twice = shop(&format!("to?{}", shop(&format!("to?http://{NEWS}/hello"))));
        for url in [shop(&format!("to?http://{NEWS}/hello")), twice] {
            assert_refused(server.call("s", &["open", &url]), &url);
            assert_eq!(requests(), before, "{url}");
            assert!(server.call("s", &["snapshot"]).ok().page().contains("Hello from"), "the page must stay: {url}");
        }
        let harmless = shop(&format!("to?{}", shop("next")));
        assert_eq!(server.call("s", &["open", &harmless]).ok().data()["url"], shop("next"), "control");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn history_does_not_return_to_a_host_refused_since() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &only_hosts(&[SHOP, NEWS])).serve();
        server.call_within(60, "s", &["open", &format!("http://{NEWS}/hello")]).ok();
        server.call("s", &["open", &shop("next")]).ok();
        let strict: Value = only_hosts(&[SHOP]);
        server.env().write_policy(&strict.to_string());
        let before = requests();
        assert_refused(server.call("s", &["back"]), "back");
        assert_eq!(requests(), before);
        assert!(server.call("s", &["snapshot"]).ok().page().contains("This is /next"));
        server.env().write_policy(&only_hosts(&[SHOP, NEWS]).to_string());
        let back = server.call("s", &["back"]).ok();
        assert_eq!(back.data()["url"], json!(format!("http://{NEWS}/hello")), "control");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_cannot_request_refused_document() {
    let browser = GateBrowser::start();
    let url = format!("http://{NEWS}/hello");
    let frame = format!("{{const f = document.createElement('iframe'); f.src = '{url}'; document.body.append(f);}}");
    let ways = [
        on_page("Page.navigate", json!({ "url": url })),
        send("Target.createTarget", json!({ "url": url })),
        send("Target.createTarget", json!({ "url": url, "newWindow": true, "background": true })),
        evaluate(&format!("location.href = '{url}'")),
        evaluate(&frame),
        on_page("Runtime.evaluate", json!({"expression": format!("open('{url}')"), "userGesture": true})),
        // What still waits for a decision when its tab or frame goes.
        on_page(
            "Runtime.evaluate",
            json!({
                "expression": format!("{{const w = open('{url}'); setTimeout(() => w.close(), 5);}}"), "userGesture": true,
            }),
        ),
        evaluate(&format!(
            "for (let ms = 0; ms < 20; ms++) {{const f = document.createElement('iframe'); f.src = '{url}'; \
             document.body.append(f); setTimeout(() => f.remove(), ms);}}"
        )),
        evaluate(&format!(
            "new Promise(done => setTimeout(() => done(open('{}') && 1), 50))",
            shop(&format!("to?{url}"))
        )),
    ];
    let server = env(&browser, &attacker(), &only_hosts(&[SHOP])).serve();
    // Nothing follows what is refused here, so the host is watched for a second, in which it must see no request. A machine that
    // takes longer makes this test weaker, not red.
    let home = shop("hello");
    let run = |way: &Value| {
        let steps =
            [on_page("Page.navigate", json!({ "url": home })), loaded(&home), way.clone(), json!({"sleep": 1000})];
        let text = own_page(&steps).to_string();
        // Several times, because a new tab may be faster than the gate. The call itself may be refused.
        let sessions: Vec<_> = (0..4).map(|number| format!("s{number}")).collect();
        for session in &sessions {
            open_blank(&server, session);
        }
        let begin = |session: &String| server.begin(session, &["fill", "@e1", &text], Some(110));
        let calls: Vec<_> = sessions.iter().map(begin).collect();
        let codes: Vec<_> = calls.into_iter().map(|call| call.answer().code).collect();
        for session in &sessions {
            server.call(session, &["close"]).ok();
        }
        codes
    };
    let mut reached = Vec::new();
    for way in &ways {
        let before = requests();
        let codes = run(way);
        let count = requests() - before;
        if count > 0 || codes.iter().any(|code| ![0, 77].contains(code)) {
            reached.push(format!("{count} requests, {codes:?}: {way}"));
        }
    }
    assert!(reached.is_empty(), "the host must see no request: {reached:#?}");
    server.env().write_policy(&only_hosts(&[SHOP, NEWS]).to_string());
    for way in &ways[..5] {
        let before = requests();
        run(way);
        wait_for(&format!("control: a request by {way}"), || (requests() > before).then_some(()));
    }
}

/// A service worker answers a document without a request. Nothing of it is read, and the page is left, if the policy refuses its host by then.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn refused_document_of_a_service_worker_is_not_read() {
    const KEPT: &str = "Text that the worker kept";
    let kept = &format!("http://{NEWS}/gate/kept-by-it");
    let own = (test_env::no_agent_browser().to_owned(), own_policy());
    let others = agent_browsers().into_iter().map(|program| (program, session_policy()));
    for (program, mut policy) in others.chain([own]) {
        let name = program.display();
        let mut allow = |hosts: &[&str]| {
            policy["open"] = json!({ "allow_hosts": hosts });
            policy.clone()
        };
        let browser = GateBrowser::start_secure();
        let server = env(&browser, &program, &allow(&[SHOP, NEWS])).serve();
        server.call_within(60, "s", &["open", &format!("http://{NEWS}/gate/offline")]).ok();
        server.call("s", &["wait", "--text", "ready"]).ok();
        let leave = || server.call("s", &["open", &shop(&format!("gate/leave?{kept}"))]).ok();
        leave();
        server.call("s", &["click", "#link"]).ok();
        server.call("s", &["wait", "--text", KEPT]).ok();
        server.env().write_policy(&allow(&[SHOP]).to_string());
        for way in ["#link", "#submit", "#blank", "#frame"] {
            leave();
            let mut shown = text_of(&server.call("s", &["click", way]));
            wait_for("the refusal", || {
                let read = text_of(&server.call("s", &["get", "text", "body"]));
                assert!(!read.contains(KEPT), "{name} {way}: {read}");
                shown.push_str(&read);
                shown.contains("host-not-in-allowlist").then_some(())
            });
            let tabs = browser.tabs();
            assert!(tabs.iter().all(|tab| tab.url != *kept), "{name} {way}: {tabs:?}");
        }
        assert_refused(server.call("s", &["open", kept]), "open");
    }
    assert!(!test_env::hosts().paths_of(NEWS).iter().any(|path| path == "/gate/kept-by-it"), "it is the worker's own");
}
