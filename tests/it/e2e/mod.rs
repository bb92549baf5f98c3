//! End-to-end tests with the real programs: this program, agent-browser from npm, Debian's Chromium and the official
//! MCP clients, on pages that the tests serve.
//!
//! All tests run inside `tests/e2e/in-test-network`, so that pages have public-looking addresses and no other machine
//! is reachable. A test must fail, not pass silently, if a program is missing, and must leave no process behind. The
//! helpers check both.
//!
//! All sessions share the one tab of the one Chromium, so a test that drives it holds [`test_env::Browser`] for its
//! whole duration.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod agent_libraries;
mod apps;
mod cdp_types;
pub(crate) mod chromium;
mod clients;
mod conformance;
mod converters;
mod flow;
mod forms;
mod gate;
pub(crate) mod hosts;
pub(crate) mod issuer;
mod known_failures;
mod native;
pub(crate) mod oauth;
mod output;
mod own_browser;
mod platform;
mod policy;
use super::harness::processes;
use super::harness::server;
mod failures;
mod runtime_pages;
mod sandbox;
mod sessions;
mod tasks;
pub(crate) mod test_env;
pub(crate) mod viewer_tab;
mod words;
