//! Features of the kernel that rules for processes use.
//!
//! Invariants: a missing part is always reported.

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

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
