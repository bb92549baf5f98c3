//! HTTP client of an MCP endpoint, the URL at which a server answers MCP requests, for rmcp's streamable HTTP transport.
//!
//! rmcp's own client needs TLS, whose implementations contain C. This one, on the plain HTTP client that the program has, speaks
//! HTTP/1.1 without TLS, one request per connection.
//!
//! Invariants: a request is never repeated, and the reason of the first failure is kept.

use std::collections::HashMap;
use std::io;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures::StreamExt;
use futures::stream::BoxStream;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use thiserror::Error;
use tokio::net::TcpStream;
use url::{Host, Url};

use browser_shell_core::decision::Code;

/// Maximum size of a reply in bytes. The largest part is a picture in base64.
const MAX_REPLY_BYTES: usize = 64 * 1024 * 1024;

/// Maximum size in bytes of the reason for which a server refuses a request.
const MAX_REASON_BYTES: usize = 4096;

const SESSION_ID: &str = "mcp-session-id";

const JSON: &str = "application/json";

const PLAIN_TEXT: &str = "text/plain";

const EVENT_STREAM: &str = "text/event-stream";

/// URL of an MCP server that is reached over plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct McpEndpoint {
    url: Url,
    host: String,
    port: u16,
}

/// Reason why a URL is no MCP endpoint.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum McpEndpointError {
    #[error("not a URL; write it as `http://127.0.0.1:8080/mcp`")]
    NotAUrl,
    #[error(
        "https is not supported here; forward the server's port, for example with `ssh -L 8080:127.0.0.1:8080 HOST`, and use `http://127.0.0.1:8080/mcp`"
    )]
    Https,
    #[error("`{0}` is not http; write the URL as `http://127.0.0.1:8080/mcp`")]
    Scheme(String),
    #[error("a user name or password in the URL is visible to other users; use --token-file or BROWSER_SHELL_TOKEN")]
    UserInfo,
    #[error("the URL has no path; did you mean `{0}`?")]
    NoPath(Url),
}

impl FromStr for McpEndpoint {
    type Err = McpEndpointError;

    fn from_str(text: &str) -> Result<Self, McpEndpointError> {
        let mut url = Url::parse(text).map_err(|_| McpEndpointError::NotAUrl)?;
        match url.scheme() {
            "http" => {}
            "https" => return Err(McpEndpointError::Https),
            // `localhost:8080/mcp` parses as a URL with the scheme `localhost`.
            scheme => return Err(McpEndpointError::Scheme(scheme.to_owned())),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(McpEndpointError::UserInfo);
        }
        let host = match url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => return Err(McpEndpointError::NotAUrl),
        };
        let port = url.port_or_known_default().ok_or(McpEndpointError::NotAUrl)?;
        url.set_fragment(None);
        if url.path() == "/" {
            url.set_path("/mcp");
            return Err(McpEndpointError::NoPath(url));
        }
        Ok(Self { url, host, port })
    }
}

impl McpEndpoint {
    /// Returns the URL.
    pub(super) fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Returns host and port for a connection.
    pub(super) fn address(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// Returns the path with the query, for the first line of a request.
    pub(super) fn target(&self) -> String {
        let query = self.url.query().map_or_else(String::new, |query| format!("?{query}"));
        format!("{}{query}", self.url.path())
    }

    /// Returns the value of the header `Host`.
    pub(super) fn authority(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

/// Reason why a call at a server has no reply.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum ServerError {
    #[error("cannot connect to `{url}`: {reason}; start the server, for example with `./dev up`, or correct --server")]
    Connect { url: String, reason: String },
    #[error("`{url}` asks for credentials (HTTP 401); give a token with --token-file or BROWSER_SHELL_TOKEN")]
    Unauthorized { url: String },
    #[error("`{url}` refused the token (HTTP 401): {reason}")]
    TokenRefused { url: String, reason: String },
    #[error(
        "`{url}` refused the request (HTTP 403); check that the URL is that of the MCP endpoint and ends in `/mcp`, that the server allows its host name (BROWSER_SHELL_ALLOW_HOST there), and that the token is valid"
    )]
    Forbidden { url: String },
    #[error("`{url}` refused the request (HTTP {status}): {reason}")]
    Denied { url: String, status: u16, reason: String },
    #[error("`{url}` is busy (HTTP 429): {reason}")]
    Busy { url: String, reason: String },
    #[error("there is no MCP server at `{url}`: {reason}; the URL of its endpoint ends in `/mcp`")]
    NotMcp { url: String, reason: String },
    #[error("`{url}` is not ready (HTTP {status}); try again in a few seconds")]
    Unavailable { url: String, status: u16 },
    #[error("the server at `{url}` refused the call: {reason}")]
    Refused { url: String, reason: String },
    #[error(
        "outcome-unknown: the connection to `{url}` broke ({reason}), and the command may have run; take a snapshot, then decide"
    )]
    OutcomeUnknown { url: String, reason: String },
    #[error("no reply from `{url}` within {seconds} s; take a snapshot, then decide")]
    Timeout { url: String, seconds: u64 },
    #[error("canceled; take a snapshot to see what was done")]
    Canceled,
}

impl ServerError {
    /// Returns the exit code, which is that of the same problem in a local call.
    pub(super) const fn exit_code(&self) -> i32 {
        match self {
            Self::OutcomeUnknown { .. } => 1,
            Self::Refused { .. } => 64,
            Self::Busy { .. } => 75,
            Self::Connect { .. }
            | Self::Unauthorized { .. }
            | Self::TokenRefused { .. }
            | Self::Forbidden { .. }
            | Self::Denied { .. }
            | Self::NotMcp { .. }
            | Self::Unavailable { .. } => 69,
            Self::Timeout { .. } => 124,
            Self::Canceled => 130,
        }
    }
}

type PostResult = Result<StreamableHttpPostResponse, StreamableHttpError<ServerError>>;

/// Client of one MCP endpoint.
#[derive(Clone, Debug)]
pub(super) struct PlainHttpClient {
    endpoint: Arc<McpEndpoint>,
    failure: Arc<OnceLock<ServerError>>,
    has_sent_call: Arc<AtomicBool>,
}

impl PlainHttpClient {
    pub(super) fn new(endpoint: McpEndpoint) -> Self {
        Self { endpoint: Arc::new(endpoint), failure: Arc::default(), has_sent_call: Arc::default() }
    }

    /// Returns the reason of the first failure.
    pub(super) fn failure(&self) -> Option<ServerError> {
        self.failure.get().cloned()
    }

    /// Returns true if the server may have received a call.
    pub(super) fn has_sent_call(&self) -> bool {
        self.has_sent_call.load(Ordering::Relaxed)
    }

    fn url(&self) -> String {
        self.endpoint.as_str().to_owned()
    }

    fn failed(&self, error: ServerError) -> StreamableHttpError<ServerError> {
        StreamableHttpError::Client(self.failure.get_or_init(|| error).clone())
    }

    /// Returns the failure of a connection that was established, or of a reply that cannot be read.
    fn broken(&self, reason: String) -> StreamableHttpError<ServerError> {
        let url = self.url();
        self.failed(if self.has_sent_call() {
            ServerError::OutcomeUnknown { url, reason }
        } else {
            ServerError::NotMcp { url, reason }
        })
    }

    fn not_mcp(&self, reason: String) -> StreamableHttpError<ServerError> {
        self.failed(ServerError::NotMcp { url: self.url(), reason })
    }

    /// Returns a request with the headers that all have in common.
    fn request(
        &self,
        method: Method,
        session_id: Option<&str>,
        token: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Builder {
        let mut request =
            Request::builder().method(method).uri(self.endpoint.target()).header(HOST, self.endpoint.authority());
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(id) = session_id {
            request = request.header(SESSION_ID, id);
        }
        headers.into_iter().fold(request, |request, (name, value)| request.header(name, value))
    }

    async fn send(
        &self,
        request: Builder,
        body: Vec<u8>,
        is_call: bool,
    ) -> Result<Response<Incoming>, StreamableHttpError<ServerError>> {
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| self.not_mcp(error.to_string()))?;
        let connect = TcpStream::connect(self.endpoint.address()).await;
        let stream = connect
            .map_err(|error| self.failed(ServerError::Connect { url: self.url(), reason: error.to_string() }))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.broken(error.to_string()))?;
        // It ends with the response, or when the response is dropped.
        tokio::spawn(connection);
        if is_call {
            self.has_sent_call.store(true, Ordering::Relaxed);
        }
        sender.send_request(request).await.map_err(|error| self.broken(error.to_string()))
    }

    /// Returns the failure that the status of a response to a request, with or without a token, means.
    async fn status_failure(&self, response: Response<Incoming>, has_token: bool) -> StreamableHttpError<ServerError> {
        let (url, status) = (self.url(), response.status());
        let reason = if status.is_client_error() { reason_of(response).await } else { None };
        self.failed(match (status, reason) {
            (StatusCode::UNAUTHORIZED, reason) => refusal_of_token(url, reason, has_token),
            (StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN, Some(reason)) => {
                ServerError::Denied { url, status: status.as_u16(), reason }
            }
            (StatusCode::FORBIDDEN, None) => ServerError::Forbidden { url },
            (StatusCode::PAYLOAD_TOO_LARGE, _) => {
                let reason = "it is too large (HTTP 413); split the text into several calls".to_owned();
                ServerError::Refused { url, reason }
            }
            (StatusCode::TOO_MANY_REQUESTS, reason) => {
                let reason = reason.unwrap_or_else(|| "try again in a few seconds".to_owned());
                ServerError::Busy { url, reason }
            }
            (status, _) => self.other_failure(url, status),
        })
    }

    /// Returns the failure that a status without a meaning of its own is.
    fn other_failure(&self, url: String, status: StatusCode) -> ServerError {
        match status {
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
                if !self.has_sent_call() =>
            {
                ServerError::Unavailable { url, status: status.as_u16() }
            }
            status if status.is_server_error() && self.has_sent_call() => {
                ServerError::OutcomeUnknown { url, reason: format!("HTTP {status}") }
            }
            status => ServerError::NotMcp { url, reason: format!("HTTP {status}") },
        }
    }
}

/// Returns the failure that a response with the status 401 is.
fn refusal_of_token(url: String, reason: Option<String>, has_token: bool) -> ServerError {
    match reason {
        _ if !has_token => ServerError::Unauthorized { url },
        Some(reason) if reason.starts_with(Code::CredentialMissing.as_str()) => ServerError::Unauthorized { url },
        Some(reason) => ServerError::TokenRefused { url, reason },
        None => {
            let reason = "check the one of --token-file or BROWSER_SHELL_TOKEN".to_owned();
            ServerError::TokenRefused { url, reason }
        }
    }
}

/// Returns the reason that a refusal of our servers begins with. `None` for that of another one, such as a page.
async fn reason_of(response: Response<Incoming>) -> Option<String> {
    if !response.headers().get(CONTENT_TYPE)?.to_str().ok()?.starts_with(PLAIN_TEXT) {
        return None;
    }
    let body = Limited::new(response.into_body(), MAX_REASON_BYTES).collect().await.ok()?.to_bytes();
    let line = std::str::from_utf8(&body).ok()?.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

impl StreamableHttpClient for PlainHttpClient {
    type Error = ServerError;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> PostResult {
        let body = serde_json::to_vec(&message)?;
        let request = self
            .request(Method::POST, session_id.as_deref(), token.as_deref(), headers)
            .header(CONTENT_TYPE, JSON)
            .header(ACCEPT, format!("{JSON}, {EVENT_STREAM}"));
        let is_call = matches!(
            &message,
            ClientJsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::CallToolRequest(_))
        );
        let response = self.send(request, body, is_call).await?;
        if matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !response.status().is_success() {
            return Err(self.status_failure(response, token.is_some()).await);
        }
        let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (session, kind) = (text(SESSION_ID), text(CONTENT_TYPE.as_str()).unwrap_or_default());
        let body = Limited::new(response.into_body(), MAX_REPLY_BYTES);
        if kind.starts_with(EVENT_STREAM) {
            // The parser needs an error type that is an error itself, which the box of `Limited` is not.
            let events = SseStream::new(body.map_err(io::Error::other));
            return Ok(StreamableHttpPostResponse::Sse(StreamExt::boxed(events), session));
        }
        if !kind.starts_with(JSON) {
            return Err(self.broken(format!("the content type of its reply is `{kind}`")));
        }
        let body = body.collect().await.map_err(|error| self.broken(error.to_string()))?.to_bytes();
        let reply = serde_json::from_slice(&body).map_err(|error| self.broken(error.to_string()))?;
        Ok(StreamableHttpPostResponse::Json(reply, session))
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session_id: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), StreamableHttpError<ServerError>> {
        let request = self.request(Method::DELETE, Some(&session_id), token.as_deref(), headers);
        // The session of a server that refuses expires by itself.
        self.send(request, Vec::new(), false).await.map(|_| ())
    }

    /// Refuses to listen to the server: a call needs no notifications, and a broken reply is not resumed.
    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session_id: Option<Arc<str>>,
        _last_event_id: Option<String>,
        _token: Option<String>,
        _headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<ServerError>> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_endpoint_is_split_for_connection_and_request() {
        for (text, address, authority, target) in [
            ("http://127.0.0.1:8080/mcp", ("127.0.0.1", 8080), "127.0.0.1:8080", "/mcp"),
            ("http://box.example/mcp?a=b#c", ("box.example", 80), "box.example", "/mcp?a=b"),
            ("http://[::1]:80/x/mcp", ("::1", 80), "[::1]", "/x/mcp"),
        ] {
            let endpoint: McpEndpoint = text.parse().expect(text);
            assert_eq!((endpoint.address(), endpoint.authority().as_str()), (address, authority), "{text}");
            assert_eq!(endpoint.target(), target, "{text}");
        }
    }

    #[test]
    fn unusable_urls_are_errors_that_name_the_fix() {
        for (text, fix) in [
            ("", "http://127.0.0.1:8080/mcp"),
            ("8080", "http://127.0.0.1:8080/mcp"),
            ("localhost:8080/mcp", "http://127.0.0.1:8080/mcp"),
            ("file:///etc/passwd", "http://127.0.0.1:8080/mcp"),
            ("https://box.example/mcp", "ssh -L"),
            ("http://a:b@box.example/mcp", "--token-file"),
            ("http://box.example:8080", "`http://box.example:8080/mcp`"),
        ] {
            let error = text.parse::<McpEndpoint>().expect_err(text).to_string();
            assert!(error.contains(fix), "{text:?}: {error}");
        }
    }

    #[test]
    fn refused_token_is_not_a_missing_one() {
        let failure = |reason: Option<&str>, has_token| {
            refusal_of_token("http://a/mcp".to_owned(), reason.map(str::to_owned), has_token).to_string()
        };
        for (reason, words) in [
            (Some("credential-unknown: no"), "refused the token (HTTP 401): credential-unknown: no"),
            (None, "refused the token (HTTP 401): check the one of --token-file"),
            (Some("credential-missing: the request has no credential"), "asks for credentials"),
        ] {
            assert!(failure(reason, true).contains(words), "{}", failure(reason, true));
        }
        for reason in [Some("credential-missing: no"), Some("Unauthorized"), None] {
            assert!(failure(reason, false).contains("give a token"), "{}", failure(reason, false));
        }
    }
}
