//! MCP handler of the tool, for stdio and HTTP.
//!
//! Invariants: every refusal of a call is a tool result; only an unknown tool is a protocol error.
//!
//! Requirements: 1.1, 1.6, 1.9.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use crate::api::mcp::arrival_order::TicketQueue;
use crate::api::mcp::protocol;
use crate::api::mcp::tool;
use crate::call::{CallRequest, FinishedCall, Pipeline};

/// MCP server with the tool. Clones share the pipeline.
#[derive(Clone)]
pub struct Server {
    pipeline: Arc<Pipeline>,
    tickets: TicketQueue,
}

impl Server {
    /// Creates a server that runs calls with this pipeline.
    #[must_use]
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline, tickets: TicketQueue::default() }
    }

    /// Returns the queue of tickets, for a transport that receives calls in order. Over HTTP, where calls have connections of
    /// their own, nothing issues tickets.
    #[must_use]
    pub const fn tickets(&self) -> &TicketQueue {
        &self.tickets
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        protocol::server_config()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == tool::NAME).then(tool::tool)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![tool::tool()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != tool::NAME {
            return Err(ErrorData::invalid_params(format!("unknown tool; the only tool is `{}`", tool::NAME), None));
        }
        let ticket = self.tickets.take(&context.id);
        let arguments = request.arguments.unwrap_or_default();
        let finished = self.pipeline.call_in_order(CallRequest::of_tool(&arguments), context.ct.clone(), ticket).await;
        Ok(tool_result(&finished).into())
    }
}

/// Returns the result of a call: the reply as text and as structured content, and the picture if there is one.
fn tool_result(finished: &FinishedCall) -> CallToolResult {
    let dictionary = finished.reply.to_json(finished.session.as_ref());
    let picture = finished.reply.picture.as_ref();
    let picture = picture.map(|picture| ContentBlock::image(BASE64_STANDARD.encode(&picture.png), "image/png"));
    protocol::call_result(dictionary, picture, finished.reply.exit_code != 0)
}
