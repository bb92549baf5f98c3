//! Commands of clients that wait until an act is allowed.
//!
//! Invariant: no command that names the mark of an act reaches Chromium before the act is allowed.

use tokio::sync::watch;

/// The act about which commands wait.
pub(super) struct KeptCommands {
    /// Name of the mark by which clients know its element.
    mark: String,
    is_allowed: watch::Receiver<bool>,
}

impl KeptCommands {
    /// Keeps the commands that name a mark until the act is allowed, and for ever if the sender is dropped before.
    pub(super) fn about(mark: &str) -> (watch::Sender<bool>, Self) {
        let (sender, is_allowed) = watch::channel(false);
        (sender, Self { mark: mark.to_owned(), is_allowed })
    }

    /// Returns the decision that a message of a client waits for, if it is about the act, and that is not allowed yet.
    pub(super) fn decision_for(&self, message: &str) -> Option<watch::Receiver<bool>> {
        let is_kept = !*self.is_allowed.borrow() && message.contains(&self.mark);
        is_kept.then(|| self.is_allowed.clone())
    }
}
