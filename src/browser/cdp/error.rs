//! Errors of the debugging port.

use thiserror::Error;

/// Reason why the browser did not answer a request.
#[derive(Debug, Error)]
pub(crate) enum BrowserError {
    /// The port does not accept connections.
    #[error("127.0.0.1:{port} does not answer: {source}")]
    Connect {
        /// Debugging port.
        port: u16,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The port accepts connections and does not answer.
    #[error("127.0.0.1:{0} accepts connections and does not answer")]
    Silent(u16),
    /// The answer is not a browser's.
    #[error("the server on 127.0.0.1:{port} is not a browser: {message}")]
    NotABrowser {
        /// Debugging port.
        port: u16,
        /// Problem of the answer.
        message: String,
    },
}
