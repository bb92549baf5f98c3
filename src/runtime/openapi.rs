//! The interface as an `OpenAPI` 3.1 document, for people and programs that call it.
//!
//! Decides nothing: ranges and names are the constants of what reads the requests, and the tests hold every answer against
//! the schemas here.

use serde_json::{Value, json};

use super::body::{BATCH_TIMEOUT, EXEC_TIMEOUT, MAX_COMMANDS, Range};
use super::identity::{Mode, PATTERN};

/// The routes, as they stand in the document and in the metrics.
pub const ROUTES: &[&str] =
    &["/exec", "/exec_batch", "/health", "/mcp", "/meta", "/metrics", "/openapi.json", "/sessions/{sandbox_id}"];

/// The document.
#[must_use]
pub fn document(mode: Mode, with_token: bool) -> Value {
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "browser-shell runtime",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A browser for an orchestrator's agents: commands of agent-browser, read by a grammar, behind a URL policy. No command is ever given to a shell. The same is served over MCP at /mcp.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths(),
        "components": { "schemas": schemas(mode) },
    });
    if with_token && let Some(object) = document.as_object_mut() {
        object.insert("security".to_owned(), json!([{ "token": [] }]));
        if let Some(Value::Object(components)) = object.get_mut("components") {
            components.insert("securitySchemes".to_owned(), json!({ "token": { "type": "http", "scheme": "bearer" } }));
        }
    }
    document
}

fn paths() -> Value {
    let invalid = answer("What is wrong with the request, all at once", "Invalid");
    let refused = answer("The request is not looked at", "Refused");
    let post = |id: &str, summary: &str, request: &str, reply: &str| {
        json!({ "post": {
            "operationId": id,
            "summary": summary,
            "requestBody": { "required": true, "content": { "application/json": { "schema": reference(request) } } },
            "responses": {
                "200": answer("The reply, whether or not the command succeeded", reply),
                "422": invalid, "401": refused, "403": refused, "408": refused, "413": refused, "415": refused,
            },
        }})
    };
    let get = |id: &str, summary: &str, reply: &str| {
        json!({ "get": {
            "operationId": id,
            "summary": summary,
            "responses": { "200": answer("The answer", reply), "401": refused, "403": refused },
        }})
    };
    let text = |id: &str, summary: &str, kind: &str| {
        json!({ "get": {
            "operationId": id,
            "summary": summary,
            "responses": { "200": { "description": "The answer", "content": { kind: {} } }, "401": refused, "403": refused },
        }})
    };
    let mut health = get("health", "Whether the browser can be used now", "Health");
    if let Some(responses) = health.pointer_mut("/get/responses").and_then(Value::as_object_mut) {
        responses.insert("503".to_owned(), answer("It cannot", "Health"));
    }
    json!({
        "/exec": post("exec", "Run one command", "Exec", "Executed"),
        "/exec_batch": post("exec_batch", "Run several commands, one after another", "Batch", "BatchReply"),
        "/health": health,
        "/mcp": { "post": {
            "operationId": "mcp",
            "summary": "The same as MCP tools, by streamable HTTP (Model Context Protocol)",
            "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": "object" } } } },
            "responses": { "200": { "description": "A JSON-RPC message", "content": { "application/json": {} } }, "401": refused, "403": refused },
        }},
        "/meta": get("meta", "What this runtime is and can do", "Meta"),
        "/metrics": text("metrics", "Counters for Prometheus", "application/openmetrics-text"),
        "/openapi.json": text("openapi", "This document", "application/json"),
        "/sessions/{sandbox_id}": { "delete": {
            "operationId": "destroy",
            "summary": "End a session and everything that it started",
            "parameters": [{
                "name": "sandbox_id", "in": "path", "required": true, "schema": { "type": "string", "pattern": PATTERN },
            }],
            "responses": {
                "200": answer("There is no such session any more", "Destroyed"),
                "503": answer("It could not be ended yet", "Destroyed"),
                "422": invalid, "401": refused, "403": refused,
            },
        }},
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn answer(description: &str, schema: &str) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": reference(schema) } } })
}

fn timeout(range: Range, what: &str) -> Value {
    json!({
        "type": "integer", "minimum": range.least, "maximum": range.most, "default": range.default,
        "description": format!("seconds for {what}"),
    })
}

/// What a command may be, for those who write one.
const CMD: &str = "a command such as `open https://example.com`, `snapshot -i` or `fill @e1 'some text'`, in words as a POSIX shell \
    reads them, without `agent-browser` before it; nothing in it is ever expanded or run by a shell";

/// The schema of a request for one command.
#[must_use]
pub fn exec_schema(mode: Mode) -> Value {
    request(
        mode,
        &["cmd"],
        &json!({
            "cmd": { "type": "string", "description": CMD },
            "timeout": timeout(EXEC_TIMEOUT, "everything, waiting included"),
        }),
    )
}

/// The schema of a request for several.
#[must_use]
pub fn batch_schema(mode: Mode) -> Value {
    request(
        mode,
        &["commands"],
        &json!({
            "commands": {
                "type": "array", "minItems": 1, "maxItems": MAX_COMMANDS,
                "items": { "type": "string", "description": CMD },
            },
            "timeout": timeout(BATCH_TIMEOUT, "all commands together"),
            "stop_on_error": {
                "type": "boolean", "default": true, "description": "whether the first exit code that is not 0 ends the batch",
            },
        }),
    )
}

fn request(mode: Mode, required: &[&str], properties: &Value) -> Value {
    let mut properties = properties.clone();
    let name = |what: &str| json!({ "type": ["string", "null"], "pattern": PATTERN, "description": what });
    if let Some(properties) = properties.as_object_mut() {
        properties
            .insert("sandbox_id".to_owned(), name("whose session it is, where several sandboxes share the runtime"));
        properties.insert("cargo_id".to_owned(), name("whose workspace files go to, where there are several"));
    }
    let mut required: Vec<_> = required.to_vec();
    if mode == Mode::Shared {
        required.push("sandbox_id");
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The schema of the reply to one command.
#[must_use]
pub fn executed_schema() -> Value {
    object(&json!({
        "stdout": { "type": "string" },
        "stderr": { "type": "string" },
        "exit_code": {
            "type": "integer",
            "description": "0 done; 64 the command is refused, 77 the policy refuses it, 69 the browser does not answer, 75 too busy; \
                -1 (one sandbox) or 124 (several): timed out; -1 or 127: agent-browser cannot be started; else agent-browser's own",
        },
    }))
}

/// The schema of the reply to several.
#[must_use]
pub fn batch_reply_schema() -> Value {
    let whole = json!({ "type": "integer", "minimum": 0 });
    let mut step = executed_schema();
    for (name, schema) in
        [("cmd", json!({ "type": "string" })), ("step_index", whole.clone()), ("duration_ms", whole.clone())]
    {
        if let Some(properties) = step.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert(name.to_owned(), schema);
        }
        if let Some(required) = step.get_mut("required").and_then(Value::as_array_mut) {
            required.push(name.into());
        }
    }
    object(&json!({
        "results": { "type": "array", "items": step },
        "total_steps": whole,
        "completed_steps": whole,
        "success": { "type": "boolean" },
        "duration_ms": whole,
    }))
}

/// An object with exactly these members.
fn object(properties: &Value) -> Value {
    let required: Vec<_> = properties.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn schemas(mode: Mode) -> Value {
    let string = json!({ "type": "string" });
    let boolean = json!({ "type": "boolean" });
    json!({
        "Exec": exec_schema(mode),
        "Executed": executed_schema(),
        "Batch": batch_schema(mode),
        "BatchReply": batch_reply_schema(),
        "Health": object(&json!({
            "status": { "enum": ["healthy", "degraded", "unhealthy"] },
            "browser_active": boolean,
            "browser_ready": boolean,
            "session": string,
            "version": string,
        })),
        "Meta": object(&json!({
            "runtime": object(&json!({ "name": string, "version": string, "api_version": string })),
            "workspace": object(&json!({ "mount_path": string })),
            "capabilities": object(&json!({ "browser": object(&json!({ "version": string })) })),
            "built_in_skills": {
                "type": "array", "items": object(&json!({ "name": string, "description": string, "path": string })),
            },
        })),
        "Destroyed": object(&json!({ "sandbox_id": string, "destroyed": boolean })),
        "Refused": object(&json!({ "detail": string })),
        "Invalid": object(&json!({
            "detail": { "type": "array", "minItems": 1, "items": object(&json!({
                "type": string, "loc": { "type": "array", "items": { "type": ["string", "integer"] } }, "msg": string,
            }))},
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_there_and_every_reference_leads_somewhere() {
        let document = document(Mode::Single, true);
        let paths: Vec<_> = document["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
        assert_eq!(paths, ROUTES);
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().expect("a pointer");
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }

    #[test]
    fn spec_4_1_schemas_and_readers_agree() {
        use crate::runtime::body::{Batch, Exec, Names};
        for mode in [Mode::Single, Mode::Shared] {
            let names = Names { sandbox_required: mode == Mode::Shared, strict: false };
            let (exec, batch) = (exec_schema(mode), batch_schema(mode));
            let exec = jsonschema::validator_for(&exec).expect("a schema");
            let batch = jsonschema::validator_for(&batch).expect("a schema");
            for value in [
                json!({}),
                json!([]),
                json!({"cmd": "a"}),
                json!({"cmd": 1}),
                json!({"cmd": "a", "timeout": 300}),
                json!({"cmd": "a", "timeout": 301}),
                json!({"cmd": "a", "timeout": 0}),
                json!({"cmd": "a", "timeout": 1.5}),
                json!({"cmd": "a", "sandbox_id": "s"}),
                json!({"cmd": "a", "sandbox_id": "s/x"}),
                json!({"cmd": "a", "sandbox_id": "s", "cargo_id": ""}),
                json!({"cmd": "a", "sandbox_id": 5}),
                json!({"cmd": "a", "sandbox_id": "s", "unknown": 5}),
                json!({"commands": []}),
                json!({"commands": ["a"], "sandbox_id": "s"}),
                json!({"commands": ["a"], "timeout": 600, "sandbox_id": "s"}),
                json!({"commands": ["a"], "timeout": 601, "sandbox_id": "s"}),
                json!({"commands": [1], "sandbox_id": "s"}),
                json!({"commands": ["a"], "stop_on_error": "no", "sandbox_id": "s"}),
            ] {
                assert_eq!(exec.is_valid(&value), Exec::read(&value, names).is_ok(), "{mode:?} {value}");
                assert_eq!(batch.is_valid(&value), Batch::read(&value, names).is_ok(), "{mode:?} {value}");
            }
        }
    }
}
