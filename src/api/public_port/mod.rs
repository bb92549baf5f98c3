//! Public port of `browser-shell serve`: the tool, the viewer and its screen, and nothing else.
//!
//! Every connection carries one request, and the literal request line decides on its route
//! ([`Route`]). The Host and Origin headers are checked next, then the credentials.
//!
//! Invariants: a request without a route is 403, whatever its credentials; no response names a file that was not listed when the
//! server started.

mod bridge;
mod cast;
mod responses;
mod screen;
mod viewer;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::auth::{API_KEY_HEADER, Authenticator};
use crate::api::http::filter::RequestFilter;
use crate::api::http::{self, Connections, MAX_BODY, RequestLine, RunningRequests, Shutdown, until_sent};
use crate::api::mcp;
use crate::api::mcp::server::McpServer;
use crate::api::public_port::cast::Visitor;
use crate::api::public_port::responses::{line, no_route};
use crate::api::public_port::viewer::ViewerFile;
use browser_shell_core::auth::{Principal, Right};
use browser_shell_core::rfb::Access;
use browser_shell_core::route::Route;
use browser_shell_core::shares::TrustedProxies;
use browser_shell_system::os::websocket::is_requested;

pub(crate) use screen::Screen;
pub(crate) use viewer::{ViewerError, ViewerFiles};

/// Maximum size of the body of a request for a ticket, in bytes. It names a scope, if anything.
const MAX_TICKET_BODY: usize = 4096;

/// Timeout for running calls, which are canceled when the server stops, to send their replies.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// Headers with a credential.
const CREDENTIAL_HEADERS: [HeaderName; 2] = [AUTHORIZATION, API_KEY_HEADER];

/// Headers that are always the same.
const FIXED_HEADERS: [(HeaderName, &str); 5] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "SAMEORIGIN"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Content policy of everything but the viewer.
const CONTENT_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Services of the public port, and the conditions on requests.
pub(crate) struct PublicPort {
    /// Conditions on the Host and Origin headers.
    pub filter: RequestFilter,
    /// Proxies in front of the server, which name its clients.
    pub proxies: TrustedProxies,
    /// Credentials, and the rights that they give.
    pub authenticator: Arc<Authenticator>,
    /// Viewer and screen, unless the server has none.
    pub screen: Option<(ViewerFiles, Screen)>,
}

#[derive(Clone)]
struct PortState {
    port: Arc<PublicPort>,
    requests: RunningRequests,
}

/// Service behind a request that was let in.
enum RoutedService<'a> {
    Mcp,
    ViewerAddress(&'a str),
    File(&'a ViewerFile),
    Screen(&'a Screen),
    Tickets,
    /// Metadata of the resource, as the response that it is.
    Metadata(Box<Response>),
}

impl RoutedService<'_> {
    /// Returns the right that a request needs; `None` for what everyone may have.
    fn right(&self) -> Option<Right> {
        match self {
            Self::Mcp => Some(Right::CallTool),
            // Not the viewer's: a ticket loads its page only once.
            Self::ViewerAddress(_) | Self::Tickets => Some(Right::IssueTicket),
            Self::File(file) => file.is_page().then_some(Right::OpenViewer),
            Self::Screen(_) => Some(Right::WatchScreen),
            Self::Metadata(_) => None,
        }
    }

    /// Returns the maximum size of a body.
    const fn max_body(&self) -> usize {
        match self {
            Self::Mcp => MAX_BODY,
            Self::Tickets => MAX_TICKET_BODY,
            Self::ViewerAddress(_) | Self::File(_) | Self::Screen(_) | Self::Metadata(_) => 0,
        }
    }
}

/// Serves until `stop` is canceled, which cancels running calls too.
pub(crate) async fn serve(port: Arc<PublicPort>, server: McpServer, listener: TcpListener, stop: CancellationToken) {
    let requests = RunningRequests::default();
    let proxies = port.proxies.clone();
    let shared = PortState { port, requests: requests.clone() };
    let app: Router = mcp::http::routes(server, &stop).layer(from_fn_with_state(shared, respond));
    let shutdown = Shutdown::new(stop, SHUTDOWN_TIMEOUT).with_answer(mcp::http::answer_while_stopping);
    http::serve(listener, app, Connections::OneRequest, proxies, &requests, shutdown).await;
}

/// Responds to a request, with the headers that every response has.
async fn respond(State(shared): State<PortState>, request: Request, next: Next) -> Response {
    let literal = request.extensions().get::<RequestLine>().cloned();
    let route = literal.as_ref().and_then(|line| Route::of_request_line(&line.0));
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
    let mut response = match shared.port.service(route, request.headers()) {
        Ok(service) => shared.call(service, request, next).await,
        Err(refused) => *refused,
    };
    let is_file = matches!(route, Some(Route::ViewerFile(_))) && response.status() == StatusCode::OK;
    add_headers(response.headers_mut(), host.as_deref().filter(|_| is_file));
    response
}

impl PublicPort {
    /// Returns the service of a route, if its request may come to it.
    fn service<'a>(
        &'a self,
        route: Option<Route<'a>>,
        headers: &HeaderMap,
    ) -> Result<RoutedService<'a>, Box<Response>> {
        let viewer = self.screen.as_ref().map(|(files, _)| files);
        let service = match route {
            Some(Route::Mcp) => Some(RoutedService::Mcp),
            Some(Route::ViewerAddress(query)) => viewer.map(|_| RoutedService::ViewerAddress(query)),
            Some(Route::ViewerFile(path)) => viewer.and_then(|files| files.get(path)).map(RoutedService::File),
            Some(Route::Screen) if is_requested(headers) => {
                self.screen.as_ref().map(|(_, screen)| RoutedService::Screen(screen))
            }
            Some(Route::Tickets) => Some(RoutedService::Tickets),
            Some(Route::Metadata) => {
                self.authenticator.metadata(headers).map(|found| RoutedService::Metadata(found.into()))
            }
            _ => None,
        };
        let service = service.ok_or_else(no_route)?;
        self.filter.check(headers).map_err(|refusal| line(StatusCode::FORBIDDEN, refusal.text()))?;
        Ok(service)
    }
}

impl PortState {
    async fn call(&self, service: RoutedService<'_>, request: Request, next: Next) -> Response {
        let (mut parts, body) = request.into_parts();
        let principal = match service.right() {
            Some(right) => match self.port.authenticator.authorize(right, &parts) {
                Ok(principal) => Some(principal),
                Err(refusal) => return refusal.into_response(),
            },
            None => None,
        };
        // The services need it no more, and must not log it.
        for name in CREDENTIAL_HEADERS {
            parts.headers.remove(name);
        }
        if let Some(principal) = principal.clone() {
            parts.extensions.insert(principal);
        }
        let received = self.requests.begin_limited(Request::from_parts(parts, body), service.max_body()).await;
        let (request, running) = match received {
            Ok(received) => received,
            Err(status) => return status.into_response(),
        };
        match service {
            RoutedService::Mcp => until_sent(next.run(request).await, running),
            // Without scheme, host and port, which a proxy in front may change.
            RoutedService::ViewerAddress(query) => {
                (StatusCode::FOUND, [(LOCATION, format!("/vnc/{query}"))]).into_response()
            }
            RoutedService::File(file) => {
                let headers = [(CONTENT_TYPE, file.media_type), (CACHE_CONTROL, "no-cache")];
                (headers, Body::from(file.content.clone())).into_response()
            }
            RoutedService::Screen(screen) => {
                let Some(principal) = principal else { return StatusCode::UNAUTHORIZED.into_response() };
                let (authenticator, access) = (self.port.authenticator.clone(), self.access(&principal));
                let (confirmer, viewer) = (authenticator.clone(), principal.clone());
                let lost = async move { confirmer.until_lost(&viewer, Right::WatchScreen).await };
                screen.connect(request, Visitor { authenticator, principal, access }, lost).await
            }
            RoutedService::Tickets => self.ticket(principal.as_ref(), request).await,
            RoutedService::Metadata(metadata) => *metadata,
        }
    }

    /// Returns the access of a principal that may watch the screen.
    fn access(&self, principal: &Principal) -> Access {
        let has_control = self.port.authenticator.demand(principal, Right::ControlScreen).is_ok();
        if has_control { Access::Control } else { Access::Watch }
    }

    async fn ticket(&self, principal: Option<&Principal>, request: Request) -> Response {
        let Some(principal) = principal else { return StatusCode::UNAUTHORIZED.into_response() };
        let (parts, body) = request.into_parts();
        // It was received before, and is in memory.
        let Ok(body) = to_bytes(body, MAX_TICKET_BODY).await else { return StatusCode::BAD_REQUEST.into_response() };
        match self.port.authenticator.issue_ticket(principal, &parts.headers, &body) {
            Ok(response) => response,
            Err(refusal) => refusal.into_response(),
        }
    }
}

/// Returns the content policy of the viewer on a host that was checked. noVNC uses inline scripts and styles, pictures in data
/// addresses, and one WebSocket.
fn viewer_policy(host: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
         font-src 'self' data:; media-src 'self'; worker-src 'self' blob:; manifest-src 'self'; \
         connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
    )
}

/// Adds the headers of every response, for a file of the viewer with the host of its request.
fn add_headers(headers: &mut HeaderMap, viewer_host: Option<&str>) {
    for (name, value) in FIXED_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = viewer_host.map(viewer_policy).and_then(|policy| HeaderValue::from_str(&policy).ok());
    headers.insert(CONTENT_SECURITY_POLICY, policy.unwrap_or(HeaderValue::from_static(CONTENT_POLICY)));
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
