//! MCP server of the runtime: the two requests of REST as tools.
//!
//! Unknown fields are errors here, because a model wrote them. Errors in arguments are a result of the tool that the model can
//! read and correct.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorData,
    ListToolsResult, PaginatedRequestParams, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::api::mcp::running::{cancelable, with_progress};
use crate::api::mcp::tool::{call_result, refuse_custom, schema_object, server_config, tool_annotations};
use crate::api::orchestrator::replies::{BatchResult, ExecResult};
use crate::api::orchestrator::requests::{RequestRules, RequestSchemas, parse};
use crate::api::orchestrator::schema::{FieldError, reply_schema, tool_schema};
use crate::api::orchestrator::service::Runtime;

/// Name of the tool for one command.
const EXEC: &str = "execute_browser";

/// Name of the tool for several commands.
const BATCH: &str = "execute_browser_batch";

/// MCP server. Clones share the runtime.
#[derive(Clone)]
pub(crate) struct RuntimeMcpServer {
    runtime: Arc<Runtime>,
    requests: Arc<RequestSchemas>,
    tools: Arc<[Tool]>,
}

impl RuntimeMcpServer {
    /// Creates a server for a runtime.
    #[must_use]
    pub(crate) fn new(runtime: Arc<Runtime>) -> Self {
        let requires_tenant = runtime.identity.requires_tenant();
        let requests = RequestSchemas::new(RequestRules { requires_tenant, is_strict: true });
        let tools = tools(&requests).into();
        Self { runtime, requests: Arc::new(requests), tools }
    }

    /// Calls a tool.
    ///
    /// # Errors
    ///
    /// Returns a protocol error if there is no such tool.
    async fn call(&self, name: &str, arguments: Value) -> Result<CallToolResult, ErrorData> {
        match name {
            EXEC => match parse(&self.requests.exec, arguments) {
                Ok(request) => {
                    let result = self.runtime.exec(request).await;
                    tool_result(&result, result.exit_code != 0)
                }
                Err(errors) => Ok(refusal(&errors)),
            },
            BATCH => match parse(&self.requests.batch, arguments) {
                Ok(request) => {
                    let result = self.runtime.batch(request).await;
                    tool_result(&result, !result.success)
                }
                Err(errors) => Ok(refusal(&errors)),
            },
            _ => {
                let message = format!("unknown tool; the tools are `{EXEC}` and `{BATCH}`");
                Err(ErrorData::invalid_params(message, None))
            }
        }
    }
}

fn tools(requests: &RequestSchemas) -> Vec<Tool> {
    let tool = |name: &'static str, description: &'static str, input: &Value, output: Value| {
        Tool::new(name, description, schema_object(tool_schema(input.clone())))
            .with_raw_output_schema(schema_object(tool_schema(output)))
            .with_annotations(tool_annotations())
    };
    vec![
        tool(
            EXEC,
            "Run one browser command and read its answer: open URL, snapshot -i, click @e1, fill @e1 'text', press Enter, wait --text \
             'text', screenshot name.png, close. References such as @e1 come from the last snapshot and die when the page changes. \
             Only this container has agent-browser: the others, such as Python's or the shell's, do not, and get files through \
             /workspace. exit_code 0: stdout is the answer; else stderr says what to do.",
            &requests.exec,
            reply_schema::<ExecResult>(),
        ),
        tool(
            BATCH,
            "Run several browser commands one after another, for steps whose answers need not be read in between. The first that fails \
             ends the batch unless stop_on_error is false; timeout is for all of them. No other container has agent-browser.",
            &requests.batch,
            reply_schema::<BatchResult>(),
        ),
    ]
}

impl ServerHandler for RuntimeMcpServer {
    fn get_info(&self) -> ServerConfig {
        server_config()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(refuse_custom(&request, &context.meta))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let server = self.clone();
        let run = move |context: RequestContext<RoleServer>, cancel: CancellationToken| async move {
            let arguments = Value::Object(request.arguments.unwrap_or_default());
            let call = server.call(&request.name, arguments);
            tokio::select! {
                result = with_progress(call, &context) => result.map(CallToolResponse::from),
                // Dropping the call cancels it. The client ignores this answer.
                () = cancel.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
            }
        };
        cancelable(context, run).await?
    }
}

/// Returns a reply as text and as structured content.
fn tool_result(reply: &impl Serialize, is_error: bool) -> Result<CallToolResult, ErrorData> {
    let dictionary = serde_json::to_value(reply).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(call_result(dictionary, None, is_error))
}

/// Returns errors in the arguments as a result that a model can read and correct.
fn refusal(errors: &[FieldError]) -> CallToolResult {
    let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
    CallToolResult::error(vec![ContentBlock::text(lines.join("\n"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(requires_tenant: bool) -> RequestSchemas {
        RequestSchemas::new(RequestRules { requires_tenant, is_strict: true })
    }

    // Requirement 4.1.
    #[test]
    fn runtime_tool_entries_match_snapshot() {
        insta::assert_json_snapshot!(serde_json::to_value(tools(&requests(true))).expect("JSON"));
    }

    // Requirement 4.1.
    #[test]
    fn sandbox_id_is_required_only_in_shared_tenancy() {
        for requires_tenant in [false, true] {
            for tool in tools(&requests(requires_tenant)) {
                let schema = Value::Object((*tool.input_schema).clone());
                assert!(schema["properties"]["sandbox_id"].is_object(), "{schema}");
                let required = schema["required"].as_array().expect("a list");
                assert_eq!(required.contains(&"sandbox_id".into()), requires_tenant, "{schema}");
            }
        }
    }
}
