//! Subcommand names of agent-browser that the grammar does not offer.

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
