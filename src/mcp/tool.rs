//! The one entry of `tools/list` (spec [1.1]).
//!
//! Decides name, description and schemas. The description is made from the grammar table: it must never promise what the
//! table refuses.

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::shape::{annotations, object};
use crate::argv::table::{Availability, GRAMMAR};
use crate::argv::{MAX_CHARACTERS, MAX_ELEMENTS};
use crate::request::{DEFAULT_TIMEOUT_SEC, MAX_TIMEOUT_SEC};

/// The name of the tool.
pub const NAME: &str = "browser-shell";

/// The entry.
#[must_use]
pub fn tool() -> Tool {
    Tool::new(NAME, description(), object(input_schema()))
        .with_raw_output_schema(object(output_schema()))
        .with_annotations(annotations())
}

fn description() -> String {
    let usages: Vec<_> = GRAMMAR
        .iter()
        .filter(|row| row.availability == Availability::On)
        .map(super::super::argv::table::Row::usage)
        .collect();
    format!(
        "Drive a visible Chromium. argv is one of:\n{}\n\
         Loop: open, snapshot -i, act on a reference such as @e1, snapshot again (references die when the page changes). \
         Text is one element. exit_code 0: stdout is the result as JSON. Else stderr says what to do: 64 arguments, 77 policy, \
         69 browser unavailable, 75 busy, 124 timed out. Sessions share one tab and its cookies.",
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

    #[test]
    fn spec_1_1_the_entry_is_a_contract() {
        let entry = serde_json::to_value(tool()).expect("JSON");
        insta::assert_json_snapshot!(entry);
    }

    #[test]
    fn spec_1_6_the_output_schema_fits_successes_and_refusals() {
        let validator = jsonschema::validator_for(&output_schema()).expect("a schema");
        let reply = crate::pipeline::Reply::refused(crate::decision::Decision::new(crate::decision::Code::Busy, "x"));
        assert!(validator.is_valid(&reply.to_json(None)));
        assert!(!validator.is_valid(&json!({"session_id": "s"})), "control");
    }
}
