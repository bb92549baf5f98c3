//! Check of the messages that clients send, and the answer to what is none.
//!
//! rmcp answers such a body with an error about its media type, drops such a line, or answers it without an `id`, which JSON-RPC asks for.

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Reason why bytes are no message, with the id of the request if it can be read.
#[derive(Debug)]
pub(super) struct InvalidMessage {
    id: Value,
    code: ErrorCode,
    reason: &'static str,
    /// True if it is a notification or an answer. On standard input, nothing answers these.
    pub(super) needs_no_answer: bool,
}

impl InvalidMessage {
    const fn new(id: Value, code: ErrorCode, reason: &'static str) -> Self {
        Self { id, code, reason, needs_no_answer: false }
    }

    /// Creates the error for a message that was not read, because it is too long.
    pub(super) const fn too_long() -> Self {
        Self::new(Value::Null, ErrorCode::INVALID_REQUEST, "the message is too long")
    }

    /// Returns the error as a message of JSON-RPC.
    pub(super) fn to_json(&self) -> Value {
        error(&self.id, self.code, self.reason)
    }
}

/// Returns an error of JSON-RPC for the request with an id, or for none.
pub(super) fn error(id: &Value, code: ErrorCode, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code.0, "message": message}})
}

/// Returns the message that bytes are.
///
/// # Errors
///
/// The first reason why they are none.
pub(super) fn read(bytes: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, InvalidMessage> {
    serde_json::from_slice(bytes).map_err(|_| match serde_json::from_slice(bytes) {
        Err(_) => InvalidMessage::new(Value::Null, ErrorCode::PARSE_ERROR, "the message is not JSON"),
        Ok(Value::Object(message)) => refuse(&message),
        Ok(_) => {
            let reason = "send one message at a time, as a JSON object";
            InvalidMessage::new(Value::Null, ErrorCode::INVALID_REQUEST, reason)
        }
    })
}

/// Returns the error for an object that is no message.
fn refuse(message: &Map<String, Value>) -> InvalidMessage {
    let is_id = |id: &Value| RequestId::deserialize(id).is_ok();
    let id = message.get("id");
    let method = message.get("method");
    let has_method = method.is_some_and(Value::is_string);
    let is_answer = method.is_none() && (message.contains_key("result") || message.contains_key("error"));
    let reason = if message.get("jsonrpc").is_none_or(|version| version != "2.0") {
        "`jsonrpc` must be \"2.0\""
    } else if method.is_some() && !has_method {
        "`method` must be a string"
    } else if id.is_some_and(|id| !is_id(id)) {
        "`id` must be a string, or an integer of at most 64 bits"
    } else if message.get("params").is_some_and(|params| !params.is_object()) {
        "`params` must be an object"
    } else {
        "a message has `method`, and as a request `id`; or `id` with `result` or `error`"
    };
    let readable = id.filter(|id| is_id(id)).cloned().unwrap_or_default();
    InvalidMessage {
        needs_no_answer: if has_method { id.is_none() } else { is_answer },
        ..InvalidMessage::new(readable, ErrorCode::INVALID_REQUEST, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_has_error_with_id() {
        for (text, id, code, part) in [
            ("{\"jsonrpc\":", json!(null), -32700, "not JSON"),
            ("", json!(null), -32700, "not JSON"),
            ("[]", json!(null), -32600, "one message"),
            ("{}", json!(null), -32600, "`jsonrpc`"),
            (r#"{"id":1,"method":"ping"}"#, json!(1), -32600, "`jsonrpc`"),
            (r#"{"jsonrpc":"2.0","id":"a","method":1}"#, json!("a"), -32600, "`method`"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, json!(null), -32600, "`id`"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(null), -32600, "`id`"),
            (r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#, json!(null), -32600, "`id`"),
            (r#"{"jsonrpc":"2.0","id":1}"#, json!(1), -32600, "a message has"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, json!(1), -32600, "a message has"),
        ] {
            let error = read(text.as_bytes()).expect_err(text);
            let json = error.to_json();
            assert_eq!((&json["id"], &json["error"]["code"]), (&id, &json!(code)), "{text}: {json}");
            assert!(json["error"]["message"].as_str().is_some_and(|reason| reason.contains(part)), "{text}: {json}");
            assert!(!error.needs_no_answer, "{text}");
        }
        assert_eq!(read(b"\xff\xfe{}").expect_err("wrong UTF-8").code, ErrorCode::PARSE_ERROR);
        assert!(read(br#"{"jsonrpc":"1","method":"x"}"#).expect_err("a version").needs_no_answer);
        for text in [r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, r#"{"jsonrpc":"2.0","method":"x"}"#] {
            assert!(read(text.as_bytes()).is_ok(), "control: {text}");
        }
    }
}
