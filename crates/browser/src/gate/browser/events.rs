//! Events of Chromium: each goes to the part of the browser that handles it.

use browser_shell_core::gate::PageReport;

use crate::gate::browser::state::Browser;
use crate::gate::notices::{Dialog, Notice};
use crate::gate::page::Page;
use browser_shell_cdp::protocol::network::{
    AuthChallenge, AuthChallengeResponse, AuthRequired, AuthResponse, ContinueWithAuth,
};
use browser_shell_cdp::protocol::page::{DetachReason, FrameNavigated, NavigationType, WindowOpen};
use browser_shell_cdp::protocol::target::{EndedTarget, TargetInfoChanged};
use browser_shell_cdp::protocol::{BrowserEvent, DebugSessionId, TabEvent, TargetId};
use browser_shell_cdp::{Answer, Event, Receiver};

/// Schemes of addresses that Chromium opens in no tab when a page leads to them.
const CLOSED_SCHEMES: &[&str] =
    &["data", "file", "filesystem", "view-source", "chrome", "chrome-extension", "chrome-untrusted", "devtools"];

impl Browser {
    /// Takes the end of a target or of a session on it.
    fn detached(&self, session: &DebugSessionId) {
        let Some(page) = self.tables().sessions.get(session).cloned() else { return };
        if page.session == *session {
            self.ended(&page.target);
        } else {
            // Chromium does not report the end of frames in the frame, whose events came over its session.
            for session in page.sessions_below(session) {
                self.tables().sessions.remove(&session);
                // First: whose command ends with the session sees that the frame is gone.
                page.remove_frame(&session);
                self.release(&page, page.end_dialog_of(&session));
                self.connection.remove_session(&session);
            }
        }
    }

    pub(super) fn ended(&self, target: &TargetId) {
        let Some(page) = self.page(target) else { return };
        let owners = self.owners(&page);
        let is_ours = self.tables().closing.contains(target);
        self.forget(target);
        if page.has_opener() && !is_ours {
            for session in &owners {
                session.add_notice(Notice::TabClosed);
            }
        }
        for session in owners {
            session.page_closed(&page);
        }
    }

    /// Takes an event of one of the gate's own sessions.
    fn tab_event(&self, session: &DebugSessionId, event: TabEvent) {
        let Some(page) = self.tables().sessions.get(session).cloned() else { return };
        match event {
            TabEvent::RequestPaused(paused) => {
                let session = session.clone();
                let decision = page.begin_decision();
                self.spawn(|browser| async move {
                    browser.decide_document(&page, &session, paused).await;
                    drop(decision);
                });
            }
            TabEvent::AuthRequired(AuthRequired { request_id, auth_challenge: AuthChallenge { origin, realm } }) => {
                self.notice(&page, &Notice::Dialog(Dialog::new("auth", &realm, &origin, Some("dismissed"))));
                let auth_challenge_response = AuthChallengeResponse { response: AuthResponse::CancelAuth };
                let answer = ContinueWithAuth { request_id: &request_id, auth_challenge_response };
                self.connection.notify(Some(session), &answer);
            }
            TabEvent::JavascriptDialogOpening(opening) => self.dialog_opened(&page, session, &opening),
            TabEvent::JavascriptDialogClosed(_) => self.release(&page, page.end_dialog()),
            TabEvent::FileChooserOpened(chooser) => {
                let dialog = Dialog::new("filechooser", chooser.mode.as_str(), &page.url(), Some("dismissed"));
                self.notice(&page, &Notice::Dialog(dialog));
            }
            TabEvent::TargetCrashed(_) if *session != page.session => self.frame_crashed(&page, session),
            TabEvent::TargetReloadedAfterCrash(_) => page.set_running(session),
            TabEvent::FrameNavigated(FrameNavigated { frame, kind }) => {
                page.set_new_document(session, &frame, kind == NavigationType::BackForwardCacheRestore);
            }
            TabEvent::NavigatedWithinDocument(event) if event.frame_id == page.frame => page.set_moved_within(),
            TabEvent::DomContentEventFired(_) if *session == page.session => page.set_parsed(),
            TabEvent::FrameStoppedLoading(event) if event.frame_id == page.frame => page.set_parsed(),
            TabEvent::FrameRequestedNavigation(asked) | TabEvent::FrameScheduledNavigation(asked) => {
                page.add_navigation(&asked.frame_id);
                if asked.frame_id == page.frame {
                    self.note_closed_scheme(&page, &asked.url);
                }
            }
            TabEvent::WindowOpen(WindowOpen { url }) => self.note_closed_scheme(&page, &url),
            TabEvent::FrameDetached(event) => {
                self.tables().allowed.remove(&event.frame_id);
                page.remove_document(session, &event.frame_id);
                let is_gone = event.reason == DetachReason::Remove;
                page.change_requests(|requests| requests.end_frame(session, &event.frame_id, is_gone));
            }
            TabEvent::RequestWillBeSent(sent) => page.change_requests(|requests| requests.begin(session, sent)),
            TabEvent::ResponseReceived(received) if received.response.mime_type == "text/event-stream" => {
                page.change_requests(|requests| requests.end(session, &received.request_id));
            }
            TabEvent::LoadingFinished(ended) | TabEvent::LoadingFailed(ended) => {
                page.change_requests(|requests| requests.end(session, &ended.request_id));
            }
            TabEvent::DownloadWillBegin(download) => {
                self.notice(&page, &Notice::download(&download.suggested_filename));
            }
            TabEvent::BindingCalled(call) if call.name == self.report_binding => {
                match PageReport::parse(&call.payload) {
                    Some(PageReport::Permission { permission, url }) => self.permission_asked(&page, permission, url),
                    Some(PageReport::OtherProgram { scheme }) => {
                        self.notice(&page, &Notice::OtherProgram { scheme: scheme.to_owned() });
                    }
                    Some(PageReport::KeptSecret) => self.notice(&page, &Notice::KeptSecret),
                    None => {}
                }
            }
            TabEvent::AttachedToTarget(attached) => self.attached(Some(session), &attached),
            TabEvent::DetachedFromTarget(detached) => self.detached(&detached.session_id),
            TabEvent::TargetCrashed(_)
            | TabEvent::NavigatedWithinDocument(_)
            | TabEvent::DomContentEventFired(_)
            | TabEvent::FrameStoppedLoading(_)
            | TabEvent::ResponseReceived(_)
            | TabEvent::BindingCalled(_) => {}
        }
    }

    /// Notes an address that the browser shows no page from, when a page leads to it.
    fn note_closed_scheme(&self, page: &Page, url: &str) {
        let scheme = url.split_once(':').map(|(scheme, _)| scheme.trim().to_ascii_lowercase());
        if let Some(scheme) = scheme.filter(|scheme| CLOSED_SCHEMES.contains(&scheme.as_str())) {
            self.notice(page, &Notice::ClosedScheme { scheme });
        }
    }

    /// Takes an event of the browser itself.
    fn browser_event(&self, event: BrowserEvent) {
        match event {
            BrowserEvent::RequestPaused(paused) => self.document_leaves(paused),
            BrowserEvent::AttachedToTarget(attached) => self.attached(None, &attached),
            BrowserEvent::DetachedFromTarget(detached) => self.detached(&detached.session_id),
            BrowserEvent::TargetDestroyed(EndedTarget { target_id }) => {
                self.tables().others.remove(&target_id);
                self.ended(&target_id);
            }
            BrowserEvent::TargetCrashed(EndedTarget { target_id }) => self.crashed(&target_id),
            BrowserEvent::TargetInfoChanged(TargetInfoChanged { target_info }) => {
                let Some(page) = self.page(&target_info.target_id) else { return };
                page.update(&target_info);
                if page.is_ready() {
                    for session in self.owners(&page) {
                        session.page_changed(&page);
                    }
                }
            }
        }
    }
}

impl Receiver for Browser {
    fn answer(&self, _tag: u64, _answer: Answer<'_>) {}

    fn event(&self, Event { session, method, params }: Event<'_>) {
        if let Some(session) = session {
            if let Some(event) = TabEvent::read(method, params) {
                self.tab_event(session, event);
            }
        } else if let Some(event) = BrowserEvent::read(method, params) {
            self.browser_event(event);
        }
    }
}
