//! Errors of the debugging protocol.

use thiserror::Error;

/// Reason why the browser did not answer a request.
#[derive(Debug, Error)]
pub enum BrowserError {
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

/// Reason why a command has no result.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The connection has ended.
    #[error("the connection to Chromium has ended")]
    Closed,
    /// Chromium did not answer in time.
    #[error("Chromium did not answer `{0}` in time")]
    TimedOut(&'static str),
    /// Chromium's answer is too large or cannot be read. Unlike a refusal, it says nothing about the command's target.
    #[error("the answer of Chromium to `{0}` is too large or cannot be read")]
    Unreadable(&'static str),
    /// Chromium answered with an error, or the command's session ended.
    #[error("Chromium answered `{method}` with an error: {message}")]
    Refused {
        /// Method of the command.
        method: &'static str,
        /// Chromium's message.
        message: String,
    },
}
