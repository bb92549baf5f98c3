//! The runtime over MCP: the same two requests as tools.
//!
//! Decides names and schemas. An unknown field is refused here, where a model wrote it; what is refused is an answer of the
//! tool, which says what to send.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::Serialize;
use serde_json::Value;

use super::body::{Batch, Exec, Names, Problem};
use super::identity::Mode;
use super::openapi::{batch_reply_schema, batch_schema, exec_schema, executed_schema};
use super::service::Runtime;
use crate::mcp::shape::{self, annotations, object};

/// The name of the tool for one command.
pub const EXEC: &str = "execute_browser";

/// The name of the tool for several.
pub const BATCH: &str = "execute_browser_batch";

/// How its arguments are read: a model is told of what it wrote wrong.
const NAMES: Names = Names { sandbox_required: true, strict: true };

/// The server. Clones share the runtime.
#[derive(Clone)]
pub struct Server {
    runtime: Arc<Runtime>,
}

impl Server {
    /// Serves this runtime.
    #[must_use]
    pub const fn new(runtime: Arc<Runtime>) -> Self {
        Self { runtime }
    }
}

fn tools() -> Vec<Tool> {
    let tool = |name: &'static str, description: &'static str, input: Value, output: Value| {
        Tool::new(name, description, object(strict(input)))
            .with_raw_output_schema(object(output))
            .with_annotations(annotations())
    };
    vec![
        tool(
            EXEC,
            "Run one browser command and read its answer: open URL, snapshot -i, click @e1, fill @e1 'text', press Enter, wait --text \
             'text', screenshot name.png, close. References such as @e1 come from the last snapshot and die when the page changes. \
             exit_code 0: stdout is the answer; else stderr says what to do.",
            exec_schema(Mode::Shared),
            executed_schema(),
        ),
        tool(
            BATCH,
            "Run several browser commands one after another, for steps whose answers need not be read in between. The first that fails \
             ends the batch unless stop_on_error is false; timeout is for all of them.",
            batch_schema(Mode::Shared),
            batch_reply_schema(),
        ),
    ]
}

/// The same schema without other fields.
fn strict(mut schema: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    schema
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        shape::server()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let answer = async {
            match &*request.name {
                EXEC => match Exec::read(&arguments, NAMES) {
                    Ok(exec) => {
                        let executed = self.runtime.exec(exec).await;
                        answered(&executed, executed.exit_code != 0)
                    }
                    Err(problems) => Ok(refused(&problems)),
                },
                BATCH => match Batch::read(&arguments, NAMES) {
                    Ok(batch) => {
                        let reply = self.runtime.batch(batch).await;
                        answered(&reply, !reply.success)
                    }
                    Err(problems) => Ok(refused(&problems)),
                },
                _ => {
                    let message = format!("unknown tool; the tools are `{EXEC}` and `{BATCH}`");
                    Err(ErrorData::invalid_params(message, None))
                }
            }
        };
        tokio::select! {
            answer = answer => answer.map(CallToolResponse::from),
            // Dropped in the middle, it is cancelled; nobody reads what is said here.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }
}

/// An answer: the dictionary as text and as structured content.
fn answered(reply: &impl Serialize, failed: bool) -> Result<CallToolResult, ErrorData> {
    let dictionary = serde_json::to_value(reply).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(shape::result(dictionary, None, failed))
}

/// What is wrong with the arguments, in the form of an answer that a model reads and corrects.
fn refused(problems: &[Problem]) -> CallToolResult {
    let lines: Vec<_> = problems.iter().map(Problem::to_text).collect();
    CallToolResult::error(vec![ContentBlock::text(lines.join("\n"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_4_1_the_entries_are_a_contract() {
        insta::assert_json_snapshot!(serde_json::to_value(tools()).expect("JSON"));
    }
}
