//! The runtime over HTTP: the orchestrator's contract, with MCP on the same port.
//!
//! Decides which path is which, and what is said about requests that are not looked at. A command that fails is an answer, not
//! a failed request. Must never repeat what was sent in an error.

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
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::body::{self, Batch, Exec, Names, Problem};
use super::health::Condition;
use super::identity::{Mode, PATTERN, SandboxId};
use super::mcp::Server;
use super::metrics;
use super::openapi::{self, ROUTES};
use super::service::Runtime;
use crate::mcp::http::service;
use crate::web::guard::{Guard, Refusal};
use crate::web::serve::{self, Requests};

/// The path that is answered without a token: whoever asks whether the runtime lives has none.
const OPEN: &str = "/health";

/// What handlers share.
#[derive(Clone)]
struct Shared {
    runtime: Arc<Runtime>,
    guard: Arc<Guard>,
    /// The document, which does not change.
    document: Arc<str>,
    requests: Requests,
}

/// Serves until `stop` is cancelled. Running calls have `grace` to end; then they are cancelled.
pub async fn serve(
    runtime: Arc<Runtime>,
    guard: Guard,
    with_token: bool,
    listener: TcpListener,
    stop: CancellationToken,
    grace: Duration,
) {
    let requests = Requests::default();
    let document = openapi::document(runtime.identity.mode, with_token).to_string().into();
    let shared = Shared { runtime: runtime.clone(), guard: Arc::new(guard), document, requests: requests.clone() };
    serve::serve(listener, router(shared), &requests, stop, grace).await;
    runtime.calls.cancel_all();
}

fn router(shared: Shared) -> Router {
    let mcp = service(Server::new(shared.runtime.clone()), None, shared.runtime.calls.stop());
    Router::new()
        .route("/exec", post(exec))
        .route("/exec_batch", post(batch))
        .route("/health", get(health))
        .route("/meta", get(async |State(shared): State<Shared>| reply(StatusCode::OK, &shared.runtime.meta())))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(document))
        .route("/sessions/{sandbox_id}", delete(destroy))
        .route_service("/mcp", mcp)
        .fallback(async || refuse(StatusCode::NOT_FOUND, "Not Found"))
        .method_not_allowed_fallback(async || refuse(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"))
        .layer(from_fn_with_state(shared.clone(), look))
        .with_state(shared)
}

/// Looks at a request before anything else does, and counts it.
async fn look(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let route = route.and_then(|path| ROUTES.iter().copied().find(|route| *route == path));
    let response = match check(&shared.guard, &request) {
        Ok(()) => match shared.requests.begin(request).await {
            Ok((request, _running)) => next.run(request).await,
            Err(status) => refuse(status, status.canonical_reason().unwrap_or_default()),
        },
        Err(refusal) => refuse_for(refusal),
    };
    shared.runtime.metrics.count_request(route.unwrap_or("other"), response.status().as_u16());
    response
}

fn check(guard: &Guard, request: &Request) -> Result<(), Refusal> {
    guard.check(request.headers())?;
    if request.uri().path() == OPEN { Ok(()) } else { guard.check_token(request.headers()) }
}

fn refuse_for(refusal: Refusal) -> Response {
    match refusal {
        Refusal::Host | Refusal::Origin => refuse(StatusCode::FORBIDDEN, refusal.text()),
        Refusal::Token => {
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
    reply(status, &json!({ "detail": detail }))
}

fn invalid(problems: &[Problem], root: &str) -> Response {
    let detail: Vec<_> = problems.iter().map(|problem| problem.to_json(root)).collect();
    reply(StatusCode::UNPROCESSABLE_ENTITY, &json!({ "detail": detail }))
}

/// Reads a body, by its type.
fn read<T>(
    runtime: &Runtime,
    headers: &HeaderMap,
    bytes: &Bytes,
    read: fn(&Value, Names) -> Result<T, Vec<Problem>>,
) -> Result<T, Box<Response>> {
    if !is_json(headers) {
        let detail = "send JSON, as `Content-Type: application/json`";
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).into());
    }
    let names = Names { sandbox_required: runtime.identity.mode == Mode::Shared, strict: false };
    body::read(bytes).and_then(|value| read(&value, names)).map_err(|problems| invalid(&problems, "body").into())
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

async fn exec(State(shared): State<Shared>, headers: HeaderMap, bytes: Bytes) -> Response {
    match read(&shared.runtime, &headers, &bytes, Exec::read) {
        Ok(exec) => reply(StatusCode::OK, &shared.runtime.exec(exec).await),
        Err(response) => *response,
    }
}

async fn batch(State(shared): State<Shared>, headers: HeaderMap, bytes: Bytes) -> Response {
    match read(&shared.runtime, &headers, &bytes, Batch::read) {
        Ok(batch) => reply(StatusCode::OK, &shared.runtime.batch(batch).await),
        Err(response) => *response,
    }
}

async fn health(State(shared): State<Shared>) -> Response {
    let (condition, health) = shared.runtime.health();
    let status = match condition {
        Condition::Ready | Condition::Asleep => StatusCode::OK,
        Condition::Starting | Condition::Gone => StatusCode::SERVICE_UNAVAILABLE,
    };
    reply(status, &health)
}

async fn metrics(State(shared): State<Shared>) -> Response {
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], shared.runtime.metrics_text()).into_response()
}

async fn document(State(shared): State<Shared>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], shared.document.to_string()).into_response()
}

type Named = Result<Path<String>, PathRejection>;

async fn destroy(State(shared): State<Shared>, named: Named) -> Response {
    // What is no text is no name either.
    let Some(id) = named.ok().and_then(|Path(name)| SandboxId::new(&name)) else {
        let problem = Problem {
            kind: "string_pattern_mismatch",
            place: vec!["sandbox_id".into()],
            message: format!("must match {PATTERN}"),
        };
        return invalid(&[problem], "path");
    };
    let destroyed = shared.runtime.destroy(&id).await;
    let status = if destroyed { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    reply(status, &json!({ "sandbox_id": id.as_str(), "destroyed": destroyed }))
}
