//! The MCP protocol over stdio, and malformed input (spec [1.1], [1.6], [1.9]).

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::harness::server::{Server, stand_in_env};

/// Checks that the server still works.
#[track_caller]
fn assert_server_works(server: &Server) {
    server.call("alive", &["snapshot"]).ok();
}

// Requirement 1.1.
#[test]
fn tools_list_returns_exactly_one_constant_tool() {
    let server = stand_in_env().serve();
    let first = server.request("tools/list", &json!({}));
    let tools = first["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["name"], "browser-shell");
    assert_eq!(server.request("tools/list", &json!({}))["result"], first["result"]);
    let printed: Value = serde_json::from_slice(&server.env().run(&["tools"]).stdout).unwrap();
    assert_eq!(printed, tools[0], "`browser-shell tools` must print the same entry");
}

// Requirement 1.9.
#[test]
fn unknown_tool_is_protocol_error_and_refusal_is_reply() {
    let server = stand_in_env().serve();
    for name in ["shell", "Browser-Shell", ""] {
        let reply = server.request("tools/call", &json!({"name": name, "arguments": {}}));
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert_eq!(reply.get("result"), None);
    }
    // Requests that are refused before they are calls, after which their session goes on.
    for params in [
        json!({"name": "browser_shell", "arguments": {"session_id": "s", "argv": ["snapshot"]}}),
        json!({"name": "browser-shell", "arguments": r#"{"session_id":"s","argv":["snapshot"]}"#}),
        json!({"arguments": {"session_id": "s", "argv": ["snapshot"]}}),
    ] {
        let reply = server.request("tools/call", &params);
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
    }
    assert_eq!(server.request("tools/run", &json!({}))["error"]["code"], -32601, "control");
    for (arguments, code) in [
        (json!({}), 64),
        (json!({"session_id": "s", "argv": ["snapshot"], "shell": "sh"}), 64),
        (json!({"session_id": "../s", "argv": ["snapshot"]}), 64),
        (json!({"session_id": "s", "argv": ["eval", "1"]}), 64),
        (json!({"session_id": "s", "argv": ["fill", "@e1", "--cdp"]}), 64),
        (json!({"session_id": "s", "argv": ["back"]}), 77),
        (json!({"session_id": "s", "argv": ["open", "http://127.0.0.1/"]}), 77),
        (json!({"session_id": "s", "argv": ["open", "file:///etc/passwd"]}), 77),
    ] {
        server.call_with(&arguments).fails_with(code);
    }
    let answer = server.call_with(&json!({"session_id": "s", "argv": ["fill", "@e1", 5], "timeout_sec": 5})).ok();
    assert_eq!(answer.session, "s", "control");
}

#[test]
fn every_protocol_version_completes_handshake() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let lines = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
                {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        ];
        let answers = exchange(&lines.map(|line| line.to_string()).join("\n"));
        assert_eq!(answers[0]["result"]["protocolVersion"], version);
        let instructions = answers[0]["result"]["instructions"].as_str().unwrap();
        assert!(instructions.contains("snapshot -i"), "{instructions}");
        assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 1, "{version}");
    }
}

#[test]
fn newest_protocol_version_needs_no_handshake() {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"_meta": meta, "name": "browser-shell",
            "arguments": {"session_id": "s", "argv": ["snapshot"]}}}),
    ];
    let mut answers = exchange(&lines.map(|line| line.to_string()).join("\n"));
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let versions = answers[0]["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2024-11-05")), "{versions:?}");
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 1);
    assert_eq!(answers[1]["result"]["resultType"], "complete");
    assert_eq!(answers[2]["result"]["structuredContent"]["exit_code"], 0);
}

// Requirement 7.4.
#[test]
fn newest_protocol_version_has_subscription_to_changes() {
    let env = stand_in_env().with_policy(&json!({}));
    let policy = env.variables().find(|(name, _)| name == "BROWSER_SHELL_POLICY").expect("a policy file").1;
    let mut server =
        env.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut next = move || -> Value { serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap() };
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let notifications = json!({"toolsListChanged": true, "promptsListChanged": true});
    let listen = json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen",
        "params": {"_meta": meta, "notifications": notifications}});
    writeln!(input, "{listen}").unwrap();
    let acknowledged = next();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}), "{acknowledged}");

    std::fs::write(&policy, r#"{"subcommands":{"enable":["drag"]}}"#).unwrap();
    let changed = next();
    assert_eq!(changed["method"], "notifications/tools/list_changed", "{changed}");
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7, "{changed}");
    drop(input);
    assert!(server.wait().unwrap().success());
}

/// Writes all messages at once, closes the input, and returns the replies. Calls in progress are still answered.
fn exchange(lines: &str) -> Vec<Value> {
    let env = stand_in_env();
    let mut server =
        env.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    writeln!(server.stdin.take().unwrap(), "{lines}").unwrap();
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn lines_that_are_no_message_have_an_answer() {
    let lines = ["{bad json}", "[]", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, r#"{"id":7,"method":"ping"}"#];
    let answers = exchange(&lines.join("\n"));
    let found: Vec<_> = answers.iter().map(|answer| (answer.get("id"), &answer["error"]["code"])).collect();
    let (null, seven) = (json!(null), json!(7));
    let [parse, invalid] = [json!(-32700), json!(-32600)];
    let wanted = [(Some(&null), &parse), (Some(&null), &invalid), (Some(&null), &invalid), (Some(&seven), &invalid)];
    assert_eq!(found, wanted);
}

#[test]
fn malformed_input_does_not_end_server() {
    let server = stand_in_env().serve();
    let long = vec![b'x'; 10 * 1024 * 1024];
    let deep = vec![b'['; 100_000];
    let rows: &[(&str, &[u8])] = &[
        ("no JSON", b"hello\n"),
        ("half a line and the rest", b"{\"jsonrpc\":\"2.0\",\"id\":900,"),
        ("the rest", b"\"method\":\"ping\"}\n"),
        ("wrong UTF-8", b"\xff\xfe{}\n"),
        ("NUL", b"\0\0\0\n"),
        ("an unknown method", b"{\"jsonrpc\":\"2.0\",\"id\":901,\"method\":\"shell/run\"}\n"),
        ("a wrong shape", b"{\"jsonrpc\":\"2.0\",\"id\":902,\"method\":\"tools/call\",\"params\":[1]}\n"),
        ("an empty batch", b"[]\n"),
        ("an answer to nothing", b"{\"jsonrpc\":\"2.0\",\"id\":903,\"result\":{}}\n"),
        ("empty lines", b"\n\r\n\n"),
        ("a line of 10 MB", &long),
        ("its end", b"\n"),
        ("deep nesting", &deep),
        ("its end", b"\n"),
    ];
    for (what, bytes) in rows {
        server.send_bytes(bytes);
        if bytes.ends_with(b"\n") {
            let reply = server.request("ping", &json!({}));
            assert_eq!(reply["result"], json!({}), "after {what}");
        }
    }
    assert_server_works(&server);
}

// Requirement 1.5.
#[test]
fn screenshot_is_separate_content_item() {
    let server = stand_in_env().serve();
    let answer = server.call("s", &["screenshot", "a.png"]).ok();
    let picture = answer.picture.as_deref().expect("no picture");
    let decoder = png::Decoder::new(std::io::Cursor::new(picture));
    assert!(decoder.read_info().is_ok(), "a PNG");
    let file = server.env().workspace().join("s/a.png");
    assert_eq!(answer.data()["path"], file.to_str().unwrap());
    assert_eq!(std::fs::read(file).unwrap(), picture);
    assert_eq!(server.call("s", &["snapshot"]).ok().picture, None, "control");
}

// Requirement 1.6.
#[test]
fn failures_are_never_reported_as_success() {
    let server = stand_in_env().serve();
    for (order, code) in
        [("fail", 1), ("exit0-fail", 1), ("exit-7", 7), ("cli-fail", 1), ("cdp-down", 69), ("abort", 134)]
    {
        server.call("s", &["click", &format!("#fake-{order}")]).fails_with(code);
    }
    let answer = server.call("s", &["click", "#fake-text-hello"]).ok();
    assert_eq!(answer.stdout.trim(), "hello", "output that is not JSON is passed on as text");
}

// Requirement 1.7.
#[test]
fn output_is_bounded_for_any_page() {
    let server = stand_in_env().serve();
    let answer = server.call("s", &["click", "#fake-big-1000000"]).ok();
    assert!(answer.stdout.chars().count() <= 30_000);
    assert!(answer.data()["text"].as_str().unwrap().contains("characters cut]"));
    let answer = server.call_within(120, "s", &["click", "#fake-big-20000000"]).ok();
    assert!(answer.stdout.chars().count() <= 30_000 && answer.stdout.contains(" cut]"));
    let answer = server.call("s", &["click", "#fake-stderr-big-100000"]);
    assert!(answer.stderr.chars().count() <= 30_000 && answer.stderr.contains("characters cut]"));
    // Each stream is buffered up to 8 MiB, and parsing the output as JSON takes the same amount again.
    let peak = super::harness::processes::peak_memory(server.id());
    assert!(peak < 100 * 1024 * 1024, "the server used {peak} bytes");
}

// Requirement 1.7.
#[test]
fn large_outputs_of_many_sessions_do_not_accumulate() {
    let server = stand_in_env().serve();
    let calls: Vec<_> =
        (0..8).map(|number| server.begin(&format!("s{number}"), &["click", "#fake-wide-30000"], Some(120))).collect();
    for call in calls {
        let answer = call.answer().ok();
        assert!(answer.stdout.chars().count() <= 30_000 && answer.stdout.contains(" more cut]"), "{answer:.300?}");
    }
    // One such reply takes 32 MB as parsed data. Waiting outputs are only bytes. The server used 77 MB.
    let peak = super::harness::processes::peak_memory(server.id());
    assert!(peak < 130 * 1024 * 1024, "the server used {peak} bytes");
}

// Requirement 1.8.
#[test]
fn secrets_are_masked_in_both_streams() {
    let server = stand_in_env().serve();
    for order in ["secret", "secret-fail"] {
        let answer = server.call("s", &["click", &format!("#fake-{order}")]);
        assert!(!format!("{answer:?}").contains("fakesecret"), "{answer:?}");
        assert!(format!("{answer:?}").contains("***"), "control: a secret must have been masked");
    }
}

// Requirement 2.6.
#[test]
fn refused_landing_is_left() {
    let env = stand_in_env();
    let server = env.serve();
    let answer = server.call("s", &["open", "http://93.184.215.14/fake-landing?to=http%3A%2F%2F10.0.0.1%2F"]);
    answer.clone().fails_with(77);
    assert!(answer.stderr.contains("left for about:blank") && answer.stdout.is_empty(), "{answer:?}");
    server.call("s", &["open", "http://93.184.215.14/fake-landing?to=http%3A%2F%2F93.184.215.15%2F"]).ok();
}
