//! Tabs that do not respond, and what Chromium keeps of tabs that do.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::gate::hub::state::Hub;
use crate::gate::page::Page;

/// Timeout for a tab to answer. A page may be busy for a while without being hung. One whose server does not answer does not
/// answer either, and is then asked to stop loading.
const TAB_TIMEOUT: Duration = Duration::from_secs(4);

/// Additional timeout for a tab that was asked to stop loading.
const STOP_LOADING_TIMEOUT: Duration = Duration::from_secs(2);

impl Hub {
    /// Returns the tabs that do not respond.
    pub(in crate::gate) async fn hung(&self, pages: &[Arc<Page>]) -> Vec<Arc<Page>> {
        let alive = futures::future::join_all(pages.iter().map(|page| self.is_alive(page))).await;
        pages.iter().zip(alive).filter(|(_, alive)| !alive).map(|(page, _)| page.clone()).collect()
    }

    /// Returns whether a tab can run a minimal script, if necessary after it was asked to stop loading. One with a dialog waits.
    async fn is_alive(&self, page: &Page) -> bool {
        if page.dialog().is_some() {
            return true;
        }
        let session = Some(page.session.as_str());
        let script = json!({ "expression": "1" });
        let timeout = TAB_TIMEOUT + STOP_LOADING_TIMEOUT;
        let answer = self.connection.command_within(timeout, session, "Runtime.evaluate", &script);
        tokio::pin!(answer);
        tokio::select! {
            answer = &mut answer => return answer.is_ok(),
            () = tokio::time::sleep(TAB_TIMEOUT) => self.connection.notify(session, "Page.stopLoading", &json!({})),
        }
        answer.await.is_ok()
    }

    /// Returns true if a session acts on a tab.
    pub(in crate::gate) fn is_acted_on(&self, page: &Page) -> bool {
        self.owners(page).iter().any(|owner| owner.is_acting_on(page))
    }

    /// Lets Chromium forget the values that a tab has logged. It keeps them for each session that sees what a tab logs.
    pub(in crate::gate) fn release_logged_values(&self, page: &Page) {
        for session in page.sessions() {
            let group = json!({ "objectGroup": "console" });
            self.connection.notify(Some(&session), "Runtime.releaseObjectGroup", &group);
        }
    }
}
