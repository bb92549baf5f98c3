//! References in selectors.

/// Reference of a snapshot in a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Reference of a node, by its number.
    Number(u32),
    /// Text in the form of a reference that no snapshot contains.
    Unknown,
}

impl Reference {
    /// Parses a selector in one of the forms of a reference: `@e1`, `ref=e1`, `[ref=e1]`, `e1`. Returns `None` for another selector.
    #[must_use]
    pub fn parse(selector: &str) -> Option<Self> {
        let selector = selector.trim();
        let bracketed = selector.strip_prefix("[ref=").and_then(|rest| rest.strip_suffix(']'));
        let explicit = selector.strip_prefix('@').or_else(|| selector.strip_prefix("ref=")).or(bracketed);
        match (explicit, number(selector)) {
            (Some(name), _) => Some(number(name).map_or(Self::Unknown, Self::Number)),
            (None, Some(number)) => Some(Self::Number(number)),
            (None, None) => None,
        }
    }
}

/// Returns the number in `e1`.
fn number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('e')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}
