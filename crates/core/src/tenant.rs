//! Names that an orchestrator assigns: tenants and cargos.
//!
//! Invariants: a name consists of letters, digits, `_` and `-`, so it is always one path component. The name of a tenant may
//! have dots where clients of the orchestrator send such names; it never becomes part of a path itself, only its
//! [session key](SessionId::key) does.

use crate::session_id::SessionId;

/// Regular expression that every name matches.
pub const NAME_PATTERN: &str = "^[A-Za-z0-9_-]{1,128}$";

/// Regular expression of tenants' names that may have dots.
pub const DOTTED_NAME_PATTERN: &str = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$";

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

    /// Parses a name that may have dots, except at its beginning. Returns `None` if it is not valid.
    #[must_use]
    pub fn with_dots(text: &str) -> Option<Self> {
        let is_valid = text.len() <= 128 && text.split('.').all(|part| part.is_empty() || is_name(part));
        (is_valid && !text.is_empty() && !text.starts_with('.')).then(|| Self(text.to_owned()))
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
    fn dotted_tenant_names_have_keys_of_one_component() {
        for text in ["a.b", "a..b", "a.", "9.x-_", "a", &"x".repeat(128)] {
            let tenant = TenantId::with_dots(text).expect(text);
            let key = tenant.session_id().key(64);
            assert!(is_name(&key), "{text}: {key}");
        }
        for text in ["", ".", "..", ".a", "a/b", "a b", "a/../b", "a.\n", "é.a", &"x".repeat(129)] {
            assert!(TenantId::with_dots(text).is_none(), "{text:?}");
        }
    }

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
