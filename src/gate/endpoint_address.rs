//! Address of the endpoint of a browser context.

use browser_shell_core::agent_browser::AgentBrowser;
use tokio_util::sync::CancellationToken;

/// Address of the endpoint of a browser context, and who connects to it. The endpoint ends when nobody has it.
#[derive(Debug)]
pub(super) struct EndpointAddress {
    /// Port on 127.0.0.1.
    pub port: u16,
    /// Kind of agent-browser that connects.
    pub kind: AgentBrowser,
    /// Ends the endpoint.
    pub stop: CancellationToken,
}

impl Drop for EndpointAddress {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
