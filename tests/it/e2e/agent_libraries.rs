//! Agent libraries, each of which lists MCP tools, tells a model about them in a form of its own, and calls them. There is no model.
//!
//! They are large, so `tests/e2e/setup extras` installs them for `./dev test all` only. `vendor_libraries_convert_every_schema`
//! and the golden files of the tools are in every run.

use serde_json::{Value, json};

use super::converters::{published, run_script};
use super::test_env;

const LIBRARIES: [&str; 4] = ["langchain", "mcp-use", "pydantic-ai", "smolagents"];

/// Lists and calls tools by each library. Returns for each library and tool the names of the arguments that a model is told, those
/// that were sent, those that the server received, and the answer that a model is shown; or the error of the library.
fn used(tools: &[Value]) -> Value {
    run_script(test_env::agent_libraries_python(), "agent_libraries.py", &json!(tools))
}

/// Returns the names of the arguments of a schema, sorted.
fn argument_names(schema: &Value) -> Vec<&String> {
    let mut names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    names.sort();
    names
}

/// Returns a value with all its numbers as floats: mcp-use makes one of an integer, which is the same number in JSON.
fn with_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().map(with_floats).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), with_floats(member)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

// Requirement 1.1.
#[test]
#[ignore = "needs the test network and large packages: run ./dev test all --part 7"]
fn agent_libraries_list_and_call_every_tool() {
    test_env::require_test_network();
    let tools = published();
    assert_eq!(tools.len(), 5, "{tools:?}");
    let report = used(&tools);
    for library in LIBRARIES {
        for tool in &tools {
            let name = tool["name"].as_str().unwrap();
            let found = &report[library][name];
            assert_eq!(found["arguments"], json!(argument_names(&tool["inputSchema"])), "{library}: {name}: {report}");
            assert_eq!(with_floats(&found["received"]), with_floats(&found["sent"]), "{library}: {name}");
            assert!(found["sent"].as_object().is_some_and(|sent| !sent.is_empty()), "{library}: {name}");
        }
    }

    // Controls: what a library does not take, others do. The last one has no meaning for anybody.
    let takes = |schema: Value| {
        let mut tool = tools[0].clone();
        tool["inputSchema"] = json!({"type": "object", "properties": schema, "$defs": {"text": {"type": "string"}}});
        let report = used(&[tool]);
        LIBRARIES.map(|library| {
            let found = &report[library]["browser-shell"];
            found["received"].is_object() && found["received"] == found["sent"]
        })
    };
    assert_eq!(takes(json!({"runtime": {"type": "string"}})), [false, true, true, true]);
    assert_eq!(takes(json!({"a": {"$ref": "#/$defs/text"}})), [true, false, true, true]);
    assert_eq!(takes(json!({"a": {"anyOf": [{"const": "text"}, {"type": "null"}]}})), [true, true, true, false]);
    assert_eq!(takes(json!({"a": {"type": "no type of JSON Schema"}})), [false; 4]);
}

// Requirement 1.1.
#[test]
#[ignore = "needs the test network and large packages: run ./dev test all --part 7"]
fn agent_libraries_show_a_model_the_plain_answer() {
    test_env::require_test_network();
    let tool_with = |policy: &str| -> Value {
        let env = test_env::env_with(test_env::no_agent_browser())
            .with_policy(&serde_json::from_str::<Value>(policy).unwrap());
        serde_json::from_slice(&env.run(&["tools"]).stdout).unwrap()
    };
    // The server of the script answers with the text `done`, and with structured content if the tool has a schema of it.
    let showing_text = |tool: Value| {
        let report = used(&[tool]);
        LIBRARIES.map(|library| {
            let answer = report[library]["browser-shell"]["answer"].as_str().map(str::to_owned);
            answer.unwrap_or_else(|| panic!("{library}: {report}")).contains("done")
        })
    };
    assert_eq!(showing_text(tool_with(r#"{"output":{"style":"text"}}"#)), [true; 4]);
    // Control: which of them show structured content in place of the text.
    assert_eq!(showing_text(tool_with(r#"{"output":{"style":"text-with-code"}}"#)), [true, true, false, false]);
}
