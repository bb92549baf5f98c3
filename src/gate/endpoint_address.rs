//! Address of a session's endpoint.

use browser_shell_core::gate::Client;

/// Address of a session's endpoint, and who connects to it.
#[derive(Debug)]
pub(super) struct EndpointAddress {
    /// Port on 127.0.0.1.
    pub port: u16,
    /// Secret part of the WebSocket's URL.
    pub token: String,
    /// Kind of agent-browser that connects.
    pub kind: Client,
}
