//! HTTP server with limits on connections, heads, bodies and unread responses.
//!
//! Invariants: a client that stops in the middle of a request or a response loses its connection, and cannot delay the end of
//! the server.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use hyper::body::Body as _;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::os::accept::accept;

/// Maximum size of a request body, in bytes.
pub(crate) const MAX_BODY: usize = 1024 * 1024;

/// Maximum number of open connections. Further ones wait until one ends.
const MAX_CONNECTIONS: usize = 1024;

/// Timeout for a client to send the head of a request, including the wait for the next one on a connection kept alive.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout for a client to send the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// Timeout in milliseconds for a client to acknowledge sent data, after which the system drops the connection
/// (`TCP_USER_TIMEOUT`, tcp(7)).
const UNREAD_TIMEOUT_MS: u32 = 30_000;

/// Timeout for clients to read finished responses when the server stops.
const LAST_RESPONSES_TIMEOUT: Duration = Duration::from_secs(2);

/// Requests that were received whole and have no response yet. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningRequests(TaskTracker);

impl RunningRequests {
    /// Receives the whole body of a request. The request counts as running until the token is dropped.
    ///
    /// # Errors
    ///
    /// 413 for a body that is too large, 408 for one that does not arrive in time, 400 for one that breaks off.
    pub(crate) async fn begin(&self, request: Request) -> Result<(Request, TaskTrackerToken), StatusCode> {
        let request = receive_body(request).await?;
        Ok((request, self.0.token()))
    }
}

/// Serves until `stop` is canceled. Then the server accepts nothing new and gives running `requests` the time `grace` to end;
/// requests that were not received whole by then are dropped.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    requests: &RunningRequests,
    stop: CancellationToken,
    grace: Duration,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = accept_with_slot(&listener, &slots) => accepted,
            () = stop.cancelled() => break,
        };
        let Some((stream, slot)) = accepted else { continue };
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app.clone()));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // Errors here are the client's: it disconnected or did not send HTTP.
            let _ = connection.await;
            drop(slot);
        });
    }
    drop(listener);
    requests.0.close();
    let answered = async {
        requests.0.wait().await;
        tokio::time::sleep(LAST_RESPONSES_TIMEOUT).await;
    };
    tokio::select! {
        () = graceful.shutdown() => {}
        () = answered => {}
        () = tokio::time::sleep(grace) => {}
    }
}

/// Accepts the next connection once there is a free slot. Returns `None` if there are no slots any more.
async fn accept_with_slot(listener: &TcpListener, slots: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.ok()?;
    let (stream, _) = accept(listener).await;
    let _ = stream.set_nodelay(true);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, UNREAD_TIMEOUT_MS);
    Some((stream, slot))
}

/// Reads the whole body into memory, so that handlers never wait for a client.
async fn receive_body(request: Request) -> Result<Request, StatusCode> {
    let (head, body) = request.into_parts();
    if body.is_end_stream() {
        return Ok(Request::from_parts(head, Body::empty()));
    }
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(head, Body::from(bytes))),
        Ok(Err(error)) if is_too_large(&error) => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

/// Returns true if the body was longer than the limit.
fn is_too_large(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>)
}
