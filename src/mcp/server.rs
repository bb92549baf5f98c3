//! The handler behind both transports (spec [1.1], [1.6], [1.9]).
//!
//! Decides what is an answer of the tool and what an error of the protocol: only an unknown tool is the latter.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use super::order::Arrivals;
use super::{shape, tool};
use crate::pipeline::{Ask, Finished, Pipeline};

/// The server. Clones share the pipeline.
#[derive(Clone)]
pub struct Server {
    pipeline: Arc<Pipeline>,
    arrivals: Arrivals,
}

impl Server {
    /// Serves calls with this pipeline.
    #[must_use]
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline, arrivals: Arrivals::default() }
    }

    /// The order in which calls come, for the transport that reads them. Without one that notes it, as over HTTP, where calls
    /// come on connections of their own, there is none.
    #[must_use]
    pub const fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        shape::server()
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
        let turn = self.arrivals.take(&context.id);
        let arguments = request.arguments.unwrap_or_default();
        let finished = self.pipeline.call_in_turn(Ask::of_tool(&arguments), context.ct.clone(), turn).await;
        Ok(result(&finished).into())
    }
}

/// The result of a call: the dictionary as text and as structured content, and the picture if there is one.
fn result(finished: &Finished) -> CallToolResult {
    let dictionary = finished.reply.to_json(finished.session.as_ref());
    let picture = finished.reply.picture.as_ref();
    let picture = picture.map(|picture| ContentBlock::image(BASE64_STANDARD.encode(&picture.png), "image/png"));
    shape::result(dictionary, picture, finished.reply.exit_code != 0)
}
