//! The MCP server: one tool over stdio or streamable HTTP.
//!
//! Decides how a call of the protocol becomes a call of the pipeline and how its reply becomes a result. Framing, versions and
//! transports are rmcp's work.

pub mod http;
pub mod order;
pub mod server;
pub(crate) mod shape;
pub mod tool;
