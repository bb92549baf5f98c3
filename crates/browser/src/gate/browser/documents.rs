//! Documents that tabs request.
//!
//! Chromium asks twice before it requests one. First over the gate's own session on the tab or frame: there the gate decides, for
//! the session that the tab belongs to. Then over the browser's session: there only a document that was allowed before is let
//! through, or the first one of a tab that somebody else opened, if the policy allows it. Without the second, a tab that is closed would request what still waits for a decision: as its session ends, Chromium
//! goes on with all that waits in it.
//!
//! A redirect to another program, such as `tel:`, is refused at its response. Chromium would close the tab for it, and ends as a whole if
//! it is one of a frame.

use std::sync::Arc;
use std::time::Duration;

use crate::gate::browser::state::Browser;
use crate::gate::notices::{Dialog, Notice};
use crate::gate::page::Page;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::network::{
    ContinueRequest, EnableFetch, ErrorReason, FailRequest, FulfillRequest, HeaderEntry, RequestPattern, RequestPaused,
    ResourceType, ResponseHeader,
};
use browser_shell_cdp::protocol::target::CloseTarget;
use browser_shell_cdp::protocol::{DebugSessionId, FetchRequestId, TargetId};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::gate::{DocumentUrl, classify_url, scheme_of_redirect};
use browser_shell_core::policy::url::{PageUrl, parse};
use browser_shell_core::session_id::SessionId;

/// Timeout for a tab to be reported whose first document is requested.
const APPEAR_TIMEOUT: Duration = Duration::from_millis(500);

impl Browser {
    /// Decides on a document that a tab requests.
    pub(super) async fn decide_document(&self, page: &Arc<Page>, session: &DebugSessionId, paused: RequestPaused) {
        let RequestPaused { request_id, request, frame_id: frame, .. } = &paused;
        let url = request.url.as_str();
        let is_frame = *frame != page.frame;
        if paused.response_status_code.is_some() || paused.response_error_reason.is_some() {
            self.pass_response(page, session, &paused, is_frame);
            return;
        }
        if page.is_answered_locally(url) {
            let response_headers = &[HeaderEntry { name: "content-type", value: "text/html" }];
            let answer = FulfillRequest { request_id, response_code: 200, response_headers, body: "" };
            self.connection.notify(Some(session), &answer);
            return;
        }
        let decision = self.decision(page, url).await;
        if decision.is_allowed() {
            if !is_frame {
                page.set_awaited(url);
            }
            // A frame that requests another document has given up the one before.
            self.expect_document(page, session, frame);
            self.tables().allow(&page.target, frame, url);
            self.connection.notify(Some(session), &ContinueRequest { request_id, intercept_response: true });
            return;
        }
        tracing::info!(code = %decision.code, host = decision.host, "a document was refused");
        self.notice(page, &Notice::RefusedDocument { decision, is_frame });
        // With both answers Chromium shows no error page, and the tab stays where it is. After an error it takes no input there if the
        // document is one of another site.
        if is_frame {
            self.connection.notify(Some(session), &FailRequest { request_id, error_reason: ErrorReason::Aborted });
        } else {
            let nothing = FulfillRequest { request_id, response_code: 204, response_headers: &[], body: "" };
            self.connection.notify(Some(session), &nothing);
            self.close_if_empty(page);
        }
    }

    /// Closes a tab that was opened for a document that is refused, and would stay empty.
    fn close_if_empty(&self, page: &Page) {
        if page.has_opener() && classify_url(&page.url()) == DocumentUrl::Blank {
            self.forget(&page.target);
            self.connection.notify(None, &CloseTarget { target_id: &page.target });
        }
    }

    /// Lets the response to a request for a document pass, unless it leads to another program. One that asks for a name and a password is
    /// noted: a Chromium that we started shows its page, and asks nobody.
    fn pass_response(&self, page: &Page, session: &DebugSessionId, paused: &RequestPaused, is_frame: bool) {
        let request_id = &paused.request_id;
        if let Some(realm) = asked_realm(paused) {
            let origin = match parse(&paused.request.url) {
                Ok(PageUrl::Web(target)) => target.url.origin().ascii_serialization(),
                _ => String::new(),
            };
            self.notice(page, &Notice::Dialog(Dialog::login(&realm, &origin)));
        }
        let Some(scheme) = scheme_of_other_program(paused) else {
            self.connection.notify(Some(session), &ContinueRequest { request_id, intercept_response: false });
            return;
        };
        self.notice(page, &Notice::OtherProgram { scheme });
        self.connection.notify(Some(session), &FailRequest { request_id, error_reason: ErrorReason::Aborted });
        if !is_frame {
            self.close_if_empty(page);
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
        self.root(&EnableFetch { patterns: DOCUMENTS, handle_auth_requests: false }).await.map(drop)
    }

    /// Lets Chromium request a document that was allowed to its tab. Another one is decided on if it is the first of a tab that
    /// somebody else has opened, and refused if its tab or frame is gone.
    pub(super) fn document_leaves(&self, paused: RequestPaused) {
        let RequestPaused { request_id, request, frame_id: frame, .. } = paused;
        let url = request.url;
        // That of a tab itself has the id of the tab.
        let target = TargetId::from(frame.as_str());
        let is_allowed = {
            let mut tables = self.tables();
            tables.others.contains(&target) || tables.take_allowed(&frame, &url)
        };
        if is_allowed {
            self.answer_leaving(&request_id, true);
            return;
        }
        self.spawn(move |browser| async move {
            // Chromium may report a tab after the request for its first document.
            let page = tokio::time::timeout(APPEAR_TIMEOUT, browser.wait_for_page(&target)).await;
            let is_allowed = match page.ok() {
                Some(page) => browser.decision(&page, &url).await.is_allowed(),
                None if browser.tables().others.contains(&target) => true,
                // Perhaps one of a frame in somebody else's tab, which the gate does not know.
                None if !browser.tables().others.is_empty() => browser.documents.decide(&[], &url).await.is_allowed(),
                None => false,
            };
            browser.answer_leaving(&request_id, is_allowed);
        });
    }

    fn answer_leaving(&self, request_id: &FetchRequestId, is_allowed: bool) {
        if is_allowed {
            self.connection.notify(None, &ContinueRequest { request_id, intercept_response: false });
            return;
        }
        tracing::debug!("a document that no tab was allowed is not requested");
        self.connection.notify(None, &FailRequest { request_id, error_reason: ErrorReason::Aborted });
    }
}

/// Returns the scheme of another program to which a response leads, if it is such a redirect.
fn scheme_of_other_program(paused: &RequestPaused) -> Option<String> {
    paused.response_status_code.filter(|status| (300..400).contains(status))?;
    let is_location = |header: &&ResponseHeader| header.name.eq_ignore_ascii_case("location");
    let location = paused.response_headers.iter().find(is_location)?;
    scheme_of_redirect(&paused.request.url, &location.value)
}

/// Schemes of HTTP authentication for which Chromium asks people for a name and a password.
const ASKING_SCHEMES: &[&str] = &["basic", "digest", "ntlm"];

/// HTTP status of a response that asks for a name and a password.
const UNAUTHORIZED: i64 = 401;

/// Returns the realm of a response that asks for a name and a password, if it does. Each header has one challenge, as Chromium reads them.
fn asked_realm(paused: &RequestPaused) -> Option<String> {
    paused.response_status_code.filter(|status| *status == UNAUTHORIZED)?;
    let asks = |header: &&ResponseHeader| {
        let scheme = header.value.split_whitespace().next().unwrap_or_default();
        header.name.eq_ignore_ascii_case("www-authenticate")
            && ASKING_SCHEMES.iter().any(|asking| scheme.eq_ignore_ascii_case(asking))
    };
    let challenge = paused.response_headers.iter().find(asks)?;
    Some(realm_of(&challenge.value).to_owned())
}

/// Name of the realm in a challenge.
const REALM: &str = "realm=";

/// Returns the realm of a challenge; nothing if it has none.
fn realm_of(challenge: &str) -> &str {
    let Some(position) = challenge.to_ascii_lowercase().find(REALM) else { return "" };
    let value = challenge.get(position + REALM.len()..).unwrap_or_default();
    let (value, end) = value.strip_prefix('"').map_or((value, ','), |quoted| (quoted, '"'));
    value.split(end).next().unwrap_or_default().trim()
}

/// Requests for documents.
pub(super) const DOCUMENTS: &[RequestPattern] =
    &[RequestPattern { url_pattern: "*", resource_type: Some(ResourceType::Document) }];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn response_that_asks_for_login_names_its_realm() {
        let realm = |status: Option<u16>, headers: &[(&str, &str)]| {
            let headers: Vec<_> = headers.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
            let paused = json!({
                "requestId": "r", "frameId": "f", "request": { "url": "http://a.example/" },
                "responseStatusCode": status, "responseHeaders": headers,
            });
            asked_realm(&serde_json::from_value(paused).expect("an event"))
        };
        for (value, expected) in [
            (r#"Basic realm="a b", charset="UTF-8""#, Some("a b")),
            (r#"DIGEST nonce="n", Realm="c""#, Some("c")),
            ("basic realm=d, charset=x", Some("d")),
            ("NTLM", Some("")),
            ("Negotiate", None),
            (r#"Bearer realm="a""#, None),
            ("", None),
        ] {
            assert_eq!(realm(Some(401), &[("WWW-authenticate", value)]).as_deref(), expected, "{value}");
        }
        let basic = ("www-authenticate", "Basic realm=\"a\"");
        assert_eq!(realm(Some(401), &[("www-authenticate", "Negotiate"), basic]).as_deref(), Some("a"));
        assert_eq!(realm(Some(401), &[("x-authenticate", basic.1)]), None);
        assert_eq!(realm(Some(200), &[basic]), None);
        assert_eq!(realm(None, &[basic]), None);
    }
}
