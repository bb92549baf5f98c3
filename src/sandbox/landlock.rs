//! Backend `landlock`: this program confines itself and then becomes the other program.

use std::ffi::OsString;

use super::confine::ConfineConfig;
use super::enforcement::Enforcement;
use super::host::SandboxHost;
use super::plan::Plan;
use crate::os::exec::Program;

/// Determines how much of a plan Landlock and the system call filter enforce on this machine. Returns `None` without Landlock.
pub(super) fn probe(host: &SandboxHost, plan: &Plan) -> Option<Enforcement> {
    (host.kernel.landlock > 0).then(|| Enforcement::without(host.kernel.missing(plan)))
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
