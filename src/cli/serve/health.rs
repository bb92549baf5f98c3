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

use crate::api::auth::CredentialHealth;
use crate::api::http::filter::{FilterRefusal, RequestFilter};
use crate::api::http::{self, Connections, RunningRequests, Shutdown};
use crate::api::public_port::PublicPort;
use crate::call::Services;
use browser_shell_browser::health::BrowserHealth;
use browser_shell_browser::supervisor::ChromiumSupervisor;
use browser_shell_core::shares::TrustedProxies;
use browser_shell_system::metrics::CONTENT_TYPE;

/// Timeout for running requests when the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Parts whose health is served.
#[derive(Clone)]
pub(super) struct ServeHealth {
    pub browser: watch::Receiver<BrowserHealth>,
    pub port: Arc<PublicPort>,
    pub services: Arc<Services>,
    pub chromium: Arc<ChromiumSupervisor>,
}

/// Serves `/healthz`, `/livez` and `/metrics` until `stop` is canceled. `/livez` is 200 while the browser and the screen are usable, else 503. `/healthz` is
/// 200 only if there is a policy in force, audit lines are written, and somebody gets in, too: what a person has to mend, and a restart would
/// not.
pub(super) async fn serve(health: ServeHealth, listener: TcpListener, stop: CancellationToken) {
    // A probe uses the address of the machine or container.
    let filter = Arc::new(RequestFilter::new([]).with_addresses());
    let app = Router::new()
        .route("/healthz", get(async |State(health): State<ServeHealth>| health.response(true)))
        .route("/metrics", get(async |State(health): State<ServeHealth>| health.metrics()))
        .route("/livez", get(async |State(health): State<ServeHealth>| health.response(false)))
        .with_state(health)
        .layer(from_fn_with_state(filter, check));
    let (proxies, requests) = (TrustedProxies::default(), RunningRequests::default());
    let shutdown = Shutdown::new(stop, SHUTDOWN_TIMEOUT);
    http::serve(listener, app, Connections::KeptAlive, proxies, &requests, shutdown).await;
}

async fn check(State(filter): State<Arc<RequestFilter>>, request: Request, next: Next) -> Response {
    let text = match filter.check(request.headers()) {
        Ok(()) => return next.run(request).await,
        // This port serves no name, whatever --allow-host says.
        Err(FilterRefusal::Host) => "forbidden: unknown Host; use localhost or an address",
        Err(refusal) => refusal.text(),
    };
    (StatusCode::FORBIDDEN, format!("{text}\n")).into_response()
}

impl ServeHealth {
    /// Returns the state of all parts. The status is of the parts that a restart can mend, and of the others if they are asked for.
    fn response(&self, has_others: bool) -> Response {
        let browser = *self.browser.borrow();
        let screen = self.port.screen.as_ref().map(|(_, screen)| screen.is_running());
        let (policy, audit) = (self.services.policy.current().is_ok(), self.services.audit_is_writing());
        let credentials = self.port.authenticator.health();
        let is_alive = browser.is_usable() && screen != Some(false);
        // While some get in, no probe may keep them out.
        let others_are_healthy = policy && audit && credentials != CredentialHealth::Unhealthy;
        let is_healthy = is_alive && (!has_others || others_are_healthy);
        let status = if is_healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let state = |is_healthy| if is_healthy { "healthy" } else { "unhealthy" };
        let body = json!({
            "browser": browser.status(),
            "screen": screen.map_or("none", state),
            "policy": state(policy),
            "audit": state(audit),
            "credentials": credentials.as_str(),
            "audit_lines_lost": self.services.audit.lost(),
        });
        (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
    }

    /// Returns the metrics of the server.
    fn metrics(&self) -> Response {
        let credentials = self.port.authenticator.health().is_whole();
        let text = self.services.metrics_text(*self.browser.borrow(), self.chromium.starts(), credentials);
        ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response()
    }
}
