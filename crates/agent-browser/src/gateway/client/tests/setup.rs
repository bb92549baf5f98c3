//! Stand-in for Chromium, and clients of a gate in front of it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::gate::Level;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::future::BoxFuture;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::gateway::client::connection::ClientConnection;
use browser_shell_browser::gate::GateError;
use browser_shell_browser::gate::browser::Browser;
use browser_shell_browser::gate::documents::Documents;
use browser_shell_browser::gate::page::Page;
use browser_shell_browser::gate::scope::{ClientScope, Denied, SessionContext};
use browser_shell_cdp::Connection;
use browser_shell_cdp::protocol::DebugSessionId;
use browser_shell_system::policy_source::PolicySource;

pub(super) const TIMEOUT: Duration = Duration::from_mins(1);

/// Chromium with one tab, whose answers to `Target.attachToTarget` each need a permit.
#[derive(Clone)]
pub(super) struct Chromium {
    pub(super) commands: Arc<Mutex<Vec<Value>>>,
    pub(super) attaches: Arc<Semaphore>,
    pub(super) messages: UnboundedSender<io::Result<String>>,
}

impl Chromium {
    pub(super) fn send(&self, message: &Value) {
        self.messages.unbounded_send(Ok(message.to_string())).unwrap();
    }

    pub(super) fn open_tab(&self, target: &str) {
        let info = json!({ "targetId": target, "type": "page", "title": "", "url": "about:blank", "attached": true, "browserContextId": "D" });
        let params = json!({ "sessionId": format!("gate-{target}"), "targetInfo": info, "waitingForDebugger": true });
        self.send(&json!({ "method": "Target.attachedToTarget", "params": params }));
    }

    pub(super) async fn answer(self, number: usize, command: Value) {
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
            "Page.getFrameTree" => {
                let frame = json!({ "id": "F", "loaderId": "L", "url": "about:blank", "mimeType": "text/html" });
                json!({ "frameTree": { "frame": frame } })
            }
            _ => json!({}),
        };
        self.send(&json!({ "id": command["id"], "result": result }));
    }

    /// Returns the commands with a method.
    pub(super) fn commands(&self, method: &str) -> Vec<Value> {
        let commands = self.commands.lock().unwrap();
        commands.iter().filter(|command| command["method"] == method).cloned().collect()
    }

    pub(super) async fn wait_for(&self, method: &str) -> Value {
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

pub(super) struct Scope {
    pub(super) allows_cookies: bool,
    pub(super) has_saved_state: bool,
    pub(super) refusals: AtomicUsize,
    pub(super) is_idle: AtomicBool,
}

impl ClientScope for Scope {
    fn prepare_paste<'a>(&'a self, _: &'a Arc<Browser>) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn pages(&self, browser: &Arc<Browser>) -> Vec<Arc<Page>> {
        browser.pages_of(None).into_iter().filter(|page| page.is_ready()).collect()
    }

    fn create_page<'a>(
        &'a self,
        browser: &'a Arc<Browser>,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Page>, GateError>> {
        Box::pin(browser.create_page(None, url, false))
    }

    fn close_page<'a>(&'a self, browser: &'a Arc<Browser>, page: &'a Page) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(browser.replace_or_close_page(None, page))
    }

    fn runs_call(&self) -> bool {
        !self.is_idle.load(Ordering::Relaxed)
    }

    fn ignores_acts(&self) -> bool {
        false
    }

    fn take_use(&self, _: &Page) {}

    fn allows_cookies(&self) -> bool {
        self.allows_cookies
    }

    fn has_saved_state(&self) -> bool {
        self.has_saved_state
    }

    fn context_id(&self, _: &Arc<Browser>) -> SessionContext {
        SessionContext::Shared
    }

    fn count_refusal(&self, _: Level, _: Denied<'_>) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) fn scope(allows_cookies: bool, has_saved_state: bool) -> Arc<Scope> {
    Arc::new(Scope { allows_cookies, has_saved_state, refusals: AtomicUsize::new(0), is_idle: AtomicBool::new(false) })
}

pub(super) struct Setup {
    pub(super) chromium: Chromium,
    pub(super) browser: Arc<Browser>,
    pub(super) client: Arc<ClientConnection>,
    pub(super) queue: mpsc::Receiver<String>,
    pub(super) scope: Arc<Scope>,
}

impl Setup {
    pub(super) async fn new(attaches: usize) -> Self {
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
        let browser = Browser::start(connection, 1, documents).await.unwrap();
        let scope = scope(false, false);
        let seen_by_client: Arc<dyn ClientScope> = scope.clone();
        let (client, queue) =
            ClientConnection::new(Arc::downgrade(&seen_by_client), AgentBrowser::Native, browser.clone());
        chromium.commands.lock().unwrap().clear();
        Self { chromium, browser, client, queue, scope }
    }

    /// Sends a command and returns the answer.
    pub(super) async fn call(&mut self, command: &Value) -> Value {
        self.client.receive(&command.to_string()).await;
        self.answer(&command["id"]).await
    }

    /// Waits for the answer to a command.
    pub(super) async fn answer(&mut self, id: &Value) -> Value {
        loop {
            let message = tokio::time::timeout(TIMEOUT, self.queue.recv()).await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&message).unwrap();
            if message["id"] == *id {
                return message;
            }
        }
    }

    /// Attaches the client to the tab and returns the session.
    pub(super) async fn attach(&mut self) -> DebugSessionId {
        let command =
            json!({ "id": 1, "method": "Target.attachToTarget", "params": { "targetId": "T", "flatten": true } });
        self.call(&command).await["result"]["sessionId"].as_str().unwrap().into()
    }
}

/// Serves another client of the same Chromium, and returns its end of the connection.
pub(super) async fn serve(browser: &Arc<Browser>) -> (DuplexStream, JoinHandle<()>) {
    let scope: Arc<dyn ClientScope> = scope(false, false);
    let (client, queue) = ClientConnection::new(Arc::downgrade(&scope), AgentBrowser::Native, browser.clone());
    let (stream, other_end) = tokio::io::duplex(4096);
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let serving = tokio::spawn(async move {
        let _scope = scope;
        client.serve(socket, queue).await;
    });
    (other_end, serving)
}
