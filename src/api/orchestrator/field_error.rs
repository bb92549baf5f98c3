//! Errors in the fields of a request, as clients of the orchestrator's contract know them.
//!
//! Invariants: an error holds nothing of what was sent. Requirement 4.1.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// One error in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FieldError {
    /// Kind of error, a stable code.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Path to the field, beginning with the part of the request, such as `body`.
    #[serde(rename = "loc")]
    pub location: Vec<Segment>,
    /// Message for people.
    #[serde(rename = "msg")]
    pub message: String,
}

/// One step of the path to a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Segment {
    /// Name of a member.
    Name(Cow<'static, str>),
    /// Position in a list or in a text, from 0.
    Index(usize),
}

impl FieldError {
    /// Returns an error at a location below the root, such as `body`, that [`Self::below`] adds later.
    pub(crate) fn new(kind: &'static str, location: &[Segment], message: impl Into<String>) -> Self {
        Self { kind, location: location.to_vec(), message: message.into() }
    }

    /// Returns the same error with `root` in front of its location.
    pub(crate) fn below(mut self, root: &'static str) -> Self {
        self.location.insert(0, Segment::Name(root.into()));
        self
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: Vec<_> = self.location.iter().map(ToString::to_string).collect();
        if !path.is_empty() {
            write!(f, "{}: ", path.join("."))?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}
