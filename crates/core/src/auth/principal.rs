//! Principals: the subject and the scope of a request.

use std::fmt;

use crate::auth::right::Right;
use crate::auth::scope::Scope;
use crate::decision::{Code, Decision};
use crate::policy::SessionAccess;

/// Maximum length of a subject, in bytes.
const MAX_SUBJECT: usize = 255;

/// Name of the person or program that a credential was given to: the claim `sub` of a token, or the name in a file of API keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject(String);

impl Subject {
    /// Parses a subject. Returns `None` if it is empty, longer than 255 bytes, or has a control character.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_valid = (1..=MAX_SUBJECT).contains(&text.len()) && !text.chars().any(char::is_control);
        is_valid.then(|| Self(text.to_owned()))
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

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
