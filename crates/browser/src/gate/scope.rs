//! Views that the parts of the gate have of each other, so that none of them imports its users, and the address of a context's endpoint.

use std::sync::Arc;

use browser_shell_core::gate::Level;
use browser_shell_core::session_id::SessionId;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::gate::browser::{Browser, GateError, WindowMode};
use crate::gate::documents::Documents;
use crate::gate::page::Page;
use browser_shell_cdp::protocol::BrowserContextId;

/// Browser context of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionContext {
    /// The default context, which sessions share.
    Shared,
    /// One of the session's own, by its id.
    Own(BrowserContextId),
    /// None: the session is not prepared, or has ended.
    None,
}

/// Part of the protocol that a client was refused.
#[derive(Clone, Copy, Debug)]
pub enum Denied<'a> {
    /// Method that it has used.
    Method(&'a str),
    /// Method that it has used while no call of its session runs.
    BetweenCalls(&'a str),
    /// Event of Chromium that no rule names.
    Event(&'a str),
}

/// A session, as its clients see it.
pub trait ClientScope: Send + Sync {
    /// Returns the session's tabs over a connection.
    fn pages(&self, browser: &Arc<Browser>) -> Vec<Arc<Page>>;

    /// Opens a tab in the session.
    fn create_page<'a>(
        &'a self,
        browser: &'a Arc<Browser>,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Page>, GateError>>;

    /// Closes a tab of the session. If it is the last one, an empty one is opened first.
    fn close_page<'a>(&'a self, browser: &'a Arc<Browser>, page: &'a Page) -> BoxFuture<'a, Result<(), GateError>>;

    /// Makes sure that the clipboard holds nothing of another session.
    fn prepare_paste<'a>(&'a self, browser: &'a Arc<Browser>) -> BoxFuture<'a, Result<(), GateError>>;

    /// Returns true while a call of the session runs.
    fn runs_call(&self) -> bool;

    /// Returns true while commands of the client do not tell which tab it acts on.
    fn ignores_acts(&self) -> bool;

    /// Records that the client acts on a tab.
    fn take_use(&self, page: &Page);

    /// Returns true if the policy lets the client use the session's cookies.
    fn allows_cookies(&self) -> bool;

    /// Returns true if the session's context begins with a saved state.
    fn has_saved_state(&self) -> bool;

    /// Returns the session's context over a connection.
    fn context_id(&self, browser: &Arc<Browser>) -> SessionContext;

    /// Counts what a client was refused.
    fn count_refusal(&self, level: Level, denied: Denied<'_>);
}

/// Observer of the tabs of a session.
pub trait TabObserver: Send + Sync {
    /// Called when a tab was opened in the session.
    fn page_opened(&self, page: &Arc<Page>);

    /// Called when the title or the URL of a tab has changed.
    fn page_changed(&self, page: &Page);

    /// Called when a tab was closed.
    fn page_closed(&self, page: &Page);

    /// Called when a dialog of a tab keeps input from being answered.
    fn release_input(&self, page: &Page);

    /// Called when the session has ended.
    fn session_ended(&self);
}

/// The gate, as its sessions see it.
pub(super) trait GateServices: Send + Sync {
    /// Returns the tabs of Chromium, over a connection that is made if there is none.
    fn browser(&self) -> BoxFuture<'_, Result<Arc<Browser>, GateError>>;

    /// Brings a tab of a session to the front, if another session's is there. Returns true if it was.
    fn bring_to_front<'a>(
        &'a self,
        session: &'a SessionId,
        page: Option<Arc<Page>>,
        browser: &'a Arc<Browser>,
    ) -> BoxFuture<'a, Result<bool, GateError>>;

    /// Records that a call of a session with a context of its own begins (`true`) or has ended.
    fn set_active(&self, session: &SessionId, is_active: bool);

    /// Empties the clipboard if another session has used the browser since it was emptied last.
    fn prepare_paste<'a>(
        &'a self,
        session: &'a SessionId,
        browser: &'a Arc<Browser>,
    ) -> BoxFuture<'a, Result<(), GateError>>;

    /// Returns the policy of documents.
    fn documents(&self) -> Arc<Documents>;

    /// Returns the state of the windows of sessions.
    fn windows(&self) -> WindowMode;

    /// Counts and logs what a client of a session was refused.
    fn count_refusal(&self, session: &SessionId, level: Level, denied: Denied<'_>);
}

/// Address of the endpoint of a browser context. The endpoint ends when nobody has it.
#[derive(Debug)]
pub struct EndpointAddress {
    /// Port on 127.0.0.1.
    pub port: u16,
    /// Ends the endpoint.
    pub stop: CancellationToken,
}

impl Drop for EndpointAddress {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
