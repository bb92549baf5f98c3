//! Command `browser-shell call`: one call, in this process or at a server.

mod arguments;
mod http_client;
mod local;
mod mcp_endpoint;
mod picture;
mod remote;
mod reply;
mod separator;
mod server_error;
mod token;

use std::io;
use std::process::ExitCode;

use crate::cli::error::CliError;
use crate::cli::output::{exit_code, print_error};
use crate::cli::process::start_log;
use browser_shell_system::config::Settings;
use reply::finish;

pub(super) use arguments::CallArguments;
pub(super) use separator::missing_separator;

pub(super) fn run(settings: &Settings, options: &CallArguments) -> Result<ExitCode, CliError> {
    match &options.server {
        None => {
            start_log(tracing::Level::ERROR, io::stderr);
            local::run(settings, options)
        }
        // Without a log: the error says everything that rmcp would log.
        Some(endpoint) => match remote::call(endpoint, options)? {
            Ok(reply) => finish(&reply, options),
            Err(error) => {
                print_error(&format!("browser-shell: {error}"))?;
                Ok(exit_code(error.exit_code()))
            }
        },
    }
}
