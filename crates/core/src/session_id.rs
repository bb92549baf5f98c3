//! Names: session ids and session keys, the subjects of credentials that sessions can belong to, and the tenants and cargos of an
//! orchestrator.
//!
//! Requirements 1.1 and 1.2. The agent chooses the id. The key derived from it is the value of agent-browser's
//! `--session` and names sockets and folders; the id itself never becomes part of a path.
//!
//! Invariants:
//! - A key is one path component and no flag, and two ids never share a key.
//! - A name that an orchestrator assigns consists of letters, digits, `_` and `-`, so it is always one path component. The name of a tenant
//!   may have dots where clients of the orchestrator send such names; it never becomes part of a path itself, only its
//!   [session key](SessionId::key) does.

use std::fmt;

use sha2::{Digest, Sha256};

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

/// Maximum length of an id, in characters.
pub const MAX_LEN: usize = 64;

/// Agent's name for a session: 1 to 64 of `a-z A-Z 0-9 . _ -`, but neither `.` nor `..`. The runtime uses the tenant's
/// name.
///
/// Where sessions belong to subjects, an id has its owner, and the ids of two owners are never equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId {
    name: String,
    owner: Option<Subject>,
}

impl SessionId {
    /// Parses an id. Returns `None` if it is not valid.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let valid = (1..=MAX_LEN).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
            && text != "."
            && text != "..";
        valid.then(|| Self::from_valid(text))
    }

    /// Wraps a tenant's name, which may be longer than an agent's id.
    pub(crate) fn from_valid(text: &str) -> Self {
        Self { name: text.to_owned(), owner: None }
    }

    /// Returns the id of a subject's own session with this name.
    #[must_use]
    pub fn owned_by(self, owner: Subject) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// Returns the subject that the session belongs to, if it belongs to one.
    #[must_use]
    pub const fn owner(&self) -> Option<&Subject> {
        self.owner.as_ref()
    }

    /// Returns true if the session belongs to this subject.
    #[must_use]
    pub fn is_owned_by(&self, subject: &Subject) -> bool {
        self.owner.as_ref() == Some(subject)
    }

    /// Returns the id as the agent wrote it, without its owner.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns the session key: the session's name outside this program, at most `limit` bytes long. `limit` must be
    /// [`HASHED_LEN`] or more.
    ///
    /// An id of letters, digits, `_` and `-` that does not begin with `-` is its own key. The key of any other id is
    /// `id-` and the first 128 bits of its SHA-256, because such an id could be parsed as a flag (`--json`) or as a
    /// hidden or relative path (`.x`), or newer versions of agent-browser refuse it (dots). The same applies to an id
    /// longer than `limit`, to one with an owner, and, to keep keys unique, to one that begins with `id-`.
    #[must_use]
    pub fn key(&self, limit: usize) -> String {
        const PREFIX: &str = "id-";
        let name = &self.name;
        let is_plain = !name.starts_with('-') && !name.contains('.') && !name.starts_with(PREFIX);
        if is_plain && name.len() <= limit && self.owner.is_none() {
            return name.clone();
        }
        // No name and no owner has the separator, so no two ids have the same text.
        let owner = self.owner.iter().flat_map(|owner| ["\0", owner.as_str()]);
        let text: String = std::iter::once(name.as_str()).chain(owner).collect();
        let digest = Sha256::digest(text.as_bytes());
        let first = digest.first_chunk().copied().map_or(0, u128::from_be_bytes);
        format!("{PREFIX}{first:032x}")
    }
}

/// Length of a key that contains a hash, in bytes.
pub const HASHED_LEN: usize = 35;

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Regular expression that names of tenants and cargos match.
pub const NAME_PATTERN: &str = "^[A-Za-z0-9_-]{1,128}$";

/// Regular expression of names of tenants that may have dots.
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
    use proptest::prelude::*;

    use super::*;
    use crate::grammar::find_global_flag;

    // Requirement 1.1.
    #[test]
    fn session_id_syntax_is_enforced() {
        for id in ["a", "A-1", "a.b", "_x", "-x", "--json", "...", &"x".repeat(64)] {
            assert!(SessionId::new(id).is_some(), "{id}");
        }
        for id in ["", ".", "..", "a/b", "a b", "a\n", "\u{e9}", "a\0", "../x", &"x".repeat(65)] {
            assert!(SessionId::new(id).is_none(), "{id:?}");
        }
    }

    // Requirement 1.2.
    #[test]
    fn plain_session_ids_are_their_own_key() {
        for id in ["default", "s1", "A_b-c", "task-42", &"x".repeat(64)] {
            assert_eq!(SessionId::new(id).expect(id).key(MAX_LEN), id);
        }
    }

    #[test]
    fn sessions_of_two_subjects_have_nothing_in_common() {
        let owned =
            |name: &str, owner: &str| SessionId::new(name).expect(name).owned_by(Subject::new(owner).expect(owner));
        let ids = [
            SessionId::new("s").expect("valid"),
            owned("s", "alice"),
            owned("s", "bob"),
            owned("t", "alice"),
            owned("s", "alice@b.example/../x"),
            SessionId::new(&owned("s", "alice").key(MAX_LEN)).expect("a key is an id"),
            owned(&owned("s", "alice").key(MAX_LEN), "bob"),
        ];
        for (position, id) in ids.iter().enumerate() {
            let key = id.key(MAX_LEN);
            assert!(key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{key}");
            for other in &ids[..position] {
                assert!(id != other && key != other.key(MAX_LEN), "{id:?} {other:?}");
            }
        }
        assert_eq!(owned("s", "alice"), owned("s", "alice"));
        let [alice, bob] = ["alice", "bob"].map(|name| Subject::new(name).expect(name));
        assert!(owned("s", "alice").is_owned_by(&alice) && !owned("s", "alice").is_owned_by(&bob));
        assert!(!SessionId::new("s").expect("valid").is_owned_by(&alice));
        assert_eq!(owned("s", "alice").as_str(), "s", "replies and rules have the agent's name");
    }

    proptest! {
        // Requirement 1.2.
        #[test]
        fn session_keys_are_plain_names_and_unique(a in "[a-zA-Z0-9._-]{1,64}|--[a-z]{1,8}|id-[0-9a-f]{32}", b in "[a-zA-Z0-9._-]{1,4}", limit in HASHED_LEN..=MAX_LEN) {
            for id in [&a, &b].into_iter().filter_map(|text| SessionId::new(text)) {
                let key = id.key(limit);
                prop_assert!(key.len() <= limit);
                prop_assert!(!key.starts_with(['-', '.']) && !key.contains(['.', '/']));
                prop_assert_eq!(find_global_flag(&key), None);
            }
            if let (Some(a), Some(b)) = (SessionId::new(&a), SessionId::new(&b)) {
                prop_assert_eq!(a == b, a.key(limit) == b.key(limit));
                // A key that is used as an id names another session.
                if let Some(again) = SessionId::new(&a.key(limit)).filter(|again| *again != a) {
                    prop_assert_ne!(again.key(limit), a.key(limit));
                }
            }
        }
    }

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
