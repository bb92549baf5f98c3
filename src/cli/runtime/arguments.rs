//! Arguments of `browser-shell runtime`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::api::orchestrator::identity::Tenancy;
use crate::cli::server_arguments::parse_host_name;
use browser_shell_browser::supervisor::RendererSandbox;
use browser_shell_core::grammar::Profile;
use browser_shell_system::config::{DEFAULT_WORKSPACE, listen_address};

/// Maximum length of a user agent, in bytes.
const MAX_USER_AGENT: usize = 512;

/// Origin of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum BrowserOrigin {
    /// The runtime starts Chromium, and an egress guard for it
    Own,
    /// You run Chromium and its egress guard; Chromium answers at --cdp-port
    External,
}

/// Profile on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ProfileArgument {
    /// The tool's commands and answers, with paths of files below the workspace
    Strict,
    /// More commands, as agents of an orchestrator expect, and text where there is one text to read
    Compat,
}

impl From<ProfileArgument> for Profile {
    fn from(argument: ProfileArgument) -> Self {
        match argument {
            ProfileArgument::Strict => Self::Strict,
            ProfileArgument::Compat => Self::Compat,
        }
    }
}

/// Serve browsers to an orchestrator's agents, over REST and MCP
///
/// A drop-in for the browser container of an orchestrator: `POST /exec` and `/exec_batch` run commands of agent-browser, read by
/// the same grammar and behind the same policy as the tool; `GET /health` and `/meta` describe the runtime to the orchestrator; /mcp
/// has the same as MCP tools; /metrics and /openapi.json are for monitoring and clients.
///
/// It starts Chromium behind its own egress guard, and stops it when no call uses it. In the mode `single`, Chromium's profile
/// stays in the workspace. In the mode `shared`, every request names its sandbox, and Chromium is one that you run unless
/// --browser is `own`.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  browser-shell runtime --listen 127.0.0.1:8115
  curl -s localhost:8115/exec -H 'content-type: application/json' \\
    -d '{\"cmd\": \"open https://example.com\"}'
  curl -s localhost:8115/exec -H 'content-type: application/json' \\
    -d '{\"cmd\": \"snapshot -i\"}'

Variables of the orchestrator: SANDBOX_ID, BAY_SANDBOX_ID, BAY_WORKSPACE_PATH,
BAY_CONTAINER_NAME, BAY_SESSION_ID, BAY_PROFILE_ENV,
AGENT_BROWSER_IDLE_TIMEOUT_MS. Of the runtime that this one replaces: GULL_MODE,
GULL_CDP_PORT, GULL_CHROMIUM_BIN, GULL_CHROMIUM_ARGS (only --user-agent).

Exit codes of a command: those of a call (`browser-shell call --help`), but a
timeout is -1 (single) or 124 (shared), and no agent-browser is -1 or 127.")]
pub(crate) struct RuntimeArguments {
    /// Address to listen on; a port alone listens on 127.0.0.1
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_LISTEN", default_value = "0.0.0.0:8115", value_parser = listen_address)]
    pub(super) listen: SocketAddr,

    /// One sandbox, or several that share a browser [default: `GULL_MODE`, else single]
    #[arg(long, value_enum, env = "BROWSER_SHELL_MODE")]
    pub(super) mode: Option<Tenancy>,

    /// Origin of Chromium [default: own in the mode `single` and with `GULL_MODE`, else external]
    #[arg(long, value_enum, env = "BROWSER_SHELL_BROWSER")]
    pub(super) browser: Option<BrowserOrigin>,

    /// Commands that agents may use, and the form of the answers
    #[arg(long, value_enum, env = "BROWSER_SHELL_PROFILE", default_value_t = ProfileArgument::Strict)]
    pub(super) profile: ProfileArgument,

    /// Chromium to start [default: found on PATH]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_CHROMIUM")]
    pub(super) chromium: Option<PathBuf>,

    /// User agent that pages see [default: Chromium's own]
    #[arg(long, value_name = "TEXT", env = "BROWSER_SHELL_USER_AGENT", value_parser = parse_user_agent)]
    pub(super) user_agent: Option<String>,

    /// Requirement on Chromium's renderer sandbox
    #[arg(long, value_enum, env = "BROWSER_SHELL_CHROMIUM_SANDBOX", default_value_t = RendererSandbox::Auto)]
    pub(super) chromium_sandbox: RendererSandbox,

    /// Address on which the egress guard of this runtime's Chromium listens
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_EGRESS", default_value = browser_shell_egress::DEFAULT_ADDRESS)]
    pub(super) egress: SocketAddr,

    /// File with the token that requests must carry [default: none]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_TOKEN_FILE")]
    pub(super) token_file: Option<PathBuf>,

    /// Host name that clients use, besides addresses, localhost and `BAY_CONTAINER_NAME`; can be given several times
    #[arg(long, value_name = "HOST", env = "BROWSER_SHELL_ALLOW_HOSTS", value_delimiter = ',', value_parser = parse_host_name)]
    pub(super) allow_host: Vec<String>,

    /// Folder of the skills that are copied into the workspace
    #[arg(long, value_name = "DIR", env = "BROWSER_SHELL_SKILLS", default_value = "/app/skills")]
    pub(super) skills: PathBuf,

    /// Path of the workspace as agents see it; in the mode `single` also its real path, unless --workspace is given
    #[arg(long, value_name = "DIR", env = "BAY_WORKSPACE_PATH", default_value = DEFAULT_WORKSPACE)]
    pub(super) workspace_mount: String,

    /// Folder of the workspaces in the mode `shared`, each named `bay-cargo-ID`
    #[arg(long, value_name = "DIR", env = "BROWSER_SHELL_CARGOS", default_value = "/cargos")]
    pub(super) cargos: PathBuf,

    /// Name of the runtime's own session [default: `BAY_SANDBOX_ID`, else `default`]
    #[arg(long, value_name = "ID", env = "SANDBOX_ID")]
    pub(super) sandbox_id: Option<String>,

    #[arg(long, env = "BAY_SANDBOX_ID", hide = true)]
    pub(super) bay_sandbox_id: Option<String>,

    #[arg(long, env = "BAY_CONTAINER_NAME", hide = true)]
    pub(super) bay_container_name: Option<String>,

    #[arg(long, env = "BAY_SESSION_ID", hide = true)]
    pub(super) bay_session_id: Option<String>,

    #[arg(long, env = "BAY_PROFILE_ENV", hide = true)]
    pub(super) bay_profile_env: Option<String>,

    /// Variables of the runtime that this one replaces, and of proxies.
    #[command(flatten)]
    pub(super) foreign: ForeignVariables,

    /// Milliseconds after which idle sessions, and an idle browser, are ended [default: --idle-sec]
    #[arg(long, value_name = "MS", env = "AGENT_BROWSER_IDLE_TIMEOUT_MS", value_parser = clap::value_parser!(u64).range(1_000..=86_400_000))]
    pub(super) idle_timeout_ms: Option<u64>,

    /// Seconds that running calls have to end when the runtime stops
    #[arg(long, value_name = "SEC", env = "BROWSER_SHELL_GRACE_SEC", default_value_t = 15, value_parser = clap::value_parser!(u64).range(0..=600))]
    pub(super) grace_sec: u64,
}

/// Variables of the runtime that this one replaces.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_field_names, reason = "the names are those of the variables")]
pub(super) struct ForeignVariables {
    #[arg(long, env = "GULL_MODE", hide = true)]
    pub(super) gull_mode: Option<String>,

    #[arg(long, env = "GULL_CDP_PORT", hide = true)]
    pub(super) gull_cdp_port: Option<String>,

    #[arg(long, env = "GULL_CHROMIUM_BIN", hide = true)]
    pub(super) gull_chromium_bin: Option<String>,

    #[arg(long, env = "GULL_CHROMIUM_ARGS", hide = true, allow_hyphen_values = true)]
    pub(super) gull_chromium_args: Option<String>,
}

/// Checks the user agent that pages get.
///
/// # Errors
///
/// Returns the message for the user.
pub(super) fn parse_user_agent(text: &str) -> Result<String, &'static str> {
    let is_valid = (1..=MAX_USER_AGENT).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
        && !text.starts_with(' ')
        && !text.ends_with(' ');
    if is_valid {
        Ok(text.to_owned())
    } else {
        Err("not a user agent; use up to 512 visible ASCII characters and spaces")
    }
}
