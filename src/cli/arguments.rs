//! Arguments of the program.

use clap::{Parser, Subcommand};

use crate::cli::call;
use crate::cli::doctor;
use crate::cli::egress;
use crate::cli::mcp;
use crate::cli::policy;
use crate::cli::runtime;
use crate::config::Settings;

/// Drive a visible Chromium from an AI agent: one MCP tool, browser-shell, behind a URL policy
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 110,
    after_help = "Examples:
  browser-shell doctor                             check that nothing is missing
  browser-shell call -- open https://example.com   make a call from the shell
  browser-shell mcp                                serve an MCP client over stdio
  browser-shell policy explain http://10.0.0.1/    show the decision on a URL

You can give every setting as a flag or as an environment variable; the flag wins.

Exit codes of a call:
  0    done
  64   the arguments were refused
  69   the browser or agent-browser is unavailable
  75   too busy
  77   the policy refused the call
  124  timed out
  Any other code is agent-browser's own."
)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) settings: Settings,
    #[command(subcommand)]
    pub(super) command: CommandLine,
}

// The arguments' types hold the help texts: a comment on a variant would hide the long ones.
#[derive(Debug, Subcommand)]
pub(super) enum CommandLine {
    Mcp(mcp::McpArguments),
    Egress(egress::EgressArguments),
    Runtime(Box<runtime::RuntimeArguments>),
    Call(call::CallArguments),
    /// Explain, check and describe policy files
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    Doctor(doctor::DoctorArguments),
    /// Print the tool as MCP clients see it
    Tools,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn cli_definition_is_consistent_and_help_matches_snapshot() {
        let mut command = Arguments::command();
        command.clone().debug_assert();
        insta::assert_snapshot!(command.render_long_help());
    }
}
