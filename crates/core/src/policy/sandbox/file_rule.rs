//! Rules of `denyRead` and `denyWrite`: paths, names and wildcards.
//!
//! A path denies a file or folder and everything below it. A rule with a wildcard denies every path that it matches, and a rule
//! without a slash denies every entry of that name in the folders that a sandbox may use.
//!
//! Invariants: a rule never denies less than its text as a literal path.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Files that are denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRule {
    /// A file or folder with everything below it.
    Path(PathBuf),
    /// Every file or folder that a pattern matches, with everything below it.
    Pattern(Pattern),
}

impl FileRule {
    /// Returns the pattern, if the rule is one.
    #[must_use]
    pub const fn pattern(&self) -> Option<&Pattern> {
        match self {
            Self::Path(_) => None,
            Self::Pattern(pattern) => Some(pattern),
        }
    }
}

/// A name or a path with wildcards: `*` and `?` match within a component, `[...]` matches one character, and `**` matches any
/// number of components.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// The components before the first wildcard; `None` for a pattern that applies in every folder.
    prefix: Option<PathBuf>,
    regex: Regex,
}

impl PartialEq for Pattern {
    /// The expression follows from the text.
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// Creates a pattern from a path with wildcards, or from a name. Returns `None` for an unclosed or invalid bracket.
    ///
    /// The folder, if there is one, precedes the text and has no wildcards.
    pub(in crate::policy) fn new(folder: Option<&Path>, text: &str) -> Option<Self> {
        let is_anywhere = folder.is_none() && !text.starts_with('/');
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        let mut prefix = folder.map_or_else(|| PathBuf::from("/"), Path::to_owned);
        prefix.extend(parts.iter().take_while(|part| !has_wildcard(part)));
        let start = folder.map_or_else(String::new, |folder| regex::escape(&folder.to_string_lossy()));
        let (mut expression, mut literal) = (start.clone(), start);
        for (position, part) in parts.iter().enumerate() {
            match (*part, position + 1 == parts.len()) {
                ("**", true) => expression.push_str("/.+"),
                ("**", false) => expression.push_str("(?:/[^/]+)*"),
                (part, _) => write!(expression, "/{}", component(part)?).ok()?,
            }
            write!(literal, "/{}", regex::escape(part)).ok()?;
        }
        let before = if is_anywhere { ".*" } else { "" };
        // The second alternative is the text as a literal path: a file may be named so.
        let regex = Regex::new(&format!("(?s)^{before}(?:{expression}|{literal})$")).ok()?;
        let text = folder.map_or_else(|| text.to_owned(), |folder| folder.join(text).to_string_lossy().into_owned());
        Some(Self { text, prefix: (!is_anywhere).then_some(prefix), regex })
    }

    /// Returns the text, with the home folder in place of `~`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if the pattern applies in every folder that a sandbox may use.
    #[must_use]
    pub const fn is_anywhere(&self) -> bool {
        self.prefix.is_none()
    }

    /// Returns true if the pattern matches this path. Paths below a match are denied too.
    #[must_use]
    pub fn matches(&self, path: &Path) -> bool {
        self.regex.is_match(&path.to_string_lossy())
    }

    /// Returns true if the pattern matches this path or a folder that holds it.
    #[must_use]
    pub fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|path| self.matches(path))
    }

    /// Returns true if the pattern can match a path below this folder.
    #[must_use]
    pub fn can_match_below(&self, folder: &Path) -> bool {
        self.prefix.as_ref().is_none_or(|prefix| prefix.starts_with(folder) || folder.starts_with(prefix))
    }
}

/// Returns true if the text has a wildcard.
pub(in crate::policy) fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Returns the expression of one path component. Returns `None` for a bracket without an end or without content.
fn component(text: &str) -> Option<String> {
    let mut expression = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '[' => {
                let text = rest.as_str();
                let is_negated = text.starts_with(['!', '^']);
                let body = text.get(usize::from(is_negated)..)?;
                // A bracket that comes first is a member, not the end.
                let first = body.chars().next()?.len_utf8();
                let end = body.get(first..)?.find(']')? + first;
                expression.push_str(if is_negated { "[^/" } else { "[" });
                for (position, member) in body.get(..end)?.char_indices() {
                    if member == '-' && position > 0 && position + 1 < end {
                        expression.push('-');
                    } else {
                        expression.push_str(&regex::escape(member.encode_utf8(&mut [0; 4])));
                    }
                }
                expression.push(']');
                rest = body.get(end + 1..)?.chars();
            }
            character => expression.push_str(&regex::escape(character.encode_utf8(&mut [0; 4]))),
        }
    }
    Some(expression)
}

#[cfg(test)]
mod tests;
