//! Dialogs of tabs, and permissions that their documents ask for.

use std::sync::atomic::Ordering;

use crate::gate::browser::state::Browser;
use crate::gate::notices::{Dialog, Notice};
use crate::gate::page::{OpenDialog, Page, Release};
use browser_shell_cdp::protocol::DebugSessionId;
use browser_shell_cdp::protocol::page::{DialogType, HandleJavaScriptDialog, JavascriptDialogOpening};
use browser_shell_core::gate::Permission;

impl Browser {
    /// Answers a dialog of a tab, or leaves it to the agent.
    pub(super) fn dialog_opened(&self, page: &Page, session: &DebugSessionId, opening: &JavascriptDialogOpening) {
        let JavascriptDialogOpening { kind, message, url, default_prompt } = opening;
        let waits = *kind != DialogType::Beforeunload
            && self.active_owners(page).iter().any(|owner| owner.can_answer_dialogs());
        let accept = is_safe_to_accept(kind.as_str());
        let answer = if accept { "accepted" } else { "dismissed" };
        let dialog = Dialog::new(kind.as_str(), message, url, (!waits).then_some(answer));
        let mut dialog = dialog.with_default(default_prompt);
        dialog.number = waits.then(|| self.dialogs.fetch_add(1, Ordering::Relaxed));
        page.set_dialog(OpenDialog { dialog: dialog.clone(), session: session.clone() });
        if !waits {
            self.connection.notify(Some(session), &HandleJavaScriptDialog { accept, prompt_text: None });
        }
        self.notice(page, &Notice::Dialog(dialog));
        if waits {
            for owner in self.owners(page) {
                owner.dialog_waits(page);
            }
        }
    }

    /// Sends a tab the input that waited for the end of a dialog.
    pub(super) fn release(&self, page: &Page, input: Vec<Release>) {
        for release in input {
            release.notify(&self.connection, &page.session);
        }
    }

    /// Takes the report of a document that it asked for a permission. Chromium refuses it in contexts of sessions, without a
    /// question to anybody.
    pub(super) fn permission_asked(&self, page: &Page, permission: Permission, url: &str) {
        let is_refused = self.tables().contexts.contains_key(&page.context);
        let answer = if is_refused { "dismissed" } else { "left to the settings of the browser" };
        let dialog = Dialog::new("permission", permission.as_str(), url, Some(answer));
        self.notice(page, &Notice::Permission(dialog));
    }
}

/// Returns true if the safe answer to a dialog is to accept it. A page that is left must not keep the agent on it; every other
/// question is answered with no.
pub(crate) fn is_safe_to_accept(kind: &str) -> bool {
    matches!(kind, "alert" | "beforeunload")
}
