//! `browser-shell runtime` as orchestrators, MCP clients, attackers and operators use it.
//!
//! `contract` needs only HTTP. With `BROWSER_SHELL_TEST_BASE_URL` it tests that server (`tests/runtime/prove URL`),
//! otherwise a server that it starts. The other modules start their own servers: with the stand-ins for agent-browser
//! and Chromium, or, in ignored tests, with the real programs in the test network.
//!
//! `client` checks every response against the server's own `/openapi.json`, in every test.

mod attacks;
mod chromium_files;
mod client;
mod compat;
mod contract;
mod environment;
mod failures;
mod files;
mod foreign;
mod known_defects;
pub(crate) mod mcp;
mod memory;
mod parsing;
mod real;
mod schemas;
mod security;
pub(crate) mod server;
mod shared;
mod tasks;
mod validation;
