//! Runtime for orchestrators: the pipeline of the tool as a REST and MCP service.
//!
//! It adapts requests and replies to the orchestrator's contract. The grammar, the policy and the rules for answers are those
//! of the pipeline, as for the tool. Requirement 4.

pub(crate) mod identity;
pub(crate) mod mcp;
mod replies;
pub(crate) mod requests;
pub(crate) mod routes;
mod schema;
pub(crate) mod service;
pub(crate) mod skills;
