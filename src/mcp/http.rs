//! Streamable HTTP at `/mcp`, and `/healthz` beside it.
//!
//! Decides which requests are looked at at all: the Host header must be one of ours (against DNS rebinding) and a page's
//! Origin is refused, on every path. There is no authentication here; that is the work of what stands in front.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::server::Server;

/// The largest request body, in bytes.
pub const MAX_BODY: usize = 1024 * 1024;

/// Host names that always mean this machine.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Why the server does not start or stopped.
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
    /// The server failed.
    #[error("the HTTP server stopped: {0}")]
    Serve(std::io::Error),
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
    let app = router(server, allow_hosts, &stop);
    axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await.map_err(HttpError::Serve)
}

fn router(server: Server, allow_hosts: &[String], stop: &CancellationToken) -> Router {
    let hosts: Vec<String> =
        LOOPBACK_NAMES.iter().map(|name| (*name).to_owned()).chain(allow_hosts.iter().cloned()).collect();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts(hosts.clone())
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(stop.child_token());
    let mcp = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config);
    Router::new()
        .route_service("/mcp", mcp)
        .route("/healthz", get(|| async { "ok\n" }))
        // rmcp guards only its own route; this guards all of them.
        .layer(from_fn_with_state(Arc::new(hosts), guard))
}

/// Refuses foreign hosts and every page of a browser.
async fn guard(State(hosts): State<Arc<Vec<String>>>, request: Request, next: Next) -> Response {
    if !host_allowed(request.headers(), &hosts) {
        return (StatusCode::FORBIDDEN, "forbidden: unknown Host\n").into_response();
    }
    if request.headers().contains_key(header::ORIGIN) {
        return (StatusCode::FORBIDDEN, "forbidden: requests of web pages are not served\n").into_response();
    }
    next.run(request).await
}

/// Whether there is exactly one Host header and it names one of `hosts`, with any port.
fn host_allowed(headers: &HeaderMap, hosts: &[String]) -> bool {
    let mut values = headers.get_all(header::HOST).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Ok(value) = value.to_str() else { return false };
    let name = match value.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !port.is_empty() => name,
        _ => value,
    };
    hosts.iter().any(|host| host.eq_ignore_ascii_case(name) || host.eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_without_the_port() {
        let hosts = ["localhost".to_owned(), "[::1]".to_owned(), "box.example:8443".to_owned()];
        let allowed = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, value.parse().expect("a header"));
            host_allowed(&headers, &hosts)
        };
        for value in ["localhost", "LOCALHOST", "localhost:8079", "[::1]", "[::1]:8079", "box.example:8443"] {
            assert!(allowed(value), "{value}");
        }
        for value in [
            "evil.example",
            "localhost.evil.example",
            "localhost:x",
            "localhost:",
            "box.example:80",
            "",
            "localhost@evil.example",
        ] {
            assert!(!allowed(value), "{value}");
        }
        let mut two = HeaderMap::new();
        two.append(header::HOST, "localhost".parse().expect("a header"));
        two.append(header::HOST, "localhost".parse().expect("a header"));
        assert!(!host_allowed(&two, &hosts) && !host_allowed(&HeaderMap::new(), &hosts));
    }
}
