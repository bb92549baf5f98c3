//! Rules about URLs, as one section of the policy file has them.

use ipnet::IpNet;

use super::engine::Engine;
use super::host_set::HostSet;
use super::session_pattern::SessionSelector;

/// URLs that may be opened, by one section. A field is `None` if the section lacks it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenRules {
    /// Schemes that are allowed; by default http and https.
    pub(super) allow_schemes: Option<Vec<&'static str>>,
    /// Permission for `about:blank`; by default it is given.
    pub(super) allow_about_blank: Option<bool>,
    /// Exact hosts that are allowed.
    pub(super) allow_hosts: Option<HostSet>,
    /// Suffixes of allowed hosts, each with its leading dot.
    pub(super) allow_host_suffixes: Option<HostSet>,
    /// Address blocks that are allowed although they are not public.
    pub(super) allow_cidrs: Option<Vec<IpNet>>,
    /// Exact hosts that are denied. A denied address is denied under every name that resolves to it, too.
    pub(super) deny_hosts: HostSet,
    /// Suffixes of denied hosts.
    pub(super) deny_host_suffixes: HostSet,
    /// Ports that are denied.
    pub(super) deny_ports: Vec<u16>,
}

/// A section for the sessions that match a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionRules {
    /// The sessions.
    pub(super) selector: SessionSelector,
    /// Their rules.
    pub(super) open: OpenRules,
    /// Their engine.
    pub(super) engine: Option<Engine>,
}
