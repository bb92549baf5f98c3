//! Entry of `tools/list`: name, description and schemas of the tool.
//!
//! The description is generated from the grammar, so it names only what the grammar accepts.
//!
//! Requirement 1.1.

use rmcp::model::Tool;
use serde_json::{Value, json};

use crate::api::mcp::protocol::{schema_object, tool_annotations};
use browser_shell_core::grammar::{Availability, GRAMMAR};
use browser_shell_core::grammar::{MAX_CHARACTERS, MAX_ELEMENTS};
use browser_shell_core::request::{DEFAULT_TIMEOUT_SEC, MAX_TIMEOUT_SEC};

/// Name of the tool.
pub(crate) const NAME: &str = "browser-shell";

/// Returns the entry.
#[must_use]
pub(crate) fn tool() -> Tool {
    Tool::new(NAME, description(), schema_object(input_schema()))
        .with_raw_output_schema(schema_object(output_schema()))
        .with_annotations(tool_annotations())
}

fn description() -> String {
    let usages: Vec<_> = GRAMMAR
        .iter()
        .filter(|row| row.availability == Availability::On)
        .map(browser_shell_core::grammar::SubcommandSpec::usage)
        .collect();
    format!(
        "Drive a visible Chromium. argv is one of:\n{}\n\
         Loop: open, snapshot -i, act on a reference such as @e1, snapshot again (references die when the page changes). \
         Text is one element. exit_code 0: stdout is the result as JSON. Else stderr says what to do: 64 arguments, 77 policy, \
         69 browser unavailable, 75 busy, 124 timed out. Sessions may share one tab and its cookies. No shell or other container has \
         agent-browser.",
        usages.join("\n")
    )
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "session_id": { "type": "string", "pattern": "^[a-zA-Z0-9._-]{1,64}$" },
            "argv": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_ELEMENTS,
                "items": { "type": ["string", "number", "boolean"], "maxLength": MAX_CHARACTERS }
            },
            "timeout_sec": { "type": "number", "minimum": 1, "maximum": MAX_TIMEOUT_SEC, "default": DEFAULT_TIMEOUT_SEC }
        },
        "required": ["session_id", "argv"],
        "additionalProperties": false
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "session_id": { "type": "string" },
            "exit_code": { "type": "integer" },
            "stdout": { "type": "string" },
            "stderr": { "type": "string" }
        },
        "required": ["session_id", "exit_code", "stdout", "stderr"],
        "additionalProperties": false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement 1.1.
    #[test]
    fn tool_entry_matches_snapshot() {
        let entry = serde_json::to_value(tool()).expect("JSON");
        insta::assert_json_snapshot!(entry);
    }

    // Requirement 1.6.
    #[test]
    fn output_schema_accepts_successes_and_refusals() {
        let validator = jsonschema::validator_for(&output_schema()).expect("a schema");
        let reply = crate::call::CallReply::refused(browser_shell_core::decision::Decision::new(
            browser_shell_core::decision::Code::Busy,
            "x",
        ));
        assert!(validator.is_valid(&reply.to_json(None)));
        assert!(!validator.is_valid(&json!({"session_id": "s"})), "control");
    }
}
