//! Output of commands and their exit codes.

use std::io::{self, Write};
use std::process::ExitCode;

use browser_shell_core::output::{escape_for_terminal, escape_json};
use serde_json::Value;

/// Prints a value as indented JSON, with what a terminal would obey as escapes of JSON.
pub(super) fn print_json(value: &Value) -> io::Result<()> {
    let text = format!("{value:#}");
    // The line feeds between members are no part of a string, where JSON has escaped them.
    let lines: Vec<_> = text.split('\n').map(escape_json).collect();
    writeln!(io::stdout(), "{}", lines.join("\n"))
}

/// Prints text to a person, with what a terminal would obey escaped.
pub(super) fn print_text(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{}", escape_for_terminal(text))
}

/// Prints a text that this program has made itself, for a shell or a formatter, as it is.
pub(super) fn print_made(text: &[u8]) -> io::Result<()> {
    io::stdout().write_all(text)
}

/// Prints an error message, escaped likewise.
pub(super) fn print_error(message: &str) -> io::Result<()> {
    writeln!(io::stderr(), "{}", escape_for_terminal(message))
}

/// Converts an exit code to the system's range; a code that does not fit becomes 1.
pub(super) fn exit_code(code: i32) -> ExitCode {
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}
