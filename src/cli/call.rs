//! Command `browser-shell call`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::call::{CallRequest, FinishedCall};
use crate::cli::error::CliError;
use crate::cli::output::{exit_code, print_json};
use crate::cli::process::{single_thread_executor, start_log, stop_on_signal};
use crate::cli::services::{open_audit, pipeline};
use crate::config::Settings;

/// Make one call from the shell, through the same pipeline as an agent's
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  browser-shell call --session s1 -- open https://example.com
  browser-shell call --session s1 -- snapshot -i
  browser-shell call --session s1 -- fill @e1 'some text'
  browser-shell call --session s1 -- close

The session stays open between calls until you `close` it. Its daemon ends after
a long idle time, and the next call starts it again.
The exit code is the one of the call; `browser-shell --help` lists the codes.")]
pub(super) struct CallArguments {
    /// Session to use, created by its first call
    #[arg(long, value_name = "ID", default_value = "shell")]
    session: String,

    /// Time limit of the call in seconds [default: 30]
    #[arg(long, value_name = "SEC")]
    timeout: Option<f64>,

    /// Print the reply as JSON, as an MCP client gets it
    #[arg(long)]
    json: bool,

    /// Subcommand of agent-browser and its arguments
    #[arg(last = true, required = true, value_name = "ARGV")]
    argv: Vec<String>,
}

pub(super) fn run(settings: &Settings, options: CallArguments) -> Result<ExitCode, CliError> {
    start_log(tracing::Level::ERROR, io::stderr);
    let audit = open_audit(settings, None)?;
    let mut arguments = Map::new();
    arguments.insert("session_id".to_owned(), options.session.into());
    arguments.insert("argv".to_owned(), options.argv.into());
    if let Some(seconds) = options.timeout {
        arguments.insert("timeout_sec".to_owned(), json!(seconds));
    }
    let pipeline = pipeline(settings, audit, true)?;
    let cancel = CancellationToken::new();
    let executor = single_thread_executor()?;
    let finished = executor.block_on(async {
        tokio::spawn(stop_on_signal(cancel.clone()));
        pipeline.call(CallRequest::of_tool(&arguments), cancel).await
    });
    if options.json {
        print_json(&finished.reply.to_json(finished.session.as_ref()))?;
    } else {
        print_for_people(&finished)?;
    }
    // Work that continues after the reply would end with this process.
    let background = &pipeline.services().background;
    background.close();
    executor.block_on(background.wait());
    Ok(exit_code(finished.reply.exit_code))
}

/// Prints a snapshot unchanged, other data with one member per line, and the error message to standard error.
fn print_for_people(finished: &FinishedCall) -> Result<(), CliError> {
    let reply = &finished.reply;
    let mut out = io::stdout().lock();
    match serde_json::from_str::<Value>(&reply.stdout) {
        Ok(Value::Object(data)) => match data.get("snapshot").and_then(Value::as_str) {
            Some(snapshot) => writeln!(out, "{snapshot}")?,
            None => {
                for (name, value) in &data {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    writeln!(out, "{name}: {text}")?;
                }
            }
        },
        Ok(Value::Null) => {}
        _ if reply.stdout.is_empty() => {}
        _ => writeln!(out, "{}", reply.stdout.strip_suffix('\n').unwrap_or(&reply.stdout))?,
    }
    if !reply.stderr.is_empty() {
        writeln!(io::stderr(), "{}", reply.stderr)?;
    }
    Ok(())
}
