//! Settings of a process: paths, ports and limits.
//!
//! Each setting is a flag and a `BROWSER_SHELL_*` variable. An invalid value is an error that names the setting, never a
//! fallback. The rules for agents are no settings; they are in the policy file.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Default workspace.
pub const DEFAULT_WORKSPACE: &str = "/workspace";

/// Default debugging port of Chromium.
pub const DEFAULT_CDP_PORT: u16 = 9222;

/// The value `cli` of an older setting, which has no effect any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldTransport;

fn old_transport(name: &str) -> Result<OldTransport, String> {
    match name {
        "cli" => Ok(OldTransport),
        "auto" => Err("`auto` is gone: every call of agent-browser runs its CLI; for speed, set `\"engine\": \"cdp\"` in the policy".to_owned()),
        _ => Err("there is only `cli`; leave the setting out".to_owned()),
    }
}

/// Parses an address to listen on: `IP:PORT`, or `PORT` or `localhost:PORT` for loopback.
///
/// # Errors
///
/// The forms that there are.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    // `+80` is a number to Rust.
    if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) {
        return port
            .parse()
            .map(|port| (Ipv4Addr::LOCALHOST, port).into())
            .map_err(|_| "the port must be at most 65535".to_owned());
    }
    text.parse()
        .map_err(|_| "must be IP:PORT such as `127.0.0.1:8080`, or only a port, which listens on 127.0.0.1".to_owned())
}

/// Settings, by flag or environment variable.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    /// Policy file, which must exist; if you name none and the default one does not exist, `serve` and `mcp --browser` use the recommended policy, and other commands the safe defaults [default: /etc/agent-browser/browser-shell.policy.json]
    #[arg(long, global = true, env = "BROWSER_SHELL_POLICY", value_name = "FILE")]
    pub policy: Option<PathBuf>,

    /// Folder of the sessions' folders, which contain their screenshots
    #[arg(long, global = true, env = "BROWSER_SHELL_WORKSPACE", value_name = "DIR", default_value = DEFAULT_WORKSPACE)]
    pub workspace: PathBuf,

    /// Folder whose files are copied into each new session's folder [default: none]
    #[arg(long, global = true, env = "BROWSER_SHELL_TEMPLATE", value_name = "DIR")]
    pub template: Option<PathBuf>,

    /// The agent-browser program [default: found on PATH]
    #[arg(long, global = true, env = "BROWSER_SHELL_AGENT_BROWSER", value_name = "FILE")]
    pub agent_browser: Option<PathBuf>,

    /// Port of Chromium's debugging interface on 127.0.0.1
    #[arg(long, global = true, env = "BROWSER_SHELL_CDP_PORT", value_name = "PORT", default_value_t = DEFAULT_CDP_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub cdp_port: u16,

    /// Maximum number of calls that run at the same time
    #[arg(long, global = true, env = "BROWSER_SHELL_CONCURRENCY", value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub concurrency: u16,

    /// Maximum number of open sessions
    #[arg(long, global = true, env = "BROWSER_SHELL_MAX_SESSIONS", value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub max_sessions: u16,

    /// Seconds after which an idle session is closed
    #[arg(long, global = true, env = "BROWSER_SHELL_IDLE_SEC", value_name = "SEC", default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub idle_sec: u64,

    /// Milliseconds after which agent-browser gives up an action or page load; less than 30 s, after which it would repeat it
    #[arg(long, global = true, env = "BROWSER_SHELL_ACTION_TIMEOUT_MS", value_name = "MS", default_value_t = 15_000, value_parser = clap::value_parser!(u64).range(1_000..=25_000))]
    pub action_timeout_ms: u64,

    /// Older setting without an effect
    #[arg(long, global = true, env = "BROWSER_SHELL_TRANSPORT", value_name = "NAME", value_parser = old_transport, hide = true)]
    pub transport: Option<OldTransport>,

    /// File for the audit log, one JSON line per call; `-` is standard error
    #[arg(long, global = true, env = "BROWSER_SHELL_AUDIT", value_name = "FILE", default_value = "-")]
    pub audit: PathBuf,

    /// Private folder for sockets [default: $XDG_RUNTIME_DIR/browser-shell, else /tmp/browser-shell-UID]
    #[arg(long, global = true, env = "BROWSER_SHELL_RUNTIME_DIR", value_name = "DIR")]
    pub runtime_dir: Option<PathBuf>,
}

impl Settings {
    /// Returns the time without a call after which a session is closed.
    #[must_use]
    pub const fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_sec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_alone_listens_on_loopback() {
        for (text, address) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:8080", "[::1]:8080"),
            ("8080", "127.0.0.1:8080"),
            ("localhost:0", "127.0.0.1:0"),
        ] {
            assert_eq!(listen_address(text).map(|address| address.to_string()).as_deref(), Ok(address));
        }
        for text in ["", "localhost", "localhost:", "+80", "65536", "example.com:80", "127.0.0.1", ":80"] {
            assert!(listen_address(text).is_err(), "{text}");
        }
    }
}
