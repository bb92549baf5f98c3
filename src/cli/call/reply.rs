//! Reply of a call, as the command prints it, with the picture of a screenshot as a file of the caller.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;
use thiserror::Error;

use crate::cli::call::arguments::CallArguments;
use crate::cli::output::{CliError, exit_code, print_error, print_json, print_text};
use browser_shell_core::output::{escape_for_log, indented};
use browser_shell_system::os::describe;

/// Reply of a call, from this process or from a server.
#[derive(Debug)]
pub(super) struct PrintedReply {
    pub(super) exit_code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// True if `stdout` is a plain answer, in which what a page says is quoted or indented already. Else it is data.
    pub(super) is_plain: bool,
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
        print_for_people(None, &reply.stderr)?;
    } else {
        print_for_people(text_for_people(&reply.stdout, reply.is_plain), &reply.stderr)?;
    }
    save_picture(reply, options)?;
    Ok(exit_code(reply.exit_code))
}

/// Prints the text of a reply, and the error message to standard error. What a page has chosen reaches no terminal unescaped, also over a
/// pipe.
fn print_for_people(text: Option<String>, stderr: &str) -> Result<(), CliError> {
    if let Some(text) = text {
        print_text(&text)?;
    }
    if !stderr.is_empty() {
        print_error(stderr.trim_end_matches('\n'))?;
    }
    Ok(())
}

/// Returns the text of a reply, or `None` if it has none: a plain answer as it is, a snapshot, or other data with one member per line. A
/// value of several lines is indented below its name, so that none of them is taken for a member.
fn text_for_people(stdout: &str, is_plain: bool) -> Option<String> {
    let text = stdout.trim_end_matches('\n');
    if is_plain {
        // A page may say what is JSON.
        return (!text.is_empty()).then(|| text.to_owned());
    }
    let Ok(Value::Object(data)) = serde_json::from_str(text) else {
        return (!text.is_empty() && text != "null").then(|| text.to_owned());
    };
    if let Some(snapshot) = data.get("snapshot").and_then(Value::as_str) {
        return Some(snapshot.to_owned());
    }
    let line = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let name = escape_for_log(name);
        if text.contains('\n') { format!("{name}:\n{}", indented(&text)) } else { format!("{name}: {text}") }
    };
    let lines: Vec<_> = data.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Reason why a picture is not in the file of `--save`.
#[derive(Debug, Error)]
enum PictureError {
    #[error("cannot write the picture to `{}`: {}; choose another file with --save", path.display(), describe(error))]
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
fn save_picture(reply: &PrintedReply, options: &CallArguments) -> Result<(), CliError> {
    match (&options.save, reply.picture.as_deref()) {
        (Some(path), Some(png)) => {
            std::fs::write(path, png).map_err(|error| PictureError::Write { path: path.clone(), error })?;
            if options.server.is_some() && !options.json {
                print_text(&format!("path: {}", path.display()))?;
            }
        }
        // The message of the call that failed says why.
        (Some(_), None) if reply.exit_code != 0 => {}
        (Some(path), None) => return Err(PictureError::Absent(path.clone()).into()),
        // A local call leaves it in the workspace, at the path that the reply names.
        (None, Some(png)) if options.server.is_some() => {
            print_error(&format!("the picture ({} bytes) was not saved; add --save FILE", png.len()))?;
        }
        (None, _) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_answer_is_printed_as_it_is() {
        let forged = json!({"snapshot": "clicked\nopened \"Bank\" https://bank.example/"});
        for text in [format!("  {forged}"), r#"  {"price": 5, "currency": "EUR"}"#.to_owned(), "  null".to_owned()] {
            assert_eq!(text_for_people(&text, true).as_ref(), Some(&text));
            assert_eq!(text_for_people(&format!("{text}\n"), true), Some(text));
        }
        assert_eq!(text_for_people("", true), None);
        let data = text_for_people("{\"price\":5,\"currency\":\"EUR\"}\n", false);
        assert_eq!(data.as_deref(), Some("price: 5\ncurrency: EUR"), "control: data");
    }

    #[test]
    fn value_of_several_lines_forges_no_member() {
        let shown = |data: Value| text_for_people(&format!("{data}\n"), false).expect("a text");
        assert_eq!(shown(json!({"text": "a\nurl: https://bank.example/"})), "text:\n  a\n  url: https://bank.example/");
        assert_eq!(shown(json!({"text": "a", "url": "b"})), "text: a\nurl: b", "control: one line each");
        assert_eq!(shown(json!({"a\nurl": "b"})), "a\\nurl: b");
        assert_eq!(shown(json!({"list": ["a\nurl: b"]})), r#"list: ["a\nurl: b"]"#);
        assert_eq!(text_for_people("null\n", false), None);
    }
}
