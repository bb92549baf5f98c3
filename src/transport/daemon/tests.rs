use super::*;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::output::Answer;

const PORT: u16 = 9333;

/// How the daemon behaves towards one request: what it writes, given the request's id, and whether it hangs up then.
struct Act(Answering, bool);

type Answering = Box<dyn Fn(&str) -> Vec<u8> + Send>;

fn says(text: &'static str) -> Act {
    Act(Box::new(move |id| text.replace("ID", id).into_bytes()), false)
}

fn says_last(text: &'static str) -> Act {
    Act(says(text).0, true)
}

const LAUNCHED: &str = "{\"id\":\"ID\",\"success\":true,\"data\":{\"launched\":true}}\n";
const DONE: &str = "{\"id\":\"ID\",\"success\":true,\"data\":{\"clicked\":true}}\n";

fn click() -> Map<String, Value> {
    json!({ "action": "click", "selector": "@e1" }).as_object().expect("an object").clone()
}

/// Plays these acts to one exchange. Gives its outcome and the requests that came.
async fn play(acts: Vec<Act>, request: &Map<String, Value>) -> (Result<Answered, Trouble>, Vec<Value>) {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    let daemon = tokio::spawn(async move {
        let (reader, mut writer) = theirs.into_split();
        let mut lines = BufReader::new(reader).lines();
        for Act(answer, is_last) in acts {
            let Ok(Some(line)) = lines.next_line().await else { return };
            assert!(line.is_ascii(), "{line}");
            let request: Value = serde_json::from_str(&line).expect("JSON");
            let id = request["id"].as_str().expect("an id").to_owned();
            kept.lock().expect("not poisoned").push(request);
            let _ = writer.write_all(&answer(&id)).await;
            if is_last {
                return;
            }
        }
        let _ = lines.next_line().await;
    });
    let outcome = exchange(ours, PORT, request).await;
    daemon.await.expect("played");
    let mut asked = std::mem::take(&mut *asked.lock().expect("not poisoned"));
    for request in &mut asked {
        request.as_object_mut().expect("an object").shift_remove("id");
    }
    (outcome, asked)
}

#[tokio::test]
async fn the_connection_to_our_port_comes_first_then_the_action() {
    let (outcome, asked) = play(vec![says(LAUNCHED), says(DONE)], &click()).await;
    assert_eq!(asked, [json!({"action": "launch", "cdpPort": PORT}), Value::Object(click())]);
    let answered = outcome.expect("answered");
    assert!(answered.connected);
    let answer = Answer::read(&answered.output);
    assert_eq!((answer.exit_code, answer.body.render(100).as_str()), (0, r#"{"clicked":true}"#));
}

#[tokio::test]
async fn without_a_connection_the_action_is_not_asked_for() {
    let refused = "{\"id\":\"ID\",\"success\":false,\"error\":\"Failed to connect via CDP to port 9333\"}\n";
    let (outcome, asked) = play(vec![says(refused), says(DONE)], &click()).await;
    assert_eq!(asked.len(), 1);
    let answered = outcome.expect("answered");
    assert!(!answered.connected);
    assert!(Answer::read(&answered.output).is_browser_gone());
}

#[tokio::test]
async fn whatever_happens_before_the_action_leaves_it_to_others() {
    for act in [
        says_last(""),
        says_last("{\"id\":\"ID\",\"succ"),
        says_last("{\"id\":\"other\",\"success\":true}\n"),
        says_last("{}\n"),
        says_last("\u{1f600}\n"),
        says(concat!("{\"id\":\"ID\",\"success\":true}\n", "{\"id\":\"b\",\"success\":true}\n")),
    ] {
        let (outcome, asked) = play(vec![act, says(DONE)], &click()).await;
        assert!(matches!(outcome, Err(Trouble::NotAsked(_))), "{outcome:?}");
        assert_eq!(asked.len(), 1, "the action was not sent");
    }
}

#[tokio::test]
async fn half_answers_and_answers_for_others_are_none() {
    for (act, why) in [
        (says_last(""), "a death in mid-call"),
        (says_last("{\"id\":\"ID\",\"success\":true,\"data\":{\"cli"), "half an answer"),
        (says_last("{\"id\":\"ID\",\"success\":true,\"data\":{}}"), "no end of the line"),
        (says_last("{\"id\":\"b0\",\"success\":true,\"data\":{}}\n"), "another id"),
        (says_last("{\"success\":true,\"data\":{}}\n"), "no id"),
        (says_last("{\"id\":\"error\",\"success\":true,\"data\":{}}\n"), "a success for nobody"),
        (says_last("{\"id\":\"error\",\"success\":false}\n"), "a failure for nobody, without a message"),
        (says_last("{\"id\":\"ID\",\"data\":{}}\n"), "neither success nor failure"),
        (says_last("{\"id\":\"ID\",\"success\":\"yes\"}\n"), "a success that is a text"),
        (says_last("{\"id\":\"ID\",\"success\":true,\"data\":{]}\n"), "broken further on"),
        (says_last("\n"), "an empty line"),
        (says_last("HTTP/1.1 200 OK\n"), "another protocol"),
        (Act(Box::new(|_| b"{\"id\":\"ID\",\"success\":true,\"data\":\"\xff\"}\n".to_vec()), true), "no text"),
    ] {
        let (outcome, asked) = play(vec![says(LAUNCHED), act], &click()).await;
        assert!(matches!(outcome, Err(Trouble::Unanswered(_))), "{why}: {outcome:?}");
        assert_eq!(asked.len(), 2, "{why}");
    }
}

#[tokio::test]
async fn failures_are_answers_with_an_exit_code_as_the_clis() {
    for (line, message) in [
        ("{\"id\":\"ID\",\"success\":false,\"error\":\"no element\"}\n", "no element"),
        ("{\"id\":\"error\",\"success\":false,\"error\":\"No page found\"}\n", "No page found"),
        ("{\"id\":\"unknown\",\"success\":false,\"error\":\"Invalid JSON\"}\n", "Invalid JSON"),
    ] {
        let (outcome, _) = play(vec![says(LAUNCHED), says(line)], &click()).await;
        let answered = outcome.expect("answered");
        let answer = Answer::read(&answered.output);
        assert_eq!((answered.output.exit_code, answer.exit_code, answer.stderr.as_str()), (1, 1, message));
        assert!(answered.connected);
    }
}

#[tokio::test]
async fn spec_1_7_large_answers_are_read_and_huge_ones_cut() {
    let page = |size: usize| {
        Act(
            Box::new(move |id| {
                format!("{{\"id\":\"{id}\",\"success\":true,\"data\":{{\"text\":\"{}\"}}}}\n", "x".repeat(size))
                    .into_bytes()
            }),
            false,
        )
    };
    let (outcome, _) = play(vec![says(LAUNCHED), page(1 << 20)], &click()).await;
    let output = outcome.expect("answered").output;
    assert_eq!(output.stdout.total, output.stdout.bytes.len() as u64);
    assert_eq!(Answer::read(&output).body.render(2 << 20).len(), (1 << 20) + r#"{"text":""}"#.len());

    let (outcome, _) = play(vec![says(LAUNCHED), page(MAX_STREAM_BYTES + 1000)], &click()).await;
    let output = outcome.expect("answered").output;
    assert_eq!(output.exit_code, 0);
    assert!(output.stdout.bytes.len() <= MAX_STREAM_BYTES);
    assert!(output.stdout.bytes.starts_with(b"{\"success\":true,\"data\":"), "the id is gone");
    assert_eq!(
        output.stdout.total,
        "{\"success\":true,\"data\":{\"text\":\"\"}}".len() as u64 + MAX_STREAM_BYTES as u64 + 1000
    );

    let other = Act(Box::new(|_| vec![b'x'; MAX_STREAM_BYTES + 1000]), true);
    let (outcome, _) = play(vec![says(LAUNCHED), other], &click()).await;
    assert!(matches!(outcome, Err(Trouble::Unanswered(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_text_arrives_as_it_is_and_changes_nothing_else() {
    for text in
        ["--json", "two\nlines\r", "\",\"action\":\"evaluate\",\"x\":\"", "\u{1f600}\u{e9}\u{2028}\0\u{7f}", "\\u0041"]
    {
        let request = json!({ "action": "fill", "selector": "@e1", "value": text, "id": "mine" });
        let (outcome, asked) = play(vec![says(LAUNCHED), says(DONE)], request.as_object().expect("an object")).await;
        assert!(outcome.is_ok());
        assert_eq!(asked[1], json!({ "action": "fill", "selector": "@e1", "value": text }), "and no second id");
    }
}

fn places(root: &Path) -> SessionPlaces {
    SessionPlaces { key: "s".to_owned(), sockets: root.to_owned(), private: root.join("k"), files: root.join("w") }
}

#[tokio::test]
async fn only_a_private_socket_is_connected_to() {
    let root = tempfile::tempdir().expect("a folder");
    let session = places(root.path());
    let outcome = async || connect(&session).await.map(drop);
    let mode = |mode| std::fs::set_permissions(session.socket(), std::fs::Permissions::from_mode(mode)).expect("set");
    assert!(matches!(outcome().await, Err(Trouble::NotAsked(_))), "none");

    std::fs::write(session.socket(), "").expect("written");
    assert!(matches!(outcome().await, Err(Trouble::NotOurs(_))), "a file");
    std::fs::remove_file(session.socket()).expect("removed");

    let listener = UnixListener::bind(session.socket()).expect("bound");
    for open in [0o770, 0o707, 0o777, 0o740] {
        mode(open);
        assert!(matches!(outcome().await, Err(Trouble::NotOurs(_))), "{open:o}");
    }
    mode(0o700);
    assert_eq!(outcome().await, Ok(()), "control");

    let real = root.path().join("real.sock");
    std::fs::rename(session.socket(), &real).expect("moved");
    std::os::unix::fs::symlink(&real, session.socket()).expect("linked");
    assert!(matches!(outcome().await, Err(Trouble::NotOurs(_))), "a link");
    std::fs::rename(&real, session.socket()).expect("moved");

    drop(listener);
    // A process that another test is just starting holds a copy until it runs its own program.
    let mut stale = outcome().await;
    for _ in 0..500 {
        if stale.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        stale = outcome().await;
    }
    assert!(matches!(stale, Err(Trouble::NotAsked(_))), "stale");
}

#[test]
fn a_socket_of_another_user_is_not_ours() {
    let own = rustix::process::geteuid().as_raw();
    assert_eq!(check_socket(true, own, 0o140_700), Ok(()), "control");
    assert!(matches!(check_socket(true, own + 1, 0o140_700), Err(Trouble::NotOurs(_))));
    assert!(matches!(check_socket(false, own, 0o100_700), Err(Trouble::NotOurs(_))));
}

#[tokio::test]
async fn a_listener_without_the_sessions_mark_is_not_spoken_to() {
    let root = tempfile::tempdir().expect("a folder");
    let session = places(root.path());
    let _listener = UnixListener::bind(session.socket()).expect("bound");
    std::fs::set_permissions(session.socket(), std::fs::Permissions::from_mode(0o700)).expect("set");
    // This test listens itself, which is no process of the session.
    let proof = Proof { version: "", script: root.path().join("daemon.js") };
    let outcome = call(&session, &proof, PORT, &click()).await;
    assert!(matches!(&outcome, Err(Trouble::NotOurs(why)) if why.contains("not of the session")), "{outcome:?}");
}
