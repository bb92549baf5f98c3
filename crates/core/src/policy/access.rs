//! Access of subjects to sessions.

/// Section `access`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessRules {
    /// Sessions that a subject may use.
    pub sessions: SessionAccess,
}

/// Sessions that a subject may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionAccess {
    /// All: every subject may name every session.
    #[default]
    Any,
    /// Its own: the same session id means another session for each subject.
    Own,
}

impl SessionAccess {
    /// All kinds of access.
    pub(super) const ALL: &[Self] = &[Self::Any, Self::Own];

    /// Returns the name in the policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Own => "own",
        }
    }
}
