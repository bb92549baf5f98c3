//! Arguments of `browser-shell call`, and the message for one without `--` before its command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::{Map, Value, json};

use crate::cli::call::http_client::McpEndpoint;

/// Make one call from the shell, through the same pipeline as an agent's
///
/// Without --server, the call runs in this process and needs agent-browser and Chromium on this machine. With it, the call is
/// sent to a running MCP server, such as the one of `./dev up`; then the settings below have no effect.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  browser-shell call --session s1 -- open https://example.com
  browser-shell call --session s1 -- snapshot -i
  browser-shell call --session s1 -- fill @e1 'some text'
  browser-shell call --session s1 --save page.png -- screenshot
  browser-shell call --session s1 -- close

At a running server:
  browser-shell call --server http://127.0.0.1:8080/mcp -- snapshot -i
If it asks for a token, put it into a file for --token-file, or into the
variable BROWSER_SHELL_TOKEN: other users can read a command line.

The session stays open between calls until you `close` it. Its daemon ends after
a long idle time, and the next call starts it again.

Exit codes:
  0    done
  1    the connection broke, and the command may have run; or a local error
  64   the arguments were refused
  69   the browser, agent-browser or the server is unavailable
  75   too busy
  77   the policy refused the call
  124  timed out
  130  canceled
  Any other code is agent-browser's own.")]
pub(in crate::cli) struct CallArguments {
    /// Session to use, created by its first call
    #[arg(long, value_name = "ID", default_value = "shell")]
    pub(super) session: String,

    /// Time limit of the call in seconds [default: 30]
    #[arg(long, value_name = "SEC")]
    pub(super) timeout: Option<f64>,

    /// Print the reply as JSON, as an MCP client gets it
    #[arg(long)]
    pub(super) json: bool,

    /// File for the picture of a `screenshot`
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,

    /// MCP endpoint of a running server, such as <http://127.0.0.1:8080/mcp>
    #[arg(long, value_name = "URL", env = "BROWSER_SHELL_SERVER")]
    pub(super) server: Option<McpEndpoint>,

    /// File with the token of the server; without --server it has no effect
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_TOKEN_FILE")]
    pub(super) token_file: Option<PathBuf>,

    /// Subcommand of agent-browser and its arguments
    #[arg(last = true, required = true, value_name = "ARGV")]
    pub(super) argv: Vec<String>,
}

impl CallArguments {
    /// Returns the arguments of the tool.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        let mut arguments = Map::new();
        arguments.insert("session_id".to_owned(), self.session.as_str().into());
        arguments.insert("argv".to_owned(), self.argv.as_slice().into());
        if let Some(seconds) = self.timeout {
            arguments.insert("timeout_sec".to_owned(), json!(seconds));
        }
        arguments
    }
}

/// Returns the message for a parser error that a missing `--` caused, with the line to type.
pub(in crate::cli) fn missing_separator(arguments: &[OsString], error: &clap::Error) -> Option<String> {
    let words: Vec<_> = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let call = words.iter().position(|word| word == "call")?;
    if words.iter().any(|word| word == "--") {
        return None;
    }
    let example = || vec!["open".to_owned(), "https://example.com".to_owned()];
    let (before, command) = match error.kind() {
        ErrorKind::MissingRequiredArgument => (words, example()),
        ErrorKind::UnknownArgument => {
            let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
            let position = words.iter().skip(call + 1).position(|word| word == unknown)? + call + 1;
            let is_flag = unknown.starts_with('-');
            if is_flag {
                return None;
            }
            let (before, command) = words.split_at_checked(position)?;
            (before.to_vec(), command.to_vec())
        }
        _ => return None,
    };
    let line = |words: &[String]| words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    Some(format!("write `--` before the command of a call:\n  browser-shell {} -- {}", line(&before), line(&command)))
}

/// Quotes a word for a shell if it needs to be.
fn quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
