//! Masking of secrets in output.
//!
//! Requirement 1.8. Masks the values of sensitive keys, bearer tokens, JWTs, tokens with public prefixes, private keys and user
//! information in URLs. When in doubt, a value is masked. [`Literals`] masks secrets that are known. Masking prevents accidents; a page that encodes a secret can still show it.
//!
//! Invariant: in the tree of a snapshot, only texts of the page are masked, never roles, quotes, brackets and references.
//!
//! ```
//! use browser_shell_core::output::mask;
//! use serde_json::json;
//!
//! assert_eq!(mask::text("Authorization: Bearer abc.def"), "Authorization: ***");
//! assert_eq!(mask::text("the secret is out"), "the secret is out");
//!
//! let mut data = json!({ "title": "Shop", "accessToken": "hunter2", "url": "https://user:hunter2@example.com/" });
//! mask::json(&mut data);
//! assert_eq!(data, json!({ "title": "Shop", "accessToken": "***", "url": "https://***@example.com/" }));
//! ```

mod encoding;
mod literals;
mod rules;
mod split;
mod tree;

use std::borrow::Cow;

use serde_json::Value;

use rules::{Quotes, apply_rules};

pub(crate) use literals::joined;
pub use literals::{Literals, Pieces, SentPieces};
pub use rules::MASK;
pub(crate) use split::is_of_word;

/// Parts of sensitive keys, in lower case and without separators.
const SENSITIVE: &[&str] = &[
    "token",
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "cookie",
    "secret",
    "apikey",
    "privatekey",
    "credential",
];

/// Masks secrets in a text.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    // Every kind of secret contains one of these or is long, and most short texts of a page contain none.
    if text.len() < rules::SHORTEST && !text.contains([':', '=', '.', ' ', '\t']) {
        return Cow::Borrowed(text);
    }
    if tree::has_lines(text) { tree::mask(text) } else { apply_rules(text, Quotes::Masked) }
}

/// Masks secrets in data in place: every value of a sensitive key, and secrets inside other strings.
pub fn json(value: &mut Value) {
    match value {
        Value::String(string) => {
            if let Cow::Owned(masked) = text(string) {
                *string = masked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(json),
        Value::Object(members) => {
            for (name, member) in members {
                if is_sensitive(name) { mask_all(member) } else { json(member) }
            }
        }
        _ => {}
    }
}

/// Returns `true` if a key, or the name of a field, says that its value is a secret.
pub(crate) fn is_sensitive(key: &str) -> bool {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    SENSITIVE.iter().any(|part| plain.contains(part))
}

/// Masks every string and number below a sensitive key.
fn mask_all(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() => {}
        Value::String(_) | Value::Number(_) => *value = MASK.into(),
        Value::Array(items) => items.iter_mut().for_each(mask_all),
        Value::Object(members) => members.values_mut().for_each(mask_all),
        Value::Bool(_) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    // Requirement 1.8.
    #[test]
    fn secrets_in_text_are_masked() {
        let rows: &[(&str, &str)] = &[
            ("https://user:hunter2@example.com/a", "https://***@example.com/a"),
            ("see postgres://app:hunter2@db:5432/x now", "see postgres://***@db:5432/x now"),
            ("Authorization: Bearer abc.def-123", "Authorization: ***"),
            ("authorization: Basic dXNlcjpwYXNz", "authorization: ***"),
            ("got bearer abcd1234 back", "got bearer *** back"),
            ("Set-Cookie: sid=hunter2; Path=/", "Set-Cookie: ***"),
            ("Cookie: sid=hunter2", "Cookie: ***"),
            ("password=hunter2&next=/", "password=***&next=/"),
            ("https://example.com/?access_token=hunter2&x=1", "https://example.com/?access_token=***&x=1"),
            ("{\"api_key\":\"hunter2\",\"n\":1}", "{\"api_key\":***,\"n\":1}"),
            ("client_secret: 'hunter 2'", "client_secret: ***"),
            ("X-Api-Key: hunter2", "X-Api-Key: ***"),
            ("token: \"hun\"ter2 next", "token: *** next"),
            ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl end", "jwt *** end"),
            ("- textbox \"Password\" [ref=e2]: hunter2 with spaces", "- textbox \"Password\" [ref=e2]: ***"),
            (
                "  - textbox \"API key\" [active] [ref=e3]: hunter2\n- link \"Home\"",
                "  - textbox \"API key\" [active] [ref=e3]: ***\n- link \"Home\"",
            ),
        ];
        for (given, expected) in rows {
            assert_eq!(text(given), *expected);
        }
    }

    // Requirement 1.8.
    #[test]
    fn ordinary_text_is_not_masked() {
        for given in [
            "- link \"Forgot password?\" [ref=e5]",
            "- link \"Forgot password?\" [ref=e5]:\n  - text: reset",
            "Cookie policy and cookies: read more",
            "mail me@example.com about tokens",
            "https://example.com/@user/a?b=c",
            "https://example.com/path?to=a@b",
            "the secret is out",
            "Bearer of news",
            "eyJ is how they begin",
            "- textbox \"Name\" [ref=e1]: Ada",
            "",
        ] {
            assert_eq!(text(given), given);
        }
    }

    // Requirement 1.8.
    #[test]
    fn secrets_in_data_are_masked() {
        let mut data = json!({
            "title": "Shop", "accessToken": "hunter2", "password": 12345, "nested": {"Set-Cookie": ["a=1", {"x": "hunter2"}], "ok": "fine"},
            "api-key": "", "hasPassword": true, "url": "https://u:hunter2@example.com/", "list": ["token=hunter2"], "refs": {"e1": {"role": "textbox", "name": "Password"}}
        });
        json(&mut data);
        assert_eq!(
            data,
            json!({
                "title": "Shop", "accessToken": "***", "password": "***", "nested": {"Set-Cookie": ["***", {"x": "***"}], "ok": "fine"},
                "api-key": "", "hasPassword": true, "url": "https://***@example.com/", "list": ["token=***"], "refs": {"e1": {"role": "textbox", "name": "Password"}}
            })
        );
    }

    proptest! {
        /// Masking a second time changes nothing.
        #[test]
        fn masking_is_idempotent(given in "(token|password|Bearer|eyJabcd\\.efgh|https://a:b@c|ghp_[a-z]{36}|AKIA[A-Z]{16}|xoxb-[a-z]{10}|-----(BEGIN|END) PRIVATE KEY-----|[=: \"'a]){0,12}") {
            let once = text(&given).into_owned();
            let twice = text(&once).into_owned();
            prop_assert_eq!(&twice, &once);
        }

        /// The shortcut skips no text that a rule would mask.
        #[test]
        fn mask_fast_path_misses_no_secret(given in "(token|password|Bearer|cookie|eyJabcd|AKIA[A-Z]{16}|xoxb-[a-z]{10}|[: =.\t\n'\"a]|\\PC){0,12}") {
            prop_assert_eq!(text(&given), apply_rules(&given, Quotes::Masked));
        }

        #[test]
        fn values_under_password_keys_are_always_masked(secret in "[A-Za-z0-9!]{6,20}", separator in "(=|: |:| = )") {
            let given = format!("password{separator}{secret}");
            prop_assert!(!text(&given).contains(&secret));
        }
    }
}
