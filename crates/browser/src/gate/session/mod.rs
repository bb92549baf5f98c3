//! A session's part of the browser: its endpoint, its browser context, and what its pages did; its calls, which mark what its pages do
//! meanwhile; and the session as its clients see it, and as the owner of tabs.

mod context;
mod state;
mod tabs;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use browser_shell_core::gate::Level;
use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::Isolation;
use browser_shell_core::session_id::SessionId;
use futures::future::BoxFuture;

use self::state::Context;
use crate::gate::browser::{Browser, GateError, PageOwner};
use crate::gate::notices::Notice;
use crate::gate::page::Page;
use crate::gate::scope::{ClientScope, Denied, SessionContext};

pub use context::problems_of_state;
pub(super) use context::to_end;
pub use state::GateSession;
pub(super) use state::NodeAddress;
pub use tabs::SeenTab;

/// Mark of a call of the session; events are those of the session while it lives.
pub struct ActiveCall(Arc<GateSession>);

impl Drop for ActiveCall {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
        self.0.set_active(false);
        // At the end, where nobody waits for it.
        if let Some((browser, pages)) = self.0.all_pages() {
            for page in pages {
                browser.release_logged_values(&page);
            }
        }
    }
}

/// Use of the clipboard by a person, until this is dropped.
pub(super) struct ClipboardUse<'a>(&'a GateSession);

impl Drop for ClipboardUse<'_> {
    fn drop(&mut self) {
        self.0.set_active(false);
    }
}

impl GateSession {
    /// Begins input of a person, by which a page may put something into the clipboard.
    pub(super) fn begin_clipboard_use(&self) -> ClipboardUse<'_> {
        self.set_active(true);
        ClipboardUse(self)
    }

    /// Begins a call. What happened before it is older than the call.
    pub fn begin_call(self: &Arc<Self>, profile: Profile) -> ActiveCall {
        *self.lock_profile() = profile;
        *self.lock_last_call() = Some(Instant::now());
        self.lock_notices().set_old();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.set_active(true);
        ActiveCall(self.clone())
    }

    /// Records that the input of an act begins.
    pub fn begin_input(&self) {
        self.sent.store(0, Ordering::Relaxed);
    }

    /// Records that a part of an act's input is sent: a key of a text, a press, the release of a drag.
    pub(in crate::gate) fn note_sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many parts of the act's input were sent.
    #[must_use]
    pub fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    fn set_active(&self, is_active: bool) {
        if let Some(gate) = self.gate.upgrade().filter(|_| self.isolation == Isolation::Session) {
            gate.set_active(&self.id, is_active);
        }
    }
}

impl ClientScope for GateSession {
    fn prepare_paste<'a>(&'a self, browser: &'a Arc<Browser>) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(async move {
            match self.gate.upgrade() {
                Some(gate) if self.isolation == Isolation::Session => gate.prepare_paste(&self.id, browser).await,
                Some(_) => Ok(()),
                None => Err(GateError::NotRunning),
            }
        })
    }

    fn runs_call(&self) -> bool {
        self.is_active()
    }

    fn ignores_acts(&self) -> bool {
        self.ignores_acts.load(Ordering::Relaxed)
    }

    fn take_use(&self, page: &Page) {
        self.lock_used().take_use(&page.target);
    }

    fn allows_cookies(&self) -> bool {
        self.documents().is_some_and(|documents| documents.lets_agents_use_cookies())
    }

    fn has_saved_state(&self) -> bool {
        self.isolation == Isolation::Session && self.saved_state.is_some()
    }

    fn context_id(&self, browser: &Arc<Browser>) -> SessionContext {
        match self.context().filter(|context| context.browser.generation == browser.generation) {
            Some(Context { id: Some(id), .. }) => SessionContext::Own(id),
            Some(Context { id: None, .. }) => SessionContext::Shared,
            None => SessionContext::None,
        }
    }

    fn pages(&self, browser: &Arc<Browser>) -> Vec<Arc<Page>> {
        let context = self.context().filter(|context| context.browser.generation == browser.generation);
        context.map(|context| Self::usable_pages(&context)).unwrap_or_default()
    }

    fn create_page<'a>(
        &'a self,
        browser: &'a Arc<Browser>,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Page>, GateError>> {
        Box::pin(async move {
            let context = self.context().ok_or(GateError::NotRunning)?;
            browser.create_page(context.id.as_ref(), url, false).await
        })
    }

    fn close_page<'a>(&'a self, browser: &'a Arc<Browser>, page: &'a Page) -> BoxFuture<'a, Result<(), GateError>> {
        Box::pin(async move {
            let context = self.context().ok_or(GateError::NotRunning)?;
            browser.replace_or_close_page(context.id.as_ref(), page).await
        })
    }

    fn count_refusal(&self, level: Level, denied: Denied<'_>) {
        if let Some(gate) = self.gate.upgrade() {
            gate.count_refusal(&self.id, level, denied);
        }
    }
}

impl PageOwner for GateSession {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn is_open(&self) -> bool {
        !self.stop.is_cancelled()
    }

    fn is_active(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0
    }

    fn can_answer_dialogs(&self) -> bool {
        let profile = *self.lock_profile();
        self.documents().is_some_and(|documents| documents.lets_agents_answer_dialogs(profile))
    }

    fn add_notice(&self, notice: Notice) {
        let is_new = self.is_active();
        self.lock_notices().add(notice, is_new);
    }

    fn page_opened(&self, page: &Arc<Page>) {
        if page.is_usable() {
            self.lock_used().take_use(&page.target);
            // The rest of a command that opened it is for the tab before.
            self.ignore_acts(true);
            self.observers().iter().for_each(|observer| observer.page_opened(page));
        }
    }

    fn page_changed(&self, page: &Page) {
        self.observers().iter().for_each(|observer| observer.page_changed(page));
    }

    fn page_closed(&self, page: &Page) {
        self.lock_used().take_end(&page.target, page.opener().as_ref());
        self.observers().iter().for_each(|observer| observer.page_closed(page));
    }

    fn is_acting_on(&self, page: &Page) -> bool {
        self.active_page().is_some_and(|active| active.target == page.target)
    }

    fn active_tab_crashed(&self) {
        self.crash.notify_waiters();
    }

    fn dialog_waits(&self, page: &Page) {
        for observer in self.observers() {
            observer.release_input(page);
        }
        self.dialog.notify_waiters();
        self.dialog.notify_one();
    }
}
