//! Rules for secrets of a form that gives them away: patterns with a public form, and values behind sensitive keys.
//!
//! A value never leaves the quotes that its key stands in: a label that ends with a colon, such as `"Password: "`, has none. It takes
//! no reference of a snapshot with it either.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

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
    rule!(PRIVATE_KEY, Replacement::Match("***")),
    rule!(TOKEN, Replacement::Match("${1}***")),
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
            Replacement::Value(extent) => mask_values(&masked, pattern, extent, quotes),
        };
        if let Cow::Owned(replaced) = replaced {
            masked = Cow::Owned(replaced);
        }
    }
    masked
}

/// The length in bytes of the shortest text that [`TOKEN`] or [`PRIVATE_KEY`] matches.
pub(super) const SHORTEST: usize = 15;

/// Tokens by their prefixes, as their issuers publish them. The first group is what stands before a token: nothing, a character that
/// is neither letter nor digit, or an escape of JSON or a URL.
const TOKEN: &str = concat!(
    r"(^|[^A-Za-z0-9]|\\[bfnrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})(?:",
    // GitHub
    r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}",
    // Stripe
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}",
    // AWS
    r"|A(?:KI|SI)A[A-Z0-9]{16}\b",
    // Slack
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}",
    // Google
    r"|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_.-]{20,}",
    r")"
);

/// A block with a private key, to its end or to the end of the text.
const PRIVATE_KEY: &str = r"(?s)-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)";

/// Beginning of a private key.
pub(super) static START_OF_KEY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----").ok());

/// End of a private key.
pub(super) static END_OF_KEY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----").ok());

/// Replacement for a secret.
pub const MASK: &str = "***";

/// Reference of a snapshot, up to its number.
const REFERENCE: &str = "[ref=e";

/// Length of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MaskExtent {
    /// To the end of the line; pairs have a `=`.
    Line { is_pairs: bool },
    /// One word, or a text in quotes.
    Word,
}

/// Treatment of quotes around and in a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// They are a part of the value.
    Masked,
    /// They stay, because they may belong to the syntax around it.
    Kept,
}

/// Masks the values behind keys.
fn mask_values<'a>(text: &'a str, key: &Regex, extent: MaskExtent, quotes: Quotes) -> Cow<'a, str> {
    let mut masked = String::new();
    let (mut copied, mut searched, mut read) = (0, 0, 0);
    let mut open = Open::default();
    let mut line = QuotesOfLine::new(text);
    while let Some(found) = key.find_at(text, searched) {
        // Each byte is read once: a page may write thousands of keys into one line.
        open.read(text.get(read..found.end()).unwrap_or_default());
        read = found.end();
        let (start, end) = value(text, found.end(), &open, &mut line, extent);
        searched = end.max(found.end());
        let value = text.get(start..end).unwrap_or_default();
        if value.is_empty() || extent == (MaskExtent::Line { is_pairs: true }) && !value.contains('=') {
            continue;
        }
        masked.push_str(text.get(copied..start).unwrap_or_default());
        match quotes {
            Quotes::Masked => masked.push_str(MASK),
            Quotes::Kept => push_between_quotes(&mut masked, value),
        }
        copied = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(masked)
}

/// Adds a mask for each part of a value between quotes, and the quotes.
fn push_between_quotes(masked: &mut String, value: &str) {
    for part in value.split_inclusive(['"', '\'']) {
        let content = part.trim_end_matches(['"', '\'', '\\']);
        if !content.is_empty() {
            masked.push_str(MASK);
        }
        masked.push_str(part.get(content.len()..).unwrap_or_default());
    }
}

/// Returns the beginning and the end of the value at a position.
fn value(text: &str, position: usize, open: &Open, line: &mut QuotesOfLine<'_>, extent: MaskExtent) -> (usize, usize) {
    let mut start = position;
    let mut end = position;
    while let Some(rest) = text.get(end..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(REFERENCE) {
            break;
        }
        if let Some(quote) = Quote::at(rest) {
            if open.contains(quote) {
                break;
            }
            let closed = match extent {
                MaskExtent::Word => line.end_of_quoted(end, quote, open),
                MaskExtent::Line { .. } => None,
            };
            match closed {
                Some(closed) => end = closed,
                // What follows a quote that nothing closes is the value.
                None if end == start => {
                    end += quote.length();
                    start = end;
                }
                None => break,
            }
            continue;
        }
        let Some(character) = rest.chars().next() else { break };
        let ends = match extent {
            MaskExtent::Line { .. } => matches!(character, '\n' | '\r'),
            MaskExtent::Word => character.is_whitespace() || matches!(character, ',' | ';' | '&' | '}' | ']' | ')'),
        };
        let behind = rest.trim_start_matches('\\');
        let escapes = rest.len() - behind.len();
        // An odd number of backslashes is not only some that are escaped themselves.
        let is_escaped_break = open.is_any() && escapes % 2 == 1 && behind.starts_with(['n', 'r']);
        if ends || is_escaped_break {
            break;
        }
        end += escapes.max(character.len_utf8());
    }
    let value = text.get(start..end).unwrap_or_default();
    (start, start + value.trim_end_matches([' ', '\t']).len())
}

/// Quote, with the backslashes in front of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Quote {
    character: char,
    escapes: usize,
}

impl Quote {
    /// Returns the quote that a text begins with.
    fn at(text: &str) -> Option<Self> {
        let quoted = text.trim_start_matches('\\');
        let character = quoted.chars().next().filter(|character| matches!(character, '"' | '\''))?;
        Some(Self { character, escapes: text.len() - quoted.len() })
    }

    const fn length(self) -> usize {
        self.escapes + 1
    }
}

/// Places of the quotes from a position of a text to the end of its line or a reference. They are read once: a page may write thousands of
/// keys in front of quotes that nothing closes.
struct QuotesOfLine<'a> {
    text: &'a str,
    /// End of the part that has been read.
    end: usize,
    /// Places of each quote in it, with its backslashes, in order.
    places: HashMap<Quote, Vec<usize>>,
}

impl<'a> QuotesOfLine<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, end: 0, places: HashMap::new() }
    }

    /// Returns the end of the text in quotes that begins at a position, if it ends before other quotes, the line and a reference.
    fn end_of_quoted(&mut self, position: usize, quote: Quote, open: &Open) -> Option<usize> {
        let begin = position + quote.length();
        if begin >= self.end {
            self.read(begin);
        }
        let closed = self.first(quote, begin)?;
        // Of both, the shorter way to find a quote that is open already.
        let is_cut = if open.0.len() < closed - begin {
            let opened = |escapes: &usize| self.first(Quote { character: '"', escapes: *escapes }, begin);
            open.0.iter().filter_map(opened).any(|place| place < closed)
        } else {
            quotes(self.text, begin, closed).any(|(_, quote)| open.contains(quote))
        };
        (!is_cut).then(|| closed + quote.length())
    }

    /// Reads the quotes from a position on, which is behind a quote.
    fn read(&mut self, position: usize) {
        let rest = self.text.get(position..).unwrap_or_default();
        let mut ends = rest.match_indices(['\n', '\r', '[']).map(|(at, _)| at);
        let is_end =
            |at: &usize| rest.get(*at..).is_some_and(|rest| !rest.starts_with('[') || rest.starts_with(REFERENCE));
        self.end = position + ends.find(is_end).unwrap_or(rest.len());
        self.places.clear();
        for (place, quote) in quotes(self.text, position, self.end) {
            self.places.entry(quote).or_default().push(place);
        }
    }

    /// Returns the first place of a quote from a position on.
    fn first(&self, quote: Quote, position: usize) -> Option<usize> {
        let places = self.places.get(&quote)?;
        places.get(places.partition_point(|place| *place < position)).copied()
    }
}

/// Returns the quotes in a part of a text, with the places of their first backslashes. No quote has a backslash in front of the part.
fn quotes(text: &str, begin: usize, end: usize) -> impl Iterator<Item = (usize, Quote)> {
    let part = text.get(begin..end).unwrap_or_default();
    let mut read = 0;
    part.match_indices(['"', '\'']).map(move |(at, character)| {
        let before = part.get(read..at).unwrap_or_default();
        let escapes = before.len() - before.trim_end_matches('\\').len();
        read = at + 1;
        (begin + at - escapes, Quote { character: if character == "\"" { '"' } else { '\'' }, escapes })
    })
}

/// Double quotes of a line that are open, by the number of backslashes in front of them. Apostrophes are no quotes in a text.
#[derive(Default)]
struct Open(BTreeSet<usize>);

impl Open {
    /// Reads the next part of a text, which ends with no backslash.
    fn read(&mut self, part: &str) {
        let mut rest = part;
        if let Some(end) = part.rfind(['\n', '\r']) {
            self.0.clear();
            rest = part.get(end + 1..).unwrap_or_default();
        }
        while let Some(position) = rest.find('"') {
            let (before, after) = rest.split_at(position);
            let escapes = before.len() - before.trim_end_matches('\\').len();
            if !self.0.remove(&escapes) {
                self.0.insert(escapes);
            }
            rest = after.get(1..).unwrap_or_default();
        }
    }

    fn contains(&self, quote: Quote) -> bool {
        quote.character == '"' && self.0.contains(&quote.escapes)
    }

    fn is_any(&self) -> bool {
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::mask::{MASK, text};

    #[test]
    fn every_mask_pattern_compiles() {
        assert!(std::iter::once(&USER_INFO).chain(&RULES).all(|rule| rule.pattern.is_some()));
    }

    fn letters(count: usize) -> String {
        "aB3dE".repeat(count.div_ceil(5)).chars().take(count).collect()
    }

    #[test]
    fn tokens_with_public_prefixes_are_masked() {
        let upper = "A1B2C3D4E5F6G7H8";
        let tokens = [
            ("ghp_", letters(36)),
            ("gho_", letters(36)),
            ("ghu_", letters(36)),
            ("ghs_", letters(36)),
            ("ghr_", letters(36)),
            ("github_pat_", letters(22) + "_" + &letters(59)),
            ("sk_live_", letters(24)),
            ("sk_test_", letters(24)),
            ("rk_live_", letters(24)),
            ("whsec_", letters(32)),
            ("AKIA", upper.to_owned()),
            ("ASIA", upper.to_owned()),
            ("xoxb-", "123-456-".to_owned() + &letters(24)),
            ("xoxp-", letters(24)),
            ("xoxa-", letters(24)),
            ("xoxr-", letters(24)),
            ("xoxs-", letters(24)),
            ("xapp-", "1-A1-".to_owned() + &letters(24)),
            ("AIza", letters(35)),
            ("ya29.", letters(60)),
        ];
        for (prefix, rest) in &tokens {
            let token = format!("{prefix}{rest}");
            for (before, after) in [("", ""), ("a ", " b"), ("x_", ""), (r"\n", "\""), ("?k%3D", "&a"), ("(", ")")] {
                let masked = text(&format!("{before}{token}{after}")).into_owned();
                assert_eq!(masked, format!("{before}{MASK}{after}"), "{token}");
            }
        }
        let all = tokens.iter().map(|(prefix, rest)| format!("{prefix}{rest}")).collect::<Vec<_>>().join("\n");
        assert_eq!(text(&all), [MASK; 20].join("\n"));
    }

    #[test]
    fn private_keys_are_masked_to_their_end() {
        for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
            let key = format!("-----BEGIN {kind}PRIVATE KEY-----\nMIIE\n-----END {kind}PRIVATE KEY-----");
            assert_eq!(text(&format!("a\n{key}\nb")), "a\n***\nb");
            assert_eq!(text(&format!("{key} and {key}.")), "*** and ***.");
        }
        assert_eq!(text("a -----BEGIN PRIVATE KEY-----\nMIIE\nMIIE"), "a ***");
        assert_eq!(text(r"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"), r"***\n");
        let pgp = "-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----!";
        assert_eq!(text(pgp), "***!");
    }

    #[test]
    fn text_that_only_resembles_a_token_is_not_masked() {
        for given in [
            "ghp_ is the prefix of a token",
            "ghp_short123",
            "task_live_configuration1",
            "sk_live_ and sk_test_ keys",
            "AKIA is the prefix",
            "AKIA1234567890ABCDEFG is too long",
            "MAKIA1234567890ABCDEF",
            "AKIAabcdefghijklmnop",
            "xoxb- tokens",
            "xoxo-hugs-and-kisses",
            "AIza",
            "ya29.",
            "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "BEGIN PRIVATE KEY",
        ] {
            assert_eq!(text(given), given);
        }
    }

    #[test]
    fn keys_of_a_long_line_are_each_read_once() {
        // What reads the line again for each key does not end in time.
        let keys = |line: &str| line.repeat(150_000);
        assert_eq!(text(&keys("token=a&")), keys("token=***&"));
        assert_eq!(text(&keys("token=a \"b\" ")), keys("token=*** \"b\" "));
    }

    #[test]
    fn quotes_that_nothing_closes_are_read_once() {
        // What searches the line for the end of each quote does not end in time.
        for key in ["token=", "cookie: "] {
            let keys: Vec<String> = (1..=1000).map(|escapes| [key, &"\\".repeat(escapes), "' "].concat()).collect();
            let line = keys.concat() + &"a".repeat(1_000_000);
            let masked = text(&line).into_owned();
            assert!(masked.starts_with(key) && masked.len() <= line.len(), "{key}");
        }
        let references = "token='[ref=e".repeat(100_000);
        assert!(text(&references) == references);
        let closed = r#"token=\'a "b" token=' c\' token='d e' "#;
        assert!(text(&closed.repeat(1000)) == "token=*** token=*** ".repeat(1000), "control");
    }

    /// Returns the end of a text in quotes by reading it sign by sign.
    fn end_by_reading(text: &str, position: usize, quote: Quote, open: &Open) -> Option<usize> {
        let mut end = position + quote.length();
        loop {
            let rest = text.get(end..).filter(|rest| !rest.starts_with(REFERENCE))?;
            match Quote::at(rest) {
                Some(other) if other == quote => return Some(end + other.length()),
                Some(other) if open.contains(other) => return None,
                Some(other) => end += other.length(),
                None => {
                    let character = rest.chars().next().filter(|character| !matches!(character, '\n' | '\r'))?;
                    let escapes = rest.len() - rest.trim_start_matches('\\').len();
                    end += escapes.max(character.len_utf8());
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn quotes_end_where_reading_finds_their_end(
            text in "([ab=\u{e9}\n]|\"|'|\\\\|\\[ref=e){0,40}",
            levels in proptest::collection::btree_set(0_usize..3, 0..3),
        ) {
            let open = Open(levels);
            let mut line = QuotesOfLine::new(&text);
            for (position, quote) in quotes(&text, 0, text.len()) {
                let end = line.end_of_quoted(position, quote, &open);
                proptest::prop_assert_eq!(end, end_by_reading(&text, position, quote, &open), "{} {}", text, position);
            }
        }
    }

    // Requirement 1.8.
    #[test]
    fn value_ends_with_the_quotes_around_its_key() {
        for (given, expected) in [
            (r#"textbox "Password: " [ref=e3], button "a""#, None),
            (r#"link "Cookie:" [ref=e3] [value="a=b"]"#, None),
            (r#"x "Authorization:" [ref=e1] "b""#, None),
            (r#"{"snapshot":"- textbox \"Password: \" [ref=e3]\n- link \"Token: \" [ref=e4]"}"#, None),
            ("password:[ref=e3]", None),
            (r#"button "Password: hunter2" [ref=e3]"#, Some(r#"button "Password: ***" [ref=e3]"#)),
            (
                r#"{"s":"- a \"Password: hunter2\" [ref=e3]\n- b"}"#,
                Some(r#"{"s":"- a \"Password: ***\" [ref=e3]\n- b"}"#),
            ),
            (r#"{"s":"token=hunter2\n- b"}"#, Some(r#"{"s":"token=***\n- b"}"#)),
            (r#"{"s":"Cookie: a=b\n- b"}"#, Some(r#"{"s":"Cookie: ***\n- b"}"#)),
            (r#"{\"api_key\":\"hunter2\",\"n\":1}"#, Some(r#"{\"api_key\":***,\"n\":1}"#)),
            ("\"authorization\": \"Basic x\", 1", Some("\"authorization\": \"***\", 1")),
            ("password: \"hunter2", Some("password: \"***")),
        ] {
            assert_eq!(text(given), expected.unwrap_or(given), "{given}");
        }
    }
}
