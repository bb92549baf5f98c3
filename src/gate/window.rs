//! State of the windows of sessions.

use serde_json::{Value, json};

use crate::gate::hub::Hub;
use crate::gate::page::Page;

/// State of the windows of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowState {
    /// The whole screen, with Chromium's bars.
    Maximized,
    /// The whole screen, without Chromium's bars.
    Fullscreen,
}

impl WindowState {
    /// Returns the name in the debugging protocol.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Maximized => "maximized",
            Self::Fullscreen => "fullscreen",
        }
    }

    /// Gives the window of a new tab this state.
    pub(super) async fn give(self, hub: &Hub, page: &Page) {
        if let Some((id, _)) = window(hub, page).await {
            set(hub, &id, self.as_str()).await;
        }
    }

    /// Restores the window of a tab if somebody has minimized it: nothing is drawn in such a window. Gives it back the whole screen,
    /// unless the window is one of all sessions, which people arrange. Windows that pages have opened become full screens, too. Returns
    /// true if the window was changed.
    pub(super) async fn restore(self, hub: &Hub, page: &Page, has_own_context: bool) -> bool {
        let Some((id, state)) = window(hub, page).await else { return false };
        let is_minimized = state == "minimized";
        let is_smaller = self == Self::Fullscreen && state != self.as_str();
        if is_minimized {
            // Chromium gives the whole screen to restored windows only.
            set(hub, &id, "normal").await;
        }
        if is_smaller || is_minimized && has_own_context {
            set(hub, &id, self.as_str()).await;
        }
        is_smaller || is_minimized
    }
}

/// Returns the id and the state of a tab's window. A browser without windows has none.
async fn window(hub: &Hub, page: &Page) -> Option<(Value, String)> {
    let found = hub.root("Browser.getWindowForTarget", &json!({ "targetId": page.target })).await.ok()?;
    let state = found.pointer("/bounds/windowState").and_then(Value::as_str).unwrap_or_default();
    Some((found.get("windowId")?.clone(), state.to_owned()))
}

async fn set(hub: &Hub, id: &Value, state: &str) {
    let bounds = json!({ "windowId": id, "bounds": { "windowState": state } });
    if let Err(error) = hub.root("Browser.setWindowBounds", &bounds).await {
        tracing::warn!(%error, state, "a window does not change its state");
    }
}
