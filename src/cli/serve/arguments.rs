//! Arguments of `browser-shell serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::cli::credentials::CredentialArguments;
use crate::cli::host_name::parse_host_name;
use browser_shell_browser::supervisor::RendererSandbox;
use browser_shell_system::config::listen_address;

/// Smallest and largest width and height of the screen, in pixels.
const SIDES: std::ops::RangeInclusive<u16> = 320..=7680;

/// Screen of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum ScreenChoice {
    /// Xvnc, which people watch and use at /vnc/
    Xvnc,
    /// The page of a session, which people watch and use at /vnc/: the page only, not the whole browser; needs no Xvnc
    Cast,
    /// No screen; Chromium runs without windows
    None,
}

/// Serve the tool, and the screen to watch it, with a Chromium of its own
///
/// One process starts and watches everything that the product consists of: the display (Xvnc, on a private socket), Chromium, its
/// egress guard, the control gate, the tool at /mcp, and the viewer of the screen at /vnc/. Both are on one port, which answers 403
/// to everything else. It needs neither root nor a container.
///
/// Chromium shows the page of the session that made the last call. It keeps running until the server stops; with `--screen none` it
/// is stopped when no call uses it.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  browser-shell serve --workspace ~/browser-shell
  browser-shell serve --screen cast
  browser-shell serve --screen none --listen 127.0.0.1:8090
  browser-shell serve --listen 0.0.0.0:8080 --api-keys keys.txt

Then, from this machine:
  http://127.0.0.1:8080/mcp     the tool, for MCP clients
  http://127.0.0.1:8080/vnc/    the screen, for people

`browser-shell doctor --serve` names the packages that are missing.

To listen on an address that other machines can reach, you must give --api-keys
or --jwt-keys. The variables JWT_PUBLIC_KEY, SANDBOX_API_KEY and
TICKET_TTL_SECONDS of the image mean the same here.")]
pub(in crate::cli) struct ServeArguments {
    /// Address to listen on; a port alone listens on 127.0.0.1
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_LISTEN", default_value = "127.0.0.1:8080", value_parser = listen_address)]
    pub(super) listen: SocketAddr,

    /// Host name that clients use besides localhost and addresses, with or without a port; repeat the flag for more
    #[arg(long, value_name = "HOST", env = "BROWSER_SHELL_ALLOW_HOST", value_delimiter = ',', value_parser = parse_host_name)]
    pub(super) allow_host: Vec<String>,

    /// Screen on which people watch the browser
    #[arg(long, value_enum, env = "BROWSER_SHELL_SCREEN", default_value_t = ScreenChoice::Xvnc)]
    pub(super) screen: ScreenChoice,

    /// Width and height of the screen, in pixels
    #[arg(long, value_name = "WIDTHxHEIGHT", env = "BROWSER_SHELL_SCREEN_SIZE", default_value = "1280x800", value_parser = parse_size)]
    pub(super) screen_size: (u16, u16),

    /// Xvnc to start [default: found on PATH]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_XVNC")]
    pub(super) xvnc: Option<PathBuf>,

    /// Folder of noVNC, the viewer
    #[arg(long, value_name = "DIR", env = "BROWSER_SHELL_NOVNC", default_value = "/usr/share/novnc")]
    pub(super) novnc: PathBuf,

    /// Chromium to start [default: found on PATH]
    #[arg(long, value_name = "FILE", env = "BROWSER_SHELL_CHROMIUM")]
    pub(super) chromium: Option<PathBuf>,

    /// Requirement on Chromium's renderer sandbox
    #[arg(long, value_enum, env = "BROWSER_SHELL_CHROMIUM_SANDBOX", default_value_t = RendererSandbox::Auto)]
    pub(super) chromium_sandbox: RendererSandbox,

    /// Address on which the egress guard of this server's Chromium listens
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_EGRESS", default_value = browser_shell_egress::DEFAULT_ADDRESS)]
    pub(super) egress: SocketAddr,

    /// Address at which /healthz tells monitors that browser and screen are usable [default: none]
    #[arg(long, value_name = "ADDRESS", env = "BROWSER_SHELL_HEALTH")]
    pub(super) health: Option<SocketAddr>,

    #[command(flatten)]
    pub(super) credentials: CredentialArguments,
}

/// Parses a width and a height.
///
/// # Errors
///
/// Returns the message for the user.
fn parse_size(text: &str) -> Result<(u16, u16), &'static str> {
    let side = |text: &str| text.parse().ok().filter(|side| SIDES.contains(side));
    let sides = text.split_once('x').and_then(|(width, height)| Some((side(width)?, side(height)?)));
    sides.ok_or("not a size; use a width and a height from 320 to 7680, such as 1280x800")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screen_sizes_have_a_width_and_a_height() {
        assert_eq!(parse_size("1280x800"), Ok((1280, 800)));
        for text in ["", "1280", "1280x", "x800", "1280X800", "1280x800x24", "0x0", "99999x800", "-1x800", "1280 x 800"]
        {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
