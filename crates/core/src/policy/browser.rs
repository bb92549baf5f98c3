//! Sessions: which of them a rule is for, their isolation in the browser, and the state that they begin with, of which no answer may
//! contain the secret values.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::session_id::{SessionId, Subject};

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
const MAX_PATTERN: usize = 128;

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
        let valid =
            (1..=MAX_PATTERN).contains(&text.len()) && text.bytes().all(is_valid) && text != "." && text != "..";
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

/// Section `browser`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrowserRules {
    /// The isolation of sessions; `None` if the file does not name one, so that the front end chooses.
    pub isolation: Option<Isolation>,
    /// States that sessions begin with, in the order of the file.
    pub state: Arc<[BrowserState]>,
}

/// The isolation of sessions from each other in the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Each session has cookies, storage and tabs of its own.
    Session,
    /// All sessions have the same cookies, storage and tabs.
    Shared,
}

impl Isolation {
    /// All kinds of isolation.
    pub(super) const ALL: &[Self] = &[Self::Session, Self::Shared];

    /// Returns the name in the policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Shared => "shared",
        }
    }
}

/// The state that some sessions begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserState {
    /// The sessions.
    pub selector: SessionSelector,
    /// Their state.
    pub source: StateSource,
}

/// The source of a storage state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateSource {
    /// A file that holds a storage state. [`StorageState::parse`] reads its text.
    File(PathBuf),
    /// A storage state in the policy file.
    Inline(StorageState),
}

/// Cookies and local storage, in the form that Playwright saves as storage state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageState {
    /// Cookies.
    pub cookies: Vec<StateCookie>,
    /// Local storage, by origin.
    pub origins: Vec<StateOrigin>,
}

/// A cookie of a storage state. `Debug` leaves out its value.
#[derive(Clone, PartialEq, Eq)]
pub struct StateCookie {
    /// The name.
    pub name: String,
    /// The value, which is often a secret.
    pub value: String,
    /// The host, with a leading dot if the cookie is for its subdomains too.
    pub domain: String,
    /// The path, which begins with `/`.
    pub path: String,
    /// The time in seconds since 1970 at which the cookie expires; `None` for a cookie of the session.
    pub expires: Option<u64>,
    /// True if scripts cannot read the cookie.
    pub http_only: bool,
    /// True if the cookie is for https only.
    pub secure: bool,
    /// The requests from other sites that have the cookie; `None` if the state does not say it.
    pub same_site: Option<SameSite>,
    /// The pages that have the cookie, if it is for those of one site only.
    pub partition: Option<CookiePartition>,
}

/// The pages that have a partitioned cookie (CHIPS).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookiePartition {
    /// The site of the tab, such as `https://a.example`.
    pub top_level_site: String,
    /// True if the page is in a frame of another site, or below one.
    pub has_cross_site_ancestor: bool,
}

impl fmt::Debug for StateCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateCookie").field("name", &self.name).field("domain", &self.domain).finish_non_exhaustive()
    }
}

/// The requests from other sites that have a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameSite {
    /// None.
    Strict,
    /// Navigations.
    Lax,
    /// All.
    None,
}

impl SameSite {
    /// All values.
    pub(super) const ALL: &[Self] = &[Self::Strict, Self::Lax, Self::None];

    /// Returns the name in a storage state and in the debugging protocol.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Lax => "Lax",
            Self::None => "None",
        }
    }
}

/// The local storage of an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateOrigin {
    /// The origin, such as `https://a.example` or `http://a.example:8080`.
    pub origin: String,
    /// Its items.
    pub local_storage: Vec<StateItem>,
}

/// An item of local storage. `Debug` leaves out its value.
#[derive(Clone, PartialEq, Eq)]
pub struct StateItem {
    /// The name.
    pub name: String,
    /// The value, which is often a secret.
    pub value: String,
}

impl fmt::Debug for StateItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateItem").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Number of characters from which on a value is a secret, whatever it is.
const MIN_VALUE: usize = 8;

/// Number of characters from which on a value with letters and digits is a secret.
const MIN_MIXED: usize = 6;

/// Number of characters from which on a part of a value is a secret, if it has letters and digits.
const MIN_PART: usize = 16;

/// Number of changes between letters and digits from which on a shorter part is a secret, too: `hv7k2m9q4` has seven, `user1234` has one.
const MIN_CHANGES: usize = 5;

/// Maximum length of a part with characters of base64 in it, such as `/`, in characters. Longer ones are pictures.
const MAX_BASE64: usize = 512;

/// Number of JSON texts, one inside the other, that are read.
const MAX_NESTED: usize = 3;

/// Words of a name that make its value a secret, wherever they are in it.
const SECRET_NAMES: &[&str] = &[
    "token",
    "secret",
    "passw",
    "passphrase",
    "passcode",
    "session",
    "sessid",
    "apikey",
    "jwt",
    "csrf",
    "xsrf",
    "credential",
    "bearer",
];

/// Words that do so only as whole words of a name: `shipping` is no `pin`, and `author` no `auth`.
const SECRET_WORDS_OF_NAMES: &[&str] =
    &["pass", "pwd", "pin", "auth", "authorization", "sess", "sid", "otp", "signature"];

/// Words that do so at the end of a name only, and for a value that is no plain word.
const LIKELY_NAMES: &[&str] = &["access", "code", "cookie", "key", "refresh"];

/// Maximum length of a value that is a secret as a whole, in bytes. Of a longer one only parts are: no site uses it to log in.
const MAX_VALUE: usize = 4096;

impl StorageState {
    /// Returns the values of cookies and of local storage that are secrets, and the parts of them that are: a page may show the token that a
    /// JSON text in its storage contains.
    ///
    /// A part is a string in a JSON text, or a value of a list such as `a=b&c=d`. It is a secret if its name says so, such as `pin`, and it is
    /// as long as a whole value has to be; or if it looks like a token, whatever its name is. Other parts are words of pages: a theme, a
    /// language, the name of the user.
    #[must_use]
    pub fn secrets(&self) -> BTreeSet<String> {
        let cookies = self.cookies.iter().map(|cookie| &cookie.value);
        let items = self.origins.iter().flat_map(|origin| &origin.local_storage).map(|item| &item.value);
        let mut secrets = BTreeSet::new();
        for value in cookies.chain(items) {
            // Many cookies are percent-encoded, and a page shows them decoded.
            for text in [Some(value.clone()), percent_decoded(value)].into_iter().flatten() {
                secrets.extend(tokens(&text).map(str::to_owned));
                add_members(&text, &mut secrets);
                if is_secret(&text) {
                    secrets.insert(text);
                }
            }
        }
        secrets
    }
}

/// Returns true for a value that is a secret as a whole.
fn is_secret(value: &str) -> bool {
    let count = value.chars().count();
    value.len() <= MAX_VALUE && (count >= MIN_VALUE || (count >= MIN_MIXED && is_mixed(value)))
}

/// Returns true for a text with letters and digits.
fn is_mixed(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && text.contains(|c: char| c.is_ascii_alphabetic())
}

/// Returns the parts of a text that look like tokens, by themselves and with what base64 has between them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '+'));
    let tokens = parts.filter(|part| (MIN_PART..=MAX_VALUE).contains(&part.len()) && is_mixed(part));
    let runs = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '+' | '/' | '=' | '.'));
    // In `sid=abc`, the name is no part of the token.
    let runs = runs.map(|run| {
        run.trim_end_matches('=').rsplit_once('=').map_or(run, |(name, _)| run.get(name.len() + 1..).unwrap_or(run))
    });
    tokens.chain(runs.filter(|run| is_base64(run)))
}

/// Returns true for a text that looks like a token in base64, or like several with dots between them, and not like a path or a part of a URL.
fn is_base64(text: &str) -> bool {
    (MIN_PART..=MAX_BASE64).contains(&text.len())
        && is_mixed(text)
        && text.contains(|c: char| c.is_ascii_lowercase())
        && text.contains(|c: char| c.is_ascii_uppercase())
        && !text.starts_with(['/', '.'])
        && !text.contains("//")
        && !has_file_ending(text)
}

/// Returns true for what ends as a file or a version does: a dot with less than eight letters or digits behind it.
fn has_file_ending(text: &str) -> bool {
    text.rsplit_once('.').is_some_and(|(_, end)| end.len() < 8)
}

/// Adds the secrets among the strings of a JSON text, or among the values of a list such as `a=b&c=d`.
fn add_members(text: &str, secrets: &mut BTreeSet<String>) {
    if text.starts_with(['{', '[']) {
        if let Ok(json) = serde_json::from_str(text) {
            add_strings(&json, "", MAX_NESTED, secrets);
        }
        return;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
    let pairs: Option<Vec<_>> = text.split('&').map(|pair| pair.split_once('=')).collect();
    let pairs = pairs.filter(|pairs| pairs.iter().all(|(name, _)| !name.is_empty() && name.chars().all(is_name)));
    for (name, value) in pairs.unwrap_or_default() {
        add_member(name, value, secrets);
        if let Some(decoded) = percent_decoded(value) {
            add_member(name, &decoded, secrets);
        }
    }
}

/// Adds the secrets among the strings below a member of this name. JSON texts in strings are read, too.
fn add_strings(json: &serde_json::Value, name: &str, left: usize, secrets: &mut BTreeSet<String>) {
    match json {
        serde_json::Value::String(text) => {
            let inner = text.starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten();
            match (inner, left.checked_sub(1)) {
                (Some(inner), Some(left)) => add_strings(&inner, name, left, secrets),
                _ => add_member(name, text, secrets),
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| add_strings(item, name, left, secrets)),
        serde_json::Value::Object(members) => {
            for (member, json) in members {
                // `{"token":{"value":"..."}}`
                add_strings(json, if member == "value" { name } else { member }, left, secrets);
            }
        }
        _ => {}
    }
}

/// Adds the value of a member if it is a secret.
fn add_member(name: &str, value: &str, secrets: &mut BTreeSet<String>) {
    let is_plain = value.chars().all(|c| c.is_ascii_lowercase());
    let is_named = match secrecy(name) {
        Some(Secrecy::Sure) => true,
        Some(Secrecy::Likely) => !is_plain,
        None => false,
    };
    if is_secret(value) && (is_named || is_token(value)) {
        secrets.insert(value.to_owned());
    }
}

/// Returns true for a value that looks like a token: letters and digits that alternate, without blanks or what dates, addresses and lists have.
fn is_token(value: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '=' | '.' | '~');
    let classes: Vec<_> = value.chars().filter(char::is_ascii_alphanumeric).map(|c| c.is_ascii_digit()).collect();
    let changes = classes.windows(2).filter(|pair| pair.first() != pair.last()).count();
    value.chars().all(is_part) && (changes >= MIN_CHANGES || is_base64(value))
}

/// Certainty, by its name, that a value logs somebody in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Secrecy {
    Sure,
    /// Unless it is a plain word.
    Likely,
}

/// Returns how sure it is by its name that a value logs somebody in, if its name says so.
fn secrecy(name: &str) -> Option<Secrecy> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        // `sessionId`, `session_id` and `SESSION-ID` have two words.
        if (c.is_uppercase() && was_lower) || !c.is_alphanumeric() {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    let is_in = |text: &str| SECRET_NAMES.iter().any(|secret| text.contains(secret));
    let pairs = || words.windows(2).map(<[String]>::concat);
    if words.iter().any(|word| is_in(word)) || pairs().any(|pair| SECRET_NAMES.contains(&pair.as_str())) {
        return Some(Secrecy::Sure);
    }
    if words.iter().any(|word| SECRET_WORDS_OF_NAMES.contains(&word.as_str())) {
        return Some(Secrecy::Sure);
    }
    words.last().is_some_and(|word| LIKELY_NAMES.contains(&word.as_str())).then_some(Secrecy::Likely)
}

/// Returns a text without percent-encoding, or `None` if it has none or is no text then.
fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::new();
    let mut parts = text.split('%');
    decoded.extend(parts.next()?.bytes());
    let mut has_escape = false;
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let (Some(byte), Some(rest)) = (byte, part.get(2..)) {
            has_escape = true;
            decoded.push(byte);
            decoded.extend(rest.bytes());
        } else {
            decoded.push(b'%');
            decoded.extend(part.bytes());
        }
    }
    String::from_utf8(decoded).ok().filter(|_| has_escape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{StateItem, StateOrigin};

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

    fn secrets(value: &str) -> Vec<String> {
        let item = StateItem { name: "name-of-an-item-1".to_owned(), value: value.to_owned() };
        let origin = StateOrigin { origin: "https://a.example".to_owned(), local_storage: vec![item] };
        StorageState { cookies: Vec::new(), origins: vec![origin] }.secrets().into_iter().collect()
    }

    #[test]
    fn long_or_mixed_values_are_secrets() {
        for value in ["password", "two words", "12345678", "a1b2c3", "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"]
        {
            assert_eq!(secrets(value), [value]);
        }
        for value in ["", "true", "dark", "en-US", "1", "123456", "a1b2", "1234567"] {
            assert!(secrets(value).is_empty(), "{value}");
        }
    }

    #[test]
    fn tokens_inside_values_are_secrets() {
        let value = r#"{"theme":"light","token":"0a1b2c3d4e5f6a7b8c9d","site":"https://a.example/path/to/page"}"#;
        assert_eq!(secrets(value), ["0a1b2c3d4e5f6a7b8c9d", value]);
        let long = format!("{value}{}", " ".repeat(MAX_VALUE));
        assert_eq!(secrets(&long), ["0a1b2c3d4e5f6a7b8c9d"]);
    }

    // Requirement 6.3.
    #[test]
    fn members_that_are_named_or_look_so_are_secrets() {
        let parts = |value: &str| -> Vec<String> { secrets(value).into_iter().filter(|part| part != value).collect() };
        for (value, expected) in [
            (
                r#"{"token":"q83vEjRWeJA/kL+fZw1s2Q==","sess":"hv7k2m9q4x1z","pin":"correct-horse-battery"}"#,
                &["correct-horse-battery", "hv7k2m9q4x1z", "q83vEjRWeJA/kL+fZw1s2Q=="][..],
            ),
            ("u=bob&sid=abc123def456xy", &["abc123def456xy"]),
            ("sid=abcdefgh&lang=en-US-long", &["abcdefgh"]),
            // Whatever the name is.
            (r#"[{"v":"a1b2c3d4"},{"v":"q83vEjRWeJA/kL+fZw1s2Q=="}]"#, &["a1b2c3d4", "q83vEjRWeJA/kL+fZw1s2Q=="]),
            (r#"{"accessToken":{"value":"abcdefgh"},"userPin":["ijklmnop"]}"#, &["abcdefgh", "ijklmnop"]),
            (r#"{"auth":"{\"PHPSESSID\":\"abcdefgh\"}"}"#, &["abcdefgh"]),
            ("x q83vEjRWeJA/kL+fZw1s2Q== y", &["q83vEjRWeJA/kL+fZw1s2Q=="]),
            // Words of pages, and what is too short.
            (r#"{"theme":"dark-and-blue","language":"en-US","name":"Ada Lovelace","user":"ada-1815-12"}"#, &[]),
            (r#"{"mail":"ada@a.example","at":"2024-05-01T10:00:00Z","shipping":"standard","author":"Somebody"}"#, &[]),
            (r#"{"site":"https://a.example/Path/to/page-17","pin":"abcd","n":12345678,"picture":"img_0001.jpg"}"#, &[]),
            (r#"{"cookieConsent":"accepted","key":"dashboard","access":"readwrite","compassWidth":"fullwidth"}"#, &[]),
            (r#"{"agent":"Chrome/120.0.6099.109","file":"images/Header2024.png"}"#, &[]),
            ("theme=dark-and-blue&name=Lovelace", &[]),
            ("no pair & sid=abcdefgh", &[]),
        ] {
            assert_eq!(parts(value), expected, "{value}");
        }
    }

    #[test]
    fn percent_encoded_values_are_secrets_decoded_too() {
        assert_eq!(secrets("s%3Aa%2fb%c3%a9cdef"), ["s%3Aa%2fb%c3%a9cdef", "s:a/b\u{e9}cdef"]);
        assert_eq!(secrets("100% of %+f and %4"), ["100% of %+f and %4"]);
        assert_eq!(secrets("no text: %ff"), ["no text: %ff"]);
    }
}
