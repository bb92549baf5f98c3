//! Tabs and frames: what the gate does before one starts, tabs that it opens and closes, and their windows.

use std::sync::Arc;
use std::time::Duration;

use browser_shell_core::gate::{report_script, scheme_of_program};

use crate::gate::browser::documents::DOCUMENTS;
use crate::gate::browser::state::{Browser, GateError};
use crate::gate::documents::Documents;
use crate::gate::notices::Notice;
use crate::gate::page::Page;
use browser_shell_cdp::protocol::browser::{self, Bounds, GetWindowForTarget, SetWindowBounds};
use browser_shell_cdp::protocol::network::{EnableFetch, EnableNetwork, RequestPattern, SetFocusEmulationEnabled};
use browser_shell_cdp::protocol::page::{
    AddScriptToEvaluateOnNewDocument, CreateIsolatedWorld, EnablePage, GetFrameTree, Navigate,
    SetInterceptFileChooserDialog,
};
use browser_shell_cdp::protocol::runtime::{AddBinding, EnableRuntime, RunIfWaitingForDebugger};
use browser_shell_cdp::protocol::target::{
    AttachedToTarget, CloseTarget, CreateTarget, DetachFromTarget, GetBrowserContexts, GetTargetInfo, SetAutoAttach,
    SetDiscoverTargets, TargetFilter, TargetKind,
};
use browser_shell_cdp::protocol::{
    BrowserContextId, DebugSessionId, ExecutionContextId, FrameId, TargetId, WindowId, dom,
};
use browser_shell_cdp::{CommandError, Connection, Receiver};
use browser_shell_system::os;

/// Timeout for a new tab to be set up.
const SETUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for a tab that a page opened to be set up. One without access to its opener has no process, and answers most commands when its
/// server has.
const OPENED_SETUP_TIMEOUT: Duration = Duration::from_mins(2);

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

/// Timeout for tabs to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between two looks for a new tab.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Name of the world. A frame makes it once, and returns it when it is asked again.
const WORLD: &str = "control-gate";

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
        let report_binding = format!("{:032x}", u128::from_be_bytes(os::random_bytes().map_err(GateError::Random)?));
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

    /// Sets up a frame. If that fails, its tab is closed, because nothing would decide on the frame's documents. In a process that hangs, the
    /// frame shows none: it waits for the gate, and Chromium itself asks the gate for each document before it requests it.
    async fn take_over_frame(&self, session: &DebugSessionId) {
        while let Err(error) = self.set_up(session, SETUP_TIMEOUT).await {
            // A frame that has gone meanwhile does no harm.
            let Some(page) = self.tables().sessions.get(session).cloned() else { return };
            if matches!(error, CommandError::TimedOut(_)) && page.dialog().is_some() {
                // While a dialog is open, frames do not answer.
                continue;
            }
            let ask = EnableFetch { patterns: DOCUMENTS, handle_auth_requests: true };
            if matches!(error, CommandError::TimedOut(_))
                && self.connection.send_within(SETUP_TIMEOUT, Some(session), &ask).await.is_ok()
            {
                self.leave_out_hung(&page, session, false);
                page.wait_until_answering(session).await;
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
        let timeout = if page.has_opener() { OPENED_SETUP_TIMEOUT } else { SETUP_TIMEOUT };
        if let Err(error) = self.set_up(&page.session, timeout).await {
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
            if self.close_other_program(page) {
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

    /// Closes a tab that was opened for another program, such as `mailto:`, and returns true if it was. It shows that the address is blocked,
    /// so no session could use or see it. Nothing changes for a tab that shows the error of a web page.
    pub(super) fn close_other_program(&self, page: &Arc<Page>) -> bool {
        let scheme = scheme_of_program(&page.url()).filter(|_| page.has_opener() && !page.has_crashed());
        let Some(scheme) = scheme else { return false };
        // Chromium may report the tab again until it is gone.
        if self.tables().closing.insert(page.target.clone()) {
            self.notice(page, &Notice::OtherProgram { scheme });
            let page = page.clone();
            self.spawn(move |browser| async move {
                let context = browser.tables().contexts.contains_key(&page.context).then(|| page.context.clone());
                if let Err(error) = browser.replace_or_close_page(context.as_ref(), &page).await {
                    tracing::warn!(%error, "a tab that was opened for another program could not be closed");
                }
            });
        }
        true
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
    async fn set_up(&self, session: &DebugSessionId, timeout: Duration) -> Result<(), CommandError> {
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
            connection.send_within(timeout, on, &EnableFetch { patterns: DOCUMENTS, handle_auth_requests: true }),
            connection.send_within(timeout, on, &EnablePage {}),
            connection.send_within(timeout, on, &SetInterceptFileChooserDialog { enabled: true }),
            connection.send_within(timeout, on, &attach),
            connection.send_within(timeout, on, &dom::EnableDom {}),
            connection.send_within(timeout, on, &network),
            // Pages get the events of the focus, whatever window is in front.
            connection.send_within(timeout, on, &SetFocusEmulationEnabled { enabled: true }),
            // Without it, only documents that exist get the function.
            connection.send_within(timeout, on, &EnableRuntime {}),
            connection.send_within(timeout, on, &binding),
            connection.send_within(timeout, on, &report),
            connection.send_within(timeout, on, &RunIfWaitingForDebugger {}),
            connection.send_within(timeout, on, &GetFrameTree {}),
        )?;
        if let Some(page) = self.tables().sessions.get(session).cloned() {
            page.set_answering(session);
            page.add_documents(session, &tree.frame_tree);
        }
        Ok(())
    }

    /// Opens a tab, waits until it is set up, and opens a URL in it. Chromium would request the URL before that.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not open it.
    pub async fn create_page(
        &self,
        context: Option<&BrowserContextId>,
        url: &str,
        new_window: bool,
    ) -> Result<Arc<Page>, GateError> {
        let blank = CreateTarget {
            url: "about:blank",
            browser_context_id: context,
            new_window: Some(new_window),
            ..CreateTarget::default()
        };
        let target = {
            let _opening = self.opening.read().await;
            let target = self.root(&blank).await?.target_id;
            self.tables().opened.insert(target.clone());
            target
        };
        let ready = async {
            let page = self.wait_for_page(&target).await;
            page.wait_until_ready().await;
            page
        };
        let page = tokio::time::timeout(SETUP_TIMEOUT, ready).await.map_err(|_| GateError::NoTab)?;
        if url != "about:blank" {
            self.connection.notify(Some(&page.session), &Navigate::to(url));
        }
        Ok(page)
    }

    /// Returns a tab by its target, as soon as Chromium has reported it.
    pub(super) async fn wait_for_page(&self, target: &TargetId) -> Arc<Page> {
        loop {
            if let Some(page) = self.page(target) {
                return page;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns the title that a tab has now. Chromium does not report when a page changes its title.
    pub(in crate::gate) async fn title(&self, target: &TargetId) -> Option<String> {
        let found = self.root(&GetTargetInfo { target_id: target }).await.ok()?;
        Some(found.target_info.title)
    }

    /// Closes tabs and waits until they are gone: one that is closing could become a session's page.
    pub(in crate::gate) async fn close_and_wait(&self, pages: &[Arc<Page>]) {
        for page in pages {
            let _ = self.close_page(page).await;
        }
        let gone = async {
            while pages.iter().any(|page| self.page(&page.target).is_some()) {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        if tokio::time::timeout(CLOSE_TIMEOUT, gone).await.is_err() {
            tracing::warn!("tabs did not close in time");
        }
    }

    /// Closes a tab.
    pub(in crate::gate) async fn close_page(&self, page: &Page) -> Result<(), CommandError> {
        self.root(&CloseTarget { target_id: &page.target }).await.map(drop)
    }

    /// Closes a tab of a context, that of the default context for `None`. If it is the last one, an empty one is opened first:
    /// Chromium ends with its last tab.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not open or close a tab.
    pub async fn replace_or_close_page(
        &self,
        context: Option<&BrowserContextId>,
        page: &Page,
    ) -> Result<(), GateError> {
        let is_last = {
            let mut tables = self.tables();
            tables.closing.insert(page.target.clone());
            let remains = |other: &Arc<Page>| {
                other.context == page.context
                    && other.is_ready()
                    && other.is_usable()
                    && !tables.closing.contains(&other.target)
            };
            !tables.pages.values().any(remains)
        };
        let close = async {
            if is_last {
                self.create_page(context, "about:blank", false).await?;
            }
            Ok(self.close_page(page).await?)
        };
        let closed = close.await;
        if closed.is_err() {
            self.tables().closing.remove(&page.target);
        }
        closed
    }

    /// Returns the id of the gate's own world in a frame: its scripts read the document, and no script of the page changes what they see.
    /// Chromium refuses it for a frame that is gone, or that another process shows.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not make it in time.
    pub(in crate::gate) async fn isolated_world(
        &self,
        session: &DebugSessionId,
        frame: &FrameId,
        timeout: Duration,
    ) -> Result<ExecutionContextId, CommandError> {
        let world = CreateIsolatedWorld { frame_id: frame, world_name: WORLD };
        Ok(self.connection.send_within(timeout, Some(session), &world).await?.execution_context_id)
    }
}

/// State of the windows of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowMode {
    /// The whole screen, with Chromium's bars.
    Maximized,
    /// The whole screen, without Chromium's bars.
    Fullscreen,
}

impl WindowMode {
    /// Returns the state in the debugging protocol.
    const fn to_protocol(self) -> browser::WindowState {
        match self {
            Self::Maximized => browser::WindowState::Maximized,
            Self::Fullscreen => browser::WindowState::Fullscreen,
        }
    }

    /// Gives the window of a new tab this state.
    pub(in crate::gate) async fn give(self, browser: &Browser, page: &Page) {
        if let Some((id, _)) = window_of(browser, page).await {
            set_state(browser, id, self.to_protocol()).await;
        }
    }

    /// Restores the window of a tab if somebody has minimized it: nothing is drawn in such a window. Gives it back the whole screen,
    /// unless the window is one of all sessions, which people arrange. Windows that pages have opened become full screens, too. Returns
    /// true if the window was changed.
    pub(in crate::gate) async fn restore(self, browser: &Browser, page: &Page, has_own_context: bool) -> bool {
        let Some((id, state)) = window_of(browser, page).await else { return false };
        let is_minimized = state == Some(browser::WindowState::Minimized);
        let is_smaller = self == Self::Fullscreen && state != Some(self.to_protocol());
        if is_minimized {
            // Chromium gives the whole screen to restored windows only.
            set_state(browser, id, browser::WindowState::Normal).await;
        }
        if is_smaller || is_minimized && has_own_context {
            set_state(browser, id, self.to_protocol()).await;
        }
        is_smaller || is_minimized
    }
}

/// Returns the id and the state of a tab's window. A browser without windows has none.
async fn window_of(browser: &Browser, page: &Page) -> Option<(WindowId, Option<browser::WindowState>)> {
    let found = browser.root(&GetWindowForTarget { target_id: &page.target }).await.ok()?;
    Some((found.window_id, found.bounds.window_state))
}

async fn set_state(browser: &Browser, window_id: WindowId, state: browser::WindowState) {
    let bounds = Bounds { window_state: Some(state) };
    if let Err(error) = browser.root(&SetWindowBounds { window_id, bounds }).await {
        tracing::warn!(%error, "a window does not change its state");
    }
}
