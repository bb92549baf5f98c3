//! URLs that agent-browser may navigate to: http, https and `about:blank`.

use serde_json::{Value, json};

use super::{
    attack, attacked,
    browser::GateBrowser,
    script::{OWN_PAGE, evaluate, loaded, on_page, own_page, send, settled, until},
    shop,
};

/// URLs that are refused. Chromium itself ends when some of these open in a session's context.
const REFUSED: &[&str] = &[
    "file:///etc/hostname",
    "FILE:///etc/hostname",
    " file:///etc/hostname",
    "chrome://version/",
    "chrome://settings/",
    "chrome-extension://abc/x.html",
    "devtools://devtools/bundled/inspector.html",
    "view-source:http://shop.example.com/hello",
    "javascript:document.title='script'",
    "data:text/html,<title>data</title>",
    "blob:http://shop.example.com/1",
    "filesystem:http://shop.example.com/temporary/a",
    "about:version",
    "about:srcdoc",
    "ftp://shop.example.com/",
    "ws://shop.example.com/",
    "mailto:someone@example.com",
    "\\\\shop.example.com\\share",
    "",
];

/// URLs of [`REFUSED`] that Chromium itself opens without harm.
const CONTROLS: &[&str] = &["file:///etc/hostname", "data:text/html,<title>data</title>", "about:version"];

fn navigate(url: &str) -> Value {
    on_page("Page.navigate", json!({ "url": url }))
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_navigates_to_web_pages_only() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    for url in CONTROLS {
        let steps = own_page(&[navigate(url), until("location.href !== 'about:blank'"), evaluate("location.href")]);
        let control = browser.run(&steps);
        assert!(!control.is_refused(OWN_PAGE), "control: {url}: {control:#?}");
        assert!(control.value(OWN_PAGE + 2) != "about:blank", "control: {url}: {control:#?}");
    }
    let home = shop("hello");
    browser.run(&own_page(&[navigate("about:blank")]));
    for url in REFUSED {
        let steps = own_page(&[
            navigate(&home),
            loaded(&home),
            navigate(url),
            send("Target.createTarget", json!({ "url": url })),
            send("Target.createTarget", json!({ "url": url, "newWindow": true, "background": true })),
            evaluate("location.href"),
        ]);
        let replies = attack(&server, "s", &steps);
        assert!(replies.result(OWN_PAGE).get("errorText").is_none(), "control: {replies:#?}");
        for step in [2, 3, 4] {
            // A target without a URL is an empty page.
            let is_empty = url.is_empty() && step > 2;
            let answer = replies.reply(OWN_PAGE + step);
            assert!(is_empty || answer.get("error").is_some(), "{url}: {answer}");
        }
        assert_eq!(replies.value(OWN_PAGE + 5), &home, "{url}");
        let allowed = |address: &str| address == "about:blank" || address.starts_with("http");
        let tabs = browser.tabs();
        assert!(tabs.iter().all(|tab| allowed(&tab.url)), "{url}: {tabs:?}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_goes_back_to_web_pages_only() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    // Only a page of another kind that is in the history already could be returned to.
    let mut history = on_page("Page.getNavigationHistory", json!({}));
    history["let"] = json!({"FIRST": "/result/entries/0/id"});
    let steps = own_page(&[
        navigate(&shop("hello")),
        loaded(&shop("hello")),
        navigate(&shop("next")),
        loaded(&shop("next")),
        history,
        on_page("Page.navigateToHistoryEntry", json!({"entryId": 999_999})),
        on_page("Page.navigateToHistoryEntry", json!({"entryId": "$FIRST"})),
        until(&format!("location.href !== '{}' && document.readyState === 'complete'", shop("next"))),
        evaluate("location.href"),
    ]);
    let replies = attack(&server, "s", &steps);
    assert!(replies.is_refused(OWN_PAGE + 5), "{replies:#?}");
    let at = replies.value(OWN_PAGE + 8);
    assert!(at == "about:blank" || at == &shop("hello"), "control: {replies:#?}");
}

/// Returns messages whose parameters name two values. Readers differ in which of them counts.
fn ambiguous() -> Vec<Value> {
    let (good, bad) = (shop("next"), "file:///etc/hostname");
    let navigate = |params: &str| {
        let text = format!(r#"{{"id":900,"method":"Page.navigate","params":{params},"sessionId":"$PAGE"}}"#);
        json!({ "text": text, "within": 2000 })
    };
    let create = |params: &str| json!({"text": format!(r#"{{"id":901,"method":"Target.createTarget","params":{params}}}"#), "within": 2000});
    let rows = [
        format!(r#"{{"url":"{good}","url":"{bad}"}}"#),
        format!(r#"{{"url":"{bad}","url":"{good}"}}"#),
        format!(r#"{{"url":"{good}","\u0075rl":"{bad}"}}"#),
        format!(r#"{{"url":"{good}"}},"params":{{"url":"{bad}"}}"#),
        r#"{"url":"\u0066ile:///etc/hostname"}"#.to_owned(),
        r#"{"url":"file\u003a///etc/hostname"}"#.to_owned(),
        r#"{"url":"fi\tle:///etc/hostname"}"#.to_owned(),
        r#"{"url":"\u0000file:///etc/hostname"}"#.to_owned(),
        r#"{"url":["file:///etc/hostname"]}"#.to_owned(),
    ];
    rows.iter().flat_map(|params| [navigate(params), create(params)]).collect()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn ambiguous_parameters_open_no_file() {
    let browser = GateBrowser::start();
    let is_file_open = || browser.tabs().iter().any(|tab| tab.url.starts_with("file:"));
    let mut opened = 0;
    for message in ambiguous() {
        browser.run(&own_page(&[message, settled()]));
        opened += usize::from(is_file_open());
        browser.fresh_tab();
    }
    assert!(opened >= 4, "control: Chromium itself opens the file in most rows, not in {opened}");
    let server = attacked(&browser);
    for message in ambiguous() {
        let replies = attack(&server, "s", &own_page(&[message, settled()]));
        assert!(!is_file_open(), "{replies:#?}: {:?}", browser.tabs());
        // The stand-in does not turn to tabs that it has opened.
        server.call("s", &["close"]).ok();
    }
    let control = attack(&server, "s", &own_page(&[navigate(&shop("next")), loaded(&shop("next"))]));
    assert!(browser.is_at(&shop("next")), "control: {control:#?}");
}
