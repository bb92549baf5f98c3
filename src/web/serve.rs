//! Accepting connections, and giving none of them more time than it needs.
//!
//! Decides how many connections there may be, how long a client has for a head, for a body and for reading an answer, and
//! what happens to running requests when the server ends. A client that stops in the middle of anything must never keep a
//! place, and must never keep the server from ending.

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
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// The largest body of a request, in bytes.
pub const MAX_BODY: usize = 1024 * 1024;

/// Connections at the same time; more wait until one ends.
const MAX_CONNECTIONS: usize = 1024;

/// How long a client has to send the head of a request, the wait for the next one on a connection that is kept included.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// How long it has to send the body.
const BODY_PATIENCE: Duration = Duration::from_secs(15);

/// How long the system waits, in milliseconds, for a client to take what was sent, before it gives the connection up
/// (`TCP_USER_TIMEOUT`, tcp(7)).
const READER_PATIENCE_MS: u32 = 30_000;

/// How long clients have to take answers that are there, when the server ends.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// The requests that are here whole and not yet answered. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Requests(TaskTracker);

impl Requests {
    /// Takes a request in with its whole body. It counts as running for as long as the token is there.
    ///
    /// # Errors
    ///
    /// 413 for a body that is too large, 408 for one that does not come, 400 for one that breaks off.
    pub async fn begin(&self, request: Request) -> Result<(Request, TaskTrackerToken), StatusCode> {
        let request = whole_body(request).await?;
        Ok((request, self.0.token()))
    }
}

/// Serves until `stop` is cancelled; then nothing new is accepted, and `requests` that are running have `grace` to end. One
/// that is not here whole by then has none.
pub async fn serve(listener: TcpListener, app: Router, requests: &Requests, stop: CancellationToken, grace: Duration) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    let graceful = GracefulShutdown::new();
    let places = std::sync::Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            () = stop.cancelled() => break,
        };
        let Some((stream, place)) = accepted else { continue };
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app.clone()));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that went away or sent what is no HTTP is its own news.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    requests.0.close();
    let answered = async {
        requests.0.wait().await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        () = graceful.shutdown() => {}
        () = answered => {}
        () = tokio::time::sleep(grace) => {}
    }
}

/// The next connection, when there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &std::sync::Arc<Semaphore>,
) -> Option<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            let _ = stream.set_nodelay(true);
            let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, READER_PATIENCE_MS);
            Some((stream, place))
        }
        Err(error) => {
            // Too many open files, say: others must end first.
            tracing::error!(%error, "cannot accept a connection");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

/// Takes the whole body in, so that what comes behind works on requests that are there.
async fn whole_body(request: Request) -> Result<Request, StatusCode> {
    let (head, body) = request.into_parts();
    if body.is_end_stream() {
        return Ok(Request::from_parts(head, Body::empty()));
    }
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match tokio::time::timeout(BODY_PATIENCE, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(head, Body::from(bytes))),
        Ok(Err(error)) if is_too_large(&error) => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

/// Whether a body was cut off at the limit.
fn is_too_large(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>)
}
