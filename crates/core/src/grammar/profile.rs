//! Grammar profiles: subcommands and file names that a front end offers.
//!
//! Invariants: a profile never offers a [forbidden](super::FORBIDDEN_SUBCOMMANDS) subcommand, except the ones that
//! [`COMPAT`] lists.

use super::compat::{COMPAT, COMPAT_ALIASES};
use super::forbidden::SUBCOMMAND_ALIASES;
use super::spec::{Availability, Carrier, Form, SubcommandSpec};
use super::table::GRAMMAR;
use crate::decision::Code;

/// Action that agent-browser runs to connect to the browser, before the first action of a session.
const CONNECT_ACTION: &str = "launch";

/// Subcommands and file names that a front end offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Profile of the MCP tool: the subcommands of [`GRAMMAR`], the optional ones only if the policy enables them. A
    /// file name is a plain name in the session's folder.
    #[default]
    Tool,
    /// Strict profile of the runtime: the same subcommands. A file name may be a path below the workspace,
    /// `dir/name.png` or `/workspace/dir/name.png`, and is passed on relative to the workspace.
    Strict,
    /// Compat profile of the runtime: as strict, with the optional subcommands enabled, with those of [`COMPAT`], and with
    /// agent-browser's other names of subcommands.
    Compat,
}

impl Profile {
    /// Returns all subcommands, with those that only this profile has first.
    pub fn rows(self) -> impl Iterator<Item = &'static SubcommandSpec> {
        let extra = self.extra_rows();
        extra.iter().chain(GRAMMAR.iter().filter(|row| !extra.iter().any(|other| other.name == row.name)))
    }

    /// Returns the subcommand with a name or, in the compat profile, with one of its other names.
    #[must_use]
    pub fn row(self, name: &str) -> Option<&'static SubcommandSpec> {
        let name = self.aliases().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| *name);
        self.rows().find(|row| row.name == name)
    }

    /// Returns the other names of subcommands, each with the name that [`Self::rows`] has.
    pub fn aliases(self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        let lists: [&[_]; 2] = match self {
            Self::Tool | Self::Strict => [&[], &[]],
            Self::Compat => [SUBCOMMAND_ALIASES, COMPAT_ALIASES],
        };
        lists.into_iter().flatten()
    }

    /// Returns `true` if a subcommand is available only if the policy enables it.
    #[must_use]
    pub fn needs_enabling(self, row: &SubcommandSpec) -> bool {
        row.availability == Availability::Optional && (self != Self::Compat || self.is_extra(row))
    }

    /// Returns `true` if a form is offered. One with a name of its own has to be enabled, and only front ends whose
    /// subcommands the policy enables have it.
    #[must_use]
    pub fn offers(self, form: &Form, is_enabled: impl Fn(&str) -> bool) -> bool {
        form.needs.is_none_or(|name| self != Self::Compat && is_enabled(name))
    }

    /// Returns the names of the forms that the policy enables one by one.
    pub fn optional_forms(self) -> impl Iterator<Item = &'static str> {
        let forms = self.rows().filter(move |_| self != Self::Compat).flat_map(|row| row.forms);
        forms.filter_map(|form| form.needs)
    }

    /// Returns the entries that agent-browser's own action policy has to allow, sorted.
    ///
    /// The kind in Node matches actions by category, the native one by the name of the action, including the one that connects. If an action has
    /// the name of a category (`click`, `fill`, `navigate`, `scroll`, `snapshot`, `wait`), a subcommand is in that
    /// category anyway, so the name allows nothing else.
    #[must_use]
    pub fn action_policy(self) -> Vec<&'static str> {
        let mut allow: Vec<_> = self.rows().filter_map(|row| row.category).collect();
        for form in self.rows().flat_map(|row| row.forms) {
            if let Carrier::Both(actions) = form.carrier {
                allow.extend(actions);
            }
        }
        allow.push(CONNECT_ACTION);
        allow.sort_unstable();
        allow.dedup();
        allow
    }

    /// Returns the code for a subcommand that is not enabled, and the path in the policy file that enables it.
    pub(super) fn not_enabled(self, row: &SubcommandSpec) -> (Code, &'static str) {
        if self.is_extra(row) {
            (Code::RuntimeNotEnabled, "runtime.enable")
        } else {
            (Code::SubcommandNotEnabled, "subcommands.enable")
        }
    }

    /// Returns `true` if a file name may be a path below the workspace.
    pub(super) const fn has_workspace_paths(self) -> bool {
        matches!(self, Self::Strict | Self::Compat)
    }

    /// Returns the subcommands that only this profile has.
    const fn extra_rows(self) -> &'static [SubcommandSpec] {
        match self {
            Self::Tool | Self::Strict => &[],
            Self::Compat => COMPAT,
        }
    }

    fn is_extra(self, row: &SubcommandSpec) -> bool {
        self.extra_rows().iter().any(|extra| extra.name == row.name)
    }
}
