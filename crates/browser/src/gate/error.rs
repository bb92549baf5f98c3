//! Errors of the control gate.

use browser_shell_core::decision::{Code, Decision};
use thiserror::Error;

use browser_shell_cdp::{BrowserError, CommandError};

/// Reason why the gate cannot serve a session.
#[derive(Debug, Error)]
pub enum GateError {
    /// Chromium is not reachable.
    #[error(transparent)]
    Browser(#[from] BrowserError),
    /// Chromium did not carry out a command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Chromium of this process is not running.
    #[error("Chromium does not run")]
    NotRunning,
    /// The endpoint cannot be opened.
    #[error("cannot open the endpoint of the session: {0}")]
    Endpoint(#[from] std::io::Error),
    /// Another program listens on the port of the endpoint.
    #[error("port {0} on 127.0.0.1 is in use")]
    PortInUse(u16),
    /// The kernel gives no random bytes.
    #[error("cannot read random bytes: {0}")]
    Random(std::io::Error),
    /// The egress guard has no more addresses for sessions.
    #[error("the egress guard has no free address for the session")]
    NoAddress,
    /// Another session may copy something right now.
    #[error("another session uses the clipboard; try again")]
    ClipboardInUse,
    /// The clipboard still holds what another session copied.
    #[error("the clipboard could not be emptied")]
    Clipboard,
    /// A target did not appear.
    #[error("a new tab did not become ready in time")]
    NoTab,
    /// The saved state of the session cannot be used.
    #[error("cannot use the saved state of the session: {0}")]
    State(String),
}

impl From<GateError> for Decision {
    fn from(error: GateError) -> Self {
        tracing::error!(%error, "the control gate cannot serve a session");
        if matches!(error, GateError::NoAddress) {
            return Self::new(Code::TooManySessions, "all addresses of the egress guard are in use");
        }
        if let GateError::PortInUse(port) = error {
            let reason = format!("another program listens on port {port}, at which agent-browser reaches the browser");
            return Self::new(Code::EndpointPortInUse, reason);
        }
        Self::new(Code::GateUnavailable, "the control gate could not prepare the session's part of the browser")
    }
}
