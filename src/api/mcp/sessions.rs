//! Sessions of the protocol over HTTP, in which a client cancels its calls on any connection.
//!
//! The versions of MCP before 2026-07-28 have the header `Mcp-Session-Id`. With it, a notification ends a call, and the end of a connection
//! does not. In later versions, and without the header, the end of a call's connection ends the call.
//!
//! An id proves itself: it is a random number with the code that this process gives it for the party of the request. So a client keeps its
//! id as long as the process runs, another party cannot use it, and a process that starts again knows none of the ids before.
//!
//! Requirements: 1.6, 1.10.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use rmcp::model::{CancelledNotificationParam, ErrorCode, RequestId};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::Sha256;
use tokio_util::sync::CancellationToken;

use crate::api::http::MAX_BODY;
use crate::api::mcp::messages;
use browser_shell_core::auth::Principal;
use browser_shell_core::shares::Party;
use browser_shell_system::os;

/// Header with the id of a protocol session.
const SESSION_ID: &str = "mcp-session-id";

/// Header with the version of the protocol, which is a date.
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// First version without sessions of the protocol.
const WITHOUT_SESSIONS: &str = "2026-07-28";

/// Method that begins a session of the protocol.
const INITIALIZE: &str = "initialize";

/// Notification that a client cancels a request.
const CANCELLED: &str = "notifications/cancelled";

/// JSON-RPC error code for an id that is not known, as the SDKs use it.
const UNKNOWN_SESSION: ErrorCode = ErrorCode(-32001);

/// Bytes of the random number of an id, and of its code.
const PART: usize = 16;

/// Characters of either in an id, which is in base64.
const CHARACTERS: usize = 22;

/// Maximum number of calls of a party that may outlive their connection. Others end with it.
const MAX_RUNNING: usize = 64;

/// Maximum number of ids that are known to have ended.
const MAX_ENDED: usize = 4096;

/// Sessions of the protocol of a server. Clones share them.
#[derive(Clone)]
pub(super) struct ProtocolSessions(Arc<SharedSessions>);

struct SharedSessions {
    /// Key of the codes, which ends with the process. Without it, there are no sessions of the protocol.
    key: Option<[u8; 32]>,
    state: Mutex<McpSessions>,
}

#[derive(Default)]
struct McpSessions {
    running: Vec<RunningCall>,
    /// Ids that their clients have ended, the oldest first.
    ended: VecDeque<Arc<str>>,
    /// Number of the last call.
    last: u64,
}

/// Call that runs.
struct RunningCall {
    number: u64,
    session: Arc<str>,
    party: Party,
    request: RequestId,
    cancel: CancellationToken,
}

/// Session of the protocol that a request belongs to: an extension of the request.
#[derive(Clone)]
pub(super) struct ProtocolSession {
    sessions: ProtocolSessions,
    id: Arc<str>,
    party: Party,
}

/// Call that can be canceled until this ends.
pub(super) struct CancelableCall {
    sessions: ProtocolSessions,
    number: u64,
    /// Canceled when the client cancels the call.
    pub(super) cancel: CancellationToken,
}

impl Drop for CancelableCall {
    fn drop(&mut self) {
        self.sessions.state().running.retain(|running| running.number != self.number);
    }
}

impl ProtocolSession {
    /// Begins a call of the session, whose client may cancel it. `None` if too many run: such a call ends with its connection.
    pub(super) fn begin(&self, request: &RequestId) -> Option<CancelableCall> {
        let mut state = self.sessions.state();
        if state.running.iter().filter(|running| running.party == self.party).count() >= MAX_RUNNING {
            return None;
        }
        state.last += 1;
        let (number, cancel) = (state.last, CancellationToken::new());
        state.running.push(RunningCall {
            number,
            session: self.id.clone(),
            party: self.party.clone(),
            request: request.clone(),
            cancel: cancel.clone(),
        });
        Some(CancelableCall { sessions: self.sessions.clone(), number, cancel })
    }
}

impl ProtocolSessions {
    /// Returns the sessions of a server, none of which has begun.
    pub(super) fn new() -> Self {
        let key = os::random_bytes();
        if let Err(error) = &key {
            tracing::warn!(%error, "no random bytes: clients cannot cancel their calls over HTTP");
        }
        Self(Arc::new(SharedSessions { key: key.ok(), state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, McpSessions> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the code of an id's number.
    fn code(&self, number: &str, party: &Party) -> Option<String> {
        let mut code = Hmac::<Sha256>::new_from_slice(self.0.key.as_ref()?).ok()?;
        code.update(number.as_bytes());
        match party {
            Party::Anyone => {}
            Party::Subject(None) => code.update(b" "),
            Party::Subject(Some(subject)) => {
                code.update(b" ");
                code.update(subject.as_str().as_bytes());
            }
        }
        Some(BASE64_URL_SAFE_NO_PAD.encode(code.finalize().into_bytes().get(..PART)?))
    }

    /// Returns the id of a new session. `None` if the system has no random bytes.
    fn issue(&self, party: &Party) -> Option<String> {
        let number = BASE64_URL_SAFE_NO_PAD.encode(os::random_bytes::<PART>().ok()?);
        let code = self.code(&number, party)?;
        Some(number + &code)
    }

    /// Returns the session with an id. `None` if this process has not issued it to the party, or it has ended.
    fn find(&self, id: &str, party: &Party) -> Option<ProtocolSession> {
        let (number, code) = id.split_at_checked(CHARACTERS)?;
        let own = self.code(number, party)?;
        let is_own = bool::from(subtle::ConstantTimeEq::ct_eq(own.as_bytes(), code.as_bytes()));
        let is_known = is_own && !self.state().ended.iter().any(|ended| **ended == *id);
        is_known.then(|| ProtocolSession { sessions: self.clone(), id: id.into(), party: party.clone() })
    }
}

impl ProtocolSession {
    /// Cancels the calls of the session whose request ids match.
    fn cancel(&self, is_meant: impl Fn(&RequestId) -> bool) {
        for running in &self.sessions.state().running {
            if running.session == self.id && is_meant(&running.request) {
                running.cancel.cancel();
            }
        }
    }

    fn end(&self) {
        self.cancel(|_| true);
        let mut state = self.sessions.state();
        if state.ended.len() >= MAX_ENDED {
            state.ended.pop_front();
        }
        state.ended.push_back(self.id.clone());
    }
}

/// Part of a message that says what it is.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    method: String,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// Begins, follows and ends sessions of the protocol, and cancels calls in them.
pub(super) async fn follow_session(State(sessions): State<ProtocolSessions>, request: Request, next: Next) -> Response {
    let has_sessions = !is_without_sessions(request.headers());
    let party = request.extensions().get::<Principal>().map_or(Party::Anyone, Principal::party);
    let (mut head, body) = request.into_parts();
    let id = head.headers.get(SESSION_ID).filter(|_| has_sessions);
    let session = match id.map(|id| id.to_str().ok().and_then(|id| sessions.find(id, &party))) {
        Some(None) => return unknown_session(),
        Some(Some(session)) if head.method == Method::DELETE => {
            session.end();
            return StatusCode::NO_CONTENT.into_response();
        }
        session => session.flatten(),
    };
    if head.method != Method::POST {
        return next.run(Request::from_parts(head, body)).await;
    }
    let Ok(body) = to_bytes(body, MAX_BODY).await else { return StatusCode::PAYLOAD_TOO_LARGE.into_response() };
    // rmcp would blame the content type.
    if let Err(invalid) = messages::read(&body) {
        return error_response(StatusCode::BAD_REQUEST, &invalid.to_json());
    }
    let method = take_message(&body, session.as_ref());
    let is_first = has_sessions && session.is_none() && method == INITIALIZE;
    if let Some(session) = session {
        head.extensions.insert(session);
    }
    let response = next.run(Request::from_parts(head, Body::from(body))).await;
    if is_first && response.status() == StatusCode::OK { begin(&sessions, &party, response).await } else { response }
}

/// Response to `initialize`, as far as it says if it succeeded.
#[derive(Deserialize)]
struct InitializeResponse {
    result: Option<IgnoredAny>,
}

/// Adds the id of a new session to the response to an `initialize` that succeeded.
async fn begin(sessions: &ProtocolSessions, party: &Party, response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY).await else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let has_result = serde_json::from_slice::<InitializeResponse>(&body).is_ok_and(|answer| answer.result.is_some());
    if has_result && let Some(id) = sessions.issue(party).and_then(|id| HeaderValue::try_from(id).ok()) {
        head.headers.insert(SESSION_ID, id);
    }
    Response::from_parts(head, Body::from(body))
}

/// Cancels the call that a message of a session cancels. Returns the method of the message.
fn take_message(body: &Bytes, session: Option<&ProtocolSession>) -> String {
    let Ok(message) = serde_json::from_slice::<Message<'_>>(body) else { return String::new() };
    if let Some(session) = session.filter(|_| message.method == CANCELLED)
        && let Some(canceled) = message.params.and_then(|params| serde_json::from_str(params.get()).ok())
    {
        let canceled: CancelledNotificationParam = canceled;
        session.cancel(|request| canceled.request_id.as_ref() == Some(request));
    }
    message.method
}

/// Returns true if a request is of a version without sessions of the protocol. Versions are dates, so they sort as texts.
fn is_without_sessions(headers: &HeaderMap) -> bool {
    headers.get(PROTOCOL_VERSION).is_some_and(|version| version.as_bytes() >= WITHOUT_SESSIONS.as_bytes())
}

/// Returns the response to an id that is not known: the client initializes again.
fn unknown_session() -> Response {
    let message = "this server knows no such session of the protocol: send `initialize` without `Mcp-Session-Id`";
    error_response(StatusCode::NOT_FOUND, &messages::error(&Value::Null, UNKNOWN_SESSION, message))
}

/// Returns a response with an error of JSON-RPC.
fn error_response(status: StatusCode, error: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], error.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser_shell_core::auth::Subject;

    fn sessions() -> ProtocolSessions {
        ProtocolSessions::new()
    }

    fn subject(name: &str) -> Party {
        Party::Subject(Some(Subject::new(name).expect("a subject")))
    }

    #[test]
    fn ids_are_those_of_one_process_and_one_party() {
        let (own, other) = (sessions(), sessions());
        let parties = [Party::Anyone, Party::Subject(None), subject("ada"), subject("bob")];
        for party in &parties {
            let id = own.issue(party).expect("an id");
            assert_ne!(own.issue(party), Some(id.clone()));
            for asking in &parties {
                assert_eq!(own.find(&id, asking).is_some(), party == asking, "{party:?} {asking:?}");
            }
            assert!(other.find(&id, party).is_none());
            let long = format!("{id}x");
            for wrong in [
                "",
                "x",
                long.strip_prefix(char::is_alphanumeric).unwrap_or("-"),
                &long,
                &id.repeat(2),
                &"\u{e4}".repeat(22),
            ] {
                assert!(own.find(wrong, party).is_none(), "{wrong}");
            }
        }
    }

    #[test]
    fn calls_are_canceled_in_their_session_only() {
        let sessions = sessions();
        let find =
            || sessions.find(&sessions.issue(&Party::Anyone).expect("an id"), &Party::Anyone).expect("a session");
        let (first, second) = (find(), find());
        let [one, two, text] = [RequestId::Number(1), RequestId::Number(2), RequestId::String("1".into())];
        let calls = [(&first, &one), (&first, &two), (&first, &text), (&second, &one)];
        let calls = calls.map(|(session, request)| session.begin(request).expect("a call"));
        let canceled = || calls.each_ref().map(|call| call.cancel.is_cancelled());
        first.cancel(|request| *request == one);
        assert_eq!(canceled(), [true, false, false, false]);
        first.end();
        assert_eq!(canceled(), [true, true, true, false]);
        assert!(sessions.find(&first.id, &Party::Anyone).is_none());
        assert!(sessions.find(&second.id, &Party::Anyone).is_some());
        drop(calls);
        assert!(sessions.state().running.is_empty());
    }

    #[test]
    fn party_has_a_limit_of_calls_that_outlive_their_connection() {
        let sessions = sessions();
        let find = |party: &Party| sessions.find(&sessions.issue(party).expect("an id"), party).expect("a session");
        let (ada, again, bob) = (find(&subject("ada")), find(&subject("ada")), find(&subject("bob")));
        let id = RequestId::Number(1);
        let calls: Vec<_> = (0..MAX_RUNNING).map(|_| ada.begin(&id).expect("a call")).collect();
        assert!(again.begin(&id).is_none());
        assert!(bob.begin(&id).is_some());
        drop(calls);
        assert!(again.begin(&id).is_some());
    }
}
