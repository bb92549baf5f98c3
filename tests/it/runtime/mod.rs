//! `browser-shell runtime` as its callers meet it: an orchestrator, an MCP client, an attacker, an operator.
//!
//! `contract` needs nothing but HTTP: with `BROWSER_SHELL_TEST_BASE_URL` it asks that server and no other
//! (`tests/runtime/prove URL`), without it one of its own. The other modules start servers of their own: with the stand-ins
//! for agent-browser and Chromium, or, where they are ignored here, with the real parts in the test network.
//!
//! Every answer that passes through `door` is held against the server's own `/openapi.json`, in every test.

mod contract;
mod defects;
mod door;
mod environment;
mod files;
mod mcp;
mod memory;
mod parsing;
mod real;
mod schemas;
mod security;
mod server;
mod shared;
mod tasks;
mod trouble;
mod validation;
