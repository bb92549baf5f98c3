//! Connection of a client: its state, the queue of messages to it, and the commands that are sent on for it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::gate::{EventHandling, Level, MethodRule, classify_event};

use crate::gateway::client::method_result::{Failure, MethodResult};
use crate::gateway::client::state::{ClientState, MAX_PENDING, Pending};
use browser_shell_browser::gate::browser::Browser;
use browser_shell_browser::gate::scope::ClientScope;
use browser_shell_cdp::Receiver;
use browser_shell_cdp::protocol::DebugSessionId;
use browser_shell_cdp::protocol::target::DetachFromTarget;

/// Maximum number of messages that wait for the client to read them.
const MAX_QUEUE: usize = 8192;

/// Maximum number of bytes that wait for the client to read them.
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// Maximum number of commands that the gate carries out itself at the same time.
const MAX_TASKS: usize = 32;

/// Client of an endpoint.
pub(crate) struct ClientConnection {
    pub(super) session: Weak<dyn ClientScope>,
    /// Kind of agent-browser that is connected.
    pub(super) kind: AgentBrowser,
    pub(super) browser: Arc<Browser>,
    outgoing: mpsc::Sender<String>,
    /// Number of bytes that wait for the client to read them.
    pub(super) queued: AtomicUsize,
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
    pub(crate) fn new(
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
