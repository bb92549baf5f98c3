//! Sessions that a rule is for: by a pattern of their ids, and by their subject.

use std::fmt;

use crate::session_id::SessionId;
use crate::subject::Subject;

/// Sessions that a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSelector {
    /// Ids of the sessions.
    pub pattern: SessionPattern,
    /// Subjects that they belong to; `None` if it does not matter whose they are.
    pub subject: Option<SubjectChoice>,
}

impl SessionSelector {
    /// Returns true if the rule is for a session.
    #[must_use]
    pub fn matches(&self, id: &SessionId) -> bool {
        let is_owner = match &self.subject {
            None => true,
            Some(SubjectChoice::Any) => id.owner().is_some(),
            Some(SubjectChoice::Only(subject)) => id.is_owned_by(subject),
        };
        is_owner && self.pattern.matches(id)
    }
}

/// Subjects that a rule names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubjectChoice {
    /// All of them, written as `*`.
    Any,
    /// One.
    Only(Subject),
}

/// The longest pattern, in characters. No session id is longer.
pub(super) const MAX_LEN: usize = 128;

/// A session id with `*` for any characters, also none.
///
/// ```
/// use browser_shell_core::policy::SessionPattern;
/// use browser_shell_core::session_id::SessionId;
///
/// let pattern = SessionPattern::new("u1-*").expect("a pattern");
/// assert!(pattern.matches(&SessionId::new("u1-mail").expect("an id")));
/// assert!(!pattern.matches(&SessionId::new("u10").expect("an id")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPattern(String);

impl SessionPattern {
    /// Parses a pattern. Returns `None` if it has a character that no session id has, except `*`.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'*');
        let valid = (1..=MAX_LEN).contains(&text.len()) && text.bytes().all(is_valid) && text != "." && text != "..";
        valid.then(|| Self(text.to_owned()))
    }

    /// Returns the pattern as it is in the file.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the whole id matches. Upper and lower case differ.
    #[must_use]
    pub fn matches(&self, id: &SessionId) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = id.as_str().strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            match rest.split_once(part) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

impl fmt::Display for SessionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_of_a_rule_must_own_the_session() {
        let [ada, bob] = ["ada", "bob"].map(|name| Subject::new(name).expect(name));
        let id = SessionId::new("mail-1").expect("valid");
        let sessions = [id.clone(), id.clone().owned_by(ada.clone()), id.owned_by(bob)];
        let pattern = SessionPattern::new("mail-*").expect("valid");
        for (subject, expected) in [
            (None, [true, true, true]),
            (Some(SubjectChoice::Any), [false, true, true]),
            (Some(SubjectChoice::Only(ada)), [false, true, false]),
        ] {
            let selector = SessionSelector { pattern: pattern.clone(), subject };
            assert_eq!(sessions.each_ref().map(|id| selector.matches(id)), expected, "{selector:?}");
        }
    }

    #[test]
    fn session_patterns_match_whole_ids() {
        for (pattern, id, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a", "A", false),
            ("*", "a", true),
            ("u1-*", "u1-", true),
            ("u1-*", "u1-x", true),
            ("u1-*", "xu1-x", false),
            ("u1-*", "u10", false),
            ("*-x", "a-x", true),
            ("*-x", "a-xy", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("a**b", "ab", true),
            ("a.b", "axb", false),
        ] {
            let matches = SessionPattern::new(pattern).expect(pattern).matches(&SessionId::new(id).expect(id));
            assert_eq!(matches, expected, "{pattern} {id}");
        }
        for text in ["", "..", "a b", "a?", "[a]", "a/b", "\u{e9}", &"x".repeat(129)] {
            assert!(SessionPattern::new(text).is_none(), "{text}");
        }
    }
}
