//! Selection of the page that a viewer sees.

use std::sync::Arc;
use std::time::Instant;

use browser_shell_core::auth::Subject;
use browser_shell_core::session_id::SessionId;

use crate::gate::control::ControlGate;
use crate::gate::session::GateSession;

/// Sessions whose pages a viewer may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionSelection {
    /// All: the viewer sees the one that was used last.
    All,
    /// Those of a subject: the viewer sees the one that was used last.
    OwnedBy(Subject),
    /// This one.
    One(SessionId),
}

impl SessionSelection {
    fn contains(&self, session: &SessionId) -> bool {
        match self {
            Self::All => true,
            Self::OwnedBy(subject) => session.is_owned_by(subject),
            Self::One(id) => session == id,
        }
    }
}

impl ControlGate {
    /// Returns the session whose page a viewer sees: the last used one that has a page.
    pub(super) fn selected_session(&self, selection: &SessionSelection) -> Option<Arc<GateSession>> {
        let sessions = self.sessions().into_iter().filter(|session| selection.contains(session.session_id()));
        let used = sessions.filter_map(|session| Some((session.last_call()?, session)));
        let shown = used.filter(|(_, session)| !session.stop.is_cancelled() && session.active_page().is_some());
        shown.max_by_key(|(time, _): &(Instant, _)| *time).map(|(_, session)| session)
    }
}
