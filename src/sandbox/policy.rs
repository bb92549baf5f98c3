//! The part `sandbox` of a policy: what it says, with its defaults.
//!
//! Decides nothing and does no I/O; `policy/sandbox.rs` reads it from the file. A default must never be weaker than what the
//! machine can do: on, for each session of its own, with the best backend there is.

use std::fmt;
use std::path::PathBuf;

/// The part `sandbox` of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// Whether there is a sandbox at all.
    pub enabled: bool,
    /// Which backend; `None` is the best one of this machine.
    pub backend: Option<BackendName>,
    /// Who shares one.
    pub mode: Mode,
    /// Whether a session without full enforcement is refused.
    pub require: bool,
    /// More about files.
    pub filesystem: Filesystem,
    /// More about the network.
    pub network: Network,
    /// About the sandbox's life.
    pub runtime: Runtime,
    /// What only one backend knows.
    pub backends: Backends,
}

impl Default for SandboxPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            backend: None,
            mode: Mode::PerSession,
            require: false,
            filesystem: Filesystem::default(),
            network: Network::default(),
            runtime: Runtime::default(),
            backends: Backends::default(),
        }
    }
}

impl SandboxPolicy {
    /// Whether it is switched off, in one of the ways in which it can be.
    #[must_use]
    pub fn is_off(&self) -> bool {
        !self.enabled || self.mode == Mode::Disabled || self.backend == Some(BackendName::None)
    }
}

/// The backends, by the names of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendName {
    /// Landlock, seccomp and limits, by this program itself.
    Landlock,
    /// Namespaces, by `bwrap`, and inside of them what `landlock` does.
    Bubblewrap,
    /// The sandbox runtime from npm.
    Srt,
    /// A container of an engine.
    Docker,
    /// Nothing.
    None,
}

impl BackendName {
    /// All of them, the preferred ones first.
    pub const ALL: &[Self] = &[Self::Landlock, Self::Bubblewrap, Self::Srt, Self::Docker, Self::None];

    /// The name in the file, in `doctor` and in the audit log.
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

/// Who shares a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nobody: a session sees its own files only.
    PerSession,
    /// All sessions see each other's files, and nothing else of the machine.
    Shared,
    /// There is none.
    Disabled,
}

/// More about files. All paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filesystem {
    /// What must not be read, whatever else allows it.
    pub deny_read: Vec<PathBuf>,
    /// What may be written besides the session's own folders.
    pub allow_write: Vec<PathBuf>,
    /// What must not be written, whatever else allows it.
    pub deny_write: Vec<PathBuf>,
}

/// More about the network. Without any of it only the browser's debugging port can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Domains that may be reached; only `srt` can do that.
    pub allowed_domains: Vec<String>,
    /// Domains that may not.
    pub denied_domains: Vec<String>,
    /// Whether it may listen on ports.
    pub allow_local_binding: bool,
}

/// About the sandbox's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Whether the session's folders go with the session.
    pub cleanup_on_exit: bool,
    /// The most seconds that one program may run in it.
    pub timeout: Option<u64>,
}

impl Default for Runtime {
    fn default() -> Self {
        Self { cleanup_on_exit: true, timeout: None }
    }
}

/// What only one backend knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backends {
    /// Limits under `landlock`.
    pub landlock: Limits,
    /// `bwrap` and the limits inside.
    pub bubblewrap: Bubblewrap,
    /// The program `srt`; found on PATH if there is none.
    pub srt_program: Option<PathBuf>,
    /// The engine's socket; the usual one if there is none.
    pub docker_socket: Option<PathBuf>,
    /// The image. Nothing of it is used: what runs in it is mounted from this machine.
    pub docker_image: Option<String>,
}

/// Settings of `bubblewrap`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bubblewrap {
    /// The program; found on PATH if there is none.
    pub program: Option<PathBuf>,
    /// Limits inside.
    pub limits: Limits,
}

/// Limits of each process, except where they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limits {
    /// Processes and threads of the user, all sessions together: the kernel counts no other way.
    pub max_processes: u64,
    /// The largest file that can be written, in bytes.
    pub max_file_bytes: u64,
    /// Open files.
    pub max_open_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_processes: 2048, max_file_bytes: 256 * 1024 * 1024, max_open_files: 4096 }
    }
}
