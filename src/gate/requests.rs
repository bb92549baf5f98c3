//! Requests of a tab that its documents cannot be used without: documents, scripts, styles and what scripts fetch.
//!
//! Images, media, fonts and streams of events do not count: pages are used while they load.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Maximum number of requests that are known at a time.
const MAX_REQUESTS: usize = 4096;

/// Kinds of requests that count, as Chromium names them.
const KINDS: &[&str] = &["Document", "Fetch", "Script", "Stylesheet", "XHR"];

/// Longest URL of a request that is kept.
const MAX_URL: usize = 200;

/// Requests that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// By the gate's own session and the id of the request.
    open: HashMap<(String, String), Request>,
    /// End of the last one.
    last_end: Option<Instant>,
}

#[derive(Debug)]
struct Request {
    frame: String,
    /// Document that asked, by the id of its loader.
    document: String,
    url: String,
}

impl Requests {
    /// Takes that a request was sent.
    pub(super) fn begin(&mut self, session: &str, params: &Value) {
        let member = |name: &str| params.get(name).and_then(Value::as_str).unwrap_or_default();
        if KINDS.contains(&member("type")) && self.open.len() < MAX_REQUESTS {
            let url = params.pointer("/request/url").and_then(Value::as_str).unwrap_or_default();
            let request = Request {
                frame: member("frameId").to_owned(),
                document: member("loaderId").to_owned(),
                url: url.chars().take(MAX_URL).collect(),
            };
            self.open.insert((session.to_owned(), member("requestId").to_owned()), request);
        }
    }

    /// Takes that a request has ended, or that its answer is a stream.
    pub(super) fn end(&mut self, session: &str, id: &str) {
        if self.open.remove(&(session.to_owned(), id.to_owned())).is_some() {
            self.last_end = Some(Instant::now());
        }
    }

    /// Takes that a frame shows another document: what the one before asked for does not count any more.
    pub(super) fn set_document(&mut self, frame: &str, document: &str) {
        self.open.retain(|_, request| request.frame != frame || request.document == document);
    }

    /// Takes that a session has ended.
    pub(super) fn end_session(&mut self, session: &str) {
        self.open.retain(|(known, _), _| known != session);
    }

    /// Returns the number of requests that are open.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns the URL of one that is open.
    pub(super) fn example(&self) -> Option<String> {
        self.open.values().map(|request| request.url.clone()).min()
    }

    /// Returns true if none is open, and the last one ended at least this time ago.
    pub(super) fn are_idle_for(&self, time: Duration) -> bool {
        self.open.is_empty() && self.last_end.is_none_or(|end| end.elapsed() >= time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sent(id: &str, kind: &str, frame: &str, document: &str) -> Value {
        json!({ "requestId": id, "type": kind, "frameId": frame, "loaderId": document, "request": { "url": format!("http://a.test/{id}") } })
    }

    #[test]
    fn only_what_a_page_needs_counts() {
        let mut requests = Requests::default();
        for (number, kind) in ["Image", "Media", "Font", "EventSource", "WebSocket", "Ping", "Other"].iter().enumerate()
        {
            requests.begin("s", &sent(&number.to_string(), kind, "f", "d"));
        }
        assert_eq!(requests.len(), 0);
        for (number, kind) in KINDS.iter().enumerate() {
            requests.begin("s", &sent(&number.to_string(), kind, "f", "d"));
        }
        assert_eq!((requests.len(), requests.example().as_deref()), (KINDS.len(), Some("http://a.test/0")));
        requests.end("other", "0");
        assert_eq!(requests.len(), KINDS.len(), "ids are those of a session");
        requests.end("s", "0");
        assert_eq!(requests.len(), KINDS.len() - 1);
    }

    #[test]
    fn requests_end_with_their_document_and_their_session() {
        let mut requests = Requests::default();
        requests.begin("s", &sent("1", "Fetch", "f", "old"));
        requests.begin("s", &sent("2", "Document", "f", "new"));
        requests.begin("t", &sent("3", "Fetch", "g", "other"));
        requests.set_document("f", "new");
        assert_eq!(requests.len(), 2);
        requests.end_session("t");
        assert!(!requests.are_idle_for(Duration::ZERO));
        requests.end("s", "2");
        assert!(requests.are_idle_for(Duration::ZERO));
    }
}
