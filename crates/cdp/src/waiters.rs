//! Receivers of what Chromium sends, and the senders of commands that wait for an answer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use browser_shell_core::gate::read_chromium;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::oneshot;

use crate::message::CommandError;
use crate::protocol::DebugSessionId;

/// Result or error of a command, as Chromium wrote it.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The result.
    Result(&'a RawValue),
    /// The error.
    Error(&'a RawValue),
}

/// Event of a session of the protocol.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Session, `None` for the browser itself.
    pub session: Option<&'a DebugSessionId>,
    /// Method.
    pub method: &'a str,
    /// Parameters.
    pub params: Option<&'a RawValue>,
}

/// Receiver of answers and events. Its functions must not wait.
pub trait Receiver: Send + Sync {
    /// Takes the answer to a command that was sent with this tag.
    fn answer(&self, tag: u64, answer: Answer<'_>);

    /// Takes an event of one of the receiver's sessions.
    fn event(&self, event: Event<'_>);

    /// Called instead if the event is so large that it keeps others waiting.
    fn flooded(&self, _session: &DebugSessionId) {}
}

/// Error code of the protocol for a command without a result.
const SERVER_ERROR: i64 = -32000;

/// Error code of the protocol for a session that does not exist.
const NO_SESSION: i64 = -32001;

/// Message for a command whose session ended.
const SESSION_ENDED: &str = "session ended";

/// Message for a command whose answer cannot be read.
const UNREADABLE: &str = "the answer is too large or cannot be read";

/// Sender of a command that waits for its answer.
#[derive(Debug)]
pub(super) struct ResponseWaiter {
    /// Session of the command, `None` for the browser itself.
    pub(super) session: Option<DebugSessionId>,
    /// Taker of the answer.
    pub(super) taker: Taker,
}

/// Taker of an answer.
pub(super) enum Taker {
    /// A command of the gate itself.
    Own {
        /// Method, for errors.
        method: &'static str,
        /// Channel for the text of the result. Its receiver parses it: the connection reads on meanwhile.
        sender: oneshot::Sender<Result<Box<RawValue>, CommandError>>,
    },
    /// A receiver.
    Receiver {
        /// The receiver.
        receiver: Weak<dyn Receiver>,
        /// Tag that it gave to the command.
        tag: u64,
    },
}

/// Waiters by the ids of their commands.
#[derive(Debug, Default)]
pub(super) struct Waiters(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    waiters: HashMap<u64, ResponseWaiter>,
    is_closed: bool,
}

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a waiter, unless the connection has ended. It is removed when the returned value is dropped without `keep`.
    pub(super) fn add(&self, id: u64, waiter: ResponseWaiter) -> Registration<'_> {
        let mut table = self.lock();
        if !table.is_closed {
            table.waiters.insert(id, waiter);
        }
        Registration { waiters: self, id, is_kept: false }
    }

    /// Hands an answer to the command's sender.
    pub(super) fn answer(&self, id: u64, answer: Answer<'_>) {
        let waiter = self.lock().waiters.remove(&id);
        if let Some(waiter) = waiter {
            waiter.taker.take(answer);
        }
    }

    /// Tells the command's sender that the answer cannot be read.
    pub(super) fn fail(&self, id: u64) {
        let waiter = self.lock().waiters.remove(&id);
        match waiter.map(|waiter| waiter.taker) {
            Some(Taker::Own { method, sender }) => {
                let _ = sender.send(Err(CommandError::Unreadable(method)));
            }
            Some(taker) => taker.refuse(SERVER_ERROR, UNREADABLE),
            None => {}
        }
    }

    /// Ends the wait of all commands of a session.
    pub(super) fn end_session(&self, session: &DebugSessionId) {
        // A receiver may send again: it is called without the lock.
        let ended: Vec<_> = {
            let is_of_session = |_: &u64, waiter: &mut ResponseWaiter| waiter.session.as_ref() == Some(session);
            self.lock().waiters.extract_if(is_of_session).collect()
        };
        for (_, waiter) in ended {
            waiter.taker.refuse(NO_SESSION, SESSION_ENDED);
        }
    }

    /// Removes the waiters of a receiver, and of those that do not exist any more.
    pub(super) fn forget(&self, receiver: &Weak<dyn Receiver>) {
        self.lock().waiters.retain(|_, waiter| match &waiter.taker {
            Taker::Own { sender, .. } => !sender.is_closed(),
            Taker::Receiver { receiver: known, .. } => known.strong_count() > 0 && !Weak::ptr_eq(known, receiver),
        });
    }

    /// Removes all waiters, and takes no more.
    pub(super) fn close(&self) {
        let waiters = {
            let mut table = self.lock();
            table.is_closed = true;
            std::mem::take(&mut table.waiters)
        };
        drop(waiters);
    }

    /// Returns the number of waiters.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().waiters.len()
    }
}

impl Taker {
    fn take(self, answer: Answer<'_>) {
        match self {
            Self::Own { method, sender } => {
                let _ = sender.send(read(method, answer));
            }
            Self::Receiver { receiver, tag } => {
                if let Some(receiver) = receiver.upgrade() {
                    receiver.answer(tag, answer);
                }
            }
        }
    }

    /// Answers with an error of this code and message.
    fn refuse(self, code: i64, message: &str) {
        if let Ok(error) = to_raw_value(&json!({ "code": code, "message": message })) {
            self.take(Answer::Error(&error));
        }
    }
}

impl std::fmt::Debug for Taker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own { method, .. } => f.debug_struct("Own").field("method", method).finish_non_exhaustive(),
            Self::Receiver { tag, .. } => f.debug_struct("Receiver").field("tag", tag).finish_non_exhaustive(),
        }
    }
}

/// Registration of a waiter.
#[derive(Debug)]
pub(super) struct Registration<'a> {
    waiters: &'a Waiters,
    id: u64,
    is_kept: bool,
}

impl Registration<'_> {
    /// Leaves the waiter in the table until its answer.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            let waiter = self.waiters.lock().waiters.remove(&self.id);
            drop(waiter);
        }
    }
}

/// Error of Chromium.
#[derive(Deserialize)]
struct ErrorAnswer {
    message: String,
}

fn read(method: &'static str, answer: Answer<'_>) -> Result<Box<RawValue>, CommandError> {
    match answer {
        Answer::Result(result) => Ok(result.to_owned()),
        Answer::Error(error) => {
            let message =
                read_chromium(error.get()).map_or_else(|_| "unknown".to_owned(), |error: ErrorAnswer| error.message);
            Err(CommandError::Refused { method, message })
        }
    }
}
