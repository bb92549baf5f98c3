//! Arguments of `doctor`, and its report.

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::doctor::check::Check;
use crate::cli::doctor::checks;
use crate::cli::doctor::egress_guard;
use crate::cli::doctor::sandbox;
use crate::cli::error::CliError;
use crate::cli::output::print_json;
use crate::cli::process::{single_thread_executor, start_log};
use crate::config::Settings;
use crate::egress;

/// Check everything that a call needs, and print a fix for what is missing
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  browser-shell doctor
  browser-shell doctor --policy ./my-policy.json --cdp-port 9333

Exits with 0 if every check passes, else with 1.")]
pub(in crate::cli) struct DoctorArguments {
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,

    /// Address of the egress guard
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_EGRESS", default_value = egress::DEFAULT_ADDRESS)]
    egress: SocketAddr,
}

/// Runs all checks and prints them.
pub(in crate::cli) fn run(settings: &Settings, options: &DoctorArguments) -> Result<ExitCode, CliError> {
    start_log(tracing::Level::ERROR, io::stderr);
    let checks = single_thread_executor()?.block_on(run_checks(settings, options.egress));
    let all_ok = checks.iter().all(|check| check.result.is_ok());
    if options.json {
        let list: Vec<Value> = checks.iter().map(Check::to_json).collect();
        print_json(&json!({ "ok": all_ok, "checks": list }))?;
    } else {
        print_for_people(&checks)?;
    }
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn run_checks(settings: &Settings, egress: SocketAddr) -> Vec<Check> {
    let mut checks = vec![
        checks::agent_browser(settings).await,
        checks::node(settings),
        checks::transport(settings).await,
        checks::browser(settings.cdp_port).await,
        egress_guard::check(egress, settings).await,
        checks::policy(settings),
        checks::socket_folder(settings),
        checks::workspace(settings),
        checks::audit_log(settings),
        checks::dns().await,
    ];
    checks.extend(sandbox::check(settings).await);
    checks
}

fn print_for_people(checks: &[Check]) -> io::Result<()> {
    let is_terminal = io::stdout().is_terminal();
    let color =
        |text: &str, code: &str| if is_terminal { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let mut out = io::stdout().lock();
    for check in checks {
        match &check.result {
            Ok(found) => writeln!(out, "{}   {:<14} {found}", color("ok", "32"), check.name)?,
            Err(failure) => {
                writeln!(out, "{}  {:<14} {}", color("bad", "31"), check.name, failure.found)?;
                writeln!(out, "     {:<14} fix: {}", "", failure.fix)?;
            }
        }
    }
    Ok(())
}
