//! Front ends that serve clients: MCP, and the runtime's REST interface for orchestrators.

pub(crate) mod auth;
pub(crate) mod http;
pub(crate) mod mcp;
pub(crate) mod orchestrator;
pub(crate) mod public_port;
