//! The runtime: the same engine as a REST and MCP service for orchestrators (spec section 4).
//!
//! It decides what of a request an orchestrator may say and how an answer is written for it; what a command may be, where
//! the browser may go and what an answer may hold is the pipeline's business, as for the tool. Must never have a rule of its
//! own where the tool has one.

pub mod body;
pub mod browser;
pub mod calls;
pub mod health;
pub mod identity;
pub mod launch;
pub mod mcp;
pub mod metrics;
pub mod openapi;
pub mod routes;
pub mod service;
pub mod skills;
pub mod workspace;
