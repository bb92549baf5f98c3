//! Program that carries out the calls of a session.

/// Program that carries out the calls of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// This program itself, over the debugging protocol.
    Cdp,
    /// The CLI agent-browser.
    AgentBrowser,
}

impl Engine {
    /// All engines.
    pub(super) const ALL: &[Self] = &[Self::Cdp, Self::AgentBrowser];

    /// Engines by their names in the older field `snapshot.engine`.
    pub(super) const OLD_NAMES: &[(&'static str, Self)] = &[("agent-browser", Self::AgentBrowser), ("gate", Self::Cdp)];

    /// Returns the name in the policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cdp => "cdp",
            Self::AgentBrowser => "agent-browser",
        }
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
