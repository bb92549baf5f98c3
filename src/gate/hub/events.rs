//! Events of Chromium: each goes to the part of the hub that handles it.

use browser_shell_core::gate::{PageReport, parse_params};
use serde_json::{Value, json};

use crate::browser::cdp::{Answer, Event, Receiver};
use crate::gate::hub::state::Hub;
use crate::gate::json::text;
use crate::gate::notices::{Dialog, Notice};

impl Hub {
    /// Takes the end of a target or of a session on it.
    fn detached(&self, session: &str) {
        let Some(page) = self.tables().sessions.get(session).cloned() else { return };
        if page.session == session {
            self.ended(&page.target);
        } else {
            // Chromium does not report the end of frames in the frame, whose events came over its session.
            for session in page.sessions_below(session) {
                self.tables().sessions.remove(&session);
                // First: whose command ends with the session sees that the frame is gone.
                page.remove_frame(&session);
                self.connection.remove_session(&session);
            }
        }
    }

    pub(super) fn ended(&self, target: &str) {
        let Some(page) = self.page(target) else { return };
        let owners = self.owners(&page);
        self.forget(target);
        for session in owners {
            session.page_closed(&page);
        }
    }

    /// Takes an event of one of the gate's own sessions.
    fn page_event(&self, session: &str, method: &str, params: &Value) {
        let Some(page) = self.tables().sessions.get(session).cloned() else { return };
        let session = session.to_owned();
        let member = |name| params.get(name).and_then(Value::as_str).unwrap_or_default();
        match method {
            "Fetch.requestPaused" => {
                let params = params.clone();
                let decision = page.begin_decision();
                self.spawn(|hub| async move {
                    hub.decide_document(&page, &session, &params).await;
                    drop(decision);
                });
            }
            "Fetch.authRequired" => {
                let origin = params.pointer("/authChallenge/origin").and_then(Value::as_str).unwrap_or_default();
                let realm = params.pointer("/authChallenge/realm").and_then(Value::as_str).unwrap_or_default();
                self.notice(&page, &Notice::Dialog(Dialog::new("auth", realm, origin, Some("dismissed"))));
                let cancel = json!({ "response": "CancelAuth" });
                let answer = json!({ "requestId": member("requestId"), "authChallengeResponse": cancel });
                self.connection.notify(Some(&session), "Fetch.continueWithAuth", &answer);
            }
            "Page.javascriptDialogOpening" => self.dialog_opened(&page, &session, params),
            "Page.javascriptDialogClosed" => page.set_dialog(None),
            "Page.fileChooserOpened" => {
                let dialog = Dialog::new("filechooser", member("mode"), &page.url(), Some("dismissed"));
                self.notice(&page, &Notice::Dialog(dialog));
            }
            "Inspector.targetCrashed" if session != page.session => self.frame_crashed(&page, &session),
            "Inspector.targetReloadedAfterCrash" => page.set_running(&session),
            "Page.frameNavigated" => {
                let is_restored = member("type") == "BackForwardCacheRestore";
                page.set_new_document(&session, params.get("frame").unwrap_or(&Value::Null), is_restored);
            }
            "Page.navigatedWithinDocument" if member("frameId") == page.target => page.set_moved_within(),
            "Page.domContentEventFired" if session == page.session => page.set_parsed(),
            "Page.frameStoppedLoading" if member("frameId") == page.target => page.set_parsed(),
            "Page.frameRequestedNavigation" | "Page.frameScheduledNavigation" => {
                page.add_navigation(member("frameId"));
            }
            "Page.frameDetached" => {
                self.tables().allowed.remove(member("frameId"));
                page.remove_document(&session, member("frameId"));
            }
            "Network.requestWillBeSent" => page.change_requests(|requests| requests.begin(&session, params)),
            "Network.responseReceived"
                if params.pointer("/response/mimeType").and_then(Value::as_str) == Some("text/event-stream") =>
            {
                page.change_requests(|requests| requests.end(&session, member("requestId")));
            }
            "Network.loadingFinished" | "Network.loadingFailed" => {
                page.change_requests(|requests| requests.end(&session, member("requestId")));
            }
            "Page.downloadWillBegin" => self.notice(&page, &Notice::download(member("suggestedFilename"))),
            "Runtime.bindingCalled" if member("name") == self.report_binding => {
                match PageReport::parse(member("payload")) {
                    Some(PageReport::Permission { permission, url }) => self.permission_asked(&page, permission, url),
                    Some(PageReport::OtherProgram { scheme }) => {
                        self.notice(&page, &Notice::OtherProgram { scheme: scheme.to_owned() });
                    }
                    None => {}
                }
            }
            "Target.attachedToTarget" => self.attached(Some(&session), params),
            "Target.detachedFromTarget" => self.detached(member("sessionId")),
            _ => {}
        }
    }

    /// Takes an event of the browser itself.
    fn root_event(&self, method: &str, params: &Value) {
        let member = |name| params.get(name).and_then(Value::as_str).unwrap_or_default();
        match method {
            "Fetch.requestPaused" => self.document_leaves(params),
            "Target.attachedToTarget" => self.attached(None, params),
            "Target.detachedFromTarget" => self.detached(member("sessionId")),
            "Target.targetDestroyed" => {
                self.tables().others.remove(member("targetId"));
                self.ended(member("targetId"));
            }
            "Target.targetCrashed" => self.crashed(member("targetId")),
            "Target.targetInfoChanged" => {
                let Some(info) = params.get("targetInfo") else { return };
                let Some(page) = text(info, "targetId").and_then(|target| self.page(&target)) else { return };
                page.update(info);
                if page.is_ready() {
                    for session in self.owners(&page) {
                        session.page_changed(&page);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Receiver for Hub {
    fn answer(&self, _tag: u64, _answer: Answer<'_>) {}

    fn event(&self, event: Event<'_>) {
        match event.session {
            None => self.root_event(event.method, &parse_params(event.params)),
            Some(session) if is_handled(event.method) => {
                self.page_event(session, event.method, &parse_params(event.params));
            }
            Some(_) => {}
        }
    }
}

/// Returns true if the gate reads an event of its own sessions.
fn is_handled(method: &str) -> bool {
    method.starts_with("Fetch.")
        || method.starts_with("Target.")
        || matches!(
            method,
            "Inspector.targetCrashed"
                | "Inspector.targetReloadedAfterCrash"
                | "Page.frameNavigated"
                | "Page.navigatedWithinDocument"
                | "Page.domContentEventFired"
                | "Page.frameStoppedLoading"
                | "Page.frameDetached"
                | "Page.frameRequestedNavigation"
                | "Page.frameScheduledNavigation"
                | "Page.javascriptDialogOpening"
                | "Page.javascriptDialogClosed"
                | "Page.fileChooserOpened"
                | "Page.downloadWillBegin"
                | "Network.requestWillBeSent"
                | "Network.responseReceived"
                | "Network.loadingFinished"
                | "Network.loadingFailed"
                | "Runtime.bindingCalled"
        )
}
