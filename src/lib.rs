//! browser-shell: one MCP tool that drives a visible Chromium for an AI agent, behind a URL policy.
//!
//! The crate [`browser_shell_core`] makes the decisions; this crate does the I/O. `ARCHITECTURE.md` shows the layers.

#![cfg_attr(test, allow(clippy::needless_pass_by_value, reason = "test helpers take values of json!"))]

mod api;
mod call;
mod cli;
mod session;
pub mod testing;

pub use cli::main;
