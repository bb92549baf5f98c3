//! Failures to get a reply from a daemon.

/// Failure to get a reply, with its cause for the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DaemonError {
    /// No command was sent: there is no daemon, or it cannot be reached.
    NotSent(String),
    /// No command was sent: the process is not the session's daemon.
    ForeignProcess(String),
    /// The command was sent, and it is not known whether it ran.
    Unanswered(String),
}
