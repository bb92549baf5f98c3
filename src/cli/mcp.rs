//! `browser-shell mcp`.

use std::net::{Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio_util::sync::CancellationToken;

use super::{CliError, open_audit, pipeline, start_log, stop_on_signal, wide_runtime};
use crate::config::Settings;
use crate::log::Stderr;
use crate::mcp::http;
use crate::mcp::order::Ordered;
use crate::mcp::server::Server;

/// A longer line on standard input is dropped unread.
const MAX_LINE: usize = 8 * 1024 * 1024;

/// How long clients have to take their last answers when the server is told to end.
const LAST_WORDS: Duration = Duration::from_secs(4);

/// The most threads that serve calls; what they do is mostly waiting.
const MAX_WORKERS: usize = 8;

// Without `--http` a host name has no effect: a container may set the variable for every start.
#[derive(Args, Debug)]
pub(super) struct McpArguments {
    /// Serve streamable HTTP at <http://ADDRESS/mcp> instead of stdio
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_HTTP")]
    http: Option<SocketAddr>,

    /// Host name that clients use besides localhost, with or without a port; can be given several times
    #[arg(long, value_name = "HOST", env = "BROWSER_SHELL_ALLOW_HOST", value_delimiter = ',', value_parser = host_name)]
    allow_host: Vec<String>,
}

/// A host as it stands in a Host header, with or without a port. An empty one would open the server to other machines and
/// match nothing.
pub(super) fn host_name(text: &str) -> Result<String, String> {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (text, None),
    };
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_address = address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    if (is_address || is_name) && port.is_none_or(|port| port.parse::<u16>().is_ok()) {
        Ok(text.to_owned())
    } else {
        Err("that is no host; write it as `box.example` or `box.example:8443`".to_owned())
    }
}

pub(super) fn run(settings: &Settings, options: &McpArguments) -> Result<ExitCode, CliError> {
    let (stderr, _flush) = Stderr::open();
    start_log(tracing::Level::WARN, stderr.clone());
    let runtime = wide_runtime(MAX_WORKERS)?;
    let result = runtime.block_on(serve(settings, options, stderr));
    // Standard input may still be blocked in a read; that must not hold the process.
    runtime.shutdown_background();
    result.map(|()| ExitCode::SUCCESS)
}

async fn serve(settings: &Settings, options: &McpArguments, stderr: Stderr) -> Result<(), CliError> {
    let pipeline = Arc::new(pipeline(settings, open_audit(settings, Some(stderr))?, false)?);
    let context = pipeline.context().clone();
    if !context.policy.exists() {
        tracing::info!(path = %context.policy.path().display(), "no policy file: the safe defaults apply");
    } else if let Err(error) = context.policy.current() {
        tracing::error!(%error, "every open is refused until the policy file is corrected");
    }
    let stop = CancellationToken::new();
    let cleaner = tokio::spawn({
        let context = context.clone();
        async move { context.sessions.close_idle().await }
    });
    let signals = tokio::spawn(stop_on_signal(stop.clone()));
    let server = Server::new(pipeline);
    let serving = async {
        match options.http {
            Some(address) => {
                http::serve(server, address, &options.allow_host, stop.clone()).await.map_err(CliError::from)
            }
            None => serve_stdio(server, stop.clone()).await,
        }
    };
    // A client that says nothing or reads nothing must not keep the sessions from being ended.
    let too_late = async {
        stop.cancelled().await;
        tokio::time::sleep(LAST_WORDS).await;
    };
    let result = tokio::select! {
        result = serving => result,
        () = too_late => Ok(()),
    };
    stop.cancel();
    cleaner.abort();
    signals.abort();
    context.sessions.shutdown().await;
    result
}

async fn serve_stdio(server: Server, stop: CancellationToken) -> Result<(), CliError> {
    let (input, output) = stdio_pipes();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_LINE);
    let transport = Ordered::new(transport, server.arrivals().clone());
    let failed = |error: &dyn std::fmt::Display| CliError::Mcp(error.to_string());
    let service = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        started = server.serve_with_ct(transport, stop.clone()) => match started {
            Ok(service) => service,
            // A client that goes away before it says anything is no failure.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(failed(&error)),
        },
    };
    service.waiting().await.map(|_| ()).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_are_checked() {
        for text in ["box.example", "box.example:8443", "[::1]", "[::1]:80", "10.0.0.1:80", "localhost"] {
            assert_eq!(host_name(text).as_deref(), Ok(text));
        }
        for text in
            ["", " ", ":80", "a b", "box.example:", "box.example:x", "box.example:99999", "http://box", "box/mcp", "*"]
        {
            assert!(host_name(text).is_err(), "{text:?}");
        }
    }
}
