//! Clipboard of Chromium, which all of its contexts share.
//!
//! A page reads it only when somebody pastes. So it is emptied before another session's window comes to the front.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use browser_shell_core::session_id::SessionId;

use crate::gate::browser::Browser;
use crate::gate::error::GateError;
use browser_shell_cdp::CommandError;
use browser_shell_cdp::protocol::DebugSessionId;
use browser_shell_cdp::protocol::network::SetFocusEmulationEnabled;
use browser_shell_cdp::protocol::runtime::Evaluate;
use browser_shell_cdp::protocol::target::{AttachToTarget, CreateBrowserContext, CreateTarget};

/// Script that copies nothing, so that the clipboard holds nothing.
const EMPTY: &str = "(() => { addEventListener('copy', event => { event.clipboardData.setData('text/plain', ''); \
                     event.preventDefault(); }, { once: true }); return document.execCommand('copy'); })()";

/// Sessions that may have put something into the clipboard.
#[derive(Debug, Default)]
pub(super) struct ClipboardUsers {
    /// Sessions with a call since the clipboard was emptied last.
    since_emptied: HashSet<SessionId>,
    /// Sessions with a call now, and the number of their calls.
    active: HashMap<SessionId, usize>,
}

impl ClipboardUsers {
    /// Takes that a call of a session begins or has ended.
    pub(super) fn set_active(&mut self, session: &SessionId, is_active: bool) {
        self.since_emptied.insert(session.clone());
        let calls = self.active.entry(session.clone()).or_default();
        *calls = if is_active { *calls + 1 } else { calls.saturating_sub(1) };
        if *calls == 0 {
            self.active.remove(session);
        }
    }

    /// Takes that the clipboard is being emptied: from now on, only calls that run may have used it. Returns the sessions that
    /// used it before.
    pub(super) fn begin_emptying(&mut self) -> HashSet<SessionId> {
        let active = self.active.keys().cloned().collect();
        std::mem::replace(&mut self.since_emptied, active)
    }

    /// Takes that the clipboard could not be emptied.
    pub(super) fn undo_emptying(&mut self, users: HashSet<SessionId>) {
        self.since_emptied.extend(users);
    }

    /// Returns true if nobody but the session has used the clipboard.
    pub(super) fn is_only(&self, session: &SessionId) -> bool {
        self.since_emptied.iter().all(|user| user == session)
    }
}

/// Empties the clipboard, from a tab that nobody sees.
///
/// # Errors
///
/// Returns an error if it could not be emptied: the next session must not paste from it.
pub(super) async fn clear(browser: &Arc<Browser>) -> Result<(), GateError> {
    let mut tab = browser.clipboard_tab.lock().await;
    if let Some(session) = &*tab
        && copy_nothing(browser, session).await.is_ok()
    {
        return Ok(());
    }
    // The first time, or after the tab has ended.
    let session = open_tab(browser).await?;
    copy_nothing(browser, &session).await?;
    *tab = Some(session);
    Ok(())
}

/// Opens the tab in a context of its own and returns the gate's session on it. It stays open, because opening one takes long.
async fn open_tab(browser: &Arc<Browser>) -> Result<DebugSessionId, GateError> {
    let new = CreateBrowserContext { dispose_on_detach: true, proxy_server: None, proxy_bypass_list: None };
    let context = browser.root(&new).await?.browser_context_id;
    browser.add_own_context(&context);
    let blank = || CreateTarget { url: "about:blank", browser_context_id: Some(&context), ..CreateTarget::default() };
    let created = match browser.root(&CreateTarget { hidden: Some(true), ..blank() }).await {
        // An older Chromium has no hidden tabs.
        Err(CommandError::Refused { .. }) => browser.root(&CreateTarget { background: Some(true), ..blank() }).await?,
        created => created?,
    };
    let session = browser.root(&AttachToTarget::new(&created.target_id)).await?.session_id;
    browser.connection.send(Some(&session), &SetFocusEmulationEnabled { enabled: true }).await?;
    Ok(session)
}

async fn copy_nothing(browser: &Browser, session: &DebugSessionId) -> Result<(), GateError> {
    let script = Evaluate { expression: EMPTY, user_gesture: true, return_by_value: true, ..Evaluate::default() };
    match browser.connection.send(Some(session), &script).await?.value() {
        Some(true) => Ok(()),
        _ => Err(GateError::Clipboard),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_session_may_paste_without_emptying() {
        let (one, two) = (SessionId::new("one").expect("valid"), SessionId::new("two").expect("valid"));
        let mut users = ClipboardUsers::default();
        users.set_active(&one, true);
        assert!(users.is_only(&one), "control");
        users.set_active(&two, true);
        assert!(!users.is_only(&one) && !users.is_only(&two));
        users.set_active(&two, false);
        assert!(!users.is_only(&one), "its call may have copied something");
        let before = users.begin_emptying();
        assert!(users.is_only(&one));
        users.undo_emptying(before);
        assert!(!users.is_only(&one), "it was not emptied");
        users.begin_emptying();
        users.set_active(&two, true);
        users.begin_emptying();
        assert!(!users.is_only(&one), "a call that runs may copy after it");
    }
}
