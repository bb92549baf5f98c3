//! The MCP tools of the runtime at `/mcp`: the same commands through another front end.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    super::e2e::test_env,
    client::{ExecOutcome, HttpClient, SESSION},
    contract::members,
    server::{Runtime, Setup},
};

const TOOLS: [&str; 2] = ["execute_browser", "execute_browser_batch"];

pub(crate) fn request(client: &HttpClient, method: &str, params: Value) -> Value {
    let lines = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    client.request("POST", "/mcp", &lines, &body).expect_status(200).json()
}

fn call(client: &HttpClient, tool: &str, arguments: Value) -> Value {
    request(client, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// Checks that text, structured content and `isError` of a result agree, and returns the content.
#[track_caller]
fn checked_content(result: &Value) -> Value {
    assert_eq!(result["content"][0]["type"], "text", "{result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"], "text and structured content must be equal");
    let failed = text.get("success").map_or_else(|| text["exit_code"] != json!(0), |success| *success == json!(false));
    assert_eq!(result["isError"].as_bool().unwrap_or(false), failed, "{result}");
    text
}

#[test]
fn runtime_has_two_tools_with_valid_schemas() {
    let runtime = Setup::stand_in().start();
    let tools = request(&runtime, "tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS);
    for (tool, fields) in tools
        .as_array()
        .unwrap()
        .iter()
        .zip([["cmd", "sandbox_id", "timeout"].as_slice(), &["commands", "sandbox_id", "stop_on_error", "timeout"]])
    {
        let properties = members(&tool["inputSchema"]["properties"]);
        assert!(fields.iter().all(|field| properties.contains(field)), "{properties:?}");
        assert!(!tool["description"].as_str().unwrap().is_empty());
        jsonschema::validator_for(&tool["inputSchema"]).unwrap();
        let output = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
        let arguments = match tool["name"].as_str().unwrap() {
            "execute_browser" => json!({"sandbox_id": SESSION, "cmd": "snapshot"}),
            _ => json!({"sandbox_id": SESSION, "commands": ["snapshot", "eval 1"]}),
        };
        let result = call(&runtime, tool["name"].as_str().unwrap(), arguments)["result"].clone();
        assert!(output.is_valid(&checked_content(&result)), "{result}");
    }
}

#[test]
fn runtime_tools_return_same_as_routes() {
    let runtime = Setup::stand_in().start();
    for cmd in
        ["open about:blank", "snapshot", "eval 1", "open file:///etc/hostname", "", "open \"x", "click #fake-exit-3"]
    {
        let result = call(&runtime, "execute_browser", json!({"sandbox_id": SESSION, "cmd": cmd}));
        assert_eq!(ExecOutcome::read(&checked_content(&result["result"])), runtime.exec(cmd), "{cmd}");
    }
    let commands = json!(["open about:blank", "eval 1", "snapshot"]);
    for stop in [true, false] {
        let batch = json!({"sandbox_id": SESSION, "commands": commands, "stop_on_error": stop});
        let without_times = |mut value: Value| {
            value["duration_ms"] = json!(0);
            for step in value["results"].as_array_mut().unwrap() {
                step["duration_ms"] = json!(0);
            }
            value
        };
        let result = call(&runtime, "execute_browser_batch", batch.clone());
        assert_eq!(without_times(checked_content(&result["result"])), without_times(runtime.batch(&batch)));
    }
    let late = call(&runtime, "execute_browser", json!({"sandbox_id": SESSION, "cmd": "wait 20000", "timeout": 1}));
    assert!(checked_content(&late["result"])["stderr"].as_str().unwrap().contains("timed out"));
}

#[test]
fn invalid_tool_arguments_are_errors_that_name_them() {
    let runtime = Setup::stand_in().start();
    for (tool, arguments, named) in [
        (TOOLS[0], json!({"sandbox_id": SESSION}), "cmd"),
        (TOOLS[0], json!({"sandbox_id": "../a", "cmd": "snapshot"}), "sandbox_id"),
        (TOOLS[0], json!({"sandbox_id": SESSION, "cmd": 5}), "cmd"),
        (TOOLS[0], json!({"sandbox_id": SESSION, "cmd": "snapshot", "timeout": 301}), "timeout"),
        (TOOLS[0], json!({"sandbox_id": SESSION, "cmd": "snapshot", "extra": 1}), "fields"),
        (TOOLS[1], json!({"sandbox_id": SESSION, "commands": []}), "commands"),
        (TOOLS[1], json!({"sandbox_id": SESSION, "commands": ["snapshot"], "timeout": 601}), "timeout"),
        (TOOLS[1], json!({"sandbox_id": SESSION, "commands": ["snapshot"], "cmd": "x"}), "fields"),
    ] {
        let answer = call(&runtime, tool, arguments.clone());
        // A protocol error or a failed result. Both name the argument.
        let failed = answer["error"]["code"] == json!(-32602) || answer["result"]["isError"] == json!(true);
        assert!(failed && answer.to_string().contains(named), "{arguments}: {answer}");
    }
    assert_eq!(
        call(&runtime, "browser-shell", json!({}))["error"]["code"],
        json!(-32602),
        "the tool of `mcp` does not exist here"
    );
    checked_content(
        &call(&runtime, TOOLS[0], json!({"sandbox_id": SESSION, "cmd": "snapshot", "timeout": 300}))["result"],
    );
}

// Requirement 4.1.
#[test]
fn sandbox_id_may_be_missing_only_where_it_means_nothing() {
    for (setup, required) in [(Setup::stand_in(), false), (Setup::shared(), true)] {
        let runtime = setup.start();
        let tools = request(&runtime, "tools/list", json!({}))["result"]["tools"].clone();
        for (tool, arguments) in TOOLS.iter().zip([json!({"cmd": "snapshot"}), json!({"commands": ["snapshot"]})]) {
            let entry = tools.as_array().unwrap().iter().find(|entry| entry["name"] == *tool).unwrap();
            let schema = jsonschema::validator_for(&entry["inputSchema"]).unwrap();
            let mut named = arguments.clone();
            named["sandbox_id"] = json!(SESSION);
            let mut null = arguments.clone();
            null["sandbox_id"] = Value::Null;
            // The schema and the reader agree. A required name that is null is missing, which a schema cannot say.
            for (arguments, accepted) in [(named, true), (arguments, !required), (null, !required)] {
                assert!(schema.is_valid(&arguments) == accepted || arguments["sandbox_id"].is_null(), "{arguments}");
                let result = call(&runtime, tool, arguments.clone())["result"].clone();
                if accepted {
                    assert_eq!(result["isError"], false, "{arguments}: {result}");
                } else {
                    assert!(result["isError"] == true && result.to_string().contains("sandbox_id"), "{result}");
                }
            }
        }
    }
}

/// Runs calls through an official client and returns its report.
fn drive(runtime: &Runtime, mut client: Command, calls: &[Value]) -> Value {
    let mut child = client
        .arg(format!("{}/mcp", runtime.url()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(json!(calls).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the client failed: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn with_client(client: Command) {
    test_env::require_test_network();
    let runtime = Setup::stand_in().start();
    let calls = [
        json!({"tool": TOOLS[0], "sandbox_id": SESSION, "cmd": "open about:blank"}),
        json!({"tool": TOOLS[0], "sandbox_id": SESSION, "cmd": "eval 1", "timeout": 60}),
        json!({"tool": TOOLS[1], "sandbox_id": SESSION, "commands": ["snapshot", "screenshot a.png"]}),
        json!({"tool": TOOLS[1], "sandbox_id": SESSION, "commands": ["eval 1", "snapshot"], "stop_on_error": false}),
    ];
    let report = drive(&runtime, client, &calls);
    assert_eq!(report["tools"], json!(TOOLS));
    assert_eq!(report["unknown"], json!({"code": -32602}));
    let answers: Vec<_> = report["answers"].as_array().unwrap().iter().map(checked_content).collect();
    assert_eq!((&answers[0]["exit_code"], &answers[1]["exit_code"]), (&json!(0), &json!(64)));
    assert_eq!((&answers[2]["success"], &answers[3]["completed_steps"]), (&json!(true), &json!(2)));
    assert!(runtime.mount().join("a.png").exists());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn official_python_client_lists_and_calls_both_tools() {
    for mode in ["auto", "legacy"] {
        let mut client = test_env::python();
        client.arg(test_env::support().join("clients/client.py")).arg(mode);
        with_client(client);
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn official_typescript_client_lists_and_calls_both_tools() {
    for mode in ["auto", "v1"] {
        let mut client = test_env::node("clients/client.mjs");
        client.arg(mode);
        with_client(client);
    }
}
