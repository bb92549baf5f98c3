//! Visitor of a screen: its access, and the sessions whose pages it may see.

use std::sync::Arc;

use crate::api::auth::Authenticator;
use browser_shell_browser::gate::{Owners, SessionSelection};
use browser_shell_core::auth::{Principal, Scope};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::policy::SessionAccess;
use browser_shell_core::rfb::Access;
use browser_shell_core::session_id::SessionId;

/// Visitor of a screen.
pub(super) struct Visitor {
    pub(super) authenticator: Arc<Authenticator>,
    pub(super) principal: Principal,
    pub(super) access: Access,
}

impl Visitor {
    /// Returns the sessions whose pages the visitor may see now: all, or those with a name.
    ///
    /// # Errors
    ///
    /// `policy-invalid` or `subject-missing`: it may see none.
    pub(super) fn selection(&self, name: Option<&SessionId>) -> Result<SessionSelection, Box<Decision>> {
        let owners = owners(&self.principal, self.authenticator.sessions()?)?;
        Ok(SessionSelection { owners, name: name.cloned() })
    }
}

/// Returns the owners whose sessions a principal may see.
fn owners(principal: &Principal, sessions: SessionAccess) -> Result<Owners, Box<Decision>> {
    if sessions == SessionAccess::Any || principal.scope.is_some_and(|scope| scope.contains(Scope::Admin)) {
        return Ok(Owners::All);
    }
    let reason = "sessions belong to subjects (`access.sessions`), and the credential names none";
    let missing = || Box::new(Decision::new(Code::SubjectMissing, reason));
    principal.subject.clone().map(Owners::Only).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser_shell_core::auth::Subject;

    #[test]
    fn viewers_see_no_sessions_but_their_own() {
        let ada = || Subject::new("ada").expect("valid");
        let seen = |sessions, subject, scope| {
            let principal = Principal { subject, scope, ..Principal::anonymous() };
            owners(&principal, sessions).map_err(|decision| decision.code)
        };
        for scope in [None, Some(Scope::Watch), Some(Scope::Drive)] {
            assert_eq!(seen(SessionAccess::Any, Some(ada()), scope), Ok(Owners::All), "control");
            assert_eq!(seen(SessionAccess::Own, Some(ada()), scope), Ok(Owners::Only(ada())));
            assert_eq!(seen(SessionAccess::Own, None, scope), Err(Code::SubjectMissing));
        }
        assert_eq!(seen(SessionAccess::Own, Some(ada()), Some(Scope::Admin)), Ok(Owners::All));
    }
}
