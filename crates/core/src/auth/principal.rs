//! Principals: the subject and the scope of a request, with the evidence for them, and the rights that they give.
//!
//! Invariants: evidence contains nothing that could be used as a credential, and its `Debug` shows no part of it.

use std::fmt;
use std::time::Duration;

use crate::decision::{Code, Decision};
use crate::policy::SessionAccess;
use crate::session_id::Subject;
use crate::shares::Party;

/// Subject and scope of a request, with the evidence for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Subject, if the credential names one.
    pub subject: Option<Subject>,
    /// Scope, if the credential gives one.
    pub scope: Option<Scope>,
    /// Evidence of the credential.
    pub evidence: Evidence,
}

impl Principal {
    /// Returns the principal of every request to a server without credentials.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self { subject: None, scope: Some(Scope::Admin), evidence: Evidence::None }
    }

    /// Returns the party whose shares this principal uses.
    #[must_use]
    pub fn party(&self) -> Party {
        match self.evidence {
            Evidence::None => Party::Anyone,
            Evidence::ApiKey(_) | Evidence::Token { .. } => Party::Subject(self.subject.clone()),
        }
    }

    /// Returns true if this principal has the subject of another one, and its scope or a greater one.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let has_scope = other.scope.is_none_or(|scope| self.scope.is_some_and(|own| own.contains(scope)));
        has_scope && self.subject == other.subject
    }

    /// Decides if this principal has a right, under the policy's rule for sessions and with this screen.
    ///
    /// # Errors
    ///
    /// `scope-insufficient` with the scope that is needed.
    pub fn demand(&self, right: Right, sessions: SessionAccess, screen: ScreenContent) -> Result<(), Decision> {
        let needed = right.scope(sessions, screen);
        if self.scope.is_some_and(|scope| scope.contains(needed)) {
            return Ok(());
        }
        Err(Decision::new(Code::ScopeInsufficient, format!("this needs the scope {needed}")))
    }
}

/// Evidence of a credential.
#[derive(Clone, PartialEq, Eq)]
pub enum Evidence {
    /// No credential: the server needs none.
    None,
    /// API key, by its SHA-256.
    ApiKey([u8; 32]),
    /// Token.
    Token {
        /// SHA-256 of the public key that verified it.
        key: [u8; 32],
        /// Time since 1970 at which it expires, with the tolerance for clocks that differ; `None` if it never does.
        end: Option<Duration>,
    },
}

impl fmt::Debug for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::ApiKey(_) => "ApiKey",
            Self::Token { .. } => "Token",
        })
    }
}

/// Scope of a credential. A greater one contains the smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Seeing the screen, without any input to it.
    Watch,
    /// Using the browser: by the tool, and by the screen's pointer and keyboard.
    Drive,
    /// Using the sessions of every subject.
    Admin,
}

impl Scope {
    /// All scopes, smallest first.
    pub const ALL: &[Self] = &[Self::Watch, Self::Drive, Self::Admin];

    /// Returns the name in tokens and in files of API keys.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Drive => "drive",
            Self::Admin => "admin",
        }
    }

    /// Parses a name. Returns `None` for a name that is no scope.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scope| scope.as_str() == name)
    }

    /// Returns true if this scope includes another one.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self >= other
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Content of the screen of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScreenContent {
    /// Windows of all sessions.
    Windows,
    /// Page of one session, of those that the viewer may see.
    Page,
}

/// Something that a request or a message of the screen asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Right {
    /// Using the tool (`/mcp`).
    CallTool,
    /// Loading the viewer's page (`/vnc/`).
    OpenViewer,
    /// Getting a viewer ticket (`POST /tickets`).
    IssueTicket,
    /// Receiving the screen (`/websockify`).
    WatchScreen,
    /// Sending the screen input: pointer, keys and clipboard.
    ControlScreen,
}

impl Right {
    /// All rights.
    pub const ALL: &[Self] =
        &[Self::CallTool, Self::OpenViewer, Self::IssueTicket, Self::WatchScreen, Self::ControlScreen];

    /// Returns the name in audit lines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CallTool => "call-tool",
            Self::OpenViewer => "open-viewer",
            Self::IssueTicket => "issue-ticket",
            Self::WatchScreen => "watch-screen",
            Self::ControlScreen => "control-screen",
        }
    }

    /// Returns the scope that this right needs.
    ///
    /// A screen with the windows of all sessions is for `admin` only where a session belongs to its subject.
    #[must_use]
    pub const fn scope(self, sessions: SessionAccess, screen: ScreenContent) -> Scope {
        match (self, sessions, screen) {
            (Self::CallTool, ..) => Scope::Drive,
            (_, SessionAccess::Own, ScreenContent::Windows) => Scope::Admin,
            (Self::ControlScreen, ..) => Scope::Drive,
            (Self::OpenViewer | Self::IssueTicket | Self::WatchScreen, ..) => Scope::Watch,
        }
    }
}
