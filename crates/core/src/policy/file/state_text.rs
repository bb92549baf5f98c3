//! Kinds of text and numbers in a storage state. No message repeats a value, which is often a secret.

use serde_json::{Value, json};
use url::Url;

use super::text::Text;
use super::value::{FieldKind, InvalidValue};
use crate::policy::url::normalize_host;

const NAME_SYNTAX: &str = "the name of a cookie, without `=`, `;`, blanks and control characters";
const VALUE_SYNTAX: &str = "the value of a cookie, without `;` and control characters";
const DOMAIN_SYNTAX: &str = "a host such as `example.com` or `.example.com`";
const PATH_SYNTAX: &str = "a path that begins with `/`, without `;` and control characters";
const ORIGIN_SYNTAX: &str = "an origin such as `https://a.example`, without a path";

/// The name of a cookie.
pub(super) const COOKIE_NAME: Text<String> = Text {
    expected: NAME_SYNTAX,
    pattern: "^[^=;]+$",
    parse: |text| {
        let is_valid = !text.is_empty() && !text.contains(|c: char| matches!(c, '=' | ';' | ' ') || c.is_control());
        plain(text, is_valid, NAME_SYNTAX)
    },
};

/// The value of a cookie.
pub(super) const COOKIE_VALUE: Text<String> = Text {
    expected: VALUE_SYNTAX,
    pattern: "^[^;]*$",
    parse: |text| plain(text, !text.contains(|c: char| c == ';' || c.is_control()), VALUE_SYNTAX),
};

/// The host of a cookie, normalized, with its leading dot if it has one.
pub(super) const COOKIE_DOMAIN: Text<String> = Text {
    expected: DOMAIN_SYNTAX,
    pattern: r"^\.?[^.*/@][^*/@]*$",
    parse: |text| {
        let (dot, host) = text.strip_prefix('.').map_or(("", text), |host| (".", host));
        let host = normalize_host(host).map_err(|_| InvalidValue::from_message(format!("must be {DOMAIN_SYNTAX}")))?;
        Ok(format!("{dot}{host}"))
    },
};

/// The path of a cookie.
pub(super) const COOKIE_PATH: Text<String> = Text {
    expected: PATH_SYNTAX,
    pattern: "^/[^;]*$",
    parse: |text| {
        let is_valid = text.starts_with('/') && !text.contains(|c: char| c == ';' || c.is_control());
        plain(text, is_valid, PATH_SYNTAX)
    },
};

/// An http or https origin, normalized.
pub(super) const ORIGIN: Text<String> = Text {
    expected: ORIGIN_SYNTAX,
    pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^/@?#]+/?$",
    parse: |text| {
        let url = Url::parse(text).ok().filter(|url| {
            let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
            matches!(url.scheme(), "http" | "https") && is_bare && url.username().is_empty() && url.password().is_none()
        });
        let url = url.ok_or_else(|| InvalidValue::from_message(format!("must be {ORIGIN_SYNTAX}")))?;
        Ok(url.origin().ascii_serialization())
    },
};

fn plain(text: &str, is_valid: bool, expected: &str) -> Result<String, InvalidValue> {
    if is_valid { Ok(text.to_owned()) } else { Err(InvalidValue::from_message(format!("must be {expected}"))) }
}

/// The time at which a cookie expires, in seconds since 1970; -1 for a cookie that ends with the session.
pub(super) struct Expiry;

/// The last second of the year 9999.
const LATEST: f64 = 253_402_300_799.0;

impl FieldKind for Expiry {
    type Output = Option<u64>;

    fn schema(&self) -> Value {
        json!({ "anyOf": [{ "const": -1 }, { "type": "number", "minimum": 0, "maximum": LATEST }] })
    }

    fn read(&self, value: &Value) -> Result<Option<u64>, InvalidValue> {
        match value.as_f64() {
            Some(-1.0) => Ok(None),
            // Browsers save fractions of a second.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
            Some(seconds) if (0.0..=LATEST).contains(&seconds) => Ok(Some(seconds as u64)),
            _ => Err(InvalidValue::from_message("must be -1 or a time in seconds since 1970")),
        }
    }
}
