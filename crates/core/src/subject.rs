//! Subjects of credentials.

use std::fmt;

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
