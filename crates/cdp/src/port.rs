//! Browser with a debugging port on loopback: its version, id and flags, and the WebSocket to it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use browser_shell_core::gate::read_chromium;
use futures::{SinkExt, StreamExt};
use http_body_util::Full;
use hyper::{Method, Request};
use serde::Deserialize;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::message::{Incoming, encode};
use crate::protocol::CdpCommand;
use crate::protocol::browser::GetInfo;
use browser_shell_system::os::connections;

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

/// Reason why the browser did not answer a request.
#[derive(Debug, Error)]
pub enum BrowserError {
    /// The port does not accept connections.
    #[error("127.0.0.1:{port} does not answer: {source}")]
    Connect {
        /// Debugging port.
        port: u16,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The port accepts connections and does not answer.
    #[error("127.0.0.1:{0} accepts connections and does not answer")]
    Silent(u16),
    /// The answer is not a browser's.
    #[error("the server on 127.0.0.1:{port} is not a browser: {message}")]
    NotABrowser {
        /// Debugging port.
        port: u16,
        /// Problem of the answer.
        message: String,
    },
}

/// Answer of the port at `/json/version`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PortVersion {
    #[serde(rename = "Browser")]
    browser: Option<String>,
    #[serde(rename = "webSocketDebuggerUrl")]
    web_socket_debugger_url: String,
}

/// Chromium with its debugging port on 127.0.0.1.
#[derive(Debug)]
pub struct DebuggedBrowser {
    port: u16,
}

impl DebuggedBrowser {
    /// Returns the browser on a port, without connecting to it.
    #[must_use]
    pub const fn new(port: u16) -> Self {
        Self { port }
    }

    /// Returns the browser's name and version.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer.
    pub async fn version(&self) -> Result<String, BrowserError> {
        let name = self.port_version().await?.browser;
        name.ok_or_else(|| self.not_a_browser(&"it does not report its version"))
    }

    /// Returns the browser's id, which differs between two starts.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer, or does not report its id.
    pub async fn instance(&self) -> Result<String, BrowserError> {
        let version = self.port_version().await?;
        let id = version.web_socket_debugger_url.rsplit('/').next().filter(|id| !id.is_empty());
        id.map(str::to_owned).ok_or_else(|| self.not_a_browser(&"it does not report its id"))
    }

    /// Returns the flags that the browser was started with, on one line.
    ///
    /// # Errors
    ///
    /// Returns an error if the browser does not answer, or does not report its flags.
    pub async fn flags(&self) -> Result<String, BrowserError> {
        let info = self.command(&GetInfo {}).await?;
        info.map(|info| info.command_line).ok_or_else(|| self.not_a_browser(&"it does not report its flags"))
    }

    /// Returns what the port says of the browser; nothing if it says something else.
    async fn port_version(&self) -> Result<PortVersion, BrowserError> {
        let exchange = async {
            let connect = |source| BrowserError::Connect { port: self.port, source };
            let stream = TcpStream::connect(self.address()).await.map_err(connect)?;
            let request =
                Request::builder().method(Method::GET).uri("/json/version").header("host", self.address().to_string());
            let request = request.body(Full::default()).map_err(|error| self.not_a_browser(&error))?;
            let response = connections::exchange(stream, request, MAX_ANSWER).await;
            let response = response.map_err(|error| self.not_a_browser(&error))?;
            Ok(serde_json::from_slice(response.body()).unwrap_or_default())
        };
        self.with_timeout(exchange).await?
    }

    /// Sends a command to the browser itself, and returns the result; `None` if it has another form, or the browser closed the
    /// connection instead.
    async fn command<C: CdpCommand>(&self, command: &C) -> Result<Option<C::Response>, BrowserError> {
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
    pub(super) async fn open_browser(&self) -> Result<WebSocketStream<TcpStream>, BrowserError> {
        let url = self.port_version().await?.web_socket_debugger_url;
        // Only the path is taken from the browser.
        let path = url.strip_prefix("ws://").and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
        let connecting = self.with_timeout(self.connect(path)).await?;
        connecting.ok_or_else(|| self.not_a_browser(&"it accepts no commands"))
    }

    /// Returns the error for an answer that is not a browser's.
    fn not_a_browser(&self, message: &dyn std::fmt::Display) -> BrowserError {
        BrowserError::NotABrowser { port: self.port, message: message.to_string() }
    }

    async fn connect(&self, path: &str) -> Option<WebSocketStream<TcpStream>> {
        let stream = TcpStream::connect(self.address()).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let url = format!("ws://{}/{path}", self.address());
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE))
            .read_buffer_size(READ_BYTES);
        client_async_with_config(url, stream, Some(limits)).await.ok().map(|(socket, _)| socket)
    }

    async fn with_timeout<T>(&self, exchange: impl Future<Output = T>) -> Result<T, BrowserError> {
        tokio::time::timeout(PORT_TIMEOUT, exchange).await.map_err(|_| BrowserError::Silent(self.port))
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Returns a browser whose port answers every connection with the same bytes.
    fn serve(answer: &'static str) -> DebuggedBrowser {
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
        DebuggedBrowser::new(port)
    }

    #[tokio::test]
    async fn unreachable_and_non_browser_endpoints_are_errors() {
        let closed = DebuggedBrowser::new(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
        assert!(matches!(closed.version().await, Err(BrowserError::Connect { .. })));
        assert!(matches!(serve("<html>").version().await, Err(BrowserError::NotABrowser { .. })));
        assert_eq!(serve(r#"{"Browser":"Chrome/1"}"#).version().await.unwrap(), "Chrome/1");
    }
}
