//! Sandbox policy: the section `sandbox` of a policy file as data, with defaults, and the rules of `denyRead` and `denyWrite`.
//!
//! The defaults are the strictest settings that work on every machine: on, one sandbox for each session, best backend.
//!
//! A path denies a file or folder and everything below it. A rule with a wildcard denies every path that it matches, and a rule
//! without a slash denies every entry of that name in the folders that a sandbox may use.
//!
//! Invariants: a rule never denies less than its text as a literal path.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::json::Problem;

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

/// Files that are denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRule {
    /// A file or folder with everything below it.
    Path(PathBuf),
    /// Every file or folder that a pattern matches, with everything below it.
    Pattern(Pattern),
}

impl FileRule {
    /// Returns the pattern, if the rule is one.
    #[must_use]
    pub const fn pattern(&self) -> Option<&Pattern> {
        match self {
            Self::Path(_) => None,
            Self::Pattern(pattern) => Some(pattern),
        }
    }
}

/// A name or a path with wildcards: `*` and `?` match within a component, `[...]` matches one character, and `**` matches any
/// number of components.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// The components before the first wildcard; `None` for a pattern that applies in every folder.
    prefix: Option<PathBuf>,
    regex: Regex,
}

impl PartialEq for Pattern {
    /// The expression follows from the text.
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// Creates a pattern from a path with wildcards, or from a name. Returns `None` for an unclosed or invalid bracket.
    ///
    /// The folder, if there is one, precedes the text and has no wildcards.
    pub(in crate::policy) fn new(folder: Option<&Path>, text: &str) -> Option<Self> {
        let is_anywhere = folder.is_none() && !text.starts_with('/');
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        let mut prefix = folder.map_or_else(|| PathBuf::from("/"), Path::to_owned);
        prefix.extend(parts.iter().take_while(|part| !has_wildcard(part)));
        let start = folder.map_or_else(String::new, |folder| regex::escape(&folder.to_string_lossy()));
        let (mut expression, mut literal) = (start.clone(), start);
        for (position, part) in parts.iter().enumerate() {
            match (*part, position + 1 == parts.len()) {
                ("**", true) => expression.push_str("/.+"),
                ("**", false) => expression.push_str("(?:/[^/]+)*"),
                (part, _) => write!(expression, "/{}", component(part)?).ok()?,
            }
            write!(literal, "/{}", regex::escape(part)).ok()?;
        }
        let before = if is_anywhere { ".*" } else { "" };
        // The second alternative is the text as a literal path: a file may be named so.
        let regex = Regex::new(&format!("(?s)^{before}(?:{expression}|{literal})$")).ok()?;
        let text = folder.map_or_else(|| text.to_owned(), |folder| folder.join(text).to_string_lossy().into_owned());
        Some(Self { text, prefix: (!is_anywhere).then_some(prefix), regex })
    }

    /// Returns the text, with the home folder in place of `~`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if the pattern applies in every folder that a sandbox may use.
    #[must_use]
    pub const fn is_anywhere(&self) -> bool {
        self.prefix.is_none()
    }

    /// Returns true if the pattern matches this path. Paths below a match are denied too.
    #[must_use]
    pub fn matches(&self, path: &Path) -> bool {
        self.regex.is_match(&path.to_string_lossy())
    }

    /// Returns true if the pattern matches this path or a folder that holds it.
    #[must_use]
    pub fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|path| self.matches(path))
    }

    /// Returns true if the pattern can match a path below this folder.
    #[must_use]
    pub fn can_match_below(&self, folder: &Path) -> bool {
        self.prefix.as_ref().is_none_or(|prefix| prefix.starts_with(folder) || folder.starts_with(prefix))
    }
}

/// Returns true if the text has a wildcard.
pub(in crate::policy) fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Returns the expression of one path component. Returns `None` for a bracket without an end or without content.
fn component(text: &str) -> Option<String> {
    let mut expression = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '[' => {
                let text = rest.as_str();
                let is_negated = text.starts_with(['!', '^']);
                let body = text.get(usize::from(is_negated)..)?;
                // A bracket that comes first is a member, not the end.
                let first = body.chars().next()?.len_utf8();
                let end = body.get(first..)?.find(']')? + first;
                expression.push_str(if is_negated { "[^/" } else { "[" });
                for (position, member) in body.get(..end)?.char_indices() {
                    if member == '-' && position > 0 && position + 1 < end {
                        expression.push('-');
                    } else {
                        expression.push_str(&regex::escape(member.encode_utf8(&mut [0; 4])));
                    }
                }
                expression.push(']');
                rest = body.get(end + 1..)?.chars();
            }
            character => expression.push_str(&regex::escape(character.encode_utf8(&mut [0; 4]))),
        }
    }
    Some(expression)
}

#[cfg(test)]
mod tests;
