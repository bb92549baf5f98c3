//! Browser contexts of one Chromium: those of sessions, and those of the gate itself.

use std::sync::Arc;

use crate::gate::browser::state::Browser;
use crate::gate::owner::PageOwner;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::BrowserContextId;
use browser_shell_cdp::protocol::browser::{DownloadBehavior, SetDownloadBehavior};
use browser_shell_cdp::protocol::target::DisposeBrowserContext;
use browser_shell_system::paths::SessionAddress;

impl Browser {
    /// Denies the downloads of a context and has them reported.
    pub(in crate::gate) async fn deny_downloads(&self, context: Option<&BrowserContextId>) -> Result<(), CommandError> {
        let deny =
            SetDownloadBehavior { behavior: DownloadBehavior::Deny, events_enabled: true, browser_context_id: context };
        self.root(&deny).await.map(drop)
    }

    /// Adds a session with a context of its own.
    pub(in crate::gate) fn add_context(&self, context: &BrowserContextId, session: &Arc<dyn PageOwner>) {
        self.tables().contexts.insert(context.clone(), Some(Arc::downgrade(session)));
    }

    /// Adds a context of the gate's own, whose tabs are no session's.
    pub(in crate::gate) fn add_own_context(&self, context: &BrowserContextId) {
        self.tables().contexts.insert(context.clone(), None);
    }

    /// Ends the context of a session. If Chromium does not, its address stays in use: its pages could use it.
    pub(in crate::gate) async fn dispose(&self, context: &BrowserContextId, address: Option<SessionAddress>) {
        if let Err(error) = self.root(&DisposeBrowserContext { browser_context_id: context }).await {
            if self.connection.is_closed() {
                return;
            }
            tracing::warn!(%error, "a session's browser context could not be ended");
            // It stays in the table: without an owner, its pages belong to nobody.
            self.tables().orphans.extend(address);
            return;
        }
        let mut tables = self.tables();
        tables.ended.insert(context.clone());
        tables.forget_context(context);
    }

    /// Returns the number of contexts that the gate made and that may have tabs.
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
