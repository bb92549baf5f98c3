//! Sandboxes with their own network: the sandbox init, the host relay, and the container backend.
//!
//! The [`launcher`] in the server starts the host [`relay`], which starts the sandbox with the [`init`] in it. The server then
//! has the init run programs, through the [`client`]. The init joins connections to the browser's port with the relay, which
//! connects to the real port.

pub mod client;
pub mod config;
pub mod docker;
mod engine;
pub mod init;
pub mod launcher;
mod protocol;
pub mod relay;
