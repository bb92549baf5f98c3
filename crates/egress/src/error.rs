//! Errors of starting the guard.

use std::net::SocketAddr;

use thiserror::Error;

use browser_shell_system::paths::PathError;

/// Error of starting the guard.
#[derive(Debug, Error)]
pub enum EgressError {
    /// The address is reachable from other machines.
    #[error(
        "`{0}` can be reached from other machines, and the guard has no authentication; listen on 127.0.0.1 or [::1]"
    )]
    NotLoopback(SocketAddr),
    /// Listening on the address failed.
    #[error("cannot listen on `{address}`: {error}; choose another address with {flag}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Flag that sets the address of the guard.
        flag: &'static str,
        /// The system's error.
        error: std::io::Error,
    },
    /// The folder that names the sessions cannot be trusted or used.
    #[error(transparent)]
    Sessions(#[from] PathError),
}
