//! The command line: what a person or a supervisor types.
//!
//! Decides the commands and their output. Each command is a thin edge around the library. Results go to standard output and
//! everything else to standard error, so that both can be used in scripts.

mod call;
mod doctor;
mod egress;
mod mcp;
mod policy;
mod runtime;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use rustix::process::{Resource, getrlimit, setrlimit};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::argv::Dialect;
use crate::audit::AuditLog;
use crate::browser::Browser;
use crate::config::{Settings, TransportChoice};
use crate::dns::Dns;
use crate::egress::EgressError;
use crate::log::Stderr;
use crate::mcp::{http::HttpError, tool};
use crate::pipeline::{Context, Pipeline, Workbench, steps};
use crate::places::{PlaceError, Places};
use crate::policy_source::PolicySource;
use crate::session::Sessions;
use crate::transport::{Auto, Cli as CliTransport, Transport};

/// Gives an AI agent exactly one MCP tool, browser-shell: a visible Chromium behind a URL policy.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 110,
    after_help = "Every setting is a flag or a variable; the flag wins. Exit codes of a call: 0 done, 64 refused arguments,\n77 refused by the policy, 69 browser or agent-browser unavailable, 75 busy, 124 timed out, else agent-browser's own."
)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: CommandLine,
}

#[derive(Debug, Subcommand)]
enum CommandLine {
    /// Serve the tool to an MCP client, over stdio or HTTP
    Mcp(mcp::McpArguments),
    /// Guard the browser's connections: the proxy that Chromium must use
    Egress(egress::EgressArguments),
    /// Serve browsers to an orchestrator's agents, over REST and MCP
    Runtime(Box<runtime::RuntimeArguments>),
    /// Make one call from the shell, through the same pipeline
    Call(call::CallArguments),
    /// Explain, check and describe policy files
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Check what a call needs, with the fix for what is missing
    Doctor(doctor::DoctorArguments),
    /// Print the tool as MCP clients see it
    Tools,
    #[command(name = crate::keeper::SUBCOMMAND, hide = true)]
    Keeper,
}

/// Why a command could not do its work.
#[derive(Debug, Error)]
enum CliError {
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    #[error("cannot start: {0}")]
    Threads(io::Error),
    #[error("cannot open the audit log `{path}`: {source}; choose another one with --audit")]
    Audit { path: String, source: io::Error },
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Egress(#[from] EgressError),
    #[error(transparent)]
    Runtime(#[from] runtime::RuntimeError),
    #[error("the MCP session failed: {0}")]
    Mcp(String),
    #[error("cannot read `{path}`: {source}")]
    Read { path: String, source: io::Error },
}

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    // First, and without the parser: each run of agent-browser goes through here.
    if let Some(code) = crate::sandbox::confine::from_arguments(std::env::args_os()) {
        return code;
    }
    // So do what stands inside and outside of a sandbox with a network of its own.
    if let Some(code) = crate::sandbox::resident::from_arguments(std::env::args_os()) {
        return code;
    }
    if let Some(code) = crate::sandbox::outside::from_arguments(std::env::args_os()) {
        return code;
    }
    if let Some(code) = crate::runtime::launch::from_arguments(std::env::args_os()) {
        return code;
    }
    let arguments = Arguments::parse();
    harden();
    let result = match arguments.command {
        CommandLine::Mcp(options) => mcp::run(&arguments.settings, &options),
        CommandLine::Egress(options) => egress::run(&arguments.settings, &options),
        CommandLine::Runtime(options) => runtime::run(&arguments.settings, &options),
        CommandLine::Call(options) => call::run(&arguments.settings, options),
        CommandLine::Policy(command) => policy::run(&arguments.settings, &command),
        CommandLine::Doctor(options) => doctor::run(&arguments.settings, &options),
        CommandLine::Tools => tools(),
        CommandLine::Keeper => keeper(),
    };
    match result {
        Ok(code) => code,
        Err(CliError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "browser-shell: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What children inherit: files are private, and no program can gain privileges.
fn harden() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // An old kernel without it is no reason not to start.
    let _ = rustix::thread::set_no_new_privs(true);
}

/// The log of the program itself, on standard error; colour only on a terminal.
fn start_log(level: tracing::Level, writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) {
    // What clients send wrong is their business and in their replies, not news for the operator.
    let filter = Targets::new().with_default(level).with_target("rmcp", tracing::Level::ERROR);
    let lines =
        tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(io::stderr().is_terminal()).with_target(false);
    // It is set only once; a second try in one process changes nothing.
    let _ = tracing_subscriber::registry().with(lines).with(filter).try_init();
}

/// A runtime on this thread, for commands that do one thing.
fn small_runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::Threads)
}

/// A runtime with a thread for each core, but not more than `most`.
fn wide_runtime(most: usize) -> Result<tokio::runtime::Runtime, CliError> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(most);
    tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().map_err(CliError::Threads)
}

/// A pipeline as the settings say. With `keep_open` sessions outlive the process.
fn pipeline(settings: &Settings, audit: AuditLog, keep_open: bool) -> Result<Pipeline, CliError> {
    let context = context(settings, audit, keep_open, Dialect::Tool)?;
    Ok(Pipeline::new(Arc::new(context), steps()))
}

/// What all calls of a process share, as the settings say.
fn context(settings: &Settings, audit: AuditLog, keep_open: bool, dialect: Dialect) -> Result<Context, CliError> {
    let places = Places::open(settings, dialect)?;
    let cli = CliTransport::new(settings, places.action_policy());
    let transport: Arc<dyn Transport> = match settings.transport {
        TransportChoice::Auto => Arc::new(Auto::new(settings, cli)),
        TransportChoice::Cli => Arc::new(cli),
    };
    Ok(Context {
        policy: PolicySource::new(settings.policy.clone()),
        dns: Dns::default(),
        sessions: Sessions::new(settings, places, keep_open),
        transport,
        browser: Browser::new(settings.cdp_port),
        wake: None,
        audit,
        background: TaskTracker::new(),
        answers: Workbench::default(),
    })
}

/// The audit log as the settings say. On standard error it is only for a server: a person reads other things there.
fn open_audit(settings: &Settings, stderr: Option<Stderr>) -> Result<AuditLog, CliError> {
    let log = match stderr {
        _ if settings.audit.as_os_str() != "-" => AuditLog::to_file(&settings.audit),
        Some(stderr) => Ok(AuditLog::to_stderr(stderr)),
        None => AuditLog::discard(),
    };
    log.map_err(|source| CliError::Audit { path: settings.audit.display().to_string(), source })
}

/// Cancels the token on SIGTERM, SIGINT or SIGHUP.
async fn stop_on_signal(stop: CancellationToken) {
    let streams = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let waiting =
        streams.into_iter().filter_map(Result::ok).map(|mut stream| Box::pin(async move { stream.recv().await }));
    futures::future::select_all(waiting).await;
    stop.cancel();
}

fn tools() -> Result<ExitCode, CliError> {
    print_json(&serde_json::to_value(tool::tool()).unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}

fn keeper() -> Result<ExitCode, CliError> {
    small_runtime()?.block_on(crate::keeper::keep(io::stdin().lock()))?;
    Ok(ExitCode::SUCCESS)
}

fn print_json(value: &serde_json::Value) -> Result<(), CliError> {
    writeln!(io::stdout(), "{value:#}").map_err(CliError::Output)
}

/// Each connection takes two files, and the usual limit of 1024 is an old habit, not a need.
fn more_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is not allowed, accepting waits for others to end.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// An exit code as the system takes it; what does not fit is a plain failure.
fn exit(code: i32) -> ExitCode {
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent_and_its_help_a_contract() {
        let mut command = Arguments::command();
        command.clone().debug_assert();
        insta::assert_snapshot!(command.render_long_help());
    }
}
