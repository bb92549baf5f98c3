//! Principals: the subject and the scope of a request, with the evidence for them.

use crate::auth::evidence::Evidence;
use crate::auth::right::{Right, ScreenContent};
use crate::auth::scope::Scope;
use crate::decision::{Code, Decision};
use crate::policy::SessionAccess;
use crate::shares::Party;
use crate::subject::Subject;

/// Subject and scope of a request, with the evidence for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Subject, if the credential names one.
    pub subject: Option<Subject>,
    /// Scope, if the credential gives one.
    pub scope: Option<Scope>,
    /// Evidence of the credential.
    pub evidence: Evidence,
}

impl Principal {
    /// Returns the principal of every request to a server without credentials.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self { subject: None, scope: Some(Scope::Admin), evidence: Evidence::None }
    }

    /// Returns the party whose shares this principal uses.
    #[must_use]
    pub fn party(&self) -> Party {
        match self.evidence {
            Evidence::None => Party::Anyone,
            Evidence::ApiKey(_) | Evidence::Token { .. } => Party::Subject(self.subject.clone()),
        }
    }

    /// Returns true if this principal has the subject of another one, and its scope or a greater one.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let has_scope = other.scope.is_none_or(|scope| self.scope.is_some_and(|own| own.contains(scope)));
        has_scope && self.subject == other.subject
    }

    /// Decides if this principal has a right, under the policy's rule for sessions and with this screen.
    ///
    /// # Errors
    ///
    /// `scope-insufficient` with the scope that is needed.
    pub fn demand(&self, right: Right, sessions: SessionAccess, screen: ScreenContent) -> Result<(), Decision> {
        let needed = right.scope(sessions, screen);
        if self.scope.is_some_and(|scope| scope.contains(needed)) {
            return Ok(());
        }
        Err(Decision::new(Code::ScopeInsufficient, format!("this needs the scope {needed}")))
    }
}
