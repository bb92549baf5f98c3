//! Backend `landlock`: this program confines itself and then becomes the other program.

use std::ffi::OsString;

use browser_shell_core::policy::sandbox::SandboxPolicy;

use super::confine::ConfineConfig;
use super::denied_files;
use super::enforcement::Enforcement;
use super::host::SandboxHost;
use super::plan::Plan;
use browser_shell_system::confinement::kernel::KernelFeatures;
use browser_shell_system::os::exec::Program;

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
