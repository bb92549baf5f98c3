//! Streamable HTTP at `/mcp`, and `/healthz` beside it.
//!
//! Decides what is served at which path. Which requests are looked at at all is `web/guard.rs`'s business, on every path.
//! There is no authentication here; that is the work of what stands in front.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::server::Server;
use crate::web::guard::Guard;
use crate::web::serve::{self, MAX_BODY, Requests};

/// How long running calls, which are cancelled when the server ends, have to say so.
const GRACE: Duration = Duration::from_secs(30);

/// Why the server does not start.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The address can be reached from other machines and no host name was allowed for it.
    #[error(
        "`{0}` can be reached from other machines and this server has no authentication; listen on 127.0.0.1, or name the host of the proxy in front with --allow-host"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`: {source}; choose another address with --http")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Serves until `stop` is cancelled; running calls are cancelled with it.
///
/// # Errors
///
/// See [`HttpError`].
pub async fn serve(
    server: Server,
    address: SocketAddr,
    allow_hosts: &[String],
    stop: CancellationToken,
) -> Result<(), HttpError> {
    if !address.ip().is_loopback() && allow_hosts.is_empty() {
        return Err(HttpError::NotLoopback(address));
    }
    let listener = TcpListener::bind(address).await.map_err(|source| HttpError::Listen { address, source })?;
    tracing::info!(%address, "listening");
    let guard = Arc::new(Guard::new(allow_hosts.iter().cloned()));
    let requests = Requests::default();
    let app = Router::new()
        .route_service("/mcp", service(server, Some(guard.hosts().to_vec()), &stop))
        .route("/healthz", get(|| async { "ok\n" }))
        // rmcp guards only its own route; this guards all of them.
        .layer(from_fn_with_state((guard, requests.clone()), look));
    serve::serve(listener, app, &requests, stop, GRACE).await;
    Ok(())
}

/// The protocol over HTTP, without sessions of its own: each request is whole. `hosts` are looked at once more here; without
/// them it is the guard in front alone that looks.
pub fn service<S: ServerHandler + Clone>(
    server: S,
    hosts: Option<Vec<String>>,
    stop: &CancellationToken,
) -> StreamableHttpService<S, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(stop.child_token());
    let config = match hosts {
        Some(hosts) => config.with_allowed_hosts(hosts),
        None => config.disable_allowed_hosts(),
    };
    StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config)
}

/// Refuses foreign hosts, foreign pages in a browser, and bodies that do not come.
async fn look(State((guard, requests)): State<(Arc<Guard>, Requests)>, request: Request, next: Next) -> Response {
    if let Err(refusal) = guard.check(request.headers()) {
        return (StatusCode::FORBIDDEN, format!("{}\n", refusal.text())).into_response();
    }
    match requests.begin(request).await {
        Ok((request, _running)) => next.run(request).await,
        Err(status) => status.into_response(),
    }
}
