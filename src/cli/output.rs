//! Output of commands and their exit codes.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::Value;

/// Prints a value as indented JSON.
pub(super) fn print_json(value: &Value) -> io::Result<()> {
    writeln!(io::stdout(), "{value:#}")
}

/// Converts an exit code to the system's range; a code that does not fit becomes 1.
pub(super) fn exit_code(code: i32) -> ExitCode {
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}
