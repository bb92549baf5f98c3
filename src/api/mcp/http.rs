//! Streamable HTTP server with the routes `/mcp`, `/healthz` and `/livez`, and the metadata of its authorization.
//!
//! The request filter applies to all routes, and credentials to `/mcp`. Without credentials, an address that other machines can
//! reach needs a proxy in front, whose host name you allow. With them, the host of the public URL is allowed too.
//!
//! rmcp answers 406 unless a client lists both media types of the protocol. This server answers with JSON, except calls whose progress
//! is reported, so a client that accepts JSON in any form can read the answer: `application/json`, `application/*`, `*/*`, or an absent or
//! empty `Accept` (RFC 9110 section 12.5.1). For such a client, the header is completed before rmcp reads it. A GET that does not ask for
//! the protocol's event stream, such as that of a person's browser, is answered with JSON too.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use rmcp::ServerHandler;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::auth::{Authenticator, CredentialHealth, METADATA_PATH, require};
use crate::api::http::filter::RequestFilter;
use crate::api::http::{
    self, Connections, MAX_BODY, RunningRequests, STOPPING, Shutdown, text_while_stopping, until_sent,
};
use crate::api::mcp::messages;
use crate::api::mcp::running::{JsonOnly, Stopping};
use crate::api::mcp::server::McpServer;
use crate::api::mcp::sessions::{ProtocolSessions, follow_session};
use browser_shell_core::auth::Right;
use browser_shell_core::shares::TrustedProxies;
use browser_shell_system::os::describe;

/// Timeout for running calls, which are canceled when the server stops, to send their replies.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// Media types that rmcp requires.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Media type of the stream that a client of the protocol requests with GET.
const EVENTS: &str = "text/event-stream";

/// JSON-RPC error code for errors that a server defines.
const SERVER_ERROR: ErrorCode = ErrorCode(-32000);

/// Media ranges that include JSON, the most specific first.
const RANGES: [&str; 3] = ["application/json", "application/*", "*/*"];

/// Error of starting the server.
#[derive(Debug, Error)]
pub(crate) enum HttpError {
    /// The address is reachable from other machines, and no host name was allowed for it.
    #[error(
        "`{0}` can be reached from other machines, and this server has no credentials; listen on 127.0.0.1, give --api-keys or --jwt-keys, or put an authenticating proxy in front and give its host name with --allow-host"
    )]
    NotLoopback(SocketAddr),
    /// Listening on the address failed.
    #[error("cannot listen on `{address}`: {}; choose another address with --http", describe(error))]
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
    // A proxy passes on the name that clients use, which the public URL has.
    let hosts = allow_hosts.iter().cloned().chain(authenticator.public_host());
    let filter = Arc::new(RequestFilter::new(hosts).with_addresses().with_tls_proxy());
    let requests = RunningRequests::default();
    let app = Router::new()
        .merge(
            routes(server.clone(), &stop)
                .layer(from_fn_with_state(requests.clone(), receive))
                .layer(from_fn_with_state((Arc::clone(&authenticator), Right::CallTool), require)),
        )
        .route(METADATA_PATH, get(metadata).with_state(authenticator.clone()))
        .route("/healthz", get(async move || health(&server, &authenticator)))
        .route("/livez", get(|| async { "ok\n" }))
        .layer(from_fn_with_state(filter, admit));
    let shutdown = Shutdown::new(stop, SHUTDOWN_TIMEOUT).with_answer(answer_while_stopping);
    http::serve(listener, app, Connections::KeptAlive, proxies, &requests, shutdown).await;
    Ok(())
}

/// Returns the response to a request while the server stops: an error of JSON-RPC for a message, else text.
pub(crate) fn answer_while_stopping(address: &Uri) -> Response {
    if address.path() != "/mcp" {
        return text_while_stopping();
    }
    let error = messages::error(&Value::Null, SERVER_ERROR, STOPPING);
    ([(header::CONTENT_TYPE, "application/json")], error.to_string()).into_response()
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
fn health(server: &McpServer, authenticator: &Authenticator) -> Response {
    let lets_nobody_in = authenticator.health() == CredentialHealth::Unhealthy;
    match server.trouble().or_else(|| lets_nobody_in.then_some("no key is in force")) {
        None => "ok\n".into_response(),
        Some(trouble) => (StatusCode::SERVICE_UNAVAILABLE, format!("{trouble}\n")).into_response(),
    }
}

/// Returns the metadata by which clients find the authorization server.
async fn metadata(State(authenticator): State<Arc<Authenticator>>, headers: HeaderMap) -> Response {
    authenticator.metadata(&headers).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
}

/// Refuses requests for other hosts, and from pages of other origins.
async fn admit(State(filter): State<Arc<RequestFilter>>, request: Request, next: Next) -> Response {
    match filter.check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => (StatusCode::FORBIDDEN, format!("{}\n", refusal.text())).into_response(),
    }
}

/// Refuses requests without a complete body. The head has to have a credential before.
async fn receive(State(requests): State<RunningRequests>, request: Request, next: Next) -> Response {
    match requests.begin(request).await {
        Ok((request, running)) => until_sent(next.run(request).await, running),
        Err(status) => status.into_response(),
    }
}

/// Completes the Accept header of a client that accepts JSON.
async fn complete_accept(mut request: Request, next: Next) -> Response {
    if accepts_json(request.headers()) {
        if !listed(request.headers()).iter().any(|(range, _)| range.eq_ignore_ascii_case(EVENTS)) {
            if request.method() == Method::GET {
                return only_post();
            }
            request.extensions_mut().insert(JsonOnly);
        }
        request.headers_mut().insert(header::ACCEPT, BOTH);
    }
    next.run(request).await
}

/// Returns the response to a GET for JSON, such as that of a person's browser.
fn only_post() -> Response {
    let message = "this is an MCP server; send JSON-RPC messages with POST";
    let error = messages::error(&Value::Null, SERVER_ERROR, message);
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::ALLOW, "POST")];
    (StatusCode::METHOD_NOT_ALLOWED, headers, error.to_string()).into_response()
}

/// Returns true if the headers accept JSON. The most specific range that matches counts, and the weight 0 refuses it.
fn accepts_json(headers: &HeaderMap) -> bool {
    let listed = listed(headers);
    let matching = |wanted: &&str| listed.iter().find(|(range, _)| range.eq_ignore_ascii_case(wanted));
    listed.is_empty() || RANGES.iter().find_map(matching).is_some_and(|(_, is_refused)| !is_refused)
}

/// Returns the media ranges of all Accept headers, each with true if its weight is 0.
fn listed(headers: &HeaderMap) -> Vec<(&str, bool)> {
    let values = headers.get_all(header::ACCEPT).iter().map(|value| value.to_str().unwrap_or("unreadable"));
    let elements = values.flat_map(|value| value.split(',')).filter(|element| !element.trim().is_empty());
    elements.map(parse_range).collect()
}

/// Returns the media range of a list element, and true if its weight is 0.
fn parse_range(element: &str) -> (&str, bool) {
    let mut parts = element.split(';').map(str::trim);
    let range = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim_end().eq_ignore_ascii_case("q").then(|| value.trim_start())
    });
    (range, weight.is_some_and(|weight| weight.parse() == Ok(0.0_f32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(values: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT, value.parse().expect("a header"));
        }
        accepts_json(&headers)
    }

    #[test]
    fn ranges_that_include_json_are_recognized() {
        for values in [
            &[][..],
            &[""],
            &["*/*"],
            &["application/json"],
            &["Application/JSON; charset=utf-8"],
            &["application/*"],
            &["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
            &["text/html", "*/*"],
            &["application/json;q=0.5, */*;q=0"],
            &["text/event-stream, application/json"],
        ] {
            assert!(accepts(values), "{values:?}");
        }
        for values in [
            &["text/html"][..],
            &["text/*"],
            &["text/event-stream"],
            &["application/jsonx"],
            &["application/json;q=0"],
            &["application/json; q=0.000, */*"],
            &["*/*;Q=0"],
        ] {
            assert!(!accepts(values), "{values:?}");
        }
    }
}
