//! Program that reads pages for the subcommand `snapshot`.

/// Section `snapshot`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotRules {
    /// Program that reads pages.
    pub engine: SnapshotEngine,
}

/// Program that reads pages and numbers their elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SnapshotEngine {
    /// agent-browser.
    #[default]
    AgentBrowser,
    /// The control gate.
    Gate,
}

impl SnapshotEngine {
    /// All programs.
    pub(super) const ALL: &[Self] = &[Self::AgentBrowser, Self::Gate];

    /// Returns the name in the policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentBrowser => "agent-browser",
            Self::Gate => "gate",
        }
    }
}
