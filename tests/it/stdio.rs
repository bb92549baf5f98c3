//! What a client over stdio may send before it has introduced itself, and what may not pass in a call (spec [1.1], [1.5], [1.8]).
//!
//! `protocol` has the same for a client that has shaken hands.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::harness::server::home;

#[test]
fn broken_input_before_the_handshake_does_not_end_the_server() {
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
        let home = home();
        let mut server =
            home.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut input = server.stdin.take().unwrap();
        // half a line at the end: what a client that dies leaves behind
        let said = [*bytes, handshake.as_bytes(), b"{\"jsonrpc\":\"2.0\",\"id\":3,\"met"].concat();
        input.write_all(&said).unwrap_or_else(|error| panic!("after {what}: {error}"));
        drop(input);
        let output = server.wait_with_output().unwrap();
        assert!(output.status.success(), "after {what}: {}", output.status);
        let text = String::from_utf8(output.stdout).unwrap();
        let mut answers = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let answer = answers.find(|answer| answer["id"] == 2).unwrap_or_else(|| panic!("after {what}: {text}"));
        assert_eq!(answer["result"]["structuredContent"]["exit_code"], 0, "after {what}");
    }
}

#[test]
fn spec_1_1_nul_and_line_breaks_do_not_pass() {
    let server = home().serve();
    for (argv, code) in [
        (["fill", "@e1", "a\0b"], 64),
        (["fill", "@e1\n", "a"], 64),
        (["fill", "#a\u{2028}b", "a"], 64),
        (["fill", "@e1", "a\nb\r\nc"], 0),
        (["type", "@e1", "a\nb"], 0),
    ] {
        let answer = server.call("s", &argv);
        assert_eq!(answer.code, code, "{argv:?}: {answer:?}");
        assert!(code == 0 || answer.stderr.contains(" at argv["), "it names the element: {answer:?}");
    }
}

#[test]
fn spec_1_5_what_is_no_picture_is_not_returned_as_one() {
    let server = home().serve();
    for order in ["#fake-no-file", "#fake-not-png"] {
        let answer = server.call("s", &["screenshot", order]);
        assert_eq!(answer.picture, None, "{order}");
        assert!(answer.stderr.contains("the picture"), "it says why: {answer:?}");
    }
    assert!(server.call("s", &["screenshot", "#fake-png-5000"]).ok().picture.is_some(), "control");
}

#[test]
fn spec_1_8_what_is_no_secret_stays_readable() {
    let server = home().serve();
    let data = server.call("s", &["click", "#fake-secret"]).ok().data();
    assert_eq!(data["kept"], "this is no secret");
    assert_ne!(data["password"], "fakesecret-0123456789", "control");
    assert_eq!(data["link"], "https://***@example.com/path", "only the user information goes");
}

#[test]
fn a_client_that_never_reads_standard_error_is_served_all_the_same() {
    // far more lines than a pipe holds
    const CALLS: usize = 3000;
    let mut said = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
    .to_string();
    for id in 1..=CALLS {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": "browser-shell", "arguments": {"session_id": "s", "argv": ["eval", "1"]}}});
        said.push('\n');
        said.push_str(&call.to_string());
    }
    said.push('\n');
    for reads in [true, false] {
        let home = home().with("BROWSER_SHELL_AUDIT", "-");
        let mut server =
            home.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = server.stdin.take().unwrap();
        let mut errors = server.stderr.take().unwrap();
        let said = said.clone();
        let writer = std::thread::spawn(move || input.write_all(said.as_bytes()).map(|()| input).unwrap());
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
