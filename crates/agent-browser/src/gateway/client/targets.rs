//! Tabs of a session, as its client sees them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use browser_shell_core::gate::{Detachment, Discovery, Level, NamedTarget, NewTarget};

use crate::gateway::client::commands::check_url;
use crate::gateway::client::connection::{ClientConnection, ClientState, Failure, MethodResult, Owned, Pending};
use browser_shell_browser::gate::browser::MAX_TABS;
use browser_shell_browser::gate::page::Page;
use browser_shell_browser::gate::scope::{ClientScope, TabObserver};
use browser_shell_cdp::Receiver;
use browser_shell_cdp::protocol::target::{AttachToTarget, DetachFromTarget, TargetInfo, TargetKind};
use browser_shell_cdp::protocol::{DebugSessionId, TargetId};

/// Interval between two looks whether another task has announced a tab.
const ANNOUNCEMENT_INTERVAL: Duration = Duration::from_millis(2);

/// Timeout for another task to announce a tab.
const ANNOUNCEMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Place of a session that is being made. It keeps a second one from being made for the same event.
struct Reservation<'a> {
    client: &'a ClientConnection,
    target: &'a TargetId,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let attaching = &mut self.client.state().attaching;
        if let Some(place) = attaching.iter().position(|target| target == self.target) {
            attaching.swap_remove(place);
        }
    }
}

impl ClientConnection {
    /// Returns the tab of the session that the parameters name.
    pub(super) fn own_page(&self, params: &NamedTarget, gate: &dyn ClientScope) -> Result<Arc<Page>, Failure> {
        let own = gate
            .pages(&self.browser)
            .into_iter()
            .find(|page| params.target_id.as_deref() == Some(page.target.as_str()));
        own.ok_or_else(|| Failure::refused("No target with given id found"))
    }

    /// Attaches the client to all tabs of its session and tells it.
    pub(super) async fn attach_to_all(&self, gate: &dyn ClientScope) -> MethodResult {
        for page in gate.pages(&self.browser) {
            self.announce(&page).await;
        }
        Ok(json!({}))
    }

    /// Attaches the client to a tab and tells it, unless it is attached.
    async fn announce(&self, page: &Page) {
        let reservation = {
            let mut state = self.state();
            if state.is_attached(&page.target) || !state.has_room() {
                return;
            }
            state.attaching.push(page.target.clone());
            Reservation { client: self, target: &page.target }
        };
        if let Err(error) = self.attach_reserved(page, reservation).await {
            tracing::debug!(?error, "cannot attach a client to a tab");
        }
    }

    /// Attaches the client to a tab, once more if it is attached, and returns the session.
    pub(super) async fn attach(&self, page: &Page) -> MethodResult {
        let reservation = {
            let mut state = self.state();
            if !state.has_room() {
                return Err(Failure::refused("too many sessions"));
            }
            state.attaching.push(page.target.clone());
            Reservation { client: self, target: &page.target }
        };
        let session = self.attach_reserved(page, reservation).await?;
        Ok(json!({ "sessionId": session }))
    }

    async fn attach_reserved(&self, page: &Page, reservation: Reservation<'_>) -> Result<DebugSessionId, Failure> {
        let session = self.browser.root(&AttachToTarget::new(&page.target)).await?.session_id;
        let (Some(client), Some(page)) = (self.me.upgrade(), self.browser.page(&page.target)) else {
            self.notify_detach(None, &session);
            return Err(Failure::refused("the tab was closed"));
        };
        let receiver: Arc<dyn Receiver> = client;
        self.browser.connection.add_session(&session, &receiver);
        let owned = Owned { level: Level::Page, page: page.clone(), target: page.target.clone(), parent: None };
        self.state().sessions.insert(session.clone(), owned);
        drop(reservation);
        // Either the end of the client or of the tab finds the session that was added, or it is found here.
        if self.stop.is_cancelled() || self.browser.page(&page.target).is_none() {
            self.forget_session(&session);
            self.notify_detach(None, &session);
            return Err(Failure::refused("the client or the tab has gone"));
        }
        let info = page.to_target_info();
        let event = json!({ "sessionId": session, "targetInfo": info, "waitingForDebugger": false });
        self.push_event("Target.attachedToTarget", &event);
        Ok(session)
    }

    /// Ends a session that was attached over the session of the command.
    pub(super) async fn detach(&self, over: Option<&DebugSessionId>, params: &Detachment) -> MethodResult {
        let session = DebugSessionId::from(params.session_id.as_str());
        let owned = self.state().sessions.get(&session).cloned();
        if owned.is_none_or(|owned| owned.parent.as_ref() != over) {
            return Err(Failure::no_session());
        }
        self.browser.connection.send(over, &DetachFromTarget { session_id: &session }).await?;
        self.forget_session(&session);
        Ok(json!({}))
    }

    /// Announces the tabs of the session from now on, or no longer.
    pub(super) fn discover(&self, params: &Discovery, gate: &dyn ClientScope) {
        let is_on = params.discover;
        let was_on = std::mem::replace(&mut self.state().discovers, is_on);
        if is_on && !was_on {
            for page in gate.pages(&self.browser) {
                self.push_event("Target.targetCreated", &json!({ "targetInfo": page.to_target_info() }));
            }
        }
    }

    /// Returns the target that the parameters name, or the browser itself.
    pub(super) fn target_info(&self, params: &NamedTarget, gate: &dyn ClientScope) -> MethodResult {
        if params.target_id.is_some() {
            return Ok(json!({ "targetInfo": self.own_page(params, gate)?.to_target_info() }));
        }
        let browser = TargetInfo {
            target_id: "browser".into(),
            kind: TargetKind::Browser,
            title: String::new(),
            url: String::new(),
            attached: true,
            can_access_opener: false,
            browser_context_id: None,
            opener_id: None,
            parent_frame_id: None,
        };
        Ok(json!({ "targetInfo": browser }))
    }

    /// Opens a tab in the session.
    pub(super) async fn create(&self, params: &NewTarget, gate: &dyn ClientScope) -> MethodResult {
        let url = params.url.as_deref().filter(|url| !url.is_empty()).unwrap_or("about:blank");
        check_url(url)?;
        if gate.pages(&self.browser).len() >= MAX_TABS {
            return Err(Failure::refused("too many tabs"));
        }
        let page = gate.create_page(&self.browser, url).await?;
        // Chromium tells a client about the new tab before it answers, and clients rely on it.
        if self.state().attaches {
            self.announce(&page).await;
            let is_announced = async {
                while self.state().attaching.contains(&page.target) {
                    tokio::time::sleep(ANNOUNCEMENT_INTERVAL).await;
                }
            };
            let _ = tokio::time::timeout(ANNOUNCEMENT_TIMEOUT, is_announced).await;
        }
        Ok(json!({ "targetId": page.target }))
    }

    /// Closes a tab of the session.
    pub(super) async fn close(&self, params: &NamedTarget, gate: &dyn ClientScope) -> MethodResult {
        let page = self.own_page(params, gate)?;
        gate.close_page(&self.browser, &page).await?;
        Ok(json!({ "success": true }))
    }
}

impl TabObserver for ClientConnection {
    /// Tells the client about a new tab of its session. Both kinds of agent-browser turn to it, at a time that nobody sees.
    fn page_opened(&self, page: &Arc<Page>) {
        let (attaches, discovers) = {
            let state = self.state();
            (state.attaches, state.discovers)
        };
        if discovers {
            self.push_event("Target.targetCreated", &json!({ "targetInfo": page.to_target_info() }));
        }
        if let (true, Some(client)) = (attaches, self.me.upgrade()) {
            let page = page.clone();
            tokio::spawn(async move { client.announce(&page).await });
        }
    }

    /// Tells the client that a tab of its session shows another page.
    fn page_changed(&self, page: &Page) {
        if self.state().discovers {
            self.push_event("Target.targetInfoChanged", &json!({ "targetInfo": page.to_target_info() }));
        }
    }

    /// Tells the client that a tab of its session was closed.
    fn page_closed(&self, page: &Page) {
        let (ended, discovers) = {
            let mut state = self.state();
            let ended: Vec<_> = state.sessions.extract_if(|_, owned| owned.page.target == page.target).collect();
            (ended, state.discovers)
        };
        for (session, owned) in ended {
            if owned.level == Level::Page {
                let event = json!({ "sessionId": session, "targetId": page.target });
                self.push_event("Target.detachedFromTarget", &event);
            }
            // Afterwards: a client that knows of the end takes the error of a waiting command for its cause.
            self.browser.connection.remove_session(&session);
        }
        if discovers {
            self.push_event("Target.targetDestroyed", &json!({ "targetId": page.target }));
        }
    }

    /// Answers input that waits for a dialog of a tab: Chromium answers it only when the dialog is closed.
    fn release_input(&self, page: &Page) {
        let released: Vec<Pending> = {
            let mut state = self.state();
            let ClientState { sessions, pending, .. } = &mut *state;
            let is_of_page = |pending: &Pending| {
                let session = pending.session.as_ref().and_then(|session| sessions.get(session));
                pending.is_input && session.is_some_and(|owned| owned.page.target == page.target)
            };
            pending.extract_if(|_, entry| is_of_page(entry)).map(|(_, entry)| entry).collect()
        };
        for pending in released {
            self.push_answer(pending.id, pending.session.as_ref(), Ok(json!({})));
        }
    }

    fn session_ended(&self) {
        self.stop.cancel();
    }
}
