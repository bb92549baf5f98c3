//! Machine as the backends see it: the kernel's features and this program's own files.

use std::path::PathBuf;
use std::time::Duration;

use crate::installation::files::loader_files;
use browser_shell_system::confinement::kernel::KernelFeatures;

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
