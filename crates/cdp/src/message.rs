//! Messages of the debugging protocol.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;
use tokio::time::Instant;

use crate::protocol::DebugSessionId;
use crate::protocol::page::PICTURE;
use crate::protocol::runtime::LOGGED;

/// Maximum length of a message of Chromium that is read, in bytes.
pub(super) const MAX_MESSAGE: usize = 128 * 1024 * 1024;

/// Maximum length of an event by which a page logs something, in bytes. Texts come whole, and Chromium needs several times their length for
/// each: a page that logs more at once keeps all others waiting.
pub(super) const MAX_LOGGED: usize = 8 * 1024 * 1024;

/// Length from which on an event is a long one, in bytes.
pub(super) const LONG_EVENT: usize = 256 * 1024;

/// Maximum length of the long events of a session together, in bytes, within [`LONG_EVENT_TIME`]: 64 MiB of addresses, as of pictures that a
/// document holds, since Chromium tells each of them twice.
pub(super) const MAX_LONG_EVENTS: usize = 128 * 1024 * 1024;

/// Time in which the long events of a session are counted together.
const LONG_EVENT_TIME: Duration = Duration::from_secs(10);

/// Number of bytes that are kept of each end of a message that is not read.
const END: usize = 64;

/// Beginning of an answer.
const ANSWER_START: &[u8] = br#"{"id":"#;

/// Beginning of an event, up to its method.
const EVENT_START: &str = r#"{"method":""#;

/// Last member of an event of a session, up to its value.
const SESSION_START: &[u8] = br#","sessionId":""#;

/// Text behind the session of an event.
const SESSION_END: &[u8] = br#""}"#;

/// Reason why a command has no result.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The connection has ended.
    #[error("the connection to Chromium has ended")]
    Closed,
    /// Chromium did not answer in time.
    #[error("Chromium did not answer `{0}` in time")]
    TimedOut(&'static str),
    /// Chromium's answer is too large or cannot be read. Unlike a refusal, it says nothing about the command's target.
    #[error("the answer of Chromium to `{0}` is too large or cannot be read")]
    Unreadable(&'static str),
    /// Chromium answered with an error, or the command's session ended.
    #[error("Chromium answered `{method}` with an error: {message}")]
    Refused {
        /// Method of the command.
        method: &'static str,
        /// Chromium's message.
        message: String,
    },
}

/// Message that was received from Chromium.
#[derive(Debug)]
pub(super) enum Received {
    /// A text.
    Text(String),
    /// A message that is too long or not a text.
    Unreadable(Ends),
}

/// First and last bytes of a message that is not read.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) head: Vec<u8>,
    /// Nothing of a message that is no text.
    pub(super) tail: Vec<u8>,
}

impl Ends {
    /// Adds the next bytes of the message.
    pub(super) fn add(&mut self, part: &[u8]) {
        self.head.extend(part.iter().take(END.saturating_sub(self.head.len())));
        self.tail.extend(part.iter().skip(part.len().saturating_sub(END)));
        self.tail.drain(..self.tail.len().saturating_sub(END));
    }
}

impl Received {
    /// Checks the bytes of a message.
    pub(super) fn new(message: Vec<u8>) -> Self {
        if message.len() > MAX_MESSAGE {
            return Self::unreadable(&message);
        }
        String::from_utf8(message).map_or_else(
            |error| {
                let head = error.as_bytes().iter().take(END).copied().collect();
                Self::Unreadable(Ends { head, tail: Vec::new() })
            },
            Self::Text,
        )
    }

    /// Keeps the ends of a message that is not read.
    pub(super) fn unreadable(message: &[u8]) -> Self {
        let mut ends = Ends::default();
        ends.add(message);
        Self::Unreadable(ends)
    }
}

/// Returns the session of a message by which a page logs too much at once.
pub(super) fn flooding_session(message: &str) -> Option<DebugSessionId> {
    let is_flood = message.len() > MAX_LOGGED && is_event(message, &LOGGED);
    is_flood.then(|| trailing_session(message.as_bytes())).flatten()
}

/// Returns true if a message is an event with one of these names.
fn is_event(message: &str, names: &[&str]) -> bool {
    let is =
        |method: &str| names.iter().any(|name| method.strip_prefix(name).is_some_and(|rest| rest.starts_with('"')));
    message.strip_prefix(EVENT_START).is_some_and(is)
}

/// Returns the session of a long event. Pictures for viewers are none: it is the gate itself that asks for them.
pub(super) fn session_of_long_event(message: &str) -> Option<DebugSessionId> {
    let is_long = message.len() >= LONG_EVENT && message.starts_with(EVENT_START);
    (is_long && !is_event(message, &[PICTURE])).then(|| trailing_session(message.as_bytes())).flatten()
}

/// Bytes of the long events that sessions sent lately. Addresses come whole in events, and a page that sends many long ones keeps all others
/// waiting, although none of them is too long.
#[derive(Debug, Default)]
pub(super) struct LongEvents(HashMap<DebugSessionId, LongEventCount>);

#[derive(Debug)]
struct LongEventCount {
    since: Instant,
    bytes: usize,
}

impl LongEvents {
    /// Counts a long event that comes now. Returns true if its session has sent too much; it is counted from nothing then.
    pub(super) fn add(&mut self, session: &DebugSessionId, bytes: usize, now: Instant) -> bool {
        self.0.retain(|_, count| now.duration_since(count.since) < LONG_EVENT_TIME);
        let count = self.0.entry(session.clone()).or_insert(LongEventCount { since: now, bytes: 0 });
        count.bytes = count.bytes.saturating_add(bytes);
        let is_flood = count.bytes > MAX_LONG_EVENTS;
        if is_flood {
            self.0.remove(session);
        }
        is_flood
    }
}

/// Returns the session of an event of which only the last bytes are known. Chromium writes it last, and a quote in a text of the page has a
/// backslash in front of it.
pub(super) fn trailing_session(tail: &[u8]) -> Option<DebugSessionId> {
    let tail = tail.get(tail.len().saturating_sub(END)..)?.strip_suffix(SESSION_END)?;
    let start = tail.windows(SESSION_START.len()).rposition(|part| part == SESSION_START)?;
    let id = str::from_utf8(tail.get(start + SESSION_START.len()..)?).ok()?;
    (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric())).then(|| id.into())
}

/// Message of Chromium.
#[derive(Deserialize)]
pub(super) struct Incoming<'a> {
    pub(super) id: Option<u64>,
    #[serde(borrow)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionId")]
    pub(super) session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// Returns the id of an answer of which only the first bytes are known. Chromium writes the id first.
pub(super) fn leading_id(head: &[u8]) -> Option<u64> {
    let rest = head.strip_prefix(ANSWER_START)?;
    let digits: Vec<u8> = rest.iter().take_while(|byte| byte.is_ascii_digit()).copied().collect();
    // Without the byte that follows, the number may be longer.
    rest.get(digits.len())?;
    String::from_utf8(digits).ok()?.parse().ok()
}

/// Returns the text of a command. `params` is the text of an object.
pub(super) fn encode(id: u64, session: Option<&DebugSessionId>, method: &str, params: Option<&str>) -> String {
    let mut text = format!(r#"{{"id":{id},"method":{}"#, Value::from(method));
    if let Some(params) = params {
        text.push_str(r#","params":"#);
        text.push_str(params);
    }
    if let Some(session) = session {
        text.push_str(r#","sessionId":"#);
        text.push_str(&Value::from(session.as_str()).to_string());
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_id_is_read_from_answers_only() {
        assert_eq!(leading_id(br#"{"id":12,"result":{"da"#), Some(12));
        for head in [&br#"{"method":"Page.x","id":12"#[..], br#"{"id":12"#, br#"{"id":-1,"#, b"{\"id\":,", b""] {
            assert_eq!(leading_id(head), None, "{head:?}");
        }
    }

    #[test]
    fn long_and_binary_messages_are_unreadable() {
        assert!(matches!(Received::new(b"{}".to_vec()), Received::Text(_)), "control");
        let received = Received::new(b"{\"id\":3,\"result\":\"\xff\"}".to_vec());
        assert!(matches!(received, Received::Unreadable(Ends { head, .. }) if leading_id(&head) == Some(3)));
        let received = Received::new(b"{\"method\":\"a\",\"params\":\"\xff\",\"sessionId\":\"A\"}".to_vec());
        assert!(matches!(received, Received::Unreadable(Ends { tail, .. }) if tail.is_empty()), "nobody is blamed");
        let received = Received::new(vec![0; MAX_MESSAGE + 1]);
        let Received::Unreadable(Ends { head, tail }) = received else { panic!("too long") };
        assert_eq!((head.len(), tail.len()), (END, END));
    }

    #[test]
    fn ends_of_a_message_are_those_of_all_its_parts() {
        let mut ends = Ends::default();
        for part in ["ab", "", &"c".repeat(200), "de"] {
            ends.add(part.as_bytes());
        }
        assert_eq!(ends.head, format!("ab{}", "c".repeat(END - 2)).into_bytes());
        assert_eq!(ends.tail, format!("{}de", "c".repeat(END - 2)).into_bytes());
    }

    #[test]
    fn session_is_read_from_the_end_of_events_only() {
        let session = |tail: &str| trailing_session(tail.as_bytes()).map(|id| id.as_str().to_owned());
        let long = "\u{e9}".repeat(50);
        assert_eq!(session(&format!(r#"{long}"}},"sessionId":"0A1B"}}"#)).as_deref(), Some("0A1B"));
        for tail in [
            r#"{"a":"\",\"sessionId\":\"0A1B"}"#,
            r#","sessionId":"0A1B"}}"#,
            r#","sessionId":""}"#,
            r#"{"a":"b"}"#,
            "",
        ] {
            assert_eq!(session(tail), None, "{tail}");
        }
    }

    #[test]
    fn many_long_events_of_a_session_are_a_flood() {
        let (start, half) = (Instant::now(), MAX_LONG_EVENTS / 2);
        let mut events = LongEvents::default();
        let mut add = |session: &str, bytes: usize, time: Duration| {
            let is_flood = events.add(&session.into(), bytes, start + time);
            (is_flood, events.0.len())
        };
        let (soon, later, late) = (LONG_EVENT_TIME / 2, LONG_EVENT_TIME, LONG_EVENT_TIME * 3);
        assert_eq!(add("0A", half, Duration::ZERO), (false, 1));
        assert_eq!(add("0B", half, soon), (false, 2), "control: another session");
        assert_eq!(add("0A", half, soon), (false, 2), "control: not above");
        assert_eq!(add("0A", LONG_EVENT, soon), (true, 1), "above");
        assert_eq!(add("0A", half, soon), (false, 2), "from nothing");
        assert_eq!(add("0A", half, later), (false, 2), "control: not above");
        assert_eq!(add("0A", half, later + soon), (false, 1), "slowly, and nothing is kept of the other");
        assert_eq!(add("0A", half, late), (false, 1), "slowly");
        assert_eq!(add("0A", half + 1, late), (true, 0), "fast");
    }

    /// Returns an event of a session with a text of this length.
    fn event(method: &str, length: usize) -> String {
        format!(r#"{{"method":"{method}","params":{{"a":"{}"}},"sessionId":"0A1B"}}"#, "x".repeat(length))
    }

    #[test]
    fn long_events_are_those_of_pages() {
        let session = |message: &str| session_of_long_event(message).map(|id| id.as_str().to_owned());
        for method in ["Network.requestWillBeSent", "Network.responseReceived", "Page.frameNavigated"] {
            assert_eq!(session(&event(method, LONG_EVENT)).as_deref(), Some("0A1B"), "{method}");
            assert_eq!(session(&event(method, LONG_EVENT / 2)), None, "control: {method}");
        }
        assert_eq!(session(&event("Page.screencastFrame", LONG_EVENT)), None);
        let answer = format!(r#"{{"id":1,"result":{{"a":"{}"}},"sessionId":"0A1B"}}"#, "x".repeat(LONG_EVENT));
        assert_eq!(session(&answer), None, "an answer");
    }

    #[test]
    fn only_long_events_of_logs_are_floods() {
        for method in ["Runtime.consoleAPICalled", "Runtime.exceptionThrown"] {
            assert!(flooding_session(&event(method, MAX_LOGGED)).is_some(), "{method}");
            assert!(flooding_session(&event(method, MAX_LOGGED / 2)).is_none(), "control: {method}");
        }
        assert!(flooding_session(&event("Network.requestWillBeSent", MAX_LOGGED)).is_none(), "control");
    }
}
