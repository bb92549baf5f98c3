//! What servers and tools of this program look like to an MCP client, whichever tools they have.
//!
//! Decides the parts that must not differ between the tool and the runtime: who the server says it is, what a browser tool says
//! about itself, and how an answer stands in a result. It knows nothing of what is answered.

use std::sync::Arc;

use rmcp::model::{
    CallToolResult, ContentBlock, Implementation, JsonObject, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use serde_json::Value;

/// A server with tools, under this program's name and version.
pub(crate) fn server() -> ServerConfig {
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")))
}

/// What a tool that drives a browser says about itself.
pub(crate) fn annotations() -> ToolAnnotations {
    ToolAnnotations::with_title("Browser").read_only(false).destructive(true).idempotent(false).open_world(true)
}

/// A schema as the library takes it.
pub(crate) fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// A dictionary as text and as structured content, with what else belongs to it behind the text.
pub(crate) fn result(dictionary: Value, more: Option<ContentBlock>, failed: bool) -> CallToolResult {
    let content = std::iter::once(ContentBlock::text(dictionary.to_string())).chain(more).collect();
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(dictionary);
    result.is_error = Some(failed);
    result
}
