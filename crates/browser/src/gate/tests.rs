//! Tests of a session's part of the browser against a stand-in for Chromium.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use browser_shell_core::gate::Level;
use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::Isolation;
use browser_shell_core::session_id::SessionId;
use browser_shell_core::snapshot::STYLES;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::gate::browser::{Browser, GateError, PageOwner, WindowMode};
use crate::gate::documents::Documents;
use crate::gate::element::ElementError;
use crate::gate::element::located::in_world;
use crate::gate::notices::{Dialog, Notice};
use crate::gate::page::{Loss, Page, Release, World};
use crate::gate::reader::SnapshotRequest;
use crate::gate::scope::{Denied, EndpointAddress, GateServices};
use crate::gate::secrets::SecretsError;
use crate::gate::session::GateSession;
use browser_shell_cdp::protocol::BackendNodeId;
use browser_shell_cdp::protocol::browser::GetVersion;
use browser_shell_cdp::protocol::input::{DispatchMouseEvent, MouseEventType};
use browser_shell_cdp::protocol::page::FrameTree;
use browser_shell_cdp::protocol::target::TargetInfo;
use browser_shell_cdp::{CommandError, Connection};
use browser_shell_system::policy_source::PolicySource;

/// Stand-in for Chromium with one tab, `TAB`, and the gate with one session.
struct Fake {
    session: Arc<GateSession>,
    browser: Arc<Browser>,
    to_gate: UnboundedSender<std::io::Result<String>>,
    sent: Arc<Mutex<Vec<Value>>>,
    /// Methods that are refused, with their session.
    refused: Arc<Mutex<Vec<(&'static str, &'static str)>>>,
    /// Sessions that do not answer, with the commands that wait there, but for those that Chromium itself answers.
    silent: Arc<Mutex<HashMap<&'static str, Vec<Value>>>>,
    /// Results by method, instead of the usual ones.
    results: Arc<Mutex<HashMap<&'static str, Value>>>,
    policy: tempfile::TempPath,
    services: Arc<Services>,
}

struct Services {
    browser: Arc<Browser>,
    documents: Arc<Documents>,
}

impl GateServices for Services {
    fn set_active(&self, _: &SessionId, _: bool) {}

    fn prepare_paste<'a>(&'a self, _: &'a SessionId, _: &'a Arc<Browser>) -> BoxFuture<'a, Result<(), GateError>> {
        std::future::ready(Ok(())).boxed()
    }

    fn browser(&self) -> BoxFuture<'_, Result<Arc<Browser>, GateError>> {
        std::future::ready(Ok(self.browser.clone())).boxed()
    }

    fn bring_to_front<'a>(
        &'a self,
        _: &'a SessionId,
        _: Option<Arc<Page>>,
        _: &'a Arc<Browser>,
    ) -> BoxFuture<'a, Result<bool, GateError>> {
        std::future::ready(Ok(false)).boxed()
    }

    fn documents(&self) -> Arc<Documents> {
        self.documents.clone()
    }

    fn windows(&self) -> WindowMode {
        WindowMode::Maximized
    }

    fn count_refusal(&self, _: &SessionId, _: Level, _: Denied<'_>) {}
}

fn attached(parent: Option<&str>, session: &str, kind: &str, target: &str) -> Value {
    let info = json!({
        "targetId": target, "type": kind, "title": "", "url": "http://public.test/", "attached": true,
        "browserContextId": "DEFAULT",
    });
    let mut event = json!({
        "method": "Target.attachedToTarget", "params": { "sessionId": session, "targetInfo": info },
    });
    if let Some(parent) = parent {
        event["sessionId"] = parent.into();
    }
    event
}

fn frame(id: &str, document: &str, url: &str) -> Value {
    json!({ "id": id, "loaderId": document, "url": url, "mimeType": "text/html" })
}

impl Fake {
    async fn start() -> Self {
        Self::start_with(r#"{"subcommands":{"enable":["dialog"]}}"#).await
    }

    async fn start_with(policy_text: &str) -> Self {
        let (to_gate, from_chromium) = unbounded::<std::io::Result<String>>();
        let (to_chromium, mut commands) = unbounded::<String>();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let refused = Arc::new(Mutex::new(Vec::new()));
        let results = Arc::new(Mutex::new(HashMap::<&'static str, Value>::new()));
        let silent = Arc::new(Mutex::new(HashMap::<&'static str, Vec<Value>>::new()));
        let waiting = silent.clone();
        let (log, refusals, answers, given) = (sent.clone(), refused.clone(), to_gate.clone(), results.clone());
        tokio::spawn(async move {
            while let Some(command) = commands.next().await {
                let command: Value = serde_json::from_str(&command).unwrap();
                let method = command["method"].as_str().unwrap();
                let session = command["sessionId"].as_str().unwrap_or_default();
                if method == "Target.setAutoAttach" && session.is_empty() {
                    let _ = answers.unbounded_send(Ok(attached(None, "PAGE", "page", "TAB").to_string()));
                }
                let result = match method {
                    "Target.getBrowserContexts" => {
                        json!({ "browserContextIds": [], "defaultBrowserContextId": "DEFAULT" })
                    }
                    "Target.createTarget" => {
                        let _ = answers.unbounded_send(Ok(attached(None, "NEW", "page", "NEW").to_string()));
                        json!({ "targetId": "NEW" })
                    }
                    "DOM.performSearch" => json!({ "searchId": "1", "resultCount": 0 }),
                    "Page.getFrameTree" => json!({ "frameTree": { "frame": frame("EMPTY", "0", "about:blank") } }),
                    "Runtime.evaluate" => json!({ "result": { "type": "undefined" } }),
                    "Browser.getVersion" => json!({
                        "product": "Chromium", "protocolVersion": "1.3", "revision": "", "userAgent": "", "jsVersion": "",
                    }),
                    _ => json!({}),
                };
                let result = given.lock().unwrap().get(method).cloned().unwrap_or(result);
                let mut answer = json!({ "id": command["id"], "result": result });
                let is_refused = |known: &(&str, &str)| *known == (method, session);
                if refusals.lock().unwrap().iter().any(is_refused) {
                    answer = json!({ "id": command["id"], "error": { "message": "refused" } });
                }
                match waiting.lock().unwrap().get_mut(session).filter(|_| method != "Fetch.enable") {
                    Some(answers) => answers.push(answer),
                    None => drop(answers.unbounded_send(Ok(answer.to_string()))),
                }
                log.lock().unwrap().push(command);
            }
        });
        let mut policy = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut policy, policy_text.as_bytes()).unwrap();
        let policy = policy.into_temp_path();
        let documents = Arc::new(Documents::new(PolicySource::new(policy.to_path_buf())));
        let connection = Connection::start_with_texts(from_chromium, to_chromium);
        let browser = Browser::start(connection, 1, documents.clone()).await.unwrap();
        let services = Arc::new(Services { browser: browser.clone(), documents });
        let weak: Weak<dyn GateServices> = Arc::<Services>::downgrade(&services);
        let endpoint = Some(Arc::new(EndpointAddress { port: 1, stop: CancellationToken::new() }));
        let id = SessionId::new("s").unwrap();
        let session = GateSession::new(id, Isolation::Shared, endpoint, None, None, weak);
        let fake = Self { session, browser, to_gate, sent, refused, silent, results, policy, services };
        fake.until(|| fake.browser.pages().iter().any(|page| page.is_ready())).await;
        fake.session.prepare().await.unwrap();
        fake.session.wait_until_shown().await.unwrap();
        // The tests begin with a tab whose frame the gate does not know.
        let detached = json!({ "frameId": "EMPTY", "reason": "remove" });
        fake.send(&json!({ "method": "Page.frameDetached", "sessionId": "PAGE", "params": detached }));
        fake.until(|| fake.browser.pages().iter().all(|page| page.documents().is_empty())).await;
        fake
    }

    fn navigate(&self, session: &str, frame: &Value) {
        let params = json!({ "frame": frame, "type": "Navigation" });
        self.send(&json!({ "method": "Page.frameNavigated", "sessionId": session, "params": params }));
    }

    fn send(&self, event: &Value) {
        self.to_gate.unbounded_send(Ok(event.to_string())).unwrap();
    }

    fn open_dialog(&self, session: &str, kind: &str) {
        let params = json!({ "type": kind, "message": "message", "url": "http://public.test/" });
        self.send(&json!({ "method": "Page.javascriptDialogOpening", "sessionId": session, "params": params }));
    }

    /// Shows a document in the tab, without an event.
    fn show(&self, document: &str, world: u64) {
        let frame = json!({ "frameTree": { "frame": frame("TAB", document, "http://public.test/") } });
        let mut results = self.results.lock().unwrap();
        results.insert("Page.getFrameTree", frame);
        results.insert("Page.createIsolatedWorld", json!({ "executionContextId": world }));
    }

    /// Shows a document with this capture in the tab, without an event. Each of its elements is the same object.
    fn show_document(&self, document: &Value, strings: &Value) {
        self.show("A", 7);
        self.results.lock().unwrap().extend([
            ("Runtime.evaluate", json!({ "result": { "objectId": "1" } })),
            ("DOMSnapshot.captureSnapshot", json!({ "documents": [document], "strings": strings })),
            ("Accessibility.getFullAXTree", json!({ "nodes": [] })),
            ("DOM.resolveNode", json!({ "object": { "objectId": "2" } })),
        ]);
    }

    fn refuse(&self, method: &'static str, session: &'static str) {
        self.refused.lock().unwrap().push((method, session));
    }

    /// Lets a session hang.
    fn hang(&self, session: &'static str) {
        self.silent.lock().unwrap().insert(session, Vec::new());
    }

    /// Lets a session answer again, also what has waited.
    fn go_on(&self, session: &str) {
        for answer in self.silent.lock().unwrap().remove(session).unwrap() {
            self.send(&answer);
        }
    }

    fn count(&self, method: &str) -> usize {
        self.sent.lock().unwrap().iter().filter(|command| command["method"] == method).count()
    }

    /// Returns the names of the commands that were sent.
    fn methods(&self) -> Vec<String> {
        let sent = self.sent.lock().unwrap();
        sent.iter().map(|command| command["method"].as_str().unwrap().to_owned()).collect()
    }

    async fn until(&self, is_done: impl Fn() -> bool) {
        let wait = async {
            while !is_done() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), wait).await.expect("it happens");
    }

    async fn until_dialog(&self) {
        tokio::time::timeout(Duration::from_mins(1), self.session.wait_for_dialog()).await.expect("a dialog");
    }
}

#[tokio::test]
async fn worker_starts_at_once_and_is_forgotten() {
    let fake = Fake::start().await;
    for kind in ["worker", "worklet", "kind-of-a-later-version"] {
        fake.send(&attached(Some("PAGE"), kind, kind, "W"));
        let has_sent = |method, session, over: Option<&str>| {
            let sent = fake.sent.lock().unwrap();
            sent.iter().any(|command| {
                command["method"] == method
                    && command["sessionId"].as_str() == over
                    && session == command["params"]["sessionId"].as_str()
            })
        };
        fake.until(|| has_sent("Target.detachFromTarget", Some(kind), Some("PAGE"))).await;
        assert!(has_sent("Runtime.runIfWaitingForDebugger", None, Some(kind)), "{kind}");
    }
    assert_eq!(fake.browser.pages()[0].sessions().len(), 1);
    // Control: a frame is kept.
    fake.send(&attached(Some("PAGE"), "FRAME", "iframe", "F"));
    fake.until(|| fake.browser.pages()[0].sessions().len() == 2).await;
}

#[tokio::test]
async fn viewer_of_pdfs_is_allowed_in_pdfs_only() {
    const VIEWER: &str = "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html";
    for (kind, is_pdf) in [("application/pdf", true), ("text/html", false)] {
        let fake = Fake::start().await;
        let show = |session: &str, frame: &str, parent: &str, url: &str, kind: &str| {
            let frame = json!({ "id": frame, "loaderId": "1", "parentId": parent, "url": url, "mimeType": kind });
            fake.navigate(session, &frame);
        };
        show("PAGE", "FILE", "TAB", "http://public.test/file", kind);
        let mut attach = attached(Some("PAGE"), "FRAME", "iframe", "V");
        attach["params"]["targetInfo"]["parentFrameId"] = "FILE".into();
        fake.send(&attach);
        fake.until(|| fake.browser.pages()[0].sessions().len() == 2).await;
        show("FRAME", "V", "FILE", VIEWER, "text/html");
        show("PAGE", "LAST", "TAB", "http://public.test/", "text/html");
        let page = fake.browser.pages().remove(0);
        let is_known = |frame: &str| page.documents().iter().any(|document| document.frame.as_str() == frame);
        fake.until(|| is_known("LAST")).await;
        let info = attached(None, "FRAME", "iframe", "V")["params"]["targetInfo"].take();
        let info: TargetInfo = serde_json::from_value(info).unwrap();
        assert_eq!((page.is_in_pdf(&info), is_known("V")), (is_pdf, !is_pdf));
        assert_eq!(page.running_sessions().len(), if is_pdf { 1 } else { 2 });
        let refusal = fake.session.leave_refused_frames().await.map(|decision| decision.code.as_str());
        assert_eq!(refusal, Some("scheme-not-allowed").filter(|_| !is_pdf));
        // What a page puts into a frame of a PDF is decided as elsewhere.
        show("PAGE", "LAST", "FILE", "file:///etc/passwd", "text/plain");
        fake.until(|| page.documents().iter().any(|document| document.url.starts_with("file:"))).await;
        assert!(fake.session.leave_refused_frames().await.is_some());
    }
}

#[tokio::test]
async fn list_of_frames_does_not_displace_a_newer_document() {
    let fake = Fake::start().await;
    let frame = |id: &str, url: &str, kind: &str| json!({ "id": id, "loaderId": "1", "parentId": "TAB", "url": url, "mimeType": kind });
    fake.navigate("PAGE", &frame("FILE", "http://public.test/file", "application/pdf"));
    let page = fake.browser.pages().remove(0);
    fake.until(|| page.is_pdf(&"FILE".into())).await;
    let child = |id: &str| json!({ "frame": frame(id, "about:blank", "text/html") });
    let tree =
        json!({ "frame": frame("TAB", "about:blank", "text/html"), "childFrames": [child("FILE"), child("OTHER")] });
    let tree: FrameTree = serde_json::from_value(tree).unwrap();
    page.add_documents(&page.session, &tree);
    assert!(page.is_pdf(&"FILE".into()));
    assert!(page.documents().iter().any(|document| document.frame.as_str() == "OTHER"), "control");
    // One that another process showed before is displaced.
    page.add_documents(&"FRAME".into(), &tree);
    assert!(!page.is_pdf(&"FILE".into()), "control");
}

#[tokio::test]
async fn dialog_ends_with_its_page_frame_or_tab() {
    let fake = Fake::start().await;
    fake.send(&attached(Some("PAGE"), "FRAME", "iframe", "F"));
    fake.until(|| fake.browser.pages()[0].sessions().len() == 2).await;
    for (opener, end) in [
        ("PAGE", json!({ "method": "Page.javascriptDialogClosed", "sessionId": "PAGE", "params": {} })),
        (
            "FRAME",
            json!({ "method": "Target.detachedFromTarget", "sessionId": "PAGE", "params": { "sessionId": "FRAME" } }),
        ),
        ("PAGE", json!({ "method": "Target.targetDestroyed", "params": { "targetId": "TAB" } })),
    ] {
        fake.open_dialog(opener, "confirm");
        fake.until_dialog().await;
        fake.send(&end);
        fake.until(|| fake.session.open_dialog().is_none()).await;
    }
    assert!(matches!(fake.session.answer_dialog(true, None).await, Ok(None)));
    assert_eq!(fake.count("Page.handleJavaScriptDialog"), 0);
}

#[tokio::test]
async fn input_that_waited_is_sent_when_a_dialog_ends() {
    let fake = Fake::start().await;
    let page = fake.browser.page(&"TAB".into()).unwrap();
    fake.send(&attached(Some("PAGE"), "FRAME", "iframe", "F"));
    fake.until(|| page.sessions().len() == 2).await;
    let release = || Release::Button(DispatchMouseEvent::at(MouseEventType::MouseReleased, (1.0, 1.0)));
    for (number, opener, end) in [
        // Control: Chromium reports the end.
        (1, "PAGE", json!({ "method": "Page.javascriptDialogClosed", "sessionId": "PAGE", "params": {} })),
        (2, "FRAME", json!({ "method": "Inspector.targetCrashed", "sessionId": "FRAME", "params": {} })),
        (
            3,
            "FRAME",
            json!({ "method": "Target.detachedFromTarget", "sessionId": "PAGE", "params": { "sessionId": "FRAME" } }),
        ),
    ] {
        fake.open_dialog(opener, "confirm");
        fake.until_dialog().await;
        assert!(page.keep_during_dialog(release()).is_none(), "it waits");
        assert_eq!(fake.count("Input.dispatchMouseEvent"), number - 1, "{end}");
        fake.send(&end);
        fake.until(|| fake.session.open_dialog().is_none()).await;
        fake.until(|| fake.count("Input.dispatchMouseEvent") == number).await;
    }
    assert!(page.keep_during_dialog(release()).is_some(), "none is open");
}

#[tokio::test]
async fn dialog_is_answered_once_and_refusal_is_an_error() {
    let fake = Fake::start().await;
    fake.open_dialog("PAGE", "prompt");
    fake.until_dialog().await;
    let (first, second) =
        tokio::join!(fake.session.answer_dialog(true, Some("text")), fake.session.answer_dialog(false, None));
    assert_eq!(first.unwrap().unwrap().answer, Some("accepted"));
    assert_eq!(second.unwrap(), None);
    assert_eq!(fake.count("Page.handleJavaScriptDialog"), 1);
    assert!(fake.session.take_notices().is_empty(), "the answer reports it");
    fake.refuse("Page.handleJavaScriptDialog", "PAGE");
    fake.open_dialog("PAGE", "confirm");
    fake.until_dialog().await;
    assert!(matches!(fake.session.answer_dialog(true, None).await, Err(CommandError::Refused { .. })));
    assert_eq!(fake.session.open_dialog(), None, "Chromium has none");
}

#[tokio::test]
async fn dialog_gets_safe_answer_after_policy_change() {
    let fake = Fake::start().await;
    fake.open_dialog("PAGE", "confirm");
    fake.until_dialog().await;
    fake.session.answer_abandoned_dialogs().await;
    assert!(fake.session.open_dialog().is_some(), "control: the policy lets the agent answer");
    // Of another length, so that the file has changed whatever its time says.
    std::fs::write(&fake.policy, "{}").unwrap();
    let end = async {
        while fake.session.open_dialog().is_some() {
            fake.session.answer_abandoned_dialogs().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), end).await.expect("an answer");
    let sent = fake.sent.lock().unwrap();
    let answer = sent.iter().find(|command| command["method"] == "Page.handleJavaScriptDialog").unwrap();
    assert_eq!(answer["params"]["accept"], false);
}

#[tokio::test]
async fn dialog_of_a_page_that_is_left_gets_safe_answer() {
    let fake = Fake::start().await;
    for (kind, accept) in [("confirm", false), ("alert", true)] {
        fake.open_dialog("PAGE", kind);
        fake.until_dialog().await;
        fake.sent.lock().unwrap().clear();
        fake.session.leave_dialogs().await;
        assert!(fake.session.open_dialog().is_none(), "{kind}");
        let sent = fake.sent.lock().unwrap().clone();
        let answers: Vec<_> =
            sent.iter().filter(|command| command["method"] == "Page.handleJavaScriptDialog").collect();
        assert!(matches!(answers[..], [answer] if answer["params"]["accept"] == accept), "{kind}: {answers:?}");
        assert!(!sent.iter().any(|command| command["method"] == "Target.closeTarget"), "its tab stays: {kind}");
    }
}

#[tokio::test]
async fn dialog_waits_if_the_front_end_offers_the_subcommand() {
    // The runtime's compat profile has it without a policy.
    let fake = Fake::start_with("{}").await;
    for (profile, waits) in [(Profile::Compat, true), (Profile::Strict, false), (Profile::Tool, false)] {
        let _call = fake.session.begin_call(profile);
        let before = fake.count("Page.handleJavaScriptDialog");
        fake.open_dialog("PAGE", "confirm");
        fake.until(|| fake.browser.pages()[0].dialog().is_some()).await;
        assert_eq!(fake.session.open_dialog().is_some(), waits, "{profile:?}");
        let answered = fake.session.answer_dialog(true, None).await.unwrap();
        assert_eq!(answered.is_some(), waits, "{profile:?}");
        fake.until(|| fake.count("Page.handleJavaScriptDialog") == before + 1).await;
        fake.send(&json!({ "method": "Page.javascriptDialogClosed", "sessionId": "PAGE", "params": {} }));
        fake.until(|| fake.browser.pages()[0].dialog().is_none()).await;
    }
}

#[tokio::test]
async fn permission_is_reported_by_the_function_of_the_gate_only() {
    let fake = Fake::start().await;
    let name = {
        let sent = fake.sent.lock().unwrap();
        let added = sent.iter().find(|command| command["method"] == "Runtime.addBinding").unwrap();
        added["params"]["name"].as_str().unwrap().to_owned()
    };
    let called = |name: &str, payload: &str| {
        let params = json!({ "name": name, "payload": payload, "executionContextId": 1 });
        fake.send(&json!({ "method": "Runtime.bindingCalled", "sessionId": "PAGE", "params": params }));
    };
    called("other", "usb http://public.test/");
    called(&name, "everything http://public.test/");
    called(&name, "geolocation http://public.test/a");
    called(&name, "geolocation http://public.test/b");
    // Events are taken in order.
    called(&name, "midi http://public.test/");
    let notices = Mutex::new(Vec::new());
    fake.until(|| {
        let mut notices = notices.lock().unwrap();
        notices.extend(fake.session.take_notices());
        notices.len() >= 2
    })
    .await;
    let expected = ["geolocation http://public.test/a", "midi http://public.test/"].map(|text| {
        let (permission, url) = text.split_once(' ').unwrap();
        let answer = Some("left to the settings of the browser");
        (Notice::Permission(Dialog::new("permission", permission, url, answer)), false)
    });
    assert_eq!(*notices.lock().unwrap(), expected);
}

#[tokio::test]
async fn frame_that_cannot_be_set_up_closes_its_tab() {
    let fake = Fake::start().await;
    fake.refuse("Fetch.enable", "BAD");
    fake.send(&attached(Some("PAGE"), "GOOD", "iframe", "F1"));
    let is_set_up = |command: &Value| command["sessionId"] == "GOOD" && command["method"] == "Page.getFrameTree";
    fake.until(|| fake.sent.lock().unwrap().iter().any(is_set_up)).await;
    assert_eq!(fake.count("Target.closeTarget"), 0, "control");
    fake.send(&attached(Some("PAGE"), "BAD", "iframe", "F2"));
    fake.until(|| fake.count("Target.closeTarget") == 1).await;
    assert!(fake.browser.page(&"TAB".into()).is_none());
}

#[tokio::test]
async fn tab_opened_for_another_program_is_closed_and_told() {
    let fake = Fake::start().await;
    let closed = || fake.count("Target.closeTarget");
    let show = |target: &str, url: &str| {
        let info = json!({
            "targetId": target, "type": "page", "title": "", "url": url, "attached": true, "browserContextId": "DEFAULT",
        });
        fake.send(&json!({ "method": "Target.targetInfoChanged", "params": { "targetInfo": info } }));
    };
    let open = |target: &str, url: &str| {
        let mut event = attached(None, target, "page", target);
        event["params"]["targetInfo"]["openerId"] = "TAB".into();
        event["params"]["targetInfo"]["url"] = url.into();
        fake.send(&event);
    };
    let end = async |target: &str| {
        fake.send(&json!({ "method": "Target.targetDestroyed", "params": { "targetId": target } }));
        fake.until(|| fake.browser.page(&target.into()).is_none()).await;
    };
    let told = |scheme: &str| [(Notice::OtherProgram { scheme: scheme.to_owned() }, false)];
    // One that is known to show it before it is set up.
    open("EARLY", "tel:1");
    fake.until(|| closed() == 1).await;
    end("EARLY").await;
    assert_eq!(fake.session.take_notices(), told("tel"));
    // Control: neither an empty tab, nor one that shows a page or the error of one, nor one that no page opened.
    open("LATE", "");
    fake.until(|| fake.browser.page(&"LATE".into()).is_some_and(|page| page.is_ready())).await;
    for url in ["about:blank", "http://public.test/", "http://none.test/", "chrome://version/"] {
        show("LATE", url);
    }
    show("TAB", "mailto:a@public.test");
    fake.until(|| fake.browser.page(&"TAB".into()).is_some_and(|page| !page.is_usable())).await;
    fake.browser.root(&GetVersion {}).await.unwrap();
    assert_eq!((closed(), fake.session.take_notices()), (1, Vec::new()), "control");
    show("TAB", "http://public.test/");
    // Chromium may say so again until the tab is gone.
    show("LATE", "mailto:a@public.test");
    show("LATE", "mailto:a@public.test");
    fake.until(|| closed() == 2).await;
    end("LATE").await;
    fake.browser.root(&GetVersion {}).await.unwrap();
    assert_eq!((closed(), fake.session.take_notices()), (2, told("mailto").to_vec()));
}

#[tokio::test]
async fn ended_contexts_are_forgotten_with_their_last_tab() {
    let fake = Fake::start().await;
    let owner: Arc<dyn PageOwner> = fake.session.clone();
    let opened = |context: &str| {
        let mut event = attached(None, &format!("session of {context}"), "page", context);
        event["params"]["targetInfo"]["browserContextId"] = context.into();
        fake.send(&event);
    };
    for number in 0..100 {
        let context = format!("C{number}");
        fake.browser.add_context(&context.as_str().into(), &owner);
        opened(&context);
        fake.until(|| fake.browser.page(&context.as_str().into()).is_some()).await;
        assert_eq!(fake.browser.context_count(), 1, "control");
        fake.browser.dispose(&context.as_str().into(), None).await;
        assert!(
            fake.browser.pages_of(None).iter().all(|page| page.context.as_str() == "DEFAULT"),
            "the tab belongs to nobody"
        );
        fake.send(&json!({ "method": "Target.targetDestroyed", "params": { "targetId": context } }));
        fake.until(|| fake.browser.context_count() == 0).await;
    }
    fake.refuse("Target.disposeBrowserContext", "");
    fake.browser.add_context(&"KEPT".into(), &owner);
    fake.browser.dispose(&"KEPT".into(), None).await;
    assert_eq!(fake.browser.context_count(), 1, "Chromium has not ended it");
}

#[tokio::test]
async fn crashed_tab_is_replaced_before_it_is_closed() {
    let fake = Fake::start().await;
    let crash = json!({ "method": "Target.targetCrashed", "params": { "targetId": "TAB", "status": "crashed" } });
    fake.send(&crash);
    fake.send(&crash);
    fake.until(|| fake.count("Target.closeTarget") == 1).await;
    let sent: Vec<_> = fake.sent.lock().unwrap().iter().map(|command| command["method"].clone()).collect();
    let place = |method: &str| sent.iter().position(|known| known == method);
    assert!(place("Target.createTarget").is_some() && place("Target.createTarget") < place("Target.closeTarget"));
    assert_eq!(fake.count("Target.createTarget"), 1, "once, however often Chromium says so");
    assert_eq!(fake.session.lost_tab(), Some(Loss::Crash));
    fake.navigate("NEW", &frame("NEW", "1", "http://public.test/"));
    fake.until(|| fake.session.lost_tab().is_none()).await;
}

#[tokio::test]
async fn tab_that_logs_far_too_much_is_replaced_as_a_flood() {
    let fake = Fake::start().await;
    let log = |length: usize| {
        // In the order in which Chromium writes the members.
        let text = "x".repeat(length);
        let event = format!(r#"{{"method":"Runtime.consoleAPICalled","params":{{"a":"{text}"}},"sessionId":"PAGE"}}"#);
        fake.to_gate.unbounded_send(Ok(event)).unwrap();
    };
    log(1024);
    fake.browser.root(&GetVersion {}).await.unwrap();
    assert_eq!(fake.count("Target.closeTarget"), 0, "control: a page may log");
    log(16 * 1024 * 1024);
    fake.until(|| fake.count("Target.closeTarget") == 1).await;
    assert_eq!(fake.count("Target.createTarget"), 1);
    assert_eq!(fake.session.lost_tab(), Some(Loss::Flood));
}

#[tokio::test]
async fn crashed_frame_is_not_asked_until_it_runs_again() {
    let fake = Fake::start().await;
    fake.send(&attached(Some("PAGE"), "FRAME", "iframe", "F"));
    let page = fake.browser.page(&"TAB".into()).unwrap();
    fake.until(|| page.running_sessions().len() == 2).await;
    fake.send(&json!({ "method": "Inspector.targetCrashed", "sessionId": "FRAME", "params": {} }));
    fake.until(|| page.running_sessions() == ["PAGE".into()]).await;
    assert!(fake.session.secrets().await.is_ok());
    assert_eq!(page.sessions().len(), 2, "the gate decides on its next document");
    fake.send(&json!({ "method": "Inspector.targetReloadedAfterCrash", "sessionId": "FRAME", "params": {} }));
    fake.until(|| page.running_sessions().len() == 2).await;
}

#[tokio::test]
async fn hung_frame_is_left_out_from_the_next_call_until_it_answers() {
    let fake = Fake::start().await;
    let page = fake.browser.page(&"TAB".into()).unwrap();
    fake.send(&attached(Some("PAGE"), "FRAME", "iframe", "F"));
    let is_set_up = |command: &Value| command["sessionId"] == "FRAME" && command["method"] == "Page.getFrameTree";
    fake.until(|| fake.sent.lock().unwrap().iter().any(is_set_up)).await;
    fake.until(|| page.has_answered(&"FRAME".into())).await;
    let call = fake.session.begin_call(Profile::Tool);
    assert!(!fake.session.secrets().await.unwrap().is_incomplete, "control");
    fake.hang("FRAME");
    // What the call has read in the frame may show secrets that are not known.
    for _ in 0..2 {
        let read = fake.session.secrets().await;
        assert!(matches!(read, Err(SecretsError::Hung)), "{read:?}");
    }
    assert_eq!((page.running_sessions(), page.sessions().len()), (vec!["PAGE".into()], 2));
    drop(call);
    let call = fake.session.begin_call(Profile::Tool);
    assert!(fake.session.secrets().await.unwrap().is_incomplete, "pictures are withheld");
    drop(call);
    fake.go_on("FRAME");
    fake.until(|| page.running_sessions().len() == 2).await;
    let _call = fake.session.begin_call(Profile::Tool);
    assert!(!fake.session.secrets().await.unwrap().is_incomplete);
}

#[tokio::test]
async fn frame_that_hangs_while_it_is_set_up_closes_no_tab() {
    let fake = Fake::start().await;
    let page = fake.browser.page(&"TAB".into()).unwrap();
    fake.hang("FRAME");
    fake.send(&attached(Some("PAGE"), "FRAME", "iframe", "F"));
    fake.until(|| page.sessions().len() == 2).await;
    // Nothing was read in it, so that no call is refused.
    let _call = fake.session.begin_call(Profile::Tool);
    assert!(fake.session.secrets().await.unwrap().is_incomplete);
    let asks = |count: usize| {
        let sent = fake.sent.lock().unwrap();
        let is_ask = |command: &&Value| command["sessionId"] == "FRAME" && command["method"] == "Fetch.enable";
        sent.iter().filter(is_ask).count() >= count
    };
    // Behind the timeout of the set-up, the gate has Chromium confirm that it asks for documents.
    fake.until(|| asks(2)).await;
    assert_eq!((fake.count("Target.closeTarget"), page.running_sessions().len()), (0, 1));
    fake.go_on("FRAME");
    fake.until(|| asks(3) && page.running_sessions().len() == 2).await;
    assert!(!fake.session.secrets().await.unwrap().is_incomplete);
    assert_eq!(fake.count("Target.closeTarget"), 0);
}

#[tokio::test]
async fn refused_read_of_secrets_is_an_error_while_page_exists() {
    let fake = Fake::start().await;
    assert!(fake.session.secrets().await.is_ok(), "control");
    fake.refuse("DOM.performSearch", "PAGE");
    let read = fake.session.secrets().await;
    assert!(matches!(read, Err(SecretsError::Command(CommandError::Refused { .. }))), "{read:?}");
    fake.send(&json!({ "method": "Target.targetDestroyed", "params": { "targetId": "TAB" } }));
    fake.until(|| fake.browser.page(&"TAB".into()).is_none()).await;
    assert!(fake.session.secrets().await.is_ok(), "a page that is gone has no secrets");
}

#[tokio::test]
async fn result_from_the_world_of_another_document_is_dropped() {
    let fake = Fake::start().await;
    let page = fake.browser.page(&"TAB".into()).unwrap();
    let used = Mutex::new(Vec::new());
    let gone = Mutex::new(None::<i64>);
    let act = async || {
        let action = |world: World| {
            used.lock().unwrap().push(world.id.0);
            let is_gone = *gone.lock().unwrap() == Some(world.id.0);
            std::future::ready(if is_gone { Err(ElementError::Gone) } else { Ok(world.id) })
        };
        let (id, world) = in_world(&fake.browser, &page, action).await.unwrap();
        (id.0, world.document.to_string(), std::mem::take(&mut *used.lock().unwrap()))
    };
    fake.show("A", 7);
    assert_eq!(act().await, (7, "A".to_owned(), vec![7]));
    assert_eq!(act().await, (7, "A".to_owned(), vec![7]), "control: it is used again");
    assert_eq!(fake.count("Page.createIsolatedWorld"), 1);
    fake.show("B", 8);
    assert_eq!(act().await, (8, "B".to_owned(), vec![7, 8]));
    // A world can end before its document.
    fake.show("B", 9);
    *gone.lock().unwrap() = Some(8);
    assert_eq!(act().await, (9, "B".to_owned(), vec![8, 9]));
    // What Chromium reports of a new document is enough to forget the world.
    fake.show("C", 10);
    fake.navigate("PAGE", &frame("TAB", "C", "http://public.test/c"));
    fake.until(|| page.world().is_none()).await;
    assert_eq!(act().await, (10, "C".to_owned(), vec![10]));
}

#[tokio::test]
async fn version_is_asked_for_once_while_chromium_is_there() {
    let fake = Fake::start().await;
    let before = fake.count("Browser.getVersion");
    for _ in 0..2 {
        assert_eq!(fake.browser.version().await.unwrap().product, "Chromium");
    }
    assert_eq!(fake.count("Browser.getVersion"), before + 1);
    fake.to_gate.close_channel();
    fake.until(|| fake.browser.connection.is_closed()).await;
    assert!(fake.browser.version().await.is_err());
}

#[tokio::test]
async fn world_for_the_next_act_is_made_once_for_each_document() {
    let fake = Fake::start().await;
    fake.results.lock().unwrap().insert("Runtime.evaluate", json!({ "result": {} }));
    for document in ["A", "B"] {
        fake.navigate("PAGE", &frame("TAB", document, "http://public.test/"));
        let page = fake.browser.pages()[0].clone();
        fake.until(|| !page.documents().is_empty() && page.world().is_none()).await;
        fake.show(document, 7);
        fake.sent.lock().unwrap().clear();
        fake.session.make_ready_for_acts();
        fake.until(|| page.world().is_some()).await;
        fake.session.make_ready_for_acts();
        // Commands are answered in their order.
        fake.browser.root(&GetVersion {}).await.unwrap();
        let world = ["Page.createIsolatedWorld", "Page.getFrameTree", "Runtime.evaluate", "Browser.getVersion"];
        assert_eq!(fake.methods(), world, "{document}");
        assert_eq!(page.world().unwrap().document.as_str(), document);
    }
}

#[tokio::test]
async fn page_is_captured_before_its_secrets_are_read() {
    let fake = Fake::start().await;
    let nodes = json!({ "parentIndex": [-1], "nodeType": [9], "nodeName": [2], "backendNodeId": [1] });
    let document = json!({ "documentURL": 0, "frameId": 1, "nodes": nodes });
    let strings = json!(["http://public.test/", "TAB", "#document"]);
    fake.show_document(&document, &strings);
    let captured = [
        "Page.getFrameTree",
        "Runtime.evaluate",
        "DOMSnapshot.captureSnapshot",
        "Accessibility.getFullAXTree",
        "DOMDebugger.getEventListeners",
        "Page.getFrameTree",
        "Runtime.releaseObjectGroup",
    ];
    // What is about to appear is waited for first, in a world of the gate's own.
    let waited = ["Page.createIsolatedWorld", "Page.getFrameTree", "Runtime.evaluate", "Runtime.evaluate"];
    let searched = ["DOM.performSearch", "DOM.discardSearchResults"];
    let request = SnapshotRequest::default();
    // The gate learns of the frame while it captures the page, and then by an event.
    for is_known in [false, true] {
        if is_known {
            fake.navigate("PAGE", &frame("TAB", "A", "http://public.test/"));
            fake.until(|| !fake.browser.pages()[0].documents().is_empty()).await;
        }
        fake.sent.lock().unwrap().clear();
        let read = fake.session.read_page(&request, std::time::Instant::now()).await.unwrap();
        assert_eq!((&read.data["snapshot"], read.secrets.is_some()), (&json!("(empty page)"), true));
        fake.until(|| fake.count("DOM.discardSearchResults") == 1).await;
        assert_eq!(fake.methods(), [&waited[..], &captured, &searched].concat(), "{is_known}");
    }
    // Without an answer to the search, the document is asked for.
    fake.refuse("DOM.performSearch", "PAGE");
    let read = fake.session.read_page(&request, std::time::Instant::now()).await.unwrap();
    assert!(fake.count("DOM.getDocument") > 0);
    assert!(read.secrets.is_none(), "they are read again");
    assert!(fake.session.secrets().await.is_err(), "the answer is not shown");
}

// Requirement 6.3.
#[tokio::test]
async fn new_field_that_shows_dots_is_read_before_its_page() {
    let fake = Fake::start().await;
    let strings = json!(["http://public.test/", "TAB", "#document", "INPUT", "disc"]);
    let styles: Vec<i64> = STYLES.iter().map(|style| if *style == "-webkit-text-security" { 4 } else { -1 }).collect();
    let nodes = json!({ "parentIndex": [-1, 0], "nodeType": [9, 1], "nodeName": [2, 3], "backendNodeId": [1, 2] });
    let layout = json!({ "nodeIndex": [1], "bounds": [[0, 0, 90, 20]], "styles": [styles] });
    let document = json!({ "documentURL": 0, "frameId": 1, "nodes": nodes, "layout": layout });
    fake.show_document(&document, &strings);
    let secret = json!({ "result": { "value": ["", 0, false, "", [], false] } });
    fake.results.lock().unwrap().insert("Runtime.callFunctionOn", secret);
    fake.navigate("PAGE", &frame("TAB", "A", "http://public.test/"));
    let page = fake.browser.pages()[0].clone();
    fake.until(|| !page.documents().is_empty()).await;
    let read = async || fake.session.read_page(&SnapshotRequest::default(), std::time::Instant::now()).await.unwrap();
    assert!(read().await.secrets.is_none(), "they are read again");
    assert_eq!((page.secret_fields(&"PAGE".into()), fake.count("Runtime.callFunctionOn")), (vec![BackendNodeId(2)], 1));
    assert!(read().await.secrets.is_some(), "the field is known");
    assert_eq!(fake.count("Runtime.callFunctionOn"), 2);
}

#[tokio::test]
async fn transparent_text_is_read_if_an_animation_shows_it() {
    let fake = Fake::start().await;
    let strings = json!(["http://public.test/", "TAB", "#document", "DIV", "#text", "late", "0", "come", "1s"]);
    let style = |style: &&str| match *style {
        "opacity" => 6,
        "animation-name" => 7,
        "animation-duration" => 8,
        _ => -1,
    };
    let styles: Vec<i64> = STYLES.iter().map(style).collect();
    let nodes = json!({
        "parentIndex": [-1, 0, 1], "nodeType": [9, 1, 3], "nodeName": [2, 3, 4], "nodeValue": [-1, -1, 5], "backendNodeId": [1, 2, 3],
    });
    let bounds = json!([[0, 0, 90, 20], [0, 0, 90, 20]]);
    let layout = json!({ "nodeIndex": [1, 2], "bounds": bounds, "styles": [styles, []], "text": [-1, 5] });
    let document = json!({ "documentURL": 0, "frameId": 1, "nodes": nodes, "layout": layout });
    fake.show_document(&document, &strings);
    fake.navigate("PAGE", &frame("TAB", "A", "http://public.test/"));
    fake.until(|| !fake.browser.pages()[0].documents().is_empty()).await;
    for (count, (shown, is_read)) in
        [(json!(true), true), (json!(false), false), (json!(null), true)].into_iter().enumerate()
    {
        fake.results.lock().unwrap().insert("Runtime.callFunctionOn", json!({ "result": { "value": shown } }));
        let request = SnapshotRequest::default();
        let read = fake.session.read_page(&request, std::time::Instant::now()).await.unwrap();
        let snapshot = read.data["snapshot"].as_str().unwrap();
        assert_eq!(
            (snapshot.contains("late"), fake.count("Runtime.callFunctionOn")),
            (is_read, count + 1),
            "{snapshot}"
        );
    }
}

#[tokio::test]
async fn notice_of_shared_tab_goes_to_running_calls_or_the_next() {
    let fake = Fake::start().await;
    let services: Arc<dyn GateServices> = fake.services.clone();
    let id = SessionId::new("other").unwrap();
    let other = GateSession::new(id, Isolation::Shared, None, None, None, Arc::downgrade(&services));
    other.prepare().await.unwrap();
    let download = |name: &str| {
        let params = json!({ "frameId": "TAB", "guid": "1", "url": "http://public.test/", "suggestedFilename": name });
        fake.send(&json!({ "method": "Page.downloadWillBegin", "sessionId": "PAGE", "params": params }));
    };
    // Events are taken in order.
    let taken = async || {
        fake.open_dialog("PAGE", "confirm");
        fake.until_dialog().await;
        fake.session.answer_dialog(true, None).await.unwrap().unwrap();
    };
    download("between");
    taken().await;
    let names = |session: &GateSession| session.take_notices().into_iter();
    assert_eq!(names(&other).collect::<Vec<_>>(), [(Notice::download("between"), false)]);
    assert_eq!(names(&fake.session).collect::<Vec<_>>(), [], "only the next call reports it");
    let calls = [fake.session.begin_call(Profile::Tool), other.begin_call(Profile::Tool)];
    download("during");
    taken().await;
    for session in [&*fake.session, &*other] {
        let seen: Vec<_> = names(session).filter(|(notice, _)| !matches!(notice, Notice::Dialog(_))).collect();
        assert_eq!(seen, [(Notice::download("during"), true)]);
    }
    drop(calls);
}
