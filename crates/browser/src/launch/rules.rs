//! Kernel rules of a Chromium: its TCP ports, its files and its system calls.
//!
//! Invariants: where the kernel has such rules, Chromium connects to the egress guard and to Unix sockets only, and uses the
//! files of its rules only; a rule that the kernel has and that cannot be set is an error.

use landlock::{
    Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope,
};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::launch::files::FileRules;
use browser_shell_system::confinement::kernel::{KernelFeatures, abi};
use browser_shell_system::confinement::seccomp::{FilterError, network_filter};
use browser_shell_system::confinement::{allow, drop_capabilities};

/// First version of Landlock's ABI with rules for TCP.
const TCP_ABI: u8 = 4;

/// First version of Landlock's ABI with rules for signals and abstract sockets.
const SCOPE_ABI: u8 = 6;

/// Capabilities that root keeps: for a profile in a folder of another user. Others would, for example, let it read the memory
/// maps and the environment of other processes in spite of Landlock.
const FILE_CAPABILITIES: CapabilitySet =
    CapabilitySet::CHOWN.union(CapabilitySet::DAC_OVERRIDE).union(CapabilitySet::DAC_READ_SEARCH);

/// Rules of a Chromium.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaunchRules {
    /// TCP ports that Chromium may connect to.
    pub connect: Vec<u16>,
    /// TCP ports that Chromium may listen on.
    #[serde(default)]
    pub bind: Vec<u16>,
    /// Files that Chromium may use.
    #[serde(default)]
    pub files: FileRules,
    /// Version of the kernel's Landlock ABI.
    pub landlock: u8,
    /// True if system calls are filtered.
    pub seccomp: bool,
}

/// Returns true if the kernel prevents connections and datagrams past the guard. The rule for TCP and the filter need each
/// other: each alone leaves ways that only the other one closes.
#[must_use]
pub fn is_enforced() -> bool {
    let kernel = KernelFeatures::detect();
    kernel.landlock >= TCP_ABI && kernel.seccomp
}

/// Returns true if the kernel has rules for files.
#[must_use]
pub fn confines_files() -> bool {
    KernelFeatures::detect().landlock > 0
}

/// Returns the rules that this kernel lacks, for a message.
#[must_use]
pub fn missing(kernel: KernelFeatures) -> Vec<&'static str> {
    let mut missing = Vec::new();
    if kernel.landlock == 0 {
        missing.push("rules for files: Chromium may use all files of its user");
    }
    if kernel.landlock < TCP_ABI {
        missing.push("rules for TCP: only flags and policies keep Chromium from connecting past the egress guard");
    }
    if !kernel.seccomp {
        missing.push("filter for system calls: only flags and policies keep Chromium from sending datagrams");
    }
    missing
}

/// Reason why a process could not be restricted.
#[derive(Debug, Error)]
pub enum RulesError {
    #[error("cannot restrict the process: {0}")]
    Process(#[from] Errno),
    #[error("cannot restrict connections and files: {0}")]
    Landlock(#[from] RulesetError),
    #[error("cannot build the system call filter: {0}")]
    Filter(#[from] FilterError),
    #[error("cannot set the system call filter: {0}")]
    ApplyFilter(#[from] seccompiler::Error),
}

impl LaunchRules {
    /// Restricts this process.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule cannot be set. The process must end then.
    pub(crate) fn apply(&self) -> Result<(), RulesError> {
        // A core dump would contain the browser's whole memory.
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        rustix::thread::set_no_new_privs(true)?;
        drop_capabilities(FILE_CAPABILITIES)?;
        if self.landlock > 0 {
            self.restrict()?;
        }
        // Set here, outside Chromium's own filters: the stricter answer counts.
        if self.seccomp {
            seccompiler::apply_filter(&network_filter()?)?;
        }
        Ok(())
    }

    fn restrict(&self) -> Result<(), RulesetError> {
        let abi = abi(self.landlock);
        let all = AccessFs::from_all(abi);
        let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all)?;
        if self.landlock >= TCP_ABI {
            rules = rules.handle_access(AccessNet::from_all(abi))?;
        }
        if self.landlock >= SCOPE_ABI {
            rules = rules.scope(Scope::from_all(abi))?;
        }
        let mut rules = rules.create()?;
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        // Everything but devices, which nobody creates.
        let write: BitFlags<AccessFs> = all & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock);
        for (paths, access) in [
            (&self.files.execute, read | AccessFs::Execute),
            (&self.files.read, read),
            (&self.files.write, write),
            (&self.files.change, read | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev),
            (&self.files.sockets, AccessFs::ResolveUnix.into()),
        ] {
            for path in paths {
                let access = access & all;
                if !access.is_empty() {
                    rules = allow(rules, path, access)?;
                }
            }
        }
        if self.landlock >= TCP_ABI {
            for port in &self.connect {
                rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
            }
            for port in &self.bind {
                rules = rules.add_rule(NetPort::new(*port, AccessNet::BindTcp))?;
            }
        }
        rules.restrict_self().map(|_| ())
    }
}
