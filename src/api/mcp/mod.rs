//! MCP server: the tool `browser-shell` over stdio or streamable HTTP.
//!
//! rmcp does protocol versions, and the transport over HTTP. This module maps calls of the protocol to calls of the pipeline.

pub(crate) mod http;
mod lines;
mod messages;
pub(crate) mod running;
pub(crate) mod server;
mod sessions;
pub(crate) mod tool;
