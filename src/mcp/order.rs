//! Calls of one session in the order in which they came (spec [1.11]).
//!
//! The library runs every request in a task of its own, and tasks overtake each other: a `press` could run before the `fill`
//! that was sent before it. So each call gets its turn when it is read, and waits until the one before it has queued up for
//! the session. It decides only the order; who may run, and for how long a call waits, is the session's business.
//!
//! And a conversation begins with a request: until it has begun, notifications and responses are dropped, since the library
//! takes one there for the end of everything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::oneshot;

/// Beyond so many calls that never came to their turn, the oldest news is thrown away.
const MAX_KEPT: usize = 1024;

/// A call's place behind the one before it. Dropping it lets the next one go.
#[derive(Debug)]
pub struct Turn {
    before: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
}

impl Turn {
    /// Waits until the call before this one has queued up, or is over.
    pub async fn come(&mut self) {
        if let Some(before) = self.before.take() {
            // Nothing is ever sent: the other end is dropped.
            let _ = before.await;
        }
    }
}

/// The turns of calls that were read and have not begun.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    turns: HashMap<RequestId, Turn>,
    last: HashMap<String, oneshot::Receiver<()>>,
}

impl Arrivals {
    /// Takes the turn of a call.
    #[must_use]
    pub fn take(&self, id: &RequestId) -> Option<Turn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).turns.remove(id)
    }

    /// Gives a call its turn, if it is a call of a session.
    fn note(&self, message: &RxJsonRpcMessage<RoleServer>) {
        let JsonRpcMessage::Request(request) = message else { return };
        let ClientRequest::CallToolRequest(call) = &request.request else { return };
        let session = call.params.arguments.as_ref().and_then(|arguments| arguments.get("session_id")?.as_str());
        let Some(session) = session else { return };
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.len() > MAX_KEPT {
            state.last.retain(|_, done| matches!(done.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
        }
        if state.turns.len() > MAX_KEPT {
            state.turns.clear();
        }
        let (done, after) = oneshot::channel();
        let before = state.last.insert(session.to_owned(), after);
        state.turns.insert(request.id.clone(), Turn { before, _done: done });
    }
}

/// Whether a conversation begins with this message: with `initialize`, or with a request that brings its protocol version
/// along. Other requests are answered and begin nothing.
fn begins(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let known =
                meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
            known && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        }
    }
}

/// A transport that notes in which order calls come.
#[derive(Debug)]
pub struct Ordered<T> {
    inner: T,
    arrivals: Arrivals,
    begun: bool,
}

impl<T> Ordered<T> {
    /// Notes the calls of this transport.
    pub const fn new(inner: T, arrivals: Arrivals) -> Self {
        Self { inner, arrivals, begun: false }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Ordered<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.inner.receive().await?;
            self.begun |= begins(&message);
            if self.begun || matches!(message, JsonRpcMessage::Request(_)) {
                self.arrivals.note(&message);
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
