//! Rights: the things that a request can ask for, with the scope that each needs.

use crate::auth::scope::Scope;
use crate::policy::SessionAccess;

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
    /// The screen shows the windows of all sessions. So where a session belongs to its subject, the screen is for `admin` only.
    #[must_use]
    pub const fn scope(self, sessions: SessionAccess) -> Scope {
        match (self, sessions) {
            (Self::CallTool, _) | (Self::ControlScreen, SessionAccess::Any) => Scope::Drive,
            (Self::OpenViewer | Self::IssueTicket | Self::WatchScreen, SessionAccess::Any) => Scope::Watch,
            (Self::OpenViewer | Self::IssueTicket | Self::WatchScreen | Self::ControlScreen, SessionAccess::Own) => {
                Scope::Admin
            }
        }
    }
}
