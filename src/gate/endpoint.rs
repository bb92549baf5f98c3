//! Endpoint of a browser context: the HTTP and WebSocket server that the agent-browser of its sessions connects to.
//!
//! With the isolation `session` it has one session, else all that share the default context. On a port of the operator's choice,
//! other programs see that Chromium answers, and nothing else of it: the base of the image looks for Chromium there.
//!
//! Invariants: a WebSocket belongs to the session whose process opened it; a request that a page could have caused is refused.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::gate::MAX_MESSAGE;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_util::sync::CancellationToken;

use crate::browser::cdp::protocol::browser::GetVersion;
use crate::gate::client::ClientConnection;
use crate::gate::endpoint_address::EndpointAddress;
use crate::gate::error::GateError;
use crate::gate::peer::ConnectedProcess;
use crate::gate::scope::{ClientScope, GateServices};
use crate::gate::session::GateSession;
use crate::os::accept::accept;
use crate::os::processes::holder_of_socket;
use crate::os::random;

/// Timeout for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for a whole request of a program that is no session's.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of simultaneous connections of a session.
const MAX_CONNECTIONS: usize = 8;

/// Maximum number of simultaneous connections of programs that are no session's.
const MAX_PROGRAMS: usize = 16;

/// Maximum number of connections whose process is being looked for.
const MAX_LOOKUPS: usize = 32;

/// Size of a read, in bytes. The library fills a buffer of this size with zeros before each, and most commands are short.
const READ_BYTES: usize = 8 * 1024;

/// Path of Chromium's version and of the address of the WebSocket.
const VERSION_PATH: &str = "/json/version";

/// Start of the path of the WebSocket; the endpoint's secret follows.
const SOCKET_PATH: &str = "/devtools/browser/";

/// Endpoint of a browser context.
pub(super) struct Endpoint {
    /// Address, which its sessions keep.
    pub address: Weak<EndpointAddress>,
    /// Secret part of the WebSocket's URL.
    token: String,
    gate: Weak<dyn GateServices>,
    /// True if programs that are no session's get Chromium's version.
    is_public: bool,
    members: Mutex<Vec<EndpointMember>>,
}

/// Session that uses an endpoint.
#[derive(Clone)]
struct EndpointMember {
    session: Weak<GateSession>,
    /// Folder of its sockets, by which its processes are found.
    sockets: PathBuf,
    slots: Arc<Semaphore>,
}

impl Endpoint {
    /// Serves an endpoint until nobody has its address any more.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no port or no randomness.
    pub(super) fn open(
        listener: TcpListener,
        kind: AgentBrowser,
        gate: Weak<dyn GateServices>,
        is_public: bool,
    ) -> Result<(Arc<Self>, Arc<EndpointAddress>), GateError> {
        let stop = CancellationToken::new();
        let address = Arc::new(EndpointAddress { port: listener.local_addr()?.port(), kind, stop: stop.clone() });
        let token = format!("{:032x}", u128::from_be_bytes(random::bytes()?));
        let members = Mutex::default();
        let endpoint = Arc::new(Self { address: Arc::downgrade(&address), token, gate, is_public, members });
        tokio::spawn(endpoint.clone().serve(listener, stop));
        Ok((endpoint, address))
    }

    fn members(&self) -> MutexGuard<'_, Vec<EndpointMember>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the processes of a session in, which are found by the folder of its sockets.
    pub(super) fn add(&self, session: &Arc<GateSession>, sockets: &Path) {
        let mut members = self.members();
        members.retain(|member| member.session.strong_count() > 0);
        let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        members.push(EndpointMember { session: Arc::downgrade(session), sockets: sockets.to_owned(), slots });
    }

    /// Returns the session whose process has a socket.
    async fn find(&self, socket: u64) -> Option<EndpointMember> {
        let members = self.members().clone();
        let find = move || {
            let folders: Vec<_> = members.iter().map(|member| member.sockets.clone()).collect();
            members.into_iter().nth(holder_of_socket(socket, &folders)?)
        };
        tokio::task::spawn_blocking(find).await.ok().flatten()
    }

    async fn serve(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        let [lookups, programs] = [MAX_LOOKUPS, MAX_PROGRAMS].map(|count| Arc::new(Semaphore::new(count)));
        loop {
            let (stream, remote) = tokio::select! {
                accepted = accept(&listener) => accepted,
                () = stop.cancelled() => return,
            };
            let Ok(local) = stream.local_addr() else { continue };
            let peer = ConnectedProcess::find(local, remote).filter(|peer| peer.is_own_user());
            // Other users take no room of those that may be a session's.
            let slots = if peer.is_some() { &lookups } else { &programs };
            let Ok(slot) = slots.clone().try_acquire_owned() else { continue };
            let (endpoint, programs, stop) = (self.clone(), programs.clone(), stop.clone());
            tokio::spawn(async move {
                let serving = async {
                    let Some(peer) = peer else { return endpoint.serve_program(stream).await };
                    let member = endpoint.find(peer.socket).await;
                    drop(slot);
                    match member {
                        Some(member) => endpoint.serve_session(member, stream).await,
                        None => {
                            if let Ok(_slot) = programs.try_acquire() {
                                endpoint.serve_program(stream).await;
                            }
                        }
                    }
                };
                tokio::select! {
                    () = serving => {}
                    () = stop.cancelled() => {}
                }
            });
        }
    }

    /// Serves a connection of a program that is no session's.
    async fn serve_program(&self, stream: TcpStream) {
        if !self.is_public {
            tracing::warn!("a program that is not one of the session's connected to its endpoint, and was refused");
            return;
        }
        let _ = tokio::time::timeout(PROGRAM_TIMEOUT, self.serve_requests(None, stream)).await;
    }

    /// Serves a connection of a session's process.
    async fn serve_session(&self, member: EndpointMember, stream: TcpStream) {
        let Some(session) = member.session.upgrade() else { return };
        let Ok(_slot) = member.slots.try_acquire() else { return };
        if session.browser().is_none() {
            // As Chromium does when it does not run, so that agent-browser says that it cannot connect.
            return;
        }
        let _ = stream.set_nodelay(true);
        let (upgrades, queue) = mpsc::channel(1);
        let requests = self.serve_requests(Some((session.clone(), upgrades)), stream);
        tokio::select! {
            _ = futures::future::join(requests, serve_socket(&session, queue)) => {}
            () = session.stop.cancelled() => {}
        }
    }

    /// Serves the requests of a connection: of a session's process, with the sender of its upgrades, or of another program.
    async fn serve_requests(&self, session: Option<(Arc<GateSession>, Upgrades)>, stream: TcpStream) {
        let session = &session;
        let service =
            service_fn(async move |request| Ok::<_, Infallible>(self.answer(session.as_ref(), request).await));
        let mut server = hyper::server::conn::http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(16 * 1024);
        let _ =
            server.keep_alive(session.is_some()).serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    }

    /// Answers a request, or accepts the WebSocket that it asks for.
    async fn answer(
        &self,
        session: Option<&(Arc<GateSession>, Upgrades)>,
        mut request: Request<Incoming>,
    ) -> Response<Full<Bytes>> {
        let Some(authority) = authority_of_program(request.headers()).map(str::to_owned) else {
            return text(StatusCode::FORBIDDEN, "pages have no access");
        };
        if request.method() != Method::GET {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is allowed");
        }
        let path = request.uri().path().trim_end_matches('/').to_owned();
        let Some((session, upgrades)) = session else { return answer_program(&self.gate, &path).await };
        let Some(browser) = session.browser() else {
            return text(StatusCode::SERVICE_UNAVAILABLE, "Chromium is not connected");
        };
        if let Some(token) = path.strip_prefix(SOCKET_PATH) {
            if !bool::from(token.as_bytes().ct_eq(self.token.as_bytes())) {
                return text(StatusCode::NOT_FOUND, "not found");
            }
            let Some(key) = socket_key(request.headers()) else {
                return text(StatusCode::BAD_REQUEST, "not a WebSocket request");
            };
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
        match path.as_str() {
            // agent-browser waits for this for 2 s only, and for the answers to its commands longer.
            VERSION_PATH => {
                let Ok(version) = browser.version().await else {
                    return text(StatusCode::SERVICE_UNAVAILABLE, "Chromium does not answer");
                };
                reply(&json!({
                    "Browser": version.product,
                    "Protocol-Version": version.protocol_version,
                    "User-Agent": version.user_agent,
                    "V8-Version": version.js_version,
                    "webSocketDebuggerUrl": format!("ws://{authority}{SOCKET_PATH}{}", self.token),
                }))
            }
            "/json" | "/json/list" => {
                let pages = session.current().map(|(_, pages)| pages).unwrap_or_default();
                let targets = pages.iter().map(|page| {
                    let info = page.to_target_info();
                    json!({ "id": info.target_id, "type": info.kind, "title": info.title, "url": info.url })
                });
                reply(&targets.collect())
            }
            _ => text(StatusCode::NOT_FOUND, "not found"),
        }
    }
}

/// Upgrades of connections that requests ask for.
type Upgrades = mpsc::Sender<hyper::upgrade::OnUpgrade>;

/// Serves the WebSocket of a session, once a request has asked for it.
async fn serve_socket(session: &Arc<GateSession>, mut queue: mpsc::Receiver<hyper::upgrade::OnUpgrade>) {
    let Some(upgrade) = queue.recv().await else { return };
    let Ok(stream) = upgrade.await else { return };
    let limits = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
        .read_buffer_size(READ_BYTES);
    let socket = WebSocketStream::from_raw_socket(TokioIo::new(stream), Role::Server, Some(limits)).await;
    if let Some(browser) = session.browser() {
        let scope: Arc<dyn ClientScope> = session.clone();
        let (client, messages) = ClientConnection::new(Arc::downgrade(&scope), browser);
        session.add_client(&client);
        client.serve(socket, messages).await;
    }
}

/// Answers a program that is no session's with the version of Chromium, and an empty list of targets.
async fn answer_program(gate: &Weak<dyn GateServices>, path: &str) -> Response<Full<Bytes>> {
    match path {
        VERSION_PATH => {
            let version = async { gate.upgrade()?.browser().await.ok()?.root(&GetVersion {}).await.ok() };
            let Some(version) = version.await else {
                return text(StatusCode::SERVICE_UNAVAILABLE, "Chromium does not answer");
            };
            reply(&json!({ "Browser": version.product, "Protocol-Version": version.protocol_version }))
        }
        "/json" | "/json/list" => reply(&Value::Array(Vec::new())),
        _ => text(StatusCode::FORBIDDEN, "the control gate serves sessions only"),
    }
}

/// Returns the address that a program used, if it is one of loopback. In a sandbox with a network of its own, the port is another
/// one than the endpoint's. Returns `None` for a page, whose requests name its origin, or the name by which it reached this
/// address.
fn authority_of_program(headers: &HeaderMap) -> Option<&str> {
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

fn reply(value: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(value.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=UTF-8"));
    response
}

fn text(status: StatusCode, message: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(message));
    *response.status_mut() = status;
    response
}
