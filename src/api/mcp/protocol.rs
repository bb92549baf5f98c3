//! MCP values that the tool and the runtime share: server description, tool annotations, schemas and call results.

use std::sync::Arc;

use rmcp::model::{
    CallToolResult, ContentBlock, Implementation, JsonObject, MetaObject, ServerCapabilities, ServerConfig,
    ToolAnnotations,
};
use serde_json::Value;

/// Returns the description of a server whose list of tools can change.
pub(crate) fn server_config_with_changes() -> ServerConfig {
    let mut config = server_config();
    config.capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
    config
}

/// Returns the description of a server with tools, with this program's name and version.
pub(crate) fn server_config() -> ServerConfig {
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")))
}

/// Returns the annotations of a tool that drives a browser.
pub(crate) fn tool_annotations() -> ToolAnnotations {
    ToolAnnotations::with_title("Browser").read_only(false).destructive(true).idempotent(false).open_world(true)
}

/// Converts a JSON Schema to the type that rmcp takes.
pub(crate) fn schema_object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// Returns a result with a text and no structured content, since several clients show a model that instead of the text. `picture` precedes the text,
/// because some clients keep only the first item. `details` are for programs and not shown to a model.
pub(crate) fn text_result(
    text: String,
    details: Value,
    picture: Option<ContentBlock>,
    is_error: bool,
) -> CallToolResult {
    let content = picture.into_iter().chain([ContentBlock::text(text)]).collect();
    let mut result = CallToolResult::success(content);
    result.is_error = Some(is_error);
    result.meta = Some(MetaObject(JsonObject::clone(&schema_object(details))));
    result
}

/// Returns a result with a JSON object as text and as structured content, followed by `attachment`.
pub(crate) fn call_result(object: Value, attachment: Option<ContentBlock>, is_error: bool) -> CallToolResult {
    let content = std::iter::once(ContentBlock::text(object.to_string())).chain(attachment).collect();
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(object);
    result.is_error = Some(is_error);
    result
}
