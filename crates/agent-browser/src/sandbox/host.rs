//! Machine as the backends see it, and how much of a plan they enforce on it: the kernel's features and this program's own files,
//! what is missing, and what sandboxes with their own file view can show.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::installation::files::loader_files;
use crate::sandbox::denied_files;
use crate::sandbox::plan::Plan;
use browser_shell_core::policy::sandbox::SandboxPolicy;
use browser_shell_system::confinement::KernelFeatures;

/// Time limit of a probe's request to another program or an engine.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The kernel and this program, as the backends need them.
#[derive(Clone, Debug)]
pub struct SandboxHost {
    /// Features of the kernel.
    pub kernel: KernelFeatures,
    /// The path of this program's file, for sandboxes with their own file view.
    pub executable: PathBuf,
    /// The path by which this process starts itself again. It names the running program even after its file was replaced by
    /// a newer version.
    pub reexec_path: PathBuf,
    /// The loader and libraries of this program; empty for a static one.
    pub loader_files: Vec<PathBuf>,
}

impl SandboxHost {
    /// Detects this machine's features.
    #[must_use]
    pub fn detect() -> Self {
        // Not `/proc/self/exe` for the file view: another mount namespace has another `/proc`.
        let executable = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
        Self {
            kernel: KernelFeatures::detect(),
            loader_files: loader_files(&executable),
            executable,
            reexec_path: "/proc/self/exe".into(),
        }
    }
}

#[cfg(test)]
impl SandboxHost {
    /// Returns a machine with this version of Landlock and this program in such a file.
    pub(super) fn with(landlock: u8, executable: &str) -> Self {
        Self {
            kernel: KernelFeatures { landlock, seccomp: true },
            executable: executable.into(),
            reexec_path: executable.into(),
            loader_files: Vec::new(),
        }
    }
}

/// The part of a plan that is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnforcementLevel {
    /// Nothing.
    None,
    /// A part.
    Partial,
    /// Everything.
    Full,
}

impl fmt::Display for EnforcementLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Full => "full",
        })
    }
}

/// The enforcement of a plan by a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// The level.
    pub level: EnforcementLevel,
    /// The parts that are not enforced, in words for the operator.
    pub missing: Vec<String>,
}

impl Enforcement {
    /// No enforcement at all.
    pub(super) const NONE: Self = Self { level: EnforcementLevel::None, missing: Vec::new() };

    /// Returns full enforcement if nothing is missing, else partial.
    #[must_use]
    pub fn without(missing: Vec<String>) -> Self {
        Self { level: if missing.is_empty() { EnforcementLevel::Full } else { EnforcementLevel::Partial }, missing }
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level)?;
        if self.missing.is_empty() { Ok(()) } else { write!(f, ", without {}", self.missing.join(", ")) }
    }
}

/// Returns the parts of a plan that a sandbox with its own files, processes and network lacks on this kernel.
pub(super) fn missing_inside(kernel: KernelFeatures, policy: &SandboxPolicy, plan: &Plan) -> Vec<String> {
    let mut missing = denied_files::missing(&policy.filesystem, plan);
    if kernel.landlock < 4 {
        missing.push("rules for TCP ports".to_owned());
    }
    if !kernel.seccomp {
        missing.push("a filter for system calls".to_owned());
    }
    missing
}

/// Returns true if a path can be shown in the sandbox: it exists and is not in `/proc`.
pub(super) fn is_mountable(path: &Path) -> bool {
    !path.starts_with("/proc") && path.exists()
}

/// Adds a path and its canonical form to the readable paths, unless a folder among them holds it already.
pub(super) fn add_readable(readable: &mut Vec<PathBuf>, path: &Path) {
    for path in [Some(path.to_owned()), path.canonicalize().ok()].into_iter().flatten() {
        if is_mountable(&path) && !readable.iter().any(|known| path.starts_with(known)) {
            readable.push(path);
        }
    }
}
