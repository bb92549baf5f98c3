//! HTTP client of rmcp's streamable HTTP transport, on the plain HTTP client that the program has.
//!
//! rmcp's own client needs TLS, whose implementations contain C. This one speaks HTTP/1.1 without TLS, one request per
//! connection.
//!
//! Invariants: a request is never repeated, and the reason of the first failure is kept.

use std::collections::HashMap;
use std::io;
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
use tokio::net::TcpStream;

use crate::cli::call::mcp_endpoint::McpEndpoint;
use crate::cli::call::server_error::ServerError;

/// Maximum size of a reply in bytes. The largest part is a picture in base64.
const MAX_REPLY_BYTES: usize = 64 * 1024 * 1024;

/// Maximum size in bytes of the reason for which a server refuses a request.
const MAX_REASON_BYTES: usize = 4096;

const SESSION_ID: &str = "mcp-session-id";
const JSON: &str = "application/json";
const PLAIN_TEXT: &str = "text/plain";
const EVENT_STREAM: &str = "text/event-stream";

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

    /// Returns the failure that the status of a response means.
    async fn status_failure(&self, response: Response<Incoming>) -> StreamableHttpError<ServerError> {
        let (url, status) = (self.url(), response.status());
        self.failed(match status {
            StatusCode::UNAUTHORIZED => ServerError::Unauthorized { url },
            StatusCode::FORBIDDEN => match reason_of(response).await {
                Some(reason) => ServerError::Denied { url, reason },
                None => ServerError::Forbidden { url },
            },
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
                if !self.has_sent_call() =>
            {
                ServerError::Unavailable { url, status: status.as_u16() }
            }
            status if status.is_server_error() && self.has_sent_call() => {
                ServerError::OutcomeUnknown { url, reason: format!("HTTP {status}") }
            }
            status => ServerError::NotMcp { url, reason: format!("HTTP {status}") },
        })
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
            return Err(self.status_failure(response).await);
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
