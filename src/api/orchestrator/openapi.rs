//! `OpenAPI` 3.1 document of the runtime's interface.
//!
//! The schemas are derived from the types of the requests and replies; tests validate every answer against them.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::api::orchestrator::replies::{BatchResult, Destroyed, ExecResult, HealthReply, Invalid, Meta, Refused};
use crate::api::orchestrator::requests::{BatchRequest, ExecRequest, RequestSchemas};
use crate::api::orchestrator::schema::reply_schema;
use browser_shell_core::tenant::NAME_PATTERN;

/// Routes, as they are named in the document and in the metrics.
pub(crate) const ROUTES: &[&str] =
    &["/exec", "/exec_batch", "/health", "/mcp", "/meta", "/metrics", "/openapi.json", "/sessions/{sandbox_id}"];

/// Returns the document.
#[must_use]
pub(crate) fn document(requests: &RequestSchemas, has_token: bool) -> Value {
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "browser-shell runtime",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A browser for an orchestrator's agents: commands of agent-browser, read by a grammar, behind a URL policy. No command is ever given to a shell. The same is served over MCP at /mcp.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths(),
    });
    let mut components = Map::from_iter([("schemas".to_owned(), schemas(requests))]);
    if let Some(document) = document.as_object_mut() {
        if has_token {
            document.insert("security".to_owned(), json!([{ "token": [] }]));
            components.insert("securitySchemes".to_owned(), json!({ "token": { "type": "http", "scheme": "bearer" } }));
        }
        document.insert("components".to_owned(), components.into());
    }
    document
}

fn paths() -> Value {
    let refused = answer::<Refused>("The request was refused unread");
    json!({
        "/exec": post::<ExecRequest, ExecResult>("exec", "Run one command"),
        "/exec_batch": post::<BatchRequest, BatchResult>("exec_batch", "Run several commands, one after another"),
        "/health": { "get": {
            "operationId": "health",
            "summary": "Return whether the browser can be used now",
            "responses": {
                "200": answer::<HealthReply>("It can be used"), "503": answer::<HealthReply>("It cannot be used"), "401": refused, "403": refused,
            },
        }},
        "/mcp": { "post": {
            "operationId": "mcp",
            "summary": "The same as MCP tools, by streamable HTTP (Model Context Protocol)",
            "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": "object" } } } },
            "responses": { "200": text("A JSON-RPC message", "application/json"), "401": refused, "403": refused },
        }},
        "/meta": get("meta", "Describe this runtime", &answer::<Meta>("The answer")),
        "/metrics": get("metrics", "Return counters for Prometheus", &text("The answer", "application/openmetrics-text")),
        "/openapi.json": get("openapi", "Return this document", &text("The answer", "application/json")),
        "/sessions/{sandbox_id}": { "delete": {
            "operationId": "destroy",
            "summary": "End a session and everything that it started",
            "parameters": [{
                "name": "sandbox_id", "in": "path", "required": true, "schema": { "type": "string", "pattern": NAME_PATTERN },
            }],
            "responses": {
                "200": answer::<Destroyed>("There is no such session any more"),
                "503": answer::<Destroyed>("The session could not be ended yet"),
                "422": answer::<Invalid>("Every error of the request"), "401": refused, "403": refused,
            },
        }},
    })
}

fn post<Request: JsonSchema, Reply: JsonSchema>(id: &str, summary: &str) -> Value {
    let refused = answer::<Refused>("The request was refused unread");
    json!({ "post": {
        "operationId": id,
        "summary": summary,
        "requestBody": { "required": true, "content": { "application/json": { "schema": reference::<Request>() } } },
        "responses": {
            "200": answer::<Reply>("The reply, even if the command failed"),
            "422": answer::<Invalid>("Every error of the request"),
            "401": refused, "403": refused, "408": refused, "413": refused, "415": refused,
        },
    }})
}

fn get(id: &str, summary: &str, answer_200: &Value) -> Value {
    let refused = answer::<Refused>("The request was refused unread");
    json!({ "get": {
        "operationId": id,
        "summary": summary,
        "responses": { "200": answer_200, "401": refused, "403": refused },
    }})
}

fn answer<T: JsonSchema>(description: &str) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": reference::<T>() } } })
}

fn text(description: &str, content_type: &str) -> Value {
    json!({ "description": description, "content": { content_type: {} } })
}

fn reference<T: JsonSchema>() -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", T::schema_name()) })
}

fn schemas(requests: &RequestSchemas) -> Value {
    json!({
        "Exec": requests.exec,
        "Executed": reply_schema::<ExecResult>(),
        "Batch": requests.batch,
        "BatchReply": reply_schema::<BatchResult>(),
        "Health": reply_schema::<HealthReply>(),
        "Meta": reply_schema::<Meta>(),
        "Destroyed": reply_schema::<Destroyed>(),
        "Refused": reply_schema::<Refused>(),
        "Invalid": reply_schema::<Invalid>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::orchestrator::requests::RequestRules;

    #[test]
    fn openapi_has_every_route_and_resolves_references() {
        let requests = RequestSchemas::new(RequestRules { requires_tenant: false, is_strict: false });
        let document = document(&requests, true);
        let paths: Vec<_> = document["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
        assert_eq!(paths, ROUTES);
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().expect("a pointer");
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
