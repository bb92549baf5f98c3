//! Policy rules: the content of a policy file as data, with defaults.

use std::path::PathBuf;
use std::sync::Arc;

use super::access::AccessRules;
use super::browser::BrowserRules;
use super::engine::Engine;
use super::host_set::HostSet;
use super::open_rules::{OpenRules, SessionRules};
use super::output::OutputRules;
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
    /// Any address but this machine's own. The deny lists still apply.
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
