//! The URL policy: may the browser go there? (spec section 2)
//!
//! Decides from a parsed policy file and a parsed URL; the addresses of a name come from the caller. It has no I/O, no clock
//! and no state. Deny wins over allow, and an address that is not public needs a rule of its own.

pub mod address;
pub mod connection;
pub mod file;
mod json;
mod sandbox;
pub mod url;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use ipnet::IpNet;

use self::url::{Host, Page, Target};
use crate::argv::Dialect;
use crate::decision::{Code, Decision};
use crate::sandbox::policy::SandboxPolicy;

/// A valid policy. [`Policy::default`] is what applies when there is no file: any public http or https host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Where the browser may go.
    pub open: Open,
    /// Names of optional subcommands that are switched on.
    pub enabled: Vec<&'static str>,
    /// Names of optional subcommands of the runtime's compat profile that are switched on there.
    pub runtime_enabled: Vec<&'static str>,
    /// Limits that are tighter than the built-in ones.
    pub limits: Limits,
    /// What the egress guard does.
    pub egress: Egress,
    /// What keeps agent-browser in.
    pub sandbox: SandboxPolicy,
}

/// The part `open` of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Whether http URLs are allowed.
    pub http: bool,
    /// Whether https URLs are allowed.
    pub https: bool,
    /// Whether `about:blank` may be opened.
    pub about_blank: bool,
    /// Exact hosts that are allowed; `None` if the field is absent.
    pub allow_hosts: Option<Names>,
    /// Suffixes of allowed hosts, each with its leading dot; `None` if the field is absent.
    pub allow_host_suffixes: Option<Names>,
    /// Exact hosts that are denied; an address also under every name that leads to it.
    pub deny_hosts: Names,
    /// Suffixes of denied hosts.
    pub deny_host_suffixes: Names,
    /// Address blocks that are allowed although they are not public.
    pub allow_cidrs: Vec<IpNet>,
    /// Ports that are denied.
    pub deny_ports: Vec<u16>,
}

impl Default for Open {
    fn default() -> Self {
        Self {
            http: true,
            https: true,
            about_blank: true,
            allow_hosts: None,
            allow_host_suffixes: None,
            deny_hosts: Names::default(),
            deny_host_suffixes: Names::default(),
            allow_cidrs: Vec::new(),
            deny_ports: Vec::new(),
        }
    }
}

/// Host names or suffixes with their position in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(HashMap<String, usize>);

impl Names {
    /// Adds a name; the first position of a name that stands twice counts.
    pub(crate) fn insert(&mut self, name: String, position: usize) {
        self.0.entry(name).or_insert(position);
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn exact(&self, host: &str) -> Option<usize> {
        self.0.get(host).copied()
    }

    /// `.example.com` matches `a.example.com` and `a.b.example.com`, not `example.com`.
    fn suffix_of(&self, host: &str) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        host.match_indices('.').find_map(|(dot, _)| host.get(dot..).and_then(|suffix| self.exact(suffix)))
    }
}

/// Limits of a policy. They can only be tighter than the built-in ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest time-out a call may ask for, in seconds, 1 to 120; `None` where the file says nothing. Each door has a
    /// longest one of its own besides.
    pub max_timeout_sec: Option<u64>,
    /// The most characters of stdout and of stderr in a reply, 1,000 to 30,000.
    pub max_output_chars: usize,
    /// The largest picture that is returned, in bytes of PNG; 0 returns none.
    pub max_image_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_timeout_sec: None, max_output_chars: 30_000, max_image_bytes: 4 * 1024 * 1024 }
    }
}

/// The part `egress` of a policy: what the egress guard lets through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// Which connections of the browser the guard lets through.
    pub mode: EgressMode,
    /// Ports below 1024 that are allowed beside 80 and 443.
    pub allow_ports: Vec<u16>,
    /// The proxy that the guard itself goes through.
    pub upstream: Option<Upstream>,
    /// What one connection and all of them may use up.
    pub limits: EgressLimits,
}

/// The modes of the egress guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EgressMode {
    /// Any public host, nothing private.
    #[default]
    Public,
    /// Every connection must match the rules of `open`.
    Allowlist,
    /// Any address but this machine's own; the deny lists still hold.
    Off,
}

impl EgressMode {
    /// The mode as it stands in the file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Allowlist => "allowlist",
            Self::Off => "off",
        }
    }
}

/// An HTTP proxy behind the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Its host.
    pub host: Host,
    /// Its port.
    pub port: u16,
    /// A file with one line `user:password`, if it wants credentials.
    pub credentials_file: Option<PathBuf>,
}

/// Limits of the egress guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressLimits {
    /// Connections at the same time.
    pub max_connections: usize,
    /// Seconds without a byte in either direction after which a connection ends.
    pub idle_sec: u64,
    /// The largest head of a request, in bytes.
    pub max_header_bytes: usize,
    /// The most bytes of one connection, both directions together; `None` is no limit.
    pub max_bytes: Option<u64>,
}

impl Default for EgressLimits {
    fn default() -> Self {
        Self { max_connections: 512, idle_sec: 300, max_header_bytes: 64 * 1024, max_bytes: None }
    }
}

/// The first half of a decision: all that can be said without a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Decided; no lookup is needed.
    Decided(Decision),
    /// The addresses of this name decide: look them up and call [`Policy::check_addresses`].
    Lookup(String),
}

impl Policy {
    /// Whether an optional subcommand is switched on.
    #[must_use]
    pub fn enables(&self, subcommand: &str) -> bool {
        self.enabled.contains(&subcommand)
    }

    /// Whether an optional subcommand of the runtime's compat profile is switched on there.
    #[must_use]
    pub fn runtime_enables(&self, subcommand: &str) -> bool {
        self.runtime_enabled.contains(&subcommand)
    }

    /// Whether a subcommand that needs it is switched on, for the dialect that it is read in.
    #[must_use]
    pub fn enables_in(&self, dialect: Dialect, subcommand: &str) -> bool {
        match dialect {
            Dialect::Tool | Dialect::Strict => self.enables(subcommand),
            Dialect::Compat => self.runtime_enables(subcommand),
        }
    }

    /// Decides all that needs no lookup.
    #[must_use]
    pub fn check(&self, target: &Target) -> Verdict {
        let page = match target {
            Target::Page(page) => page,
            Target::Blank => return Verdict::Decided(self.check_blank()),
        };
        match self.check_name(page) {
            Err(decision) => Verdict::Decided(decision.about(page.host.to_string())),
            Ok(()) => match &page.host {
                Host::Address(address) => Verdict::Decided(self.check_addresses(page, &[*address])),
                Host::Name(name) if is_localhost(name) => Verdict::Decided(self.check_addresses(page, &LOOPBACK)),
                Host::Name(name) => Verdict::Lookup(name.clone()),
            },
        }
    }

    fn check_blank(&self) -> Decision {
        if self.open.about_blank {
            Decision::new(Code::Allowed, "about:blank holds nothing").at("open.allow_about_blank")
        } else {
            Decision::new(Code::AboutBlankNotAllowed, "about:blank is switched off").at("open.allow_about_blank")
        }
    }

    /// Scheme, port, deny lists, allow lists, names that are never public: in this order, so that deny wins.
    fn check_name(&self, page: &Page) -> Result<(), Decision> {
        let open = &self.open;
        let host = page.host.to_string();
        let scheme_allowed = if page.url.scheme() == "http" { open.http } else { open.https };
        if !scheme_allowed {
            return Err(Decision::new(Code::SchemeNotAllowed, "the scheme is not listed").at("open.allow_schemes"));
        }
        self.check_denied(&host, page.port)?;
        self.check_listed(&host)?;
        self.check_reserved(&page.host)
    }

    /// The deny lists for ports and names.
    fn check_denied(&self, host: &str, port: u16) -> Result<(), Decision> {
        let open = &self.open;
        if let Some(position) = open.deny_ports.iter().position(|denied| *denied == port) {
            return Err(
                Decision::new(Code::PortDenied, "the port is denied").at(format!("open.deny_ports[{position}]"))
            );
        }
        if let Some(position) = open.deny_hosts.exact(host) {
            return Err(
                Decision::new(Code::HostDenied, "the host is denied").at(format!("open.deny_hosts[{position}]"))
            );
        }
        if let Some(position) = open.deny_host_suffixes.suffix_of(host) {
            let place = format!("open.deny_host_suffixes[{position}]");
            return Err(Decision::new(Code::HostDenied, "hosts with this suffix are denied").at(place));
        }
        Ok(())
    }

    /// The allow lists, where there are any.
    fn check_listed(&self, host: &str) -> Result<(), Decision> {
        if !self.has_allow_list() || self.allow_place(host).is_some() {
            return Ok(());
        }
        let place = if self.open.allow_hosts.is_some() { "open.allow_hosts" } else { "open.allow_host_suffixes" };
        Err(Decision::new(Code::HostNotInAllowlist, "the host matches no entry of the allow lists").at(place))
    }

    fn has_allow_list(&self) -> bool {
        self.open.allow_hosts.is_some() || self.open.allow_host_suffixes.is_some()
    }

    /// Which entry of the allow lists matches a host.
    fn allow_place(&self, host: &str) -> Option<String> {
        let open = &self.open;
        let exact = open.allow_hosts.as_ref().and_then(|names| names.exact(host));
        let suffix = || open.allow_host_suffixes.as_ref().and_then(|names| names.suffix_of(host));
        exact
            .map(|position| format!("open.allow_hosts[{position}]"))
            .or_else(|| suffix().map(|position| format!("open.allow_host_suffixes[{position}]")))
    }

    /// Which entry of `deny_hosts` is this address, however it is written.
    fn deny_place(&self, address: IpAddr) -> Option<String> {
        let denied = &self.open.deny_hosts;
        if denied.is_empty() {
            return None;
        }
        let position = address::spellings(address).iter().find_map(|spelling| denied.exact(&spelling.to_string()));
        position.map(|position| format!("open.deny_hosts[{position}]"))
    }

    /// Names that never mean a public host need `allow_cidrs`; without any entry there, no lookup is made.
    fn check_reserved(&self, host: &Host) -> Result<(), Decision> {
        match reserved_suffix(host) {
            Some(suffix) if self.open.allow_cidrs.is_empty() => {
                let reason = format!("`{suffix}` names never mean a public host");
                Err(Decision::new(Code::HostNotPublic, reason))
            }
            _ => Ok(()),
        }
    }

    /// Decides by the addresses of the host: every one of them must be allowed.
    ///
    /// For a literal the list holds that address. An empty list is a refusal.
    #[must_use]
    pub fn check_addresses(&self, page: &Page, addresses: &[IpAddr]) -> Decision {
        self.check_addresses_of(&page.host, addresses)
    }

    fn check_addresses_of(&self, given: &Host, addresses: &[IpAddr]) -> Decision {
        let host = given.to_string();
        if addresses.is_empty() {
            return Decision::new(Code::NameNotResolved, "the name has no address").about(host);
        }
        let cidrs = &self.open.allow_cidrs;
        let named = |address| address::position_in(cidrs, address).is_some();
        let reserved = reserved_suffix(given);
        let mut place = self.allow_place(&host);
        for &address in addresses {
            let denied = self.deny_place(address);
            let refusal = match reserved {
                _ if denied.is_some() => {
                    let mut decision = Decision::new(Code::HostDenied, "the address is denied, under whatever name");
                    decision.place = denied;
                    Some(decision)
                }
                Some(suffix) if !named(address) => {
                    let reason = format!(
                        "`{suffix}` names never mean a public host, and open.allow_cidrs does not name every address of this one"
                    );
                    Some(Decision::new(Code::HostNotPublic, reason))
                }
                _ => address::check_unless(address, named)
                    .err()
                    .map(|why| Decision::new(Code::AddressNotPublic, why.to_string())),
            };
            if let Some(mut decision) = refusal {
                decision.address = Some(address);
                return decision.about(host);
            }
            if place.is_none() {
                place = address::position_in(cidrs, address).map(|position| format!("open.allow_cidrs[{position}]"));
            }
        }
        let mut decision = Decision::new(Code::Allowed, "every rule allows it").about(host);
        decision.place = place;
        decision.address = addresses.first().copied();
        decision
    }
}

/// What `localhost` and the names below it mean to every browser, whatever DNS says (RFC 6761 section 6.3).
const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// The suffix that keeps a name from being public: RFC 6761 (localhost), RFC 6762 (local), ICANN's private-use TLD (internal).
fn reserved_suffix(host: &Host) -> Option<&'static str> {
    let Host::Name(name) = host else { return None };
    let last = name.rsplit('.').next().unwrap_or_default();
    ["localhost", "internal", "local"].into_iter().find(|suffix| *suffix == last)
}

#[cfg(test)]
mod tests;
