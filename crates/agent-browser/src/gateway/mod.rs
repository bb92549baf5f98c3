//! Gateway between agent-browser and the tabs of its session.
//!
//! Each browser context has an endpoint of its own: the HTTP and WebSocket server that the agent-browser of its sessions connects
//! to, which shows its tabs to its sessions and nothing else. With the isolation `session` a context has one session, else all
//! share the default context. What a client sends is checked against the table of methods in the core. See
//! `docs/design/control-gate.md`.
//!
//! On a port of the operator's choice, other programs see that Chromium answers, and nothing else of it: the base of the image
//! looks for Chromium there.
//!
//! Invariants: agent-browser never reaches Chromium's debugging interface; a WebSocket belongs to the session whose process opened
//! it; a request that a page could have caused is refused.

mod client;
mod peer;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

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
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_util::sync::CancellationToken;

use crate::gateway::client::ClientConnection;
use crate::gateway::peer::ConnectedProcess;
use browser_shell_browser::gate::scope::{ClientScope, EndpointAddress, TabObserver};
use browser_shell_browser::gate::{ControlGate, GateError, GateSession};
use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::gate::MAX_MESSAGE;
use browser_shell_core::policy::{Isolation, Policy};
use browser_shell_core::session_id::SessionId;
use browser_shell_system::os;
use browser_shell_system::os::connections::accept;
use browser_shell_system::os::processes::holder_of_socket;
use browser_shell_system::os::websocket;

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

/// Interval between attempts to listen on the operator's port.
const PORT_INTERVAL: Duration = Duration::from_millis(100);

/// Endpoints of a process: one for each browser context that agent-browser uses.
#[derive(Debug)]
pub struct Endpoints {
    gate: Arc<ControlGate>,
    /// Kind of the installed agent-browser.
    kind: AgentBrowser,
    /// Port of the endpoint of the context that sessions share, and of Chromium's version for other programs; any without it.
    port: Option<u16>,
    /// Endpoint of the context that sessions share.
    shared: tokio::sync::Mutex<Weak<Endpoint>>,
}

/// Listens on loopback, on the preferred port if it is free.
async fn listen(preferred: Option<u16>) -> Result<TcpListener, GateError> {
    let bind = |port| TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let preferred = match preferred {
        Some(port) => bind(port).await.ok(),
        None => None,
    };
    Ok(match preferred {
        Some(listener) => listener,
        None => bind(0).await?,
    })
}

impl Endpoints {
    /// Creates an empty table.
    #[must_use]
    pub fn new(gate: Arc<ControlGate>, kind: AgentBrowser, port: Option<u16>) -> Self {
        Self { gate, kind, port, shared: tokio::sync::Mutex::default() }
    }

    /// Returns the gate.
    #[must_use]
    pub const fn gate(&self) -> &Arc<ControlGate> {
        &self.gate
    }

    /// Opens the part of a session with the endpoint of its context, on the preferred port if it is free. The session's processes are
    /// known by the folder of their sockets.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no port until the deadline, no randomness, or no address of the egress guard.
    pub async fn open(
        &self,
        id: &SessionId,
        policy: &Policy,
        sockets: &Path,
        preferred: Option<u16>,
        deadline: Instant,
    ) -> Result<Arc<GateSession>, GateError> {
        let (endpoint, address) = match self.gate.isolation(policy) {
            Isolation::Session => Endpoint::open(listen(preferred).await?, self.kind, &self.gate, false)?,
            Isolation::Shared => {
                let opened = tokio::time::timeout_at(deadline.into(), self.shared(preferred)).await;
                opened.unwrap_or_else(|_| Err(GateError::PortInUse(self.port.unwrap_or_default())))?
            }
        };
        let session = self.gate.open(id, policy, Some(address))?;
        endpoint.add(&session, sockets);
        Ok(session)
    }

    /// Returns the endpoint of the context that sessions share, and opens it if there is none, as soon as its port is free: a browser can
    /// start the next server before the last one has ended.
    async fn shared(&self, preferred: Option<u16>) -> Result<(Arc<Endpoint>, Arc<EndpointAddress>), GateError> {
        let mut is_logged = false;
        loop {
            let mut shared = self.shared.lock().await;
            if let Some(endpoint) = shared.upgrade()
                && let Some(address) = endpoint.address.upgrade()
            {
                return Ok((endpoint, address));
            }
            let listener = match self.port {
                Some(port) => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await,
                None => Ok(listen(preferred).await?),
            };
            match listener {
                Ok(listener) => {
                    let opened = Endpoint::open(listener, self.kind, &self.gate, self.port.is_some())?;
                    *shared = Arc::downgrade(&opened.0);
                    return Ok(opened);
                }
                Err(error) if !is_logged => {
                    tracing::warn!(port = self.port, %error, "the port of the gate is not free yet");
                    is_logged = true;
                }
                Err(_) => {}
            }
            drop(shared);
            tokio::time::sleep(PORT_INTERVAL).await;
        }
    }

    /// Answers programs at the operator's port, also while no session uses it, until `stop` is canceled.
    pub async fn serve_port(self: Arc<Self>, stop: CancellationToken) {
        tokio::select! {
            opened = self.shared(None) => match opened {
                Ok(_kept) => stop.cancelled().await,
                Err(error) => tracing::error!(%error, "the port of the gate cannot be served"),
            },
            () = stop.cancelled() => {}
        }
    }
}

/// Endpoint of a browser context.
#[derive(Debug)]
struct Endpoint {
    /// Address, which its sessions keep.
    address: Weak<EndpointAddress>,
    kind: AgentBrowser,
    /// Secret part of the WebSocket's URL.
    token: String,
    gate: Weak<ControlGate>,
    /// True if programs that are no session's get Chromium's version.
    is_public: bool,
    members: Mutex<Vec<EndpointMember>>,
}

/// Session that uses an endpoint.
#[derive(Clone, Debug)]
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
    fn open(
        listener: TcpListener,
        kind: AgentBrowser,
        gate: &Arc<ControlGate>,
        is_public: bool,
    ) -> Result<(Arc<Self>, Arc<EndpointAddress>), GateError> {
        let stop = CancellationToken::new();
        let address = Arc::new(EndpointAddress { port: listener.local_addr()?.port(), stop: stop.clone() });
        let token = format!("{:032x}", u128::from_be_bytes(os::random_bytes()?));
        let members = Mutex::default();
        let endpoint = Arc::new(Self {
            address: Arc::downgrade(&address),
            kind,
            token,
            gate: Arc::downgrade(gate),
            is_public,
            members,
        });
        tokio::spawn(endpoint.clone().serve(listener, stop));
        Ok((endpoint, address))
    }

    fn members(&self) -> MutexGuard<'_, Vec<EndpointMember>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the processes of a session in, which are found by the folder of its sockets.
    fn add(&self, session: &Arc<GateSession>, sockets: &Path) {
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
            _ = futures::future::join(requests, serve_socket(&session, self.kind, queue)) => {}
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
            let accepted = match websocket::accept(request.headers()) {
                Ok(accepted) if websocket::is_requested(request.headers()) => accepted,
                _ => return text(StatusCode::BAD_REQUEST, "not a WebSocket request"),
            };
            let _ = upgrades.try_send(hyper::upgrade::on(&mut request));
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            response.headers_mut().extend(accepted);
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
async fn serve_socket(
    session: &Arc<GateSession>,
    kind: AgentBrowser,
    mut queue: mpsc::Receiver<hyper::upgrade::OnUpgrade>,
) {
    let Some(upgrade) = queue.recv().await else { return };
    let Ok(stream) = upgrade.await else { return };
    let limits = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
        .read_buffer_size(READ_BYTES);
    let socket = WebSocketStream::from_raw_socket(TokioIo::new(stream), Role::Server, Some(limits)).await;
    if let Some(browser) = session.browser() {
        let scope: Arc<dyn ClientScope> = session.clone();
        let (client, messages) = ClientConnection::new(Arc::downgrade(&scope), kind, browser);
        let observer: Arc<dyn TabObserver> = client.clone();
        session.add_observer(&observer);
        client.serve(socket, messages).await;
    }
}

/// Answers a program that is no session's with the version of Chromium, and an empty list of targets.
async fn answer_program(gate: &Weak<ControlGate>, path: &str) -> Response<Full<Bytes>> {
    match path {
        VERSION_PATH => {
            let version = async { gate.upgrade()?.version().await };
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
