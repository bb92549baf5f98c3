//! Principals: the subject and the scope of a request.

use crate::auth::right::Right;
use crate::auth::scope::Scope;
use crate::decision::{Code, Decision};
use crate::policy::SessionAccess;
use crate::subject::Subject;

/// Subject and scope of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Subject, if the credential names one.
    pub subject: Option<Subject>,
    /// Scope, if the credential gives one.
    pub scope: Option<Scope>,
}

impl Principal {
    /// Returns the principal of every request to a server without credentials.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self { subject: None, scope: Some(Scope::Admin) }
    }

    /// Decides if this principal has a right, under the policy's rule for sessions.
    ///
    /// # Errors
    ///
    /// `scope-insufficient` with the scope that is needed.
    pub fn demand(&self, right: Right, sessions: SessionAccess) -> Result<(), Decision> {
        let needed = right.scope(sessions);
        if self.scope.is_some_and(|scope| scope.contains(needed)) {
            return Ok(());
        }
        Err(Decision::new(Code::ScopeInsufficient, format!("this needs the scope {needed}")))
    }
}
