//! Client of an endpoint: one WebSocket connection of a session's agent-browser.
//!
//! A command is parsed, checked against the table of the core, and sent on with an id of the gate's own. Answers and events go
//! back to the client if they belong to a session that the gate gave to it.
//!
//! Invariants: the client reaches the targets of its session and no others; a client that does not read is disconnected.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::{SinkExt, StreamExt};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, mpsc};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use browser_shell_core::gate::{ClientMessage, DocumentUrl, Handling, Level, Rule, classify, classify_url};

use crate::browser::cdp::{Answer, CommandError, Event, Receiver, parse_params};
use crate::gate::hub::Hub;
use crate::gate::page::{Page, text};
use crate::gate::scope::ClientScope;

/// Maximum number of messages that wait for the client to read them.
const MAX_QUEUE: usize = 8192;

/// Maximum number of bytes that wait for the client to read them.
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// Maximum number of sessions of the protocol that a client has.
const MAX_SESSIONS: usize = 1024;

/// Maximum number of handles of `IO` that a client has.
const MAX_STREAMS: usize = 64;

/// Maximum number of tabs of a session to which a client can add another one.
const MAX_TABS: usize = 64;

/// Maximum number of commands without an answer.
const MAX_PENDING: usize = 1024;

/// Maximum number of commands that the gate carries out itself at the same time.
const MAX_TASKS: usize = 32;

/// Error code of the protocol for a command that the server refuses.
const REFUSED: i64 = -32000;

/// Error code of the protocol for an unknown session.
const NO_SESSION: i64 = -32001;

/// Error code of the protocol for a text that is not a message.
const NOT_A_MESSAGE: i64 = -32700;

/// Client of an endpoint.
pub(super) struct ClientConnection {
    session: Weak<dyn ClientScope>,
    hub: Arc<Hub>,
    outgoing: mpsc::Sender<String>,
    queued: AtomicUsize,
    tags: AtomicU64,
    tasks: Arc<Semaphore>,
    state: Mutex<State>,
    pub(super) stop: CancellationToken,
    me: Weak<Self>,
}

#[derive(Default)]
struct State {
    sessions: HashMap<String, Owned>,
    pending: HashMap<u64, Pending>,
    /// Handles of `IO`.
    streams: HashSet<String>,
    attaches: bool,
    discovers: bool,
}

/// Session of the protocol that belongs to the client.
#[derive(Clone)]
struct Owned {
    level: Level,
    page: Arc<Page>,
}

/// Command that waits for Chromium's answer.
struct Pending {
    id: u64,
    session: Option<String>,
    opens_stream: bool,
    is_input: bool,
}

/// Command of the client that the gate carries out itself.
struct Request {
    id: u64,
    session: Option<String>,
    page: Option<Arc<Page>>,
    rule: &'static Rule,
    params: Value,
}

/// Result for the client, or the error code and message.
type Outcome = Result<Value, (i64, String)>;

fn refused(message: impl Into<String>) -> (i64, String) {
    (REFUSED, message.into())
}

impl From<CommandError> for (i64, String) {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Refused { message, .. } => (REFUSED, message),
            other => (REFUSED, other.to_string()),
        }
    }
}

impl ClientConnection {
    /// Creates a client of a session. It is served by [`Self::serve`], which needs the queue.
    pub(super) fn new(session: Weak<dyn ClientScope>, hub: Arc<Hub>) -> (Arc<Self>, mpsc::Receiver<String>) {
        let (outgoing, queue) = mpsc::channel(MAX_QUEUE);
        let client = Arc::new_cyclic(|me| Self {
            session,
            hub,
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

    /// Serves the client until it disconnects, does not read, or the session ends.
    pub(super) async fn serve<S>(&self, socket: WebSocketStream<S>, mut queue: mpsc::Receiver<String>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
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
            () = self.hub.connection.closed() => {}
        }
        self.stop.cancel();
        self.detach_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all sessions of the client.
    fn detach_all(&self) {
        let sessions = std::mem::take(&mut self.state().sessions);
        for (session, owned) in sessions {
            self.hub.connection.remove_session(&session);
            if owned.level == Level::Page {
                self.hub.connection.notify(None, "Target.detachFromTarget", &json!({ "sessionId": session }));
            }
        }
        let receiver: Weak<dyn Receiver> = self.me.clone();
        self.hub.connection.forget_receiver(&receiver);
    }

    /// Queues a message for the client, and disconnects it if it does not read.
    fn push(&self, message: String) {
        let queued = self.queued.fetch_add(message.len(), Ordering::Relaxed) + message.len();
        if queued > MAX_QUEUED_BYTES || self.outgoing.try_send(message).is_err() {
            tracing::warn!("a client of the control gate does not read, and is disconnected");
            self.stop.cancel();
        }
    }

    fn push_answer(&self, id: u64, session: Option<&str>, outcome: Outcome) {
        let mut message = match outcome {
            Ok(result) => json!({ "id": id, "result": result }),
            Err((code, message)) => json!({ "id": id, "error": { "code": code, "message": message } }),
        };
        if let (Some(session), Some(members)) = (session, message.as_object_mut()) {
            members.insert("sessionId".to_owned(), session.into());
        }
        self.push(message.to_string());
    }

    /// Sends an event of the browser itself.
    fn push_event(&self, method: &str, params: &Value) {
        self.push(json!({ "method": method, "params": params }).to_string());
    }

    /// Takes a message of the client.
    async fn receive(&self, text: &str) {
        let message = match ClientMessage::parse(text) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "a client of the control gate sent no message of the protocol");
                let error = json!({ "code": NOT_A_MESSAGE, "message": error.to_string() });
                self.push(json!({ "error": error }).to_string());
                return;
            }
        };
        let find = |session: &str| self.state().sessions.get(session).cloned();
        let owned = message.session_id.as_deref().and_then(find);
        if let (Some(session), None) = (message.session_id.as_deref(), &owned) {
            let error = (NO_SESSION, "Session with given id not found.".to_owned());
            self.push_answer(message.id, Some(session), Err(error));
            return;
        }
        let level = owned.as_ref().map_or(Level::Root, |owned| owned.level);
        let Some(gate) = self.session.upgrade() else { return self.stop.cancel() };
        let Some(rule) = classify(gate.kind(), level, &message.method) else {
            gate.count_refusal(level, &message.method);
            let error = refused(format!("`{}` is not allowed here by the control gate", message.method));
            self.push_answer(message.id, message.session_id.as_deref(), Err(error));
            return;
        };
        let is_usable = owned.as_ref().is_none_or(|owned| owned.page.is_usable());
        if !is_usable && !matches!(rule.handling, Handling::AnswerEmpty | Handling::Detach) {
            let error = refused("the tab shows a page of the browser itself");
            self.push_answer(message.id, message.session_id.as_deref(), Err(error));
            return;
        }
        let session = message.session_id.as_deref().map(str::to_owned);
        if rule.handling == Handling::Forward {
            self.forward(message.id, session, rule, message.params.map(RawValue::get), false).await;
            return;
        }
        let params = message.params.map_or("{}", RawValue::get);
        let Ok(params) = serde_json::from_str(params) else {
            self.push_answer(message.id, session.as_deref(), Err(refused("the parameters cannot be read")));
            return;
        };
        let request = Request { id: message.id, session, page: owned.map(|owned| owned.page), rule, params };
        // Commands of the gate's own wait for Chromium, and must not keep the client from sending others.
        let (Some(client), Ok(permit)) = (self.me.upgrade(), self.tasks.clone().acquire_owned().await) else { return };
        tokio::spawn(async move {
            client.carry_out(request, &gate).await;
            drop(permit);
        });
    }

    /// Sends a command to Chromium; its answer goes to the client.
    async fn forward(
        &self,
        id: u64,
        session: Option<String>,
        rule: &'static Rule,
        params: Option<&str>,
        opens_stream: bool,
    ) {
        let Some(receiver) = self.me.upgrade() else { return };
        let receiver: Arc<dyn Receiver> = receiver;
        let tag = self.tags.fetch_add(1, Ordering::Relaxed);
        {
            let mut state = self.state();
            if state.pending.len() >= MAX_PENDING {
                drop(state);
                self.push_answer(id, session.as_deref(), Err(refused("too many commands without an answer")));
                return;
            }
            let is_input = rule.method.starts_with("Input.");
            state.pending.insert(tag, Pending { id, session: session.clone(), opens_stream, is_input });
        }
        if self.hub.connection.send(&receiver, tag, session.as_deref(), rule.method, params).await.is_err() {
            self.stop.cancel();
        }
    }

    /// Carries out a command that is not sent on as it is.
    async fn carry_out(&self, request: Request, gate: &Arc<dyn ClientScope>) {
        let (id, session) = (request.id, request.session.clone());
        let outcome = match request.rule.handling {
            Handling::Forward => return,
            Handling::AnswerEmpty => Ok(json!({})),
            Handling::Version => self.hub.root("Browser.getVersion", &json!({})).await.map_err(Into::into),
            Handling::AutoAttach if request.session.is_none() => self.attach_to_all(&request.params, gate).await,
            Handling::AutoAttach => {
                let is_on = request.params.get("autoAttach").and_then(Value::as_bool).unwrap_or_default();
                let kinds = json!([{ "type": "iframe" }, { "type": "worker" }]);
                let params =
                    json!({ "autoAttach": is_on, "waitForDebuggerOnStart": false, "flatten": true, "filter": kinds });
                return self.forward(id, session, request.rule, Some(&params.to_string()), false).await;
            }
            Handling::Discover => {
                self.discover(&request.params, gate);
                Ok(json!({}))
            }
            Handling::TargetInfo => self.target_info(&request.params, gate),
            Handling::Targets => {
                let infos: Vec<_> = gate.pages(&self.hub).iter().map(|page| page.to_target_info()).collect();
                Ok(json!({ "targetInfos": infos }))
            }
            Handling::Attach => match self.own_page(&request.params, gate) {
                Ok(page) => self.attach(&page).await.map(|session| json!({ "sessionId": session })),
                Err(error) => Err(error),
            },
            Handling::Detach => self.detach(&request).await,
            Handling::Close => match self.own_page(&request.params, gate) {
                Ok(page) => self.hub.close_page(&page).await.map(|()| json!({ "success": true })).map_err(Into::into),
                Err(error) => Err(error),
            },
            Handling::Activate => match self.own_page(&request.params, gate) {
                Ok(page) => {
                    let target = json!({ "targetId": page.target });
                    self.hub.root("Target.activateTarget", &target).await.map_err(Into::into)
                }
                Err(error) => Err(error),
            },
            Handling::Create => self.create(&request.params, gate).await,
            Handling::Navigate => match navigation(&request.params) {
                Ok(params) => return self.forward(id, session, request.rule, Some(&params), false).await,
                Err(error) => Err(error),
            },
            Handling::History => match self.history(&request).await {
                Ok(params) => return self.forward(id, session, request.rule, Some(&params), false).await,
                Err(error) => Err(error),
            },
            Handling::Cookies => match cookies(&request, gate) {
                Ok(params) => return self.forward(id, session, request.rule, Some(&params), false).await,
                Err(error) => Err(error),
            },
            Handling::OpenStream => {
                return self.forward(id, session, request.rule, Some(&request.params.to_string()), true).await;
            }
            Handling::UseStream => {
                let handle = text(&request.params, "handle").unwrap_or_default();
                let is_closed = request.rule.method == "IO.close";
                let is_own = {
                    let mut state = self.state();
                    if is_closed { state.streams.remove(&handle) } else { state.streams.contains(&handle) }
                };
                if is_own {
                    return self.forward(id, session, request.rule, Some(&request.params.to_string()), false).await;
                }
                Err(refused("the handle is not one of this client"))
            }
        };
        self.push_answer(id, session.as_deref(), outcome);
    }

    async fn attach_to_all(&self, params: &Value, gate: &Arc<dyn ClientScope>) -> Outcome {
        let is_on = params.get("autoAttach").and_then(Value::as_bool).unwrap_or_default();
        let was_on = std::mem::replace(&mut self.state().attaches, is_on);
        if is_on && !was_on {
            for page in gate.pages(&self.hub) {
                self.announce(&page).await;
            }
        }
        Ok(json!({}))
    }

    /// Attaches the client to a tab and tells it.
    async fn announce(&self, page: &Arc<Page>) {
        let is_attached = self.state().sessions.values().any(|owned| owned.page.target == page.target);
        if is_attached {
            return;
        }
        if let Err((_, error)) = self.attach(page).await {
            tracing::debug!(error, "cannot attach a client to a tab");
        }
    }

    /// Attaches the client to a tab, and returns the session.
    async fn attach(&self, page: &Arc<Page>) -> Result<String, (i64, String)> {
        if self.state().sessions.len() >= MAX_SESSIONS {
            return Err(refused("too many sessions"));
        }
        let params = json!({ "targetId": page.target, "flatten": true });
        let attached = self.hub.root("Target.attachToTarget", &params).await?;
        let session = text(&attached, "sessionId").ok_or_else(|| refused("Chromium named no session"))?;
        let Some(client) = self.me.upgrade() else { return Err(refused("the client has disconnected")) };
        let receiver: Arc<dyn Receiver> = client;
        self.hub.connection.add_session(&session, &receiver);
        self.state().sessions.insert(session.clone(), Owned { level: Level::Page, page: page.clone() });
        let info = page.to_target_info();
        let event = json!({ "sessionId": session, "targetInfo": info, "waitingForDebugger": false });
        self.push_event("Target.attachedToTarget", &event);
        Ok(session)
    }

    async fn detach(&self, request: &Request) -> Outcome {
        let session = text(&request.params, "sessionId").unwrap_or_default();
        if self.state().sessions.remove(&session).is_none() {
            return Err((NO_SESSION, "Session with given id not found.".to_owned()));
        }
        self.hub.connection.remove_session(&session);
        let params = json!({ "sessionId": session });
        Ok(self.hub.connection.command(request.session.as_deref(), request.rule.method, &params).await?)
    }

    fn discover(&self, params: &Value, gate: &Arc<dyn ClientScope>) {
        let is_on = params.get("discover").and_then(Value::as_bool).unwrap_or_default();
        let was_on = std::mem::replace(&mut self.state().discovers, is_on);
        if is_on && !was_on {
            for page in gate.pages(&self.hub) {
                self.push_event("Target.targetCreated", &json!({ "targetInfo": page.to_target_info() }));
            }
        }
    }

    fn target_info(&self, params: &Value, gate: &Arc<dyn ClientScope>) -> Outcome {
        if params.get("targetId").is_some() {
            return Ok(json!({ "targetInfo": self.own_page(params, gate)?.to_target_info() }));
        }
        let browser = json!({
            "targetId": "browser", "type": "browser", "title": "", "url": "", "attached": true, "canAccessOpener": false,
        });
        Ok(json!({ "targetInfo": browser }))
    }

    /// Returns the tab of the session that the parameters name.
    fn own_page(&self, params: &Value, gate: &Arc<dyn ClientScope>) -> Result<Arc<Page>, (i64, String)> {
        let target = text(params, "targetId").unwrap_or_default();
        let own = gate.pages(&self.hub).into_iter().find(|page| page.target == target);
        own.ok_or_else(|| refused("No target with given id found"))
    }

    async fn create(&self, params: &Value, gate: &Arc<dyn ClientScope>) -> Outcome {
        let url = text(params, "url").unwrap_or_default();
        let url = if url.is_empty() { "about:blank".to_owned() } else { url };
        check_url(&url)?;
        if gate.pages(&self.hub).len() >= MAX_TABS {
            return Err(refused("too many tabs"));
        }
        let page = gate.create_page(&self.hub, &url).await.map_err(|error| refused(error.to_string()))?;
        Ok(json!({ "targetId": page.target }))
    }

    /// Returns the parameters of a step in the history, if its entry may be opened.
    async fn history(&self, request: &Request) -> Result<String, (i64, String)> {
        let entry = request.params.get("entryId").and_then(Value::as_i64);
        let (Some(entry), Some(page)) = (entry, &request.page) else { return Err(refused("no entry is named")) };
        let history = self.hub.connection.command(Some(&page.session), "Page.getNavigationHistory", &json!({})).await?;
        let entries = history.get("entries").and_then(Value::as_array).cloned().unwrap_or_default();
        let found = entries.iter().find(|known| known.get("id").and_then(Value::as_i64) == Some(entry));
        let url = found.and_then(|entry| text(entry, "url")).ok_or_else(|| refused("No entry with passed id"))?;
        match classify_url(&url) {
            DocumentUrl::Web | DocumentUrl::Blank | DocumentUrl::PageMade => {
                Ok(json!({ "entryId": entry }).to_string())
            }
            DocumentUrl::ErrorPage | DocumentUrl::Internal => Err(refused("the entry of the history is not opened")),
        }
    }

    /// Tells the client about a new tab of its session.
    pub(super) fn page_opened(&self, page: &Arc<Page>) {
        let (attaches, discovers) = {
            let state = self.state();
            (state.attaches, state.discovers)
        };
        if discovers {
            self.push_event("Target.targetCreated", &json!({ "targetInfo": page.to_target_info() }));
        }
        if let (true, Some(client)) = (attaches, self.me.upgrade()) {
            let page = page.clone();
            tokio::spawn(async move { client.announce(&page).await });
        }
    }

    /// Tells the client that a tab of its session shows another page.
    pub(super) fn page_changed(&self, page: &Page) {
        if self.state().discovers {
            self.push_event("Target.targetInfoChanged", &json!({ "targetInfo": page.to_target_info() }));
        }
    }

    /// Tells the client that a tab of its session was closed.
    pub(super) fn page_closed(&self, page: &Page) {
        let (ended, discovers) = {
            let mut state = self.state();
            let of_page = |owned: &Owned| owned.page.target == page.target;
            let ended: Vec<_> = state
                .sessions
                .iter()
                .filter(|(_, owned)| of_page(owned))
                .map(|(session, owned)| (session.clone(), owned.level))
                .collect();
            state.sessions.retain(|_, owned| !of_page(owned));
            (ended, state.discovers)
        };
        for (session, level) in ended {
            if level == Level::Page {
                let event = json!({ "sessionId": session, "targetId": page.target });
                self.push_event("Target.detachedFromTarget", &event);
            }
            // Afterwards: a client that knows of the end takes the error of a waiting command for its cause.
            self.hub.connection.remove_session(&session);
        }
        if discovers {
            self.push_event("Target.targetDestroyed", &json!({ "targetId": page.target }));
        }
    }

    /// Answers input that waits for a dialog of a tab: Chromium answers it only when the dialog is closed.
    pub(super) fn release_input(&self, page: &Page) {
        let released: Vec<Pending> = {
            let mut state = self.state();
            let State { sessions, pending, .. } = &mut *state;
            let is_of_page = |pending: &Pending| {
                let session = pending.session.as_ref().and_then(|session| sessions.get(session));
                pending.is_input && session.is_some_and(|owned| owned.page.target == page.target)
            };
            let tags: Vec<_> = pending.iter().filter(|(_, entry)| is_of_page(entry)).map(|(tag, _)| *tag).collect();
            tags.iter().filter_map(|tag| pending.remove(tag)).collect()
        };
        for pending in released {
            self.push_answer(pending.id, pending.session.as_deref(), Ok(json!({})));
        }
    }

    /// Takes a frame or worker that Chromium attached the client to. Returns false if the client must not know it.
    fn take_child(&self, parent: &str, params: &Value) -> bool {
        let Some(owned) = self.state().sessions.get(parent).cloned() else { return false };
        let (Some(session), Some(info)) = (text(params, "sessionId"), params.get("targetInfo")) else { return false };
        let level = match text(info, "type").as_deref() {
            Some("iframe") => Some(Level::Frame),
            Some("worker") => Some(Level::Worker),
            _ => None,
        };
        let context = text(info, "browserContextId");
        let level = level.filter(|_| context.is_none_or(|context| context == owned.page.context));
        let (Some(level), Some(client)) = (level, self.me.upgrade()) else {
            self.hub.connection.notify(Some(parent), "Target.detachFromTarget", &json!({ "sessionId": session }));
            return false;
        };
        let receiver: Arc<dyn Receiver> = client;
        self.hub.connection.add_session(&session, &receiver);
        self.state().sessions.insert(session, Owned { level, page: owned.page });
        true
    }
}

/// Returns the parameters of a navigation, if its URL may be opened by a command.
fn navigation(params: &Value) -> Result<String, (i64, String)> {
    check_url(&text(params, "url").unwrap_or_default())?;
    Ok(params.to_string())
}

/// Returns the parameters of a command about cookies: those of the session's own context.
fn cookies(request: &Request, gate: &Arc<dyn ClientScope>) -> Result<String, (i64, String)> {
    if !gate.allows_cookies() {
        gate.count_refusal(request.page.as_ref().map_or(Level::Root, |_| Level::Page), request.rule.method);
        return Err(refused("the policy does not enable cookies"));
    }
    let mut params = request.params.clone();
    if let (Some(members), None) = (params.as_object_mut(), &request.page) {
        members.remove("browserContextId");
        if let Some(context) = gate.context_id() {
            members.insert("browserContextId".to_owned(), context.into());
        }
    }
    Ok(params.to_string())
}

/// Checks a URL that a command opens.
fn check_url(url: &str) -> Result<(), (i64, String)> {
    match classify_url(url) {
        DocumentUrl::Web => Ok(()),
        DocumentUrl::Blank if url == "about:blank" => Ok(()),
        _ => Err(refused("only http, https and about:blank are opened")),
    }
}

impl Receiver for ClientConnection {
    fn answer(&self, tag: u64, answer: Answer<'_>) {
        let Some(pending) = self.state().pending.remove(&tag) else { return };
        let (name, raw) = match answer {
            Answer::Result(result) => ("result", result),
            Answer::Error(error) => ("error", error),
        };
        if let (true, Answer::Result(result)) = (pending.opens_stream, answer) {
            let result: Value = serde_json::from_str(result.get()).unwrap_or_default();
            let mut state = self.state();
            if state.streams.len() < MAX_STREAMS {
                state.streams.extend(text(&result, "stream"));
            }
        }
        let mut message = format!(r#"{{"id":{},"{name}":{}"#, pending.id, raw.get());
        push_session(&mut message, pending.session.as_deref());
        self.push(message);
    }

    fn event(&self, event: Event<'_>) {
        let Some(session) = event.session.filter(|session| self.state().sessions.contains_key(*session)) else {
            return;
        };
        let mut ended = None;
        match event.method {
            // The gate answers dialogs and file choosers, for both kinds of agent-browser alike.
            "Page.javascriptDialogOpening" | "Page.javascriptDialogClosed" | "Page.fileChooserOpened" => return,
            "Target.attachedToTarget" => {
                let params = parse_params(event.params);
                if !self.take_child(session, &params) {
                    return;
                }
            }
            "Target.detachedFromTarget" => {
                let child = text(&parse_params(event.params), "sessionId").unwrap_or_default();
                if self.state().sessions.remove(&child).is_none() {
                    return;
                }
                ended = Some(child);
            }
            method if method.starts_with("Target.") || method.starts_with("Fetch.") => return,
            _ => {}
        }
        let params = event.params.map_or("{}", RawValue::get);
        let mut message = format!(r#"{{"method":{},"params":{params}"#, Value::from(event.method));
        push_session(&mut message, Some(session));
        self.push(message);
        if let Some(child) = ended {
            // After the event: a client that knows of the end takes the error of a waiting command for its cause.
            self.hub.connection.remove_session(&child);
        }
    }
}

/// Ends the text of a message, with its session.
fn push_session(message: &mut String, session: Option<&str>) {
    if let Some(session) = session {
        message.push_str(r#","sessionId":"#);
        message.push_str(&Value::from(session).to_string());
    }
    message.push('}');
}
