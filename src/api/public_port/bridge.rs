//! Bridge between a viewer's WebSocket and the display.
//!
//! Invariants: the display gets only what [`ViewerParser`] passes on, and at the end the release of buttons that are pressed; the
//! connection ends with either side, with the viewer's credential, and with the server.

use std::time::Duration;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use hyper::body::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_util::sync::CancellationToken;

use browser_shell_core::rfb::{Access, RfbError, ViewerParser};

/// Size of the reads from the display, in bytes.
const READ_SIZE: usize = 64 * 1024;

/// Interval between pings, by which the system notices a viewer that is gone.
pub(super) const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Timeout for a viewer to receive and to answer the end of its connection, and for the display to take the last message.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Reason why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The viewer left.
    Viewer,
    /// The display ended, or the server stops.
    Server,
    /// The viewer's credential has ended.
    CredentialLost,
    /// The viewer sent something that is not passed on.
    Refused(RfbError),
    /// The viewer sent text, which the protocol does not have.
    Text,
    /// The viewer does not understand the encodings that pictures of pages need.
    Unsupported,
}

impl End {
    /// Returns the last frame for the viewer.
    fn frame(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Viewer => return None,
            Self::Server => (CloseCode::Away, "the screen ended".to_owned()),
            Self::CredentialLost => (CloseCode::Policy, "the credential has ended; open the screen again".to_owned()),
            Self::Refused(error) => (CloseCode::Policy, error.to_string()),
            Self::Unsupported => {
                let reason = "the screen needs Tight with JPEG, and changes of its size; use noVNC";
                (CloseCode::Unsupported, reason.to_owned())
            }
            Self::Text => (CloseCode::Unsupported, "the screen takes binary messages only".to_owned()),
        };
        Some(CloseFrame { code, reason: reason.into() })
    }
}

/// Carries the screen to a viewer and its messages to the display, until one of them ends, or `lost` does, which waits for the end of
/// the viewer's credential.
pub(super) async fn run<S>(
    viewer: WebSocketStream<S>,
    display: UnixStream,
    access: Access,
    lost: impl Future<Output = ()>,
    stop: &CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (mut to_viewer, mut from_viewer) = viewer.split();
    let (mut from_display, mut to_display) = display.into_split();
    let mut parser = ViewerParser::new(access);
    // True while the display may have got a part of a message.
    let mut is_writing = false;
    let input = async {
        let mut passed = Vec::new();
        while let Some(Ok(message)) = from_viewer.next().await {
            let bytes = match message {
                Message::Binary(bytes) => bytes,
                Message::Text(_) => return End::Text,
                Message::Close(_) => return End::Viewer,
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
            };
            let result = parser.read(&bytes, &mut passed);
            is_writing = true;
            if to_display.write_all(&passed).await.is_err() {
                return End::Server;
            }
            is_writing = false;
            passed.clear();
            if let Err(error) = result {
                return End::Refused(error);
            }
        }
        End::Viewer
    };
    let end = tokio::select! {
        biased; // without a credential, nothing more is passed on
        () = lost => End::CredentialLost,
        () = stop.cancelled() => End::Server,
        end = input => end,
        end = send_screen(&mut from_display, &mut to_viewer) => end,
    };
    if let Some(release) = parser.release().filter(|_| !is_writing) {
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, to_display.write_all(&release)).await;
    }
    drop((from_display, to_display));
    close(&mut to_viewer, &mut from_viewer, end).await;
}

/// Ends the connection of a viewer, and says why. Waits until the viewer has closed its side too: the system discards a frame that the
/// viewer has not received yet when a connection ends with messages that nobody has read, such as movements of the mouse.
pub(super) async fn close<S>(
    to_viewer: &mut SplitSink<WebSocketStream<S>, Message>,
    from_viewer: &mut SplitStream<WebSocketStream<S>>,
    end: End,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if let End::Refused(error) = end {
        tracing::warn!(%error, "a viewer was disconnected");
    }
    let closing = async {
        if let Some(frame) = end.frame() {
            let _ = to_viewer.send(Message::Close(Some(frame))).await;
            while let Some(Ok(_)) = from_viewer.next().await {}
        }
        let _ = to_viewer.close().await;
    };
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
}

/// Sends what the display sends, and pings.
async fn send_screen<S>(
    from_display: &mut (impl AsyncRead + Unpin),
    to_viewer: &mut SplitSink<WebSocketStream<S>, Message>,
) -> End
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut buffer = vec![0; READ_SIZE];
    let mut pings = tokio::time::interval(PING_INTERVAL);
    loop {
        let message = tokio::select! {
            read = from_display.read(&mut buffer) => match read {
                Ok(length @ 1..) => Message::Binary(Bytes::copy_from_slice(buffer.get(..length).unwrap_or_default())),
                _ => return End::Server,
            },
            _ = pings.tick() => Message::Ping(Bytes::new()),
        };
        if to_viewer.send(message).await.is_err() {
            return End::Viewer;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;

    /// Connects a viewer with this access to a stand-in for the display, sends it messages, and returns what the display received
    /// and how the connection ended.
    async fn sent(access: Access, messages: Vec<Message>) -> (Vec<u8>, Option<u16>) {
        sent_until(access, std::future::pending(), messages).await
    }

    /// As [`sent`], with a credential that ends.
    async fn sent_until(
        access: Access,
        lost: impl Future<Output = ()> + Send + 'static,
        messages: Vec<Message>,
    ) -> (Vec<u8>, Option<u16>) {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (display, mut received) = UnixStream::pair().expect("sockets");
        let server = WebSocketStream::from_raw_socket(near, Role::Server, None).await;
        let mut viewer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
        let bridge = tokio::spawn(async move { run(server, display, access, lost, &CancellationToken::new()).await });
        for message in messages {
            let _ = viewer.send(message).await;
        }
        let _ = viewer.close(None).await;
        let mut code = None;
        while let Some(Ok(message)) = viewer.next().await {
            if let Message::Close(Some(frame)) = message {
                code = Some(frame.code.into());
            }
        }
        bridge.await.expect("the bridge ends");
        let mut bytes = Vec::new();
        received.read_to_end(&mut bytes).await.expect("read");
        (bytes, code)
    }

    fn binary(bytes: &[u8]) -> Message {
        Message::Binary(Bytes::copy_from_slice(bytes))
    }

    #[tokio::test]
    async fn display_gets_only_what_the_access_contains() {
        let key = [4, 1, 0, 0, 0, 0, 0, b'a'];
        let messages = || vec![binary(b"RFB 003.0"), binary(b"08\n\x01\x00"), binary(&key)];
        let handshake = b"RFB 003.008\n\x01\x01".as_slice();
        assert_eq!(sent(Access::Watch, messages()).await.0, handshake);
        assert_eq!(sent(Access::Control, messages()).await.0, [handshake, &key].concat());
    }

    #[tokio::test]
    async fn buttons_of_a_leaving_viewer_are_released() {
        let handshake = b"RFB 003.008\n\x01\x01".as_slice();
        let (press, release) = ([5, 1, 0, 9, 1, 8], [5, 0, 0, 9, 1, 8]);
        let messages = |last: &[u8]| vec![binary(b"RFB 003.008\n\x01\x00"), binary(&press), binary(last)];
        let (bytes, _) = sent(Access::Control, messages(&[])).await;
        assert_eq!(bytes, [handshake, &press, &release].concat());
        let (bytes, code) = sent(Access::Control, messages(&[250, 0, 0, 0])).await;
        assert_eq!((bytes, code), ([handshake, &press, &release].concat(), Some(1008)), "an unknown message");
        let (bytes, _) = sent(Access::Control, messages(&release)).await;
        assert_eq!(bytes, [handshake, &press, &release].concat(), "control: the viewer releases it");
        assert_eq!(sent(Access::Watch, messages(&[])).await.0, handshake);
    }

    #[tokio::test]
    async fn viewer_is_disconnected_when_its_credential_ends() {
        let (_, code) = sent_until(Access::Control, std::future::ready(()), Vec::new()).await;
        assert_eq!(code, Some(1008));
        assert_eq!(sent(Access::Control, Vec::new()).await.1, None, "control: the viewer leaves by itself");
    }

    #[tokio::test]
    async fn messages_of_a_viewer_are_read_until_it_closes_its_side() {
        // It holds the last frame, and few of the messages.
        let (near, far) = tokio::io::duplex(256);
        let (display, mut received) = UnixStream::pair().expect("sockets");
        let server = WebSocketStream::from_raw_socket(near, Role::Server, None).await;
        let mut viewer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
        let bridge = tokio::spawn(async move {
            run(server, display, Access::Control, std::future::ready(()), &CancellationToken::new()).await;
        });
        for _ in 0..100 {
            viewer.send(binary(b"RFB 003.008\n")).await.expect("the connection is still open");
        }
        let last = viewer.next().await.expect("a message").expect("a frame");
        assert!(matches!(last, Message::Close(Some(frame)) if frame.code == CloseCode::Policy));
        assert!(viewer.next().await.is_none());
        bridge.await.expect("the bridge ends");
        let mut bytes = Vec::new();
        received.read_to_end(&mut bytes).await.expect("read");
        assert!(bytes.is_empty(), "the display got messages without a credential");
    }

    #[tokio::test]
    async fn viewer_with_unknown_message_is_disconnected() {
        let (bytes, code) = sent(Access::Control, vec![binary(b"RFB 003.008\n\x01\x00\xfa\0\0\0")]).await;
        assert_eq!((bytes.len(), code), (14, Some(1008)));
        let (bytes, code) = sent(Access::Control, vec![Message::text("RFB 003.008\n")]).await;
        assert_eq!((bytes.len(), code), (0, Some(1003)));
    }
}
