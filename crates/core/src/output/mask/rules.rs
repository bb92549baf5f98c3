//! Rules for secrets of a form that gives them away.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::tokens;
use super::values::{self, MASK, MaskExtent, Quotes};

/// Pattern of one kind of secret in text.
struct MaskRule {
    pattern: LazyLock<Option<Regex>>,
    replacement: Replacement,
}

/// Part of a text that a rule masks.
enum Replacement {
    /// The match, by this template.
    Match(&'static str),
    /// The value behind the match, which is a key.
    Value(MaskExtent),
}

macro_rules! rule {
    ($pattern:expr, $replacement:expr) => {
        MaskRule { pattern: LazyLock::new(|| Regex::new($pattern).ok()), replacement: $replacement }
    };
}

/// Rules in order of application: broader rules first, so that a narrower one does not leave part of a value unmasked.
static RULES: [MaskRule; 7] = [
    rule!(tokens::PRIVATE_KEY, Replacement::Match("***")),
    rule!(tokens::TOKEN, Replacement::Match("${1}***")),
    // A header line: Authorization: Basic ..., Set-Cookie: a=b; Path=/
    rule!(
        r#"(?i)\b(?:proxy-)?authorization(?:\\*["'])?[ \t]*[:=][ \t]*"#,
        Replacement::Value(MaskExtent::Line { is_pairs: false })
    ),
    rule!(
        r#"(?i)\b(?:set-)?cookie(?:\\*["'])?[ \t]*[:=][ \t]*"#,
        Replacement::Value(MaskExtent::Line { is_pairs: true })
    ),
    // Any other value of a sensitive key: "api_key": "x", token=x, client_secret: x
    rule!(
        r#"(?i)(?:token|password|passwd|passphrase|secret|api[_-]?key|private[_-]?key|credential)s?[\w-]*(?:\\*["'])?[ \t]*[:=][ \t]*"#,
        Replacement::Value(MaskExtent::Word)
    ),
    rule!(r"(?i)\b(bearer[ \t]+)[A-Za-z0-9._~+/=-]{4,}", Replacement::Match("${1}***")),
    rule!(r"\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?", Replacement::Match("***")),
];

/// User information in a URL: <https://user:password@host/>
static USER_INFO: MaskRule = rule!(r#"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#@"'<>\\]+@"#, Replacement::Match("${1}***@"));

/// Applies all rules to a text that is no tree.
pub(super) fn apply_rules(text: &str, quotes: Quotes) -> Cow<'_, str> {
    let mut masked = Cow::Borrowed(text);
    for rule in std::iter::once(&USER_INFO).chain(&RULES) {
        let Some(pattern) = rule.pattern.as_ref() else {
            // A test checks that every pattern compiles. If one did not, an empty text is safer than a secret.
            return Cow::Borrowed(MASK);
        };
        let replaced = match rule.replacement {
            Replacement::Match(template) => pattern.replace_all(&masked, template),
            Replacement::Value(extent) => values::mask(&masked, pattern, extent, quotes),
        };
        if let Cow::Owned(replaced) = replaced {
            masked = Cow::Owned(replaced);
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mask_pattern_compiles() {
        assert!(std::iter::once(&USER_INFO).chain(&RULES).all(|rule| rule.pattern.is_some()));
    }
}
