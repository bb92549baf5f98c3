//! Names that an orchestrator assigns: tenants and cargos.
//!
//! Invariants: a name consists of letters, digits, `_` and `-`, so it is always one path component.

use crate::session_id::SessionId;

/// Regular expression that every name matches.
pub const NAME_PATTERN: &str = "^[A-Za-z0-9_-]{1,128}$";

fn is_name(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Name of a tenant (`sandbox_id` on the wire).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TenantId(String);

impl TenantId {
    /// Parses a name. Returns `None` if it is not valid.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        is_name(text).then(|| Self(text.to_owned()))
    }

    /// Returns the name as the orchestrator sent it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the tenant's session.
    #[must_use]
    pub fn session_id(&self) -> SessionId {
        SessionId::from_valid(&self.0)
    }
}

/// Name of a cargo (`cargo_id` on the wire).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CargoId(String);

impl CargoId {
    /// Parses a name. Returns `None` if it is not valid.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        is_name(text).then(|| Self(text.to_owned()))
    }

    /// Returns the name of the cargo's folder.
    #[must_use]
    pub fn folder_name(&self) -> String {
        format!("bay-cargo-{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenant_and_cargo_ids_are_validated() {
        for text in ["a", "A-b_9", "-x", &"x".repeat(128)] {
            assert!(TenantId::new(text).is_some() && CargoId::new(text).is_some(), "{text}");
        }
        for text in ["", ".", "a.b", "a/b", "a b", "é", "a\n", &"x".repeat(129)] {
            assert!(TenantId::new(text).is_none() && CargoId::new(text).is_none(), "{text:?}");
        }
    }
}
