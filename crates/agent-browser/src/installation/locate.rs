//! Location of the installed agent-browser.

use std::path::PathBuf;

use browser_shell_system::config::Settings;
use browser_shell_system::os::programs::find_on_path;

/// Returns the agent-browser program: as set, else the first on PATH, else its bare name, which the error then shows.
#[must_use]
pub fn find_agent_browser(settings: &Settings) -> PathBuf {
    let configured =
        settings.agent_browser.as_deref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    configured.or_else(|| find_on_path("agent-browser")).unwrap_or_else(|| PathBuf::from("agent-browser"))
}
