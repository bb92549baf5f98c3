//! browser-shell: one MCP tool that drives a visible Chromium for an AI agent, behind a URL policy.
//!
//! The crate [`browser_shell_core`] makes the decisions; this crate does the I/O. `ARCHITECTURE.md` shows the layers.

#![cfg_attr(
    test,
    allow(
        clippy::needless_pass_by_value,
        clippy::too_many_lines,
        reason = "test helpers take values of json!, and tables of cases are long"
    )
)]

mod agent_browser;
mod api;
mod audit;
mod browser;
mod call;
mod cli;
mod config;
mod egress;
mod engine;
mod gate;
mod installation;
mod metrics;
mod os;
mod paths;
mod policy_source;
mod sandbox;
mod session;
pub mod testing;
mod url_check;

pub use cli::main;
