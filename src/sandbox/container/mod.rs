//! Sandboxes with their own network: the sandbox init, the host relay, and the container backend.
//!
//! The [`launcher`] in the server starts the host [`relay`], which starts the sandbox with the [`init`] in it. The server then
//! has the init run programs, through the [`client`]. The init joins connections to the browser's port with the relay, which
//! connects to the real port.

pub(crate) mod client;
pub(crate) mod config;
pub(crate) mod docker;
mod engine;
pub(crate) mod init;
pub(crate) mod launcher;
mod protocol;
pub(crate) mod relay;
