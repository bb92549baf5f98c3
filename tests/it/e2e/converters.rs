//! The libraries of model vendors, each of which converts an MCP tool to its own form and knows only a part of JSON Schema.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{super::runtime, test_env};

/// Runs a script of `tests/e2e/clients` that reads tools, and returns the JSON that it prints.
pub(super) fn run_script(mut python: Command, script: &str, tools: &Value) -> Value {
    let mut child = python
        .arg(test_env::support().join("clients").join(script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(tools.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Converts tools by each library. Returns for each library and tool the names of its arguments, or its error.
fn converted(tools: &Value) -> Value {
    run_script(test_env::python(), "converters.py", tools)
}

/// Returns the tools of every front end: of `mcp`, and of `runtime` with one tenant and with several.
pub(super) fn published() -> Vec<Value> {
    let printed = test_env::default_env().run(&["tools"]).stdout;
    let mut tools: Vec<Value> = vec![serde_json::from_slice(&printed).unwrap()];
    for (number, setup) in
        [runtime::server::Setup::stand_in(), runtime::server::Setup::shared()].into_iter().enumerate()
    {
        let listed = runtime::mcp::request(&setup.start(), "tools/list", json!({}))["result"]["tools"].clone();
        tools.extend(listed.as_array().unwrap().iter().cloned().map(|mut tool| {
            tool["name"] = json!(format!("{}-{number}", tool["name"].as_str().unwrap()));
            tool
        }));
    }
    tools
}

// Requirement 1.1.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn vendor_libraries_convert_every_schema() {
    test_env::require_test_network();
    let mut tools = published();
    assert_eq!(tools.len(), 5, "{tools:?}");
    // No library converts an output schema yet, so each is converted as if it were one of arguments.
    for mut tool in tools.clone() {
        tool["name"] = json!(format!("{}-output", tool["name"].as_str().unwrap()));
        tool["inputSchema"] = tool["outputSchema"].take();
        tools.push(tool);
    }
    let report = converted(&json!(tools));
    for library in ["google-genai", "anthropic", "openai-agents"] {
        for tool in &tools {
            let properties = tool["inputSchema"]["properties"].as_object().unwrap();
            let mut names: Vec<_> = properties.keys().collect();
            names.sort();
            let name = tool["name"].as_str().unwrap();
            assert_eq!(report[library][name], json!({ "arguments": names }), "{library}: {name}");
        }
    }

    // Controls: each library refuses what another takes.
    let with = |name: &str, pointer: &str, value: Value| {
        let mut tool = tools[0].clone();
        tool["name"] = json!(name);
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        tool["inputSchema"].pointer_mut(parent).unwrap()[member] = value;
        tool
    };
    let report = converted(&json!([
        with("closed", "/additionalProperties", json!(false)),
        with("types", "/properties/argv/items", json!({"type": ["string", "number", "boolean"]})),
        with("open", "/additionalProperties", json!(true)),
    ]));
    let takes = |library: &str, name: &str| report[library][name].get("arguments").is_some();
    let forms = |library: &str| ["closed", "types", "open"].map(|name| takes(library, name));
    assert_eq!(forms("google-genai"), [false, true, false], "{report}");
    assert_eq!(forms("anthropic"), [true, false, true], "{report}");
    assert_eq!(forms("openai-agents"), [true, true, false], "{report}");
}
