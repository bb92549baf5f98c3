//! Calls of a session: they mark what its pages do meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::Isolation;

use crate::gate::session::state::GateSession;

/// Mark of a call of the session; events are those of the session while it lives.
pub struct ActiveCall(Arc<GateSession>);

impl Drop for ActiveCall {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
        self.0.set_active(false);
        // At the end, where nobody waits for it.
        if let Some((browser, pages)) = self.0.all_pages() {
            for page in pages {
                browser.release_logged_values(&page);
            }
        }
    }
}

/// Use of the clipboard by a person, until this is dropped.
pub(in crate::gate) struct ClipboardUse<'a>(&'a GateSession);

impl Drop for ClipboardUse<'_> {
    fn drop(&mut self) {
        self.0.set_active(false);
    }
}

impl GateSession {
    /// Begins input of a person, by which a page may put something into the clipboard.
    pub(in crate::gate) fn begin_clipboard_use(&self) -> ClipboardUse<'_> {
        self.set_active(true);
        ClipboardUse(self)
    }

    /// Begins a call. What happened before it is older than the call.
    pub fn begin_call(self: &Arc<Self>, profile: Profile) -> ActiveCall {
        *self.lock_profile() = profile;
        *self.lock_last_call() = Some(Instant::now());
        self.lock_notices().set_old();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.set_active(true);
        ActiveCall(self.clone())
    }

    fn set_active(&self, is_active: bool) {
        if let Some(gate) = self.gate.upgrade().filter(|_| self.isolation == Isolation::Session) {
            gate.set_active(&self.id, is_active);
        }
    }
}
