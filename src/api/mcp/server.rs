//! MCP handler of the tool, for stdio and HTTP; serving over stdio, and the arrival order of the calls of one session.
//!
//! rmcp runs each request in a task of its own, and tasks can overtake each other: a `press` could run before the `fill` that
//! was sent first. So each call over stdio gets a ticket when it is received, and waits until the call before it has queued up for the
//! session. The session decides how long a call waits.
//!
//! Invariants: every refusal of a call is a tool result; only an unknown tool, and parameters of wrong types, are protocol errors.
//!
//! Requirements: 1.1, 1.6, 1.9, 1.11.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, ContentBlock, CustomRequest, CustomResult,
    ErrorData, GetMeta, JsonRpcMessage, ListToolsResult, PaginatedRequestParams, ProtocolVersion, RequestId,
    ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{
    Peer, RequestContext, RxJsonRpcMessage, ServerInitializeError, SubscriptionContext, TxJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::json;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::api::mcp::lines::LineTransport;
use crate::api::mcp::running::{cancel_on_stop, cancelable, extension, with_progress};
use crate::api::mcp::tool::{self, CODE, EXIT_CODE, INSTRUCTIONS};
use crate::call::{CallRequest, FinishedCall, OutputStyle, Pipeline};
use crate::session::Ticket;
use browser_shell_core::auth::Principal;
use browser_shell_core::output::is_content;
use browser_shell_core::policy::Policy;

/// Interval between two looks at the policy while a client is connected.
const POLICY_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum size of a message on standard input, in bytes. A longer line is not read.
const MAX_LINE: usize = 8 * 1024 * 1024;

/// Number of tickets, or of sessions, above which those that nobody waits for are dropped.
const MAX_ENTRIES: usize = 1024;

/// MCP server with the tool. Clones share the pipeline.
#[derive(Clone)]
pub struct McpServer {
    pipeline: Arc<Pipeline>,
    tickets: TicketQueue,
    /// The entry that the client knows; `None` if the client cannot be told of changes.
    listed: Option<Arc<Mutex<Arc<Tool>>>>,
    /// The entry that was made last, which clones share.
    made: Arc<Mutex<Option<Made>>>,
}

/// Entry of the tool that was made last.
struct Made {
    policy: Arc<Policy>,
    tool: Arc<Tool>,
}

impl McpServer {
    /// Creates a server that runs calls with this pipeline.
    #[must_use]
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline, tickets: TicketQueue::default(), listed: None, made: Arc::default() }
    }

    /// Returns the server for a client that keeps its connection, and so can be told when the policy changes the tool.
    #[must_use]
    fn with_changes(mut self) -> Self {
        self.listed = Some(Arc::new(Mutex::new(self.tool())));
        self
    }

    /// Tells the client when the policy has changed the tool, as long as it is connected.
    async fn announce_changes(self, peer: Peer<RoleServer>) {
        while !peer.is_transport_closed() {
            tokio::time::sleep(POLICY_INTERVAL).await;
            self.announce_change(&peer).await;
        }
    }

    /// Tells the client if the policy has changed the tool since the client was told last. A client that did not initialize the
    /// session, as from version 2026-07-28 of the protocol on, is told by its subscription alone.
    async fn announce_change(&self, peer: &Peer<RoleServer>) {
        let Some(listed) = self.listed.as_ref().filter(|_| peer.peer_info().is_some()) else { return };
        let tool = self.tool();
        let known = std::mem::replace(&mut *listed.lock().unwrap_or_else(PoisonError::into_inner), tool.clone());
        if is_changed(&known, &tool)
            && let Err(error) = peer.notify_tool_list_changed().await
        {
            tracing::debug!(%error, "the client was not told of the changed tool");
        }
    }

    /// Returns why the server is not healthy, if it is not.
    pub(super) fn trouble(&self) -> Option<&'static str> {
        let services = self.pipeline.services();
        match services.policy.current() {
            Err(_) => Some("no policy is in force"),
            Ok(_) if !services.audit_is_writing() => Some("audit lines are not written"),
            Ok(_) => None,
        }
    }

    /// Returns the tool under the policy in force. Without a valid one, no optional subcommand is on.
    fn tool(&self) -> Arc<Tool> {
        let services = self.pipeline.services();
        let policy = services.policy.current().unwrap_or_default();
        // Every call asks twice.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.as_ref().filter(|known| known.policy == policy) {
            return known.tool.clone();
        }
        let tool = Arc::new(tool::tool(&policy, services.sessions.engine_under(&policy), services.transport.kind()));
        *made = Some(Made { policy, tool: tool.clone() });
        tool
    }

    /// Returns the queue of tickets, for a transport that receives calls in order. Over HTTP, where calls have connections of
    /// their own, nothing issues tickets.
    #[must_use]
    pub const fn tickets(&self) -> &TicketQueue {
        &self.tickets
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let config = if self.listed.is_some() { tool::server_config_with_changes() } else { tool::server_config() };
        config.with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == tool::NAME).then(|| Tool::clone(&self.tool()))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![Tool::clone(&self.tool())]))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // From the answer to this on, the client counts on hearing of each change.
        *self.listed.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner) = self.tool();
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let listed = self.listed.as_ref().map(|listed| listed.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let mut known = listed.unwrap_or_else(|| self.tool());
        while context.accepted().tools_list_changed == Some(true) {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = tokio::time::sleep(POLICY_INTERVAL) => {}
            }
            let tool = self.tool();
            if is_changed(&known, &tool) {
                known = tool;
                let sent = context.sink().notify_tool_list_changed().await;
                sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
        }
        context.cancelled().await;
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(tool::refuse_custom(&request, &context.meta))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != tool::NAME {
            return Err(ErrorData::invalid_params(format!("unknown tool; the only tool is `{}`", tool::NAME), None));
        }
        let server = self.clone();
        let run = move |context: RequestContext<RoleServer>, cancel: CancellationToken| async move {
            let ticket = server.tickets.take(&context.id);
            let arguments = request.arguments.unwrap_or_default();
            let request = CallRequest::of_tool(&arguments).of_principal(extension::<Principal>(&context).cloned());
            let call = server.pipeline.call_in_order(request, cancel.clone(), ticket);
            let finished = Box::pin(with_progress(cancel_on_stop(call, &cancel, &context), &context)).await;
            server.announce_change(&context.peer).await;
            tool_result(&finished).into()
        };
        cancelable(context, run).await
    }
}

/// Returns true if two entries differ. Most are the same one.
fn is_changed(known: &Arc<Tool>, tool: &Arc<Tool>) -> bool {
    !Arc::ptr_eq(known, tool) && known != tool
}

/// Returns the result of a call: the reply as text and as structured content, or as plain text, and the picture if there is one.
fn tool_result(finished: &FinishedCall) -> CallToolResult {
    let is_error = finished.reply.exit_code != 0;
    let dictionary = finished.reply.to_json(finished.session.as_ref());
    let picture = finished.reply.picture.as_ref();
    let picture = picture.map(|picture| ContentBlock::image(BASE64_STANDARD.encode(&picture.png), "image/png"));
    let OutputStyle::Plain { with_code } = finished.style else {
        return tool::call_result(dictionary, picture, is_error);
    };
    let mut parts = [&finished.reply.stdout, &finished.reply.stderr].map(|text| text.trim_end_matches('\n'));
    // What we say precedes what the page says.
    if finished.subcommand.is_some_and(is_content) {
        parts.reverse();
    }
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    let (exit_code, code) = (finished.reply.exit_code, finished.reply.decision.code.as_str());
    let mut result = tool::text_result(text, json!({ EXIT_CODE: exit_code, CODE: code }), picture, is_error);
    result.structured_content = with_code.then(|| json!({ "exit_code": exit_code, "code": code }));
    result
}

/// Error of an MCP session over stdio.
#[derive(Debug, Error)]
pub(crate) enum StdioError {
    /// The client did not start the session as the protocol requires.
    #[error("the MCP session did not start: {0}")]
    Initialize(Box<ServerInitializeError>),
    /// The session ended with an error.
    #[error("the MCP session failed: {0}")]
    Session(tokio::task::JoinError),
}

/// Serves one client over standard input and output until it disconnects or `stop` is canceled.
///
/// # Errors
///
/// See [`StdioError`]. A client that disconnects before it sends anything is not an error.
pub(crate) async fn serve_stdio(server: McpServer, stop: CancellationToken) -> Result<(), StdioError> {
    let (input, output) = stdio_pipes();
    let transport = LineTransport::new(input, output, MAX_LINE);
    let transport = OrderedTransport::new(transport, server.tickets().clone());
    let server = server.with_changes();
    let announcer = server.clone();
    let service = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        started = server.serve_with_ct(transport, stop.clone()) => match started {
            Ok(service) => service,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(StdioError::Initialize(Box::new(error))),
        },
    };
    let announcing = tokio::spawn(announcer.announce_changes(service.peer().clone()));
    let ended = service.waiting().await;
    announcing.abort();
    ended.map(|_| ()).map_err(StdioError::Session)
}

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

/// Transport that issues tickets to calls in their arrival order. It also drops notifications and responses before the first request of a
/// conversation, since rmcp ends the connection on one.
#[derive(Debug)]
struct OrderedTransport<T> {
    inner: T,
    tickets: TicketQueue,
    has_started: bool,
}

impl<T> OrderedTransport<T> {
    /// Wraps a transport, with the queue that its calls get their tickets from.
    const fn new(inner: T, tickets: TicketQueue) -> Self {
        Self { inner, tickets, has_started: false }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for OrderedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // A call that was refused before it began leaves its ticket, for which the next one of its session would wait.
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        drop(answered.and_then(|id| self.tickets.take(id)));
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
