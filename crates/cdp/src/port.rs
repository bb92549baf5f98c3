//! HTTP and WebSocket connections to the debugging port.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use http_body_util::Full;
use hyper::{Method, Request};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::error::BrowserError;
use crate::message::{Incoming, encode};
use crate::protocol::CdpCommand;
use browser_shell_core::gate::read_chromium;
use browser_shell_system::os::http_client;

/// Timeout for the port to answer.
const PORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// Maximum size of a message, in bytes. The WebSocket ends when it is exceeded: it is far above what the connection reads.
const MAX_MESSAGE: usize = 1024 * 1024 * 1024;

/// Size of a read, in bytes. The library fills a buffer of this size with zeros before each, and most answers are short.
const READ_BYTES: usize = 16 * 1024;

/// Id of the only command of a connection whose answer is read.
const COMMAND_ID: u64 = 1;

/// Answer of the port at `/json/version`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PortVersion {
    #[serde(rename = "Browser")]
    pub(super) browser: Option<String>,
    #[serde(rename = "webSocketDebuggerUrl")]
    pub(super) web_socket_debugger_url: String,
}

/// Debugging port on loopback.
#[derive(Clone, Copy, Debug)]
pub(super) struct DebugPort(pub(super) u16);

impl DebugPort {
    /// Returns what the port says of the browser; nothing if it says something else.
    pub(super) async fn version(self) -> Result<PortVersion, BrowserError> {
        let exchange = async {
            let connect = |source| BrowserError::Connect { port: self.0, source };
            let stream = TcpStream::connect(self.address()).await.map_err(connect)?;
            let request =
                Request::builder().method(Method::GET).uri("/json/version").header("host", self.address().to_string());
            let request = request.body(Full::default()).map_err(|error| self.not_a_browser(&error))?;
            let response = http_client::exchange(stream, request, MAX_ANSWER).await;
            let response = response.map_err(|error| self.not_a_browser(&error))?;
            Ok(serde_json::from_slice(response.body()).unwrap_or_default())
        };
        self.with_timeout(exchange).await?
    }

    /// Sends a command to the browser itself, and returns the result; `None` if it has another form, or the browser closed the
    /// connection instead.
    pub(super) async fn command<C: CdpCommand>(self, command: &C) -> Result<Option<C::Response>, BrowserError> {
        let mut socket = self.open_browser().await?;
        let exchange = async {
            let params = serde_json::to_string(command).ok()?;
            socket.send(Message::text(encode(COMMAND_ID, None, C::METHOD, Some(&params)))).await.ok()?;
            while let Some(Ok(message)) = socket.next().await {
                let message = message.to_text().ok().and_then(|text| serde_json::from_str::<Incoming<'_>>(text).ok());
                if let Some(answer) = message.filter(|message| message.id == Some(COMMAND_ID)) {
                    return Some(answer.result.and_then(|result| read_chromium(result.get()).ok()));
                }
            }
            Some(None)
        };
        self.with_timeout(exchange).await?.ok_or_else(|| self.not_a_browser(&"it accepts no commands"))
    }

    /// Opens a WebSocket to the browser itself.
    pub(super) async fn open_browser(self) -> Result<WebSocketStream<TcpStream>, BrowserError> {
        let url = self.version().await?.web_socket_debugger_url;
        // Only the path is taken from the browser.
        let path = url.strip_prefix("ws://").and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
        let connecting = self.with_timeout(self.connect(path)).await?;
        connecting.ok_or_else(|| self.not_a_browser(&"it accepts no commands"))
    }

    /// Returns the error for an answer that is not a browser's.
    pub(super) fn not_a_browser(self, message: &dyn std::fmt::Display) -> BrowserError {
        BrowserError::NotABrowser { port: self.0, message: message.to_string() }
    }

    async fn connect(self, path: &str) -> Option<WebSocketStream<TcpStream>> {
        let stream = TcpStream::connect(self.address()).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let url = format!("ws://{}/{path}", self.address());
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE))
            .read_buffer_size(READ_BYTES);
        client_async_with_config(url, stream, Some(limits)).await.ok().map(|(socket, _)| socket)
    }

    async fn with_timeout<T>(self, exchange: impl Future<Output = T>) -> Result<T, BrowserError> {
        tokio::time::timeout(PORT_TIMEOUT, exchange).await.map_err(|_| BrowserError::Silent(self.0))
    }

    fn address(self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.0))
    }
}
