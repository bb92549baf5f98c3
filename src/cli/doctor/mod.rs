//! Command `browser-shell doctor`: checks of everything that a call needs, with a fix for each failure.
//!
//! Invariants: the names of checks and the JSON keys are stable.

mod browser;
mod check;
mod checks;

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::doctor::browser::ServerPrograms;
use crate::cli::doctor::check::{Check, Severity};
use crate::cli::output::{CliError, print_json};
use crate::cli::process::{single_thread_executor, start_log};
use crate::cli::serve::ScreenChoice;
use crate::cli::services::DefaultPolicy;
use browser_shell_core::output::escape_for_terminal;
use browser_shell_core::policy::Engine;
use browser_shell_system::config::{DEFAULT_WORKSPACE, Settings};
use browser_shell_system::policy_source::PolicySource;

/// Check everything that a call needs, and print a fix for what is missing
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  browser-shell doctor
  browser-shell doctor --policy ./my-policy.json --cdp-port 9333
  browser-shell doctor --serve
  browser-shell doctor --serve --screen cast
  browser-shell doctor --browser

Levels:
  ok    as it should be
  warn  calls work, but with less protection, or with an untested version
  bad   calls do not work, or something that you asked for is missing

Exits with 1 if a check is bad, else with 0. A warning does not change the code:
to treat it as an error, read `level` of the JSON, which is the worst one.")]
pub(super) struct DoctorArguments {
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,

    /// Address of the egress guard; if you give it, a missing guard is bad [default: 127.0.0.1:8119]
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_EGRESS")]
    egress: Option<SocketAddr>,

    /// Check what `browser-shell serve` needs, instead of a Chromium that runs already
    #[arg(long)]
    serve: bool,

    /// Check what `browser-shell mcp --browser` needs, instead of a Chromium that runs already
    #[arg(long, conflicts_with = "serve")]
    browser: bool,

    /// Screen that `browser-shell serve` is to have: only `xvnc` needs Xvnc, and `none` needs no viewer
    #[arg(long, value_enum, env = "BROWSER_SHELL_SCREEN", default_value_t = ScreenChoice::Xvnc)]
    screen: ScreenChoice,

    #[command(flatten)]
    programs: ServerPrograms,
}

/// Runs all checks and prints them.
pub(super) fn run(settings: &Settings, options: &DoctorArguments) -> Result<ExitCode, CliError> {
    start_log(tracing::Level::ERROR, io::stderr);
    let policy = PolicySource::open(settings.policy.as_deref())?;
    let checks = single_thread_executor()?.block_on(run_checks(settings, options, &policy));
    let worst = checks.iter().map(|check| check.level).max().unwrap_or(Severity::Ok);
    if options.json {
        let list: Vec<Value> = checks.iter().map(Check::to_json).collect();
        print_json(&json!({ "level": worst.as_str(), "ok": worst == Severity::Ok, "checks": list }))?;
    } else {
        print_for_people(&checks)?;
    }
    Ok(ExitCode::from(worst.exit_code()))
}

async fn run_checks(settings: &Settings, options: &DoctorArguments, policy: &PolicySource) -> Vec<Check> {
    let in_force = policy.current().ok();
    let engine = in_force.as_ref().and_then(|policy| policy.engine());
    let starts_browser = options.serve || options.browser;
    let (default, default_policy) = if starts_browser {
        (Engine::Cdp, DefaultPolicy::Recommended)
    } else {
        (Engine::AgentBrowser, DefaultPolicy::Safe)
    };
    // Sessions without an engine of their own, or those of a section.
    let runs_agent_browser = engine.unwrap_or(default) == Engine::AgentBrowser
        || in_force.is_some_and(|policy| policy.names_for_sessions(Engine::AgentBrowser));
    let mut checks = vec![checks::engine(engine, default)];
    if runs_agent_browser {
        checks.extend([checks::agent_browser(settings).await, checks::node(settings)]);
    }
    if starts_browser {
        let screen = if options.browser { ScreenChoice::None } else { options.screen };
        checks.extend(browser::programs_of_serve(screen, &options.programs));
    } else {
        checks.extend([
            browser::browser(settings.cdp_port).await,
            browser::control_gate(settings.cdp_port, policy).await,
            browser::launch_rules(settings),
            browser::egress_guard(options.egress, settings.cdp_port, policy).await,
        ]);
    }
    checks.extend([checks::policy(policy, default_policy), checks::socket_folder(settings)]);
    // Without a name, that server has a workspace in its runtime folder.
    if !options.browser || settings.workspace != Path::new(DEFAULT_WORKSPACE) {
        checks.push(checks::workspace(settings));
    }
    checks.extend([checks::audit_log(settings), checks::dns().await]);
    if runs_agent_browser {
        checks.extend(checks::sandbox(settings, policy).await);
    } else {
        checks.push(checks::no_sandbox());
    }
    checks
}

fn print_for_people(checks: &[Check]) -> io::Result<()> {
    let is_terminal = io::stdout().is_terminal();
    let color =
        |text: &str, code: &str| if is_terminal { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let mut out = io::stdout().lock();
    for check in checks {
        let level = check.level.as_str();
        let padding = 5_usize.saturating_sub(level.len());
        let word = color(level, check.level.color());
        writeln!(out, "{word}{:padding$}{:<14} {}", "", check.name, escape_for_terminal(&check.found))?;
        if let Some(fix) = &check.fix {
            writeln!(out, "     {:<14} fix: {}", "", escape_for_terminal(fix))?;
        }
    }
    Ok(())
}
