//! MCP server: the tool `browser-shell` over stdio or streamable HTTP.
//!
//! rmcp does framing, protocol versions and transports. This module maps calls of the protocol to calls of the pipeline.

pub(crate) mod http;
pub(crate) mod running;
pub(crate) mod server;
mod sessions;
pub(crate) mod tool;
