//! Command line for people and supervisors: helpers first, then the command that the arguments name.
//!
//! Each command is a thin layer over the library. Results go to standard output and everything else to standard error, so that
//! scripts can use both.

mod arguments;
mod call;
mod doctor;
mod egress;
mod mcp;
mod output;
mod own_browser;
mod policy;
mod process;
mod runtime;
mod serve;
mod server_arguments;
mod services;

use std::io;
use std::process::ExitCode;

use crate::api::mcp::tool;
use crate::cli::arguments::{Arguments, CommandLine};
use crate::cli::output::{CliError, print_error, print_json};
use crate::cli::process::{restrict_privileges, single_thread_executor};
use crate::session::reaper;
use browser_shell_agent_browser::installation::InstallationKind;
use browser_shell_agent_browser::installation::find_agent_browser;
use browser_shell_agent_browser::sandbox::confine;
use browser_shell_agent_browser::sandbox::container::{init, relay};
use browser_shell_browser::display::helper as display;
use browser_shell_browser::launch::{external, helper as launch};
use browser_shell_core::policy::Engine;
use browser_shell_system::config::Settings;
use browser_shell_system::os::reexec::{self, EXEC_FAILED, Helper};
use browser_shell_system::policy_source::PolicySource;

/// All helpers: hidden first arguments by which this program starts itself again.
const HELPERS: &[Helper] = &[
    Helper {
        subcommand: confine::SUBCOMMAND,
        run: |arguments| match confine::run(arguments)? {},
        failure_code: EXEC_FAILED,
    },
    Helper {
        subcommand: launch::SUBCOMMAND,
        run: |arguments| match launch::run(arguments)? {},
        failure_code: EXEC_FAILED,
    },
    Helper {
        subcommand: display::SUBCOMMAND,
        run: |arguments| match display::run(arguments)? {},
        failure_code: EXEC_FAILED,
    },
    Helper {
        subcommand: external::SUBCOMMAND,
        run: |arguments| match external::run(arguments)? {},
        failure_code: EXEC_FAILED,
    },
    Helper { subcommand: init::SUBCOMMAND, run: |arguments| Ok(init::run(arguments)?), failure_code: 1 },
    Helper { subcommand: relay::SUBCOMMAND, run: |arguments| Ok(relay::run(arguments)?), failure_code: 1 },
    Helper {
        subcommand: reaper::SUBCOMMAND,
        run: |_| {
            restrict_privileges();
            Ok(single_thread_executor()?.block_on(reaper::run(io::stdin().lock()))?)
        },
        failure_code: 1,
    },
];

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
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if let Some((other, own)) = arguments::misplaced_variable(&arguments.command, is_set) {
        let _ = print_error(&format!(
            "browser-shell: the variable `{other}` has no effect on this command, whose variable for --allow-host is `{own}`"
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
        CommandLine::Completions(options) => arguments::print_completions(arguments::command(), &options),
        CommandLine::Manual(options) => arguments::print_manual(&arguments::command(), &options),
    }
}

fn print_tool(settings: &Settings) -> Result<ExitCode, CliError> {
    let policy = PolicySource::open(settings.policy.as_deref())?.current()?;
    let engine = policy.engine().unwrap_or(Engine::AgentBrowser);
    let kind = InstallationKind::of(&find_agent_browser(settings)).agent_browser();
    print_json(&serde_json::to_value(tool::tool(&policy, engine, kind)).unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}
