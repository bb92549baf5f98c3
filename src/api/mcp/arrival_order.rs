//! Arrival order of the calls of one session.
//!
//! rmcp runs each request in a task of its own, and tasks can overtake each other: a `press` could run before the `fill` that
//! was sent first. So each call gets a ticket when it is received, and waits until the call before it has queued up for the
//! session. The session decides how long a call waits.
//!
//! The transport also drops notifications and responses before the first request of a conversation, since rmcp ends the
//! connection on one.
//!
//! Requirement 1.11.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::oneshot;

use crate::session::Ticket;

/// Number of tickets, or of sessions, above which those that nobody waits for are dropped.
const MAX_ENTRIES: usize = 1024;

/// Tickets of calls that were received and have not started. Clones share the queue.
#[derive(Clone, Debug, Default)]
pub struct TicketQueue(Arc<Mutex<ArrivalState>>);

#[derive(Debug, Default)]
struct ArrivalState {
    tickets: HashMap<RequestId, Ticket>,
    /// The end of the last ticket of each session.
    last_in_session: HashMap<String, oneshot::Receiver<()>>,
}

impl TicketQueue {
    /// Removes and returns the ticket of a call.
    #[must_use]
    pub fn take(&self, id: &RequestId) -> Option<Ticket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).tickets.remove(id)
    }

    /// Issues a ticket for a message, if it is a call of a session.
    fn issue(&self, message: &RxJsonRpcMessage<RoleServer>) {
        let JsonRpcMessage::Request(request) = message else { return };
        let ClientRequest::CallToolRequest(call) = &request.request else { return };
        let session = call.params.arguments.as_ref().and_then(|arguments| arguments.get("session_id")?.as_str());
        let Some(session) = session else { return };
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last_in_session.len() > MAX_ENTRIES {
            state.last_in_session.retain(|_, done| matches!(done.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
        }
        if state.tickets.len() > MAX_ENTRIES {
            state.tickets.clear();
        }
        let (done, after) = oneshot::channel();
        let before = state.last_in_session.insert(session.to_owned(), after);
        state.tickets.insert(request.id.clone(), Ticket { before, _done: done });
    }
}

/// Returns true if this message starts an MCP conversation: `initialize`, or a request that carries its protocol version. Other
/// requests get an answer but start nothing.
fn starts_conversation(message: &RxJsonRpcMessage<RoleServer>) -> bool {
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

/// Transport that issues tickets to calls in their arrival order.
#[derive(Debug)]
pub(crate) struct OrderedTransport<T> {
    inner: T,
    tickets: TicketQueue,
    has_started: bool,
}

impl<T> OrderedTransport<T> {
    /// Wraps a transport, with the queue that its calls get their tickets from.
    pub(crate) const fn new(inner: T, tickets: TicketQueue) -> Self {
        Self { inner, tickets, has_started: false }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for OrderedTransport<T> {
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
            self.has_started |= starts_conversation(&message);
            if self.has_started || matches!(message, JsonRpcMessage::Request(_)) {
                self.tickets.issue(&message);
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
