//! agent-browser's CLI, which carries out each call of a session with that engine.
//!
//! [`Transport`] is what calls know of it, so that tests put a stand-in in its place.

mod cli;
pub mod gateway;
pub mod installation;
pub mod sandbox;
pub mod supported;
mod tabs;

pub use cli::{CliTransport, Invocation, Transport, TransportState};
