//! Errors that keep a runtime from starting.

use std::io;
use std::net::SocketAddr;

use browser_shell_core::tenant::NAME_PATTERN;
use thiserror::Error;

use crate::cli::error::CliError;

/// Reason why a runtime does not start.
#[derive(Debug, Error)]
pub(crate) enum RuntimeError {
    #[error("`{name}` is not a sandbox id; it must match {NAME_PATTERN}")]
    TenantId { name: String },
    #[error("`{0}` is not an absolute path; give one with --workspace-mount")]
    Mount(String),
    #[error("cannot read the token file `{path}`: {reason}")]
    Token { path: String, reason: String },
    #[error("`{value}` in {name} is not valid; {advice}")]
    Foreign { name: &'static str, value: String, advice: &'static str },
    #[error("{name} and {setting} contradict each other; remove one of them")]
    Contradiction { name: &'static str, setting: &'static str },
    #[error("the flag `{flag}` in GULL_CHROMIUM_ARGS is not accepted, because Chromium's flags are fixed; {advice}")]
    ChromiumFlag { flag: String, advice: &'static str },
    #[error(
        "{0} has no effect on a Chromium that you run; remove it, or let the runtime start Chromium with `--browser own`"
    )]
    WithoutOwnBrowser(&'static str),
    #[error(
        "the policy names the engine `cdp`, and the profile `compat` has the answers of agent-browser; set `\"engine\": \"agent-browser\"`, \
         or choose --profile strict"
    )]
    EngineOfCompat,
    #[error("port {0} is used twice; --listen, --egress and --cdp-port must differ")]
    SamePort(u16),
    #[error("cannot listen on `{address}`: {source}; choose another address with --listen")]
    Listen { address: SocketAddr, source: io::Error },
}

impl From<RuntimeError> for CliError {
    fn from(error: RuntimeError) -> Self {
        Self::Command(Box::new(error))
    }
}
