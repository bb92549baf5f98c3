//! Errors that keep `browser-shell serve` from starting, or end it.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::api::public_port::ViewerError;
use crate::cli::error::CliError;

/// Reason why `browser-shell serve` does not start, or ends.
#[derive(Debug, Error)]
pub(super) enum ServeError {
    #[error(
        "`{0}` can be reached from other machines, and this server has no credentials; give --api-keys or --jwt-keys, or listen on 127.0.0.1"
    )]
    NotLoopback(SocketAddr),
    #[error("cannot listen on `{address}`: {source}; choose another address with {flag}")]
    Listen { address: SocketAddr, flag: &'static str, source: io::Error },
    #[error(
        "there is no Xvnc; install the package tigervnc-standalone-server, give its path with --xvnc, or use `--screen cast` or `--screen none`"
    )]
    NoXvnc,
    #[error(
        "Chromium failed three starts in a row: {0}; choose another one with --chromium, or see what is missing with `browser-shell doctor`"
    )]
    BrokenChromium(String),
    #[error("{0}; install the package novnc, give its folder with --novnc, or use `--screen none`")]
    Viewer(#[source] ViewerError),
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        Self::Command(Box::new(error))
    }
}
