//! Connection of a client: its state, the queue of messages to it, the commands that are sent on for it, and the exchange of
//! messages until it disconnects.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, mpsc};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use browser_shell_browser::gate::GateError;
use browser_shell_browser::gate::browser::Browser;
use browser_shell_browser::gate::page::Page;
use browser_shell_browser::gate::scope::ClientScope;
use browser_shell_cdp::protocol::target::DetachFromTarget;
use browser_shell_cdp::protocol::{DebugSessionId, TargetId};
use browser_shell_cdp::{CommandError, Receiver};
use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::gate::{EventHandling, Level, MethodRule, classify_event};

/// Maximum number of messages that wait for the client to read them.
const MAX_QUEUE: usize = 8192;

/// Maximum number of bytes that wait for the client to read them.
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// Maximum number of commands that the gate carries out itself at the same time.
const MAX_TASKS: usize = 32;

/// Maximum number of sessions of the protocol that a client has.
pub(super) const MAX_SESSIONS: usize = 1024;

/// Maximum number of handles of `IO` that a client has.
pub(super) const MAX_STREAMS: usize = 64;

/// Maximum number of commands without an answer.
const MAX_PENDING: usize = 1024;

/// Error code of the protocol for a command that the server refuses.
const REFUSED: i64 = -32000;

/// Error code of the protocol for an unknown session.
const NO_SESSION: i64 = -32001;

/// Error code of the protocol for a text that is not a message.
const NOT_A_MESSAGE: i64 = -32700;

/// Client of an endpoint.
pub(in crate::gateway) struct ClientConnection {
    pub(super) session: Weak<dyn ClientScope>,
    /// Kind of agent-browser that is connected.
    pub(super) kind: AgentBrowser,
    pub(super) browser: Arc<Browser>,
    outgoing: mpsc::Sender<String>,
    /// Number of bytes that wait for the client to read them.
    queued: AtomicUsize,
    tags: AtomicU64,
    /// Slots of commands that wait for Chromium.
    pub(super) tasks: Arc<Semaphore>,
    state: Mutex<ClientState>,
    /// Ends the client.
    pub(super) stop: CancellationToken,
    pub(super) me: Weak<Self>,
}

/// Command for Chromium whose answer goes to the client.
pub(super) struct Forwarded<'a> {
    /// Id that the client gave it.
    pub(super) id: u64,
    /// Session of the protocol.
    pub(super) session: Option<&'a DebugSessionId>,
    /// Rule that allows it.
    pub(super) rule: &'static MethodRule,
    /// Text of the parameters.
    pub(super) params: Option<&'a str>,
    /// True if the answer contains a handle that then belongs to the client.
    pub(super) opens_stream: bool,
}

impl ClientConnection {
    /// Creates a client of a session. It is served by [`Self::serve`], which needs the queue.
    pub(in crate::gateway) fn new(
        session: Weak<dyn ClientScope>,
        kind: AgentBrowser,
        browser: Arc<Browser>,
    ) -> (Arc<Self>, mpsc::Receiver<String>) {
        let (outgoing, queue) = mpsc::channel(MAX_QUEUE);
        let client = Arc::new_cyclic(|me| Self {
            session,
            kind,
            browser,
            outgoing,
            queued: AtomicUsize::new(0),
            tags: AtomicU64::new(1),
            tasks: Arc::new(Semaphore::new(MAX_TASKS)),
            state: Mutex::default(),
            stop: CancellationToken::new(),
            me: me.clone(),
        });
        (client, queue)
    }

    /// Locks the state. It must not be locked while the connection to Chromium is called, which may call back.
    pub(super) fn state(&self) -> MutexGuard<'_, ClientState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the client and all its sessions.
    ///
    /// A session that is made meanwhile is ended by its maker: it is added before `stop` is read, and `stop` is set before the
    /// sessions are taken here.
    pub(super) fn end(&self) {
        self.stop.cancel();
        let sessions = std::mem::take(&mut self.state().sessions);
        for (session, owned) in sessions {
            self.browser.connection.remove_session(&session);
            if owned.level == Level::Page {
                self.notify_detach(None, &session);
            }
        }
        let receiver: Weak<dyn Receiver> = self.me.clone();
        self.browser.connection.forget_receiver(&receiver);
    }

    /// Forgets a session and those that were attached over it. Returns false if it is not one of the client.
    pub(super) fn forget_session(&self, session: &DebugSessionId) -> bool {
        let removed = self.state().remove_session(session);
        for (session, _) in &removed {
            self.browser.connection.remove_session(session);
        }
        !removed.is_empty()
    }

    /// Has Chromium end a session.
    pub(super) fn notify_detach(&self, parent: Option<&DebugSessionId>, session: &DebugSessionId) {
        self.browser.connection.notify(parent, &DetachFromTarget { session_id: session });
    }

    /// Queues a message for the client, and disconnects it if it does not read.
    pub(super) fn push(&self, message: String) {
        if self.stop.is_cancelled() {
            return;
        }
        let queued = self.queued.fetch_add(message.len(), Ordering::Relaxed) + message.len();
        if queued > MAX_QUEUED_BYTES || self.outgoing.try_send(message).is_err() {
            tracing::warn!("a client of the control gate does not read, and is disconnected");
            self.stop.cancel();
        }
    }

    /// Sends the answer to a command.
    pub(super) fn push_answer(&self, id: u64, session: Option<&DebugSessionId>, outcome: MethodResult) {
        let (name, value) = match outcome {
            Ok(result) => ("result", result),
            Err(failure) => ("error", failure.to_json()),
        };
        let mut message = format!(r#"{{"id":{id},"{name}":{value}"#);
        push_session(&mut message, session);
        self.push(message);
    }

    /// Sends an event of the browser itself, which is one of the table.
    pub(super) fn push_event(&self, method: &str, params: &Value) {
        if classify_event(Level::Root, method) != Some(EventHandling::OwnOnly) {
            return;
        }
        self.push(json!({ "method": method, "params": params }).to_string());
    }

    /// Sends a command to Chromium; its answer goes to the client.
    pub(super) async fn forward(&self, command: Forwarded<'_>) {
        let Forwarded { id, session, rule, params, opens_stream } = command;
        let Some(receiver) = self.me.upgrade() else { return };
        let receiver: Arc<dyn Receiver> = receiver;
        let tag = self.tags.fetch_add(1, Ordering::Relaxed);
        let is_input = rule.method.starts_with("Input.");
        let pending = Pending { id, session: session.cloned(), opens_stream, is_input };
        let has_room = {
            let mut state = self.state();
            let has_room = state.pending.len() < MAX_PENDING;
            if has_room {
                state.pending.insert(tag, pending);
            }
            has_room
        };
        if !has_room {
            self.push_answer(id, session, Err(Failure::refused("too many commands without an answer")));
            return;
        }
        if self.browser.connection.forward(&receiver, tag, session, rule.method, params).await.is_err() {
            self.stop.cancel();
        }
    }
}

/// Ends the text of a message, with its session.
pub(super) fn push_session(message: &mut String, session: Option<&DebugSessionId>) {
    if let Some(session) = session {
        message.push_str(r#","sessionId":"#);
        message.push_str(&Value::from(session.as_str()).to_string());
    }
    message.push('}');
}

/// Service of a client. Its sessions end when this is dropped, even if nobody waits for the end of the service.
struct EndpointService<'a>(&'a ClientConnection);

impl Drop for EndpointService<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl ClientConnection {
    /// Serves the client until it disconnects, does not read, or the session ends.
    pub(in crate::gateway) async fn serve<S>(&self, socket: WebSocketStream<S>, mut queue: mpsc::Receiver<String>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let service = EndpointService(self);
        let (mut writer, mut reader) = socket.split();
        let write = async {
            while let Some(message) = queue.recv().await {
                self.queued.fetch_sub(message.len(), Ordering::Relaxed);
                if writer.send(Message::text(message)).await.is_err() {
                    return;
                }
            }
        };
        let read = async {
            while let Some(Ok(message)) = reader.next().await {
                match message {
                    Message::Text(text) => self.receive(&text).await,
                    Message::Ping(_) | Message::Pong(_) => {}
                    // The protocol has no others.
                    Message::Binary(_) | Message::Close(_) | Message::Frame(_) => return,
                }
            }
        };
        tokio::select! {
            () = write => {}
            () = read => {}
            () = self.stop.cancelled() => {}
            () = self.browser.connection.closed() => {}
        }
        drop(service);
    }
}

/// State of a client.
#[derive(Default)]
pub(super) struct ClientState {
    /// Sessions of the protocol.
    pub(super) sessions: HashMap<DebugSessionId, Owned>,
    /// Commands that wait for Chromium's answer, by tag.
    pub(super) pending: HashMap<u64, Pending>,
    /// Handles of `IO`.
    pub(super) streams: HashSet<String>,
    /// Targets that the client is being attached to, once for each command.
    pub(super) attaching: Vec<TargetId>,
    /// True if the client is attached to each tab of its session.
    pub(super) attaches: bool,
    /// True if the client is told about each tab of its session.
    pub(super) discovers: bool,
}

/// Session of the protocol that belongs to the client.
#[derive(Clone)]
pub(super) struct Owned {
    /// Level.
    pub(super) level: Level,
    /// Tab.
    pub(super) page: Arc<Page>,
    /// Target of the tab, frame or worker.
    pub(super) target: TargetId,
    /// Session over which Chromium attached it; `None` for the browser itself.
    pub(super) parent: Option<DebugSessionId>,
}

/// Command that waits for Chromium's answer.
pub(super) struct Pending {
    /// Id that the client gave it.
    pub(super) id: u64,
    /// Session of the protocol.
    pub(super) session: Option<DebugSessionId>,
    /// True if the answer contains a handle.
    pub(super) opens_stream: bool,
    /// True if Chromium does not answer it while a dialog is open.
    pub(super) is_input: bool,
}

impl ClientState {
    /// Removes a session and those that were attached over it, which end with it. Returns all of them.
    pub(super) fn remove_session(&mut self, session: &DebugSessionId) -> Vec<(DebugSessionId, Owned)> {
        let mut removed = Vec::from_iter(self.sessions.remove_entry(session));
        let mut next = 0;
        while let Some((parent, _)) = removed.get(next) {
            let is_child = |owned: &Owned| owned.parent.as_ref() == Some(parent);
            let children = self.sessions.extract_if(|_, owned| is_child(owned)).collect::<Vec<_>>();
            removed.extend(children);
            next += 1;
        }
        removed
    }

    /// Returns true if the client is attached to a target, or is about to be.
    pub(super) fn is_attached(&self, target: &TargetId) -> bool {
        self.attaching.iter().any(|attaching| attaching == target)
            || self.sessions.values().any(|owned| owned.page.target == *target)
    }

    /// Returns true if the client may have another session.
    pub(super) fn has_room(&self) -> bool {
        self.sessions.len() + self.attaching.len() < MAX_SESSIONS
    }
}

/// Result for the client, or its error.
pub(super) type MethodResult = Result<Value, Failure>;

/// Error of the protocol.
#[derive(Debug)]
pub(super) struct Failure {
    code: i64,
    message: String,
}

impl Failure {
    /// Creates the error for a command that is refused.
    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self { code: REFUSED, message: message.into() }
    }

    /// Creates the error for a session that is not one of the client.
    pub(super) fn no_session() -> Self {
        Self { code: NO_SESSION, message: "Session with given id not found.".to_owned() }
    }

    /// Creates the error for a text that is not a message.
    pub(super) fn not_a_message(message: impl Into<String>) -> Self {
        Self { code: NOT_A_MESSAGE, message: message.into() }
    }

    /// Returns the error as the protocol has it.
    pub(super) fn to_json(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Refused { message, .. } => Self::refused(message),
            other => Self::refused(other.to_string()),
        }
    }
}

impl From<GateError> for Failure {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Command(error) => error.into(),
            other => Self::refused(other.to_string()),
        }
    }
}
