//! Section `browser` of the policy file, and storage states.

use super::fields::{Fields, read};
use super::paths::PathKind;
use super::state_text::{COOKIE_DOMAIN, COOKIE_NAME, COOKIE_PATH, COOKIE_VALUE, Expiry, ORIGIN};
use super::text::{ANY, SESSION_PATTERN, SUBJECT};
use super::value::{Choice, FlagValue};
use crate::json;
use crate::policy::browser::{
    BrowserRules, BrowserState, Isolation, SameSite, StateCookie, StateItem, StateOrigin, StateSource, StorageState,
};
use crate::policy::problem::Problem;
use crate::policy::session_pattern::{SessionSelector, SubjectChoice};

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
    cookie
}

fn origin(fields: &mut Fields<'_>) -> StateOrigin {
    let mut origin = StateOrigin { origin: String::new(), local_storage: Vec::new() };
    fields.required("origin", "Scheme, host and port, such as https://a.example.", &ORIGIN, &mut origin.origin);
    origin.local_storage = fields.objects("localStorage", "Its items.", item).unwrap_or_default();
    origin
}

fn item(fields: &mut Fields<'_>) -> StateItem {
    let mut item = StateItem { name: String::new(), value: String::new() };
    fields.required("name", "The name.", &ANY, &mut item.name);
    fields.required("value", "The value.", &ANY, &mut item.value);
    item
}

#[cfg(test)]
mod tests;
