//! Connections: those that a listener accepts, and one HTTP/1.1 request over a new one.
//!
//! The connection of a request is driven by the caller's future rather than by a separate task, so nothing outlives the request,
//! and the stream can be TCP or a Unix socket. Callers set the timeout.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// Pause after a failed accept, such as with too many open files.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Returns the next connection and its other end. A failure is logged, and followed by another attempt.
pub async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::error!(%error, "cannot accept a connection");
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }
}

/// Error of an HTTP exchange.
#[derive(Debug, Error)]
pub enum HttpExchangeError {
    /// The server does not speak HTTP, or ended the connection.
    #[error(transparent)]
    Protocol(#[from] hyper::Error),
    /// The body is longer than the limit, or broke off.
    #[error("cannot read the body of the response: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
}

/// Sends `request` over `stream` and returns the response with a body of at most `max_bytes`.
///
/// # Errors
///
/// See [`HttpExchangeError`].
pub async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    max_bytes: usize,
) -> Result<Response<Bytes>, HttpExchangeError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let response = async {
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, max_bytes).collect().await.map_err(HttpExchangeError::Body)?;
        Ok(Response::from_parts(head, body.to_bytes()))
    };
    tokio::pin!(response);
    tokio::select! {
        biased;
        response = &mut response => response,
        // After the connection has ended, the response is complete or will never be.
        _ = connection => response.await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn exchange_with(reply: &'static [u8], max_bytes: usize) -> Result<Response<Bytes>, HttpExchangeError> {
        let (client, mut server) = tokio::io::duplex(1024);
        let serve = async {
            let _ = server.read(&mut [0; 1024]).await;
            let _ = server.write_all(reply).await;
            drop(server);
        };
        let request = Request::builder().uri("/").header("host", "localhost").body(Full::default()).expect("valid");
        tokio::join!(exchange(client, request, max_bytes), serve).0
    }

    #[tokio::test]
    async fn exchange_returns_status_and_body() {
        let response =
            exchange_with(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno", 2).await.expect("a response");
        assert_eq!((response.status().as_u16(), response.body().as_ref()), (404, &b"no"[..]));
        let response = exchange_with(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nuntil the end", 64).await;
        assert_eq!(response.expect("a response").body().as_ref(), b"until the end");
    }

    #[tokio::test]
    async fn exchange_fails_on_long_bodies_and_other_protocols() {
        let long = exchange_with(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc", 2).await;
        assert!(matches!(long, Err(HttpExchangeError::Body(_))), "{long:?}");
        for reply in [&b""[..], b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\na"] {
            assert!(exchange_with(reply, 64).await.is_err(), "{reply:?}");
        }
    }
}
