//! Starter of nixpkgs' Chromium, in place of nixpkgs' wrapper script.
//!
//! nixpkgs' build does not start if the variable with the path of the setuid sandbox is unset. With an empty value, Chromium
//! uses its namespace sandbox, or reports that it cannot.

#![forbid(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The path of Chromium, from the build.
const PROGRAM: &str = env!("PROGRAM");

/// `EX_OSERR` of sysexits.
const FAILED: u8 = 71;

fn main() -> ExitCode {
    let error = Command::new(PROGRAM).args(std::env::args_os().skip(1)).env("CHROME_DEVEL_SANDBOX", "").exec();
    eprintln!("cannot start `{PROGRAM}`: {error}");
    ExitCode::from(FAILED)
}
