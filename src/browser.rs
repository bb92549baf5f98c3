//! The browser's own debugging port: who is there, and getting rid of a page that no longer answers.
//!
//! Decides whether a tab is hung. All sessions share the one browser, and a page that keeps its renderer busy for ever, or
//! whose server never answers, would keep every new daemon from connecting: any page could take the tool away. So before a
//! session's first call, and after a call that did not end by itself, the tabs are asked for a sign of life. One that gives
//! none is told to stop loading, and if that does not help it is replaced by an empty one. Must never close a tab that
//! answers, and never speak to anything but this port.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures::{SinkExt, Stream, StreamExt};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// How long a tab has to give a sign of life. A page may be busy for a while without being hung; one whose server does not
/// answer is silent too, and is told to stop loading then.
const SIGN_OF_LIFE: Duration = Duration::from_secs(4);

/// How long it has after that.
const AFTER_STOPPING: Duration = Duration::from_secs(2);

/// How long the port itself has to answer.
const PORT_PATIENCE: Duration = Duration::from_secs(5);

/// The largest answer that is read.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// Why the browser could not be asked.
#[derive(Debug, Error)]
pub enum BrowserError {
    /// The port does not take connections.
    #[error("127.0.0.1:{port} does not answer: {source}")]
    Connect {
        /// The port.
        port: u16,
        /// What the system says.
        source: std::io::Error,
    },
    /// The port takes connections and says nothing.
    #[error("127.0.0.1:{0} takes connections and does not answer")]
    Silent(u16),
    /// What answers is not a browser.
    #[error("what answers on 127.0.0.1:{port} is not a browser: {message}")]
    NotABrowser {
        /// The port.
        port: u16,
        /// What was wrong with the answer.
        message: String,
    },
}

/// A Chromium with its debugging port on 127.0.0.1.
#[derive(Debug)]
pub struct Browser {
    port: u16,
    /// Two calls that end badly at the same time look after the tabs one after the other.
    recovering: Mutex<()>,
}

impl Browser {
    /// The browser on this port. Nothing is connected yet.
    #[must_use]
    pub fn new(port: u16) -> Self {
        Self { port, recovering: Mutex::new(()) }
    }

    /// What the browser calls itself.
    ///
    /// # Errors
    ///
    /// When it does not answer.
    pub async fn version(&self) -> Result<String, BrowserError> {
        let version = self.ask(Method::GET, "/json/version").await?;
        let name = version.get("Browser").and_then(Value::as_str).map(str::to_owned);
        name.ok_or_else(|| self.not_a_browser(&"it does not say its version"))
    }

    /// Replaces hung tabs by an empty one. Returns how many there were.
    ///
    /// # Errors
    ///
    /// When the browser does not answer: then there is nothing that could be done here.
    pub async fn recover(&self) -> Result<usize, BrowserError> {
        let _one_at_a_time = self.recovering.lock().await;
        let tabs = self.tabs().await?;
        let alive = futures::future::join_all(tabs.iter().map(|tab| self.is_alive(tab))).await;
        let hung: Vec<_> = tabs.iter().zip(&alive).filter(|(_, alive)| !**alive).map(|(tab, _)| tab).collect();
        if hung.len() == tabs.len() {
            // Chromium ends with its last tab, so the new one comes first.
            self.ask(Method::PUT, "/json/new?about:blank").await?;
        }
        for tab in &hung {
            // The answer is a line of text, and a tab that is gone by now is as good.
            let _ = self.ask(Method::GET, &format!("/json/close/{tab}")).await;
        }
        Ok(hung.len())
    }

    /// Where all tabs are.
    ///
    /// # Errors
    ///
    /// When the browser does not answer, or a tab does not say where it is.
    pub async fn urls(&self) -> Result<Vec<String>, BrowserError> {
        let url = |page: Value| Some(page.get("url")?.as_str()?.to_owned());
        let unknown = || self.not_a_browser(&"a tab does not say where it is");
        self.pages().await?.into_iter().map(|page| url(page).ok_or_else(unknown)).collect()
    }

    /// The flags that the browser was started with, on one line.
    ///
    /// # Errors
    ///
    /// When the browser does not answer, or does not say.
    pub async fn flags(&self) -> Result<String, BrowserError> {
        let info = self.command("SystemInfo.getInfo").await?;
        let flags = info.pointer("/result/commandLine").and_then(Value::as_str).map(str::to_owned);
        flags.ok_or_else(|| self.not_a_browser(&"it does not say how it was started"))
    }

    /// Asks the browser to end by itself, which it does after it has written what its profile keeps. A signal makes it end
    /// too, but then cookies of the last half minute are lost.
    ///
    /// # Errors
    ///
    /// When the browser does not answer: then it may not have been asked.
    pub async fn close(&self) -> Result<(), BrowserError> {
        self.command("Browser.close").await.map(|_| ())
    }

    /// One command of the `DevTools` protocol to the browser itself, and its whole answer; `null` if it ended the connection
    /// instead.
    async fn command(&self, method: &str) -> Result<Value, BrowserError> {
        let version = self.ask(Method::GET, "/json/version").await?;
        let url = version.get("webSocketDebuggerUrl").and_then(Value::as_str).unwrap_or_default();
        let path = url.strip_prefix("ws://").and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
        let asked = async {
            // The path alone is the browser's word; the address is ours.
            let mut socket = self.socket(path).await?;
            socket.send(Message::text(json!({ "id": 1, "method": method }).to_string())).await.ok()?;
            Some(answer(&mut socket).await.unwrap_or_default())
        };
        let said = tokio::time::timeout(PORT_PATIENCE, asked).await.map_err(|_| BrowserError::Silent(self.port))?;
        said.ok_or_else(|| self.not_a_browser(&"it takes no commands"))
    }

    /// The ids of all tabs.
    async fn tabs(&self) -> Result<Vec<String>, BrowserError> {
        let pages = self.pages().await?;
        let ids = pages.iter().filter_map(|page| page.get("id")?.as_str());
        // An id becomes part of an address below.
        Ok(ids.filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric())).map(str::to_owned).collect())
    }

    /// All tabs, as the browser describes them.
    async fn pages(&self) -> Result<Vec<Value>, BrowserError> {
        let Value::Array(mut targets) = self.ask(Method::GET, "/json/list").await? else {
            return Err(self.not_a_browser(&"its list of tabs is not a list"));
        };
        targets.retain(|target| target.get("type").and_then(Value::as_str) == Some("page"));
        Ok(targets)
    }

    /// Whether a tab can run the smallest of programs, if need be after it was told to stop loading.
    async fn is_alive(&self, tab: &str) -> bool {
        self.ask_tab(tab).await.is_some()
    }

    /// Asks a tab for a sign of life; `None` if there is none.
    async fn ask_tab(&self, tab: &str) -> Option<()> {
        let path = format!("devtools/page/{tab}");
        let mut socket = tokio::time::timeout(PORT_PATIENCE, self.socket(&path)).await.ok()??;
        let question = json!({ "id": 1, "method": "Runtime.evaluate", "params": { "expression": "1" } });
        socket.send(Message::text(question.to_string())).await.ok()?;
        let mut answer = std::pin::pin!(async move {
            let (mut sender, mut receiver) = socket.split();
            let stop_loading = async {
                tokio::time::sleep(SIGN_OF_LIFE).await;
                let _ = sender.send(Message::text(json!({ "id": 2, "method": "Page.stopLoading" }).to_string())).await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                found = answer(&mut receiver) => found.map(drop),
                () = stop_loading => None,
            }
        });
        tokio::time::timeout(SIGN_OF_LIFE + AFTER_STOPPING, &mut answer).await.ok()?
    }

    /// A connection that takes commands, to what stands at this path; `None` if there is none.
    async fn socket(&self, path: &str) -> Option<WebSocketStream<TcpStream>> {
        let stream = TcpStream::connect(self.address()).await.ok()?;
        client_async(format!("ws://{}/{path}", self.address()), stream).await.ok().map(|(socket, _)| socket)
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    fn not_a_browser(&self, message: &dyn std::fmt::Display) -> BrowserError {
        BrowserError::NotABrowser { port: self.port, message: message.to_string() }
    }

    /// One request to the port; the answer as JSON, `null` if it is none.
    async fn ask(&self, method: Method, path: &str) -> Result<Value, BrowserError> {
        let connect = |source| BrowserError::Connect { port: self.port, source };
        let asked = async {
            let stream = TcpStream::connect(self.address()).await.map_err(connect)?;
            let failed = |error: &dyn std::error::Error| self.not_a_browser(&error);
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
            let request = Request::builder().method(method).uri(path).header("host", self.address().to_string());
            let request = request.body(Empty::<Bytes>::new()).map_err(|error| failed(&error))?;
            let answer = async {
                let body = sender.send_request(request).await.map_err(|error| failed(&error))?.into_body();
                let body = Limited::new(body, MAX_ANSWER).collect().await;
                body.map(http_body_util::Collected::to_bytes).map_err(|error| self.not_a_browser(&error))
            };
            tokio::pin!(answer);
            // The connection is driven here rather than in a task of its own, so that nothing outlives the question.
            let bytes = tokio::select! {
                biased;
                bytes = &mut answer => bytes?,
                _ = connection => answer.await?,
            };
            Ok(serde_json::from_slice(&bytes).unwrap_or_default())
        };
        tokio::time::timeout(PORT_PATIENCE, asked).await.map_err(|_| BrowserError::Silent(self.port))?
    }
}

/// The answer to the command that was sent as number 1; `None` if the connection ends before it.
async fn answer(messages: &mut (impl Stream<Item = Result<Message, tungstenite::Error>> + Unpin)) -> Option<Value> {
    while let Some(Ok(message)) = messages.next().await {
        let said = message.to_text().ok().and_then(|text| serde_json::from_str::<Value>(text).ok());
        if let Some(said) = said.filter(|said| said.get("id") == Some(&json!(1))) {
            return Some(said);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Answers every connection with the same bytes.
    fn serve(answer: &'static str) -> Browser {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().take(3) {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 1024]);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", answer.len());
                stream.write_all(format!("{head}{answer}").as_bytes()).unwrap();
            }
        });
        Browser::new(port)
    }

    #[tokio::test]
    async fn errors_say_what_is_there_instead_of_a_browser() {
        let closed = Browser::new(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
        assert!(matches!(closed.version().await, Err(BrowserError::Connect { .. })));
        assert!(matches!(serve("<html>").version().await, Err(BrowserError::NotABrowser { .. })));
        assert_eq!(serve(r#"{"Browser":"Chrome/1"}"#).version().await.unwrap(), "Chrome/1");
    }

    #[tokio::test]
    async fn only_tabs_count_and_each_says_where_it_is() {
        let list =
            r#"[{"type":"page","url":"https://a.example/"},{"type":"service_worker","url":"https://b.example/"}]"#;
        assert_eq!(serve(list).urls().await.unwrap(), ["https://a.example/"]);
        assert!(serve(r#"[{"type":"page"}]"#).urls().await.is_err());
        assert!(serve(r#"{"type":"page"}"#).urls().await.is_err());
    }
}
