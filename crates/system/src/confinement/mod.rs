//! Rules of the kernel for a process: Landlock, the filter of system calls, capabilities; and the features that the kernel has
//! for them.
//!
//! Invariants: a rule that the kernel has and that cannot be set is an error; a missing feature is always reported.

pub mod seccomp;

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{FileType, Mode, OFlags, open};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

/// The features of the kernel that sandboxes use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelFeatures {
    /// The ABI version of Landlock, 0 without it: 1 files, 2 links, 3 truncation, 4 TCP, 5 device commands, 6 signals and
    /// abstract sockets, 9 sockets in the file system. The versions between add no access rights.
    pub landlock: u8,
    /// True if system calls can be filtered.
    pub seccomp: bool,
}

impl KernelFeatures {
    /// Detects the features. This process is not restricted by it.
    #[must_use]
    pub fn detect() -> Self {
        let landlock = [9, 6, 5, 4, 3, 2, 1].into_iter().find(|version| has_landlock(*version)).unwrap_or_default();
        let seccomp = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
        Self { landlock, seccomp: seccomp.is_ok_and(|actions| actions.split_whitespace().any(|name| name == "errno")) }
    }

    /// Returns the features of this program's rules that the kernel lacks, for a message.
    #[must_use]
    pub fn missing_features(self) -> Vec<&'static str> {
        let rights = [
            (1, "rules for files"),
            (2, "rules for links between folders"),
            (3, "rules for truncating files"),
            (4, "rules for TCP ports"),
            (5, "rules for commands to devices"),
            (6, "rules for signals and abstract sockets"),
        ];
        let mut missing: Vec<_> =
            rights.into_iter().filter(|(version, _)| self.landlock < *version).map(|(_, rules)| rules).collect();
        if !self.seccomp {
            missing.push("a filter for system calls");
        }
        missing
    }
}

/// Returns the ABI of this version.
#[must_use]
pub fn abi(version: u8) -> ABI {
    ABI::from(i32::from(version))
}

fn has_landlock(version: u8) -> bool {
    let abi = abi(version);
    let rules =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(abi));
    let rules =
        if version >= 4 { rules.and_then(|rules| rules.handle_access(AccessNet::from_all(abi))) } else { rules };
    let rules = if version >= 6 { rules.and_then(|rules| rules.scope(Scope::from_all(abi))) } else { rules };
    rules.and_then(Ruleset::create).is_ok()
}

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
