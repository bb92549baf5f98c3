//! Rules of the kernel for a process: Landlock, the filter of system calls, capabilities.
//!
//! Invariants: a rule that the kernel has and that cannot be set is an error.

pub mod kernel;
pub mod seccomp;

use std::path::Path;

use landlock::{AccessFs, BitFlags, PathBeneath, RulesetCreated, RulesetCreatedAttr, RulesetError};
use rustix::fs::{FileType, Mode, OFlags, open};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

/// Drops all capabilities but those that are kept, so that what a privileged server starts is unprivileged: root without them is
/// an ordinary user. The next program gets no more of them under `no_new_privs`.
///
/// # Errors
///
/// Returns the system's error if a set cannot be changed.
pub fn drop_capabilities(kept: CapabilitySet) -> Result<(), Errno> {
    let current = rustix::thread::capabilities(None)?;
    if current.permitted.is_empty() && current.inheritable.is_empty() {
        return Ok(());
    }
    for capability in CapabilitySet::all().difference(kept).iter() {
        // Fails for capabilities that this kernel lacks or that may not be removed. The sets below are what counts.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let (effective, permitted) = (current.effective & kept, current.permitted & kept);
    rustix::thread::set_capabilities(None, CapabilitySets { effective, permitted, inheritable: CapabilitySet::empty() })
}

/// Adds a rule for a path. A path that does not exist needs none.
///
/// # Errors
///
/// Returns an error if the rule cannot be added.
pub fn allow(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    // Not by `PathFd` of the landlock crate: it uses musl's `open`, which makes two system calls.
    let Ok(fd) = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else { return Ok(rules) };
    // The opened file counts, not what has the name by now.
    let is_folder = rustix::fs::fstat(&fd).is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_dir());
    let file_access =
        AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Execute | AccessFs::Truncate | AccessFs::IoctlDev;
    let access = if is_folder { access } else { access & file_access };
    rules.add_rule(PathBeneath::new(fd, access))
}
