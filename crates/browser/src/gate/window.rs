//! State of the windows of sessions.

use crate::gate::browser::Browser;
use crate::gate::page::Page;
use browser_shell_cdp::protocol::WindowId;
use browser_shell_cdp::protocol::browser::{self, Bounds, GetWindowForTarget, SetWindowBounds};

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
    pub(super) async fn give(self, browser: &Browser, page: &Page) {
        if let Some((id, _)) = window(browser, page).await {
            set(browser, id, self.to_protocol()).await;
        }
    }

    /// Restores the window of a tab if somebody has minimized it: nothing is drawn in such a window. Gives it back the whole screen,
    /// unless the window is one of all sessions, which people arrange. Windows that pages have opened become full screens, too. Returns
    /// true if the window was changed.
    pub(super) async fn restore(self, browser: &Browser, page: &Page, has_own_context: bool) -> bool {
        let Some((id, state)) = window(browser, page).await else { return false };
        let is_minimized = state == Some(browser::WindowState::Minimized);
        let is_smaller = self == Self::Fullscreen && state != Some(self.to_protocol());
        if is_minimized {
            // Chromium gives the whole screen to restored windows only.
            set(browser, id, browser::WindowState::Normal).await;
        }
        if is_smaller || is_minimized && has_own_context {
            set(browser, id, self.to_protocol()).await;
        }
        is_smaller || is_minimized
    }
}

/// Returns the id and the state of a tab's window. A browser without windows has none.
async fn window(browser: &Browser, page: &Page) -> Option<(WindowId, Option<browser::WindowState>)> {
    let found = browser.root(&GetWindowForTarget { target_id: &page.target }).await.ok()?;
    Some((found.window_id, found.bounds.window_state))
}

async fn set(browser: &Browser, window_id: WindowId, state: browser::WindowState) {
    let bounds = Bounds { window_state: Some(state) };
    if let Err(error) = browser.root(&SetWindowBounds { window_id, bounds }).await {
        tracing::warn!(%error, "a window does not change its state");
    }
}
