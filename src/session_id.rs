//! Session ids: what an agent may call a session, and what that becomes outside of this program (spec [1.1], [1.2]).
//!
//! Decides the form of an id and its key. The key is what agent-browser gets as `--session` and what names sockets and
//! folders: it is one path component, never a flag, and two ids never share one. An id itself must never become a path.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::runtime::identity::SandboxId;

/// The most characters of an id.
pub const MAX_LEN: usize = 64;

/// A valid session id: 1 to 64 of `a-z A-Z 0-9 . _ -`, neither `.` nor `..`; or the name of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Reads an id.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let valid = (1..=MAX_LEN).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
            && text != "."
            && text != "..";
        valid.then(|| Self(text.to_owned()))
    }

    /// The id of an orchestrator's sandbox: its name, which may be longer than an agent's ids and has no dots.
    #[must_use]
    pub fn of_sandbox(name: &SandboxId) -> Self {
        Self(name.as_str().to_owned())
    }

    /// The id as the agent wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the session outside of this program, at most `limit` bytes long (but never shorter than 35).
    ///
    /// An id of letters, digits, `_` and `-` that does not begin with `-` is its own key. Any other could be read as a flag
    /// (`--json`), as a hidden or relative path (`.x`), or is refused by later versions of agent-browser (dots); its key is
    /// `id-` and a part of its SHA-256. So is that of an id that is too long for a socket's path, and of one that already
    /// looks like such a key, so that keys stay unique.
    #[must_use]
    pub fn key(&self, limit: usize) -> String {
        const PREFIX: &str = "id-";
        let plain = !self.0.starts_with('-') && !self.0.contains('.') && !self.0.starts_with(PREFIX);
        if plain && self.0.len() <= limit {
            return self.0.clone();
        }
        let digest = Sha256::digest(self.0.as_bytes());
        let first = digest.first_chunk().copied().map_or(0, u128::from_be_bytes);
        format!("{PREFIX}{first:032x}")
    }
}

/// The length of a key that is not the id itself.
pub const HASHED_LEN: usize = 35;

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argv::globals::global_flag;
    use proptest::prelude::*;

    #[test]
    fn spec_1_1_the_form_of_an_id() {
        for id in ["a", "A-1", "a.b", "_x", "-x", "--json", "...", &"x".repeat(64)] {
            assert!(SessionId::new(id).is_some(), "{id}");
        }
        for id in ["", ".", "..", "a/b", "a b", "a\n", "\u{e9}", "a\0", "../x", &"x".repeat(65)] {
            assert!(SessionId::new(id).is_none(), "{id:?}");
        }
    }

    #[test]
    fn spec_1_2_ordinary_ids_are_their_own_key() {
        for id in ["default", "s1", "A_b-c", "task-42", &"x".repeat(64)] {
            assert_eq!(SessionId::new(id).expect(id).key(MAX_LEN), id);
        }
    }

    proptest! {
        #[test]
        fn spec_1_2_a_key_is_a_plain_name_and_unique(a in "[a-zA-Z0-9._-]{1,64}|--[a-z]{1,8}|id-[0-9a-f]{32}", b in "[a-zA-Z0-9._-]{1,4}", limit in HASHED_LEN..=MAX_LEN) {
            for id in [&a, &b].into_iter().filter_map(|text| SessionId::new(text)) {
                let key = id.key(limit);
                prop_assert!(key.len() <= limit);
                prop_assert!(!key.starts_with(['-', '.']) && !key.contains(['.', '/']));
                prop_assert_eq!(global_flag(&key), None);
            }
            if let (Some(a), Some(b)) = (SessionId::new(&a), SessionId::new(&b)) {
                prop_assert_eq!(a == b, a.key(limit) == b.key(limit));
                // The key of one id, taken as an id, is another session.
                if let Some(again) = SessionId::new(&a.key(limit)).filter(|again| *again != a) {
                    prop_assert_ne!(again.key(limit), a.key(limit));
                }
            }
        }
    }
}
