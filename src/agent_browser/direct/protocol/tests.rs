use super::*;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, BufReader};

use browser_shell_core::output::CommandResult;

const PORT: u16 = 9333;

/// Behavior of the daemon for one request: the reply to its id, and whether the daemon then closes the connection.
struct Act(Reply, bool);

type Reply = Box<dyn Fn(&str) -> Vec<u8> + Send>;

fn replies(text: &'static str) -> Act {
    Act(Box::new(move |id| text.replace("ID", id).into_bytes()), false)
}

fn replies_last(text: &'static str) -> Act {
    Act(replies(text).0, true)
}

const LAUNCHED: &str = "{\"id\":\"ID\",\"success\":true,\"data\":{\"launched\":true}}\n";
const DONE: &str = "{\"id\":\"ID\",\"success\":true,\"data\":{\"clicked\":true}}\n";

fn click() -> Map<String, Value> {
    json!({ "action": "click", "selector": "@e1" }).as_object().expect("an object").clone()
}

/// Runs one exchange against a daemon with this behavior. Returns its outcome and the requests that the daemon received.
async fn play(acts: Vec<Act>, request: &Map<String, Value>) -> (Result<DaemonReply, DaemonError>, Vec<Value>) {
    let (client, server) = UnixStream::pair().expect("a pair");
    let received = Arc::new(Mutex::new(Vec::new()));
    let requests = received.clone();
    let daemon = tokio::spawn(async move {
        let (reader, mut writer) = server.into_split();
        let mut lines = BufReader::new(reader).lines();
        for Act(reply, is_last) in acts {
            let Ok(Some(line)) = lines.next_line().await else { return };
            assert!(line.is_ascii(), "{line}");
            let request: Value = serde_json::from_str(&line).expect("JSON");
            let id = request["id"].as_str().expect("an id").to_owned();
            requests.lock().expect("not poisoned").push(request);
            let _ = writer.write_all(&reply(&id)).await;
            if is_last {
                return;
            }
        }
        let _ = lines.next_line().await;
    });
    let outcome = exchange(client, PORT, request).await;
    daemon.await.expect("finished");
    let mut received = std::mem::take(&mut *received.lock().expect("not poisoned"));
    for request in &mut received {
        request.as_object_mut().expect("an object").shift_remove("id");
    }
    (outcome, received)
}

#[tokio::test]
async fn daemon_connects_to_cdp_port_before_action() {
    let (outcome, received) = play(vec![replies(LAUNCHED), replies(DONE)], &click()).await;
    assert_eq!(received, [json!({"action": "launch", "cdpPort": PORT}), Value::Object(click())]);
    let reply = outcome.expect("answered");
    assert!(reply.is_connected);
    let answer = CommandResult::parse(&reply.output);
    assert_eq!((answer.exit_code, answer.body.render(100).as_str()), (0, "{\"clicked\":true}\n"));
}

#[tokio::test]
async fn action_is_not_sent_without_connection() {
    let refused = "{\"id\":\"ID\",\"success\":false,\"error\":\"Failed to connect via CDP to port 9333\"}\n";
    let (outcome, received) = play(vec![replies(refused), replies(DONE)], &click()).await;
    assert_eq!(received.len(), 1);
    let reply = outcome.expect("answered");
    assert!(!reply.is_connected);
    assert!(CommandResult::parse(&reply.output).is_browser_unavailable());
}

#[tokio::test]
async fn failure_before_action_leaves_call_retryable() {
    for act in [
        replies_last(""),
        replies_last("{\"id\":\"ID\",\"succ"),
        replies_last("{\"id\":\"other\",\"success\":true}\n"),
        replies_last("{}\n"),
        replies_last("\u{1f600}\n"),
        replies(concat!("{\"id\":\"ID\",\"success\":true}\n", "{\"id\":\"b\",\"success\":true}\n")),
    ] {
        let (outcome, received) = play(vec![act, replies(DONE)], &click()).await;
        assert!(matches!(outcome, Err(DaemonError::NotSent(_))), "{outcome:?}");
        assert_eq!(received.len(), 1, "the action was not sent");
    }
}

#[tokio::test]
async fn partial_and_mismatched_answers_are_rejected() {
    for (act, why) in [
        (replies_last(""), "closed in mid-call"),
        (replies_last("{\"id\":\"ID\",\"success\":true,\"data\":{\"cli"), "half a reply"),
        (replies_last("{\"id\":\"ID\",\"success\":true,\"data\":{}}"), "no line feed"),
        (replies_last("{\"id\":\"b0\",\"success\":true,\"data\":{}}\n"), "another id"),
        (replies_last("{\"success\":true,\"data\":{}}\n"), "no id"),
        (replies_last("{\"id\":\"error\",\"success\":true,\"data\":{}}\n"), "a success without an id"),
        (replies_last("{\"id\":\"error\",\"success\":false}\n"), "a failure without an id and a message"),
        (replies_last("{\"id\":\"ID\",\"data\":{}}\n"), "neither success nor failure"),
        (replies_last("{\"id\":\"ID\",\"success\":\"yes\"}\n"), "a success that is a text"),
        (replies_last("{\"id\":\"ID\",\"success\":true,\"data\":{]}\n"), "invalid further on"),
        (replies_last("\n"), "an empty line"),
        (replies_last("HTTP/1.1 200 OK\n"), "another protocol"),
        (Act(Box::new(|_| b"{\"id\":\"ID\",\"success\":true,\"data\":\"\xff\"}\n".to_vec()), true), "not UTF-8"),
    ] {
        let (outcome, received) = play(vec![replies(LAUNCHED), act], &click()).await;
        assert!(matches!(outcome, Err(DaemonError::Unanswered(_))), "{why}: {outcome:?}");
        assert_eq!(received.len(), 2, "{why}");
    }
}

#[tokio::test]
async fn daemon_failures_have_cli_exit_code() {
    for (line, message) in [
        ("{\"id\":\"ID\",\"success\":false,\"error\":\"no element\"}\n", "no element"),
        ("{\"id\":\"error\",\"success\":false,\"error\":\"No page found\"}\n", "No page found"),
        ("{\"id\":\"unknown\",\"success\":false,\"error\":\"Invalid JSON\"}\n", "Invalid JSON"),
    ] {
        let (outcome, _) = play(vec![replies(LAUNCHED), replies(line)], &click()).await;
        let reply = outcome.expect("answered");
        let answer = CommandResult::parse(&reply.output);
        assert_eq!((reply.output.exit_code, answer.exit_code, answer.stderr.as_str()), (1, 1, message));
        assert!(reply.is_connected);
    }
}

// Requirement 1.7.
#[tokio::test]
async fn large_daemon_answers_are_read_and_capped() {
    let page = |size: usize| {
        Act(
            Box::new(move |id| {
                format!("{{\"id\":\"{id}\",\"success\":true,\"data\":{{\"text\":\"{}\"}}}}\n", "x".repeat(size))
                    .into_bytes()
            }),
            false,
        )
    };
    let (outcome, _) = play(vec![replies(LAUNCHED), page(1 << 20)], &click()).await;
    let output = outcome.expect("answered").output;
    assert_eq!(output.stdout.total, output.stdout.bytes.len() as u64);
    assert_eq!(CommandResult::parse(&output).body.render(2 << 20).len(), (1 << 20) + "{\"text\":\"\"}\n".len());

    let (outcome, _) = play(vec![replies(LAUNCHED), page(MAX_STREAM_BYTES + 1000)], &click()).await;
    let output = outcome.expect("answered").output;
    assert_eq!(output.exit_code, 0);
    assert!(output.stdout.bytes.len() <= MAX_STREAM_BYTES);
    assert!(output.stdout.bytes.starts_with(b"{\"success\":true,\"data\":"), "the id is removed");
    assert_eq!(
        output.stdout.total,
        "{\"success\":true,\"data\":{\"text\":\"\"}}".len() as u64 + MAX_STREAM_BYTES as u64 + 1000
    );

    let native = |size: usize, last: &'static str| {
        Act(
            Box::new(move |id| {
                let text = "x".repeat(size);
                format!("{{\"data\":{{\"text\":\"{text}\"}},\"id\":\"{}\",\"success\":true}}\n", last.replace("ID", id))
                    .into_bytes()
            }),
            false,
        )
    };
    let (outcome, _) = play(vec![replies(LAUNCHED), native(MAX_STREAM_BYTES + 1000, "ID")], &click()).await;
    let output = outcome.expect("answered").output;
    assert_eq!((output.exit_code, output.stdout.bytes.len()), (0, MAX_STREAM_BYTES));
    assert!(output.stdout.bytes.starts_with(b"{\"success\":true,\"data\":"), "as the CLI writes it");
    assert_eq!(
        output.stdout.total,
        "{\"success\":true,\"data\":{\"text\":\"\"}}".len() as u64 + MAX_STREAM_BYTES as u64 + 1000
    );
    let (outcome, _) = play(vec![replies(LAUNCHED), native(MAX_STREAM_BYTES + 1000, "b0")], &click()).await;
    assert!(matches!(outcome, Err(DaemonError::Unanswered(_))), "{outcome:?}");

    let other = Act(Box::new(|_| vec![b'x'; MAX_STREAM_BYTES + 1000]), true);
    let (outcome, _) = play(vec![replies(LAUNCHED), other], &click()).await;
    assert!(matches!(outcome, Err(DaemonError::Unanswered(_))), "{outcome:?}");
}

#[tokio::test]
async fn text_reaches_daemon_unchanged_in_one_field() {
    for text in
        ["--json", "two\nlines\r", "\",\"action\":\"evaluate\",\"x\":\"", "\u{1f600}\u{e9}\u{2028}\0\u{7f}", "\\u0041"]
    {
        let request = json!({ "action": "fill", "selector": "@e1", "value": text, "id": "mine" });
        let (outcome, received) =
            play(vec![replies(LAUNCHED), replies(DONE)], request.as_object().expect("an object")).await;
        assert!(outcome.is_ok());
        assert_eq!(received[1], json!({ "action": "fill", "selector": "@e1", "value": text }), "no second id");
    }
}
