//! Commands sent to a session's daemon, without the CLI.
//!
//! Invariants: only the session's own daemon receives a command, and only after it has confirmed the connection to Chromium;
//! otherwise it would start its own browser.

mod client;
mod connection;
mod error;
mod program;
mod protocol;
pub(crate) mod supported;

pub(super) use client::{NAME, call};
pub(super) use error::DaemonError;
#[cfg(test)]
pub(super) use program::DaemonProgram;
pub(super) use protocol::DaemonReply;
