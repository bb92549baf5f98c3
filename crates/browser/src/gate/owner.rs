//! A session, as the browser sees it: the owner of tabs.

use std::sync::Arc;

use browser_shell_core::session_id::SessionId;

use crate::gate::notices::Notice;
use crate::gate::page::Page;

/// Owner of tabs.
pub(super) trait PageOwner: Send + Sync {
    /// Returns the session's id.
    fn id(&self) -> &SessionId;

    /// Returns true until the session is closed.
    fn is_open(&self) -> bool;

    /// Returns true while a call of the session runs.
    fn is_active(&self) -> bool;

    /// Returns true if the policy lets the agent of the session answer dialogs, by the grammar profile of its last call.
    fn can_answer_dialogs(&self) -> bool;

    /// Records something that a tab did.
    fn add_notice(&self, notice: Notice);

    /// Takes a new tab.
    fn page_opened(&self, page: &Arc<Page>);

    /// Takes that a tab shows another page.
    fn page_changed(&self, page: &Page);

    /// Takes that a tab was closed.
    fn page_closed(&self, page: &Page);

    /// Returns true if the tab is the one that the session acts on.
    fn is_acting_on(&self, page: &Page) -> bool;

    /// Takes that the tab which the session acts on has crashed.
    fn active_tab_crashed(&self);

    /// Takes that a dialog of a tab waits for the agent.
    fn dialog_waits(&self, page: &Page);
}
