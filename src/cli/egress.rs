//! `browser-shell egress`.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::{CliError, more_files, open_audit, start_log, stop_on_signal, wide_runtime};
use crate::config::Settings;
use crate::egress;
use crate::log::Stderr;
use crate::policy_source::PolicySource;

/// The most threads; what they do is mostly waiting.
const MAX_WORKERS: usize = 4;

/// Guard the browser's connections: the proxy that Chromium must use
///
/// The URL policy decides what is opened; what a page does then (redirects, scripts, frames, images, sockets) goes past it.
/// The guard is a forward proxy for all of that. It looks each name up once, checks every address against the policy file, and
/// connects to the address that it checked, so that a name cannot mean another host a moment later. The container's own
/// services on loopback are as closed to pages as any private address.
///
/// What it lets through is `egress.mode` in the policy file: `public` (the default: any public host, and what `open.allow_cidrs`
/// names), `allowlist` (the allow lists of `open` for every connection) or `off` (anything but this machine's own). Deny lists
/// hold in every mode. The file is read for each connection; while it is wrong, every connection is refused.
#[derive(Args, Debug)]
#[command(after_long_help = "Chromium's flags, so that nothing goes past the guard, loopback neither:\n  \
    --proxy-server=http://127.0.0.1:8119 '--proxy-bypass-list=<-loopback>'\n  \
    --webrtc-ip-handling-policy=disable_non_proxied_udp --disable-quic\n\n\
    What would it decide?\n  browser-shell policy explain --address 127.0.0.1:8091\n  \
    browser-shell policy explain --address cdn.example.com:443\n\n\
    Does it run?  browser-shell doctor, or GET /status on its address.\n\
    A refusal is a 403 with the decision as JSON, or as a page for people; one audit line for each connection (--audit).")]
pub(super) struct EgressArguments {
    /// Address to listen on; it must be this machine's loopback
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_EGRESS", default_value = egress::DEFAULT_ADDRESS)]
    listen: SocketAddr,
}

pub(super) fn run(settings: &Settings, options: &EgressArguments) -> Result<ExitCode, CliError> {
    let (stderr, _flush) = Stderr::open();
    start_log(tracing::Level::INFO, stderr.clone());
    more_files();
    let runtime = wide_runtime(MAX_WORKERS)?;
    let audit = open_audit(settings, Some(stderr))?;
    let policy = PolicySource::new(settings.policy.clone());
    let result = runtime.block_on(async {
        let stop = CancellationToken::new();
        let signals = tokio::spawn(stop_on_signal(stop.clone()));
        let result = egress::serve(options.listen, policy, audit, stop).await;
        signals.abort();
        result
    });
    runtime.shutdown_background();
    result.map_err(CliError::from).map(|()| ExitCode::SUCCESS)
}
