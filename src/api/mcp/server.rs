//! MCP handler of the tool, for stdio and HTTP.
//!
//! Invariants: every refusal of a call is a tool result; only an unknown tool is a protocol error.
//!
//! Requirements: 1.1, 1.6, 1.9.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{Peer, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::api::mcp::arrival_order::TicketQueue;
use crate::api::mcp::protocol;
use crate::api::mcp::running::{cancel_on_stop, cancelable, extension, with_progress};
use crate::api::mcp::tool;
use crate::api::mcp::tool::{CODE, EXIT_CODE, INSTRUCTIONS};
use crate::call::{CallRequest, FinishedCall, OutputStyle, Pipeline};
use browser_shell_core::auth::Principal;
use browser_shell_core::output::is_content;
use browser_shell_core::policy::Policy;

/// Interval between two looks at the policy while a client is connected.
const POLICY_INTERVAL: Duration = Duration::from_secs(2);

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
    pub(crate) fn with_changes(mut self) -> Self {
        self.listed = Some(Arc::new(Mutex::new(self.tool())));
        self
    }

    /// Tells the client when the policy has changed the tool, as long as it is connected.
    pub(crate) async fn announce_changes(self, peer: Peer<RoleServer>) {
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
            Ok(_) if !services.audit.is_writing() => Some("audit lines are not written"),
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
        let config =
            if self.listed.is_some() { protocol::server_config_with_changes() } else { protocol::server_config() };
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
        return protocol::call_result(dictionary, picture, is_error);
    };
    let mut parts = [&finished.reply.stdout, &finished.reply.stderr].map(|text| text.trim_end_matches('\n'));
    // What we say precedes what the page says.
    if finished.subcommand.is_some_and(is_content) {
        parts.reverse();
    }
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    let (exit_code, code) = (finished.reply.exit_code, finished.reply.decision.code.as_str());
    let mut result = protocol::text_result(text, json!({ EXIT_CODE: exit_code, CODE: code }), picture, is_error);
    result.structured_content = with_code.then(|| json!({ "exit_code": exit_code, "code": code }));
    result
}
