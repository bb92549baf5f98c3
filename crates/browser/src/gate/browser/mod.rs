//! Tabs of one Chromium, as the gate sees them over one connection, whose events come here.
//!
//! The gate has a session of its own on each tab and on each frame with a process of its own. Over these it decides on every
//! document before Chromium requests it, and sees dialogs, downloads and file choosers. A tab starts only when that is set up.
//! Over the session on the browser itself it stops all documents that were not allowed there, also those of tabs that are closing.
//!
//! Nothing answers in a tab whose process has ended, so each is closed at once. A session that acts on such a tab gets an empty one in its
//! place, to which its agent-browser turns as to any new tab.
//!
//! Invariants: a tab that cannot be set up is closed; tabs of contexts that the gate did not make are left alone, except those
//! of the default context.

mod documents;
mod state;
mod tabs;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use browser_shell_core::gate::{PageReport, Permission};

use crate::gate::notices::{Dialog, Notice};
use crate::gate::page::{Loss, OpenDialog, Page, Release};
use browser_shell_cdp::protocol::network::{
    AuthChallenge, AuthChallengeResponse, AuthRequired, AuthResponse, ContinueWithAuth,
};
use browser_shell_cdp::protocol::page::{
    DetachReason, DialogType, FrameNavigated, HandleJavaScriptDialog, JavascriptDialogOpening, NavigationType,
    WindowOpen,
};
use browser_shell_cdp::protocol::runtime::{Evaluate, ReleaseObjectGroup};
use browser_shell_cdp::protocol::target::{EndedTarget, TargetInfoChanged};
use browser_shell_cdp::protocol::{BrowserEvent, DebugSessionId, FrameId, TabEvent, TargetId};
use browser_shell_cdp::{Answer, CommandError, Event, Receiver};
use browser_shell_system::os;

pub(super) use state::PageOwner;
pub use state::{Browser, GateError};
pub use tabs::{MAX_TABS, WindowMode};

/// Timeout for a tab to answer, on a machine with a processor for each task. A page may be busy for a while without being hung.
const TAB_TIMEOUT: Duration = Duration::from_secs(6);

/// Maximum factor of this timeout on a machine with more tasks, where a renderer that starts takes as much longer.
const MAX_LOAD: f64 = 3.0;

/// Timeout for a frame to answer, on such a machine. One that does not is left out of what is read until it does.
const FRAME_TIMEOUT: Duration = Duration::from_secs(3);

/// Timeout of a question to a frame that does not answer, behind which it is asked again: Chromium drops one when another process takes over.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout for a tab to answer that waits for the server of another document.
const LOAD_TIMEOUT: Duration = Duration::from_mins(5);

/// Maximum length of an event about a request, in bytes. A longer one is about an address that is its own content, for which no page waits, and
/// reading it takes long.
const MAX_REQUEST: usize = 256 * 1024;

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

    fn ended(&self, target: &TargetId) {
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
                self.notice(&page, &Notice::Dialog(Dialog::login(&realm, &origin)));
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
                self.tables().forget_allowed(&page.target, &event.frame_id);
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
                let is_known = page.is_ready() || self.tables().contexts.contains_key(&page.context);
                if is_known && self.close_other_program(&page) {
                    return;
                }
                if page.is_ready() {
                    for session in self.owners(&page) {
                        session.page_changed(&page);
                    }
                }
            }
        }
    }

    /// Answers a dialog of a tab, or leaves it to the agent.
    fn dialog_opened(&self, page: &Page, session: &DebugSessionId, opening: &JavascriptDialogOpening) {
        let JavascriptDialogOpening { kind, message, url, default_prompt } = opening;
        let waits = *kind != DialogType::Beforeunload
            && self.active_owners(page).iter().any(|owner| owner.can_answer_dialogs());
        let accept = is_safe_to_accept(kind.as_str());
        let answer = if accept { "accepted" } else { "dismissed" };
        let dialog = Dialog::new(kind.as_str(), message, url, (!waits).then_some(answer));
        let mut dialog = dialog.with_default(default_prompt);
        dialog.number = waits.then(|| self.dialogs.fetch_add(1, Ordering::Relaxed));
        page.set_dialog(OpenDialog { dialog: dialog.clone(), session: session.clone() });
        if !waits {
            self.connection.notify(Some(session), &HandleJavaScriptDialog { accept, prompt_text: None });
        }
        self.notice(page, &Notice::Dialog(dialog));
        if waits {
            for owner in self.owners(page) {
                owner.dialog_waits(page);
            }
        }
    }

    /// Sends a tab the input that waited for the end of a dialog.
    fn release(&self, page: &Page, input: Vec<Release>) {
        for release in input {
            release.notify(&self.connection, &page.session);
        }
    }

    /// Takes the report of a document that it asked for a permission. Chromium refuses it in contexts of sessions, without a
    /// question to anybody.
    fn permission_asked(&self, page: &Page, permission: Permission, url: &str) {
        let is_refused = self.tables().contexts.contains_key(&page.context);
        let answer = if is_refused { "dismissed" } else { "left to the settings of the browser" };
        let dialog = Dialog::new("permission", permission.as_str(), url, Some(answer));
        self.notice(page, &Notice::Permission(dialog));
    }

    /// Records that the process of a tab has ended.
    fn crashed(&self, target: &TargetId) {
        let Some(page) = self.page(target) else { return };
        let owners = self.owners(&page);
        // Before the tab counts as crashed: nobody acts on one that does.
        let losers: Vec<_> = owners.iter().filter(|owner| owner.is_acting_on(&page)).collect();
        let is_active = !losers.is_empty();
        if !page.set_crashed(&page.session) {
            return;
        }
        // Nobody is left to take its input.
        drop(page.end_dialog_of(&page.session));
        tracing::warn!(is_active, "a tab has crashed");
        if !is_active {
            self.notice(&page, &Notice::TabCrashed);
        }
        for owner in losers {
            owner.active_tab_crashed();
        }
        self.spawn(move |browser| async move { browser.replace_crashed(&page, is_active).await });
    }

    /// Ends a tab that sends so much at once that Chromium keeps others waiting: as if its process had ended.
    fn end_flood(&self, session: &DebugSessionId) {
        let Some(page) = self.tables().sessions.get(session).cloned() else { return };
        self.connection.note_flood();
        self.crashed(&page.target);
    }

    /// Records that the process of a frame has ended. The session on it stays: the frame may get another document, on which the gate
    /// decides over that session.
    fn frame_crashed(&self, page: &Page, session: &DebugSessionId) {
        let Some(browser) = self.me.upgrade() else { return };
        page.set_crashed(session);
        self.release(page, page.end_dialog_of(session));
        // What waits for an answer of the frame gets none.
        self.connection.remove_session(session);
        let receiver: Arc<dyn Receiver> = browser;
        self.connection.add_session(session, &receiver);
    }

    /// Closes a tab that has crashed. An empty one takes its place if a session acts on it, or if it is the last one.
    async fn replace_crashed(&self, page: &Arc<Page>, is_active: bool) {
        let _replacement = self.replacement.lock().await;
        let context = self.tables().contexts.contains_key(&page.context).then(|| page.context.clone());
        let is_last = !self.pages_of(context.as_ref()).iter().any(|other| other.is_ready() && other.is_usable());
        if is_active || is_last {
            match self.create_page(context.as_ref(), "about:blank", false).await {
                Ok(new) => new.set_loss(if self.connection.has_flood() { Loss::Flood } else { Loss::Crash }),
                Err(error) => tracing::warn!(%error, "a tab that has crashed could not be replaced"),
            }
        }
        if let Err(error) = self.close_page(page).await {
            tracing::debug!(%error, "a tab that has crashed could not be closed");
        }
        self.ended(&page.target);
    }

    /// Returns the tabs that do not respond.
    pub(super) async fn hung(&self, pages: &[Arc<Page>]) -> Vec<Arc<Page>> {
        let timeout = TAB_TIMEOUT.mul_f64(os::load().min(MAX_LOAD));
        let alive = futures::future::join_all(pages.iter().map(|page| self.is_alive(page, timeout))).await;
        pages.iter().zip(alive).filter(|(_, alive)| !alive).map(|(page, _)| page.clone()).collect()
    }

    /// Returns whether a tab can run a minimal script. One with a dialog waits, and one whose server has not answered yet.
    async fn is_alive(&self, page: &Page, timeout: Duration) -> bool {
        if page.dialog().is_some() {
            return true;
        }
        tokio::select! {
            biased;
            () = page.wait_until_pending() => true,
            answers = self.answers(&page.session, timeout) => answers,
        }
    }

    async fn answers(&self, session: &DebugSessionId, timeout: Duration) -> bool {
        let script = Evaluate { expression: "1", ..Evaluate::default() };
        self.connection.send_within(timeout, Some(session), &script).await.is_ok()
    }

    /// Leaves a frame that has not answered out of what is read, until it answers. `may_be_read` is true if something in it may have been read
    /// before: what it shows is not known to be free of secrets then.
    pub(in crate::gate) fn leave_out_hung(&self, page: &Page, session: &DebugSessionId, may_be_read: bool) {
        let Some(page) = self.page(&page.target) else { return };
        if !page.set_hung(session, may_be_read) {
            return;
        }
        tracing::debug!("a frame does not answer, and is left out");
        let session = session.clone();
        self.spawn(move |browser| async move {
            let script = Evaluate { expression: "1", ..Evaluate::default() };
            while page.is_hung(&session) {
                match browser.connection.send_within(PROBE_TIMEOUT, Some(&session), &script).await {
                    Err(CommandError::TimedOut(_)) => {}
                    // Also a refusal is an answer; that of a frame which is gone changes nothing.
                    Ok(_) | Err(CommandError::Refused { .. }) => page.set_answering(&session),
                    Err(_) => return,
                }
            }
        });
    }

    /// Lets a frame request a document, and waits until the frame's process answers: it has another document then, or gets none, because
    /// the server's answer was a download or nothing, or the load was stopped.
    fn expect_document(&self, page: &Arc<Page>, session: &DebugSessionId, frame: &FrameId) {
        let number = page.expect_document(frame);
        let (page, session, frame) = (page.clone(), session.clone(), frame.clone());
        self.spawn(move |browser| async move {
            if browser.answers(&session, LOAD_TIMEOUT).await {
                page.end_navigation(&frame, number);
            }
        });
    }

    /// Returns true if a session acts on a tab.
    pub(super) fn is_acted_on(&self, page: &Page) -> bool {
        self.owners(page).iter().any(|owner| owner.is_acting_on(page))
    }

    /// Lets Chromium forget the values that a tab has logged. It keeps them for each session that sees what a tab logs.
    pub(super) fn release_logged_values(&self, page: &Page) {
        for session in page.sessions() {
            self.connection.notify(Some(&session), &ReleaseObjectGroup { object_group: "console" });
        }
    }
}

impl Receiver for Browser {
    fn answer(&self, _tag: u64, _answer: Answer<'_>) {}

    fn event(&self, Event { session, method, params }: Event<'_>) {
        if let Some(session) = session {
            let is_of_data =
                method.starts_with("Network.") && params.is_some_and(|params| params.get().len() > MAX_REQUEST);
            if let Some(event) = (!is_of_data).then(|| TabEvent::read(method, params)).flatten() {
                self.tab_event(session, event);
            }
        } else if let Some(event) = BrowserEvent::read(method, params) {
            self.browser_event(event);
        }
    }

    fn flooded(&self, session: &DebugSessionId) {
        self.end_flood(session);
    }
}

/// Returns the timeout for a frame to answer on this machine now.
pub(in crate::gate) fn frame_timeout() -> Duration {
    FRAME_TIMEOUT.mul_f64(os::load().min(MAX_LOAD))
}

/// Returns true if the safe answer to a dialog is to accept it. A page that is left must not keep the agent on it; every other
/// question is answered with no.
pub(crate) fn is_safe_to_accept(kind: &str) -> bool {
    matches!(kind, "alert" | "beforeunload")
}
