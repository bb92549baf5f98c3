//! Errors that keep a server from starting a Chromium of its own.

use thiserror::Error;

use crate::cli::error::CliError;

/// Reason why a server does not start.
#[derive(Debug, Error)]
pub(crate) enum OwnBrowserError {
    #[error(
        "{0} is set, but pages connect through the egress guard and would not use it; name the proxy in `egress.upstream` of the policy file, or remove the variable"
    )]
    Proxy(&'static str),
    #[error("there is no Chromium on PATH; install it, or give its path with --chromium")]
    NoChromium,
}

impl From<OwnBrowserError> for CliError {
    fn from(error: OwnBrowserError) -> Self {
        Self::Command(Box::new(error))
    }
}
