//! Arrival order of the calls of one session.

use tokio::sync::oneshot;

/// Position of a call behind the one before it. Dropping it lets the next call proceed.
#[derive(Debug)]
pub struct Ticket {
    /// Closes when the ticket of the call before this one is dropped.
    pub(crate) before: Option<oneshot::Receiver<()>>,
    pub(crate) _done: oneshot::Sender<()>,
}

impl Ticket {
    /// Waits until the call before this one waits for its session, or has ended.
    pub async fn wait(&mut self) {
        if let Some(before) = self.before.take() {
            // Nothing is ever sent; the sender is dropped.
            let _ = before.await;
        }
    }
}
