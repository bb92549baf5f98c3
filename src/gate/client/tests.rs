use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use browser_shell_core::gate::{Client, Level};
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::future::BoxFuture;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::checks;
use super::connection::ClientConnection;
use crate::browser::cdp::{Connection, Event, Receiver};
use crate::gate::documents::Documents;
use crate::gate::error::GateError;
use crate::gate::hub::{Hub, MAX_TABS};
use crate::gate::page::Page;
use crate::gate::scope::{ClientScope, SessionContext};
use crate::policy_source::PolicySource;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Chromium with one tab, whose answers to `Target.attachToTarget` each need a permit.
#[derive(Clone)]
struct Chromium {
    commands: Arc<Mutex<Vec<Value>>>,
    attaches: Arc<Semaphore>,
    messages: UnboundedSender<io::Result<String>>,
}

impl Chromium {
    fn send(&self, message: &Value) {
        self.messages.unbounded_send(Ok(message.to_string())).unwrap();
    }

    fn open_tab(&self, target: &str) {
        let info =
            json!({ "targetId": target, "type": "page", "title": "", "url": "about:blank", "browserContextId": "D" });
        let params = json!({ "sessionId": format!("gate-{target}"), "targetInfo": info, "waitingForDebugger": true });
        self.send(&json!({ "method": "Target.attachedToTarget", "params": params }));
    }

    async fn answer(self, number: usize, command: Value) {
        let method = command["method"].as_str().unwrap();
        let result = match method {
            "Target.getBrowserContexts" => json!({ "browserContextIds": [], "defaultBrowserContextId": "D" }),
            "Target.setAutoAttach" if command.get("sessionId").is_none() => {
                self.open_tab("T");
                json!({})
            }
            "Target.attachToTarget" => {
                self.attaches.acquire().await.unwrap().forget();
                json!({ "sessionId": format!("s{number}") })
            }
            "Target.createTarget" => {
                self.open_tab(&format!("new{number}"));
                json!({ "targetId": format!("new{number}") })
            }
            "Page.getFrameTree" => json!({ "frameTree": { "frame": { "id": "F", "url": "about:blank" } } }),
            _ => json!({}),
        };
        self.send(&json!({ "id": command["id"], "result": result }));
    }

    /// Returns the commands with a method.
    fn commands(&self, method: &str) -> Vec<Value> {
        let commands = self.commands.lock().unwrap();
        commands.iter().filter(|command| command["method"] == method).cloned().collect()
    }

    async fn wait_for(&self, method: &str) -> Value {
        let wait = async {
            loop {
                if let Some(command) = self.commands(method).pop() {
                    return command;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, wait).await.unwrap_or_else(|_| panic!("no command `{method}`"))
    }
}

struct Scope {
    allows_cookies: bool,
    has_saved_state: bool,
    refusals: AtomicUsize,
}

impl ClientScope for Scope {
    fn prepare_paste<'a>(&'a self, _: &'a Arc<Hub>) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn kind(&self) -> Client {
        Client::Native
    }

    fn pages(&self, hub: &Arc<Hub>) -> Vec<Arc<Page>> {
        hub.pages_of(None).into_iter().filter(|page| page.is_ready()).collect()
    }

    fn create_page<'a>(&'a self, hub: &'a Arc<Hub>, url: &'a str) -> BoxFuture<'a, Result<Arc<Page>, GateError>> {
        Box::pin(hub.create_page(None, url, false))
    }

    fn close_page<'a>(&'a self, hub: &'a Arc<Hub>, page: &'a Page) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(hub.replace_or_close_page(None, page))
    }

    fn ignores_acts(&self) -> bool {
        false
    }

    fn allows_cookies(&self) -> bool {
        self.allows_cookies
    }

    fn has_saved_state(&self) -> bool {
        self.has_saved_state
    }

    fn context_id(&self, _: &Arc<Hub>) -> SessionContext {
        SessionContext::Shared
    }

    fn count_refusal(&self, _: Level, _: &str) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
    }
}

fn scope(allows_cookies: bool, has_saved_state: bool) -> Arc<Scope> {
    Arc::new(Scope { allows_cookies, has_saved_state, refusals: AtomicUsize::new(0) })
}

struct Setup {
    chromium: Chromium,
    hub: Arc<Hub>,
    client: Arc<ClientConnection>,
    queue: mpsc::Receiver<String>,
    _scope: Arc<dyn ClientScope>,
}

impl Setup {
    async fn new(attaches: usize) -> Self {
        let (messages, incoming) = unbounded();
        let (outgoing, mut commands) = unbounded::<String>();
        let chromium = Chromium { commands: Arc::default(), attaches: Arc::new(Semaphore::new(attaches)), messages };
        let served = chromium.clone();
        tokio::spawn(async move {
            while let Some(text) = commands.next().await {
                let command: Value = serde_json::from_str(&text).unwrap();
                let number = {
                    let mut commands = served.commands.lock().unwrap();
                    commands.push(command.clone());
                    commands.len()
                };
                tokio::spawn(served.clone().answer(number, command));
            }
        });
        let writer = outgoing.sink_map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe));
        let connection = Connection::start_with_texts(incoming, writer);
        let documents = Arc::new(Documents::new(PolicySource::new("/nonexistent/policy.json".into())));
        let hub = Hub::start(connection, 1, documents).await.unwrap();
        let scope: Arc<dyn ClientScope> = scope(false, false);
        let (client, queue) = ClientConnection::new(Arc::downgrade(&scope), hub.clone());
        chromium.commands.lock().unwrap().clear();
        Self { chromium, hub, client, queue, _scope: scope }
    }

    /// Sends a command and returns the answer.
    async fn call(&mut self, command: &Value) -> Value {
        self.client.receive(&command.to_string()).await;
        loop {
            let message = tokio::time::timeout(TIMEOUT, self.queue.recv()).await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&message).unwrap();
            if message["id"] == command["id"] {
                return message;
            }
        }
    }

    /// Attaches the client to the tab and returns the session.
    async fn attach(&mut self) -> String {
        let command =
            json!({ "id": 1, "method": "Target.attachToTarget", "params": { "targetId": "T", "flatten": true } });
        self.call(&command).await["result"]["sessionId"].as_str().unwrap().to_owned()
    }
}

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
async fn detach_needs_the_session_that_attached() {
    let mut setup = Setup::new(8).await;
    let session = setup.attach().await;
    let info = json!({ "targetId": "W", "type": "worker", "title": "", "url": "", "browserContextId": "D" });
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
    assert_eq!(setup.call(&detach(3, Some(&session), &session)).await["error"]["code"], -32001);
    assert!(setup.chromium.commands("Target.detachFromTarget").is_empty());
    assert_eq!(setup.call(&detach(4, Some(&session), "child")).await["result"], json!({}));
    assert!(!setup.client.state().sessions.contains_key("child"));
    assert_eq!(setup.call(&detach(5, None, &session)).await["result"], json!({}));
    assert!(setup.client.state().sessions.is_empty());
}

#[tokio::test]
async fn sessions_attached_over_an_ended_one_end_with_it() {
    let mut setup = Setup::new(8).await;
    let session = setup.attach().await;
    for (parent, child) in [(session.as_str(), "frame"), ("frame", "worker")] {
        let kind = if child == "frame" { "iframe" } else { "worker" };
        let info = json!({ "targetId": child, "type": kind, "browserContextId": "D" });
        let params = serde_json::value::to_raw_value(&json!({ "sessionId": child, "targetInfo": info })).unwrap();
        setup.client.event(Event { session: Some(parent), method: "Target.attachedToTarget", params: Some(&params) });
    }
    assert_eq!(setup.client.state().sessions.len(), 3, "control");
    assert!(setup.client.forget_session(&session));
    assert!(setup.client.state().sessions.is_empty());
}

#[tokio::test]
async fn tab_announced_twice_is_attached_once() {
    let mut setup = Setup::new(8).await;
    setup.client.state().attaches = true;
    let page = setup.hub.page("T").unwrap();
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
        let params = json!({ "url": "http://example.com/", "autoAttach": true });
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
    let last = format!("popup{MAX_TABS}");
    let wait = async {
        while setup.hub.page(&last).is_some() || setup.chromium.commands("Target.closeTarget").len() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, wait).await.unwrap();
    assert_eq!(setup.hub.pages().len(), MAX_TABS);
    for page in setup.hub.pages() {
        tokio::time::timeout(TIMEOUT, page.wait_until_ready()).await.unwrap();
    }
    let create = json!({ "id": 2, "method": "Target.createTarget", "params": { "url": "about:blank" } });
    assert_eq!(setup.call(&create).await["error"]["message"], "too many tabs");
    // The gate itself may open one more, for example to replace the others.
    setup.hub.create_page(None, "about:blank", false).await.unwrap();
    assert_eq!(setup.hub.pages().len(), MAX_TABS + 1);
}

#[test]
fn cookies_need_the_policy_a_context_and_no_saved_state() {
    let params = json!({ "browserContextId": "other" });
    let check = |scope: &Scope, level, context| {
        let checked = checks::cookies(level, "Storage.getCookies", &params, scope, context);
        checked.map(|text| serde_json::from_str::<Value>(&text).unwrap()).ok()
    };
    let own = || SessionContext::Own("C".to_owned());
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
