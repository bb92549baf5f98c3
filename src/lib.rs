//! browser-shell: one MCP tool that drives a visible Chromium for an AI agent, behind a URL policy.
//!
//! The core is pure: [`argv`] (what an agent may say), [`policy`] (where the browser may go), [`output`] (what the agent gets
//! back), [`request`], [`session_id`] and [`decision`] do no I/O and know no clock. The edges are thin. `ARCHITECTURE.md` is
//! the map.

#![cfg_attr(
    test,
    allow(
        clippy::needless_pass_by_value,
        clippy::too_many_lines,
        reason = "helpers of tests take what json! makes, and a table of cases is long on purpose"
    )
)]

pub mod agent_browser;
pub mod argv;
pub mod audit;
pub mod becoming;
pub mod browser;
pub mod cli;
pub mod config;
pub mod decision;
pub mod dns;
pub mod egress;
pub mod exec;
pub mod keeper;
pub mod log;
pub mod mcp;
pub mod output;
pub mod pipeline;
pub mod places;
pub mod policy;
pub mod policy_source;
pub mod processes;
pub mod request;
pub mod runtime;
pub mod sandbox;
pub mod session;
pub mod session_id;
pub mod session_lock;
pub mod transport;
pub mod web;
