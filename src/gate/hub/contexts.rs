//! Browser contexts of one Chromium: those of sessions, and those of the gate itself.

use std::sync::Arc;

use serde_json::json;

use crate::browser::cdp::CommandError;
use crate::gate::hub::state::Hub;
use crate::gate::json::with;
use crate::gate::owner::PageOwner;
use crate::paths::SessionAddress;

impl Hub {
    /// Denies the downloads of a context and has them reported.
    pub(in crate::gate) async fn deny_downloads(&self, context: Option<&str>) -> Result<(), CommandError> {
        let params = with(json!({ "behavior": "deny", "eventsEnabled": true }), "browserContextId", context);
        self.root("Browser.setDownloadBehavior", &params).await.map(|_| ())
    }

    /// Adds a session with a context of its own.
    pub(in crate::gate) fn add_context(&self, context: &str, session: &Arc<dyn PageOwner>) {
        self.tables().contexts.insert(context.to_owned(), Some(Arc::downgrade(session)));
    }

    /// Adds a context of the gate's own, whose tabs are no session's.
    pub(in crate::gate) fn add_own_context(&self, context: &str) {
        self.tables().contexts.insert(context.to_owned(), None);
    }

    /// Ends the context of a session. If Chromium does not, its address stays in use: its pages could use it.
    pub(in crate::gate) async fn dispose(&self, context: &str, address: Option<SessionAddress>) {
        let params = json!({ "browserContextId": context });
        if let Err(error) = self.root("Target.disposeBrowserContext", &params).await {
            if self.connection.is_closed() {
                return;
            }
            tracing::warn!(%error, "a session's browser context could not be ended");
            // It stays in the table: without an owner, its pages belong to nobody.
            self.tables().orphans.extend(address);
            return;
        }
        let mut tables = self.tables();
        tables.ended.insert(context.to_owned());
        tables.forget_context(context);
    }

    /// Returns the number of contexts that the gate made and that may have tabs.
    #[cfg(test)]
    pub(in crate::gate) fn context_count(&self) -> usize {
        self.tables().contexts.len()
    }

    /// Adds a session that uses the default context.
    pub(in crate::gate) fn add_shared(&self, session: &Arc<dyn PageOwner>) {
        let mut tables = self.tables();
        tables.shared.retain(|known| known.strong_count() > 0);
        if !tables.shared.iter().any(|known| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(session))) {
            tables.shared.push(Arc::downgrade(session));
        }
    }
}
