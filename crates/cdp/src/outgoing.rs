//! Queues of messages to Chromium.
//!
//! Invariants: messages of the gate itself go first and are never dropped; those of clients wait while too many or too large
//! ones are queued, and delay each other only.

use std::sync::Arc;

use futures::{Sink, SinkExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::error::CommandError;

/// Maximum number of messages of clients that wait to be sent.
const QUEUE: usize = 1024;

/// Maximum number of bytes of clients that wait to be sent.
const MAX_QUEUED_BYTES: u32 = 64 * 1024 * 1024;

/// Sending ends of the queues.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Messages of the gate. Their number is bounded by Chromium's events and by the gate's tasks.
    own: mpsc::UnboundedSender<String>,
    clients: mpsc::Sender<Queued>,
    /// Bytes of clients that may be queued.
    budget: Arc<Semaphore>,
}

/// Receiving ends of the queues.
#[derive(Debug)]
pub(super) struct Queues {
    own: mpsc::UnboundedReceiver<String>,
    clients: mpsc::Receiver<Queued>,
}

/// Message of a client, with its part of the budget.
#[derive(Debug)]
struct Queued {
    message: String,
    permit: OwnedSemaphorePermit,
    /// Takes that the message was written.
    written: oneshot::Sender<()>,
}

/// Creates the queues.
pub(super) fn queues() -> (Outgoing, Queues) {
    let (own, own_queue) = mpsc::unbounded_channel();
    let (clients, client_queue) = mpsc::channel(QUEUE);
    let budget = Arc::new(Semaphore::new(MAX_QUEUED_BYTES as usize));
    (Outgoing { own, clients, budget }, Queues { own: own_queue, clients: client_queue })
}

impl Outgoing {
    /// Queues a message of the gate itself.
    ///
    /// # Errors
    ///
    /// `Closed` if the connection has ended.
    pub(super) fn push(&self, message: String) -> Result<(), CommandError> {
        self.own.send(message).map_err(|_| CommandError::Closed)
    }

    /// Queues a message of a client. Waits while the queue is full. The result ends when the message is written, or never will be.
    ///
    /// # Errors
    ///
    /// `Closed` if the connection has ended.
    pub(super) async fn send(&self, message: String) -> Result<oneshot::Receiver<()>, CommandError> {
        // One that is larger than the budget waits until it is alone.
        let bytes = u32::try_from(message.len()).unwrap_or(u32::MAX).min(MAX_QUEUED_BYTES);
        let permit = self.budget.clone().acquire_many_owned(bytes).await.map_err(|_| CommandError::Closed)?;
        let (written, is_written) = oneshot::channel();
        let queued = Queued { message, permit, written };
        self.clients.send(queued).await.map_err(|_| CommandError::Closed)?;
        Ok(is_written)
    }
}

impl Queues {
    /// Writes all messages, until the writer fails.
    pub(super) async fn write_to<W: Sink<String> + Unpin>(&mut self, writer: &mut W) {
        loop {
            let (message, client) = tokio::select! {
                biased;
                Some(message) = self.own.recv() => (message, None),
                Some(queued) = self.clients.recv() => (queued.message, Some((queued.permit, queued.written))),
                else => return,
            };
            if writer.send(message).await.is_err() {
                return;
            }
            if let Some((permit, written)) = client {
                drop(permit);
                // It fails if nobody waits for it.
                let _ = written.send(());
            }
        }
    }
}
