//! Endpoint of a session: the HTTP and WebSocket server that its agent-browser connects to.
//!
//! Invariants: only a process of this user is served; a request that a page could have caused is refused.

use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_util::sync::CancellationToken;

use browser_shell_core::gate::MAX_MESSAGE;

use crate::gate::client::ClientConnection;
use crate::gate::peer::is_own_user;
use crate::gate::scope::ClientScope;
use crate::gate::session::GateSession;
use crate::os::accept::accept;

/// Timeout for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of simultaneous connections of a session.
const MAX_CONNECTIONS: usize = 8;

/// Size of a read, in bytes. The library fills a buffer of this size with zeros before each, and most commands are short.
const READ_BYTES: usize = 8 * 1024;

/// Path of Chromium's version and of the address of the WebSocket.
const VERSION_PATH: &str = "/json/version";

/// Start of the path of the WebSocket; the session's secret follows.
const SOCKET_PATH: &str = "/devtools/browser/";

/// Serves the endpoint of a session until the session ends.
///
/// The session is not kept alive: one that could not be opened ends, and this with it.
pub(super) async fn serve(session: Weak<GateSession>, stop: CancellationToken, listener: TcpListener) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let (stream, peer) = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = stop.cancelled() => return,
        };
        let Ok(slot) = slots.clone().try_acquire_owned() else { continue };
        let Some(session) = session.upgrade() else { return };
        let Ok(address) = listener.local_addr() else { return };
        if !is_own_user(address, peer) {
            tracing::warn!(session = %session.session_id(), "another user connected to the endpoint of a session, and was refused");
            continue;
        }
        if session.hub().is_none() {
            // As Chromium does when it does not run, so that agent-browser says that it cannot connect.
            continue;
        }
        let stop = stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = serve_connection(session, stream) => {}
                () = stop.cancelled() => {}
            }
            drop(slot);
        });
    }
}

async fn serve_connection(session: Arc<GateSession>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let (upgrades, mut queue) = tokio::sync::mpsc::channel(1);
    let service = {
        let session = session.clone();
        service_fn(move |request: Request<Incoming>| {
            let (session, upgrades) = (session.clone(), upgrades.clone());
            async move { Ok::<_, Infallible>(answer(&session, request, &upgrades).await) }
        })
    };
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(16 * 1024);
    let connection = server.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let serve_socket = async {
        let Some(upgrade) = queue.recv().await else { return };
        let upgrade: hyper::upgrade::OnUpgrade = upgrade;
        let Ok(stream) = upgrade.await else { return };
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE))
            .read_buffer_size(READ_BYTES);
        let socket = WebSocketStream::from_raw_socket(TokioIo::new(stream), Role::Server, Some(limits)).await;
        if let Some(hub) = session.hub() {
            let scope: Arc<dyn ClientScope> = session.clone();
            let (client, messages) = ClientConnection::new(Arc::downgrade(&scope), hub);
            session.add_client(&client);
            client.serve(socket, messages).await;
        }
    };
    let _ = tokio::join!(connection, serve_socket);
}

/// Answers a request, or accepts the WebSocket that it asks for.
async fn answer(
    session: &Arc<GateSession>,
    mut request: Request<Incoming>,
    upgrades: &tokio::sync::mpsc::Sender<hyper::upgrade::OnUpgrade>,
) -> Response<Full<Bytes>> {
    let Some(authority) = authority_of_program(request.headers()).map(str::to_owned) else {
        return text(StatusCode::FORBIDDEN, "this endpoint is for one session's agent-browser");
    };
    if request.method() != Method::GET {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is allowed");
    }
    let path = request.uri().path().trim_end_matches('/').to_owned();
    if let Some(token) = path.strip_prefix(SOCKET_PATH) {
        let known = session.token().unwrap_or_default();
        if known.is_empty() || !bool::from(token.as_bytes().ct_eq(known.as_bytes())) {
            return text(StatusCode::NOT_FOUND, "not found");
        }
        let Some(key) = socket_key(request.headers()) else {
            return text(StatusCode::BAD_REQUEST, "not a WebSocket request");
        };
        if session.hub().is_none() {
            return text(StatusCode::SERVICE_UNAVAILABLE, "Chromium is not connected");
        }
        let accept = derive_accept_key(key.as_bytes());
        let _ = upgrades.try_send(hyper::upgrade::on(&mut request));
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        if let Ok(accept) = HeaderValue::from_str(&accept) {
            headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        }
        return response;
    }
    let Some(hub) = session.hub() else {
        return text(StatusCode::SERVICE_UNAVAILABLE, "Chromium is not connected");
    };
    match path.as_str() {
        // agent-browser waits for this for 2 s only, and for the answers to its commands longer.
        VERSION_PATH => {
            let Ok(version) = hub.version().await else {
                return text(StatusCode::SERVICE_UNAVAILABLE, "Chromium does not answer");
            };
            let member = |name| version.get(name).cloned().unwrap_or_default();
            reply(&json!({
                "Browser": member("product"),
                "Protocol-Version": member("protocolVersion"),
                "User-Agent": member("userAgent"),
                "V8-Version": member("jsVersion"),
                "webSocketDebuggerUrl": format!("ws://{authority}{SOCKET_PATH}{}", session.token().unwrap_or_default()),
            }))
        }
        "/json" | "/json/list" => {
            let pages = session.current().map(|(_, pages)| pages).unwrap_or_default();
            let targets = pages.iter().map(|page| {
                let info = page.to_target_info();
                let member = |name| info.get(name).cloned().unwrap_or_default();
                json!({ "id": page.target, "type": "page", "title": member("title"), "url": member("url") })
            });
            reply(&targets.collect())
        }
        _ => text(StatusCode::NOT_FOUND, "not found"),
    }
}

/// Returns the address that a program used, if it is one of loopback. In a sandbox with a network of its own, the port is another
/// one than the endpoint's. Returns `None` for a page, whose requests name its origin, or the name by which it reached this
/// address.
pub(super) fn authority_of_program(headers: &HeaderMap) -> Option<&str> {
    let is_from_page = headers.contains_key(header::ORIGIN)
        || headers.contains_key("sec-fetch-site")
        || headers.contains_key(header::REFERER);
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let (name, port) = host.split_once(':')?;
    let is_loopback = matches!(name, "127.0.0.1" | "localhost");
    Some(host).filter(|_| !is_from_page && is_loopback && port.parse::<u16>().is_ok())
}

/// Returns the key of a WebSocket handshake (RFC 6455 section 4.2.1).
fn socket_key(headers: &HeaderMap) -> Option<HeaderValue> {
    let has = |name, word: &str| {
        let value = headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        value.is_some_and(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
    };
    let is_handshake = has(header::UPGRADE, "websocket")
        && has(header::CONNECTION, "upgrade")
        && has(header::SEC_WEBSOCKET_VERSION, "13");
    headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_handshake).cloned()
}

pub(super) fn reply(value: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(value.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=UTF-8"));
    response
}

pub(super) fn text(status: StatusCode, message: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(message));
    *response.status_mut() = status;
    response
}
