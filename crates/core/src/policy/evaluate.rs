//! URL policy evaluation, by the sections of the policy file that apply to a session.
//!
//! Requirements 2.2 to 2.5. The evaluation has two parts, because this crate does no I/O: [`Policy::check`] decides all that
//! needs no lookup, and the caller passes the addresses of a name to [`Policy::check_addresses`].
//!
//! A session has the section `open`, and the sections of `sessions` whose pattern it matches. They stay as they are in the file,
//! so that a decision can name the rule's location.
//!
//! Invariants:
//! - Deny wins over allow. The deny lists of all these sections apply.
//! - Of every other field, the first matching section that has it replaces that of `open`.
//! - A page that is allowed here is allowed by the egress guard too, because both ask the same rules about hosts and ports.
//! - Every address of a host must be allowed. An address that is not public needs an entry in `open.allow_cidrs`.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::address;
use super::browser::{BrowserState, StateSource};
use super::rules::{Engine, OpenRules, Policy, SessionRules};
use super::url::{Host, PageUrl, WebUrl};
use crate::decision::{Code, Decision};
use crate::json::Problem;
use crate::session_id::SessionId;

/// Hosts that Chromium connects to for itself, whatever its policies say. No page needs them.
const CHROMIUM_HOSTS: &[&str] = &["update.googleapis.com"];

/// The result of a check that needs no lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluation {
    /// A decision; no lookup is needed.
    Decided(Decision),
    /// A name whose addresses decide: look them up and call [`Policy::check_addresses`].
    Lookup(String),
}

impl Policy {
    /// Checks a URL as far as that needs no lookup.
    #[must_use]
    pub fn check(&self, target: &PageUrl) -> Evaluation {
        let page = match target {
            PageUrl::Web(page) => page,
            PageUrl::Blank => return Evaluation::Decided(self.check_blank()),
        };
        match self.check_name(page) {
            Err(decision) => Evaluation::Decided(decision.about(page.host.to_string())),
            Ok(()) => match &page.host {
                Host::Address(address) => Evaluation::Decided(self.check_addresses(page, &[*address])),
                Host::Name(name) if is_localhost(name) => Evaluation::Decided(self.check_addresses(page, &LOOPBACK)),
                Host::Name(name) => Evaluation::Lookup(name.clone()),
            },
        }
    }

    fn check_blank(&self) -> Decision {
        let (is_allowed, location) = self.allows_about_blank();
        if is_allowed {
            Decision::new(Code::Allowed, "about:blank is an empty page").at(location)
        } else {
            Decision::new(Code::AboutBlankNotAllowed, "about:blank is switched off").at(location)
        }
    }

    /// Checks scheme, port, denied hosts, allow lists and names that are never public, in this order.
    fn check_name(&self, page: &WebUrl) -> Result<(), Decision> {
        let host = page.host.to_string();
        self.check_scheme(page.url.scheme())?;
        self.check_host_and_port(&host, page.port)?;
        self.check_allow_lists(&host)?;
        self.check_reserved_name(&page.host)
    }

    /// Checks a scheme.
    pub(super) fn check_scheme(&self, scheme: &str) -> Result<(), Decision> {
        match self.allows_scheme(scheme) {
            (true, _) => Ok(()),
            (false, location) => Err(Decision::new(Code::SchemeNotAllowed, "the scheme is not listed").at(location)),
        }
    }

    /// Checks the rules about hosts and ports that pages and connections share: the deny lists, the ports below 1024, and the
    /// hosts that only Chromium itself contacts.
    pub(super) fn check_host_and_port(&self, host: &str, port: u16) -> Result<(), Decision> {
        self.check_port(port)?;
        if let Some(location) = self.denied_host_location(host) {
            return Err(Decision::new(Code::HostDenied, "the host is denied").at(location));
        }
        if let Some(location) = self.denied_suffix_location(host) {
            return Err(Decision::new(Code::HostDenied, "hosts with this suffix are denied").at(location));
        }
        if CHROMIUM_HOSTS.contains(&host) && self.allow_location(host).is_none() {
            let reason = "the browser connects to this host for itself, not for a page";
            return Err(Decision::new(Code::HostDenied, reason));
        }
        Ok(())
    }

    /// Checks a port. Below 1024, where the services of a system listen, only those of the web and listed ones are allowed.
    fn check_port(&self, port: u16) -> Result<(), Decision> {
        if let Some(location) = self.denied_port_location(port) {
            return Err(Decision::new(Code::PortDenied, "the port is denied").at(location));
        }
        if port < 1024 && !matches!(port, 80 | 443) && !self.egress.allow_ports.contains(&port) {
            let reason = "only 80 and 443 are allowed below 1024";
            return Err(Decision::new(Code::PortDenied, reason).at("egress.allow_ports"));
        }
        Ok(())
    }

    /// Checks the allow lists, if there are any.
    pub(super) fn check_allow_lists(&self, host: &str) -> Result<(), Decision> {
        match self.allow_list_location() {
            Some(location) if self.allow_location(host).is_none() => {
                let reason = "the host matches no entry of the allow lists";
                Err(Decision::new(Code::HostNotInAllowlist, reason).at(location))
            }
            _ => Ok(()),
        }
    }

    /// Refuses names that are never public, without a lookup if `allow_cidrs` has no entry that could allow them.
    pub(super) fn check_reserved_name(&self, host: &Host) -> Result<(), Decision> {
        match reserved_suffix(host) {
            Some(suffix) if !self.has_allowed_blocks() => {
                let reason = format!("`{suffix}` names are never public");
                Err(Decision::new(Code::HostNotPublic, reason))
            }
            _ => Ok(()),
        }
    }

    /// Decides by the addresses of the host, all of which must be allowed.
    ///
    /// For an address literal, `addresses` holds that address. An empty list is a refusal.
    #[must_use]
    pub fn check_addresses(&self, page: &WebUrl, addresses: &[IpAddr]) -> Decision {
        self.check_host_addresses(&page.host, addresses)
    }

    pub(super) fn check_host_addresses(&self, host: &Host, addresses: &[IpAddr]) -> Decision {
        let name = host.to_string();
        let Some(first) = addresses.first() else {
            return Decision::new(Code::NameNotResolved, "the name has no address").about(name);
        };
        for &address in addresses {
            if let Some(mut refusal) = self.check_address(host, address) {
                refusal.address = Some(address);
                return refusal.about(name);
            }
        }
        let allowed_block = || addresses.iter().find_map(|address| self.allowed_block_location(*address));
        let mut decision = Decision::new(Code::Allowed, "every rule allows it");
        decision.location = self.allow_location(&name).or_else(allowed_block);
        decision.address = Some(*first);
        decision.about(name)
    }

    /// Returns the refusal of one address of a host, if it is refused.
    fn check_address(&self, host: &Host, address: IpAddr) -> Option<Decision> {
        if let Some(location) = self.denied_address_location(address) {
            return Some(Decision::new(Code::HostDenied, "the address is denied, under every name").at(location));
        }
        let is_exempt = |address| self.allowed_block_location(address).is_some();
        if let Some(suffix) = reserved_suffix(host)
            && !is_exempt(address)
        {
            let reason =
                format!("`{suffix}` names are never public, and open.allow_cidrs lacks an address of this one");
            return Some(Decision::new(Code::HostNotPublic, reason));
        }
        let reason = address::check_public(address, is_exempt).err()?;
        Some(Decision::new(Code::AddressNotPublic, reason.to_string()))
    }
}

/// The addresses of `localhost` and the names below it, whatever DNS says (RFC 6761 section 6.3).
pub(super) const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

pub(super) fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns the suffix by which a name is never public: RFC 6761 (localhost), RFC 6762 (local), ICANN's private-use TLD
/// (internal).
pub(super) fn reserved_suffix(host: &Host) -> Option<&'static str> {
    let Host::Name(name) = host else { return None };
    let last = name.rsplit('.').next().unwrap_or_default();
    ["localhost", "internal", "local"].into_iter().find(|suffix| *suffix == last)
}

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

    /// Returns true if a section of the file names this engine for its sessions.
    #[must_use]
    pub fn names_for_sessions(&self, engine: Engine) -> bool {
        self.sessions.iter().any(|rules| rules.engine == Some(engine))
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
    fn allow_list_location(&self) -> Option<String> {
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
    fn has_allowed_blocks(&self) -> bool {
        self.first(|open| open.allow_cidrs.as_ref()).is_some_and(|(_, blocks)| !blocks.is_empty())
    }

    /// Returns the location of the allowed block that contains an address.
    pub(super) fn allowed_block_location(&self, address: IpAddr) -> Option<String> {
        let (section, blocks) = self.first(|open| open.allow_cidrs.as_ref())?;
        address::position_of_block(blocks, address).map(|position| section.item("allow_cidrs", position))
    }

    /// Returns the location of the entry of a `deny_hosts` that is this host.
    fn denied_host_location(&self, host: &str) -> Option<String> {
        self.any(|section, open| open.deny_hosts.position(host).map(|position| section.item("deny_hosts", position)))
    }

    /// Returns the location of the entry of a `deny_host_suffixes` that matches a host.
    fn denied_suffix_location(&self, host: &str) -> Option<String> {
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
