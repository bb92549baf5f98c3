//! Variables that other programs define: the runtime that this one replaces.
//!
//! Invariants: a variable that is set has its effect, or keeps the runtime from starting with a message that names the
//! setting to use instead.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::api::orchestrator::identity::Tenancy;
use crate::cli::runtime::arguments::{BrowserOrigin, RuntimeArguments, parse_user_agent};
use crate::cli::runtime::error::RuntimeError;
use crate::cli::runtime::setup::non_empty;
use browser_shell_browser::launch::is_fixed_flag;
use browser_shell_core::grammar::words;
use browser_shell_system::config::{DEFAULT_CDP_PORT, Settings};

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
