//! Errors of reading a page.

use browser_shell_core::snapshot::CaptureError;
use thiserror::Error;

use super::request::SnapshotRequest;
use browser_shell_cdp::CommandError;

/// Reason why a page was not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Chromium did not carry out a command.
    #[error("the page does not answer: {0}")]
    Command(#[from] CommandError),
    /// Chromium's answer cannot be used.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The session has no tab.
    #[error("the session has no page; open one")]
    NoPage,
    /// The page loads other documents all the time.
    #[error("the page was replaced while it was read; try again")]
    Changed,
    /// The page could not be turned into a snapshot.
    #[error("the page cannot be read")]
    Unreadable,
    /// The selector is neither CSS nor a chain.
    #[error("`{0}` cannot be used here; use CSS, `text=`, `role=`, or a reference such as `@e1`")]
    Selector(String),
    /// The selector matches nothing.
    #[error("no element matches `{0}`; take a snapshot without `-s`")]
    NoMatch(String),
    /// The selector matches too many elements to look at each.
    #[error("`{0}` matches too many elements; use a selector that matches fewer")]
    TooMany(String),
    /// The element of the reference is gone.
    #[error("`{0}` is gone; take a snapshot")]
    Stale(String),
    /// The element of the reference is in another tab.
    #[error("`{0}` is in another tab; take a snapshot")]
    OtherTab(String),
}

impl ReadError {
    /// Returns true if the page may be readable a moment later.
    pub(super) const fn is_temporary(&self) -> bool {
        matches!(self, Self::Changed | Self::Command(CommandError::Refused { .. }))
    }

    /// Returns the error for a selector without an element.
    pub(super) fn no_match(request: &SnapshotRequest) -> Self {
        let selector = request.selector.clone().unwrap_or_default();
        if selector.starts_with('@') { Self::Stale(selector) } else { Self::NoMatch(selector) }
    }
}
