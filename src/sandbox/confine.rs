//! Confining oneself and becoming another program: this program's hidden first argument `confine`.
//!
//! Decides nothing: it turns a plan into the kernel's rules and then is agent-browser. Whatever fails here ends it before a
//! single instruction of agent-browser runs. Must never go on after a rule that could not be set.

use std::ffi::OsString;
use std::fmt::Display;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use landlock::{
    Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};
use rustix::fs::{FileType, Mode, OFlags, open};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

use super::kernel::{Kernel, abi};
use super::plan::Plan;
use super::policy::Limits;
use super::seccomp;
use crate::becoming;

/// The name of the hidden subcommand.
pub const SUBCOMMAND: &str = "confine";

/// What a confined process is told, as JSON in its second argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// What may be reached.
    pub plan: Plan,
    /// The version of Landlock's rights to use; one that the kernel does not have is a failure.
    pub landlock: u8,
    /// Whether to filter system calls.
    pub seccomp: bool,
}

impl Orders {
    /// All that the kernel has.
    #[must_use]
    pub const fn new(plan: Plan, kernel: Kernel) -> Self {
        Self { plan, landlock: kernel.landlock, seccomp: kernel.seccomp }
    }

    /// The arguments that come before agent-browser's own program and arguments.
    #[must_use]
    pub fn arguments(&self) -> [OsString; 2] {
        [SUBCOMMAND.into(), serde_json::to_string(self).unwrap_or_default().into()]
    }
}

/// Runs the subcommand if these arguments ask for it; then it returns only if it failed.
pub fn from_arguments(arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    becoming::from_arguments(arguments, SUBCOMMAND, become_program)
}

fn become_program(mut arguments: impl Iterator<Item = OsString>) -> Result<std::convert::Infallible, String> {
    let orders = arguments.next().ok_or("no orders")?;
    let orders: Orders = serde_json::from_slice(orders.as_encoded_bytes()).map_err(say("the orders"))?;
    let program = PathBuf::from(arguments.next().ok_or("no program")?);
    if let Some(limits) = orders.plan.limits {
        limit(limits)?;
    }
    // Fails only where a kernel is too old to have filters either.
    rustix::thread::set_no_new_privs(true).map_err(say("no new privileges"))?;
    drop_capabilities()?;
    // Built before the rules: they would keep it from nothing, but a failure is better told early.
    let filter = if orders.seccomp { Some(seccomp::filter().map_err(say("the filter"))?) } else { None };
    if orders.landlock > 0 {
        landlock(&orders.plan, orders.landlock)?;
    }
    if let Some(filter) = &filter {
        seccompiler::apply_filter(filter).map_err(say("the filter"))?;
    }
    Err(format!("cannot start `{}`: {}", program.display(), Command::new(&program).args(arguments).exec()))
}

fn say<E: Display>(what: &'static str) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error}")
}

fn limit(limits: Limits) -> Result<(), String> {
    let rows = [
        (Resource::Core, 0),
        (Resource::Nproc, limits.max_processes),
        (Resource::Fsize, limits.max_file_bytes),
        (Resource::Nofile, limits.max_open_files),
    ];
    for (resource, most) in rows {
        // What is lower already stays so: only a privileged process could raise it.
        let now = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let most = Some(most.min(now));
        setrlimit(resource, Rlimit { current: most, maximum: most }).map_err(say("a limit"))?;
    }
    Ok(())
}

/// A privileged server has unprivileged sessions: without its capabilities root is a user like others.
fn drop_capabilities() -> Result<(), String> {
    let now = rustix::thread::capabilities(None).map_err(say("the capabilities"))?;
    if now.permitted.is_empty() && now.inheritable.is_empty() {
        return Ok(());
    }
    for capability in CapabilitySet::all().iter() {
        // Those that this kernel does not have, or that may not be taken away, fail; the sets below count.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(say("the capabilities"))
}

fn landlock(plan: &Plan, version: u8) -> Result<(), String> {
    let failed = say::<landlock::RulesetError>("the rules");
    let abi = abi(version);
    let all = AccessFs::from_all(abi);
    let mut rules =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all).map_err(&failed)?;
    if version >= 4 {
        let handled = if plan.bind { AccessNet::ConnectTcp.into() } else { AccessNet::from_all(abi) };
        rules = rules.handle_access(handled).map_err(&failed)?;
    }
    if version >= 6 {
        rules = rules.scope(Scope::from_all(abi)).map_err(&failed)?;
    }
    let mut rules = rules.create().map_err(&failed)?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = read
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir;
    let own = format!("/proc/{}", std::process::id());
    for (paths, access) in [
        (&plan.read, read),
        (&vec![PathBuf::from(own)], read),
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
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp)).map_err(&failed)?;
        }
    }
    rules.restrict_self().map_err(&failed)?;
    Ok(())
}

/// Adds a rule; what is not there needs none.
fn allow(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, String> {
    // Not by the landlock crate's own, which asks musl's `open`: that one makes two calls of each.
    let Ok(fd) = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else { return Ok(rules) };
    // What was opened, not what has the name by now.
    let is_folder = rustix::fs::fstat(&fd).is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_dir());
    let of_files =
        AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Execute | AccessFs::Truncate | AccessFs::IoctlDev;
    let access = if is_folder { access } else { access & of_files };
    rules.add_rule(PathBeneath::new(fd, access)).map_err(say("a rule"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_come_out_as_they_went_in_and_other_arguments_are_for_others() {
        let orders = Orders::new(Plan::default(), Kernel { landlock: 6, seccomp: true });
        let [name, text] = orders.arguments();
        assert_eq!(name, SUBCOMMAND);
        assert_eq!(serde_json::from_slice::<Orders>(text.as_encoded_bytes()).expect("read"), orders);
        for line in [&["x"][..], &["x", "mcp"], &["x", "--", "confine"]] {
            assert!(from_arguments(line.iter().map(OsString::from)).is_none(), "{line:?}");
        }
    }

    #[test]
    fn without_orders_nothing_is_started() {
        for line in [&["x", "confine"][..], &["x", "confine", "{}", "/bin/true"], &["x", "confine", "", "/bin/true"]] {
            assert!(from_arguments(line.iter().map(OsString::from)).is_some(), "{line:?}");
        }
    }
}
