//! Clipboard of Chromium, which all of its contexts share.
//!
//! A page reads it only when somebody pastes. So it is emptied before another session's window comes to the front.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use browser_shell_core::session_id::SessionId;
use serde_json::{Value, json};

use crate::browser::cdp::CommandError;
use crate::gate::error::GateError;
use crate::gate::hub::Hub;

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

    /// Takes that the clipboard was emptied: only calls that run may have used it since.
    pub(super) fn set_emptied(&mut self) {
        self.since_emptied = self.active.keys().cloned().collect();
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
pub(super) async fn clear(hub: &Arc<Hub>) -> Result<(), GateError> {
    let hidden = json!({ "url": "about:blank", "hidden": true });
    let created = match hub.root("Target.createTarget", &hidden).await {
        Err(CommandError::Refused { .. }) => {
            // An older Chromium has no hidden tabs.
            hub.root("Target.createTarget", &json!({ "url": "about:blank", "background": true })).await?
        }
        created => created?,
    };
    let target = json!({ "targetId": created.get("targetId"), "flatten": true });
    let attached = hub.root("Target.attachToTarget", &target).await?;
    let session = attached.get("sessionId").and_then(Value::as_str).unwrap_or_default().to_owned();
    let focus = json!({ "enabled": true });
    let focused = hub.connection.command(Some(&session), "Emulation.setFocusEmulationEnabled", &focus).await;
    let script = json!({ "expression": EMPTY, "userGesture": true, "returnByValue": true });
    let copied = hub.connection.command(Some(&session), "Runtime.evaluate", &script).await;
    let _ = hub.root("Target.closeTarget", &json!({ "targetId": created.get("targetId") })).await;
    focused?;
    match copied?.pointer("/result/value") {
        Some(Value::Bool(true)) => Ok(()),
        _ => Err(GateError::Clipboard),
    }
}
