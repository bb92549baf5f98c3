//! Helpers for backends whose sandboxes have their own file view.

use std::path::{Path, PathBuf};

use super::kernel::KernelFeatures;

/// Returns what a sandbox with its own files, processes and network lacks on this kernel.
pub(super) fn missing_inside(kernel: KernelFeatures) -> Vec<String> {
    let mut missing = Vec::new();
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
