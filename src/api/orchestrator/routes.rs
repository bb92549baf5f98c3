//! REST interface of the runtime, with MCP on the same port.
//!
//! A command that fails is an answer with status 200, not a failed request.
//!
//! Invariants: no error repeats what was sent.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::api::http::SlotHandle;
use crate::api::http::filter::{FilterRefusal, RequestFilter};
use crate::api::http::serve::{self, Connections, RunningRequests};
use crate::api::mcp;
use crate::api::orchestrator::field_error::{FieldError, Segment};
use crate::api::orchestrator::lenient;
use crate::api::orchestrator::mcp::RuntimeMcpServer;
use crate::api::orchestrator::openapi::{self, ROUTES};
use crate::api::orchestrator::replies::{Destroyed, Invalid, Refused};
use crate::api::orchestrator::requests::{RequestRules, RequestSchemas, parse, parse_json};
use crate::api::orchestrator::service::Runtime;
use browser_shell_core::shares::{Party, TrustedProxies};
use browser_shell_core::tenant::{DOTTED_NAME_PATTERN, NAME_PATTERN, TenantId};
use browser_shell_system::metrics::CONTENT_TYPE;

/// Route that needs no token: a health probe has none.
const HEALTH: &str = "/health";

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
    let document = openapi::document(&request_schemas, has_token).to_string().into();
    let filter = Arc::new(filter);
    let shared =
        RouterState { runtime: runtime.clone(), filter, request_schemas, document, requests: requests.clone() };
    serve::serve(listener, router(shared), Connections::KeptAlive, TrustedProxies::default(), &requests, stop, grace)
        .await;
    runtime.calls.cancel_all();
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
        .method_not_allowed_fallback(async || refuse(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"))
        .layer(from_fn_with_state(shared.clone(), filter))
        .with_state(shared)
}

/// Checks a request before its route sees it, and counts it.
async fn filter(State(shared): State<RouterState>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let route = route.and_then(|path| ROUTES.iter().copied().find(|route| *route == path));
    let response = match check(&shared.filter, &request) {
        Ok(()) => match shared.requests.begin(request).await {
            Ok((request, _running)) => next.run(request).await,
            Err(status) => refuse(status, status.canonical_reason().unwrap_or_default()),
        },
        Err(refused) => *refused,
    };
    shared.runtime.pipeline.services().metrics.count_request(route.unwrap_or("other"), response.status().as_u16());
    response
}

/// Checks the headers of a request. One with the token, if there is one, gets a place that no request without can take.
fn check(filter: &RequestFilter, request: &Request) -> Result<(), Box<Response>> {
    let refuse_for = |refusal| Box::new(refuse_for(refusal));
    filter.check(request.headers()).map_err(refuse_for)?;
    if request.uri().path() == HEALTH {
        return Ok(());
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
        lenient::convert(schema, &mut value);
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
