//! `browser-shell call`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{CliError, exit, open_audit, pipeline, print_json, small_runtime, start_log, stop_on_signal};
use crate::config::Settings;
use crate::pipeline::{Ask, Finished};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  browser-shell call --session s1 -- open https://example.com\n  browser-shell call --session s1 -- snapshot -i\n  browser-shell call --session s1 -- fill @e1 'some text'\n  browser-shell call --session s1 -- close\n\nThe session stays open between calls until `close`. Its daemon also ends by itself when it is idle for long; the next call starts it again."
)]
pub(super) struct CallArguments {
    /// Session to use
    #[arg(long, value_name = "ID", default_value = "shell")]
    session: String,

    /// Seconds that the call may take [default: 30]
    #[arg(long, value_name = "SEC")]
    timeout: Option<f64>,

    /// Print the reply as an MCP client gets it
    #[arg(long)]
    json: bool,

    /// The subcommand and its arguments
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
    let runtime = small_runtime()?;
    let finished = runtime.block_on(async {
        tokio::spawn(stop_on_signal(cancel.clone()));
        pipeline.call(Ask::of_tool(&arguments), cancel).await
    });
    if options.json {
        print_json(&finished.reply.to_json(finished.session.as_ref()))?;
    } else {
        print_for_people(&finished)?;
    }
    // What goes on after the reply has nobody else to finish it.
    let background = &pipeline.context().background;
    background.close();
    runtime.block_on(background.wait());
    Ok(exit(finished.reply.exit_code))
}

/// The snapshot as it is, other data as one member a line, and what went wrong on standard error.
fn print_for_people(finished: &Finished) -> Result<(), CliError> {
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
        _ if reply.stdout.is_empty() || reply.stdout == "null" => {}
        _ => writeln!(out, "{}", reply.stdout)?,
    }
    if !reply.stderr.is_empty() {
        writeln!(io::stderr(), "{}", reply.stderr)?;
    }
    Ok(())
}
