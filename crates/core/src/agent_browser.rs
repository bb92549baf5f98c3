//! The kinds of agent-browser, and the version of each that the tests run with.
//!
//! Other places name a kind, never a version. What is known of agent-browser's command line is that of the versions 0.9.4 to 0.41.2.

/// Kind of an agent-browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentBrowser {
    /// A command line whose daemon runs in Node: up to 0.19.
    Node,
    /// One native program, which is its own daemon: since 0.20.
    Native,
}

impl AgentBrowser {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Node, Self::Native];

    /// Returns the version of this kind that the tests run with. Others may work, and `browser-shell doctor` warns of them.
    #[must_use]
    pub const fn tested_version(self) -> &'static str {
        match self {
            Self::Node => "0.19.0",
            Self::Native => "0.41.2",
        }
    }
}
