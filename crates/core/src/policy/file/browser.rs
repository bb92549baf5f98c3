//! Section `browser` of the policy file, and storage states. No message repeats a value of a state, which is often a secret.

use serde_json::{Value, json};
use url::Url;

use super::fields::{Choice, FieldKind, Fields, FlagValue, InvalidValue, read, type_name};
use super::text::{ANY, PathKind, SESSION_PATTERN, SUBJECT, Text};
use crate::json::{self, Problem};
use crate::policy::browser::{
    BrowserRules, BrowserState, CookiePartition, Isolation, SameSite, SessionSelector, StateCookie, StateItem,
    StateOrigin, StateSource, StorageState, SubjectChoice,
};
use crate::policy::url::normalize_host;

impl StorageState {
    /// Parses the text of a file with a storage state, as Playwright saves it.
    ///
    /// # Errors
    ///
    /// Every problem of the text. No problem repeats a value.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut state = Self::default();
        match json::parse(text, &mut problems) {
            Ok(value) => read("", &value, None, &mut problems, |fields| storage_state(fields, &mut state)),
            Err(problem) => problems.push(problem),
        }
        if problems.is_empty() { Ok(state) } else { Err(problems) }
    }
}

pub(super) fn browser(fields: &mut Fields<'_>, browser: &mut BrowserRules) {
    let text = "session: each session has cookies, storage and tabs of its own. shared: all sessions have the same. Default: session where browser-shell starts Chromium for many sessions, shared elsewhere.";
    let kinds = Isolation::ALL.iter().map(|kind| (kind.as_str(), Some(*kind)));
    fields.field("isolation", text, &Choice::new(kinds), &mut browser.isolation);
    let text = "Cookies and local storage that a session begins with, by session id; * stands for any characters. The first entry that matches applies.";
    let states = fields.members("state", text, &SESSION_PATTERN, state_source);
    let states = states.into_iter().map(|(pattern, (subject, source))| {
        let selector = SessionSelector { pattern, subject };
        BrowserState { selector, source }
    });
    browser.state = states.collect();
}

/// Reads the subject of a rule for sessions.
pub(super) fn subject(fields: &mut Fields<'_>, description: &str) -> Option<SubjectChoice> {
    let mut subject = None;
    fields.field("subject", description, &SUBJECT, &mut subject);
    subject
}

fn state_source(fields: &mut Fields<'_>) -> (Option<SubjectChoice>, StateSource) {
    let text = "The subject whose sessions begin with it, or * for those of any. It needs access.sessions to be own, and a server with credentials needs it.";
    let subject = subject(fields, text);
    let path = PathKind { home: fields.home() };
    let mut file = None;
    let text = "The file that holds the state, in the form that Playwright saves. Absolute or below ~.";
    fields.field("file", text, &path, &mut file);
    let mut state = StorageState::default();
    storage_state(fields, &mut state);
    for name in ["cookies", "origins"] {
        fields.excludes(name, "file", "cannot be combined with `file`; keep one of them");
    }
    fields.needs_a_member("is empty; name a `file`, or `cookies` and `origins`");
    (subject, file.map_or(StateSource::Inline(state), StateSource::File))
}

fn storage_state(fields: &mut Fields<'_>, state: &mut StorageState) {
    state.cookies = fields.objects("cookies", "Cookies.", cookie).unwrap_or_default();
    state.origins = fields.objects("origins", "Local storage, by origin.", origin).unwrap_or_default();
}

fn cookie(fields: &mut Fields<'_>) -> StateCookie {
    let mut cookie = StateCookie {
        name: String::new(),
        value: String::new(),
        domain: String::new(),
        path: String::new(),
        expires: None,
        http_only: false,
        secure: false,
        same_site: None,
        partition: None,
    };
    fields.required("name", "The name.", &COOKIE_NAME, &mut cookie.name);
    fields.required("value", "The value.", &COOKIE_VALUE, &mut cookie.value);
    let text = "The host, with a leading dot if the cookie is for its subdomains too.";
    fields.required("domain", text, &COOKIE_DOMAIN, &mut cookie.domain);
    fields.required("path", "The path.", &COOKIE_PATH, &mut cookie.path);
    let text = "Seconds since 1970; -1 for a cookie that ends with the session. Default: -1.";
    fields.field("expires", text, &Expiry, &mut cookie.expires);
    fields.field("httpOnly", "True if scripts cannot read it. Default: false.", &FlagValue, &mut cookie.http_only);
    fields.field("secure", "True if it is for https only. Default: false.", &FlagValue, &mut cookie.secure);
    let text = "The requests from other sites that have the cookie. Default: the browser's.";
    let values = SameSite::ALL.iter().map(|value| (value.as_str(), Some(*value)));
    fields.field("sameSite", text, &Choice::new(values), &mut cookie.same_site);
    cookie.partition = partition(fields);
    cookie
}

/// Reads the pages that have a partitioned cookie, by the two names that Playwright writes.
fn partition(fields: &mut Fields<'_>) -> Option<CookiePartition> {
    let mut site: Option<String> = None;
    let text = "The site of the tab, such as https://a.example, if the cookie is for pages in its tabs only.";
    fields.field("partitionKey", text, &ORIGIN, &mut site);
    // As Playwright takes a cookie without it.
    let mut has_cross_site_ancestor = true;
    let text = "With partitionKey: true if the cookie is for frames of other sites in these tabs. Default: true.";
    fields.field("_crHasCrossSiteAncestor", text, &FlagValue, &mut has_cross_site_ancestor);
    site.map(|top_level_site| CookiePartition { top_level_site, has_cross_site_ancestor })
}

fn origin(fields: &mut Fields<'_>) -> StateOrigin {
    let mut origin = StateOrigin { origin: String::new(), local_storage: Vec::new() };
    fields.required("origin", "Scheme, host and port, such as https://a.example.", &ORIGIN, &mut origin.origin);
    origin.local_storage = fields.objects("localStorage", "Its items.", item).unwrap_or_default();
    fields.field("indexedDB", "Databases, which are not loaded.", &IgnoredArray, &mut ());
    origin
}

fn item(fields: &mut Fields<'_>) -> StateItem {
    let mut item = StateItem { name: String::new(), value: String::new() };
    fields.required("name", "The name.", &ANY, &mut item.name);
    fields.required("value", "The value.", &ANY, &mut item.value);
    item
}

const NAME_SYNTAX: &str = "the name of a cookie, without `=`, `;`, blanks and control characters";
const VALUE_SYNTAX: &str = "the value of a cookie, without `;` and control characters";
const DOMAIN_SYNTAX: &str = "a host such as `example.com` or `.example.com`";
const PATH_SYNTAX: &str = "a path that begins with `/`, without `;` and control characters";
const ORIGIN_SYNTAX: &str = "an origin such as `https://a.example`, without a path";

/// The name of a cookie.
const COOKIE_NAME: Text<String> = Text {
    expected: NAME_SYNTAX,
    pattern: "^[^=;]+$",
    parse: |text| {
        let is_valid = !text.is_empty() && !text.contains(|c: char| matches!(c, '=' | ';' | ' ') || c.is_control());
        plain(text, is_valid, NAME_SYNTAX)
    },
};

/// The value of a cookie.
const COOKIE_VALUE: Text<String> = Text {
    expected: VALUE_SYNTAX,
    pattern: "^[^;]*$",
    parse: |text| plain(text, !text.contains(|c: char| c == ';' || c.is_control()), VALUE_SYNTAX),
};

/// The host of a cookie, normalized, with its leading dot if it has one.
const COOKIE_DOMAIN: Text<String> = Text {
    expected: DOMAIN_SYNTAX,
    pattern: r"^\.?[^.*/@][^*/@]*$",
    parse: |text| {
        let (dot, host) = text.strip_prefix('.').map_or(("", text), |host| (".", host));
        let host = normalize_host(host).map_err(|_| InvalidValue::from_message(format!("must be {DOMAIN_SYNTAX}")))?;
        Ok(format!("{dot}{host}"))
    },
};

/// The path of a cookie.
const COOKIE_PATH: Text<String> = Text {
    expected: PATH_SYNTAX,
    pattern: "^/[^;]*$",
    parse: |text| {
        let is_valid = text.starts_with('/') && !text.contains(|c: char| c == ';' || c.is_control());
        plain(text, is_valid, PATH_SYNTAX)
    },
};

/// An http or https origin, normalized.
const ORIGIN: Text<String> = Text {
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

/// An array of which nothing is read.
struct IgnoredArray;

impl FieldKind for IgnoredArray {
    type Output = ();

    fn schema(&self) -> Value {
        json!({ "type": "array" })
    }

    fn read(&self, value: &Value) -> Result<(), InvalidValue> {
        if value.is_array() { Ok(()) } else { Err(InvalidValue::new("an array", type_name(value))) }
    }
}

/// The time at which a cookie expires, in seconds since 1970; -1 for a cookie that ends with the session.
struct Expiry;

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

#[cfg(test)]
mod tests;
