//! The table of events against the protocol of the Chromium that is installed, and what events tell a client.

use std::collections::{BTreeMap, BTreeSet};

use browser_shell_core::gate::{EventHandling, classify_event, event_rules};
use serde_json::{Value, json};

use super::{
    attack, attacked,
    browser::GateBrowser,
    methods::{LEVELS, protocol},
    pages::{AUTHORIZATION, BODY, COOKIE},
    script::{OWN_PAGE, Replies, evaluate, on_page, own_page},
    shop,
};

/// Events that a client gets, with the initials of the levels: root, page, frame, worker. Everything else is withheld, also an
/// event that a new Chromium brings.
const SENT: &[(&str, &str)] = &[
    ("Input.dragIntercepted", "pf"),
    ("Inspector.detached", "p"),
    ("Inspector.targetCrashed", "pf"),
    ("Inspector.workerScriptLoaded", "w"),
    ("Log.entryAdded", "pf"),
    ("Network.loadingFailed", "pfw"),
    ("Network.loadingFinished", "pfw"),
    ("Network.requestServedFromCache", "pfw"),
    ("Network.requestWillBeSent", "pfw"),
    ("Network.responseReceived", "pfw"),
    ("Page.domContentEventFired", "pf"),
    ("Page.frameAttached", "pf"),
    ("Page.frameDetached", "pf"),
    ("Page.frameNavigated", "pf"),
    ("Page.frameRequestedNavigation", "pf"),
    ("Page.lifecycleEvent", "pf"),
    ("Page.loadEventFired", "pf"),
    ("Page.navigatedWithinDocument", "pf"),
    ("Page.windowOpen", "pf"),
    ("Runtime.consoleAPICalled", "pfw"),
    ("Runtime.exceptionThrown", "pfw"),
    ("Runtime.executionContextCreated", "pfw"),
    ("Runtime.executionContextDestroyed", "pfw"),
    ("Runtime.executionContextsCleared", "pfw"),
    ("Target.attachedToTarget", "rpfw"),
    ("Target.detachedFromTarget", "rpfw"),
    ("Target.targetCreated", "r"),
    ("Target.targetDestroyed", "r"),
    ("Target.targetInfoChanged", "r"),
];

/// Events of [`SENT`] of which a client gets no headers and no bodies.
const FILTERED: &str = "Network.";

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn table_sends_listed_events_of_chromium_only() {
    let browser = GateBrowser::start();
    let protocol = protocol(&browser, "events");
    assert!(protocol.len() > 150 && protocol.contains("Page.loadEventFired"), "control: {} events", protocol.len());
    let sent: BTreeMap<_, _> = SENT.iter().copied().collect();
    let all = protocol.iter().map(String::as_str).chain(SENT.iter().map(|(event, _)| *event));
    let mut wrong = Vec::new();
    for event in all.collect::<BTreeSet<_>>() {
        for (initial, level) in LEVELS {
            let expected = sent.get(event).is_some_and(|levels| levels.contains(*initial));
            let handling = classify_event(*level, event).unwrap_or(EventHandling::Withhold);
            let is_filtered = handling == EventHandling::Network;
            if (handling != EventHandling::Withhold) != expected
                || is_filtered != (expected && event.starts_with(FILTERED))
            {
                wrong.push(format!("{event} at {level:?} is {handling:?}, should be sent: {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // A rule for an event that does not exist would hide a mistake in its name. Older Chromiums have some that are not sent.
    let is_sent = |handling| handling != EventHandling::Withhold;
    let rules = event_rules().iter().filter(|rule| is_sent(rule.handling));
    let unknown: Vec<_> = rules.map(|rule| rule.event).filter(|event| !protocol.contains(*event)).collect();
    assert_eq!(unknown, [""; 0]);
}

/// Returns the steps that load the page of requests twice, and search all messages for what its requests hold.
fn observe() -> Value {
    let navigate = || on_page("Page.navigate", json!({"url": shop("gate/headers")}));
    let loaded = || json!({"event": "Page.loadEventFired"});
    let enable = ["Network", "Page", "Runtime", "Log", "DOM"];
    let mut steps: Vec<_> = enable.iter().map(|domain| on_page(&format!("{domain}.enable"), json!({}))).collect();
    // The second one sends the cookie that the first one was given.
    for _ in 0..2 {
        steps.extend([navigate(), loaded(), evaluate("window.sent")]);
    }
    steps.push(json!({"search": [COOKIE, AUTHORIZATION, BODY, "/gate/headers", "/gate/sent"]}));
    own_page(&steps)
}

/// Returns the events that contain each text of [`observe`], and all events.
fn observed(replies: &Replies) -> ([BTreeSet<String>; 5], BTreeSet<String>) {
    assert_eq!(replies.value(OWN_PAGE + 10), "sent", "control: {replies:#?}");
    let search = replies.reply(OWN_PAGE + 11);
    let found: Vec<BTreeSet<String>> = serde_json::from_value(search["found"].clone()).unwrap();
    (found.try_into().unwrap(), serde_json::from_value(search["methods"].clone()).unwrap())
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn events_hold_no_cookie_no_authorization_and_no_body() {
    let browser = GateBrowser::start();
    let ([cookie, authorization, body, ..], _) = observed(&browser.run(&observe()));
    for found in [&cookie, &authorization, &body] {
        assert!(!found.is_empty(), "control: Chromium itself tells them: {cookie:?} {authorization:?} {body:?}");
    }
    let server = attacked(&browser);
    let ([cookie, authorization, body, page, sent], methods) = observed(&attack(&server, "s", &observe()));
    for found in [cookie, authorization, body] {
        assert!(found.is_empty(), "{found:?}");
    }
    for found in [page, sent] {
        for event in ["Network.requestWillBeSent", "Network.responseReceived"] {
            assert!(found.contains(event), "control: the event itself arrives: {found:?}");
        }
    }
    assert!(methods.contains("Network.loadingFinished"), "control: {methods:?}");
    assert!(!methods.iter().any(|method| method.ends_with("ExtraInfo")), "{methods:?}");
}
