//! Tabs whose process has ended. Nothing in them answers, so each is closed at once.
//!
//! A session that acts on such a tab gets an empty one in its place, to which its agent-browser turns as to any new tab.

use std::sync::Arc;

use crate::gate::browser::state::Browser;
use crate::gate::notices::Notice;
use crate::gate::page::{Loss, Page};
use browser_shell_cdp::Receiver;
use browser_shell_cdp::protocol::{DebugSessionId, TargetId};

impl Browser {
    /// Takes that the process of a tab has ended.
    pub(super) fn crashed(&self, target: &TargetId) {
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

    /// Takes that the process of a frame has ended. The session on it stays: the frame may get another document, on which the gate
    /// decides over that session.
    pub(super) fn frame_crashed(&self, page: &Page, session: &DebugSessionId) {
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
}
