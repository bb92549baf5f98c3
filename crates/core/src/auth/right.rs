//! Rights: the things that a request can ask for, with the scope that each needs.

use crate::auth::scope::Scope;
use crate::policy::SessionAccess;

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
