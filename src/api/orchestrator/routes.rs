//! REST interface of the runtime, with MCP on the same port, and its `OpenAPI` 3.1 document.
//!
//! A command that fails is an answer with status 200, not a failed request. The schemas of the document are derived from the types of
//! the requests and replies; tests validate every answer against them.
//!
//! Invariants: no error repeats what was sent.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::api::http::filter::{FilterRefusal, RequestFilter};
use crate::api::http::{self, Connections, MAX_BODY, RunningRequests, STOPPING, Shutdown, SlotHandle, until_sent};
use crate::api::mcp;
use crate::api::orchestrator::mcp::RuntimeMcpServer;
use crate::api::orchestrator::replies::{BatchResult, Destroyed, ExecResult, HealthReply, Invalid, Meta, Refused};
use crate::api::orchestrator::requests::{
    BatchRequest, ExecRequest, RequestRules, RequestSchemas, convert, parse, parse_json,
};
use crate::api::orchestrator::schema::{FieldError, Segment, reply_schema};
use crate::api::orchestrator::service::Runtime;
use browser_shell_browser::health::BrowserHealth;
use browser_shell_core::session_id::{DOTTED_NAME_PATTERN, NAME_PATTERN, TenantId};
use browser_shell_core::shares::{Party, TrustedProxies};
use browser_shell_system::metrics::CONTENT_TYPE;

/// Route that needs no token: a health probe has none.
const HEALTH: &str = "/health";

/// Routes, as they are named in the document and in the metrics.
const ROUTES: &[&str] =
    &["/exec", "/exec_batch", "/health", "/mcp", "/meta", "/metrics", "/openapi.json", "/sessions/{sandbox_id}"];

/// State that all handlers share.
#[derive(Clone)]
struct RouterState {
    runtime: Arc<Runtime>,
    filter: Arc<RequestFilter>,
    request_schemas: Arc<RequestSchemas>,
    /// Text of the `OpenAPI` document.
    document: Arc<str>,
    requests: RunningRequests,
}

/// Serves until `stop` is canceled. Running calls then have `grace` to end before they are canceled.
pub(crate) async fn serve(
    runtime: Arc<Runtime>,
    filter: RequestFilter,
    has_token: bool,
    listener: TcpListener,
    stop: CancellationToken,
    grace: Duration,
) {
    let requests = RunningRequests::default();
    let rules = RequestRules { requires_tenant: runtime.identity.requires_tenant(), is_strict: false };
    let request_schemas = RequestSchemas::new(rules);
    let request_schemas = if runtime.is_lenient() { request_schemas.lenient() } else { request_schemas };
    let request_schemas = Arc::new(request_schemas);
    let document = openapi_document(&request_schemas, has_token).to_string().into();
    let filter = Arc::new(filter);
    let shared =
        RouterState { runtime: runtime.clone(), filter, request_schemas, document, requests: requests.clone() };
    let answering = runtime.clone();
    let shutdown = Shutdown::new(stop, grace).with_answer(move |address| answer_while_stopping(&answering, address));
    let proxies = TrustedProxies::default();
    http::serve(listener, router(shared), Connections::KeptAlive, proxies, &requests, shutdown).await;
    runtime.calls.cancel_all();
}

/// Returns the response to a request while the server stops.
fn answer_while_stopping(runtime: &Runtime, address: &Uri) -> Response {
    if address.path() == HEALTH {
        reply(StatusCode::SERVICE_UNAVAILABLE, &runtime.health(BrowserHealth::Unavailable))
    } else {
        refuse(StatusCode::SERVICE_UNAVAILABLE, STOPPING)
    }
}

fn router(shared: RouterState) -> Router {
    let mcp = mcp::http::routes(RuntimeMcpServer::new(shared.runtime.clone()), shared.runtime.calls.stop());
    Router::new()
        .route("/exec", post(exec))
        .route("/exec_batch", post(batch))
        .route(HEALTH, get(health))
        .route("/meta", get(async |State(shared): State<RouterState>| reply(StatusCode::OK, &shared.runtime.meta())))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(document))
        .route("/sessions/{sandbox_id}", delete(destroy))
        .merge(mcp)
        .fallback(async || refuse(StatusCode::NOT_FOUND, "Not Found"))
        .method_not_allowed_fallback(async || refuse_method(None))
        .layer(from_fn_with_state(shared.clone(), filter))
        .with_state(shared)
}

/// Checks a request before its route sees it, and counts it.
async fn filter(State(shared): State<RouterState>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let route = route.and_then(|path| ROUTES.iter().copied().find(|route| *route == path));
    let response = match check(&shared.filter, &request) {
        Ok(()) => match receive(&shared.requests, request).await {
            Ok((request, running)) => until_sent(next.run(request).await, running),
            Err(status) => refuse(status, status.canonical_reason().unwrap_or_default()),
        },
        Err(refused) => *refused,
    };
    shared.runtime.pipeline.services().metrics.count_request(route.unwrap_or("other"), response.status().as_u16());
    response
}

/// Receives the body of a request. One that needs no token has none.
///
/// # Errors
///
/// As [`RunningRequests::begin`].
async fn receive(requests: &RunningRequests, request: Request) -> Result<(Request, TaskTrackerToken), StatusCode> {
    let limit = if request.uri().path() == HEALTH { 0 } else { MAX_BODY };
    requests.begin_limited(request, limit).await
}

/// Checks the headers of a request. One with the token, if there is one, gets a place that no request without can take.
fn check(filter: &RequestFilter, request: &Request) -> Result<(), Box<Response>> {
    let refuse_for = |refusal| Box::new(refuse_for(refusal));
    filter.check(request.headers()).map_err(refuse_for)?;
    if request.uri().path() == HEALTH {
        // The body of another method is not read.
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        return if is_read { Ok(()) } else { Err(Box::new(refuse_method(Some("GET, HEAD")))) };
    }
    filter.check_token(request.headers()).map_err(refuse_for)?;
    match request.extensions().get::<SlotHandle>().map(|place| place.recognize(Party::Anyone)) {
        Some(Err(decision)) => Err(Box::new(refuse(StatusCode::SERVICE_UNAVAILABLE, &decision.reason))),
        Some(Ok(())) | None => Ok(()),
    }
}

fn refuse_for(refusal: FilterRefusal) -> Response {
    match refusal {
        FilterRefusal::Host | FilterRefusal::Origin => refuse(StatusCode::FORBIDDEN, refusal.text()),
        FilterRefusal::Token => {
            let mut response = refuse(StatusCode::UNAUTHORIZED, refusal.text());
            response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
            response
        }
    }
}

fn reply(status: StatusCode, body: &impl Serialize) -> Response {
    let body = serde_json::to_string(body).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn refuse(status: StatusCode, detail: &str) -> Response {
    reply(status, &Refused { detail: detail.to_owned() })
}

/// Returns the reply to a request with a wrong method. The router adds the allowed ones, unless they are given.
fn refuse_method(allowed: Option<&'static str>) -> Response {
    let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    if let Some(allowed) = allowed {
        response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(allowed));
    }
    response
}

/// Returns the reply to a request with errors; `root` is the part of the request that they are in.
fn invalid(errors: Vec<FieldError>, root: &'static str) -> Response {
    let detail = errors.into_iter().map(|error| error.below(root)).collect();
    reply(StatusCode::UNPROCESSABLE_ENTITY, &Invalid { detail })
}

/// Parses a body by a schema, or returns the reply to one that cannot be parsed.
fn parse_body<T: DeserializeOwned>(
    runtime: &Runtime,
    headers: &HeaderMap,
    bytes: &Bytes,
    schema: &Value,
) -> Result<T, Box<Response>> {
    // A page cannot send a request without a type in another site's name: the filter refuses its Origin.
    let has_no_type = runtime.is_lenient() && !headers.contains_key(header::CONTENT_TYPE);
    if !has_no_type && !is_json(headers) {
        let detail = "send JSON, as `Content-Type: application/json`";
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).into());
    }
    let mut value = parse_json(bytes).map_err(|errors| invalid(errors, "body"))?;
    if runtime.is_lenient() {
        convert(schema, &mut value);
    }
    parse(schema, value).map_err(|errors| invalid(errors, "body").into())
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}

async fn exec(State(shared): State<RouterState>, headers: HeaderMap, bytes: Bytes) -> Response {
    match parse_body(&shared.runtime, &headers, &bytes, &shared.request_schemas.exec) {
        Ok(request) => reply(StatusCode::OK, &shared.runtime.exec(request).await),
        Err(response) => *response,
    }
}

async fn batch(State(shared): State<RouterState>, headers: HeaderMap, bytes: Bytes) -> Response {
    match parse_body(&shared.runtime, &headers, &bytes, &shared.request_schemas.batch) {
        Ok(request) => reply(StatusCode::OK, &shared.runtime.batch(request).await),
        Err(response) => *response,
    }
}

async fn health(State(shared): State<RouterState>) -> Response {
    let health = shared.runtime.browser_health();
    let status = if health.is_usable() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    reply(status, &shared.runtime.health(health))
}

async fn metrics(State(shared): State<RouterState>) -> Response {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], shared.runtime.metrics_text()).into_response()
}

async fn document(State(shared): State<RouterState>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], shared.document.to_string()).into_response()
}

async fn destroy(State(shared): State<RouterState>, path: Result<Path<String>, PathRejection>) -> Response {
    // A path that is not UTF-8 is no name either.
    let is_lenient = shared.runtime.is_lenient();
    let parse_name = if is_lenient { TenantId::with_dots } else { TenantId::new };
    let Some(tenant) = path.ok().and_then(|Path(name)| parse_name(&name)) else {
        let location = [Segment::Name("sandbox_id".into())];
        let message = format!("must match {}", if is_lenient { DOTTED_NAME_PATTERN } else { NAME_PATTERN });
        return invalid(vec![FieldError::new("string_pattern_mismatch", &location, message)], "path");
    };
    let destroyed = shared.runtime.destroy(&tenant).await;
    let status = if destroyed { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    reply(status, &Destroyed { sandbox_id: tenant.as_str().to_owned(), destroyed })
}

/// Returns the document.
#[must_use]
fn openapi_document(requests: &RequestSchemas, has_token: bool) -> Value {
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "browser-shell runtime",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A browser for an orchestrator's agents: commands of agent-browser, read by a grammar, behind a URL policy. No command is ever given to a shell. The same is served over MCP at /mcp.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths(),
    });
    let mut components = Map::from_iter([("schemas".to_owned(), schemas(requests))]);
    if let Some(document) = document.as_object_mut() {
        if has_token {
            document.insert("security".to_owned(), json!([{ "token": [] }]));
            components.insert("securitySchemes".to_owned(), json!({ "token": { "type": "http", "scheme": "bearer" } }));
        }
        document.insert("components".to_owned(), components.into());
    }
    document
}

fn paths() -> Value {
    let refused = answer::<Refused>("The request was refused unread");
    json!({
        "/exec": post_operation::<ExecRequest, ExecResult>("exec", "Run one command"),
        "/exec_batch": post_operation::<BatchRequest, BatchResult>("exec_batch", "Run several commands, one after another"),
        "/health": { "get": {
            "operationId": "health",
            "summary": "Return whether the browser can be used now",
            "responses": {
                "200": answer::<HealthReply>("It can be used"), "503": answer::<HealthReply>("It cannot be used"), "401": refused, "403": refused,
                "413": refused,
            },
        }},
        "/mcp": { "post": {
            "operationId": "mcp",
            "summary": "The same as MCP tools, by streamable HTTP (Model Context Protocol)",
            "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": "object" } } } },
            "responses": {
                "200": text("A JSON-RPC message", "application/json"), "401": refused, "403": refused, "503": stopping(),
            },
        }},
        "/meta": get_operation("meta", "Describe this runtime", &answer::<Meta>("The answer")),
        "/metrics": get_operation("metrics", "Return counters for Prometheus", &text("The answer", "application/openmetrics-text")),
        "/openapi.json": get_operation("openapi", "Return this document", &text("The answer", "application/json")),
        "/sessions/{sandbox_id}": { "delete": {
            "operationId": "destroy",
            "summary": "End a session and everything that it started",
            "parameters": [{
                "name": "sandbox_id", "in": "path", "required": true, "schema": { "type": "string", "pattern": NAME_PATTERN },
            }],
            "responses": {
                "200": answer::<Destroyed>("There is no such session any more"),
                "503": {
                    "description": "The session could not be ended yet, or the server has no room or stops",
                    "content": { "application/json": { "schema": { "anyOf": [reference::<Destroyed>(), reference::<Refused>()] } } },
                },
                "422": answer::<Invalid>("Every error of the request"), "401": refused, "403": refused,
            },
        }},
    })
}

fn post_operation<Request: JsonSchema, Reply: JsonSchema>(id: &str, summary: &str) -> Value {
    let refused = answer::<Refused>("The request was refused unread");
    json!({ "post": {
        "operationId": id,
        "summary": summary,
        "requestBody": { "required": true, "content": { "application/json": { "schema": reference::<Request>() } } },
        "responses": {
            "200": answer::<Reply>("The reply, even if the command failed"),
            "422": answer::<Invalid>("Every error of the request"),
            "401": refused, "403": refused, "408": refused, "413": refused, "415": refused, "503": stopping(),
        },
    }})
}

fn get_operation(id: &str, summary: &str, answer_200: &Value) -> Value {
    let refused = answer::<Refused>("The request was refused unread");
    json!({ "get": {
        "operationId": id,
        "summary": summary,
        "responses": { "200": answer_200, "401": refused, "403": refused, "503": stopping() },
    }})
}

fn stopping() -> Value {
    answer::<Refused>("The server has no room, or stops: try again")
}

fn answer<T: JsonSchema>(description: &str) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": reference::<T>() } } })
}

fn text(description: &str, content_type: &str) -> Value {
    json!({ "description": description, "content": { content_type: {} } })
}

fn reference<T: JsonSchema>() -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", T::schema_name()) })
}

fn schemas(requests: &RequestSchemas) -> Value {
    json!({
        "Exec": requests.exec,
        "Executed": reply_schema::<ExecResult>(),
        "Batch": requests.batch,
        "BatchReply": reply_schema::<BatchResult>(),
        "Health": reply_schema::<HealthReply>(),
        "Meta": reply_schema::<Meta>(),
        "Destroyed": reply_schema::<Destroyed>(),
        "Refused": reply_schema::<Refused>(),
        "Invalid": reply_schema::<Invalid>(),
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[tokio::test]
    async fn request_without_a_token_has_no_body() {
        let received = async |path: &str, body: &'static str| {
            let mut request = Request::new(Body::from(body));
            *request.uri_mut() = path.parse().expect("a path");
            receive(&RunningRequests::default(), request).await.map(|_| ())
        };
        assert_eq!(received(HEALTH, "").await, Ok(()), "control");
        assert_eq!(received("/exec", "{}").await, Ok(()), "control");
        assert_eq!(received(HEALTH, "{}").await, Err(StatusCode::PAYLOAD_TOO_LARGE));
    }

    #[test]
    fn other_methods_of_health_are_refused_unread() {
        let status = |method: Method, path: &'static str| {
            let mut request = Request::new(Body::from("{}"));
            *request.uri_mut() = Uri::from_static(path);
            *request.method_mut() = method;
            request.headers_mut().insert(header::HOST, header::HeaderValue::from_static("127.0.0.1"));
            check(&RequestFilter::new([]).with_addresses(), &request).err().map(|response| response.status())
        };
        assert_eq!(status(Method::POST, HEALTH), Some(StatusCode::METHOD_NOT_ALLOWED));
        assert_eq!(status(Method::GET, HEALTH), None, "control");
        assert_eq!(status(Method::POST, "/exec"), None, "control");
    }

    #[test]
    fn openapi_has_every_route_and_resolves_references() {
        let requests = RequestSchemas::new(RequestRules { requires_tenant: false, is_strict: false });
        let document = openapi_document(&requests, true);
        let paths: Vec<_> = document["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
        assert_eq!(paths, ROUTES);
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().expect("a pointer");
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
