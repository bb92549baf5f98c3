//! Reply of a call, as the command prints it.

use std::process::ExitCode;

use serde_json::Value;

use crate::cli::call::arguments::CallArguments;
use crate::cli::call::picture::save_picture;
use crate::cli::error::CliError;
use crate::cli::output::{exit_code, print_error, print_json, print_text};

/// Reply of a call, from this process or from a server.
#[derive(Debug)]
pub(super) struct PrintedReply {
    pub(super) exit_code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// The reply as an MCP client gets it.
    pub(super) json: Value,
    /// PNG of a screenshot.
    pub(super) picture: Option<Vec<u8>>,
}

/// Saves the picture, prints the reply and returns the exit code of the command.
pub(super) fn finish(reply: &PrintedReply, options: &CallArguments) -> Result<ExitCode, CliError> {
    if options.json {
        print_json(&reply.json)?;
    } else if options.server.is_some() && reply.picture.is_some() {
        // Its path in the reply is one of the server.
        print_for_people("", &reply.stderr)?;
    } else {
        print_for_people(&reply.stdout, &reply.stderr)?;
    }
    save_picture(reply.picture.as_deref(), options)?;
    Ok(exit_code(reply.exit_code))
}

/// Prints a snapshot, other data with one member per line, and the error message to standard error. What a page has chosen reaches no
/// terminal unescaped, also over a pipe.
fn print_for_people(stdout: &str, stderr: &str) -> Result<(), CliError> {
    if let Some(text) = text_for_people(stdout) {
        print_text(&text)?;
    }
    if !stderr.is_empty() {
        print_error(stderr.trim_end_matches('\n'))?;
    }
    Ok(())
}

/// Returns the data of a reply as text, or `None` if it has none.
fn text_for_people(stdout: &str) -> Option<String> {
    let text = stdout.trim_end_matches('\n');
    let Ok(Value::Object(data)) = serde_json::from_str(text) else {
        return (!text.is_empty() && text != "null").then(|| text.to_owned());
    };
    if let Some(snapshot) = data.get("snapshot").and_then(Value::as_str) {
        return Some(snapshot.to_owned());
    }
    let line = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}: {text}")
    };
    let lines: Vec<_> = data.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
