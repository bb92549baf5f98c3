//! Documents that tabs request.
//!
//! Chromium asks twice before it requests one. First over the gate's own session on the tab or frame: there the gate decides, for
//! the session that the tab belongs to. Then over the browser's session: there only a document that was allowed before is let
//! through, or the first one of a tab that somebody else opened, if the policy allows it. Without the second, a tab that is closed would request what still waits for a decision: as its session ends, Chromium
//! goes on with all that waits in it.

use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::gate::{DocumentUrl, classify_url};
use browser_shell_core::session_id::SessionId;
use serde_json::{Value, json};

use crate::browser::cdp::CommandError;
use crate::gate::hub::state::{AllowedDocument, Hub};
use crate::gate::json::text;
use crate::gate::notices::Notice;
use crate::gate::page::Page;

/// Timeout for a tab to be reported whose first document is requested.
const APPEAR_TIMEOUT: Duration = Duration::from_millis(500);

impl Hub {
    /// Decides on a document that a tab requests.
    pub(super) async fn decide_document(&self, page: &Arc<Page>, session: &str, params: &Value) {
        let Some(request) = text(params, "requestId") else { return };
        let url = params.pointer("/request/url").and_then(Value::as_str).unwrap_or_default();
        if page.is_answered_locally(url) {
            let headers = json!([{ "name": "content-type", "value": "text/html" }]);
            let answer = json!({ "requestId": request, "responseCode": 200, "responseHeaders": headers, "body": "" });
            self.connection.notify(Some(session), "Fetch.fulfillRequest", &answer);
            return;
        }
        let decision = self.decision(page, url).await;
        if decision.is_allowed() {
            if let Some(frame) = text(params, "frameId") {
                let document = AllowedDocument { target: page.target.clone(), url: url.to_owned() };
                // A frame that requests another document has given up the one before.
                self.expect_document(page, session, &frame);
                self.tables().allowed.insert(frame, document);
            }
            self.connection.notify(Some(session), "Fetch.continueRequest", &json!({ "requestId": request }));
            return;
        }
        tracing::info!(code = %decision.code, host = decision.host, "a document was refused");
        let is_frame = text(params, "frameId").is_none_or(|frame| frame != page.target);
        self.notice(page, &Notice::RefusedDocument { decision, is_frame });
        // With this reason Chromium shows no error page: the tab stays where it is.
        let refusal = json!({ "requestId": request, "errorReason": "Aborted" });
        self.connection.notify(Some(session), "Fetch.failRequest", &refusal);
        if !is_frame && page.has_opener() && classify_url(&page.url()) == DocumentUrl::Blank {
            // It was opened for this document, and would stay empty.
            self.forget(&page.target);
            self.connection.notify(None, "Target.closeTarget", &json!({ "targetId": page.target }));
        }
    }

    /// Returns the decision on a document for the sessions that a tab belongs to.
    async fn decision(&self, page: &Page, url: &str) -> Decision {
        let owners = self.active_owners(page);
        if owners.is_empty() && self.tables().contexts.contains_key(&page.context) {
            return Decision::new(Code::SessionUnknown, "the session of the page has ended");
        }
        let sessions: Vec<SessionId> = owners.iter().map(|session| session.id().clone()).collect();
        self.documents.decide(&sessions, url).await
    }

    /// Has Chromium ask before it requests any document, in whatever tab.
    pub(super) async fn ask_for_documents(&self) -> Result<(), CommandError> {
        self.root("Fetch.enable", &json!({ "patterns": document_patterns() })).await.map(|_| ())
    }

    /// Lets Chromium request a document that was allowed to its tab. Another one is decided on if it is the first of a tab that
    /// somebody else has opened, and refused if its tab or frame is gone.
    pub(super) fn document_leaves(&self, params: &Value) {
        let Some(request) = text(params, "requestId") else { return };
        let url = params.pointer("/request/url").and_then(Value::as_str).unwrap_or_default().to_owned();
        let frame = text(params, "frameId").unwrap_or_default();
        let is_allowed = {
            let mut tables = self.tables();
            tables.others.contains(&frame) || tables.allowed.remove(&frame).is_some_and(|document| document.url == url)
        };
        if is_allowed {
            self.answer_leaving(&request, true);
            return;
        }
        self.spawn(move |hub| async move {
            // Chromium may report a tab after the request for its first document.
            let page = tokio::time::timeout(APPEAR_TIMEOUT, hub.wait_for_page(&frame)).await;
            let is_allowed = match page.ok() {
                Some(page) => hub.decision(&page, &url).await.is_allowed(),
                None if hub.tables().others.contains(&frame) => true,
                // Perhaps one of a frame in somebody else's tab, which the gate does not know.
                None if !hub.tables().others.is_empty() => hub.documents.decide(&[], &url).await.is_allowed(),
                None => false,
            };
            hub.answer_leaving(&request, is_allowed);
        });
    }

    fn answer_leaving(&self, request: &str, is_allowed: bool) {
        if is_allowed {
            self.connection.notify(None, "Fetch.continueRequest", &json!({ "requestId": request }));
            return;
        }
        tracing::debug!("a document that no tab was allowed is not requested");
        self.connection.notify(None, "Fetch.failRequest", &json!({ "requestId": request, "errorReason": "Aborted" }));
    }
}

/// Returns the patterns of `Fetch.enable` for documents.
pub(super) fn document_patterns() -> Value {
    json!([{ "urlPattern": "*", "resourceType": "Document", "requestStage": "Request" }])
}
