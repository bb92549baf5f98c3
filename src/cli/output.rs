//! Output of commands, the errors that end them, and their exit codes.

use std::error::Error as StdError;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;
use thiserror::Error;

use crate::api::mcp::http::HttpError;
use crate::api::mcp::server::StdioError;
use browser_shell_core::output::{escape_for_terminal, escape_json};
use browser_shell_egress::EgressError;
use browser_shell_system::os::describe;
use browser_shell_system::paths::PathError;
use browser_shell_system::policy_source::PolicyError;

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

/// Error that ends a command.
#[derive(Debug, Error)]
pub(super) enum CliError {
    #[error("cannot write the output: {0}")]
    Output(io::Error),
    #[error("cannot start the executor: {0}")]
    Executor(io::Error),
    #[error("cannot open the audit log `{}`: {}; choose another file with --audit", path.display(), describe(error))]
    Audit { path: PathBuf, error: io::Error },
    #[error("cannot use the folder `{}`: {}; make it a folder that this user can use, or choose another one with {flag}", path.display(), describe(error))]
    Folder { flag: &'static str, path: PathBuf, error: io::Error },
    #[error("cannot read `{}`: no such file; give the path of a policy file", .0.display())]
    NoFile(PathBuf),
    #[error(
        "the policy names the engine `cdp`, whose references need one process for all calls; run `browser-shell serve`, and call it with \
         `browser-shell call --server URL`, or set `\"engine\": \"agent-browser\"`"
    )]
    EngineNeedsServer,
    #[error("there is no command `{0}`; `browser-shell --help` lists all")]
    NoCommand(String),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Paths(#[from] PathError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Stdio(#[from] StdioError),
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// Error of a command that defines its own.
    #[error(transparent)]
    Command(Box<dyn StdError + Send + Sync>),
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
