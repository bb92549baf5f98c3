//! Root methods on the sessions of frames and workers.

use serde_json::{Value, json};

use super::{
    super::hosts::NEWS,
    attack, attacked,
    browser::GateBrowser,
    script::{OWN_PAGE, Replies, evaluate, loaded, on_page, own_page},
    shop,
};

/// Kinds of children, with the expression that makes one of them.
const CHILDREN: &[(&str, &str)] = &[
    ("iframe", "{const f = document.createElement('iframe'); f.src = 'http://HOST/hello'; document.body.append(f);}"),
    ("worker", "window.w = new Worker(URL.createObjectURL(new Blob(['onmessage = () => {}'])));"),
    ("shared_worker", "window.s = new SharedWorker(URL.createObjectURL(new Blob(['onconnect = () => {}'])));"),
];

/// Methods that neither a frame nor a worker may use.
const METHODS: &[&str] = &[
    "Target.createBrowserContext",
    "Target.getBrowserContexts",
    "Storage.getCookies",
    "Tracing.start",
    "Browser.setDownloadBehavior",
    "Browser.getHistograms",
    "SystemInfo.getProcessInfo",
    "Fetch.enable",
    "Network.getAllCookies",
    "Page.setDownloadBehavior",
];

/// Number of steps before the first method.
const FIRST: usize = OWN_PAGE + 8;

/// Returns the steps that make a child, attach to it and send every method on its session.
fn on_child(create: &str) -> Value {
    let mut steps = vec![
        // That of the page itself.
        json!({"event": "Target.attachedToTarget"}),
        on_page("Page.navigate", json!({"url": shop("hello")})),
        loaded(&shop("hello")),
        on_page("Target.setAutoAttach", json!({"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true})),
        on_page("Target.setDiscoverTargets", json!({"discover": true})),
        evaluate(&create.replace("HOST", NEWS)),
        json!({"event": "Target.attachedToTarget", "let": {"CHILD": "/params/sessionId"}}),
        json!({"send": {"method": "Runtime.enable", "params": {}, "session": "$CHILD"}}),
    ];
    let send = |method: &&str| json!({"send": {"method": method, "params": {}, "session": "$CHILD"}, "within": 2000});
    steps.extend(METHODS.iter().map(send));
    own_page(&steps)
}

fn is_attached(replies: &Replies) -> bool {
    !replies.is_refused(FIRST - 1)
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn root_methods_are_errors_on_frames_and_workers() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    for (kind, create) in CHILDREN {
        let steps = on_child(create);
        let control = browser.run(&steps);
        let replies = attack(&server, "s", &steps);
        // Only a shared worker is no child of the page for Chromium itself.
        if !is_attached(&control) {
            assert!(*kind == "shared_worker" && !is_attached(&replies), "control: {control:#?}");
            continue;
        }
        assert!(is_attached(&replies), "control: {kind}: the session must be usable: {replies:#?}");
        for (number, method) in METHODS.iter().enumerate() {
            assert!(replies.is_refused(FIRST + number), "{kind}, {method}: {replies:#?}");
        }
        let accepted = (0..METHODS.len()).filter(|number| !control.is_refused(FIRST + number)).count();
        assert!(accepted > 0 || *kind == "worker", "control: {kind}: {control:#?}");
    }
}
