//! Evidence of credentials: what a server keeps of one after its request, to check again while a connection stays open.
//!
//! Invariants: it contains nothing that could be used as a credential; `Debug` shows no part of it.

use std::fmt;
use std::time::Duration;

/// Evidence of a credential.
#[derive(Clone, PartialEq, Eq)]
pub enum Evidence {
    /// No credential: the server needs none.
    None,
    /// API key, by its SHA-256.
    ApiKey([u8; 32]),
    /// Token.
    Token {
        /// SHA-256 of the public key that verified it.
        key: [u8; 32],
        /// Time since 1970 at which it expires, with the tolerance for clocks that differ; `None` if it never does.
        end: Option<Duration>,
    },
}

impl fmt::Debug for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::ApiKey(_) => "ApiKey",
            Self::Token { .. } => "Token",
        })
    }
}
