//! URL policy evaluation.
//!
//! Requirements 2.2 to 2.5. The evaluation has two parts, because this crate does no I/O: [`Policy::check`] decides all that
//! needs no lookup, and the caller passes the addresses of a name to [`Policy::check_addresses`].
//!
//! Invariants:
//! - Deny wins over allow.
//! - A page that is allowed here is allowed by the egress guard too, because both ask the same rules about hosts and ports.
//! - Every address of a host must be allowed. An address that is not public needs an entry in `open.allow_cidrs`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::address;
use super::rules::Policy;
use super::url::{Host, PageUrl, WebUrl};
use crate::decision::{Code, Decision};

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
