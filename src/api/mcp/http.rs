//! Streamable HTTP server with the routes `/mcp`, `/healthz` and `/livez`, and the metadata of its authorization.
//!
//! The request filter applies to all routes, and credentials to `/mcp`. Without credentials, an address that other machines can
//! reach needs a proxy in front, whose host name you allow.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::auth::{Authenticator, METADATA_PATH, require};
use crate::api::http::filter::RequestFilter;
use crate::api::http::serve::{self, Connections, MAX_BODY, RunningRequests};
use crate::api::mcp::accept::complete_accept;
use crate::api::mcp::running::Stopping;
use crate::api::mcp::server::McpServer;
use crate::api::mcp::sessions::{ProtocolSessions, follow_session};
use browser_shell_core::auth::Right;
use browser_shell_core::shares::TrustedProxies;

/// Timeout for running calls, which are canceled when the server stops, to send their replies.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// Error of starting the server.
#[derive(Debug, Error)]
pub(crate) enum HttpError {
    /// The address is reachable from other machines, and no host name was allowed for it.
    #[error(
        "`{0}` can be reached from other machines, and this server has no credentials; listen on 127.0.0.1, give --api-keys or --jwt-keys, or put an authenticating proxy in front and give its host name with --allow-host"
    )]
    NotLoopback(SocketAddr),
    /// Listening on the address failed.
    #[error("cannot listen on `{address}`: {error}; choose another address with --http")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: std::io::Error,
    },
}

/// Serves until `stop` is canceled, which cancels running calls too.
///
/// # Errors
///
/// See [`HttpError`].
pub(crate) async fn serve(
    server: McpServer,
    authenticator: Arc<Authenticator>,
    address: SocketAddr,
    allow_hosts: &[String],
    proxies: TrustedProxies,
    stop: CancellationToken,
) -> Result<(), HttpError> {
    if !address.ip().is_loopback() && allow_hosts.is_empty() && !authenticator.has_credentials() {
        return Err(HttpError::NotLoopback(address));
    }
    let listener = TcpListener::bind(address).await.map_err(|error| HttpError::Listen { address, error })?;
    tracing::info!(%address, "listening");
    let filter = Arc::new(RequestFilter::new(allow_hosts.iter().cloned()).with_addresses().with_tls_proxy());
    let requests = RunningRequests::default();
    let app = Router::new()
        .merge(
            routes(server.clone(), &stop)
                .layer(from_fn_with_state((Arc::clone(&authenticator), Right::CallTool), require)),
        )
        .route(METADATA_PATH, get(metadata).with_state(authenticator))
        .route("/healthz", get(async move || health(&server)))
        .route("/livez", get(|| async { "ok\n" }))
        .layer(from_fn_with_state((filter, requests.clone()), admit));
    serve::serve(listener, app, Connections::KeptAlive, proxies, &requests, stop, SHUTDOWN_TIMEOUT).await;
    Ok(())
}

/// Returns the route `/mcp`. For rmcp each request is independent: sessions of the protocol matter to the cancellation of calls only. The
/// caller's request filter checks the host, so rmcp does not check it again. From `stop` on, calls are canceled, and still get their
/// results: rmcp itself would drop them.
pub(crate) fn routes<S, T>(server: S, stop: &CancellationToken) -> Router<T>
where
    S: ServerHandler + Clone,
    T: Clone + Send + Sync + 'static,
{
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(CancellationToken::new())
        .disable_allowed_hosts();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    Router::new()
        .route_service("/mcp", service)
        .layer(from_fn(complete_accept))
        .layer(from_fn_with_state(ProtocolSessions::new(), follow_session))
        .layer(Extension(Stopping(stop.clone())))
}

/// Answers whether the server is healthy.
fn health(server: &McpServer) -> Response {
    match server.trouble() {
        None => "ok\n".into_response(),
        Some(trouble) => (StatusCode::SERVICE_UNAVAILABLE, format!("{trouble}\n")).into_response(),
    }
}

/// Returns the metadata by which clients find the authorization server.
async fn metadata(State(authenticator): State<Arc<Authenticator>>, headers: HeaderMap) -> Response {
    authenticator.metadata(&headers).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
}

/// Refuses requests for other hosts, from pages of other origins, and without a complete body.
async fn admit(
    State((filter, requests)): State<(Arc<RequestFilter>, RunningRequests)>,
    request: Request,
    next: Next,
) -> Response {
    if let Err(refusal) = filter.check(request.headers()) {
        return (StatusCode::FORBIDDEN, format!("{}\n", refusal.text())).into_response();
    }
    match requests.begin(request).await {
        Ok((request, _running)) => next.run(request).await,
        Err(status) => status.into_response(),
    }
}
