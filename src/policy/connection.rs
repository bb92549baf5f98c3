//! May the browser connect there? What the egress guard asks for every connection (spec [5.1]).
//!
//! Decides from a host, a port and the addresses that the guard looked up itself and will dial. Unlike for a URL there is no
//! path and often no scheme: what a page does inside of TLS is not seen. Must never let a connection through whose address
//! the policy does not allow, nor one that leads back to the guard; deny lists hold in every mode.

use std::net::{IpAddr, SocketAddr};

use super::url::{Host, Target, parse};
use super::{EgressMode, LOOPBACK, Policy, Verdict, address, is_localhost, reserved_suffix};
use crate::decision::{Code, Decision};

/// Chromium asks these on its own account, whatever its policies say; no page does.
const CHROMIUM_OWN: &[&str] = &["update.googleapis.com"];

/// Where a connection is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The host, normalised as in a URL.
    pub host: Host,
    /// The port.
    pub port: u16,
    /// Whether it is plain http, where that is known; a tunnel can hold anything.
    pub plain_http: bool,
}

impl Destination {
    /// Reads `host:port` as it stands in a CONNECT request; an IPv6 address is in brackets.
    ///
    /// # Errors
    ///
    /// What is wrong with it, without the text itself.
    pub fn parse_authority(text: &str) -> Result<Self, &'static str> {
        let (host, port) = text.rsplit_once(':').ok_or("the port is missing")?;
        let digits = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
        let port: u16 = port.parse().ok().filter(|port| digits && *port > 0).ok_or("the port is not 1 to 65535")?;
        if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte)) {
            return Err("the host holds a character that no host has");
        }
        match parse(&format!("http://{host}:{port}/")) {
            Ok(Target::Page(page)) if page.port == port => Ok(Self { host: page.host, port, plain_http: false }),
            _ => Err("the host is not a name or an address"),
        }
    }
}

impl Policy {
    /// Decides all that needs no lookup. `guard` is where the guard itself listens, if it runs.
    #[must_use]
    pub fn check_connection(&self, to: &Destination, guard: Option<SocketAddr>) -> Verdict {
        if let Err(decision) = self.check_connection_name(to) {
            return Verdict::Decided(decision.about(to.host.to_string()));
        }
        match &to.host {
            Host::Address(address) => Verdict::Decided(self.check_connection_addresses(to, &[*address], guard)),
            Host::Name(name) if is_localhost(name) => {
                Verdict::Decided(self.check_connection_addresses(to, &LOOPBACK, guard))
            }
            Host::Name(name) => Verdict::Lookup(name.clone()),
        }
    }

    /// Ports and names. Without a lookup, this is all that an upstream proxy's own answer to a name leaves to decide.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn check_connection_name(&self, to: &Destination) -> Result<(), Decision> {
        let host = to.host.to_string();
        self.check_denied(&host, to.port)?;
        if to.port < 1024 && !matches!(to.port, 80 | 443) && !self.egress.allow_ports.contains(&to.port) {
            let reason = "below 1024 only 80 and 443 are ports of the web";
            return Err(Decision::new(Code::PortDenied, reason).at("egress.allow_ports"));
        }
        if CHROMIUM_OWN.contains(&host.as_str()) && self.allow_place(&host).is_none() {
            return Err(Decision::new(Code::HostDenied, "the browser asks this host on its own account, for no page"));
        }
        match self.egress.mode {
            EgressMode::Off => return Ok(()),
            EgressMode::Public => {}
            EgressMode::Allowlist => {
                if to.plain_http && !self.open.http {
                    return Err(
                        Decision::new(Code::SchemeNotAllowed, "the scheme is not listed").at("open.allow_schemes")
                    );
                }
                self.check_listed(&host)?;
            }
        }
        self.check_reserved(&to.host)
    }

    /// Decides by the addresses of the host: every one of them must be allowed, whichever is dialled.
    #[must_use]
    pub fn check_connection_addresses(
        &self,
        to: &Destination,
        addresses: &[IpAddr],
        guard: Option<SocketAddr>,
    ) -> Decision {
        let host = to.host.to_string();
        let itself = |address: &&IpAddr| guard.is_some_and(|guard| is_guard(**address, to.port, guard));
        if let Some(address) = addresses.iter().find(itself) {
            let mut decision = Decision::new(Code::GuardItself, "the guard listens there").about(host);
            decision.address = Some(*address);
            return decision;
        }
        if self.egress.mode == EgressMode::Off {
            self.check_off(host, addresses)
        } else {
            self.check_addresses_of(&to.host, addresses)
        }
    }

    /// Decides about a name whose addresses only an upstream proxy knows: by the name alone, and not for names that need
    /// their addresses to be allowed.
    #[must_use]
    pub fn check_connection_unresolved(&self, to: &Destination) -> Decision {
        let host = to.host.to_string();
        if let Some(suffix) = reserved_suffix(&to.host).filter(|_| self.egress.mode != EgressMode::Off) {
            let reason =
                format!("`{suffix}` names never mean a public host, and the addresses of this one are not known");
            return Decision::new(Code::HostNotPublic, reason).about(host);
        }
        match self.check_connection_name(to) {
            Ok(()) => {
                let mut decision =
                    Decision::new(Code::Allowed, "by its name; the upstream proxy looks it up").about(host.clone());
                decision.place = self.allow_place(&host);
                decision
            }
            Err(decision) => decision.about(host),
        }
    }

    /// Mode `off`: the deny lists, and this machine's own loopback, behind which nothing asks for credentials.
    fn check_off(&self, host: String, addresses: &[IpAddr]) -> Decision {
        if addresses.is_empty() {
            return Decision::new(Code::NameNotResolved, "the name has no address").about(host);
        }
        for &address in addresses {
            let named = address::position_in(&self.open.allow_cidrs, address).is_some();
            let mut refusal = if let Some(place) = self.deny_place(address) {
                Decision::new(Code::HostDenied, "the address is denied, under whatever name").at(place)
            } else if address::spellings(address).into_iter().any(is_own) && !named {
                let reason = "this machine's own services stay closed in mode `off` too";
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

/// Whether an address always means this machine.
fn is_own(address: IpAddr) -> bool {
    match address {
        // all of 0.0.0.0/8 is "this host on this network", and Linux connects 0.0.0.0 to itself
        IpAddr::V4(v4) => v4.is_loopback() || v4.octets().first() == Some(&0),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified(),
    }
}

/// Whether a connection to this address and port would arrive at the guard, in whatever form the address is written.
pub(crate) fn is_guard(address: IpAddr, port: u16, guard: SocketAddr) -> bool {
    port == guard.port() && address::spellings(address).into_iter().any(|one| one == guard.ip() || is_own(one))
}

#[cfg(test)]
mod tests;
