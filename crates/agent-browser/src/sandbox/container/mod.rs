//! Sandboxes with their own network: the sandbox init, the host relay, and the container backend.
//!
//! The server starts the host [`relay`], which starts the sandbox with the [`init`] in it. The server then has the init run
//! programs, by the [`protocol`]. The init joins connections to the browser's port with the relay, which connects to the real
//! port.

pub mod config;
pub mod docker;
pub mod init;
pub mod protocol;
pub mod relay;
