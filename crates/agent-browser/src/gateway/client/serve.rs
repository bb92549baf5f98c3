//! Exchange of messages with a client, until it disconnects.

use std::sync::atomic::Ordering;

use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::gateway::client::connection::ClientConnection;

/// Service of a client. Its sessions end when this is dropped, even if nobody waits for the end of the service.
struct EndpointService<'a>(&'a ClientConnection);

impl Drop for EndpointService<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl ClientConnection {
    /// Serves the client until it disconnects, does not read, or the session ends.
    pub(crate) async fn serve<S>(&self, socket: WebSocketStream<S>, mut queue: mpsc::Receiver<String>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let service = EndpointService(self);
        let (mut writer, mut reader) = socket.split();
        let write = async {
            while let Some(message) = queue.recv().await {
                self.queued.fetch_sub(message.len(), Ordering::Relaxed);
                if writer.send(Message::text(message)).await.is_err() {
                    return;
                }
            }
        };
        let read = async {
            while let Some(Ok(message)) = reader.next().await {
                match message {
                    Message::Text(text) => self.receive(&text).await,
                    Message::Ping(_) | Message::Pong(_) => {}
                    // The protocol has no others.
                    Message::Binary(_) | Message::Close(_) | Message::Frame(_) => return,
                }
            }
        };
        tokio::select! {
            () = write => {}
            () = read => {}
            () = self.stop.cancelled() => {}
            () = self.browser.connection.closed() => {}
        }
        drop(service);
    }
}
