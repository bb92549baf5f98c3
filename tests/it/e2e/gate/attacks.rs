//! Methods that reach past the session: other proxies, files, downloads, the browser itself.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    super::{
        hosts::{self, INTRANET, SHOP},
        processes::wait_for,
    },
    attack, attacked,
    browser::GateBrowser,
    open_blank,
    pages::DOWNLOAD,
    script::{OWN_PAGE, Replies, evaluate, loaded, meet, on_page, own_page, send, settled},
    shop, test_env, text_of,
};

/// Returns steps that read a private host in a context without a proxy.
fn read_past_the_proxy(at_page: bool) -> Value {
    let create = if at_page { on_page } else { send };
    let mut context = create("Target.createBrowserContext", json!({"proxyServer": "direct://"}));
    context["let"] = json!({"CONTEXT": "/result/browserContextId"});
    let url = format!("http://{INTRANET}/hello");
    let mut target = create("Target.createTarget", json!({"url": url, "browserContextId": "$CONTEXT"}));
    target["let"] = json!({"TARGET": "/result/targetId"});
    let mut attach = send("Target.attachToTarget", json!({"targetId": "$TARGET", "flatten": true}));
    attach["let"] = json!({"PAGE": "/result/sessionId"});
    own_page(&[context, target, attach, settled(), evaluate("document.body.innerText")])
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_cannot_create_context_past_the_guard() {
    let browser = GateBrowser::start_guarded();
    let server = attacked(&browser);
    let requests = || test_env::hosts().paths_of(INTRANET).len();
    let greeting = format!("Hello from {INTRANET}");
    for at_page in [false, true] {
        let steps = read_past_the_proxy(at_page);
        if !at_page {
            // Chromium itself takes this method at the root only.
            wait_for("control: the greeting", || browser.run(&steps).text().contains(&greeting).then_some(()));
        }
        let before = requests();
        open_blank(&server, "s");
        let reply = server.call_within(110, "s", &["fill", "@e1", &steps.to_string()]);
        // The tab that the script asks for is one of its own session, whose document the policy refuses.
        if reply.code != 77 {
            let replies = Replies::read(reply.ok().data());
            assert!(replies.is_refused(OWN_PAGE), "at page: {at_page}: {replies:#?}");
            assert!(!replies.text().contains(&greeting), "{replies:#?}");
        }
        // The stand-in does not turn to the tab that it has opened.
        server.call("s", &["close"]).ok();
        assert_eq!(requests(), before, "at page: {at_page}: the private host must see no request");
    }
}

/// Methods that no client may use, each with parameters that Chromium accepts.
fn forbidden() -> Vec<(&'static str, Value)> {
    vec![
        ("Target.createBrowserContext", json!({})),
        ("Target.getBrowserContexts", json!({})),
        ("Target.exposeDevToolsProtocol", json!({"targetId": "$TARGET"})),
        ("Target.setRemoteLocations", json!({"locations": [{"host": "127.0.0.1", "port": 1}]})),
        ("Target.getDevToolsTarget", json!({"targetId": "$TARGET"})),
        ("Storage.getCookies", json!({})),
        ("Storage.setCookies", json!({"cookies": []})),
        ("Storage.clearDataForOrigin", json!({"origin": "http://shop.example.com", "storageTypes": "all"})),
        ("Network.getAllCookies", json!({})),
        ("Network.getCookies", json!({})),
        ("Network.setCookie", json!({"name": "a", "value": "b", "url": "http://shop.example.com"})),
        ("Network.setBypassServiceWorker", json!({"bypass": true})),
        ("Network.setExtraHTTPHeaders", json!({"headers": {"a": "b"}})),
        ("Tracing.start", json!({})),
        ("SystemInfo.getInfo", json!({})),
        ("SystemInfo.getProcessInfo", json!({})),
        ("Browser.getHistograms", json!({})),
        ("Browser.getWindowForTarget", json!({"targetId": "$TARGET"})),
        ("Browser.grantPermissions", json!({"permissions": ["geolocation"]})),
        ("Browser.setPermission", json!({"permission": {"name": "geolocation"}, "setting": "granted"})),
        ("Browser.resetPermissions", json!({})),
        ("Security.setIgnoreCertificateErrors", json!({"ignore": true})),
        ("Fetch.enable", json!({})),
        ("Network.setRequestInterception", json!({"patterns": []})),
        ("Page.setBypassCSP", json!({"enabled": true})),
        ("Page.setDocumentContent", json!({"frameId": "$TARGET", "html": "x"})),
        ("Page.setInterceptFileChooserDialog", json!({"enabled": true})),
        ("DOM.getFileInfo", json!({"objectId": "1"})),
        ("DOMStorage.enable", json!({})),
        ("IndexedDB.enable", json!({})),
        ("CacheStorage.requestCacheNames", json!({"securityOrigin": "http://shop.example.com"})),
        ("ServiceWorker.enable", json!({})),
        ("HeapProfiler.enable", json!({})),
        ("Memory.getDOMCounters", json!({})),
        ("Extensions.getExtensions", json!({})),
        ("Autofill.enable", json!({})),
        ("WebAuthn.enable", json!({})),
        ("Cast.enable", json!({})),
        ("DeviceAccess.enable", json!({})),
        ("FedCm.enable", json!({})),
        ("Overlay.enable", json!({})),
        ("Debugger.enable", json!({})),
        ("Made.up", json!({})),
    ]
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn forbidden_methods_are_errors_at_every_level() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let methods = forbidden();
    let (mut accepted, mut passed) = (0, Vec::new());
    for at_page in [false, true] {
        // In parts, because a script has a limited length.
        for part in methods.chunks(12) {
            let step = if at_page { on_page } else { send };
            let steps: Vec<_> = part.iter().map(|(method, params)| step(method, params.clone())).collect();
            let control = browser.run(&own_page(&steps));
            let replies = attack(&server, "s", &own_page(&steps));
            for (number, (method, _)) in part.iter().enumerate() {
                accepted += usize::from(!control.is_refused(OWN_PAGE + number));
                let answer = replies.reply(OWN_PAGE + number);
                if answer.get("error").is_none() {
                    passed.push(format!("{method}, at page: {at_page}: {answer}"));
                }
            }
        }
    }
    assert!(accepted > methods.len() / 2, "control: only {accepted} were accepted by Chromium itself");
    assert!(passed.is_empty(), "{passed:#?}");
    assert_eq!(attack(&server, "s", &own_page(&[evaluate("6 * 7")])).value(OWN_PAGE), 42, "control");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_cannot_end_the_browser() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    for method in ["Browser.close", "Browser.crash", "Browser.crashGpuProcess"] {
        for step in [send, on_page] {
            let replies = attack(&server, "s", &own_page(&[step(method, json!({}))]));
            assert!(replies.reply(OWN_PAGE).get("error").is_some(), "{method}: {replies:#?}");
            assert!(rustix::process::test_kill_process(pid(browser.id())).is_ok(), "{method}");
            assert!(!browser.tabs().is_empty(), "{method}");
        }
    }
    drop(server);
    browser.run(&own_page(&[send("Browser.close", json!({}))]));
    wait_for("control: the end of Chromium", || {
        std::net::TcpStream::connect(("127.0.0.1", browser.port())).is_err().then_some(())
    });
}

fn pid(id: i32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(id).unwrap()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_cannot_put_files_into_pages() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let folder = tempfile::TempDir::with_prefix("file").unwrap();
    let file = folder.path().join("private.txt");
    fs::write(&file, "text of a private file").unwrap();
    let mut element = on_page(
        "Runtime.evaluate",
        json!({"expression": "window.chosen = Object.assign(document.createElement('input'), {type: 'file'})"}),
    );
    element["let"] = json!({"ELEMENT": "/result/result/objectId"});
    let set = |step: fn(&str, Value) -> Value| {
        step("DOM.setFileInputFiles", json!({"files": [file], "objectId": "$ELEMENT"}))
    };
    let read = evaluate("window.chosen.files[0]?.text()");
    let steps = own_page(&[element, set(on_page), set(send), read]);
    assert_eq!(browser.run(&steps).value(OWN_PAGE + 3), "text of a private file", "control");
    let replies = attack(&server, "s", &steps);
    assert!(replies.is_refused(OWN_PAGE + 1) && replies.is_refused(OWN_PAGE + 2), "{replies:#?}");
    assert!(!replies.text().contains("text of a private file"), "{replies:#?}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_cannot_choose_a_download_folder() {
    let rows = [
        ("Browser.setDownloadBehavior", false),
        ("Browser.setDownloadBehavior", true),
        ("Page.setDownloadBehavior", true),
    ];
    let save = "{const link = document.createElement('a'); link.download = 'a.txt'; \
         link.href = URL.createObjectURL(new Blob(['MARK'])); link.click();}";
    // The folder is that of a session, which ends with the script: it waits until the test names the same meeting.
    let steps = |method: &str, at_page: bool, folder: &Path, meeting: &str| {
        let step = if at_page { on_page } else { send };
        own_page(&[
            on_page("Page.navigate", json!({"url": shop("hello")})),
            loaded(&shop("hello")),
            step(method, json!({"behavior": "allow", "downloadPath": folder})),
            evaluate(&save.replace("MARK", DOWNLOAD)),
            meet(meeting),
        ])
    };
    let count = |folder: &Path| fs::read_dir(folder).unwrap().count();
    for (number, (method, at_page)) in rows.into_iter().enumerate() {
        let (control, folder) = (GateBrowser::start(), tempfile::TempDir::with_prefix("downloads").unwrap());
        let meeting = format!("written-{number}");
        let steps = steps(method, at_page, folder.path(), &meeting);
        std::thread::scope(|scope| {
            scope.spawn(|| control.run(&steps));
            wait_for("control: a written file", || (count(folder.path()) == 1).then_some(()));
            hosts::meet(&meeting);
        });
    }
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    open_blank(&server, "s");
    for (number, (method, at_page)) in rows.into_iter().enumerate() {
        let folder = tempfile::TempDir::with_prefix("downloads").unwrap();
        let meeting = format!("refused-{number}");
        let script = steps(method, at_page, folder.path(), &meeting).to_string();
        let call = server.begin("s", &["fill", "@e1", &script], Some(110));
        hosts::meet(&meeting);
        let mut shown = text_of(&call.answer().ok());
        wait_for("the report of the attempt", || {
            shown.push_str(&text_of(&server.call("s", &["snapshot"]).ok()));
            shown.contains("a download").then_some(())
        });
        assert_eq!(count(folder.path()), 0, "{method}, at page: {at_page}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn agent_browser_cannot_load_resources_of_its_own() {
    let browser = GateBrowser::start_guarded();
    let server = attacked(&browser);
    let load = on_page(
        "Network.loadNetworkResource",
        json!({"frameId": "$TARGET", "url": shop("loaded"), "options": {"disableCache": true, "includeCredentials": true}}),
    );
    let steps = own_page(&[load]);
    let control = browser.run(&steps);
    assert!(!control.is_refused(OWN_PAGE), "control: {control:#?}");
    let before = test_env::hosts().paths_of(SHOP).len();
    assert!(attack(&server, "s", &steps).is_refused(OWN_PAGE));
    assert_eq!(test_env::hosts().paths_of(SHOP).len(), before);
}
