//! Helper `launch-display`: restricts its own process and becomes the X server.
//!
//! Invariants: the kernel ends the X server when its server ends; it is not started if a rule cannot be set.

use std::convert::Infallible;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::Signal;
use thiserror::Error;

use crate::launch::rules::{LaunchRules, RulesError};
use browser_shell_system::os::io_error::describe;
use browser_shell_system::os::reexec::{ConfigError, HelperArguments, parse_config};

/// Hidden first argument of the helper.
pub const SUBCOMMAND: &str = "launch-display";

/// Reason why the helper did not become the X server.
#[allow(missing_docs, reason = "the message of each variant says it")]
#[derive(Debug, Error)]
pub enum DisplayHelperError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("no program")]
    NoProgram,
    #[error("cannot ask the kernel to end the display with its server: {0}")]
    DeathSignal(#[source] Errno),
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error("cannot start `{}`: {}", program.display(), describe(source))]
    Exec { program: PathBuf, source: io::Error },
}

/// Restricts this process and becomes the X server.
///
/// # Errors
///
/// Returns an error if a rule cannot be set or the X server cannot be started. The process must end then.
pub fn run(arguments: HelperArguments<'_>) -> Result<Infallible, DisplayHelperError> {
    let rules: LaunchRules = parse_config(arguments)?;
    let program = PathBuf::from(arguments.next().ok_or(DisplayHelperError::NoProgram)?);
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(DisplayHelperError::DeathSignal)?;
    rules.apply()?;
    let source = Command::new(&program).args(arguments).exec();
    Err(DisplayHelperError::Exec { program, source })
}
