//! Debugging protocol of the browser: the connection that carries it, and what is asked without one.
//!
//! Invariants: nothing but the browser's pipe, or its port on loopback, is contacted.

mod connection;
mod link;
mod message;
mod port;
pub mod protocol;
mod waiters;

#[cfg(test)]
mod connection_tests;

pub use connection::{Connection, SentCommand};
pub use link::{DebugPipe, over_pipe, over_port};
pub use message::CommandError;
pub use port::{BrowserError, DebuggedBrowser};
pub use waiters::{Answer, Event, Receiver};
