//! The backend `srt`: the command line of Anthropic's sandbox runtime from npm.
//!
//! Decides its settings file and its command. It makes a network of its own, which the browser's debugging port on the
//! machine's loopback is not in. Must never widen what the plan allows.

use super::backends::Machine;
use super::kernel::Enforcement;
use super::plan::Plan;
use super::policy::SandboxPolicy;
use crate::exec::Program;
use crate::transport::find_on_path;

const WHY: &str = "its sandboxes have a network of their own, in which the browser's debugging port cannot be reached";

/// Why it cannot be used.
pub(super) fn probe(_: &Machine, policy: &SandboxPolicy, _: &Plan) -> Result<Enforcement, String> {
    let found = policy.backends.srt_program.clone().filter(|path| path.is_file()).or_else(|| find_on_path("srt"));
    match found {
        None => Err(format!("`srt` is not on PATH; and {WHY}")),
        Some(path) => Err(format!("`{}` is there, but {WHY}", path.display())),
    }
}

/// Never used.
pub(super) fn wrap(_: &Machine, _: &SandboxPolicy, _: &Plan, _: &Program) -> Result<Program, String> {
    Err(WHY.to_owned())
}
