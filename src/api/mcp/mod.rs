//! MCP server: the tool `browser-shell` over stdio or streamable HTTP.
//!
//! rmcp does framing, protocol versions and transports. This module maps calls of the protocol to calls of the pipeline.

mod accept;
pub(crate) mod arrival_order;
pub(crate) mod http;
pub(crate) mod protocol;
pub(crate) mod running;
pub(crate) mod server;
mod sessions;
pub(crate) mod stdio;
pub(crate) mod tool;
