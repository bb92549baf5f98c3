//! Runtime for orchestrators: the pipeline of the tool as a REST and MCP service.
//!
//! It adapts requests and replies to the orchestrator's contract. The grammar, the policy and the rules for answers are those
//! of the pipeline, as for the tool. Requirement 4.

pub(crate) mod active_calls;
mod exit_code;
mod field_error;
mod front_matter;
pub(crate) mod identity;
mod lenient;
pub(crate) mod mcp;
pub(crate) mod openapi;
mod replies;
pub(crate) mod requests;
pub(crate) mod routes;
mod schema;
pub(crate) mod service;
pub(crate) mod skills;
mod status;
