//! Values of a storage state that no answer may contain.

use std::collections::BTreeSet;

use super::browser::StorageState;

/// Number of characters from which on a value is a secret, whatever it is.
const MIN_VALUE: usize = 8;

/// Number of characters from which on a value with letters and digits is a secret.
const MIN_MIXED: usize = 6;

/// Number of characters from which on a part of a value is a secret, if it has letters and digits.
const MIN_PART: usize = 16;

/// Maximum length of a value that is a secret as a whole, in bytes. Of a longer one only parts are: no site uses it to log in.
const MAX_VALUE: usize = 4096;

impl StorageState {
    /// Returns the values of cookies and of local storage that are secrets, and the parts of them that look like tokens: a page
    /// may show the token that a JSON text in its storage contains.
    #[must_use]
    pub fn secrets(&self) -> BTreeSet<String> {
        let cookies = self.cookies.iter().map(|cookie| &cookie.value);
        let items = self.origins.iter().flat_map(|origin| &origin.local_storage).map(|item| &item.value);
        let mut secrets = BTreeSet::new();
        for value in cookies.chain(items) {
            // Many cookies are percent-encoded, and a page shows them decoded.
            for text in [Some(value.clone()), percent_decoded(value)].into_iter().flatten() {
                secrets.extend(tokens(&text).map(str::to_owned));
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

/// Returns the parts of a text that look like tokens.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '+'));
    parts.filter(|part| (MIN_PART..=MAX_VALUE).contains(&part.len()) && is_mixed(part))
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

    #[test]
    fn percent_encoded_values_are_secrets_decoded_too() {
        assert_eq!(secrets("s%3Aa%2fb%c3%a9cdef"), ["s%3Aa%2fb%c3%a9cdef", "s:a/b\u{e9}cdef"]);
        assert_eq!(secrets("100% of %+f and %4"), ["100% of %+f and %4"]);
        assert_eq!(secrets("no text: %ff"), ["no text: %ff"]);
    }
}
