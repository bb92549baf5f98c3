//! HTTP server of all front ends, with limits on connections, heads, bodies and unread responses; and the request filter.
//!
//! A connection has one of the few places for unknown clients until a request on it has a credential. Whoever holds these cannot
//! keep out clients with one. Each connection gives its place back when it ends.
//!
//! Invariants: a client that stops in the middle of a request or a response loses its connection, and cannot delay the end of
//! the server; a connection that has to go for another one ends, whatever it is doing; a request with a credential of the server is
//! never ended for one without.

pub(crate) mod filter;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, Cursor};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::stream::{FuturesUnordered, StreamExt};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::shares::{ConnectionTable, Exceeded, Party, TrustedProxies};
use browser_shell_system::os::connections::accept;

/// Maximum size of a request body, in bytes.
pub(crate) const MAX_BODY: usize = 1024 * 1024;

/// Timeout for a client to send the head of a request, including the wait for the next one on a connection kept alive.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of the head of a request on a connection that carries one, in bytes.
const MAX_HEAD: usize = 32 * 1024;

/// Timeout for a client to send the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// Timeout in milliseconds for a client to acknowledge sent data, after which the system drops the connection
/// (`TCP_USER_TIMEOUT`, tcp(7)).
const UNREAD_TIMEOUT_MS: u32 = 30_000;

/// Timeout for clients to read finished responses when the server stops.
const LAST_RESPONSES_TIMEOUT: Duration = Duration::from_secs(2);

/// Header in which proxies name the client of a request.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Use of a server's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connections {
    /// Each carries any number of requests.
    KeptAlive,
    /// Each carries one request, with its [`RequestLine`], and can become a WebSocket.
    OneRequest,
}

/// First line of a request as the client sent it, without its line break: an extension of requests on connections that carry one.
#[derive(Clone, Debug)]
pub(crate) struct RequestLine(pub(crate) Arc<[u8]>);

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
        self.begin_limited(request, MAX_BODY).await
    }

    /// Receives the whole body of a request, of at most this number of bytes. The request counts as running until the token is
    /// dropped.
    ///
    /// # Errors
    ///
    /// As [`Self::begin`].
    pub(crate) async fn begin_limited(
        &self,
        request: Request,
        limit: usize,
    ) -> Result<(Request, TaskTrackerToken), StatusCode> {
        let request = receive_body(request, limit).await?;
        Ok((request, self.0.token()))
    }
}

/// Has a request count as running until its response is whole, which a stream of events is at the end of its call.
pub(crate) fn until_sent(response: Response, running: TaskTrackerToken) -> Response {
    let content_type = response.headers().get(CONTENT_TYPE);
    if content_type.is_none_or(|content_type| !content_type.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    let hold = move |_: &_| _ = &running;
    response.map(|body| Body::from_stream(body.into_data_stream().inspect(hold)))
}

/// Returns the response to a request for this address while a server stops. Its status is set to 503.
pub(crate) type AnswerWhileStopping = Arc<dyn Fn(&Uri) -> Response + Send + Sync>;

/// Text of the response to a request while a server stops.
pub(crate) const STOPPING: &str = "the server stops; try again";

/// Returns that text as a response.
pub(crate) fn text_while_stopping() -> Response {
    format!("{STOPPING}\n").into_response()
}

/// End of a server.
pub(crate) struct Shutdown {
    /// Canceled when it begins.
    pub(crate) stop: CancellationToken,
    /// Time for running requests to end.
    pub(crate) grace: Duration,
    /// Response to new requests meanwhile.
    pub(crate) answer: AnswerWhileStopping,
}

impl Shutdown {
    /// Creates the end of a server whose responses to errors are text.
    pub(crate) fn new(stop: CancellationToken, grace: Duration) -> Self {
        Self { stop, grace, answer: Arc::new(|_| text_while_stopping()) }
    }

    /// Sets the response to new requests.
    pub(crate) fn with_answer(self, answer: impl Fn(&Uri) -> Response + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), ..self }
    }
}

/// Serves until the shutdown begins. Then the server answers new connections with 503 and gives running `requests` their time to end;
/// requests that were not received whole by then are dropped. Every request has its [`SlotHandle`] as an extension.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    connections: Connections,
    proxies: TrustedProxies,
    requests: &RunningRequests,
    shutdown: Shutdown,
) {
    let Shutdown { stop, grace, answer } = shutdown;
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    if connections == Connections::OneRequest {
        http.max_buf_size(MAX_HEAD);
    }
    let graceful = GracefulShutdown::new();
    let open = TaskTracker::new();
    let places = Places::new(proxies);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = stop.cancelled() => break,
        };
        let _ = stream.set_nodelay(true);
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, UNREAD_TIMEOUT_MS);
        let held = places.arrive(peer.ip());
        let (app, place) = (TowerToHyperService::new(app.clone()), held.place.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            place.locate(request.headers());
            request.extensions_mut().insert(place.clone());
            app.call(request)
        });
        let (http, watcher, stop) = (http.clone(), graceful.watcher(), stop.clone());
        open.spawn(async move {
            let serving = async {
                match connections {
                    // Errors here are the client's: it disconnected or did not send HTTP.
                    Connections::KeptAlive => {
                        let connection = http.serve_connection(TokioIo::new(stream), service);
                        let _ = watcher.watch(connection).await;
                    }
                    Connections::OneRequest => serve_one(&http, stream, service, &stop).await,
                }
            };
            tokio::select! {
                () = serving => {}
                () = held.end.cancelled() => {}
            }
        });
    }
    requests.0.close();
    open.close();
    let ended = async {
        graceful.shutdown().await;
        open.wait().await;
    };
    let answered = async {
        requests.0.wait().await;
        tokio::time::sleep(LAST_RESPONSES_TIMEOUT).await;
    };
    tokio::select! {
        () = ended => {}
        () = answered => {}
        () = tokio::time::sleep(grace) => {}
        never = refuse(&listener, &answer) => match never {},
    }
}

/// Answers new connections with 503, while the last requests end.
async fn refuse(listener: &TcpListener, answer: &AnswerWhileStopping) -> Infallible {
    let mut connections = FuturesUnordered::new();
    loop {
        let (stream, _) = tokio::select! {
            accepted = accept(listener) => accepted,
            Some(()) = connections.next() => continue,
        };
        let service = service_fn(async |request: hyper::Request<Incoming>| {
            let (head, body) = request.into_parts();
            // A client that is not done with its request may not read the response.
            let _ = to_bytes(Body::new(body), MAX_BODY).await;
            let mut response = answer(&head.uri);
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            Ok::<_, Infallible>(response)
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(LAST_RESPONSES_TIMEOUT);
        let serving = async move {
            let _ = tokio::time::timeout(BODY_TIMEOUT, http.serve_connection(TokioIo::new(stream), service)).await;
        };
        connections.push(serving);
    }
}

/// Serves the only request of a connection. A client that sends no line in time, or none before the server stops, loses it.
async fn serve_one<S>(http: &http1::Builder, mut stream: TcpStream, app: S, stop: &CancellationToken)
where
    S: Service<hyper::Request<Incoming>, Response = Response, Error = Infallible>,
{
    let received = tokio::select! {
        received = tokio::time::timeout(HEAD_TIMEOUT, receive_line(&mut stream)) => received,
        () = stop.cancelled() => return,
    };
    let Ok(Ok((line, mut received))) = received else { return };
    mask_target(&mut received);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(line.clone());
        let response = app.call(request);
        async move {
            let mut response = response.await?;
            // With this header, hyper reads no further request. A WebSocket goes on.
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let (reader, writer) = stream.into_split();
    let whole = tokio::io::join(Cursor::new(received).chain(reader), writer);
    let mut connection = pin!(http.serve_connection(TokioIo::new(whole), service).with_upgrades());
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Receives the first line of a connection. Returns it, and everything that was received. Empty lines in front of it are skipped, as
/// HTTP asks for (RFC 9112 section 2.2); a line that is too long is cut, and hyper refuses its request.
async fn receive_line(stream: &mut TcpStream) -> io::Result<(RequestLine, Vec<u8>)> {
    let mut received = Vec::new();
    loop {
        let start = received.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let lines = received.get(start..).unwrap_or_default();
        let end = lines.iter().position(|byte| *byte == b'\n');
        if end.is_some() || received.len() > MAX_HEAD {
            let line = lines.get(..end.unwrap_or(lines.len())).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            return Ok((RequestLine(line.into()), received));
        }
        if stream.read_buf(&mut received).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Replaces the characters of the first line that hyper's type of addresses refuses, before a handler sees the request: what they
/// lead to is decided by the [`RequestLine`].
fn mask_target(received: &mut [u8]) {
    let start = received.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let line = received.iter_mut().skip(start).take_while(|byte| **byte != b'\n');
    for byte in line.filter(|byte| matches!(byte, b'"' | b'<' | b'>' | b'`')) {
        *byte = b'_';
    }
}

/// Reads the whole body into memory, so that handlers never wait for a client.
async fn receive_body(request: Request, limit: usize) -> Result<Request, StatusCode> {
    let (head, body) = request.into_parts();
    if body.is_end_stream() {
        return Ok(Request::from_parts(head, Body::empty()));
    }
    if body.size_hint().lower() > limit as u64 {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, limit)).await {
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

/// Places of the connections of a server.
#[derive(Debug, Default)]
struct Places {
    proxies: TrustedProxies,
    state: Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    table: ConnectionTable,
    /// Ends of the connections in the table.
    ends: HashMap<u64, CancellationToken>,
}

impl Places {
    fn new(proxies: TrustedProxies) -> Arc<Self> {
        Arc::new(Self { proxies, state: Mutex::default() })
    }

    /// Gives a new connection from this address a place, and ends the one that has to go for it.
    fn arrive(self: &Arc<Self>, address: IpAddr) -> ConnectionSlot {
        let is_proxy = self.proxies.contains(address);
        let end = CancellationToken::new();
        let mut state = self.lock();
        let (number, evicted) = state.table.arrive((!is_proxy).then(|| address.into()));
        state.end(evicted);
        state.ends.insert(number, end.clone());
        drop(state);
        ConnectionSlot { place: SlotHandle { places: self.clone(), number, is_proxy }, end }
    }

    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotState {
    fn end(&mut self, number: Option<u64>) {
        if let Some(end) = number.and_then(|number| self.ends.remove(&number)) {
            end.cancel();
        }
    }
}

/// Connection with its place, which it gives back when it is dropped.
struct ConnectionSlot {
    place: SlotHandle,
    /// Canceled when the connection has to go for another one.
    end: CancellationToken,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut state = self.place.places.lock();
        state.table.leave(self.place.number);
        state.ends.remove(&self.place.number);
    }
}

/// Place of the connection of a request: an extension of every request.
#[derive(Clone, Debug)]
pub(crate) struct SlotHandle {
    places: Arc<Places>,
    number: u64,
    is_proxy: bool,
}

impl SlotHandle {
    /// Records the client of a request that came through a trusted proxy.
    fn locate(&self, headers: &HeaderMap) {
        if !self.is_proxy {
            return;
        }
        let values: Vec<_> =
            headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default()).collect();
        if let Some(client) = self.places.proxies.client(values.into_iter()) {
            let mut state = self.places.lock();
            let evicted = state.table.locate(self.number, client.into());
            state.end(evicted);
        }
    }

    /// Takes one of the places that are for clients with a credential of the server.
    ///
    /// # Errors
    ///
    /// `busy` if there is none for this party.
    pub(crate) fn recognize(&self, party: Party) -> Result<(), Decision> {
        let taken = self.places.lock().table.recognize(self.number, party);
        taken.map_err(|exceeded| {
            let reason = match exceeded {
                Exceeded::Each(limit) => format!("{limit} requests with this subject are open"),
                Exceeded::All(limit) => format!("{limit} requests are open"),
            };
            Decision::new(Code::Busy, reason)
        })
    }
}
