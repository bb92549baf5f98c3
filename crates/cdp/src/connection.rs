//! Connection to Chromium's debugging interface, over WebSocket or over a pipe.
//!
//! All sessions of the protocol share one connection. An answer goes to the sender of its command, and an event to the receiver
//! of its session. Messages to Chromium wait in two queues.
//!
//! Invariants: the gate's own commands never wait for those of clients, and are never dropped; those of clients wait while too many
//! or too large ones are queued, and delay each other only; a message that cannot be read ends the wait for its answer, and not the
//! connection; an event that is far too large, or many long ones, end their sender; every command that a receiver sent is answered once, or its receiver has ended.

use std::collections::HashMap;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use browser_shell_core::gate::read_chromium;
use futures::{Sink, SinkExt, Stream, StreamExt};
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::message::{
    CommandError, Incoming, LongEvents, Received, encode, flooding_session, leading_id, session_of_long_event,
    trailing_session,
};
use crate::protocol::{CdpCommand, DebugSessionId};
use crate::waiters::{Answer, Event, Receiver, Registration, ResponseWaiter, Taker, Waiters};

/// Timeout for Chromium to answer one command.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Time in which Chromium reports the end of a renderer, while it takes what that one had sent before: somewhat longer than it is given for that.
const FLOOD_TIME: Duration = Duration::from_mins(3);

/// Maximum number of messages of clients that wait to be sent.
const QUEUE: usize = 1024;

/// Maximum number of bytes of clients that wait to be sent.
const MAX_QUEUED_BYTES: u32 = 64 * 1024 * 1024;

/// Connection to Chromium's debugging interface.
pub struct Connection {
    next_id: AtomicU64,
    outgoing: Outgoing,
    waiters: Waiters,
    receivers: Mutex<HashMap<DebugSessionId, Weak<dyn Receiver>>>,
    root: Mutex<Option<Weak<dyn Receiver>>>,
    closed: CancellationToken,
    /// Time at which a renderer was ended because Chromium did not answer.
    flood: Mutex<Option<Instant>>,
    long_events: Mutex<LongEvents>,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// Records that a renderer was ended because Chromium did not answer.
    pub fn note_flood(&self) {
        *lock(&self.flood) = Some(Instant::now());
    }

    /// Returns true if a renderer was ended because Chromium did not answer, and Chromium may report it only now.
    pub fn has_flood(&self) -> bool {
        lock(&self.flood).is_some_and(|at| at.elapsed() < FLOOD_TIME)
    }

    /// Starts the exchange of messages with a stand-in for Chromium, for tests of the crates that use this one.
    #[doc(hidden)]
    pub fn start_with_texts<R, W>(reader: R, writer: W) -> Arc<Self>
    where
        R: Stream<Item = io::Result<String>> + Send + Unpin + 'static,
        W: Sink<String> + Send + Unpin + 'static,
    {
        Self::start(reader.map(|text| text.map(Received::Text)), writer)
    }

    /// Starts the exchange of messages with Chromium in tasks of their own.
    pub(super) fn start<R, W>(mut reader: R, mut writer: W) -> Arc<Self>
    where
        R: Stream<Item = io::Result<Received>> + Send + Unpin + 'static,
        W: Sink<String> + Send + Unpin + 'static,
    {
        let (outgoing, mut queues) = queues();
        let connection = Arc::new(Self {
            next_id: AtomicU64::new(1),
            outgoing,
            waiters: Waiters::default(),
            receivers: Mutex::default(),
            root: Mutex::default(),
            closed: CancellationToken::new(),
            flood: Mutex::default(),
            long_events: Mutex::default(),
        });
        let closed = connection.closed.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = queues.write_to(&mut writer) => {}
                () = closed.cancelled() => {}
            }
            closed.cancel();
            let _ = writer.close().await;
        });
        let reading = connection.clone();
        tokio::spawn(async move {
            let closed = reading.closed.clone();
            let read = async {
                while let Some(Ok(message)) = reader.next().await {
                    reading.take(&message);
                }
            };
            tokio::select! {
                () = read => {}
                () = closed.cancelled() => {}
            }
            reading.close();
        });
        connection
    }

    /// Sets the receiver of the browser's own events.
    pub fn set_root(&self, receiver: &Arc<dyn Receiver>) {
        *lock(&self.root) = Some(Arc::downgrade(receiver));
    }

    /// Sets the receiver of a session's events.
    pub fn add_session(&self, session: &DebugSessionId, receiver: &Arc<dyn Receiver>) {
        lock(&self.receivers).insert(session.clone(), Arc::downgrade(receiver));
    }

    /// Drops all further events of a session, and answers its commands with an error.
    pub fn remove_session(&self, session: &DebugSessionId) {
        lock(&self.receivers).remove(session);
        self.waiters.end_session(session);
    }

    /// Drops all further answers and events for a receiver.
    pub fn forget_receiver(&self, receiver: &Weak<dyn Receiver>) {
        let is_kept = |known: &Weak<dyn Receiver>| known.strong_count() > 0 && !Weak::ptr_eq(known, receiver);
        lock(&self.receivers).retain(|_, known| is_kept(known));
        self.waiters.forget(receiver);
    }

    /// Returns true if the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Waits until the connection has ended.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Ends the connection. Chromium then ends all contexts that were made over it.
    pub fn close(&self) {
        self.closed.cancel();
        self.waiters.close();
        lock(&self.receivers).clear();
    }

    /// Sends a command and returns its result.
    ///
    /// # Errors
    ///
    /// Chromium's error, no answer in time, or the end of the connection.
    pub async fn send<C: CdpCommand>(
        &self,
        session: Option<&DebugSessionId>,
        command: &C,
    ) -> Result<C::Response, CommandError> {
        self.send_within(ANSWER_TIMEOUT, session, command).await
    }

    /// Sends a command and returns its result, if Chromium answers within the timeout.
    ///
    /// # Errors
    ///
    /// As [`Self::send`].
    pub async fn send_within<C: CdpCommand>(
        &self,
        timeout: Duration,
        session: Option<&DebugSessionId>,
        command: &C,
    ) -> Result<C::Response, CommandError> {
        self.begin(timeout, session, command)?.result().await
    }

    /// Sends a command and returns without its result. Chromium carries out the commands of a session in the order in which they
    /// were sent.
    ///
    /// # Errors
    ///
    /// `Closed` if the connection has ended.
    pub fn begin<C: CdpCommand>(
        &self,
        timeout: Duration,
        session: Option<&DebugSessionId>,
        command: &C,
    ) -> Result<SentCommand<'_, C>, CommandError> {
        let (sender, answer) = oneshot::channel();
        let id = self.next_id();
        let taker = Taker::Own { method: C::METHOD, sender };
        let registration = self.waiters.add(id, ResponseWaiter { session: session.cloned(), taker });
        self.outgoing.push(encode(id, session, C::METHOD, Some(&params(command))))?;
        let deadline = Instant::now() + timeout;
        Ok(SentCommand { connection: self, _registration: registration, answer, deadline, command: PhantomData })
    }

    /// Sends a command whose answer goes to a receiver with this tag. Waits while the queue is full. The result ends when Chromium can
    /// read the command, or never will: commands of the gate overtake those in the queue.
    ///
    /// # Errors
    ///
    /// `Closed` if the connection has ended.
    pub async fn forward(
        &self,
        receiver: &Arc<dyn Receiver>,
        tag: u64,
        session: Option<&DebugSessionId>,
        method: &str,
        params: Option<&str>,
    ) -> Result<oneshot::Receiver<()>, CommandError> {
        let id = self.next_id();
        let taker = Taker::Receiver { receiver: Arc::downgrade(receiver), tag };
        let registration = self.waiters.add(id, ResponseWaiter { session: session.cloned(), taker });
        let written = tokio::select! {
            sent = self.outgoing.send(encode(id, session, method, params)) => sent?,
            () = self.closed.cancelled() => return Err(CommandError::Closed),
        };
        registration.keep();
        Ok(written)
    }

    /// Sends a command whose answer nobody needs.
    pub fn notify<C: CdpCommand>(&self, session: Option<&DebugSessionId>, command: &C) {
        // It fails only when the connection has ended.
        let _ = self.outgoing.push(encode(self.next_id(), session, C::METHOD, Some(&params(command))));
    }

    /// Returns the number of commands that wait for an answer.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands one message of Chromium to whom it concerns.
    fn take(&self, message: &Received) {
        let (id, flooding) = match message {
            Received::Text(text) => {
                let long = session_of_long_event(text);
                // What is long and for a session that has ended need not be read.
                let is_for_nobody = long.as_ref().is_some_and(|session| self.receiver(Some(session)).is_none());
                let has_many =
                    |session: &DebugSessionId| lock(&self.long_events).add(session, text.len(), Instant::now());
                match flooding_session(text).or_else(|| long.filter(has_many)) {
                    None if is_for_nobody || self.dispatch(text) => return,
                    None => (leading_id(text.as_bytes()), None),
                    session => (None, session),
                }
            }
            Received::Unreadable(ends) => (leading_id(&ends.head), trailing_session(&ends.tail)),
        };
        tracing::warn!(id, "a message of Chromium is too large or cannot be read, and was skipped");
        if let Some(id) = id {
            self.waiters.fail(id);
        } else if let Some(session) = flooding
            && let Some(receiver) = self.receiver(Some(&session))
        {
            receiver.flooded(&session);
        }
    }

    /// Returns the receiver of the events of a session, or of the browser's own.
    fn receiver(&self, session: Option<&DebugSessionId>) -> Option<Arc<dyn Receiver>> {
        match session {
            Some(session) => lock(&self.receivers).get(session).and_then(Weak::upgrade),
            None => lock(&self.root).as_ref().and_then(Weak::upgrade),
        }
    }

    /// Hands on the text of a message. Returns false if it is not one of the protocol.
    fn dispatch(&self, text: &str) -> bool {
        let Ok(message) = serde_json::from_str::<Incoming<'_>>(text) else { return false };
        match (message.id, message.method) {
            (Some(id), _) => match (message.result, message.error) {
                (_, Some(error)) => self.waiters.answer(id, Answer::Error(error)),
                (Some(result), None) => self.waiters.answer(id, Answer::Result(result)),
                (None, None) => self.waiters.fail(id),
            },
            (None, Some(method)) => {
                let session = message.session.as_deref().map(DebugSessionId::from);
                if let Some(receiver) = self.receiver(session.as_ref()) {
                    let event = Event { session: session.as_ref(), method: &method, params: message.params };
                    receiver.event(event);
                }
            }
            // An error that belongs to no command.
            (None, None) => {}
        }
        true
    }
}

/// Returns the text of a command's parameters. Those of the protocol are objects with texts for keys, which always have one.
fn params(command: &impl CdpCommand) -> String {
    serde_json::to_string(command).unwrap_or_default()
}

/// Command of the gate itself that was sent. Its answer is dropped with it.
pub struct SentCommand<'a, C> {
    connection: &'a Connection,
    _registration: Registration<'a>,
    answer: oneshot::Receiver<Result<Box<RawValue>, CommandError>>,
    deadline: Instant,
    command: PhantomData<fn(C)>,
}

impl<C: CdpCommand> SentCommand<'_, C> {
    /// Waits for the result.
    ///
    /// # Errors
    ///
    /// As [`Connection::send`].
    pub async fn result(self) -> Result<C::Response, CommandError> {
        let text = self.text().await?;
        read_chromium(text.get()).map_err(|error| {
            tracing::debug!(%error, method = C::METHOD, "an answer of Chromium has another form");
            CommandError::Unreadable(C::METHOD)
        })
    }

    /// Waits for the result and returns its text. It is for large results, which the core parses.
    ///
    /// # Errors
    ///
    /// As [`Connection::send`].
    pub async fn text(mut self) -> Result<Box<RawValue>, CommandError> {
        tokio::select! {
            answer = &mut self.answer => answer.unwrap_or(Err(CommandError::Closed)),
            () = tokio::time::sleep_until(self.deadline) => Err(CommandError::TimedOut(C::METHOD)),
            () = self.connection.closed.cancelled() => Err(CommandError::Closed),
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("is_closed", &self.is_closed()).finish_non_exhaustive()
    }
}

/// Sending ends of the queues.
#[derive(Debug)]
struct Outgoing {
    /// Messages of the gate. Their number is bounded by Chromium's events and by the gate's tasks.
    own: mpsc::UnboundedSender<String>,
    clients: mpsc::Sender<Queued>,
    /// Bytes of clients that may be queued.
    budget: Arc<Semaphore>,
}

/// Receiving ends of the queues.
#[derive(Debug)]
struct Queues {
    own: mpsc::UnboundedReceiver<String>,
    clients: mpsc::Receiver<Queued>,
}

/// Message of a client, with its part of the budget.
#[derive(Debug)]
struct Queued {
    message: String,
    permit: OwnedSemaphorePermit,
    /// Records that the message was written.
    written: oneshot::Sender<()>,
}

/// Creates the queues.
fn queues() -> (Outgoing, Queues) {
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
    fn push(&self, message: String) -> Result<(), CommandError> {
        self.own.send(message).map_err(|_| CommandError::Closed)
    }

    /// Queues a message of a client. Waits while the queue is full. The result ends when the message is written, or never will be.
    ///
    /// # Errors
    ///
    /// `Closed` if the connection has ended.
    async fn send(&self, message: String) -> Result<oneshot::Receiver<()>, CommandError> {
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
    async fn write_to<W: Sink<String> + Unpin>(&mut self, writer: &mut W) {
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
