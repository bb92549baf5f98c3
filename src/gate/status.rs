//! Port at which other programs see that Chromium answers, and nothing else of it.
//!
//! In the image it is the port on which the base expects Chromium's debugging interface.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::gate::control::ControlGate;
use crate::gate::endpoint::{authority_of_program, reply, text};
use crate::gate::scope::GateServices;
use crate::os::accept::accept;

/// Timeout for a whole request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of simultaneous connections.
const MAX_CONNECTIONS: usize = 16;

/// Serves the version of Chromium, and an empty list of targets, until `stop` is canceled.
pub(crate) async fn serve(gate: Arc<ControlGate>, listener: TcpListener, stop: CancellationToken) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let (stream, _) = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = stop.cancelled() => return,
        };
        let Ok(slot) = slots.clone().try_acquire_owned() else { continue };
        let gate = gate.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let gate = gate.clone();
                async move {
                    Ok::<_, Infallible>(if authority_of_program(request.headers()).is_some() {
                        answer(&gate, request.method(), request.uri().path()).await
                    } else {
                        text(StatusCode::FORBIDDEN, "pages have no access")
                    })
                }
            });
            let mut server = hyper::server::conn::http1::Builder::new();
            server.timer(TokioTimer::new()).keep_alive(false);
            let _ = tokio::time::timeout(TIMEOUT, server.serve_connection(TokioIo::new(stream), service)).await;
            drop(slot);
        });
    }
}

async fn answer(gate: &ControlGate, method: &Method, path: &str) -> Response<Full<Bytes>> {
    match (method, path.trim_end_matches('/')) {
        (&Method::GET, "/json/version") => {
            let version = match gate.hub().await {
                Ok(hub) => hub.root("Browser.getVersion", &json!({})).await.ok(),
                Err(_) => None,
            };
            let Some(version) = version else {
                return text(StatusCode::SERVICE_UNAVAILABLE, "Chromium does not answer");
            };
            let member = |name| version.get(name).cloned().unwrap_or_default();
            reply(&json!({ "Browser": member("product"), "Protocol-Version": member("protocolVersion") }))
        }
        (&Method::GET, "/json" | "/json/list") => reply(&Value::Array(Vec::new())),
        _ => text(StatusCode::FORBIDDEN, "the control gate serves sessions only"),
    }
}
