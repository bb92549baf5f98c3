//! Words that agent-browser's own parser takes from anywhere on its line.
//!
//! Decides which elements can never be passed on to its command line. agent-browser eats a global flag wherever it stands, in text too, and has
//! no terminator: one such element would change the connection or the session of the call (spec [1.4]). The lists are the
//! union over the known versions (0.9.4 to 0.41.2); a flag that one version dropped stays refused. Must never shrink.

/// Global flags that take a value.
pub const WITH_VALUE: &[&str] = &[
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

/// Global flags that take no value (some swallow a following `true` or `false`).
pub const BOOLEAN: &[&str] = &[
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

/// The global flag that an element is, whole or with `=` and a value.
#[must_use]
pub fn global_flag(element: &str) -> Option<&'static str> {
    if !element.starts_with('-') {
        return None;
    }
    let name = element.split_once('=').map_or(element, |(name, _)| name);
    WITH_VALUE.iter().chain(BOOLEAN).copied().find(|flag| *flag == name)
}

/// Subcommands of agent-browser (any known version) that no policy can enable: they read or write files, cookies, storage,
/// credentials or the connection, run code, or leave the one page (spec [1.3]).
pub const FORBIDDEN: &[&str] = &[
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
    "dialog",
    "diff",
    "doctor",
    "download",
    "drag",
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

/// Other names that agent-browser has for subcommands that exist here.
pub const ALIASES: &[(&str, &str)] =
    &[("exit", "close"), ("goto", "open"), ("key", "press"), ("navigate", "open"), ("quit", "close")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_1_4_global_flags_are_recognised_whole_and_with_a_value() {
        for flag in WITH_VALUE.iter().chain(BOOLEAN) {
            assert_eq!(global_flag(flag), Some(*flag));
            assert_eq!(global_flag(&format!("{flag}=1")), Some(*flag));
            assert_eq!(global_flag(&format!("{flag}=")), Some(*flag));
            assert_eq!(global_flag(&format!("{flag}x")).filter(|found| found == flag), None, "{flag}x is another word");
            assert_eq!(global_flag(&format!(" {flag}")), None, "agent-browser compares whole elements");
        }
        for text in ["-5", "- item", "--", "-", "---", "--cdpx", "--CDP", "cdp", "--foo=--cdp"] {
            assert_eq!(global_flag(text), None, "{text} is text");
        }
    }
}
