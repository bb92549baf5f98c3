//! Command `browser-shell egress`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::cli::output::CliError;
use crate::cli::process::{run_server, stop_on_signal};
use crate::cli::services::DefaultPolicy;
use browser_shell_system::config::Settings;
use browser_shell_system::paths::MAX_SESSION_ADDRESSES;

/// Maximum number of threads. Connections mostly wait.
const MAX_THREADS: usize = 4;

/// Run the egress guard, the proxy that Chromium must use for every connection
///
/// The URL policy decides what an agent may open. The egress guard applies the same policy to everything that a page does by
/// itself: redirects, scripts, frames, images and web sockets. It is a forward proxy that resolves each name once, checks every
/// address and connects only to an address that it checked, so a name cannot change its meaning in between. Services on this
/// machine's loopback are as closed to pages as any other private address.
///
/// `egress.mode` in the policy file says what the guard lets through: `public` (the default) any public host and the ranges in
/// `open.allow_cidrs`; `allowlist` only what the allow lists of `open` name; `off` everything except loopback and
/// 0.0.0.0/8. Deny lists apply in every mode. The guard reads the file for each connection, and refuses every connection while
/// the file is invalid, and while a file that was there is missing.
///
/// With --session-addresses the guard also listens on 127.0.1.1 and the following addresses, on the same port. Each is the proxy
/// of one session, whose id is in the file of that name in --sessions. The audit lines of its connections name the session. A
/// connection to one of these addresses that no session has is refused.
#[derive(Args, Debug)]
#[command(after_long_help = "Start Chromium with these flags, so that no connection bypasses the guard, not
even to loopback, and no name server is asked for a name of a page:
  --proxy-server=http://127.0.0.1:8119 '--proxy-bypass-list=<-loopback>'
  --webrtc-ip-handling-policy=disable_non_proxied_udp --disable-quic
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'
  --disable-features=WebRtcHideLocalIpsWithMdns

Show what the guard would decide:
  browser-shell policy explain --address 127.0.0.1:8091
  browser-shell policy explain --address cdn.example.com:443

Check that it runs and that Chromium uses it:
  browser-shell doctor
  curl http://127.0.0.1:8119/status

A refusal is HTTP 403 with the decision, as JSON or as a page to read.
Each connection adds a line to the audit log (--audit).")]
pub(super) struct EgressArguments {
    /// Loopback address to listen on
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_EGRESS", default_value = browser_shell_egress::DEFAULT_ADDRESS)]
    listen: SocketAddr,

    /// Number of addresses for sessions, from 127.0.1.1 on
    #[arg(long, value_name = "N", default_value_t = 0, requires = "sessions", value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_SESSION_ADDRESSES)))]
    session_addresses: u8,

    /// Folder whose files name the session of each of these addresses; only its owner may be able to write to it
    #[arg(long, value_name = "DIR", env = "BROWSER_SHELL_EGRESS_SESSIONS")]
    sessions: Option<PathBuf>,
}

pub(super) fn run(settings: &Settings, options: &EgressArguments) -> Result<ExitCode, CliError> {
    run_server(MAX_THREADS, settings, DefaultPolicy::Safe, async |policy, audit| {
        let listeners = browser_shell_egress::bind(options.listen, "--listen", options.session_addresses).await?;
        let stop = CancellationToken::new();
        let signals = tokio::spawn(stop_on_signal(stop.clone()));
        let result =
            browser_shell_egress::serve(listeners, options.sessions.clone(), policy, audit, Arc::default(), stop).await;
        signals.abort();
        Ok(result?)
    })
}
