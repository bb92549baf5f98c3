//! Health of the server, for monitors and probes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::api::http::filter::RequestFilter;
use crate::api::http::serve::{self, Connections, RunningRequests};
use crate::api::public_port::PublicPort;
use crate::audit::AuditLog;
use crate::browser::health::BrowserHealth;
use browser_shell_core::shares::TrustedProxies;

/// Timeout for running requests when the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Parts whose health is served.
#[derive(Clone)]
pub(super) struct Health {
    pub browser: watch::Receiver<BrowserHealth>,
    pub port: Arc<PublicPort>,
    pub audit: AuditLog,
}

/// Serves `/healthz` until `stop` is canceled: 200 if the browser and the screen are usable and audit
/// lines are written, else 503.
pub(super) async fn serve(health: Health, listener: TcpListener, stop: CancellationToken) {
    // A probe uses the address of the machine or container.
    let filter = Arc::new(RequestFilter::new([]).with_addresses());
    let app = Router::new()
        .route("/healthz", get(async |State(health): State<Health>| health.response()))
        .with_state(health)
        .layer(from_fn_with_state(filter, check));
    let (proxies, requests) = (TrustedProxies::default(), RunningRequests::default());
    serve::serve(listener, app, Connections::KeptAlive, proxies, &requests, stop, SHUTDOWN_TIMEOUT).await;
}

async fn check(State(filter): State<Arc<RequestFilter>>, request: Request, next: Next) -> Response {
    match filter.check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => (StatusCode::FORBIDDEN, format!("{}\n", refusal.text())).into_response(),
    }
}

impl Health {
    fn response(&self) -> Response {
        let browser = *self.browser.borrow();
        let screen = self.port.screen.as_ref().map(|(_, screen)| screen.is_running());
        let is_healthy = browser.is_usable() && screen != Some(false) && self.audit.is_writing();
        let status = if is_healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let screen = match screen {
            None => "none",
            Some(true) => "healthy",
            Some(false) => "unhealthy",
        };
        let audit = if self.audit.is_writing() { "healthy" } else { "unhealthy" };
        let lost = self.audit.lost();
        let body = json!({ "browser": browser.status(), "screen": screen, "audit": audit, "audit_lines_lost": lost });
        let body = body.to_string();
        (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}
