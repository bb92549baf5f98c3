//! Helpers for backends whose sandboxes have their own file view.

use std::path::{Path, PathBuf};

use browser_shell_core::policy::sandbox::SandboxPolicy;

use super::denied_files;
use super::plan::Plan;
use browser_shell_system::confinement::kernel::KernelFeatures;

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
