//! Sandbox policy: the section `sandbox` of a policy file as data, with defaults.
//!
//! The defaults are the strictest settings that work on every machine: on, one sandbox for each session, best backend.

mod file_rule;

use std::fmt;
use std::path::PathBuf;

pub(super) use file_rule::has_wildcard;
pub use file_rule::{FileRule, Pattern};

use super::problem::Problem;

/// Section `sandbox`: confinement of a session's agent-browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// The sandbox as a whole.
    pub enabled: bool,
    /// The backend; `None` is the best one of this machine.
    pub backend: Option<BackendName>,
    /// Separation of sessions.
    pub mode: SandboxMode,
    /// Refusal of sessions without full enforcement.
    pub require: bool,
    /// Files in addition to the session's own folders.
    pub filesystem: FilesystemRules,
    /// Network of agent-browser itself.
    pub network: NetworkRules,
    /// Lifetime of the sandbox.
    pub runtime: LifetimeRules,
    /// Options of single backends.
    pub backends: BackendOptions,
}

impl Default for SandboxPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            backend: None,
            mode: SandboxMode::PerSession,
            require: false,
            filesystem: FilesystemRules::default(),
            network: NetworkRules::default(),
            runtime: LifetimeRules::default(),
            backends: BackendOptions::default(),
        }
    }
}

impl SandboxPolicy {
    /// Returns true if any of the settings `enabled`, `mode` and `backend` switches the sandbox off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        !self.enabled || self.mode == SandboxMode::Disabled || self.backend == Some(BackendName::None)
    }

    /// Returns what no session of agent-browser can satisfy. Such a file is valid, because sessions with another engine need no sandbox.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let message = "cannot be true while the sandbox is off; remove it or switch the sandbox on";
        if self.require && self.is_off() { vec![Problem::new("sandbox.require", message)] } else { Vec::new() }
    }
}

/// The backends, by their names in the policy file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendName {
    /// Landlock, seccomp and resource limits, without a helper program.
    Landlock,
    /// Namespaces by `bwrap`, with `landlock` inside.
    Bubblewrap,
    /// The sandbox runtime from npm.
    Srt,
    /// A container of a container engine.
    Docker,
    /// No enforcement.
    None,
}

impl BackendName {
    /// All backends, the preferred ones first.
    pub const ALL: &[Self] = &[Self::Landlock, Self::Bubblewrap, Self::Srt, Self::Docker, Self::None];

    /// Returns the name in the policy file, in `doctor` and in the audit log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Bubblewrap => "bubblewrap",
            Self::Srt => "srt",
            Self::Docker => "docker",
            Self::None => "none",
        }
    }
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Separation of sessions by the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxMode {
    /// One sandbox for each session, which sees its own files only.
    PerSession,
    /// Sessions that see each other's files, and nothing else of the machine.
    Shared,
    /// No sandbox.
    Disabled,
}

impl SandboxMode {
    /// All modes.
    pub(super) const ALL: &[Self] = &[Self::PerSession, Self::Shared, Self::Disabled];

    /// Returns the name in the policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PerSession => "per-session",
            Self::Shared => "shared",
            Self::Disabled => "disabled",
        }
    }
}

/// Files in addition to the session's own folders. All paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesystemRules {
    /// Files that must not be read, whatever allows it.
    pub deny_read: Vec<FileRule>,
    /// Paths that may be read and written.
    pub allow_write: Vec<PathBuf>,
    /// Files that must not be written, whatever allows it.
    pub deny_write: Vec<FileRule>,
}

impl FilesystemRules {
    /// Returns true if a rule is a name or has a wildcard.
    #[must_use]
    pub fn has_patterns(&self) -> bool {
        self.deny_read.iter().chain(&self.deny_write).any(|rule| rule.pattern().is_some())
    }
}

/// Network of agent-browser itself. By default only the session's endpoint can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkRules {
    /// Domains that may be reached; for the backend `srt` only.
    pub allowed_domains: Vec<String>,
    /// Domains that must not be reached.
    pub denied_domains: Vec<String>,
    /// Addresses and blocks to which no domain may lead. Only srt's own settings file can name them.
    pub denied_addresses: Vec<String>,
    /// Permission to listen on TCP ports.
    pub allow_local_binding: bool,
}

/// Lifetime of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifetimeRules {
    /// Removal of the session's folders when the session ends.
    pub cleanup_on_exit: bool,
    /// The most seconds that one command may take in the sandbox, 1 to 300.
    pub timeout: Option<u64>,
}

impl Default for LifetimeRules {
    fn default() -> Self {
        Self { cleanup_on_exit: true, timeout: None }
    }
}

/// Options of single backends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackendOptions {
    /// Limits under `landlock`.
    pub landlock: ResourceLimits,
    /// Options of `bubblewrap`.
    pub bubblewrap: BubblewrapOptions,
    /// The program `srt`; `None` if it is to be found on PATH.
    pub srt_program: Option<PathBuf>,
    /// A file of srt's own settings, whose rules are added to these.
    pub srt_settings: Option<PathBuf>,
    /// The socket of the container engine; `None` for the default one.
    pub docker_socket: Option<PathBuf>,
    /// The container image. Its content is not used: the programs are mounted from this machine.
    pub docker_image: Option<String>,
    /// The network that the file asks for. It has no effect: the container has none.
    pub docker_network: Option<String>,
}

/// Options of `bubblewrap`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BubblewrapOptions {
    /// The program `bwrap`; `None` if it is to be found on PATH.
    pub program: Option<PathBuf>,
    /// Limits inside.
    pub limits: ResourceLimits,
}

/// Resource limits of each process in a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ResourceLimits {
    /// Processes and threads of the user, all sessions together, because the kernel counts them by user.
    pub max_processes: u64,
    /// The largest file that can be written, in bytes.
    pub max_file_bytes: u64,
    /// Open files.
    pub max_open_files: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self { max_processes: 2048, max_file_bytes: 256 * 1024 * 1024, max_open_files: 4096 }
    }
}
