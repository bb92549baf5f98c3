//! Scopes of credentials.

use std::fmt;

/// Scope of a credential. A greater one contains the smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Seeing the screen, without any input to it.
    Watch,
    /// Using the browser: by the tool, and by the screen's pointer and keyboard.
    Drive,
    /// Using the sessions of every subject.
    Admin,
}

impl Scope {
    /// All scopes, smallest first.
    pub const ALL: &[Self] = &[Self::Watch, Self::Drive, Self::Admin];

    /// Returns the name in tokens and in files of API keys.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Drive => "drive",
            Self::Admin => "admin",
        }
    }

    /// Parses a name. Returns `None` for a name that is no scope.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scope| scope.as_str() == name)
    }

    /// Returns true if this scope includes another one.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self >= other
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
