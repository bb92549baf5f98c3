//! Helper `confine`, which restricts its own process to a plan and then becomes another program, and the backend `landlock`, which
//! runs each program by it.
//!
//! Invariants: if any rule cannot be set, the other program does not start.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use landlock::{
    Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope,
};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::sandbox::denied_files;
use crate::sandbox::host::{Enforcement, SandboxHost};
use crate::sandbox::plan::Plan;
use browser_shell_core::policy::sandbox::{ResourceLimits, SandboxPolicy};
use browser_shell_system::confinement::seccomp::{self, FilterError};
use browser_shell_system::confinement::{KernelFeatures, abi, allow, drop_capabilities};
use browser_shell_system::os::exec::Program;
use browser_shell_system::os::reexec::{ConfigError, HelperArguments, parse_config};

/// The hidden first argument.
pub const SUBCOMMAND: &str = "confine";

/// Configuration of a confined process, as JSON in the second argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfineConfig {
    /// The resources that the process may use.
    pub plan: Plan,
    /// The ABI version of Landlock to use. One that the kernel lacks is an error.
    pub landlock: u8,
    /// True if system calls are filtered.
    pub seccomp: bool,
}

impl ConfineConfig {
    /// Creates a configuration that uses all features of the kernel.
    #[must_use]
    pub const fn new(plan: Plan, kernel: KernelFeatures) -> Self {
        Self { plan, landlock: kernel.landlock, seccomp: kernel.seccomp }
    }

    /// Returns the arguments that precede the other program and its arguments.
    #[must_use]
    pub fn arguments(&self) -> [OsString; 2] {
        [SUBCOMMAND.into(), serde_json::to_string(self).unwrap_or_default().into()]
    }
}

/// Error of a process that confines itself.
#[derive(Debug, Error)]
pub enum ConfineError {
    /// The configuration is missing or invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No program follows the configuration.
    #[error("no program")]
    NoProgram,
    /// A resource limit cannot be set.
    #[error("cannot set a resource limit: {0}")]
    Limit(#[source] Errno),
    /// Gaining privileges cannot be ruled out.
    #[error("cannot set no_new_privs: {0}")]
    NoNewPrivileges(#[source] Errno),
    /// Capabilities cannot be dropped.
    #[error("cannot drop capabilities: {0}")]
    Capabilities(#[source] Errno),
    /// The system call filter cannot be built.
    #[error("cannot build the system call filter: {0}")]
    Filter(#[from] FilterError),
    /// The system call filter cannot be set.
    #[error("cannot set the system call filter: {0}")]
    ApplyFilter(#[from] seccompiler::Error),
    /// Landlock's rules cannot be set.
    #[error("cannot set Landlock's rules: {0}")]
    Landlock(#[from] RulesetError),
    /// The other program cannot be started.
    #[error("cannot start `{}`: {source}", program.display())]
    Exec {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Confines this process and becomes the other program.
///
/// # Errors
///
/// If a rule cannot be set or the program cannot be started. The process must end then.
pub fn run(arguments: HelperArguments<'_>) -> Result<Infallible, ConfineError> {
    let config: ConfineConfig = parse_config(arguments)?;
    let program = PathBuf::from(arguments.next().ok_or(ConfineError::NoProgram)?);
    if let Some(limits) = config.plan.limits {
        set_limits(limits).map_err(ConfineError::Limit)?;
    }
    // Fails only on kernels that are too old for filters.
    rustix::thread::set_no_new_privs(true).map_err(ConfineError::NoNewPrivileges)?;
    drop_capabilities(CapabilitySet::empty()).map_err(ConfineError::Capabilities)?;
    let filter = if config.seccomp { Some(seccomp::session_filter()?) } else { None };
    if config.landlock > 0 {
        restrict(&config.plan, config.landlock)?;
    }
    if let Some(filter) = &filter {
        seccompiler::apply_filter(filter)?;
    }
    let source = Command::new(&program).args(arguments).exec();
    Err(ConfineError::Exec { program, source })
}

fn set_limits(limits: ResourceLimits) -> Result<(), Errno> {
    let rows = [
        (Resource::Core, 0),
        (Resource::Nproc, limits.max_processes),
        (Resource::Fsize, limits.max_file_bytes),
        (Resource::Nofile, limits.max_open_files),
    ];
    for (resource, limit) in rows {
        // A lower inherited limit stays: only a privileged process could raise it.
        let inherited = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Some(limit.min(inherited));
        setrlimit(resource, Rlimit { current: limit, maximum: limit })?;
    }
    Ok(())
}

/// Restricts this process by Landlock.
fn restrict(plan: &Plan, version: u8) -> Result<(), RulesetError> {
    let abi = abi(version);
    let all = AccessFs::from_all(abi);
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all)?;
    if version >= 4 {
        rules = rules.handle_access(if plan.bind { AccessNet::ConnectTcp.into() } else { AccessNet::from_all(abi) })?;
    }
    if version >= 6 {
        rules = rules.scope(Scope::from_all(abi))?;
    }
    let mut rules = rules.create()?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = read
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir;
    for (paths, access) in [
        (plan.read.as_slice(), read),
        (&plan.execute, AccessFs::ReadFile | AccessFs::Execute),
        (&plan.write, write),
        (&plan.sockets, write | AccessFs::MakeSock | AccessFs::ResolveUnix),
        (&plan.devices, AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev),
    ] {
        for path in paths {
            rules = allow(rules, path, access & all)?;
        }
    }
    if version >= 4 {
        for port in &plan.connect {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
    }
    rules.restrict_self()?;
    Ok(())
}

/// Determines how much of a plan Landlock and the system call filter enforce on this machine. Returns `None` without Landlock.
pub(super) fn probe(host: &SandboxHost, policy: &SandboxPolicy, plan: &Plan) -> Option<Enforcement> {
    (host.kernel.landlock > 0).then(|| {
        let mut missing = missing(host.kernel, plan);
        let rules = &policy.filesystem;
        // Landlock's rules are for folders, and a rule for a folder holds for all that is in it.
        for (name, rules) in [("denyRead", &rules.deny_read), ("denyWrite", &rules.deny_write)] {
            let names = denied_files::matching_below(rules, plan, name == "denyRead");
            if !names.is_empty() {
                missing.push(format!("filesystem.{name} of {}", names.join(", ")));
            }
        }
        missing.extend(denied_files::missing(rules, plan));
        Enforcement::without(missing)
    })
}

/// Returns the parts of a plan that Landlock and the system call filter do not enforce with these features of the kernel.
fn missing(kernel: KernelFeatures, plan: &Plan) -> Vec<String> {
    let mut missing: Vec<String> = kernel.missing_features().into_iter().map(str::to_owned).collect();
    let nested =
        plan.masked.iter().map(|path| ("denyRead", path)).chain(plan.read_only.iter().map(|path| ("denyWrite", path)));
    missing.extend(
        nested.map(|(name, path)| format!("filesystem.{name} of `{}`, which is in an allowed folder", path.display())),
    );
    missing
}

/// Returns this program, set up to confine itself and become the other one.
pub(super) fn wrap(host: &SandboxHost, plan: &Plan, program: &Program) -> Program {
    Program { path: host.reexec_path.clone(), arguments: confine_arguments(host, plan, program), ..program.clone() }
}

/// Returns the arguments with which this program confines itself and becomes the other one.
pub(super) fn confine_arguments(host: &SandboxHost, plan: &Plan, program: &Program) -> Vec<OsString> {
    let mut arguments = Vec::from(ConfineConfig::new(plan.clone(), host.kernel).arguments());
    arguments.push(program.path.clone().into());
    arguments.extend(program.arguments.iter().cloned());
    arguments
}

#[cfg(test)]
mod tests;
