//! Command `browser-shell call`: one call, in this process or at a server.

mod arguments;
mod http_client;
mod remote;
mod reply;

use std::io;
use std::process::ExitCode;

use tokio_util::sync::CancellationToken;

use crate::call::CallRequest;
use crate::cli::call::reply::{PrintedReply, finish};
use crate::cli::output::{CliError, exit_code, print_error};
use crate::cli::process::{single_thread_executor, start_log, stop_on_signal_or_hangup};
use crate::cli::services::{BrowserAccess, open_audit, pipeline};
use browser_shell_core::policy::Engine;
use browser_shell_system::config::Settings;
use browser_shell_system::policy_source::PolicySource;

pub(super) use arguments::{CallArguments, missing_separator};

pub(super) fn run(settings: &Settings, options: &CallArguments) -> Result<ExitCode, CliError> {
    match &options.server {
        None => {
            start_log(tracing::Level::ERROR, io::stderr);
            call_locally(settings, options)
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

/// Makes the call in this process.
fn call_locally(settings: &Settings, options: &CallArguments) -> Result<ExitCode, CliError> {
    let policy = PolicySource::open(settings.policy.as_deref())?;
    if policy.current().is_ok_and(|policy| policy.engine() == Some(Engine::Cdp)) {
        return Err(CliError::EngineNeedsServer);
    }
    let audit = open_audit(settings, None)?;
    let pipeline = pipeline(settings, policy, audit, true, BrowserAccess::of_command(settings))?;
    let cancel = CancellationToken::new();
    let executor = single_thread_executor()?;
    let finished = executor.block_on(async {
        tokio::spawn(stop_on_signal_or_hangup(cancel.clone()));
        pipeline.call(CallRequest::of_tool(&options.to_json()), cancel).await
    });
    let (json, is_plain) = (finished.reply.to_json(finished.session.as_ref()), finished.style.is_plain());
    let reply = finished.reply;
    let code = finish(
        &PrintedReply {
            exit_code: reply.exit_code,
            stdout: reply.stdout,
            stderr: reply.stderr,
            is_plain,
            json,
            picture: reply.picture.map(|picture| picture.png),
        },
        options,
    )?;
    // Work that continues after the reply would end with this process.
    let background = &pipeline.services().background;
    background.close();
    executor.block_on(background.wait());
    Ok(code)
}
