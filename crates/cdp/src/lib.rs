//! Debugging protocol of the browser: the connection that carries it, and what is asked without one.
//!
//! Invariants: nothing but the browser's pipe, or its port on loopback, is contacted.

#![cfg_attr(
    test,
    allow(
        clippy::needless_pass_by_value,
        clippy::too_many_lines,
        reason = "test helpers take values of json!, and tables of cases are long"
    )
)]

mod browser;
mod connection;
mod error;
mod link;
mod message;
mod outgoing;
pub mod pipe;
mod port;
pub mod protocol;
mod receiver;
mod waiters;

#[cfg(test)]
mod connection_tests;
#[cfg(test)]
mod tests;

pub use browser::DebuggedBrowser;
pub use connection::{Connection, SentCommand};
pub use error::{BrowserError, CommandError};
pub use link::{over_pipe, over_port};
pub use receiver::{Answer, Event, Receiver};
