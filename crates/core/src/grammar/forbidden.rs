//! Subcommand names and global flags of agent-browser that the grammar does not offer.
//!
//! Requirement 1.4. agent-browser's parser removes a global flag wherever it occurs, also from text, and has no terminator. One
//! such element would change the connection or the session of a call, so none reaches the CLI.
//!
//! The lists are the union of all [known versions](crate::agent_browser). A flag that a version drops stays in the list.

/// Subcommands of any known version of agent-browser that no policy can enable for the tool, sorted.
///
/// They read or write files, cookies, storage, credentials or the connection, run code, or leave the session's page.
/// Requirement 1.3. The [compat grammar](super::COMPAT) offers safe forms of some of them.
pub const FORBIDDEN_SUBCOMMANDS: &[&str] = &[
    "addinitscript",
    "addscript",
    "addstyle",
    "auth",
    "batch",
    "chat",
    "clipboard",
    "confirm",
    "connect",
    "console",
    "cookies",
    "dashboard",
    "deny",
    "device",
    "diff",
    "doctor",
    "download",
    "errors",
    "eval",
    "evaluate",
    "expose",
    "find",
    "frame",
    "har",
    "highlight",
    "init",
    "inspect",
    "install",
    "keyboard",
    "keydown",
    "keyup",
    "mcp",
    "mouse",
    "network",
    "plugin",
    "profiler",
    "profiles",
    "pushstate",
    "react",
    "read",
    "record",
    "removeinitscript",
    "route",
    "scrollinto",
    "scrollintoview",
    "session",
    "set",
    "setcontent",
    "skills",
    "state",
    "storage",
    "stream",
    "swipe",
    "tap",
    "trace",
    "unroute",
    "upgrade",
    "upload",
    "video",
    "vitals",
    "web-vitals",
    "webmcp",
    "window",
];

/// Aliases in agent-browser of subcommands that the grammar offers, each with the offered name.
pub(super) const SUBCOMMAND_ALIASES: &[(&str, &str)] =
    &[("exit", "close"), ("goto", "open"), ("key", "press"), ("navigate", "open"), ("quit", "close")];

/// Names in the first design of this tool, each with the words of today.
pub(super) const FORMER_NAMES: &[(&str, &str)] =
    &[("get-html", "get html"), ("get-text", "get text"), ("get-title", "get title"), ("get-url", "get url")];

/// Global flags with a value.
pub(super) const WITH_VALUE: &[&str] = &[
    "--session",
    "--cdp",
    "--headers",
    "--executable-path",
    "--extension",
    "--profile",
    "--state",
    "--proxy",
    "--proxy-bypass",
    "--args",
    "--user-agent",
    "-p",
    "--provider",
    "--device",
    "--config",
    "--session-name",
    "--download-path",
    "--screenshot-dir",
    "--action-policy",
    "--allowed-domains",
    "--confirm-actions",
    "--engine",
    "--color-scheme",
    "--max-output",
    "--screenshot-quality",
    "--screenshot-format",
    "--init-script",
    "--enable",
    "--ca-cert",
    "--cdp-headers",
    "--namespace",
    "--restore",
    "--restore-save",
    "--restore-check-url",
    "--restore-check-text",
    "--restore-check-fn",
    "--idle-timeout",
    "--input-mode",
    "--model",
];

/// Global flags without a value. Some consume a following `true` or `false`.
pub(super) const BOOLEAN: &[&str] = &[
    "--json",
    "--headed",
    "--debug",
    "--ignore-https-errors",
    "--allow-file-access",
    "--auto-connect",
    "--full",
    "-f",
    "--annotate",
    "--content-boundaries",
    "--confirm-interactive",
    "--native",
    "--pin-tab",
    "--no-pin-tab",
    "--use-system-ca",
    "--no-ca-cert",
    "--webgpu",
    "--no-webmcp",
    "--no-auto-dialog",
    "--hide-scrollbars",
    "--fix",
    "--offline",
    "--quick",
    "-v",
    "--verbose",
    "-q",
    "--quiet",
    "-h",
    "--help",
    "-V",
    "--version",
];

/// Returns the global flag that an element is, on its own or with `=` and a value.
#[must_use]
pub fn find_global_flag(element: &str) -> Option<&'static str> {
    if !element.starts_with('-') {
        return None;
    }
    let name = element.split_once('=').map_or(element, |(name, _)| name);
    WITH_VALUE.iter().chain(BOOLEAN).copied().find(|flag| *flag == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement 1.4.
    #[test]
    fn global_flags_are_recognized_with_and_without_value() {
        for flag in WITH_VALUE.iter().chain(BOOLEAN) {
            assert_eq!(find_global_flag(flag), Some(*flag));
            assert_eq!(find_global_flag(&format!("{flag}=1")), Some(*flag));
            assert_eq!(find_global_flag(&format!("{flag}=")), Some(*flag));
            assert_eq!(
                find_global_flag(&format!("{flag}x")).filter(|found| found == flag),
                None,
                "{flag}x is another word"
            );
            assert_eq!(find_global_flag(&format!(" {flag}")), None, "agent-browser compares whole elements");
        }
        for text in ["-5", "- item", "--", "-", "---", "--cdpx", "--CDP", "cdp", "--foo=--cdp"] {
            assert_eq!(find_global_flag(text), None, "{text} is text");
        }
    }
}
