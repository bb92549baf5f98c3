//! Debugging protocol of the browser: the connection that carries it, and what is asked without one.
//!
//! Invariants: nothing but the browser's pipe, or its port on loopback, is contacted.

mod browser;
mod connection;
mod error;
mod link;
mod port;

#[cfg(test)]
mod tests;

pub(crate) use browser::Browser;
pub(crate) use connection::{Answer, CommandError, Connection, Event, Receiver};
pub(crate) use error::BrowserError;
pub(crate) use link::{over_pipe, over_port};
