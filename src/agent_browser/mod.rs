//! agent-browser's CLI, which carries out each call of a session with that engine.
//!
//! [`Transport`] is what calls know of it, so that tests put a stand-in in its place.

mod cli;
mod daemon_start;
pub(crate) mod supported;
mod tabs;
mod transport;

pub(crate) use cli::CliTransport;
pub(crate) use transport::TransportState;
pub use transport::{Invocation, Transport};
