//! Documents that tabs request.

use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::gate::{DocumentUrl, classify_url};
use browser_shell_core::session_id::SessionId;
use serde_json::{Value, json};

use crate::gate::hub::state::Hub;
use crate::gate::notices::Notice;
use crate::gate::page::{Page, text};

impl Hub {
    /// Decides on a document that a tab requests.
    pub(super) async fn decide_document(&self, page: &Page, session: &str, params: &Value) {
        let Some(request) = text(params, "requestId") else { return };
        let url = params.pointer("/request/url").and_then(Value::as_str).unwrap_or_default();
        if page.is_answered_locally(url) {
            let headers = json!([{ "name": "content-type", "value": "text/html" }]);
            let answer = json!({ "requestId": request, "responseCode": 200, "responseHeaders": headers, "body": "" });
            self.connection.notify(Some(session), "Fetch.fulfillRequest", &answer);
            return;
        }
        let owners = self.active_owners(page);
        let is_orphan = owners.is_empty() && self.tables().contexts.contains_key(&page.context);
        let sessions: Vec<SessionId> = owners.iter().map(|session| session.id().clone()).collect();
        let decision = if is_orphan {
            Decision::new(Code::SessionUnknown, "the session of the page has ended")
        } else {
            self.documents.decide(&sessions, url).await
        };
        if decision.is_allowed() {
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
}
