//! Tabs of a stand-in for Chromium: they show an address and have nothing in it. Every command is answered.
//!
//! The tests that need no process of their own for it serve its debugging port themselves.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::{Error, Message};

/// Addresses that the tabs of the default context show, the same for all connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tabs(Arc<Mutex<Vec<String>>>);

/// One connection to the stand-in, which has contexts and further tabs of its own.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    tabs: Tabs,
    /// Addresses that the connection knows.
    known: Vec<String>,
    opened: usize,
    contexts: usize,
}

impl Tabs {
    /// Creates tabs that show these addresses.
    pub(crate) fn new(urls: &[&str]) -> Self {
        Self(Arc::new(Mutex::new(urls.iter().map(|url| (*url).to_owned()).collect())))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the addresses.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// Shows another address in a tab. A connection learns it with the answer to its next command.
    pub(crate) fn show(&self, tab: usize, url: &str) {
        if let Some(shown) = self.lock().get_mut(tab) {
            url.clone_into(shown);
        }
    }

    /// Returns a new connection.
    pub(crate) fn connect(self) -> Connection {
        Connection { tabs: self, ..Connection::default() }
    }

    /// Serves a debugging port with these tabs.
    pub(crate) async fn serve(self, listener: std::net::TcpListener) -> std::io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let port = listener.local_addr()?.port();
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(answer_request(self.clone(), stream, port));
        }
    }
}

impl Connection {
    /// Returns the messages for a command: events, and the answer at the end.
    pub(crate) fn answer(&mut self, command: &Value) -> Vec<Value> {
        let session = command.get("sessionId").and_then(Value::as_str);
        let method = command.get("method").and_then(Value::as_str).unwrap_or_default();
        let param = |name: &str| command.pointer(&format!("/params/{name}")).and_then(Value::as_str);
        if let ("Page.navigate", Some(tab), Some(url)) =
            (method, session.and_then(|session| session.strip_prefix('S')?.parse().ok()), param("url"))
        {
            self.tabs.show(tab, url);
        }
        let mut messages = Vec::new();
        let result = match method {
            "Browser.getVersion" => json!({
                "product": "Stand-in/1.0", "protocolVersion": "1.3", "revision": "", "userAgent": "", "jsVersion": "",
            }),
            "Target.getBrowserContexts" => json!({ "browserContextIds": [] }),
            "Target.createBrowserContext" => {
                self.contexts += 1;
                json!({ "browserContextId": format!("own-{}", self.contexts) })
            }
            "Target.createTarget" => {
                self.opened += 1;
                let name = format!("new{}", self.opened);
                messages.push(attached(&name, "about:blank", param("browserContextId")));
                json!({ "targetId": format!("T{name}") })
            }
            "Target.setAutoAttach" if session.is_none() => {
                self.known = self.tabs.urls();
                let tabs = self.known.iter().enumerate();
                messages.extend(tabs.map(|(number, url)| attached(&number.to_string(), url, None)));
                json!({})
            }
            "Target.attachToTarget" => json!({ "sessionId": "attached" }),
            // Whatever a script does, it has done it.
            "Runtime.evaluate" => json!({ "result": { "type": "boolean", "value": true } }),
            // Its tabs show the document that they were opened with.
            "Page.getFrameTree" => {
                let frame =
                    json!({ "id": "empty", "loaderId": "first", "url": "about:blank", "mimeType": "text/html" });
                json!({ "frameTree": { "frame": frame } })
            }
            // No page has a field.
            "DOM.performSearch" => json!({ "searchId": "1", "resultCount": 0 }),
            _ => json!({}),
        };
        let urls = self.tabs.urls();
        for (number, (known, url)) in
            self.known.iter_mut().zip(urls).enumerate().filter(|(_, (known, url))| *known != url)
        {
            let info = info(&number.to_string(), &url, None);
            messages.push(json!({ "method": "Target.targetInfoChanged", "params": { "targetInfo": info } }));
            *known = url;
        }
        let mut answer = match method {
            // Its frames have no scripts.
            "Page.createIsolatedWorld" => {
                json!({ "id": command.get("id"), "error": { "code": -32000, "message": "no frame" } })
            }
            _ => json!({ "id": command.get("id"), "result": result }),
        };
        if let (Some(session), Some(answer)) = (session, answer.as_object_mut()) {
            answer.insert("sessionId".to_owned(), session.into());
        }
        messages.push(answer);
        messages
    }
}

fn info(name: &str, url: &str, context: Option<&str>) -> Value {
    let context = context.unwrap_or("default");
    json!({
        "targetId": format!("T{name}"), "type": "page", "title": "", "url": url, "attached": true,
        "browserContextId": context,
    })
}

fn attached(name: &str, url: &str, context: Option<&str>) -> Value {
    let params = json!({ "sessionId": format!("S{name}"), "targetInfo": info(name, url, context) });
    json!({ "method": "Target.attachedToTarget", "params": params })
}

/// Answers a request of a client, which may go away at any time.
async fn answer_request(tabs: Tabs, mut stream: TcpStream, port: u16) {
    let mut head = [0; 4096];
    let length = stream.peek(&mut head).await.unwrap_or_default();
    let text = String::from_utf8_lossy(head.get(..length).unwrap_or_default()).into_owned();
    let body = match text.split(' ').nth(1).unwrap_or_default() {
        path if path.starts_with("/devtools/") => {
            let _ = answer_commands(tabs, stream).await;
            return;
        }
        "/json" | "/json/list" => json!([]),
        _ => {
            let url = format!("ws://127.0.0.1:{port}/devtools/browser/{}", std::process::id());
            json!({ "Browser": "Stand-in/1.0", "Protocol-Version": "1.3", "webSocketDebuggerUrl": url })
        }
    };
    let body = body.to_string();
    let answer = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let _ = stream.read(&mut head).await;
    let _ = stream.write_all(answer.as_bytes()).await;
}

async fn answer_commands(tabs: Tabs, stream: TcpStream) -> Result<(), Error> {
    let mut socket = tokio_tungstenite::accept_async(stream).await?;
    let mut connection = tabs.connect();
    while let Some(message) = socket.next().await {
        let Ok(command) = serde_json::from_str(message?.to_text()?) else { return Ok(()) };
        for message in connection.answer(&command) {
            socket.send(Message::text(message.to_string())).await?;
        }
    }
    Ok(())
}
