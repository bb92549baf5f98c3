//! Enforcement of a plan: how much of it a backend enforces, and what is missing.

use std::fmt;

/// The part of a plan that is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnforcementLevel {
    /// Nothing.
    None,
    /// A part.
    Partial,
    /// Everything.
    Full,
}

impl fmt::Display for EnforcementLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Full => "full",
        })
    }
}

/// The enforcement of a plan by a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// The level.
    pub level: EnforcementLevel,
    /// The parts that are not enforced, in words for the operator.
    pub missing: Vec<String>,
}

impl Enforcement {
    /// No enforcement at all.
    pub(super) const NONE: Self = Self { level: EnforcementLevel::None, missing: Vec::new() };

    /// Returns full enforcement if nothing is missing, else partial.
    #[must_use]
    pub fn without(missing: Vec<String>) -> Self {
        Self { level: if missing.is_empty() { EnforcementLevel::Full } else { EnforcementLevel::Partial }, missing }
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level)?;
        if self.missing.is_empty() { Ok(()) } else { write!(f, ", without {}", self.missing.join(", ")) }
    }
}
