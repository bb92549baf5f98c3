//! Transports to agent-browser.
//!
//! Everything that differs between the transports is behind [`Transport`]; policy, grammar and output rules do not depend on
//! which one is used.

mod auto;
mod cli;
mod daemon_start;
mod direct;
mod tabs;
mod transport;

pub(crate) use auto::AutoTransport;
pub(crate) use cli::CliTransport;
pub(crate) use direct::supported;
pub(crate) use transport::TransportState;
pub use transport::{Invocation, Transport};
