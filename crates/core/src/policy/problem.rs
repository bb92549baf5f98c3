//! Problem of a policy file.

use std::fmt;

/// One error in a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The JSON path, such as `open.allow_hosts[3]`; empty for the document as a whole.
    pub path: String,
    /// The error and its fix, in lower case and without a full stop.
    pub message: String,
}

impl Problem {
    /// Creates a problem.
    #[must_use]
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "(document)" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}
