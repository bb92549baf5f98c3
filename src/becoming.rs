//! Hidden first arguments by which this program becomes another one, under the same number and with rules of its own making.
//!
//! Decides how such a start is recognised, before any parser, and how its failure is told from the other program's. Must never
//! let what follows run when it failed.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// How it ends when the other program was not started: `EX_OSERR`.
pub const FAILED: u8 = 71;

/// What its message begins with then.
#[must_use]
pub fn failure(subcommand: &str) -> String {
    format!("browser-shell {subcommand}: ")
}

/// Becomes the other program if these arguments, this program's own name first, ask for it; then it returns only if it failed.
pub fn from_arguments<I: Iterator<Item = OsString>>(
    mut arguments: I,
    subcommand: &str,
    become_program: impl FnOnce(I) -> Result<Infallible, String>,
) -> Option<ExitCode> {
    if arguments.nth(1)? != subcommand {
        return None;
    }
    let why = match become_program(arguments) {
        Ok(never) => match never {},
        Err(why) => why,
    };
    let _ = writeln!(std::io::stderr(), "{}{why}", failure(subcommand));
    Some(ExitCode::from(FAILED))
}
