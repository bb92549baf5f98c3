//! Reply of a call, as the command prints it, with the picture of a screenshot as a file of the caller.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;
use thiserror::Error;

use crate::cli::call::arguments::CallArguments;
use crate::cli::output::{CliError, exit_code, print_error, print_json, print_text};

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

/// Reason why a picture is not in the file of `--save`.
#[derive(Debug, Error)]
enum PictureError {
    #[error("cannot write the picture to `{}`: {error}; choose another file with --save", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("the reply has no picture, so `{}` was not written; use --save with `screenshot`", .0.display())]
    Absent(PathBuf),
}

impl From<PictureError> for CliError {
    fn from(error: PictureError) -> Self {
        Self::Command(Box::new(error))
    }
}

/// Writes the picture to the file of `--save`, and says where a server's picture is, or that it is not saved.
fn save_picture(png: Option<&[u8]>, options: &CallArguments) -> Result<(), CliError> {
    match (&options.save, png) {
        (Some(path), Some(png)) => {
            std::fs::write(path, png).map_err(|error| PictureError::Write { path: path.clone(), error })?;
            if options.server.is_some() && !options.json {
                print_text(&format!("path: {}", path.display()))?;
            }
        }
        (Some(path), None) => return Err(PictureError::Absent(path.clone()).into()),
        // A local call leaves it in the workspace, at the path that the reply names.
        (None, Some(png)) if options.server.is_some() => {
            print_error(&format!("the picture ({} bytes) was not saved; add --save FILE", png.len()))?;
        }
        (None, _) => {}
    }
    Ok(())
}
