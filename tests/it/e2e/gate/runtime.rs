//! The attacks against a runtime, which starts Chromium itself.

use serde_json::{Value, json};

use super::{
    super::{
        super::runtime::server::{Runtime, Setup},
        hosts::INTRANET,
        processes::wait_for,
        test_env,
    },
    attacker,
    browser::GateBrowser,
    script::{OWN_PAGE, Replies, evaluate, loaded, on_page, own_page, send, settled},
    shop,
};

/// Runs a script in the sandbox of a runtime's session; `None` if the answer was withheld by the policy.
#[track_caller]
fn attack(runtime: &Runtime, steps: &Value) -> Option<Replies> {
    let text = steps.to_string();
    assert!(!text.contains('\''), "the script is one quoted word");
    let outcome = runtime.exec(&format!("fill @e1 '{text}'"));
    if outcome.code == 77 {
        return None;
    }
    Some(Replies::read(serde_json::from_str(&outcome.ok().stdout).unwrap()))
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn runtime_shows_no_file_and_no_private_host() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "text of a private file").unwrap();
    let file = format!("file://{}", secret.path().display());
    let read = |url: &str| {
        let mut context = send("Target.createBrowserContext", json!({"proxyServer": "direct://"}));
        context["let"] = json!({"CONTEXT": "/result/browserContextId"});
        let mut target = send("Target.createTarget", json!({"url": url, "browserContextId": "$CONTEXT"}));
        target["let"] = json!({"NEW": "/result/targetId"});
        own_page(&[
            on_page("Page.navigate", json!({ "url": url })),
            settled(),
            evaluate("document.body.innerText"),
            context,
            target,
            {
                let mut attach = send("Target.attachToTarget", json!({"targetId": "$NEW", "flatten": true}));
                attach["let"] = json!({"PAGE": "/result/sessionId"});
                attach
            },
            settled(),
            evaluate("document.body.innerText"),
        ])
    };
    let intranet = format!("http://{INTRANET}/hello");
    let marks = [(file.as_str(), "text of a private file"), (intranet.as_str(), "Hello from")];
    {
        let browser = GateBrowser::start();
        for (url, mark) in marks {
            wait_for("control: the text of the page", || browser.run(&read(url)).text().contains(mark).then_some(()));
        }
    }
    let runtime = Setup::with_program(&attacker()).start();
    let before = test_env::hosts().paths_of(INTRANET).len();
    for (url, mark) in marks {
        let replies = attack(&runtime, &read(url));
        // The stand-in does not turn to the tab that it has opened.
        runtime.exec("close").ok();
        let Some(replies) = replies else { continue };
        assert!(!replies.text().contains(mark), "{url}: {replies:#?}");
        assert!(replies.is_refused(OWN_PAGE + 3), "{url}: {replies:#?}");
    }
    let page = shop("hello");
    let harmless =
        [on_page("Page.navigate", json!({ "url": page })), loaded(&page), evaluate("document.body.innerText")];
    let replies = attack(&runtime, &own_page(&harmless)).expect("control: a public page");
    assert!(replies.text().contains("Hello from"), "control: a public page");
    assert_eq!(test_env::hosts().paths_of(INTRANET).len(), before);
}
