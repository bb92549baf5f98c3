//! Entry point: helpers first, then the command that the arguments name.

use std::io;
use std::process::ExitCode;

use crate::api::mcp::tool;
use crate::cli::arguments::{self, Arguments, CommandLine};
use crate::cli::call;
use crate::cli::doctor;
use crate::cli::egress;
use crate::cli::error::CliError;
use crate::cli::helpers::HELPERS;
use crate::cli::mcp;
use crate::cli::output::{print_error, print_json};
use crate::cli::policy;
use crate::cli::process::restrict_privileges;
use crate::cli::runtime;
use crate::cli::serve;
use crate::cli::shell;
use browser_shell_agent_browser::installation::detect::InstallationKind;
use browser_shell_agent_browser::installation::locate::find_agent_browser;
use browser_shell_core::policy::Engine;
use browser_shell_system::config::Settings;
use browser_shell_system::os::reexec;
use browser_shell_system::policy_source::PolicySource;

/// Runs the program and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    // Helpers are dispatched before the parser runs: every start of agent-browser goes through one.
    if let Some(code) = reexec::dispatch(std::env::args_os(), HELPERS) {
        return code;
    }
    let arguments = match arguments::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    restrict_privileges();
    for name in arguments::unknown_variables(std::env::vars_os().map(|(name, _)| name)) {
        let _ = print_error(&format!(
            "browser-shell: the variable `{name}` is no setting and has no effect; `--help` of a command lists its settings"
        ));
    }
    match run(arguments) {
        Ok(code) => code,
        // The reader of a pipe, such as `head`, may stop reading early.
        Err(CliError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = print_error(&format!("browser-shell: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<ExitCode, CliError> {
    let settings = &arguments.settings;
    match arguments.command {
        CommandLine::Mcp(options) => mcp::run(settings, &options),
        CommandLine::Egress(options) => egress::run(settings, &options),
        CommandLine::Runtime(options) => runtime::run(settings, &options),
        CommandLine::Serve(options) => serve::run(settings, &options),
        CommandLine::Call(options) => call::run(settings, &options),
        CommandLine::Policy(command) => policy::run(settings, &command),
        CommandLine::Doctor(options) => doctor::run(settings, &options),
        CommandLine::Tools => print_tool(settings),
        CommandLine::Completions(options) => shell::print_completions(arguments::command(), &options),
        CommandLine::Manual(options) => shell::print_manual(&arguments::command(), &options),
    }
}

fn print_tool(settings: &Settings) -> Result<ExitCode, CliError> {
    let policy = PolicySource::open(settings.policy.as_deref())?.current()?;
    let engine = policy.engine().unwrap_or(Engine::AgentBrowser);
    let kind = InstallationKind::of(&find_agent_browser(settings)).agent_browser();
    print_json(&serde_json::to_value(tool::tool(&policy, engine, kind)).unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}
