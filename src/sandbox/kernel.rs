//! What the kernel can enforce, and how much of a plan that is.
//!
//! Decides what is missing, in words for the operator. Must never call something enforced that is not.

use std::fmt;

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

use super::plan::Plan;

/// What the kernel can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// The version of Landlock's rights, 0 without it: 1 files, 2 links, 3 truncation, 4 TCP, 5 device commands, 6 signals and
    /// abstract sockets, 9 sockets in the file system. Versions between bring no rights.
    pub landlock: u8,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
}

/// How much of a plan is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    None,
    /// A part.
    Partial,
    /// All of it.
    Full,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Full => "full",
        })
    }
}

/// How far a backend enforces a plan, and what it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// How far.
    pub level: Level,
    /// What is missing.
    pub missing: Vec<String>,
}

impl Enforcement {
    /// All of it.
    pub const FULL: Self = Self { level: Level::Full, missing: Vec::new() };

    /// Full without anything missing, else partial.
    #[must_use]
    pub fn without(missing: Vec<String>) -> Self {
        Self { level: if missing.is_empty() { Level::Full } else { Level::Partial }, missing }
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level)?;
        if self.missing.is_empty() { Ok(()) } else { write!(f, ", without {}", self.missing.join(", ")) }
    }
}

impl Kernel {
    /// Asks the kernel. Nothing is restricted by that.
    #[must_use]
    pub fn ask() -> Self {
        let landlock = [9, 6, 5, 4, 3, 2, 1].into_iter().find(|version| has_landlock(*version)).unwrap_or_default();
        let seccomp = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
        Self { landlock, seccomp: seccomp.is_ok_and(|actions| actions.split_whitespace().any(|name| name == "errno")) }
    }

    /// What Landlock and a filter do not enforce of a plan here.
    #[must_use]
    pub fn missing(self, plan: &Plan) -> Vec<String> {
        let mut missing: Vec<String> = self.missing_of_any().into_iter().map(str::to_owned).collect();
        let inside =
            plan.hidden.iter().map(|path| ("denyRead", path)).chain(plan.fixed.iter().map(|path| ("denyWrite", path)));
        missing.extend(inside.map(|(name, path)| {
            format!("filesystem.{name} of `{}`, which lies in a folder that is allowed", path.display())
        }));
        missing
    }

    fn missing_of_any(self) -> Vec<&'static str> {
        let rights = [
            (1, "rules for files"),
            (2, "rules for links between folders"),
            (3, "rules for cutting files off"),
            (4, "rules for TCP ports"),
            (5, "rules for commands to devices"),
            (6, "rules for signals and abstract sockets"),
        ];
        let mut missing: Vec<_> =
            rights.into_iter().filter(|(version, _)| self.landlock < *version).map(|(_, what)| what).collect();
        if !self.seccomp {
            missing.push("a filter for system calls");
        }
        missing
    }
}

/// The version by its number.
pub(super) fn abi(version: u8) -> ABI {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_5_2_what_a_kernel_lacks_is_said_version_by_version() {
        let rows: Vec<_> = [0, 1, 2, 3, 4, 5, 6, 7, 9]
            .map(|landlock| {
                let enforcement = Enforcement::without(Kernel { landlock, seccomp: true }.missing(&Plan::default()));
                format!("{landlock}: {enforcement}")
            })
            .into();
        insta::assert_snapshot!(rows.join("\n"));
        let bare = Kernel { landlock: 6, seccomp: false }.missing(&Plan::default());
        assert_eq!(bare, ["a filter for system calls"]);
    }

    #[test]
    fn a_denial_inside_of_an_allowed_folder_is_not_called_enforced() {
        let kernel = Kernel { landlock: 9, seccomp: true };
        let plan = Plan { hidden: vec!["/usr/lib/x".into()], fixed: vec!["/data/x".into()], ..Plan::default() };
        let missing = kernel.missing(&plan);
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert_eq!(Enforcement::without(missing).level, Level::Partial);
        assert_eq!(Enforcement::without(kernel.missing(&Plan::default())).level, Level::Full, "control");
    }
}
