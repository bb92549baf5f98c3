//! Screen of a server, as its viewers reach it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, watch};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_util::sync::CancellationToken;

use crate::api::public_port::bridge;
use crate::api::public_port::responses::{line, no_screen};
use crate::api::public_port::websocket;
use crate::browser::display::RunningDisplay;
use browser_shell_core::rfb::Access;

/// Maximum number of simultaneous viewers.
const MAX_VIEWERS: usize = 64;

/// Maximum size of a viewer's message, in bytes. One with a text for the clipboard is the longest.
const MAX_MESSAGE: usize = 1024 * 1024;

/// Timeout for the display to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Screen of a server.
#[derive(Debug)]
pub(crate) struct Screen {
    display: watch::Receiver<Option<RunningDisplay>>,
    viewers: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Screen {
    /// Creates the screen of a display. Viewers are disconnected when `stop` is canceled.
    #[must_use]
    pub(crate) fn new(display: watch::Receiver<Option<RunningDisplay>>, stop: CancellationToken) -> Self {
        Self { display, viewers: Arc::new(Semaphore::new(MAX_VIEWERS)), stop }
    }

    /// Returns true if the display runs.
    pub(crate) fn is_running(&self) -> bool {
        self.display.borrow().is_some()
    }

    /// Connects a viewer to the display, or returns the reason why not as a response. The connection ends when `lost` does.
    pub(super) async fn connect(
        &self,
        mut request: Request,
        access: Access,
        lost: impl Future<Output = ()> + Send + 'static,
    ) -> Response {
        let accepted = match websocket::accept(request.headers()) {
            Ok(accepted) => accepted,
            Err(refused) => return *refused,
        };
        let Ok(place) = self.viewers.clone().try_acquire_owned() else {
            return line(StatusCode::SERVICE_UNAVAILABLE, "the screen has too many viewers; close one of them");
        };
        let socket = self.display.borrow().as_ref().map(|display| display.socket.clone());
        let Some(socket) = socket else { return no_screen() };
        let Ok(Ok(display)) = tokio::time::timeout(CONNECT_TIMEOUT, connect(&socket)).await else { return no_screen() };
        let upgrade = hyper::upgrade::on(&mut request);
        let stop = self.stop.clone();
        tokio::spawn(async move {
            // The client may leave before the WebSocket is open.
            let Ok(upgraded) = upgrade.await else { return };
            let config =
                WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
            let viewer = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
            bridge::run(viewer, display, access, lost, &stop).await;
            drop(place);
        });
        accepted
    }
}

/// Connects to the display, and waits while its queue is full, which is short.
async fn connect(socket: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(socket).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(RETRY_INTERVAL).await,
            result => return result,
        }
    }
}
