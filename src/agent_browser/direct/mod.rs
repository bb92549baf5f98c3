//! Commands sent to a session's daemon, without the CLI.
//!
//! Invariants: only the session's own daemon receives a command, and only after it has confirmed the connection to Chromium;
//! otherwise it would start its own browser.

mod client;
mod connection;
mod error;
mod protocol;
pub(crate) mod supported;

pub(super) use client::{NAME, call};
pub(super) use error::DaemonError;
pub(super) use protocol::DaemonReply;
