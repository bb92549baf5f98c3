//! Tabs of one Chromium, as the gate sees them over one connection.
//!
//! The gate has a session of its own on each tab and on each frame with a process of its own. Over these it decides on every
//! document before Chromium requests it, and sees dialogs, downloads and file choosers. A tab starts only when that is set up.
//!
//! Invariants: a tab that cannot be set up is closed; tabs of contexts that the gate did not make are left alone, except those
//! of the default context.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::future::try_join_all;
use serde_json::{Value, json};

use browser_shell_core::gate::{DocumentUrl, classify_url};
use browser_shell_core::session_id::SessionId;

use crate::browser::cdp::{Answer, CommandError, Connection, Event, Receiver, parse_params};
use crate::gate::documents::Documents;
use crate::gate::error::GateError;
use crate::gate::notices::{Dialog, Notice};
use crate::gate::owner::PageOwner;
use crate::gate::page::{OpenDialog, Page, text, with};
use crate::paths::SessionAddress;
use browser_shell_core::decision::{Code, Decision};

/// Timeout for a new tab to be set up.
const SETUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Time in which a tab that a page opened requests its first document.
const FIRST_REQUEST_TIME: Duration = Duration::from_millis(30);

/// Timeout for tabs to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between two looks for a new tab.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum number of tabs of a context. Those that pages open beyond it are closed.
pub(super) const MAX_TABS: usize = 64;

/// Tabs of one Chromium.
pub(super) struct Hub {
    pub(super) connection: Arc<Connection>,
    /// Number of this connection in the process.
    pub(super) generation: u64,
    documents: Arc<Documents>,
    /// The gate's session on the tab that empties the clipboard.
    pub(super) clipboard_tab: tokio::sync::Mutex<Option<String>>,
    /// Held while hung tabs are replaced.
    pub(super) recovery: tokio::sync::Mutex<()>,
    tables: Mutex<Tables>,
    /// Held for reading while the gate opens a tab whose id it does not know yet.
    opening: tokio::sync::RwLock<()>,
    /// Number of dialogs that have waited for an agent.
    dialogs: AtomicU64,
    me: Weak<Self>,
}

#[derive(Default)]
struct Tables {
    /// Id of the context that Chromium starts with.
    default_context: Option<String>,
    /// Tabs by target.
    pages: HashMap<String, Arc<Page>>,
    /// Tabs by the gate's own sessions on them.
    sessions: HashMap<String, Arc<Page>>,
    /// Targets of the tabs that the gate opened.
    opened: HashSet<String>,
    /// Targets of the tabs that the gate was asked to close.
    closing: HashSet<String>,
    /// Contexts that the gate made, with their session if they are one's.
    contexts: HashMap<String, Option<Weak<dyn PageOwner>>>,
    /// Addresses of the egress guard of contexts that could not be ended.
    orphans: Vec<SessionAddress>,
    /// Number of tabs that were seen.
    count: u64,
    /// Sessions that share the default context.
    shared: Vec<Weak<dyn PageOwner>>,
}

impl Hub {
    /// Takes over the tabs of the Chromium at the other end of a connection.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not carry out a command.
    pub(super) async fn start(
        connection: Arc<Connection>,
        generation: u64,
        documents: Arc<Documents>,
    ) -> Result<Arc<Self>, GateError> {
        let hub = Self::new(connection, generation, documents);
        let receiver: Arc<dyn Receiver> = hub.clone();
        hub.connection.set_root(&receiver);
        let contexts = hub.root("Target.getBrowserContexts", &json!({})).await?;
        hub.tables().default_context = text(&contexts, "defaultBrowserContextId");
        hub.deny_downloads(None).await?;
        let pages = json!([{ "type": "page" }]);
        hub.root("Target.setDiscoverTargets", &json!({ "discover": true, "filter": pages })).await?;
        let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": pages });
        hub.root("Target.setAutoAttach", &attach).await?;
        let setups = hub
            .pages()
            .into_iter()
            .map(|page| async move { tokio::time::timeout(SETUP_TIMEOUT, page.wait_until_ready()).await });
        // A tab that hangs is found when a session wants to use it.
        futures::future::join_all(setups).await;
        Ok(hub)
    }

    fn new(connection: Arc<Connection>, generation: u64, documents: Arc<Documents>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            connection,
            generation,
            documents,
            clipboard_tab: tokio::sync::Mutex::default(),
            recovery: tokio::sync::Mutex::default(),
            tables: Mutex::default(),
            opening: tokio::sync::RwLock::default(),
            dialogs: AtomicU64::new(0),
            me: me.clone(),
        })
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a command to the browser itself.
    pub(super) async fn root(&self, method: &str, params: &Value) -> Result<Value, CommandError> {
        self.connection.command(None, method, params).await
    }

    /// Denies the downloads of a context and has them reported.
    pub(super) async fn deny_downloads(&self, context: Option<&str>) -> Result<(), CommandError> {
        let params = with(json!({ "behavior": "deny", "eventsEnabled": true }), "browserContextId", context);
        self.root("Browser.setDownloadBehavior", &params).await.map(|_| ())
    }

    /// Adds a session with a context of its own.
    pub(super) fn add_context(&self, context: &str, session: &Arc<dyn PageOwner>) {
        self.tables().contexts.insert(context.to_owned(), Some(Arc::downgrade(session)));
    }

    /// Adds a context of the gate's own, whose tabs are no session's.
    pub(super) fn add_own_context(&self, context: &str) {
        self.tables().contexts.insert(context.to_owned(), None);
    }

    /// Ends the context of a session. If Chromium does not, its address stays in use: its pages could use it.
    pub(super) async fn dispose(&self, context: &str, address: Option<SessionAddress>) {
        // The context stays in the table: without an owner, its pages belong to nobody.
        let params = json!({ "browserContextId": context });
        if let Err(error) = self.root("Target.disposeBrowserContext", &params).await {
            if self.connection.is_closed() {
                return;
            }
            tracing::warn!(%error, "a session's browser context could not be ended");
            self.tables().orphans.extend(address);
        }
    }

    /// Adds a session that uses the default context.
    pub(super) fn add_shared(&self, session: &Arc<dyn PageOwner>) {
        let mut tables = self.tables();
        tables.shared.retain(|known| known.strong_count() > 0);
        if !tables.shared.iter().any(|known| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(session))) {
            tables.shared.push(Arc::downgrade(session));
        }
    }

    /// Returns all tabs.
    pub(super) fn pages(&self) -> Vec<Arc<Page>> {
        self.tables().pages.values().cloned().collect()
    }

    /// Returns the tabs of a context, that of the default context for `None`, the oldest first.
    pub(super) fn pages_of(&self, context: Option<&str>) -> Vec<Arc<Page>> {
        let tables = self.tables();
        let is_own = |page: &&Arc<Page>| match context {
            Some(context) => page.context == context,
            None => !tables.contexts.contains_key(&page.context),
        };
        let mut pages: Vec<_> = tables.pages.values().filter(is_own).cloned().collect();
        pages.sort_by_key(|page| page.number);
        pages
    }

    /// Returns a tab by its target.
    pub(super) fn page(&self, target: &str) -> Option<Arc<Page>> {
        self.tables().pages.get(target).cloned()
    }

    /// Opens a tab, waits until it is set up, and opens a URL in it. Chromium would request the URL before that.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not open it.
    pub(super) async fn create_page(
        &self,
        context: Option<&str>,
        url: &str,
        new_window: bool,
    ) -> Result<Arc<Page>, GateError> {
        let params = json!({ "url": "about:blank", "newWindow": new_window });
        let params = with(params, "browserContextId", context);
        let target = {
            let _opening = self.opening.read().await;
            let created = self.root("Target.createTarget", &params).await?;
            let target = text(&created, "targetId").unwrap_or_default();
            self.tables().opened.insert(target.clone());
            target
        };
        let ready = async {
            loop {
                if let Some(page) = self.page(&target) {
                    page.wait_until_ready().await;
                    return page;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let page = tokio::time::timeout(SETUP_TIMEOUT, ready).await.map_err(|_| GateError::NoTab)?;
        if url != "about:blank" {
            self.connection.notify(Some(&page.session), "Page.navigate", &json!({ "url": url }));
        }
        Ok(page)
    }

    /// Returns the sessions that a tab belongs to.
    fn owners(&self, page: &Page) -> Vec<Arc<dyn PageOwner>> {
        let tables = self.tables();
        match tables.contexts.get(&page.context) {
            Some(session) => session.as_ref().and_then(Weak::upgrade).into_iter().collect(),
            None => tables.shared.iter().filter_map(Weak::upgrade).filter(|session| session.is_open()).collect(),
        }
    }

    /// Returns the sessions that a tab belongs to and that run a call now; all of them if none does.
    fn active_owners(&self, page: &Page) -> Vec<Arc<dyn PageOwner>> {
        let owners = self.owners(page);
        let active: Vec<_> = owners.iter().filter(|session| session.is_active()).cloned().collect();
        if active.is_empty() { owners } else { active }
    }

    fn notice(&self, page: &Page, notice: &Notice) {
        for session in self.active_owners(page) {
            session.add_notice(notice.clone());
        }
    }

    /// Runs something about a tab in the background.
    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, task: impl FnOnce(Arc<Self>) -> F) {
        if let Some(hub) = self.me.upgrade() {
            tokio::spawn(task(hub));
        }
    }

    /// Takes a target that Chromium attached the gate to.
    fn attached(&self, parent: Option<&str>, params: &Value) {
        let (Some(session), Some(info)) = (text(params, "sessionId"), params.get("targetInfo")) else { return };
        let Some(hub) = self.me.upgrade() else { return };
        let receiver: Arc<dyn Receiver> = hub.clone();
        if let Some(parent) = parent {
            let Some(page) = self.tables().sessions.get(parent).cloned() else { return };
            self.connection.add_session(&session, &receiver);
            page.add_frame(&session, parent);
            self.tables().sessions.insert(session.clone(), page);
            self.spawn(|hub| async move {
                hub.take_over_frame(&session).await;
            });
            return;
        }
        let is_page = text(info, "type").is_some_and(|kind| kind == "page");
        let number = {
            let mut tables = self.tables();
            tables.count += 1;
            tables.count
        };
        let page = Page::new(&session, info, number).map(Arc::new).filter(|_| is_page);
        let Some(page) = page else { return };
        let has_room = {
            let mut tables = self.tables();
            if tables.pages.contains_key(&page.target) {
                // A client was attached.
                return;
            }
            let has_room = tables.pages.values().filter(|known| known.context == page.context).count() < MAX_TABS;
            tables.pages.insert(page.target.clone(), page.clone());
            tables.sessions.insert(session.clone(), page.clone());
            has_room
        };
        self.connection.add_session(&session, &receiver);
        self.spawn(move |hub| async move { hub.take_over(&page, has_room).await });
    }

    /// Sets up a frame. If that fails, its tab is closed, because nothing would decide on the frame's documents.
    async fn take_over_frame(&self, session: &str) {
        while let Err(error) = self.set_up(session).await {
            // A frame that has gone meanwhile does no harm.
            let Some(page) = self.tables().sessions.get(session).cloned() else { return };
            if matches!(error, CommandError::TimedOut(_)) && page.dialog().is_some() {
                // While a dialog is open, frames do not answer.
                continue;
            }
            tracing::warn!(%error, "a frame could not be set up, and its tab is closed");
            self.connection.notify(None, "Target.closeTarget", &json!({ "targetId": page.target }));
            self.ended(&page.target);
            return;
        }
    }

    /// Sets up a new tab and announces it to the clients of its sessions.
    async fn take_over(&self, page: &Arc<Page>, has_room: bool) {
        if !self.is_ours(page).await {
            self.forget(&page.target);
            self.connection.notify(Some(&page.session), "Runtime.runIfWaitingForDebugger", &json!({}));
            self.connection.notify(None, "Target.detachFromTarget", &json!({ "sessionId": page.session }));
            return;
        }
        if !has_room && !self.is_own(page).await {
            tracing::warn!("a context has {MAX_TABS} tabs, and one more that a page opened is closed");
            self.connection.notify(None, "Target.closeTarget", &json!({ "targetId": page.target }));
            self.forget(&page.target);
            return;
        }
        if let Err(error) = self.set_up(&page.session).await {
            tracing::warn!(%error, "a tab could not be set up, and is closed");
            self.connection.notify(None, "Target.closeTarget", &json!({ "targetId": page.target }));
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

    /// Returns true if the gate itself opened the tab, which is known when Chromium has answered.
    async fn is_own(&self, page: &Page) -> bool {
        let _answered = self.opening.write().await;
        self.tables().opened.contains(&page.target)
    }

    /// Returns true if the tab is in the default context or in one of a session.
    async fn is_ours(&self, page: &Page) -> bool {
        {
            let tables = self.tables();
            if tables.contexts.contains_key(&page.context) {
                return true;
            }
            if let Some(default) = &tables.default_context {
                return *default == page.context;
            }
        }
        // An older Chromium lists the other contexts only.
        let Ok(others) = self.root("Target.getBrowserContexts", &json!({})).await else { return false };
        let others = others.get("browserContextIds").and_then(Value::as_array).cloned().unwrap_or_default();
        !others.iter().any(|context| context.as_str() == Some(&page.context))
    }

    /// Sets up the gate's own session on a tab or frame and lets the target start.
    async fn set_up(&self, session: &str) -> Result<(), CommandError> {
        let documents = json!([{ "urlPattern": "*", "resourceType": "Document", "requestStage": "Request" }]);
        let attach = json!({
            "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": [{ "type": "iframe" }],
        });
        // All at once and in this order: a target that waits answers most of them only when it starts.
        let commands = [
            ("Fetch.enable", json!({ "patterns": documents, "handleAuthRequests": true })),
            ("Page.enable", json!({})),
            ("Page.setInterceptFileChooserDialog", json!({ "enabled": true })),
            ("Target.setAutoAttach", attach),
            ("DOM.enable", json!({})),
            ("Runtime.runIfWaitingForDebugger", json!({})),
            ("Page.getFrameTree", json!({})),
        ];
        let sent = commands.iter().map(|(method, params)| self.connection.command(Some(session), method, params));
        let answers = try_join_all(sent).await?;
        if let (Some(page), Some(tree)) = (self.tables().sessions.get(session).cloned(), answers.last()) {
            add_documents(&page, session, tree.get("frameTree").unwrap_or(&Value::Null));
        }
        Ok(())
    }

    /// Forgets a tab.
    fn forget(&self, target: &str) -> Option<Arc<Page>> {
        let mut tables = self.tables();
        tables.opened.remove(target);
        tables.closing.remove(target);
        let page = tables.pages.remove(target)?;
        for session in page.sessions() {
            tables.sessions.remove(&session);
            self.connection.remove_session(&session);
        }
        Some(page)
    }

    /// Takes the end of a target or of a session on it.
    fn detached(&self, session: &str) {
        let Some(page) = self.tables().sessions.get(session).cloned() else { return };
        if page.session == session {
            self.ended(&page.target);
        } else {
            self.tables().sessions.remove(session);
            // First: whose command ends with the session sees that the frame is gone.
            page.remove_frame(session);
            self.connection.remove_session(session);
        }
    }

    fn ended(&self, target: &str) {
        let Some(page) = self.page(target) else { return };
        let owners = self.owners(&page);
        self.forget(target);
        for session in owners {
            session.page_closed(&page);
        }
    }

    /// Decides on a document that a tab requests.
    async fn decide_document(&self, page: &Page, session: &str, params: &Value) {
        let Some(request) = text(params, "requestId") else { return };
        let url = params.pointer("/request/url").and_then(Value::as_str).unwrap_or_default();
        if page.is_answered_locally(url) {
            let headers = json!([{ "name": "content-type", "value": "text/html" }]);
            let answer = json!({ "requestId": request, "responseCode": 200, "responseHeaders": headers, "body": "" });
            self.connection.notify(Some(session), "Fetch.fulfillRequest", &answer);
            return;
        }
        let owners = self.active_owners(page);
        let is_orphan = owners.is_empty() && self.tables().contexts.contains_key(&page.context);
        let sessions: Vec<SessionId> = owners.iter().map(|session| session.id().clone()).collect();
        let decision = if is_orphan {
            Decision::new(Code::SessionUnknown, "the session of the page has ended")
        } else {
            self.documents.decide(&sessions, url).await
        };
        if decision.is_allowed() {
            self.connection.notify(Some(session), "Fetch.continueRequest", &json!({ "requestId": request }));
            return;
        }
        tracing::info!(code = %decision.code, host = decision.host, "a document was refused");
        let is_frame = text(params, "frameId").is_none_or(|frame| frame != page.target);
        self.notice(page, &Notice::RefusedDocument { decision, is_frame });
        // With this reason Chromium shows no error page: the tab stays where it is.
        let refusal = json!({ "requestId": request, "errorReason": "Aborted" });
        self.connection.notify(Some(session), "Fetch.failRequest", &refusal);
        if !is_frame && page.has_opener() && classify_url(&page.url()) == DocumentUrl::Blank {
            // It was opened for this document, and would stay empty.
            self.forget(&page.target);
            self.connection.notify(None, "Target.closeTarget", &json!({ "targetId": page.target }));
        }
    }

    /// Answers a dialog of a tab, or leaves it to the agent.
    fn dialog_opened(&self, page: &Page, session: &str, params: &Value) {
        let kind = text(params, "type").unwrap_or_default();
        let waits = kind != "beforeunload" && self.documents.lets_agents_answer_dialogs();
        let accept = is_safe_to_accept(&kind);
        let answer = if accept { "accepted" } else { "dismissed" };
        let member = |name| params.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut dialog = Dialog::new(&kind, member("message"), member("url"), (!waits).then_some(answer));
        dialog.number = waits.then(|| self.dialogs.fetch_add(1, Ordering::Relaxed));
        page.set_dialog(Some(OpenDialog { dialog: dialog.clone(), session: session.to_owned() }));
        if !waits {
            self.connection.notify(Some(session), "Page.handleJavaScriptDialog", &json!({ "accept": accept }));
        }
        self.notice(page, &Notice::Dialog(dialog));
        if waits {
            for owner in self.owners(page) {
                owner.dialog_waits(page);
            }
        }
    }

    /// Takes an event of one of the gate's own sessions.
    fn page_event(&self, session: &str, method: &str, params: &Value) {
        let Some(page) = self.tables().sessions.get(session).cloned() else { return };
        let session = session.to_owned();
        let member = |name| params.get(name).and_then(Value::as_str).unwrap_or_default();
        match method {
            "Fetch.requestPaused" => {
                let params = params.clone();
                let decision = page.begin_decision();
                self.spawn(|hub| async move {
                    hub.decide_document(&page, &session, &params).await;
                    drop(decision);
                });
            }
            "Fetch.authRequired" => {
                let origin = params.pointer("/authChallenge/origin").and_then(Value::as_str).unwrap_or_default();
                let realm = params.pointer("/authChallenge/realm").and_then(Value::as_str).unwrap_or_default();
                self.notice(&page, &Notice::Dialog(Dialog::new("auth", realm, origin, Some("dismissed"))));
                let cancel = json!({ "response": "CancelAuth" });
                let answer = json!({ "requestId": member("requestId"), "authChallengeResponse": cancel });
                self.connection.notify(Some(&session), "Fetch.continueWithAuth", &answer);
            }
            "Page.javascriptDialogOpening" => self.dialog_opened(&page, &session, params),
            "Page.javascriptDialogClosed" => page.set_dialog(None),
            "Page.fileChooserOpened" => {
                let dialog = Dialog::new("filechooser", member("mode"), &page.url(), Some("dismissed"));
                self.notice(&page, &Notice::Dialog(dialog));
            }
            "Page.frameNavigated" => page.set_document(&session, params.get("frame").unwrap_or(&Value::Null)),
            "Page.frameDetached" => page.remove_document(&session, member("frameId")),
            "Page.downloadWillBegin" => self.notice(&page, &Notice::download(member("suggestedFilename"))),
            "Target.attachedToTarget" => self.attached(Some(&session), params),
            "Target.detachedFromTarget" => self.detached(member("sessionId")),
            _ => {}
        }
    }

    /// Takes an event of the browser itself.
    fn root_event(&self, method: &str, params: &Value) {
        let member = |name| params.get(name).and_then(Value::as_str).unwrap_or_default();
        match method {
            "Target.attachedToTarget" => self.attached(None, params),
            "Target.detachedFromTarget" => self.detached(member("sessionId")),
            "Target.targetDestroyed" => self.ended(member("targetId")),
            "Target.targetInfoChanged" => {
                let Some(info) = params.get("targetInfo") else { return };
                let Some(page) = text(info, "targetId").and_then(|target| self.page(&target)) else { return };
                page.update(info);
                if page.is_ready() {
                    for session in self.owners(&page) {
                        session.page_changed(&page);
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the tabs that do not respond.
    pub(super) async fn hung(&self, pages: &[Arc<Page>]) -> Vec<Arc<Page>> {
        let alive = futures::future::join_all(pages.iter().map(|page| self.is_alive(page))).await;
        pages.iter().zip(alive).filter(|(_, alive)| !alive).map(|(page, _)| page.clone()).collect()
    }

    /// Closes tabs and waits until they are gone: one that is closing could become a session's page.
    pub(super) async fn close_and_wait(&self, pages: &[Arc<Page>]) {
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
    pub(super) async fn close_page(&self, page: &Page) -> Result<(), CommandError> {
        self.root("Target.closeTarget", &json!({ "targetId": page.target })).await.map(|_| ())
    }

    /// Closes a tab of a context, that of the default context for `None`. If it is the last one, an empty one is opened first:
    /// Chromium ends with its last tab.
    ///
    /// # Errors
    ///
    /// Returns an error if Chromium does not open or close a tab.
    pub(super) async fn replace_or_close_page(&self, context: Option<&str>, page: &Page) -> Result<(), GateError> {
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
}

/// Returns true if the safe answer to a dialog is to accept it. A page that is left must not keep the agent on it; every other
/// question is answered with no.
pub(super) fn is_safe_to_accept(kind: &str) -> bool {
    matches!(kind, "alert" | "beforeunload")
}

/// Timeout for a tab to answer. A page may be busy for a while without being hung. One whose server does not answer does not
/// answer either, and is then asked to stop loading.
const TAB_TIMEOUT: Duration = Duration::from_secs(4);

/// Additional timeout for a tab that was asked to stop loading.
const STOP_LOADING_TIMEOUT: Duration = Duration::from_secs(2);

/// Adds the documents of all frames of a tree.
fn add_documents(page: &Page, session: &str, tree: &Value) {
    page.set_document(session, tree.get("frame").unwrap_or(&Value::Null));
    for child in tree.get("childFrames").and_then(Value::as_array).into_iter().flatten() {
        add_documents(page, session, child);
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // Tabs wait for the gate as long as the connection lives.
        self.connection.close();
    }
}

impl Receiver for Hub {
    fn answer(&self, _tag: u64, _answer: Answer<'_>) {}

    fn event(&self, event: Event<'_>) {
        match event.session {
            None => self.root_event(event.method, &parse_params(event.params)),
            Some(session) if is_handled(event.method) => {
                self.page_event(session, event.method, &parse_params(event.params));
            }
            Some(_) => {}
        }
    }
}

/// Returns true if the gate reads an event of its own sessions.
fn is_handled(method: &str) -> bool {
    method.starts_with("Fetch.")
        || method.starts_with("Target.")
        || matches!(
            method,
            "Page.frameNavigated"
                | "Page.frameDetached"
                | "Page.javascriptDialogOpening"
                | "Page.javascriptDialogClosed"
                | "Page.fileChooserOpened"
                | "Page.downloadWillBegin"
        )
}
