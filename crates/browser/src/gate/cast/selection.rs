//! Selection of the page that a viewer sees.

use std::sync::Arc;
use std::time::Instant;

use browser_shell_core::auth::Subject;
use browser_shell_core::session_id::SessionId;

use crate::gate::control::ControlGate;
use crate::gate::session::GateSession;

/// Owners of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owners {
    /// Every subject, and none.
    All,
    /// This subject.
    Only(Subject),
}

/// Sessions whose pages a viewer may see. It sees the one that was used last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSelection {
    /// Owners whose sessions these are.
    pub owners: Owners,
    /// Name that they have. Without one, they may have any.
    pub name: Option<SessionId>,
}

impl SessionSelection {
    /// Returns true if a session is one of these.
    #[must_use]
    pub fn contains(&self, session: &SessionId) -> bool {
        let has_owner = match &self.owners {
            Owners::All => true,
            Owners::Only(subject) => session.is_owned_by(subject),
        };
        has_owner && self.name.as_ref().is_none_or(|name| name.as_str() == session.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection_contains_no_session_of_another_owner_or_name() {
        let name = |text: &str| SessionId::new(text).expect("valid");
        let ada = Subject::new("ada").expect("valid");
        let sessions =
            [name("s"), name("s").owned_by(ada.clone()), name("s").owned_by(Subject::new("bob").expect("valid"))];
        let contained = |owners: Owners, named: Option<&str>| {
            let selection = SessionSelection { owners, name: named.map(name) };
            sessions.each_ref().map(|session| selection.contains(session))
        };
        assert_eq!(contained(Owners::All, None), [true; 3], "control");
        assert_eq!(contained(Owners::All, Some("s")), [true; 3]);
        assert_eq!(contained(Owners::All, Some("t")), [false; 3]);
        assert_eq!(contained(Owners::Only(ada.clone()), None), [false, true, false]);
        assert_eq!(contained(Owners::Only(ada.clone()), Some("s")), [false, true, false]);
        assert_eq!(contained(Owners::Only(ada), Some("t")), [false; 3]);
    }
}
