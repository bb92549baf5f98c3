//! HTTP and WebSocket connections to the debugging port.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures::{SinkExt, Stream, StreamExt};
use http_body_util::Full;
use hyper::{Method, Request};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::browser::cdp::error::BrowserError;
use crate::os::http_client;

/// Timeout for the port to answer.
const PORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// Id of the only command of a connection whose answer is read.
const COMMAND_ID: u64 = 1;

/// Debugging port on loopback.
#[derive(Clone, Copy, Debug)]
pub(super) struct DebugPort(pub(super) u16);

impl DebugPort {
    /// Sends a request, and returns the answer; `null` if it is not JSON.
    pub(super) async fn request(self, method: Method, path: &str) -> Result<Value, BrowserError> {
        let exchange = async {
            let connect = |source| BrowserError::Connect { port: self.0, source };
            let stream = TcpStream::connect(self.address()).await.map_err(connect)?;
            let request = Request::builder().method(method).uri(path).header("host", self.address().to_string());
            let request = request.body(Full::default()).map_err(|error| self.not_a_browser(&error))?;
            let response = http_client::exchange(stream, request, MAX_ANSWER).await;
            let response = response.map_err(|error| self.not_a_browser(&error))?;
            Ok(serde_json::from_slice(response.body()).unwrap_or_default())
        };
        self.with_timeout(exchange).await?
    }

    /// Sends a command of the `DevTools` protocol to the browser itself, and returns the answer; `null` if the browser closed
    /// the connection instead.
    pub(super) async fn command(self, method: &str) -> Result<Value, BrowserError> {
        let version = self.request(Method::GET, "/json/version").await?;
        let url = version.get("webSocketDebuggerUrl").and_then(Value::as_str).unwrap_or_default();
        // Only the path is taken from the browser.
        let path = url.strip_prefix("ws://").and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
        let exchange = async {
            let mut socket = self.connect(path).await?;
            socket.send(command(method, &json!({}))).await.ok()?;
            Some(answer(&mut socket).await.unwrap_or_default())
        };
        self.with_timeout(exchange).await?.ok_or_else(|| self.not_a_browser(&"it accepts no commands"))
    }

    /// Opens a WebSocket to a target; `None` if that fails.
    pub(super) async fn open(self, path: &str) -> Option<WebSocketStream<TcpStream>> {
        self.with_timeout(self.connect(path)).await.ok()?
    }

    /// Returns the error for an answer that is not a browser's.
    pub(super) fn not_a_browser(self, message: &dyn std::fmt::Display) -> BrowserError {
        BrowserError::NotABrowser { port: self.0, message: message.to_string() }
    }

    async fn connect(self, path: &str) -> Option<WebSocketStream<TcpStream>> {
        let stream = TcpStream::connect(self.address()).await.ok()?;
        client_async(format!("ws://{}/{path}", self.address()), stream).await.ok().map(|(socket, _)| socket)
    }

    async fn with_timeout<T>(self, exchange: impl Future<Output = T>) -> Result<T, BrowserError> {
        tokio::time::timeout(PORT_TIMEOUT, exchange).await.map_err(|_| BrowserError::Silent(self.0))
    }

    fn address(self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.0))
    }
}

/// Returns the command whose answer [`answer`] waits for.
pub(super) fn command(method: &str, params: &Value) -> Message {
    Message::text(json!({ "id": COMMAND_ID, "method": method, "params": params }).to_string())
}

/// Returns a command whose answer is ignored.
pub(super) fn notification(method: &str) -> Message {
    Message::text(json!({ "id": COMMAND_ID + 1, "method": method }).to_string())
}

/// Waits for the answer to [`command`]; `None` if the connection ends before it.
pub(super) async fn answer(
    messages: &mut (impl Stream<Item = Result<Message, tungstenite::Error>> + Unpin),
) -> Option<Value> {
    while let Some(Ok(message)) = messages.next().await {
        let message = message.to_text().ok().and_then(|text| serde_json::from_str::<Value>(text).ok());
        if let Some(answer) = message.filter(|message| message.get("id") == Some(&json!(COMMAND_ID))) {
            return Some(answer);
        }
    }
    None
}
