//! Connection policy: the decisions of the egress guard.
//!
//! Requirement 5.1. The guard knows a host and a port, and the addresses that it looked up and will connect to. It knows no
//! path and often no scheme, because it does not see into TLS.
//!
//! Invariants:
//! - A connection is allowed only if every address of its host is, and none of them leads back to the guard.
//! - The deny lists apply in every mode.

use std::net::{IpAddr, SocketAddr};

use super::address;
use super::evaluate::{Evaluation, LOOPBACK, is_localhost, reserved_suffix};
use super::rules::{EgressMode, Policy, Subresources};
use super::url::{Host, PageUrl, parse};
use crate::decision::{Code, Decision};

/// The host and port of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The host, normalized as in a URL.
    pub host: Host,
    /// The port.
    pub port: u16,
    /// True for an http request without a tunnel. A tunnel can hold any protocol.
    pub is_plain_http: bool,
}

impl Destination {
    /// Parses the `host:port` of a CONNECT request. An IPv6 address is in brackets.
    ///
    /// # Errors
    ///
    /// The first part that is wrong. The text itself is not repeated.
    pub fn parse_authority(text: &str) -> Result<Self, &'static str> {
        let (host, port) = text.rsplit_once(':').ok_or("the port is missing")?;
        let digits = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
        let port: u16 = port.parse().ok().filter(|port| digits && *port > 0).ok_or("the port is not 1 to 65535")?;
        if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte)) {
            return Err("the host has a character that is not allowed in one");
        }
        match parse(&format!("http://{host}:{port}/")) {
            Ok(PageUrl::Web(page)) if page.port == port => Ok(Self { host: page.host, port, is_plain_http: false }),
            _ => Err("the host is not a name or an address"),
        }
    }
}

impl Policy {
    /// Checks a connection as far as that needs no lookup. `guard` is the address that the guard listens at, if it runs.
    #[must_use]
    pub fn check_connection(&self, to: &Destination, guard: Option<SocketAddr>) -> Evaluation {
        if let Err(decision) = self.check_connection_name(to) {
            return Evaluation::Decided(decision.about(to.host.to_string()));
        }
        match &to.host {
            Host::Address(address) => Evaluation::Decided(self.check_connection_addresses(to, &[*address], guard)),
            Host::Name(name) if is_localhost(name) => {
                Evaluation::Decided(self.check_connection_addresses(to, &LOOPBACK, guard))
            }
            Host::Name(name) => Evaluation::Lookup(name.clone()),
        }
    }

    /// Checks host and port by the rules that need no address.
    fn check_connection_name(&self, to: &Destination) -> Result<(), Decision> {
        let host = to.host.to_string();
        self.check_host_and_port(&host, to.port)?;
        match self.egress.mode {
            EgressMode::Off => return Ok(()),
            EgressMode::Public => self.check_subresources(&host)?,
            EgressMode::Allowlist => {
                if to.is_plain_http {
                    self.check_scheme("http")?;
                }
                self.check_allow_lists(&host)?;
            }
        }
        self.check_reserved_name(&to.host)
    }

    /// Checks the hosts of subresources. The guard cannot know whether a connection is for a document, so the hosts that may be
    /// opened are allowed too; without an allow list these are all hosts.
    fn check_subresources(&self, host: &str) -> Result<(), Decision> {
        let Subresources::Listed(listed) = &self.egress.subresources else { return Ok(()) };
        if !self.has_allow_list() || self.allow_location(host).is_some() || listed.any_position(host).is_some() {
            return Ok(());
        }
        let reason = "the host is neither on the allow lists nor on the list of subresources";
        Err(Decision::new(Code::HostNotInAllowlist, reason).at("egress.subresources"))
    }

    /// Returns the location of the rule that allows a host by its name.
    fn connection_location(&self, host: &str) -> Option<String> {
        let subresource = || match &self.egress.subresources {
            Subresources::Listed(listed) if self.egress.mode == EgressMode::Public => listed.any_position(host),
            _ => None,
        };
        let listed = || subresource().map(|position| format!("egress.subresources[{position}]"));
        self.allow_location(host).or_else(listed)
    }

    /// Decides by the addresses of the host, all of which must be allowed.
    #[must_use]
    pub fn check_connection_addresses(
        &self,
        to: &Destination,
        addresses: &[IpAddr],
        guard: Option<SocketAddr>,
    ) -> Decision {
        let host = to.host.to_string();
        let is_guard = |address: &&IpAddr| guard.is_some_and(|guard| is_guard(**address, to.port, guard));
        if let Some(address) = addresses.iter().find(is_guard) {
            let mut decision = Decision::new(Code::GuardItself, "the guard listens there").about(host);
            decision.address = Some(*address);
            return decision;
        }
        if self.egress.mode == EgressMode::Off {
            self.check_off(host, addresses)
        } else {
            let mut decision = self.check_host_addresses(&to.host, addresses);
            if decision.is_allowed() && decision.location.is_none() {
                decision.location = self.connection_location(&host);
            }
            decision
        }
    }

    /// Decides by the name alone, for a name that only an upstream proxy can look up. Names that are allowed only by their
    /// addresses are refused.
    #[must_use]
    pub fn check_connection_unresolved(&self, to: &Destination) -> Decision {
        let host = to.host.to_string();
        if let Some(suffix) = reserved_suffix(&to.host).filter(|_| self.egress.mode != EgressMode::Off) {
            let reason = format!("`{suffix}` names are never public, and the addresses of this one are not known");
            return Decision::new(Code::HostNotPublic, reason).about(host);
        }
        match self.check_connection_name(to) {
            Ok(()) => {
                let mut decision = Decision::new(Code::Allowed, "allowed by its name; the upstream proxy looks it up")
                    .about(host.clone());
                decision.location = self.connection_location(&host);
                decision
            }
            Err(decision) => decision.about(host),
        }
    }

    /// Decides in mode `off`: by the deny lists, and not for this machine's own addresses, because its services there ask for
    /// no credentials.
    fn check_off(&self, host: String, addresses: &[IpAddr]) -> Decision {
        if addresses.is_empty() {
            return Decision::new(Code::NameNotResolved, "the name has no address").about(host);
        }
        for &address in addresses {
            let is_exempt = self.allowed_block_location(address).is_some();
            let mut refusal = if let Some(location) = self.denied_address_location(address) {
                Decision::new(Code::HostDenied, "the address is denied, under every name").at(location)
            } else if address::equivalents(address).into_iter().any(is_own_machine) && !is_exempt {
                let reason = "this machine's own services stay closed in mode `off`";
                Decision::new(Code::AddressNotPublic, reason).at("egress.mode")
            } else {
                continue;
            };
            refusal.address = Some(address);
            return refusal.about(host);
        }
        let mut decision = Decision::new(Code::Allowed, "the guard is off").at("egress.mode").about(host);
        decision.address = addresses.first().copied();
        decision
    }
}

/// Returns true if an address always means this machine.
fn is_own_machine(address: IpAddr) -> bool {
    match address {
        // All of 0.0.0.0/8 is "this host on this network", and Linux connects 0.0.0.0 to itself.
        IpAddr::V4(v4) => v4.is_loopback() || v4.octets().first() == Some(&0),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified(),
    }
}

/// Returns true if a connection to this address, or to an equivalent one, and port would arrive at the guard.
#[must_use]
pub fn is_guard(address: IpAddr, port: u16, guard: SocketAddr) -> bool {
    let is_same_host = |other: IpAddr| other == guard.ip() || is_own_machine(other);
    port == guard.port() && address::equivalents(address).into_iter().any(is_same_host)
}

#[cfg(test)]
mod tests;
