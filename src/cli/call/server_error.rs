//! Errors of a call at a server.

use thiserror::Error;

/// Reason why a call at a server has no reply.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum ServerError {
    #[error("cannot connect to `{url}`: {reason}; start the server, for example with `./dev up`, or correct --server")]
    Connect { url: String, reason: String },
    #[error("`{url}` asks for credentials (HTTP 401); give a token with --token-file or BROWSER_SHELL_TOKEN")]
    Unauthorized { url: String },
    #[error(
        "`{url}` refused the request (HTTP 403); check that the URL is that of the MCP endpoint and ends in `/mcp`, that the server allows its host name (BROWSER_SHELL_ALLOW_HOST there), and that the token is valid"
    )]
    Forbidden { url: String },
    #[error("`{url}` refused the request (HTTP 403): {reason}")]
    Denied { url: String, reason: String },
    #[error("there is no MCP server at `{url}`: {reason}; the URL of its endpoint ends in `/mcp`")]
    NotMcp { url: String, reason: String },
    #[error("`{url}` is not ready (HTTP {status}); try again in a few seconds")]
    Unavailable { url: String, status: u16 },
    #[error("the server at `{url}` refused the call: {reason}")]
    Refused { url: String, reason: String },
    #[error(
        "outcome-unknown: the connection to `{url}` broke ({reason}), and the command may have run; take a snapshot, then decide"
    )]
    OutcomeUnknown { url: String, reason: String },
    #[error("no reply from `{url}` within {seconds} s; take a snapshot, then decide")]
    Timeout { url: String, seconds: u64 },
    #[error("canceled; take a snapshot to see what was done")]
    Canceled,
}

impl ServerError {
    /// Returns the exit code, which is that of the same problem in a local call.
    pub(super) const fn exit_code(&self) -> i32 {
        match self {
            Self::OutcomeUnknown { .. } => 1,
            Self::Refused { .. } => 64,
            Self::Connect { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::Denied { .. }
            | Self::NotMcp { .. }
            | Self::Unavailable { .. } => 69,
            Self::Timeout { .. } => 124,
            Self::Canceled => 130,
        }
    }
}
