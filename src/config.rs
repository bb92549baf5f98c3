//! The settings of a process: where things are and how much of them there may be.
//!
//! Decides names, defaults and ranges. Each setting is a flag and a `BROWSER_SHELL_*` variable; a value that does not fit is
//! an error with its name, never a fallback. What an agent may do is not a setting: that is the policy file.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::policy::file::DEFAULT_PATH;

/// Where the workspace is when no setting says otherwise.
pub const DEFAULT_WORKSPACE: &str = "/workspace";

/// How commands reach agent-browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransportChoice {
    /// The daemon where it can be, else the program.
    #[value(help = None)]
    Auto,
    /// The program, always.
    #[value(help = None)]
    Cli,
}

/// Settings, by flag or variable.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    /// Policy file; if there is none, the safe defaults apply
    #[arg(long, global = true, env = "BROWSER_SHELL_POLICY", value_name = "FILE", default_value = DEFAULT_PATH)]
    pub policy: PathBuf,

    /// Folder for the sessions' own folders, where pictures go
    #[arg(long, global = true, env = "BROWSER_SHELL_WORKSPACE", value_name = "DIR", default_value = DEFAULT_WORKSPACE)]
    pub workspace: PathBuf,

    /// Folder whose files a session's folder begins with [default: none]
    #[arg(long, global = true, env = "BROWSER_SHELL_TEMPLATE", value_name = "DIR")]
    pub template: Option<PathBuf>,

    /// The agent-browser program [default: found on PATH]
    #[arg(long, global = true, env = "BROWSER_SHELL_AGENT_BROWSER", value_name = "FILE")]
    pub agent_browser: Option<PathBuf>,

    /// Port on 127.0.0.1 where Chromium speaks CDP
    #[arg(long, global = true, env = "BROWSER_SHELL_CDP_PORT", value_name = "PORT", default_value_t = 9222, value_parser = clap::value_parser!(u16).range(1..))]
    pub cdp_port: u16,

    /// Calls that run at the same time
    #[arg(long, global = true, env = "BROWSER_SHELL_CONCURRENCY", value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub concurrency: u16,

    /// Sessions that may be open at the same time
    #[arg(long, global = true, env = "BROWSER_SHELL_MAX_SESSIONS", value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub max_sessions: u16,

    /// Seconds after which an idle session is closed
    #[arg(long, global = true, env = "BROWSER_SHELL_IDLE_SEC", value_name = "SEC", default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub idle_sec: u64,

    /// Milliseconds that agent-browser tries one action or page load; below 30 s, after which it would send it again
    #[arg(long, global = true, env = "BROWSER_SHELL_ACTION_TIMEOUT_MS", value_name = "MS", default_value_t = 15_000, value_parser = clap::value_parser!(u64).range(1_000..=25_000))]
    pub action_timeout_ms: u64,

    /// Way to agent-browser: `auto` speaks to a session's daemon after its first call, where the version is proved; `cli` starts the program for every call
    #[arg(long, global = true, env = "BROWSER_SHELL_TRANSPORT", value_name = "WAY", value_enum, default_value_t = TransportChoice::Auto)]
    pub transport: TransportChoice,

    /// File for the audit log, one JSON line a call; `-` is standard error
    #[arg(long, global = true, env = "BROWSER_SHELL_AUDIT", value_name = "FILE", default_value = "-")]
    pub audit: PathBuf,

    /// Private folder for sockets [default: $XDG_RUNTIME_DIR/browser-shell, else /tmp/browser-shell-UID]
    #[arg(long, global = true, env = "BROWSER_SHELL_RUNTIME_DIR", value_name = "DIR")]
    pub runtime_dir: Option<PathBuf>,
}

impl Settings {
    /// After this time without a call a session is closed.
    #[must_use]
    pub const fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_sec)
    }
}
