//! Gateway between agent-browser and the tabs of its session.
//!
//! Each browser context has an endpoint of its own, which shows its tabs to its sessions and nothing else. What a client sends is checked
//! against the table of methods in the core. See `docs/design/control-gate.md`.
//!
//! Invariant: agent-browser never reaches Chromium's debugging interface.

mod client;
mod endpoint;
mod peer;

pub use endpoint::Endpoints;
