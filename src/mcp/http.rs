//! Streamable HTTP at `/mcp`, and `/healthz` beside it.
//!
//! Decides which requests are looked at at all: the Host header must be one of ours (against DNS rebinding), and a request
//! of a web page must come from the very origin that it goes to, on every path. No page is served here, so none can. There is no authentication here; that is the work of what stands in front.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
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
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(stop.child_token());
    let mcp = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config);
    Router::new()
        .route_service("/mcp", mcp)
        .route("/healthz", get(|| async { "ok\n" }))
        // rmcp guards only its own route; this guards all of them.
        .layer(from_fn_with_state(Arc::new(hosts), guard))
}

/// Refuses foreign hosts, and foreign pages in a browser.
async fn guard(State(hosts): State<Arc<Vec<String>>>, request: Request, next: Next) -> Response {
    let Some(host) = host_of(request.headers(), &hosts) else {
        return (StatusCode::FORBIDDEN, "forbidden: unknown Host\n").into_response();
    };
    if !same_origin(request.headers(), host) {
        return (StatusCode::FORBIDDEN, "forbidden: requests of other origins are not served\n").into_response();
    }
    next.run(request).await
}

/// The value of the one Host header, if it names one of `hosts`, with any port.
fn host_of<'a>(headers: &'a HeaderMap, hosts: &[String]) -> Option<&'a str> {
    let value = single(headers, &header::HOST)?;
    let name = match value.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !port.is_empty() => name,
        _ => value,
    };
    hosts.iter().any(|host| host.eq_ignore_ascii_case(name) || host.eq_ignore_ascii_case(value)).then_some(value)
}

/// Whether there is no Origin header, or one that is this server's own (RFC 6454 section 6).
fn same_origin(headers: &HeaderMap, host: &str) -> bool {
    if !headers.contains_key(header::ORIGIN) {
        return true;
    }
    let authority = single(headers, &header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// The value of a header that stands exactly once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    value.to_str().ok()
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
            host_of(&headers, &hosts).is_some()
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
        assert!(host_of(&two, &hosts).is_none() && host_of(&HeaderMap::new(), &hosts).is_none());
    }

    #[test]
    fn only_the_servers_own_origin_is_served() {
        let served = |origins: &[&str]| {
            let mut headers = HeaderMap::new();
            for origin in origins {
                headers.append(header::ORIGIN, origin.parse().expect("a header"));
            }
            same_origin(&headers, "localhost:8079")
        };
        assert!(served(&[]), "no page asks");
        assert!(served(&["http://localhost:8079"]));
        for origin in
            ["http://localhost", "http://localhost:80", "https://localhost:8079", "http://evil.example", "null", ""]
        {
            assert!(!served(&[origin]), "{origin}");
        }
        assert!(!served(&["http://localhost:8079", "http://evil.example"]));
    }
}
