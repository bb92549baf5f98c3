//! Sections of the policy file that apply to a session.
//!
//! A session has the section `open`, and the sections of `sessions` whose pattern it matches. They stay as they are in the file,
//! so that a decision can name the rule's location.
//!
//! Invariants:
//! - The deny lists of all these sections apply.
//! - Of every other field, the first matching section that has it replaces that of `open`.

use std::borrow::Cow;
use std::net::IpAddr;

use super::address;
use super::browser::{BrowserState, StateSource};
use super::engine::Engine;
use super::open_rules::{OpenRules, SessionRules};
use super::problem::Problem;
use super::rules::Policy;
use crate::session_id::SessionId;

/// The section that a rule comes from.
#[derive(Clone, Copy)]
pub(super) enum Section {
    /// `open`.
    Top,
    /// `open` of a section of `sessions`.
    Session(usize),
}

impl Section {
    /// Returns the JSON path of a field.
    fn field(self, name: &str) -> String {
        match self {
            Self::Top => format!("open.{name}"),
            Self::Session(position) => format!("sessions[{position}].open.{name}"),
        }
    }

    /// Returns the JSON path of an item of a list.
    pub(super) fn item(self, name: &str, position: usize) -> String {
        format!("{}[{position}]", self.field(name))
    }
}

impl Policy {
    /// Returns the policy as it applies to a session. Without a session, it is the policy without its sections for sessions.
    #[must_use]
    pub fn for_session(&self, session: Option<&SessionId>) -> Cow<'_, Self> {
        let matches = |rules: &SessionRules| session.is_some_and(|id| rules.selector.matches(id));
        let positions = self.sessions.iter().enumerate().filter(|(_, rules)| matches(rules));
        let applied: Vec<usize> = positions.map(|(position, _)| position).collect();
        if applied == self.applied { Cow::Borrowed(self) } else { Cow::Owned(Self { applied, ..self.clone() }) }
    }

    /// Returns the engine of the session that the policy is for. `None` if the file names none, so that the front end decides.
    #[must_use]
    pub fn engine(&self) -> Option<Engine> {
        let mut applied = self.applied.iter().filter_map(|position| self.sessions.get(*position));
        applied.find_map(|rules| rules.engine).or(self.engine)
    }

    /// Returns the state that a session begins with, by the first entry that matches. An entry without a subject is not for sessions
    /// that belong to one: everybody could take its login by the name of the session.
    #[must_use]
    pub fn browser_state(&self, session: &SessionId) -> Option<&StateSource> {
        let is_for = |state: &&BrowserState| {
            (session.owner().is_none() || state.selector.subject.is_some()) && state.selector.matches(session)
        };
        self.browser.state.iter().find(is_for).map(|state| &state.source)
    }

    /// Returns the problems that the policy has at a server with credentials, besides those of its file: states that everybody with
    /// a credential could take by the name of a session.
    #[must_use]
    pub fn credential_problems(&self) -> Vec<Problem> {
        let unbound = self.browser.state.iter().filter(|state| state.selector.subject.is_none());
        let message = "names no subject, so everybody with a credential of the server gets this login by the name of a session; \
                       add `subject`, and set access.sessions to own";
        unbound.map(|state| Problem::new(format!("browser.state.{}", state.selector.pattern), message)).collect()
    }

    /// Returns true if a section that applies has an allow list, even an empty one.
    pub(super) fn has_allow_list(&self) -> bool {
        self.allow_list_location().is_some()
    }

    /// Returns the location of the allow list in force, if there is one.
    pub(super) fn allow_list_location(&self) -> Option<String> {
        let hosts = self.first(|open| open.allow_hosts.as_ref()).map(|(section, _)| section.field("allow_hosts"));
        let suffixes = || self.first(|open| open.allow_host_suffixes.as_ref());
        hosts.or_else(|| suffixes().map(|(section, _)| section.field("allow_host_suffixes")))
    }

    /// Returns the location of the allow-list entry that matches a host.
    pub(super) fn allow_location(&self, host: &str) -> Option<String> {
        let exact = self
            .first(|open| open.allow_hosts.as_ref())
            .and_then(|(section, hosts)| hosts.position(host).map(|position| section.item("allow_hosts", position)));
        let suffix = || {
            let (section, suffixes) = self.first(|open| open.allow_host_suffixes.as_ref())?;
            suffixes.suffix_position(host).map(|position| section.item("allow_host_suffixes", position))
        };
        exact.or_else(suffix)
    }

    /// Returns true if a scheme is allowed, and the location of the rule.
    pub(super) fn allows_scheme(&self, scheme: &str) -> (bool, String) {
        match self.first(|open| open.allow_schemes.as_ref()) {
            Some((section, schemes)) => (schemes.contains(&scheme), section.field("allow_schemes")),
            None => (matches!(scheme, "http" | "https"), Section::Top.field("allow_schemes")),
        }
    }

    /// Returns true if `about:blank` is allowed, and the location of the rule.
    pub(super) fn allows_about_blank(&self) -> (bool, String) {
        let found = self.first(|open| open.allow_about_blank);
        let (section, is_allowed) = found.unwrap_or((Section::Top, true));
        (is_allowed, section.field("allow_about_blank"))
    }

    /// Returns true if a block of addresses that are not public is allowed.
    pub(super) fn has_allowed_blocks(&self) -> bool {
        self.first(|open| open.allow_cidrs.as_ref()).is_some_and(|(_, blocks)| !blocks.is_empty())
    }

    /// Returns the location of the allowed block that contains an address.
    pub(super) fn allowed_block_location(&self, address: IpAddr) -> Option<String> {
        let (section, blocks) = self.first(|open| open.allow_cidrs.as_ref())?;
        address::position_of_block(blocks, address).map(|position| section.item("allow_cidrs", position))
    }

    /// Returns the location of the entry of a `deny_hosts` that is this host.
    pub(super) fn denied_host_location(&self, host: &str) -> Option<String> {
        self.any(|section, open| open.deny_hosts.position(host).map(|position| section.item("deny_hosts", position)))
    }

    /// Returns the location of the entry of a `deny_host_suffixes` that matches a host.
    pub(super) fn denied_suffix_location(&self, host: &str) -> Option<String> {
        self.any(|section, open| {
            let position = open.deny_host_suffixes.suffix_position(host)?;
            Some(section.item("deny_host_suffixes", position))
        })
    }

    /// Returns the location of the entry of a `deny_hosts` that is this address or an equivalent one.
    pub(super) fn denied_address_location(&self, address: IpAddr) -> Option<String> {
        self.any(|section, open| {
            if open.deny_hosts.is_empty() {
                return None;
            }
            let mut same = address::equivalents(address).into_iter();
            let position = same.find_map(|same| open.deny_hosts.position(&same.to_string()))?;
            Some(section.item("deny_hosts", position))
        })
    }

    /// Returns the location of the entry of a `deny_ports` that is this port.
    pub(super) fn denied_port_location(&self, port: u16) -> Option<String> {
        self.any(|section, open| {
            let position = open.deny_ports.iter().position(|denied| *denied == port)?;
            Some(section.item("deny_ports", position))
        })
    }

    /// Returns the sections of `sessions` that apply.
    fn applied_sections(&self) -> impl Iterator<Item = (Section, &OpenRules)> {
        let rules =
            |position: &usize| self.sessions.get(*position).map(|rules| (Section::Session(*position), &rules.open));
        self.applied.iter().filter_map(rules)
    }

    /// Returns a field of the first section that has it. The sections of the session come before `open`.
    fn first<'a, T>(&'a self, field: impl Fn(&'a OpenRules) -> Option<T>) -> Option<(Section, T)> {
        let mut sections = self.applied_sections().chain([(Section::Top, &*self.open)]);
        sections.find_map(|(section, open)| field(open).map(|value| (section, value)))
    }

    /// Returns the first rule found in any section, `open` first.
    fn any<'a>(&'a self, find: impl Fn(Section, &'a OpenRules) -> Option<String>) -> Option<String> {
        let mut sections = std::iter::once((Section::Top, &*self.open)).chain(self.applied_sections());
        sections.find_map(|(section, open)| find(section, open))
    }
}

#[cfg(test)]
mod tests;
