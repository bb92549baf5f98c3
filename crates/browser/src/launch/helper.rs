//! Helper `launch`: restricts its own process, passes the debugging pipe on and becomes Chromium.
//!
//! Invariants: the kernel ends Chromium when the runtime ends; Chromium is not started if a rule cannot be set.

use std::convert::Infallible;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::launch::rules::{LaunchRules, RulesError};
use crate::launch::settings::{self, SettingsError};
use browser_shell_system::os::io_error::describe;
use browser_shell_system::os::reexec::{ConfigError, HelperArguments, parse_config};

/// Hidden first argument of the helper.
pub const SUBCOMMAND: &str = "launch";

/// File descriptors from which Chromium reads commands, and to which it writes answers.
const PIPE: [i32; 2] = [3, 4];

/// First argument of the helper, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HelperConfig {
    /// Rules that Chromium starts under.
    #[serde(flatten)]
    pub rules: LaunchRules,
    /// Folder of the profile that gets the settings of every start. Absent for a program that is not Chromium.
    #[serde(default)]
    pub profile: Option<PathBuf>,
}

/// Reason why the helper did not become Chromium.
#[allow(missing_docs, reason = "the message of each variant says it")]
#[derive(Debug, Error)]
pub enum LaunchError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("no program")]
    NoProgram,
    #[error("cannot ask the kernel to end Chromium with the runtime: {0}")]
    DeathSignal(#[source] Errno),
    #[error("cannot pass the debugging pipe on: {0}")]
    Pipe(#[source] Errno),
    #[error("file descriptor `{0}` is in use already; start the program without inherited file descriptors")]
    InheritedDescriptor(i32),
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("cannot start `{}`: {}", program.display(), describe(source))]
    Exec { program: PathBuf, source: io::Error },
}

/// Restricts this process and becomes Chromium. Standard input and output are the debugging pipe.
///
/// # Errors
///
/// Returns an error if a rule cannot be set or Chromium cannot be started. The process must end then.
pub fn run(arguments: HelperArguments<'_>) -> Result<Infallible, LaunchError> {
    let HelperConfig { rules, profile } = parse_config(arguments)?;
    let program = PathBuf::from(arguments.next().ok_or(LaunchError::NoProgram)?);
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(LaunchError::DeathSignal)?;
    pass_pipe_on()?;
    rules.apply()?;
    if let Some(profile) = profile {
        settings::write(&profile)?;
    }
    // These replace the pipe's ends, so that nothing but the debugging interface uses them.
    let source = Command::new(&program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).exec();
    Err(LaunchError::Exec { program, source })
}

/// Duplicates standard input and output to the descriptors of the pipe, which remain open in Chromium.
fn pass_pipe_on() -> Result<(), LaunchError> {
    let [commands, answers] = PIPE;
    keep(rustix::io::dup(io::stdin()).map_err(LaunchError::Pipe)?, commands)?;
    keep(rustix::io::dup(io::stdout()).map_err(LaunchError::Pipe)?, answers)
}

/// Keeps a descriptor open if it has this number, which is the lowest free one unless something was inherited.
fn keep(descriptor: OwnedFd, number: i32) -> Result<(), LaunchError> {
    if descriptor.into_raw_fd() == number { Ok(()) } else { Err(LaunchError::InheritedDescriptor(number)) }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn launch_helper_requires_rules_and_program() {
        let rules = r#"{"connect": [1], "landlock": 0, "seccomp": false}"#;
        for line in [&[][..], &["{}", "/bin/true"], &["", "/bin/true"], &[rules]] {
            let line: Vec<OsString> = line.iter().map(OsString::from).collect();
            assert!(run(&mut line.clone().into_iter()).is_err(), "{line:?}");
        }
    }
}
