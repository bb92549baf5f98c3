//! Policy rules: the content of a policy file as data, with defaults.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use ipnet::IpNet;

use super::browser::{BrowserRules, SessionSelector};
use super::sandbox::SandboxPolicy;
use super::url::Host;
use crate::grammar::Profile;

/// A valid policy. [`Policy::default`] applies if there is no file: any public http or https host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// URLs that may be opened, by the section `open`.
    pub(super) open: Arc<OpenRules>,
    /// Rules for the sessions that match a pattern, in the order of the file.
    pub(super) sessions: Arc<[SessionRules]>,
    /// Positions in `sessions` of the sections that apply.
    pub(super) applied: Vec<usize>,
    /// Access of subjects to sessions.
    pub access: AccessRules,
    /// State and isolation of sessions in the browser.
    pub browser: BrowserRules,
    /// Engine of sessions for which no section names another one.
    pub(super) engine: Option<Engine>,
    /// True if the file names it by the older field `snapshot.engine`.
    pub(super) has_old_engine_field: bool,
    /// Names of the optional subcommands that are enabled.
    pub(super) enabled_subcommands: Vec<&'static str>,
    /// Names of the optional subcommands that are enabled in the runtime's compat profile.
    pub(super) enabled_runtime_subcommands: Vec<&'static str>,
    /// Form of the answers.
    pub output: OutputRules,
    /// Audit log of calls.
    pub audit: AuditRules,
    /// Limits of a call.
    pub limits: CallLimits,
    /// Rules of the egress guard.
    pub egress: EgressRules,
    /// Confinement of agent-browser.
    pub sandbox: SandboxPolicy,
}

impl Policy {
    /// Returns true if the optional subcommand, or the form with a name of its own, is enabled for the tool.
    #[must_use]
    pub fn enables(&self, subcommand: &str) -> bool {
        self.enabled_subcommands.contains(&subcommand)
    }

    /// Returns true if the optional subcommand is enabled in a profile.
    #[must_use]
    pub fn enables_in(&self, profile: Profile, subcommand: &str) -> bool {
        match profile {
            Profile::Tool | Profile::Strict => self.enables(subcommand),
            Profile::Compat => self.enabled_runtime_subcommands.contains(&subcommand),
        }
    }

    /// Returns true if agents have the subcommand in a profile.
    #[must_use]
    pub fn offers(&self, profile: Profile, subcommand: &str) -> bool {
        profile.row(subcommand).is_some_and(|row| !profile.needs_enabling(row) || self.enables_in(profile, subcommand))
    }
}

/// Section `audit`: audit log of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditRules {
    /// Refusal of calls while their lines cannot be written.
    pub require: bool,
}

/// Section `limits`: limits of a call. They can only be tighter than the built-in ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// The longest timeout that a call may ask for, in seconds, 1 to 120; `None` if the file has no limit. Each front end has
    /// a limit of its own in addition.
    pub max_timeout_sec: Option<u64>,
    /// The most characters of stdout and of stderr in a reply, 1,000 to 30,000.
    pub max_output_chars: usize,
    /// The largest screenshot that is returned, in bytes of PNG; 0 returns none.
    pub max_image_bytes: u64,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { max_timeout_sec: None, max_output_chars: 30_000, max_image_bytes: 4 * 1024 * 1024 }
    }
}

/// Section `egress`: connections that the egress guard lets through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressRules {
    /// The mode of the guard.
    pub mode: EgressMode,
    /// Hosts that pages may load from, besides the hosts that may be opened.
    pub(super) subresources: Subresources,
    /// Ports below 1024 that are allowed in addition to 80 and 443.
    pub allow_ports: Vec<u16>,
    /// The proxy that the guard itself connects through.
    pub upstream: Option<Upstream>,
    /// Limits of connections.
    pub limits: EgressLimits,
}

/// The modes of the egress guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EgressMode {
    /// Any public host, and no private one.
    #[default]
    Public,
    /// Hosts that match the rules of `open`.
    Allowlist,
    /// Any address but loopback and 0.0.0.0/8. The deny lists still apply.
    Off,
}

impl EgressMode {
    /// All modes.
    pub(super) const ALL: &[Self] = &[Self::Public, Self::Allowlist, Self::Off];

    /// Returns the name in the policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Allowlist => "allowlist",
            Self::Off => "off",
        }
    }
}

/// Hosts that pages may load from, besides the hosts that may be opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Subresources {
    /// Any host that the mode of the guard allows.
    #[default]
    Public,
    /// The hosts and suffixes of a list, with positions in that list.
    Listed(HostSet),
}

/// An HTTP proxy behind the egress guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The host of the proxy.
    pub host: Host,
    /// The port of the proxy.
    pub port: u16,
    /// A file with one line `user:password`, for a proxy that asks for credentials.
    pub credentials_file: Option<PathBuf>,
}

/// Limits of the egress guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressLimits {
    /// The most connections at the same time.
    pub max_connections: usize,
    /// Seconds without a byte in either direction after which a connection is closed.
    pub idle_sec: u64,
    /// The most bytes of a request's header.
    pub max_header_bytes: usize,
    /// The most bytes of one connection, both directions together; `None` is no limit.
    pub max_bytes: Option<u64>,
}

impl Default for EgressLimits {
    fn default() -> Self {
        Self { max_connections: 512, idle_sec: 300, max_header_bytes: 64 * 1024, max_bytes: None }
    }
}

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

/// Hosts or host suffixes, each with its position in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostSet(HashMap<String, usize>);

impl From<Vec<String>> for HostSet {
    /// Takes the hosts in the order of the file. If a host is listed twice, its first position applies.
    fn from(hosts: Vec<String>) -> Self {
        let mut positions = HashMap::new();
        for (position, host) in hosts.into_iter().enumerate() {
            positions.entry(host).or_insert(position);
        }
        Self(positions)
    }
}

impl HostSet {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the hosts with their positions, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(host, position)| (host.as_str(), *position))
    }

    /// Returns the position of a host.
    pub(super) fn position(&self, host: &str) -> Option<usize> {
        self.0.get(host).copied()
    }

    /// Returns the position of a host, or of a suffix of it, in a list that has both.
    pub(super) fn any_position(&self, host: &str) -> Option<usize> {
        self.position(host).or_else(|| self.suffix_position(host))
    }

    /// Returns the position of a suffix of a host: `.example.com` matches `a.example.com` and `a.b.example.com`, and does not
    /// match `example.com`.
    pub(super) fn suffix_position(&self, host: &str) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        host.match_indices('.').find_map(|(dot, _)| host.get(dot..).and_then(|suffix| self.position(suffix)))
    }
}

/// Section `access`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessRules {
    /// Sessions that a subject may use.
    pub sessions: SessionAccess,
}

/// Sessions that a subject may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionAccess {
    /// All: every subject may name every session.
    #[default]
    Any,
    /// Its own: the same session id means another session for each subject.
    Own,
}

impl SessionAccess {
    /// All kinds of access.
    pub(super) const ALL: &[Self] = &[Self::Any, Self::Own];

    /// Returns the name in the policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Own => "own",
        }
    }
}

/// Program that carries out the calls of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// This program itself, over the debugging protocol.
    Cdp,
    /// The CLI agent-browser.
    AgentBrowser,
}

impl Engine {
    /// All engines.
    pub(super) const ALL: &[Self] = &[Self::Cdp, Self::AgentBrowser];

    /// Engines by their names in the older field `snapshot.engine`.
    pub(super) const OLD_NAMES: &[(&'static str, Self)] = &[("agent-browser", Self::AgentBrowser), ("gate", Self::Cdp)];

    /// Returns the name in the policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cdp => "cdp",
            Self::AgentBrowser => "agent-browser",
        }
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Section `output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputRules {
    /// The style of the answers of the tool.
    pub style: AnswerStyle,
}

/// The styles of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerStyle {
    /// A dictionary whose `stdout` is JSON.
    #[default]
    Data,
    /// Plain text for a language model.
    Text,
    /// The same, and the exit code and the code as structured content.
    TextWithCode,
}

impl AnswerStyle {
    /// All styles.
    pub(super) const ALL: &[Self] = &[Self::Data, Self::Text, Self::TextWithCode];

    /// Returns the name in the policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Text => "text",
            Self::TextWithCode => "text-with-code",
        }
    }
}
