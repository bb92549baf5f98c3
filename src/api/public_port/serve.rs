//! Requests of the public port.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::http::filter::RequestFilter;
use crate::api::http::serve::{self, Connections, MAX_BODY, RequestLine, RunningRequests};
use crate::api::mcp;
use crate::api::mcp::server::Server;
use crate::api::public_port::headers;
use crate::api::public_port::responses::{line, no_route};
use crate::api::public_port::screen::Screen;
use crate::api::public_port::viewer::{ViewerFile, ViewerFiles};
use crate::api::public_port::websocket;
use browser_shell_core::rfb::Access;
use browser_shell_core::route::Route;

/// Timeout for running calls, which are canceled when the server stops, to send their replies.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// Services of the public port, and the conditions on requests.
#[derive(Debug)]
pub(crate) struct PublicPort {
    /// Conditions on the Host and Origin headers.
    pub filter: RequestFilter,
    /// Viewer and screen, unless the server has none.
    pub screen: Option<(ViewerFiles, Screen)>,
}

#[derive(Clone)]
struct Shared {
    port: Arc<PublicPort>,
    requests: RunningRequests,
}

/// Service behind a request that was let in.
enum Service<'a> {
    Mcp,
    ViewerAddress(&'a str),
    File(&'a ViewerFile),
    Screen(&'a Screen),
}

/// Serves until `stop` is canceled, which cancels running calls too.
pub(crate) async fn serve(port: Arc<PublicPort>, server: Server, listener: TcpListener, stop: CancellationToken) {
    let requests = RunningRequests::default();
    let shared = Shared { port, requests: requests.clone() };
    let app: Router = mcp::http::routes(server, &stop).layer(from_fn_with_state(shared, respond));
    serve::serve(listener, app, Connections::OneRequest, &requests, stop, SHUTDOWN_TIMEOUT).await;
}

/// Responds to a request, with the headers that every response has.
async fn respond(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let literal = request.extensions().get::<RequestLine>().cloned();
    let route = literal.as_ref().and_then(|line| Route::of_request_line(&line.0));
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
    let mut response = match shared.port.service(route, request.headers()) {
        Ok(service) => shared.call(service, request, next).await,
        Err(refused) => *refused,
    };
    let is_file = matches!(route, Some(Route::ViewerFile(_))) && response.status() == StatusCode::OK;
    headers::add(response.headers_mut(), host.as_deref().filter(|_| is_file));
    response
}

impl PublicPort {
    /// Returns the service of a route, if its request may come to it.
    fn service<'a>(&'a self, route: Option<Route<'a>>, headers: &HeaderMap) -> Result<Service<'a>, Box<Response>> {
        let viewer = self.screen.as_ref().map(|(files, _)| files);
        let service = match route {
            Some(Route::Mcp) => Some(Service::Mcp),
            Some(Route::ViewerAddress(query)) => viewer.map(|_| Service::ViewerAddress(query)),
            Some(Route::ViewerFile(path)) => viewer.and_then(|files| files.get(path)).map(Service::File),
            Some(Route::Screen) if websocket::is_requested(headers) => {
                self.screen.as_ref().map(|(_, screen)| Service::Screen(screen))
            }
            _ => None,
        };
        let service = service.ok_or_else(no_route)?;
        self.filter.check(headers).map_err(|refusal| line(StatusCode::FORBIDDEN, refusal.text()))?;
        Ok(service)
    }
}

impl Shared {
    async fn call(&self, service: Service<'_>, request: Request, next: Next) -> Response {
        let limit = if matches!(service, Service::Mcp) { MAX_BODY } else { 0 };
        let (request, _running) = match self.requests.begin_limited(request, limit).await {
            Ok(received) => received,
            Err(status) => return status.into_response(),
        };
        match service {
            Service::Mcp => next.run(request).await,
            // Without scheme, host and port, which a proxy in front may change. The query has the ticket.
            Service::ViewerAddress(query) => (StatusCode::FOUND, [(LOCATION, format!("/vnc/{query}"))]).into_response(),
            Service::File(file) => {
                let headers = [(CONTENT_TYPE, file.media_type), (CACHE_CONTROL, "no-cache")];
                (headers, Body::from(file.content.clone())).into_response()
            }
            Service::Screen(screen) => screen.connect(request, Access::Control).await,
        }
    }
}
