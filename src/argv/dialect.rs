//! Who speaks: which rows there are for a caller, and what a file name may be.
//!
//! Decides which of the tables a command is looked up in, and whether its row needs the policy's leave. Must never take a row
//! away from what the tool refuses: what [`globals`](super::globals) forbids is back only where a table here names it.

use super::compat::COMPAT;
use super::table::{Availability, GRAMMAR, Row};
use crate::decision::Code;

/// What agent-browser calls connecting to the browser that is there, which it does before the first action of a session.
const CONNECT: &str = "launch";

/// Whose commands are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The MCP tool: the rows of [`GRAMMAR`], optional ones off unless the policy enables them; a file name is a plain name in
    /// the session's own folder.
    #[default]
    Tool,
    /// The runtime's strict profile: the same rows; a file name may be a path below the workspace, `dir/name.png` or
    /// `/workspace/dir/name.png`, and is passed on as the path relative to it.
    Strict,
    /// The runtime's compat profile: as strict, with the optional rows on and with the rows of [`COMPAT`] before them.
    Compat,
}

impl Dialect {
    /// All rows, those that replace another one of the same name first.
    pub fn rows(self) -> impl Iterator<Item = &'static Row> {
        let own = self.own();
        own.iter().chain(GRAMMAR.iter().filter(|row| !own.iter().any(|other| other.name == row.name)))
    }

    /// The row of a subcommand.
    #[must_use]
    pub fn row(self, name: &str) -> Option<&'static Row> {
        self.rows().find(|row| row.name == name)
    }

    /// Whether a row is there only if the policy enables it.
    #[must_use]
    pub fn needs_enabling(self, row: &Row) -> bool {
        row.availability == Availability::Optional && (self != Self::Compat || self.is_own(row))
    }

    /// What agent-browser's own action policy has to allow. 0.19 knows actions by categories; 0.41 by the names of the actions
    /// alone, connecting among them. Where 0.19 has a category of the same name as an action (`click`, `fill`, `navigate`,
    /// `scroll`, `snapshot`, `wait`), a row here is in it anyway.
    #[must_use]
    pub fn action_policy(self) -> Vec<&'static str> {
        let mut allow: Vec<_> = self.rows().filter_map(|row| row.category).collect();
        let mappings = self.rows().flat_map(|row| row.forms).filter_map(|form| form.mapping);
        allow.extend(
            mappings.flat_map(|mapping| {
                std::iter::once(mapping.action).chain(mapping.without.map(|(_, other)| other.action))
            }),
        );
        allow.push(CONNECT);
        allow.sort_unstable();
        allow.dedup();
        allow
    }

    /// What to say of such a row while it is off, and where the policy file can enable it.
    pub(super) fn way_to_enable(self, row: &Row) -> (Code, &'static str) {
        if self.is_own(row) {
            (Code::RuntimeNotEnabled, "runtime.enable")
        } else {
            (Code::SubcommandNotEnabled, "subcommands.enable")
        }
    }

    /// Whether a file name may be a path below the workspace.
    pub(super) const fn has_workspace_paths(self) -> bool {
        matches!(self, Self::Strict | Self::Compat)
    }

    /// The rows that only this dialect has.
    const fn own(self) -> &'static [Row] {
        match self {
            Self::Tool | Self::Strict => &[],
            Self::Compat => COMPAT,
        }
    }

    fn is_own(self, row: &Row) -> bool {
        self.own().iter().any(|own| own.name == row.name)
    }
}
