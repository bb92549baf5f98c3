//! Status of a guard: its report, and the query for it.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Full;
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::response::GuardResponse;
use browser_shell_core::policy::EgressMode;
use browser_shell_system::os::connections;

/// Name of the service in its status.
const SERVICE: &str = "browser-shell egress";

/// Timeout of a query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum size of a status that a query reads, in bytes.
const MAX_STATUS_BYTES: usize = 64 * 1024;

/// Status of this guard.
#[derive(Debug)]
pub(super) struct StatusReport {
    /// Mode in force; none if the policy file is invalid.
    pub(super) mode: Option<EgressMode>,
    pub(super) has_upstream: bool,
    pub(super) policy_hash: Option<String>,
    pub(super) open: usize,
    pub(super) allowed: u64,
    pub(super) refused: u64,
}

impl StatusReport {
    /// Returns the report as a response.
    pub(super) fn to_response(&self) -> GuardResponse {
        let value = json!({
            "service": SERVICE,
            "version": env!("CARGO_PKG_VERSION"),
            "mode": self.mode.map(EgressMode::as_str),
            "upstream": self.has_upstream,
            "policy": self.policy_hash,
            "open": self.open,
            "allowed": self.allowed,
            "refused": self.refused,
        });
        GuardResponse::json(StatusCode::OK, &value)
    }
}

/// Status of a guard, as [`query_status`] finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// No guard answers.
    Absent,
    /// The guard refuses everything, since its policy file is invalid.
    PolicyInvalid,
    /// The guard runs in this mode.
    Running(String),
}

/// Asks the guard at `address` for its status.
pub async fn query_status(address: SocketAddr) -> Status {
    timeout(QUERY_TIMEOUT, fetch_status(address)).await.ok().flatten().unwrap_or(Status::Absent)
}

async fn fetch_status(address: SocketAddr) -> Option<Status> {
    let stream = TcpStream::connect(address).await.ok()?;
    let request = Request::builder().uri("/status").header("host", address.to_string()).body(Full::default()).ok()?;
    let response = connections::exchange(stream, request, MAX_STATUS_BYTES).await.ok()?;
    let status: Value = serde_json::from_slice(response.body()).ok()?;
    if status.get("service")?.as_str()? != SERVICE {
        return None;
    }
    let mode = status.get("mode").and_then(Value::as_str);
    Some(mode.map_or(Status::PolicyInvalid, |mode| Status::Running(mode.to_owned())))
}
