//! Reply of a call, as the command prints it.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::Value;

use crate::cli::call::arguments::CallArguments;
use crate::cli::call::picture::save_picture;
use crate::cli::error::CliError;
use crate::cli::output::{exit_code, print_json};

/// Reply of a call, from this process or from a server.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) exit_code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// The reply as an MCP client gets it.
    pub(super) json: Value,
    /// PNG of a screenshot.
    pub(super) picture: Option<Vec<u8>>,
}

/// Saves the picture, prints the reply and returns the exit code of the command.
pub(super) fn finish(reply: &Reply, options: &CallArguments) -> Result<ExitCode, CliError> {
    if options.json {
        print_json(&reply.json)?;
    } else {
        print_for_people(&reply.stdout, &reply.stderr)?;
    }
    save_picture(reply.picture.as_deref(), options)?;
    Ok(exit_code(reply.exit_code))
}

/// Prints a snapshot unchanged, other data with one member per line, and the error message to standard error.
fn print_for_people(stdout: &str, stderr: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    let text = stdout.trim_end_matches('\n');
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(data)) => match data.get("snapshot").and_then(Value::as_str) {
            Some(snapshot) => writeln!(out, "{snapshot}")?,
            None => {
                for (name, value) in &data {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    writeln!(out, "{name}: {text}")?;
                }
            }
        },
        _ if text.is_empty() || text == "null" => {}
        _ => writeln!(out, "{text}")?,
    }
    if !stderr.is_empty() {
        writeln!(io::stderr(), "{}", stderr.trim_end_matches('\n'))?;
    }
    Ok(())
}
