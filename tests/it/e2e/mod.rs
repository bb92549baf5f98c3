//! The real parts together: this program, agent-browser from npm, Debian's
//! Chromium, and the official MCP clients, on pages that the test serves.
//!
//! Everything here runs inside `tests/e2e/in-test-network`, so that the pages
//! have public-looking addresses and nothing can reach another machine. A test
//! here must fail, not pass quietly, when one of its parts is missing, and must
//! leave no process behind; the helpers check both.
//!
//! All sessions share the one tab of the one Chromium, so a test that drives it
//! holds [`world::Browser`] from its first line to its last.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers are tests too: a panic is how they fail"
)]

pub(crate) mod chromium;
mod clients;
mod flow;
pub(crate) mod hosts;
mod native;
mod output;
mod peers;
mod policy;
use super::harness::processes;
use super::harness::server;
mod runtime_pages;
mod sandbox;
mod sessions;
mod transport;
mod trouble;
pub(crate) mod world;
