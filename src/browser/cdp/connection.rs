//! Connection to Chromium's debugging interface, over WebSocket or over a pipe.
//!
//! All sessions of the protocol share one connection. An answer goes to the sender of its command, and an event to the receiver
//! of its session.
//!
//! Invariants: queues are bounded; a receiver that does not keep up is ended, and never delays the others.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::{Sink, SinkExt, Stream, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Maximum number of messages that wait to be sent.
const QUEUE: usize = 1024;

/// Timeout for Chromium to answer one command.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a message of Chromium, in bytes.
pub(crate) const MAX_MESSAGE: usize = 128 * 1024 * 1024;

/// Reason why a command has no result.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    /// The connection has ended.
    #[error("the connection to Chromium has ended")]
    Closed,
    /// Chromium did not answer in time.
    #[error("Chromium did not answer `{0}` in time")]
    TimedOut(String),
    /// Chromium answered with an error.
    #[error("Chromium answered `{method}` with an error: {message}")]
    Refused {
        /// Method of the command.
        method: String,
        /// Chromium's message.
        message: String,
    },
}

/// Result or error of a command, as Chromium wrote it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer<'a> {
    /// The result.
    Result(&'a RawValue),
    /// The error.
    Error(&'a RawValue),
}

/// Event of a session of the protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    /// Session, `None` for the browser itself.
    pub session: Option<&'a str>,
    /// Method.
    pub method: &'a str,
    /// Parameters.
    pub params: Option<&'a RawValue>,
}

/// Receiver of answers and events. Its functions must not wait.
pub(crate) trait Receiver: Send + Sync {
    /// Takes the answer to a command that was sent with this tag.
    fn answer(&self, tag: u64, answer: Answer<'_>);

    /// Takes an event of one of the receiver's sessions.
    fn event(&self, event: Event<'_>);
}

/// Sender of a command that waits for its answer.
enum Waiter {
    Own(oneshot::Sender<Result<Value, String>>),
    Receiver { receiver: Weak<dyn Receiver>, tag: u64 },
}

/// Connection to Chromium's debugging interface.
pub(crate) struct Connection {
    next_id: AtomicU64,
    outgoing: mpsc::Sender<String>,
    waiters: Mutex<HashMap<u64, Waiter>>,
    receivers: Mutex<HashMap<String, Weak<dyn Receiver>>>,
    root: Mutex<Option<Weak<dyn Receiver>>>,
    closed: CancellationToken,
}

/// Message of Chromium.
#[derive(Deserialize)]
struct Incoming<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// Starts the exchange of messages with Chromium in tasks of their own.
    pub(crate) fn start<R, W>(mut reader: R, mut writer: W) -> Arc<Self>
    where
        R: Stream<Item = io::Result<String>> + Send + Unpin + 'static,
        W: Sink<String> + Send + Unpin + 'static,
    {
        let (outgoing, mut queue) = mpsc::channel::<String>(QUEUE);
        let connection = Arc::new(Self {
            next_id: AtomicU64::new(1),
            outgoing,
            waiters: Mutex::default(),
            receivers: Mutex::default(),
            root: Mutex::default(),
            closed: CancellationToken::new(),
        });
        let closed = connection.closed.clone();
        tokio::spawn(async move {
            let send = async {
                while let Some(message) = queue.recv().await {
                    if writer.send(message).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                () = send => {}
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
                    reading.dispatch(&message);
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
    pub(crate) fn set_root(&self, receiver: &Arc<dyn Receiver>) {
        *lock(&self.root) = Some(Arc::downgrade(receiver));
    }

    /// Sets the receiver of a session's events.
    pub(crate) fn add_session(&self, session: &str, receiver: &Arc<dyn Receiver>) {
        lock(&self.receivers).insert(session.to_owned(), Arc::downgrade(receiver));
    }

    /// Drops all further events of a session.
    pub(crate) fn remove_session(&self, session: &str) {
        lock(&self.receivers).remove(session);
    }

    /// Returns true if the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Waits until the connection has ended.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Ends the connection. Chromium then ends all contexts that were made over it.
    pub(crate) fn close(&self) {
        self.closed.cancel();
        lock(&self.waiters).clear();
        lock(&self.receivers).clear();
    }

    /// Sends a command and returns its result.
    ///
    /// # Errors
    ///
    /// Chromium's error, no answer in time, or the end of the connection.
    pub(crate) async fn command(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<Value, CommandError> {
        self.command_within(ANSWER_TIMEOUT, session, method, params).await
    }

    /// Sends a command and returns its result, if Chromium answers within the timeout.
    ///
    /// # Errors
    ///
    /// As [`Self::command`].
    pub(crate) async fn command_within(
        &self,
        timeout: Duration,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<Value, CommandError> {
        let (sender, answer) = oneshot::channel();
        let id = self.register(Waiter::Own(sender));
        let exchange = async {
            let message = encode(id, session, method, Some(&params.to_string()));
            self.outgoing.send(message).await.map_err(|_| CommandError::Closed)?;
            let refused = |message| CommandError::Refused { method: method.to_owned(), message };
            answer.await.map_err(|_| CommandError::Closed)?.map_err(refused)
        };
        let result = tokio::select! {
            result = exchange => result,
            () = tokio::time::sleep(timeout) => Err(CommandError::TimedOut(method.to_owned())),
            () = self.closed.cancelled() => Err(CommandError::Closed),
        };
        lock(&self.waiters).remove(&id);
        result
    }

    /// Sends a command whose answer goes to a receiver with this tag. Waits while the queue is full.
    ///
    /// # Errors
    ///
    /// `Closed` if the connection has ended.
    pub(crate) async fn send(
        &self,
        receiver: &Arc<dyn Receiver>,
        tag: u64,
        session: Option<&str>,
        method: &str,
        params: Option<&str>,
    ) -> Result<(), CommandError> {
        let id = self.register(Waiter::Receiver { receiver: Arc::downgrade(receiver), tag });
        let message = encode(id, session, method, params);
        tokio::select! {
            sent = self.outgoing.send(message) => sent.map_err(|_| CommandError::Closed),
            () = self.closed.cancelled() => Err(CommandError::Closed),
        }
    }

    /// Sends a command whose answer nobody needs. It is dropped if the queue is full.
    pub(crate) fn notify(&self, session: Option<&str>, method: &str, params: &Value) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let _ = self.outgoing.try_send(encode(id, session, method, Some(&params.to_string())));
    }

    fn register(&self, waiter: Waiter) -> u64 {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        if !self.is_closed() {
            lock(&self.waiters).insert(id, waiter);
        }
        id
    }

    /// Hands one message of Chromium to whom it concerns.
    fn dispatch(&self, text: &str) {
        let Ok(message) = serde_json::from_str::<Incoming<'_>>(text) else {
            tracing::warn!("Chromium sent a message that is not one of the protocol");
            return;
        };
        if let Some(id) = message.id {
            let answer = match (message.result, message.error) {
                (_, Some(error)) => Answer::Error(error),
                (Some(result), None) => Answer::Result(result),
                (None, None) => return,
            };
            let waiter = lock(&self.waiters).remove(&id);
            match waiter {
                Some(Waiter::Own(sender)) => {
                    let _ = sender.send(read_answer(answer));
                }
                Some(Waiter::Receiver { receiver, tag }) => {
                    if let Some(receiver) = receiver.upgrade() {
                        receiver.answer(tag, answer);
                    }
                }
                None => {}
            }
        } else if let Some(method) = &message.method {
            let receiver = match &message.session {
                Some(session) => lock(&self.receivers).get(&**session).and_then(Weak::upgrade),
                None => lock(&self.root).as_ref().and_then(Weak::upgrade),
            };
            if let Some(receiver) = receiver {
                receiver.event(Event { session: message.session.as_deref(), method, params: message.params });
            }
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("is_closed", &self.is_closed()).finish_non_exhaustive()
    }
}

fn read_answer(answer: Answer<'_>) -> Result<Value, String> {
    match answer {
        Answer::Result(result) => serde_json::from_str(result.get()).map_err(|error| error.to_string()),
        Answer::Error(error) => {
            let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
            Err(error.get("message").and_then(Value::as_str).unwrap_or("unknown").to_owned())
        }
    }
}

/// Returns the text of a command. `params` is the text of an object.
fn encode(id: u64, session: Option<&str>, method: &str, params: Option<&str>) -> String {
    let mut text = format!(r#"{{"id":{id},"method":{}"#, Value::from(method));
    if let Some(params) = params {
        text.push_str(r#","params":"#);
        text.push_str(params);
    }
    if let Some(session) = session {
        text.push_str(r#","sessionId":"#);
        text.push_str(&Value::from(session).to_string());
    }
    text.push('}');
    text
}
