//! PDFs: their text is read, pages that embed them can be used, and Chromium's viewer is nobody's.

use serde_json::{Value, json};

use super::{
    super::{
        hosts::{NEWS, SHOP},
        processes::wait_for,
        server::CallReply,
        test_env,
    },
    acting::Page,
    agent_browsers, attack, attacked,
    browser::GateBrowser,
    env, only_hosts,
    script::{OWN_PAGE, evaluate, on_page, own_page},
    session_policy, shop, text_of,
};

/// Page of Chromium's viewer.
const VIEWER: &str = "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html";

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_that_embeds_pdfs_is_read_and_acted_on() {
    for program in agent_browsers() {
        for engine in ["gate", "agent-browser"] {
            let browser = GateBrowser::start();
            let mut policy = session_policy();
            policy["snapshot"] = json!({ "engine": engine });
            let server = env(&browser, &program, &policy).serve();
            server.call_within(60, "s", &["open", &shop("gate/pdfs")]).ok();
            let seen = wait_for("the viewers", || {
                let seen = server.call("s", &["snapshot"]).ok().page();
                (engine != "gate" || seen.matches("document \"invoice.pdf\"").count() == 3).then_some(seen)
            });
            // Nothing of the viewer's own controls.
            assert!(!seen.to_lowercase().contains("rotate") && !seen.contains("viewer"), "{engine}: {seen}");
            server.call("s", &["click", "#pay"]).ok();
            let paid = server.call("s", &["snapshot"]).ok().page();
            assert!(paid.contains("The invoice is paid"), "{engine}: {paid}");
        }
    }
}

const INVOICE: &str = "Invoice 4711 total 12 EUR";

/// Waits until the page shows a text, and returns what it shows: a busy Chromium takes some time to load a PDF.
fn shown(page: &Page, text: &str) -> String {
    wait_for(text, || {
        let seen = page.call(&["snapshot"]).ok().page();
        seen.contains(text).then_some(seen)
    })
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn text_of_a_pdf_is_read() {
    Page::each_at("gate/pdfs", |page| {
        let open = || page.ok(&["open", &shop("gate/pdfs")]);
        open();
        // Those that the page embeds, and the control: its own controls.
        let seen = wait_for("the PDFs of the page", || {
            let seen = page.call(&["snapshot"]).ok().page();
            (seen.matches(INVOICE).count() == 3).then_some(seen)
        });
        assert!(seen.contains("button \"Pay\"") && !seen.contains("rotate"), "{seen}");
        for shown in ["iframe", "embed", "object"] {
            assert_eq!(page.ok(&["get", "text", shown])["text"], INVOICE, "{shown}");
        }
        assert_eq!(page.ok(&["get", "text", "#link"])["text"], "Invoice as the page", "control");
        // The page itself, opened and by a press.
        page.ok(&["open", &shop("gate/invoice.pdf")]);
        page.ok(&["wait", "--text", "4711 total"]);
        let check = || {
            let seen = shown(page, INVOICE);
            assert!(seen.starts_with("- document \"invoice.pdf\" [PDF] [pages=1]"), "{seen}");
            assert_eq!(page.ok(&["get", "text", "body"])["text"], INVOICE);
            let found = page.call(&["snapshot", "--find", "total 12"]).ok().page();
            assert!(found.contains(INVOICE), "{found}");
            assert_eq!(page.ok(&["get", "url"])["url"], shop("gate/invoice.pdf"));
            assert!(page.call(&["screenshot"]).ok().picture.is_some());
        };
        check();
        for argv in [&["click", "body"][..], &["press", "Control+p"], &["type", "body", "x"], &["scroll", "down"]] {
            page.refused(argv, "no-effect", &["the page is a PDF"]);
        }
        for link in ["#link", "#tab"] {
            open();
            page.ok(&["click", link]);
            wait_for("the PDF", || (page.ok(&["get", "url"])["url"] == shop("gate/invoice.pdf")).then_some(()));
            check();
        }
        // The page is left like any other.
        open();
        page.ok(&["click", "#pay"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pdf_without_a_text_says_why() {
    Page::each_at("gate/pdfs", |page| {
        for (name, reason) in [
            ("pdf-no-copies.pdf", "its author lets nobody copy its text"),
            ("pdf-locked.pdf", "it opens with a password only"),
            ("pdf-scanned.pdf", "it has pictures and no text"),
            ("pdf-damaged.pdf", "it is damaged"),
        ] {
            page.ok(&["open", &shop(&format!("gate/{name}"))]);
            let seen = shown(page, reason);
            assert!(seen.contains("[PDF]") && !seen.contains("Not to be copied"), "{seen}");
            page.refused(&["get", "text", "body"], "pdf-unreadable", &[reason]);
        }
    });
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_in_a_pdf_is_masked_and_not_pictured() {
    Page::each_at("gate/pdf-secret", |page| {
        page.ok(&["click", "#other"]);
        shown(page, INVOICE);
        assert!(page.call(&["screenshot"]).ok().picture.is_some(), "control");
        page.ok(&["click", "#show"]);
        let seen = shown(page, "Your password is");
        assert!(!seen.contains("falls-4Q9xT"), "{seen}");
        let text = page.ok(&["get", "text", "iframe"])["text"].to_string();
        assert!(text.contains("Your password is") && !text.contains("falls-4Q9xT"), "{text}");
        let found = page.call(&["snapshot", "--find", "falls-4Q9xT"]).ok().page();
        assert!(found.starts_with("(nothing found"), "{found}");
        page.ok(&["wait", "--text", "Your password is"]);
        let waited = page.call_within(8, &["wait", "--text", "falls-4Q9xT"]);
        assert!(waited.stderr.starts_with("element-not-found: "), "{waited:?}");
        page.refused(&["screenshot"], "plain-value-visible", &[]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pdf_as_the_page_is_refused_by_agent_browser() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let mut policy = session_policy();
        policy["snapshot"] = json!({ "engine": "agent-browser" });
        let server = env(&browser, &program, &policy).serve();
        let opened = server.call_within(60, "s", &["open", &shop("gate/invoice.pdf")]);
        assert_eq!(opened.code, 1, "{opened:?}");
        assert!(opened.stderr.starts_with("pdf-unreadable: "), "{opened:?}");
        assert_eq!(server.call("s", &["get", "url"]).ok().data()["url"], "about:blank");
        for link in ["#link", "#tab"] {
            server.call("s", &["open", &shop("gate/pdfs")]).ok();
            let is_refusal = |reply: &CallReply| reply.code == 1 && reply.stderr.starts_with("pdf-unreadable: ");
            // The first call that finds the PDF says so, which on a busy machine is the click.
            let clicked = server.call("s", &["click", link]);
            if !is_refusal(&clicked) {
                println!("{clicked:?}");
                wait_for("the refusal", || is_refusal(&server.call("s", &["snapshot"])).then_some(()));
            }
            let left = server.call("s", &["snapshot"]).ok().page();
            assert!(!left.contains("[PDF]"), "{left}");
        }
        // Control: other documents of the host.
        server.call("s", &["open", &shop("hello")]).ok();
        assert!(server.call("s", &["snapshot"]).ok().page().contains("Hello from"));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pdf_on_refused_host_is_not_requested() {
    let requests = || test_env::hosts().paths_of(NEWS).len();
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let mut policies = [only_hosts(&[SHOP]), only_hosts(&[SHOP, NEWS])];
        for policy in &mut policies {
            policy["snapshot"] = json!({ "engine": "gate" });
        }
        let server = env(&browser, &program, &policies[0]).serve();
        let page = shop(&format!("gate/pdfs?http://{NEWS}/gate/invoice.pdf"));
        let before = requests();
        let opened = server.call_within(60, "s", &["open", &page]).ok();
        let seen = server.call("s", &["snapshot"]).ok();
        assert!((text_of(&opened) + &text_of(&seen)).contains("host-not-in-allowlist"), "{opened:?} {seen:?}");
        assert!(!seen.page().contains("[PDF]") && requests() == before, "{seen:?}");
        server.env().write_policy(&policies[1].to_string());
        server.call("s", &["open", &page]).ok();
        wait_for("control: the viewers", || {
            (server.call("s", &["snapshot"]).ok().page().matches("[PDF]").count() == 3).then_some(())
        });
        assert!(requests() > before, "control");
        // One that is shown when the policy changes is left.
        server.env().write_policy(&policies[0].to_string());
        let seen = server.call("s", &["snapshot"]);
        assert!(text_of(&seen).contains("host-not-in-allowlist") && !text_of(&seen).contains("[PDF]"), "{seen:?}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn viewer_of_pdfs_is_reached_by_nobody() {
    let browser = GateBrowser::start();
    for program in agent_browsers() {
        let mut policy = session_policy();
        policy["snapshot"] = json!({ "engine": "gate" });
        let server = env(&browser, &program, &policy).serve();
        let refused = server.call_within(60, "s", &["open", VIEWER]);
        assert!(refused.code == 77 && refused.stderr.starts_with("scheme-not-allowed: "), "{refused:?}");
        // A page cannot show it by itself.
        server.call("s", &["open", &shop(&format!("gate/pdfs?{VIEWER}"))]);
        let seen = server.call("s", &["snapshot"]);
        assert!(text_of(&seen).contains("Pay") && !text_of(&seen).contains("[PDF]"), "{seen:?}");
    }
    let server = attacked(&browser);
    let attach = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true});
    let on_viewer =
        |method: &str, params: Value| json!({"send": {"method": method, "params": params, "session": "$VIEWER"}});
    let steps = own_page(&[
        // That of the page itself.
        json!({"event": "Target.attachedToTarget"}),
        on_page("Target.setAutoAttach", attach),
        on_page("Page.navigate", json!({"url": shop("gate/pdfs")})),
        json!({"event": "Target.attachedToTarget", "let": {"VIEWER": "/params/sessionId"}, "within": 10_000}),
        on_viewer("Page.enable", json!({})),
        on_viewer("Runtime.runIfWaitingForDebugger", json!({})),
        json!({"event": "Page.frameNavigated", "within": 10_000}),
        on_viewer("Runtime.evaluate", json!({"expression": "location.href", "returnByValue": true})),
        on_page("Page.navigate", json!({"url": VIEWER})),
        evaluate("document.title"),
    ]);
    let replies = attack(&server, "s", &steps);
    for step in [3, 4, 5, 6, 7, 8] {
        assert!(replies.is_refused(OWN_PAGE + step), "{step}: {replies:#?}");
    }
    assert_eq!(*replies.value(OWN_PAGE + 9), "PDFs", "control: the page can be used");
    browser.fresh_tab();
    let control = browser.run(&steps);
    assert_eq!(*control.value(OWN_PAGE + 7), VIEWER, "control");
    assert!(!control.is_refused(OWN_PAGE + 8), "control");
}
