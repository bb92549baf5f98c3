//! Debugging protocol of the browser: the connection that carries it, and what is asked without one.
//!
//! Invariants: nothing but the browser's pipe, or its port on loopback, is contacted.

mod browser;
mod connection;
mod error;
mod link;
mod message;
mod outgoing;
mod port;
pub(crate) mod protocol;
mod receiver;
mod waiters;

#[cfg(test)]
mod connection_tests;
#[cfg(test)]
mod tests;

pub(crate) use browser::DebuggedBrowser;
pub(crate) use connection::{Connection, SentCommand};
pub(crate) use error::{BrowserError, CommandError};
pub(crate) use link::{over_pipe, over_port};
pub(crate) use receiver::{Answer, Event, Receiver};
