//! Setup of tabs and frames: what the gate does before one starts.

use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::gate::report_script;

use crate::gate::browser::documents::DOCUMENTS;
use crate::gate::browser::state::Browser;
use crate::gate::documents::Documents;
use crate::gate::error::GateError;
use crate::gate::notices::Notice;
use crate::gate::page::Page;
use browser_shell_cdp::protocol::network::{EnableFetch, EnableNetwork, RequestPattern, SetFocusEmulationEnabled};
use browser_shell_cdp::protocol::page::{
    AddScriptToEvaluateOnNewDocument, EnablePage, GetFrameTree, SetInterceptFileChooserDialog,
};
use browser_shell_cdp::protocol::runtime::{AddBinding, EnableRuntime, RunIfWaitingForDebugger};
use browser_shell_cdp::protocol::target::{
    AttachedToTarget, CloseTarget, DetachFromTarget, GetBrowserContexts, SetAutoAttach, SetDiscoverTargets,
    TargetFilter, TargetKind,
};
use browser_shell_cdp::protocol::{DebugSessionId, dom};
use browser_shell_cdp::{CommandError, Connection, Receiver};
use browser_shell_system::os::random;

/// Timeout for a new tab to be set up.
pub(super) const SETUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Time in which a tab that a page opened requests its first document.
const FIRST_REQUEST_TIME: Duration = Duration::from_millis(30);

/// Maximum number of tabs of a context. Those that pages open beyond it are closed.
pub const MAX_TABS: usize = 16;

/// Tabs.
const PAGES: &[TargetFilter] = &[TargetFilter { kind: "page" }];

/// Frames, which wait for the gate. Chromium 156 has workers and worklets wait, too, also those that the filter leaves out, and lets
/// only those start to which somebody is attached.
const WAITING: &[TargetFilter] =
    &[TargetFilter { kind: "iframe" }, TargetFilter { kind: "worker" }, TargetFilter { kind: "worklet" }];

/// Owner of a context.
enum ContextOwner {
    /// The gate: it is the default one, or the gate made it.
    Gate,
    /// Somebody else made it.
    Other,
    /// It has ended.
    Nobody,
}

impl Browser {
    /// Takes over the tabs of the Chromium at the other end of a connection.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not carry out a command.
    pub async fn start(
        connection: Arc<Connection>,
        generation: u64,
        documents: Arc<Documents>,
    ) -> Result<Arc<Self>, GateError> {
        let report_binding = format!("{:032x}", u128::from_be_bytes(random::bytes().map_err(GateError::Random)?));
        let browser = Self::new(connection, generation, documents, report_binding);
        let receiver: Arc<dyn Receiver> = browser.clone();
        browser.connection.set_root(&receiver);
        let contexts = browser.root(&GetBrowserContexts {}).await?;
        browser.tables().default_context = contexts.default_browser_context_id;
        browser.deny_downloads(None).await?;
        browser.root(&SetDiscoverTargets { discover: true, filter: PAGES }).await?;
        browser.root(&SetAutoAttach::waiting(PAGES)).await?;
        let setups = browser
            .pages()
            .into_iter()
            .map(|page| async move { tokio::time::timeout(SETUP_TIMEOUT, page.wait_until_ready()).await });
        // A tab that hangs is found when a session wants to use it.
        futures::future::join_all(setups).await;
        // Not before: documents that were on their way are nobody's to allow.
        browser.ask_for_documents().await?;
        Ok(browser)
    }

    /// Takes a target that Chromium attached the gate to.
    pub(super) fn attached(&self, parent: Option<&DebugSessionId>, attached: &AttachedToTarget) {
        let AttachedToTarget { session_id: session, target_info: info } = attached;
        let Some(browser) = self.me.upgrade() else { return };
        let receiver: Arc<dyn Receiver> = browser.clone();
        if let Some(parent) = parent {
            if info.kind != TargetKind::Iframe {
                return self.let_go(Some(parent), session);
            }
            let Some(page) = self.tables().sessions.get(parent).cloned() else { return };
            self.connection.add_session(session, &receiver);
            page.add_frame(session, parent, info);
            self.tables().sessions.insert(session.clone(), page);
            let session = session.clone();
            self.spawn(|browser| async move {
                browser.take_over_frame(&session).await;
            });
            return;
        }
        if info.kind != TargetKind::Page {
            return;
        }
        let number = {
            let mut tables = self.tables();
            tables.count += 1;
            tables.count
        };
        let page = Arc::new(Page::new(session, info, number));
        let has_room = {
            let mut tables = self.tables();
            if tables.pages.contains_key(&page.target) {
                // A client was attached.
                return;
            }
            let counts = |known: &&Arc<Page>| known.context == page.context && !known.has_crashed();
            let has_room = tables.pages.values().filter(counts).count() < MAX_TABS;
            tables.pages.insert(page.target.clone(), page.clone());
            tables.sessions.insert(session.clone(), page.clone());
            has_room
        };
        self.connection.add_session(session, &receiver);
        self.spawn(move |browser| async move { browser.take_over(&page, has_room).await });
    }

    /// Lets a target start that the gate has nothing to do with, and ends the gate's own session on it.
    fn let_go(&self, parent: Option<&DebugSessionId>, session: &DebugSessionId) {
        self.connection.notify(Some(session), &RunIfWaitingForDebugger {});
        self.connection.notify(parent, &DetachFromTarget { session_id: session });
    }

    /// Sets up a frame. If that fails, its tab is closed, because nothing would decide on the frame's documents.
    async fn take_over_frame(&self, session: &DebugSessionId) {
        while let Err(error) = self.set_up(session).await {
            // A frame that has gone meanwhile does no harm.
            let Some(page) = self.tables().sessions.get(session).cloned() else { return };
            if matches!(error, CommandError::TimedOut(_)) && page.dialog().is_some() {
                // While a dialog is open, frames do not answer.
                continue;
            }
            tracing::warn!(%error, "a frame could not be set up, and its tab is closed");
            self.connection.notify(None, &CloseTarget { target_id: &page.target });
            self.ended(&page.target);
            return;
        }
    }

    /// Sets up a new tab and announces it to the clients of its sessions.
    async fn take_over(&self, page: &Arc<Page>, has_room: bool) {
        match self.owner_of(page).await {
            ContextOwner::Gate => {}
            ContextOwner::Other => {
                self.forget(&page.target);
                self.tables().others.insert(page.target.clone());
                self.let_go(None, &page.session);
                return;
            }
            ContextOwner::Nobody => {
                tracing::debug!("a tab of a context that has ended is closed");
                self.close_at_start(page);
                return;
            }
        }
        if !has_room && !self.is_own(page).await {
            tracing::debug!("a context has {MAX_TABS} tabs, and one more that a page opened is closed");
            self.notice(page, &Notice::TooManyTabs);
            self.close_at_start(page);
            return;
        }
        if let Err(error) = self.set_up(&page.session).await {
            tracing::warn!(%error, "a tab could not be set up, and is closed");
            self.connection.notify(None, &CloseTarget { target_id: &page.target });
            self.forget(&page.target);
            return;
        }
        if page.has_opener() {
            // Its first document may be refused, and the tab then closed.
            tokio::time::sleep(FIRST_REQUEST_TIME).await;
            page.wait_until_decided().await;
            if self.page(&page.target).is_none() {
                return;
            }
        }
        page.set_ready();
        for session in self.owners(page) {
            session.page_opened(page);
        }
    }

    /// Closes a tab that waits for the gate, before it requests anything. It must run to end: until then, the page that opened it
    /// waits too.
    fn close_at_start(&self, page: &Page) {
        // Nobody answers its requests from here on.
        self.forget(&page.target);
        let session = Some(&page.session);
        let patterns = &[RequestPattern { url_pattern: "*", resource_type: None }];
        self.connection.notify(session, &EnableFetch { patterns, handle_auth_requests: false });
        self.connection.notify(session, &RunIfWaitingForDebugger {});
        self.connection.notify(None, &CloseTarget { target_id: &page.target });
    }

    /// Returns true if the gate itself opened the tab, which is known when Chromium has answered.
    async fn is_own(&self, page: &Page) -> bool {
        let _answered = self.opening.write().await;
        self.tables().opened.contains(&page.target)
    }

    /// Returns whose the context of a tab is.
    async fn owner_of(&self, page: &Page) -> ContextOwner {
        let default = {
            let tables = self.tables();
            if tables.contexts.contains_key(&page.context) || tables.default_context.as_ref() == Some(&page.context) {
                return ContextOwner::Gate;
            }
            tables.default_context.clone()
        };
        let Ok(others) = self.root(&GetBrowserContexts {}).await else { return ContextOwner::Nobody };
        let exists = others.browser_context_ids.contains(&page.context);
        match default {
            _ if exists => ContextOwner::Other,
            Some(_) => ContextOwner::Nobody,
            // An older Chromium does not say which one is the default context, and lists the others only.
            None => ContextOwner::Gate,
        }
    }

    /// Sets up the gate's own session on a tab or frame and lets the target start.
    async fn set_up(&self, session: &DebugSessionId) -> Result<(), CommandError> {
        let (connection, on) = (&self.connection, Some(session));
        let attach = SetAutoAttach::waiting(WAITING);
        // For what a page still loads. No body is kept.
        let network = EnableNetwork::default();
        let binding = AddBinding { name: &self.report_binding };
        let report =
            AddScriptToEvaluateOnNewDocument { source: report_script(&self.report_binding), run_immediately: true };
        // All at once and in this order: a target that waits answers most of them only when it starts.
        let (.., tree) = tokio::try_join!(
            biased;
            connection.send(on, &EnableFetch { patterns: DOCUMENTS, handle_auth_requests: true }),
            connection.send(on, &EnablePage {}),
            connection.send(on, &SetInterceptFileChooserDialog { enabled: true }),
            connection.send(on, &attach),
            connection.send(on, &dom::EnableDom {}),
            connection.send(on, &network),
            // Pages get the events of the focus, whatever window is in front.
            connection.send(on, &SetFocusEmulationEnabled { enabled: true }),
            // Without it, only documents that exist get the function.
            connection.send(on, &EnableRuntime {}),
            connection.send(on, &binding),
            connection.send(on, &report),
            connection.send(on, &RunIfWaitingForDebugger {}),
            connection.send(on, &GetFrameTree {}),
        )?;
        if let Some(page) = self.tables().sessions.get(session).cloned() {
            page.add_documents(session, &tree.frame_tree);
        }
        Ok(())
    }
}
