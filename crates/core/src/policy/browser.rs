//! Sessions in the browser: their isolation, and the state that they begin with.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::session_pattern::SessionSelector;

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
