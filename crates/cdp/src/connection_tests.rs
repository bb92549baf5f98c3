use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures::channel::mpsc::{Receiver as Written, Sender as Reading, channel};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};

use super::*;
use crate::message::{MAX_LOGGED, MAX_LONG_EVENTS, Received};
use crate::protocol::page::EnablePage;
use crate::protocol::runtime::{Evaluate, Evaluated};
use crate::protocol::{DebugSessionId, Nothing};

/// Receiver that records what it is given.
#[derive(Default)]
struct Recorder(Mutex<Vec<(u64, String)>>);

impl Receiver for Recorder {
    fn answer(&self, tag: u64, answer: Answer<'_>) {
        let (Answer::Result(raw) | Answer::Error(raw)) = answer;
        self.0.lock().unwrap().push((tag, raw.get().to_owned()));
    }

    fn event(&self, event: Event<'_>) {
        self.0.lock().unwrap().push((0, event.method.to_owned()));
    }

    fn flooded(&self, session: &DebugSessionId) {
        self.0.lock().unwrap().push((0, format!("flood of {session}")));
    }
}

/// Connection with a stand-in for Chromium. `written` holds few messages: Chromium seems not to read unless a test does.
struct Fixture {
    connection: Arc<Connection>,
    answers: Reading<io::Result<Received>>,
    written: Written<String>,
}

impl Fixture {
    fn new() -> Self {
        let (answers, reader) = channel(64);
        let (writer, written) = channel(0);
        Self { connection: Connection::start(reader, writer), answers, written }
    }

    /// Returns the next command that Chromium reads.
    async fn read(&mut self) -> Value {
        let message = tokio::time::timeout(Duration::from_secs(5), self.written.next()).await.unwrap().unwrap();
        serde_json::from_str(&message).unwrap()
    }

    async fn write(&mut self, message: String) {
        self.answers.send(Ok(Received::new(message.into_bytes()))).await.unwrap();
    }

    /// Starts a command, and returns its id with its outcome to come.
    async fn command(
        &mut self,
        session: Option<&str>,
    ) -> (u64, tokio::task::JoinHandle<Result<Nothing, CommandError>>) {
        let connection = self.connection.clone();
        let session = session.map(DebugSessionId::from);
        let command = tokio::spawn(async move { connection.send(session.as_ref(), &EnablePage {}).await });
        (self.read().await["id"].as_u64().unwrap(), command)
    }

    async fn evaluate(&mut self) -> (u64, tokio::task::JoinHandle<Result<Evaluated, CommandError>>) {
        let connection = self.connection.clone();
        let command = tokio::spawn(async move { connection.send(None, &Evaluate::default()).await });
        (self.read().await["id"].as_u64().unwrap(), command)
    }
}

fn recorder() -> (Arc<Recorder>, Arc<dyn Receiver>) {
    let recorder = Arc::new(Recorder::default());
    (recorder.clone(), recorder)
}

#[tokio::test]
async fn unreadable_message_ends_its_command_only() {
    let mut fixture = Fixture::new();
    let (first, failing) = fixture.command(None).await;
    let (second, succeeding) = fixture.command(None).await;
    let head = format!("{{\"id\":{first},\"result\":{{\"data\":\"");
    fixture.answers.send(Ok(Received::unreadable(head.as_bytes()))).await.unwrap();
    fixture.answers.send(Ok(Received::new(b"\xff\xfe".to_vec()))).await.unwrap();
    assert!(matches!(failing.await.unwrap(), Err(CommandError::Unreadable(method)) if method == "Page.enable"));
    fixture.write(format!("{{\"id\":{second},\"result\":{{}}}}")).await;
    assert!(succeeding.await.unwrap().is_ok(), "control");
    assert!(!fixture.connection.is_closed());
}

#[tokio::test]
async fn event_that_is_far_too_large_is_told_as_a_flood() {
    let mut fixture = Fixture::new();
    let (recorder, receiver) = recorder();
    fixture.connection.add_session(&"0A".into(), &receiver);
    let event =
        |text: &str| format!(r#"{{"method":"Runtime.consoleAPICalled","params":{{"a":"{text}"}},"sessionId":"0A"}}"#);
    fixture.write(event("x")).await;
    fixture.write(event(&"x".repeat(MAX_LOGGED))).await;
    fixture.answers.send(Ok(Received::unreadable(event("never read").as_bytes()))).await.unwrap();
    let other = event("never read").replace("0A", "0B");
    fixture.answers.send(Ok(Received::unreadable(other.as_bytes()))).await.unwrap();
    let (id, command) = fixture.command(None).await;
    fixture.write(format!("{{\"id\":{id},\"result\":{{}}}}")).await;
    assert!(command.await.unwrap().is_ok(), "control: the connection reads on");
    let expected = ["Runtime.consoleAPICalled", "flood of 0A", "flood of 0A"].map(|text| (0, text.to_owned()));
    assert_eq!(*recorder.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn many_long_events_of_a_session_are_told_as_a_flood() {
    let mut fixture = Fixture::new();
    let (recorder, receiver) = recorder();
    fixture.connection.add_session(&"0A".into(), &receiver);
    fixture.connection.add_session(&"0B".into(), &receiver);
    let url = "x".repeat(MAX_LONG_EVENTS / 4 + 1);
    let event = |method: &str, session: &str| {
        format!(r#"{{"method":"{method}","params":{{"a":"{url}"}},"sessionId":"{session}"}}"#)
    };
    for _ in 0..5 {
        fixture.write(event("Page.screencastFrame", "0B")).await;
    }
    for session in ["0A", "0A", "0A", "0A", "0A", "0C"] {
        fixture.write(event("Network.requestWillBeSent", session)).await;
    }
    let (id, command) = fixture.command(None).await;
    fixture.write(format!("{{\"id\":{id},\"result\":{{}}}}")).await;
    assert!(command.await.unwrap().is_ok(), "control: the connection reads on");
    let (picture, sent) = ("Page.screencastFrame", "Network.requestWillBeSent");
    let expected = [[picture; 5].as_slice(), &[sent, sent, sent, "flood of 0A", sent]].concat();
    assert_eq!(*recorder.0.lock().unwrap(), expected.into_iter().map(|text| (0, text.to_owned())).collect::<Vec<_>>());
}

#[tokio::test]
async fn lone_surrogates_do_not_hide_a_result() {
    let mut fixture = Fixture::new();
    let (id, command) = fixture.evaluate().await;
    fixture.write(format!(r#"{{"id":{id},"result":{{"result":{{"value":"a\ud800"}}}}}}"#)).await;
    assert_eq!(command.await.unwrap().unwrap().value(), Some("a\u{fffd}".to_owned()));
    let (id, command) = fixture.evaluate().await;
    let nested = format!("{}{}", "[".repeat(500), "]".repeat(500));
    fixture.write(format!(r#"{{"id":{id},"result":{{"result":{{"value":{nested}}}}}}}"#)).await;
    assert!(matches!(command.await.unwrap(), Err(CommandError::Unreadable(_))), "not confused with a refusal");
    let (id, command) = fixture.command(None).await;
    fixture.write(format!(r#"{{"id":{id},"error":{{"code":-1,"message":"no\udfff"}}}}"#)).await;
    assert!(matches!(command.await.unwrap(), Err(CommandError::Refused { message, .. }) if message == "no\u{fffd}"));
}

#[tokio::test]
async fn own_messages_pass_a_full_queue_of_clients() {
    let mut fixture = Fixture::new();
    let (_recorder, receiver) = recorder();
    let is_full = Arc::new(AtomicBool::new(false));
    let (connection, full) = (fixture.connection.clone(), is_full.clone());
    let params = json!({ "data": "x".repeat(1024 * 1024) }).to_string();
    let client = tokio::spawn(async move {
        let session = DebugSessionId::from("client");
        for tag in 0..100 {
            let sent = connection.forward(&receiver, tag, Some(&session), "Runtime.evaluate", Some(&params));
            if tokio::time::timeout(Duration::from_millis(200), sent).await.is_err() {
                full.store(true, Ordering::Relaxed);
                return tag;
            }
        }
        100
    });
    let sent = client.await.unwrap();
    assert!(is_full.load(Ordering::Relaxed) && sent < 70, "control: {sent} messages were queued");
    for _ in 0..2000 {
        fixture.connection.notify(Some(&"own".into()), &EnablePage {});
    }
    let mut own = 0;
    let mut of_clients = 0;
    while own < 2000 {
        match fixture.read().await["sessionId"].as_str() {
            Some("own") => own += 1,
            _ => of_clients += 1,
        }
    }
    assert!(of_clients <= 3, "{of_clients} messages of clients went first");
    for _ in of_clients..sent {
        assert_eq!(fixture.read().await["sessionId"], "client", "control: none is lost");
    }
}

#[tokio::test]
async fn end_of_a_session_answers_its_commands() {
    let mut fixture = Fixture::new();
    let (recorder, receiver) = recorder();
    fixture.connection.forward(&receiver, 1, Some(&"ending".into()), "Page.enable", None).await.unwrap();
    fixture.connection.forward(&receiver, 2, Some(&"other".into()), "Page.enable", None).await.unwrap();
    fixture.read().await;
    let other = fixture.read().await["id"].as_u64().unwrap();
    let (_, command) = fixture.command(Some("ending")).await;
    fixture.connection.remove_session(&"ending".into());
    assert!(matches!(command.await.unwrap(), Err(CommandError::Refused { message, .. }) if message == "session ended"));
    assert_eq!(fixture.connection.waiting(), 1);
    let (id, command) = fixture.command(None).await;
    fixture.write(format!("{{\"id\":{other},\"result\":{{}}}}")).await;
    fixture.write(format!("{{\"id\":{id},\"result\":{{}}}}")).await;
    command.await.unwrap().unwrap();
    let ended = json!({ "code": -32001, "message": "session ended" }).to_string();
    assert_eq!(*recorder.0.lock().unwrap(), [(1, ended), (2, "{}".to_owned())]);
}

#[tokio::test]
async fn no_waiter_stays_without_somebody_who_waits() {
    let mut fixture = Fixture::new();
    let (recorder, receiver) = recorder();
    let (_other_recorder, other) = self::recorder();
    for receiver in [&receiver, &other] {
        fixture.connection.forward(receiver, 1, Some(&"session".into()), "Page.enable", None).await.unwrap();
    }
    fixture.connection.add_session(&"session".into(), &receiver);
    assert_eq!(fixture.connection.waiting(), 2, "control");
    let weak: Weak<dyn Receiver> = Arc::downgrade(&receiver);
    fixture.connection.forget_receiver(&weak);
    assert_eq!(fixture.connection.waiting(), 1);
    fixture.read().await;
    fixture.read().await;
    let (_, command) = fixture.command(None).await;
    assert_eq!(fixture.connection.waiting(), 2, "control");
    command.abort();
    assert!(command.await.is_err());
    assert_eq!(fixture.connection.waiting(), 1);
    fixture.write(r#"{"method":"Page.x","sessionId":"session"}"#.to_owned()).await;
    let (id, command) = fixture.command(None).await;
    fixture.write(format!("{{\"id\":{id},\"result\":{{}}}}")).await;
    command.await.unwrap().unwrap();
    assert!(recorder.0.lock().unwrap().is_empty());
    fixture.connection.close();
    assert_eq!(fixture.connection.waiting(), 0);
    assert!(matches!(fixture.connection.send(None, &EnablePage {}).await, Err(CommandError::Closed)));
}
