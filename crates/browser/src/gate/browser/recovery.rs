//! Tabs that do not respond, and what Chromium keeps of tabs that do.

use std::sync::Arc;
use std::time::Duration;

use crate::gate::browser::state::Browser;
use crate::gate::page::Page;
use browser_shell_cdp::protocol::runtime::{Evaluate, ReleaseObjectGroup};
use browser_shell_cdp::protocol::{DebugSessionId, FrameId};

/// Timeout for a tab to answer. A page may be busy for a while without being hung.
const TAB_TIMEOUT: Duration = Duration::from_secs(6);

/// Timeout for a tab to answer that waits for the server of another document.
const LOAD_TIMEOUT: Duration = Duration::from_mins(5);

impl Browser {
    /// Returns the tabs that do not respond.
    pub(in crate::gate) async fn hung(&self, pages: &[Arc<Page>]) -> Vec<Arc<Page>> {
        let alive = futures::future::join_all(pages.iter().map(|page| self.is_alive(page))).await;
        pages.iter().zip(alive).filter(|(_, alive)| !alive).map(|(page, _)| page.clone()).collect()
    }

    /// Returns whether a tab can run a minimal script. One with a dialog waits, and one whose server has not answered yet.
    async fn is_alive(&self, page: &Page) -> bool {
        if page.dialog().is_some() {
            return true;
        }
        tokio::select! {
            biased;
            () = page.wait_until_pending() => true,
            answers = self.answers(&page.session, TAB_TIMEOUT) => answers,
        }
    }

    async fn answers(&self, session: &DebugSessionId, timeout: Duration) -> bool {
        let script = Evaluate { expression: "1", ..Evaluate::default() };
        self.connection.send_within(timeout, Some(session), &script).await.is_ok()
    }

    /// Lets a frame request a document, and waits until the frame's process answers: it has another document then, or gets none, because
    /// the server's answer was a download or nothing, or the load was stopped.
    pub(super) fn expect_document(&self, page: &Arc<Page>, session: &DebugSessionId, frame: &FrameId) {
        let number = page.expect_document(frame);
        let (page, session, frame) = (page.clone(), session.clone(), frame.clone());
        self.spawn(move |browser| async move {
            if browser.answers(&session, LOAD_TIMEOUT).await {
                page.end_navigation(&frame, number);
            }
        });
    }

    /// Returns true if a session acts on a tab.
    pub(in crate::gate) fn is_acted_on(&self, page: &Page) -> bool {
        self.owners(page).iter().any(|owner| owner.is_acting_on(page))
    }

    /// Lets Chromium forget the values that a tab has logged. It keeps them for each session that sees what a tab logs.
    pub(in crate::gate) fn release_logged_values(&self, page: &Page) {
        for session in page.sessions() {
            self.connection.notify(Some(&session), &ReleaseObjectGroup { object_group: "console" });
        }
    }
}
