//! Malformed input over stdio before the handshake, and limits of a call (spec [1.1], [1.5], [1.8]).
//!
//! `protocol` has the same tests after the handshake.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::harness::server::stand_in_env;

#[test]
fn malformed_input_before_handshake_does_not_end_server() {
    let mut long = vec![b'x'; 10 * 1024 * 1024];
    long.push(b'\n');
    let rows: &[(&str, &[u8])] = &[
        ("nothing: the control", b""),
        ("no JSON", b"hello\n"),
        ("wrong UTF-8", b"\xff\xfe{}\n"),
        ("NUL", b"\0\0\n"),
        ("a line of 10 MB", &long),
        ("a ping", b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n"),
        ("an unknown method", b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"shell/run\"}\n"),
        ("a request too early", b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/list\"}\n"),
        ("a notification too early", b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"),
        ("a cancellation of nothing", b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}\n"),
        ("a response to nothing", b"{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n"),
        ("an error to nothing", b"{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{\"code\":1,\"message\":\"x\"}}\n"),
        (
            "a notification after a request that begins nothing",
            b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/list\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
        ),
        ("a wrong shape", b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":[1]}\n"),
    ];
    let handshake = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params":
            {"name": "browser-shell", "arguments": {"session_id": "s", "argv": ["snapshot"]}}}),
    ];
    let handshake = handshake.map(|line| line.to_string()).join("\n") + "\n";
    for (what, bytes) in rows {
        let env = stand_in_env();
        let mut server =
            env.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut input = server.stdin.take().unwrap();
        // Ends with half a line, as after a crash of the client.
        let input_bytes = [*bytes, handshake.as_bytes(), b"{\"jsonrpc\":\"2.0\",\"id\":3,\"met"].concat();
        input.write_all(&input_bytes).unwrap_or_else(|error| panic!("after {what}: {error}"));
        drop(input);
        let output = server.wait_with_output().unwrap();
        assert!(output.status.success(), "after {what}: {}", output.status);
        let text = String::from_utf8(output.stdout).unwrap();
        let mut answers = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let answer = answers.find(|answer| answer["id"] == 2).unwrap_or_else(|| panic!("after {what}: {text}"));
        assert_eq!(answer["result"]["structuredContent"]["exit_code"], 0, "after {what}");
    }
}

// Requirement 1.1.
#[test]
fn nul_and_line_breaks_are_refused() {
    let server = stand_in_env().serve();
    for (argv, code) in [
        (["fill", "@e1", "a\0b"], 64),
        (["fill", "@e1\n", "a"], 64),
        (["fill", "#a\u{2028}b", "a"], 64),
        (["fill", "@e1", "a\nb\r\nc"], 0),
        (["type", "@e1", "a\nb"], 0),
    ] {
        let answer = server.call("s", &argv);
        assert_eq!(answer.code, code, "{argv:?}: {answer:?}");
        assert!(code == 0 || answer.stderr.contains(" at argv["), "the error must name the element: {answer:?}");
    }
}

// Requirement 1.5.
#[test]
fn non_image_screenshot_is_not_returned_as_image() {
    let server = stand_in_env().serve();
    for order in ["#fake-no-file", "#fake-not-png"] {
        let answer = server.call("s", &["screenshot", order]);
        assert_eq!(answer.picture, None, "{order}");
        assert!(answer.stderr.contains("the picture"), "the error must explain it: {answer:?}");
    }
    assert!(server.call("s", &["screenshot", "#fake-png-5000"]).ok().picture.is_some(), "control");
}

// Requirement 1.8.
#[test]
fn ordinary_values_stay_readable() {
    let server = stand_in_env().serve();
    let data = server.call("s", &["click", "#fake-secret"]).ok().data();
    assert_eq!(data["kept"], "this is no secret");
    assert_ne!(data["password"], "fakesecret-0123456789", "control");
    assert_eq!(data["link"], "https://***@example.com/path", "only the user information must be masked");
}

#[test]
fn client_that_never_reads_stderr_is_served() {
    // Far more lines than fit into a pipe.
    const CALLS: usize = 3000;
    let mut messages = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
    .to_string();
    for id in 1..=CALLS {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": "browser-shell", "arguments": {"session_id": "s", "argv": ["eval", "1"]}}});
        messages.push('\n');
        messages.push_str(&call.to_string());
    }
    messages.push('\n');
    for reads in [true, false] {
        let env = stand_in_env().with("BROWSER_SHELL_AUDIT", "-");
        let mut server =
            env.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = server.stdin.take().unwrap();
        let mut errors = server.stderr.take().unwrap();
        let messages = messages.clone();
        let writer = std::thread::spawn(move || input.write_all(messages.as_bytes()).map(|()| input).unwrap());
        let reader = reads.then(|| std::thread::spawn(move || std::io::read_to_string(&mut errors).unwrap()));
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let answers = lines.map_while(Result::ok).filter(|line| line.contains("\"isError\":true")).take(CALLS).count();
        assert_eq!(answers, CALLS, "reads: {reads}");
        drop(writer.join().unwrap());
        assert!(server.wait().unwrap().success());
        if let Some(reader) = reader {
            let audit = reader.join().unwrap();
            assert_eq!(
                audit.lines().filter(|line| line.contains("subcommand-")).count(),
                CALLS,
                "control: {audit:.300}"
            );
        }
    }
}
