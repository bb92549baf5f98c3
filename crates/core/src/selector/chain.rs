//! Selector chains and their parts.

use super::role::RoleMatch;

/// Selector with parts besides one of CSS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorChain {
    pub(super) parts: Vec<SelectorPart>,
}

/// Part of a chain. Each one is searched in the elements that the part before it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorPart {
    /// CSS selectors, each of which is searched below the elements of the one before it.
    Css(Vec<String>),
    /// Text.
    Text(TextMatch),
    /// Role, with a name and states.
    Role(RoleMatch),
    /// One of the elements by its position from 0, or from the end with -1.
    Nth(i32),
}

/// Text that an element has to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextMatch {
    /// Any part of the text, in upper or lower case.
    Contains(String),
    /// A whole text between two elements.
    Exact(String),
}

impl SelectorChain {
    /// Returns the parts.
    #[must_use]
    pub fn parts(&self) -> &[SelectorPart] {
        &self.parts
    }

    /// Returns the parts in front of the first position. There is at least one.
    #[must_use]
    pub fn parts_before_position(&self) -> &[SelectorPart] {
        self.parts.split(|part| matches!(part, SelectorPart::Nth(_))).next().unwrap_or_default()
    }
}
