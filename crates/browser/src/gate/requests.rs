//! Requests of a tab that its documents cannot be used without: documents, scripts, styles and what scripts fetch.
//!
//! Images, media, fonts and streams of events do not count: pages are used while they load.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use browser_shell_cdp::protocol::network::{RequestWillBeSent, ResourceType};
use browser_shell_cdp::protocol::{DebugSessionId, FrameId, LoaderId, NetworkRequestId};

/// Maximum number of requests that are known at a time.
const MAX_REQUESTS: usize = 4096;

/// Longest URL of a request that is kept, in bytes. Of a longer one only the origin is: a secret that is cut is not recognized.
const MAX_URL: usize = 200;

/// The gate's own session in which a request ends, and its id there.
type RequestKey = (DebugSessionId, NetworkRequestId);

/// Requests that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: HashMap<RequestKey, PendingRequest>,
    /// End of the last one.
    last_end: Option<Instant>,
}

#[derive(Debug)]
struct PendingRequest {
    frame: FrameId,
    /// Document that asked, by the id of its loader.
    document: LoaderId,
    url: String,
}

impl Requests {
    /// Records that a request was sent.
    pub(super) fn begin(&mut self, session: &DebugSessionId, sent: RequestWillBeSent) {
        let RequestWillBeSent { request_id, loader_id, request, kind, frame_id } = sent;
        // What is in the browser's memory is there at once. The end of a worker's script is told to the worker's session.
        let is_here = ["blob:", "data:"].iter().any(|scheme| request.url.starts_with(scheme));
        if !is_here && kind.is_some_and(|kind| is_counted(&kind)) && self.open.len() < MAX_REQUESTS {
            let request = PendingRequest {
                frame: frame_id.unwrap_or_default(),
                document: loader_id,
                url: shortened(request.url),
            };
            self.open.insert((session.clone(), request_id), request);
        }
    }

    /// Records that a request has ended, or that its answer is a stream.
    pub(super) fn end(&mut self, session: &DebugSessionId, id: &NetworkRequestId) {
        if self.open.remove(&(session.clone(), id.clone())).is_some() {
            self.last_end = Some(Instant::now());
        }
    }

    /// Records that a frame shows another document, in a session: what the one before asked for does not count any more, and, of the tab
    /// itself, what its frames asked for.
    pub(super) fn set_document(
        &mut self,
        session: &DebugSessionId,
        frame: &FrameId,
        document: &LoaderId,
        is_of_tab: bool,
    ) {
        self.keep(|_, request| if request.frame == *frame { request.document == *document } else { !is_of_tab });
        // The request for a document begins in the session of the frame around it, and ends in that of the process that got it.
        let is_its = |(known, id): &&RequestKey| known != session && id.as_str() == document.as_str();
        if let Some(key) = self.open.keys().find(is_its).cloned()
            && let Some(request) = self.open.remove(&key)
        {
            self.open.insert((session.clone(), key.1), request);
        }
    }

    /// Records that a frame has left a session. If it is not gone, another process shows it, and may get the document that is on its way.
    pub(super) fn end_frame(&mut self, session: &DebugSessionId, frame: &FrameId, is_gone: bool) {
        self.keep(|(known, id), request| {
            let is_document = id.as_str() == request.document.as_str();
            request.frame != *frame || (!is_gone && (known != session || is_document))
        });
    }

    /// Records that a session has ended.
    pub(super) fn end_session(&mut self, session: &DebugSessionId) {
        self.keep(|(known, _), _| known != session);
    }

    /// Ends the requests that are not wanted any more.
    fn keep(&mut self, is_kept: impl Fn(&RequestKey, &PendingRequest) -> bool) {
        let before = self.open.len();
        self.open.retain(|key, request| is_kept(key, request));
        if self.open.len() < before {
            self.last_end = Some(Instant::now());
        }
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

fn shortened(url: String) -> String {
    if url.len() <= MAX_URL {
        return url;
    }
    url.split_inclusive('/').take(3).collect::<String>() + "..."
}

/// Returns true if a page cannot be used without requests of this kind.
const fn is_counted(kind: &ResourceType) -> bool {
    match kind {
        ResourceType::Document
        | ResourceType::Fetch
        | ResourceType::Script
        | ResourceType::Stylesheet
        | ResourceType::Xhr => true,
        ResourceType::Unknown(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KINDS: &[&str] = &["Document", "Fetch", "Script", "Stylesheet", "XHR"];

    fn sent(id: &str, kind: &str, frame: &str, document: &str) -> RequestWillBeSent {
        let event = json!({
            "requestId": id, "type": kind, "frameId": frame, "loaderId": document,
            "request": { "url": format!("http://a.test/{id}") },
        });
        serde_json::from_value(event).expect("an event")
    }

    #[test]
    fn only_what_a_page_needs_counts() {
        let mut requests = Requests::default();
        for (number, kind) in ["Image", "Media", "Font", "EventSource", "WebSocket", "Ping", "Other"].iter().enumerate()
        {
            requests.begin(&"s".into(), sent(&number.to_string(), kind, "f", "d"));
        }
        assert_eq!(requests.len(), 0);
        for (number, kind) in KINDS.iter().enumerate() {
            requests.begin(&"s".into(), sent(&number.to_string(), kind, "f", "d"));
        }
        assert_eq!((requests.len(), requests.example().as_deref()), (KINDS.len(), Some("http://a.test/0")));
        for url in ["blob:http://a.test/1", "data:text/javascript,1"] {
            let mut worker = sent("worker", "Script", "f", "d");
            url.clone_into(&mut worker.request.url);
            requests.begin(&"s".into(), worker);
        }
        assert_eq!(requests.len(), KINDS.len(), "they are in the browser already");
        requests.end(&"other".into(), &"0".into());
        assert_eq!(requests.len(), KINDS.len(), "ids are those of a session");
        requests.end(&"s".into(), &"0".into());
        assert_eq!(requests.len(), KINDS.len() - 1);
    }

    #[test]
    fn long_url_is_not_cut_in_a_secret() {
        let long = format!("http://a.test/{}/Hunter2xyz/{}", "x".repeat(MAX_URL - 20), "y".repeat(MAX_URL));
        assert_eq!(shortened(long.clone()), "http://a.test/...");
        let short: String = long.chars().take(MAX_URL).collect();
        assert_eq!(shortened(short.clone()), short, "control");
    }

    #[test]
    fn requests_end_with_their_document_and_their_session() {
        let mut requests = Requests::default();
        requests.begin(&"s".into(), sent("1", "Fetch", "f", "old"));
        requests.begin(&"s".into(), sent("2", "Document", "f", "new"));
        requests.begin(&"t".into(), sent("3", "Fetch", "g", "other"));
        requests.set_document(&"s".into(), &"f".into(), &"new".into(), false);
        assert_eq!(requests.len(), 2);
        requests.end_session(&"t".into());
        assert!(!requests.are_idle_for(Duration::ZERO));
        requests.end(&"s".into(), &"2".into());
        assert!(requests.are_idle_for(Duration::ZERO));
    }

    #[test]
    fn requests_of_a_frame_end_with_it_and_with_its_tab() {
        let with_frame = || {
            let mut requests = Requests::default();
            requests.begin(&"s".into(), sent("tab", "Document", "tab", "tab"));
            requests.begin(&"s".into(), sent("frame", "Document", "f", "frame"));
            requests.begin(&"s".into(), sent("1", "Fetch", "f", "frame"));
            requests
        };
        for (is_gone, left) in [(true, 1), (false, 2)] {
            let mut requests = with_frame();
            requests.end_frame(&"s".into(), &"f".into(), is_gone);
            assert_eq!(requests.len(), left, "{is_gone}");
            requests.end_frame(&"s".into(), &"other".into(), true);
            assert_eq!(requests.len(), left, "control");
        }
        let mut requests = with_frame();
        requests.set_document(&"s".into(), &"tab".into(), &"tab".into(), true);
        assert_eq!(requests.len(), 1);
    }

    #[test]
    fn request_for_a_document_ends_in_the_process_that_shows_it() {
        let mut requests = Requests::default();
        for id in ["frame", "gone"] {
            requests.begin(&"tab".into(), sent(id, "Document", id, id));
            requests.set_document(&id.into(), &id.into(), &id.into(), false);
        }
        requests.end(&"tab".into(), &"frame".into());
        assert_eq!(requests.len(), 2, "control: it is the process's own now");
        requests.end(&"frame".into(), &"frame".into());
        requests.end_session(&"gone".into());
        assert_eq!(requests.len(), 0);
    }
}
