//! Values that a runtime starts with, from arguments, environment and files; and the variables that other programs define: the runtime
//! that this one replaces.
//!
//! Invariants: a variable of that runtime that is set has its effect, or keeps the runtime from starting with a message that names the
//! setting to use instead.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use thiserror::Error;

use crate::api::orchestrator::identity::{DEFAULT_SESSION, RuntimeIdentity, Tenancy};
use crate::cli::output::CliError;
use crate::cli::runtime::arguments::{BrowserOrigin, RuntimeArguments, parse_user_agent};
use browser_shell_browser::launch::is_fixed_flag;
use browser_shell_core::grammar::words;
use browser_shell_core::session_id::{NAME_PATTERN, TenantId};
use browser_shell_system::config::{DEFAULT_CDP_PORT, DEFAULT_WORKSPACE, Settings};
use browser_shell_system::os::describe;

/// Maximum size of the token file, in bytes.
const MAX_TOKEN_FILE: u64 = 4096;

/// Minimum length of the token.
const MIN_TOKEN: usize = 16;

/// Flag of Chromium that has a setting of its own.
const USER_AGENT_FLAG: &str = "--user-agent=";

/// Flags of Chromium with a setting that replaces them: the start of the flag, and the setting.
const REPLACED_FLAGS: &[(&str, &str)] = &[
    ("--proxy-", "name the proxy in `egress.upstream` of the policy file"),
    ("--no-sandbox", "use --chromium-sandbox"),
    ("--remote-debugging-port", "use --cdp-port"),
    ("--user-data-dir", "the profile is in the workspace"),
    ("--headless", "Chromium has no screen here"),
];

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
    #[error("cannot listen on `{address}`: {}; choose another address with --listen", describe(source))]
    Listen { address: SocketAddr, source: io::Error },
}

impl From<RuntimeError> for CliError {
    fn from(error: RuntimeError) -> Self {
        Self::Command(Box::new(error))
    }
}

/// Returns a value unless it is empty: an environment variable that is set to nothing counts as not set.
pub(super) fn non_empty(value: Option<&str>) -> Option<String> {
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

/// Returns the identity of the runtime.
pub(super) fn identity(
    settings: &Settings,
    options: &RuntimeArguments,
    tenancy: Tenancy,
) -> Result<RuntimeIdentity, RuntimeError> {
    let name = non_empty(options.sandbox_id.as_deref())
        .or_else(|| non_empty(options.bay_sandbox_id.as_deref()))
        .unwrap_or_else(|| DEFAULT_SESSION.to_owned());
    let tenant = TenantId::new(&name).ok_or(RuntimeError::TenantId { name })?;
    let mount = options.workspace_mount.clone();
    if !Path::new(&mount).is_absolute() {
        return Err(RuntimeError::Mount(mount));
    }
    // The default of `--workspace` means the path that agents see.
    let is_default = settings.workspace == Path::new(DEFAULT_WORKSPACE);
    let workspace = if is_default { PathBuf::from(&mount) } else { settings.workspace.clone() };
    Ok(RuntimeIdentity { tenancy, tenant, workspace, mount, cargos: options.cargos.clone() })
}

/// Returns the settings of the sessions. Their folders are private; files are carried from there into the workspace.
pub(super) fn session_settings(
    settings: &Settings,
    options: &RuntimeArguments,
    cdp_port: u16,
) -> Result<Settings, CliError> {
    let mut settings = settings.clone();
    settings.cdp_port = cdp_port;
    settings.workspace = browser_shell_system::paths::staging_folder(&settings)?;
    if let Some(idle) = options.idle_timeout_ms {
        settings.idle_sec = idle.div_ceil(1000);
    }
    Ok(settings)
}

/// Checks that the runtime's ports differ. Port 0 is chosen by the system.
pub(super) fn check_distinct_ports(ports: [u16; 3]) -> Result<(), RuntimeError> {
    let repeated = ports
        .iter()
        .enumerate()
        .find(|(position, port)| **port > 0 && ports.iter().take(*position).any(|other| other == *port));
    repeated.map_or(Ok(()), |(_, port)| Err(RuntimeError::SamePort(*port)))
}

/// Reads the token: the only line of a file, without the line break.
pub(super) fn read_token(path: &Path) -> Result<String, RuntimeError> {
    let failed = |reason: &str| RuntimeError::Token { path: path.display().to_string(), reason: reason.to_owned() };
    let metadata = std::fs::metadata(path).map_err(|error| failed(&describe(&error)))?;
    if !metadata.is_file() || metadata.len() > MAX_TOKEN_FILE {
        return Err(failed("it is not a file of one short line"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&describe(&error)))?;
    let token = text.trim_end_matches(['\r', '\n']);
    if token.len() < MIN_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(failed(&format!(
            "it must hold one line of at least {MIN_TOKEN} visible ASCII characters; make one with `openssl rand -hex 32`"
        )));
    }
    Ok(token.to_owned())
}

/// Settings that follow from our own and from foreign variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deployment {
    /// Number of tenants.
    pub(super) mode: Tenancy,
    /// Origin of Chromium.
    pub(super) browser: BrowserOrigin,
    /// Debugging port of Chromium.
    pub(super) cdp_port: u16,
    /// Chromium to start, if one is named.
    pub(super) chromium: Option<PathBuf>,
    /// User agent that pages see, if one is named.
    pub(super) user_agent: Option<String>,
}

/// Returns the deployment.
///
/// # Errors
///
/// Returns an error for the first variable that is not valid, contradicts a setting, or would have no effect.
pub(super) fn deployment(settings: &Settings, options: &RuntimeArguments) -> Result<Deployment, RuntimeError> {
    let foreign = &options.foreign;
    let gull_mode =
        read(foreign.gull_mode.as_deref(), "GULL_MODE", "use `single` or `shared`, or --mode instead", |text| {
            Tenancy::from_str(text, false).ok()
        })?;
    let mode = agree("GULL_MODE", gull_mode, "--mode", options.mode)?.unwrap_or(Tenancy::Single);
    let own = mode == Tenancy::Single || gull_mode.is_some();
    let browser = options.browser.unwrap_or(if own { BrowserOrigin::Own } else { BrowserOrigin::External });

    let port = read(foreign.gull_cdp_port.as_deref(), "GULL_CDP_PORT", "use a port, or --cdp-port instead", |text| {
        text.parse().ok().filter(|port| *port > 0)
    })?;
    // The default cannot be told from the same port given by the operator, with which every other one agrees.
    let given = Some(settings.cdp_port).filter(|port| *port != DEFAULT_CDP_PORT);
    let cdp_port = agree("GULL_CDP_PORT", port, "--cdp-port", given)?.unwrap_or(DEFAULT_CDP_PORT);

    let chromium = non_empty(foreign.gull_chromium_bin.as_deref()).map(PathBuf::from);
    if browser == BrowserOrigin::External && chromium.is_some() {
        return Err(RuntimeError::WithoutOwnBrowser("GULL_CHROMIUM_BIN"));
    }
    let chromium = agree("GULL_CHROMIUM_BIN", chromium, "--chromium", options.chromium.clone())?;
    let user_agent = foreign.gull_chromium_args.as_deref().map(chromium_flags).transpose()?.flatten();
    let user_agent = agree("GULL_CHROMIUM_ARGS", user_agent, "--user-agent", options.user_agent.clone())?;
    if browser == BrowserOrigin::External && user_agent.is_some() {
        return Err(RuntimeError::WithoutOwnBrowser("--user-agent"));
    }
    Ok(Deployment { mode, browser, cdp_port, chromium, user_agent })
}

/// Reads a variable; an empty one counts as not set.
fn read<T>(
    value: Option<&str>,
    name: &'static str,
    advice: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, RuntimeError> {
    let Some(value) = non_empty(value) else { return Ok(None) };
    let parsed = parse(&value);
    parsed.map(Some).ok_or(RuntimeError::Foreign { name, value, advice })
}

/// Returns the value of a foreign variable or of our own setting, which must be the same if both are given.
fn agree<T: PartialEq>(
    name: &'static str,
    foreign: Option<T>,
    setting: &'static str,
    own: Option<T>,
) -> Result<Option<T>, RuntimeError> {
    match (foreign, own) {
        (Some(foreign), Some(own)) if foreign != own => Err(RuntimeError::Contradiction { name, setting }),
        (foreign, own) => Ok(own.or(foreign)),
    }
}

/// Returns the user agent of a list of Chromium's flags, which may have no other flag but fixed ones.
fn chromium_flags(text: &str) -> Result<Option<String>, RuntimeError> {
    const NAME: &str = "GULL_CHROMIUM_ARGS";
    let unbalanced = |_| RuntimeError::Foreign { name: NAME, value: text.to_owned(), advice: "close the quote" };
    let mut user_agent = None;
    for flag in words::split(text).map_err(unbalanced)? {
        if let Some(value) = flag.strip_prefix(USER_AGENT_FLAG) {
            let parsed = parse_user_agent(value);
            let advice = "use visible ASCII characters, or --user-agent instead";
            user_agent = Some(parsed.map_err(|_| RuntimeError::Foreign { name: NAME, value: flag, advice })?);
        } else if !is_fixed_flag(&flag) {
            let replaced = REPLACED_FLAGS.iter().find(|(start, _)| flag.starts_with(start));
            let advice =
                replaced.map_or("remove it; --user-agent is the only setting of this kind", |(_, advice)| advice);
            return Err(RuntimeError::ChromiumFlag { flag, advice });
        }
    }
    Ok(user_agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ports_are_refused() {
        assert!(check_distinct_ports([8115, 8119, 9222]).is_ok() && check_distinct_ports([0, 0, 9222]).is_ok());
        for ports in [[1, 1, 2], [1, 2, 1], [2, 1, 1]] {
            assert!(matches!(check_distinct_ports(ports), Err(RuntimeError::SamePort(1))), "{ports:?}");
        }
    }

    #[test]
    fn tokens_are_single_lines_of_minimum_length() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("token");
        for (text, ok) in [
            ("0123456789abcdef", true),
            ("0123456789abcdef\n", true),
            ("0123456789abcdef\r\n", true),
            ("", false),
            ("short\n", false),
            ("0123456789abcdef\n0123456789abcdef\n", false),
            ("0123456789 abcdef", false),
        ] {
            std::fs::write(&path, text).expect("written");
            assert_eq!(read_token(&path).ok().as_deref(), ok.then_some("0123456789abcdef"), "{text:?}");
        }
        assert!(read_token(&root.path().join("missing")).is_err() && read_token(root.path()).is_err());
    }
}
