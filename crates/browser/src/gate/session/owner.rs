//! Session as the owner of tabs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use browser_shell_core::session_id::SessionId;

use crate::gate::notices::Notice;
use crate::gate::owner::PageOwner;
use crate::gate::page::Page;
use crate::gate::session::state::GateSession;

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
