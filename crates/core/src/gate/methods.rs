//! Table of the methods that a client may use, by the level of the session and the kind of agent-browser.

use serde::Deserialize;

use crate::agent_browser::AgentBrowser;

/// Level of a session of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The browser itself.
    Root,
    /// A tab.
    Page,
    /// A frame with a process of its own.
    Frame,
    /// A worker of a page.
    Worker,
}

/// Treatment of a method that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// Chromium gets it with the parameters as sent.
    Forward,
    /// The gate answers without parameters.
    AnswerEmpty,
    /// The gate answers with the version of the browser.
    Version,
    /// The gate attaches the client to its own tabs, or to the frames and workers of one.
    AutoAttach,
    /// The gate answers with a target of the session.
    TargetInfo,
    /// The gate announces the session's targets.
    Discover,
    /// The gate answers with the session's targets.
    Targets,
    /// The gate attaches the client to a target of the session.
    Attach,
    /// The gate ends a session of the client.
    Detach,
    /// The gate closes a tab of the session.
    Close,
    /// The gate opens a tab in the session.
    Create,
    /// The gate brings a tab of the session to the front.
    Activate,
    /// Forwarded if the URL may be opened.
    Navigate,
    /// Forwarded if the entry of the history may be opened.
    History,
    /// Forwarded; if it pastes, after the clipboard holds nothing of another session.
    Key,
    /// Forwarded as it was read, unless it is of the middle button, which pastes a selection that all sessions share.
    Mouse,
    /// Forwarded as the text that was read.
    Text,
    /// Forwarded if it drops no files.
    Drag,
    /// Forwarded for the session's own cookies, if the policy lets agents use them.
    Cookies,
    /// Forwarded; a picture of what is visible is compressed fast.
    Picture,
    /// Forwarded; the handle in its answer belongs to the client.
    OpenStream,
    /// Forwarded for handles that belong to the client.
    UseStream,
}

/// Rule of the table.
#[derive(Clone, Copy, Debug)]
pub struct MethodRule {
    /// Method.
    pub method: &'static str,
    /// Levels at which it is allowed.
    pub levels: &'static [Level],
    /// Kinds of agent-browser that use it.
    pub clients: &'static [AgentBrowser],
    /// Treatment.
    pub handling: Handling,
}

const BOTH: &[AgentBrowser] = &AgentBrowser::ALL;

const NODE: &[AgentBrowser] = &[AgentBrowser::Node];
const NATIVE: &[AgentBrowser] = &[AgentBrowser::Native];
const ROOT: &[Level] = &[Level::Root];
const PAGE: &[Level] = &[Level::Page];
const FRAMES: &[Level] = &[Level::Page, Level::Frame];
const WORKERS: &[Level] = &[Level::Page, Level::Frame, Level::Worker];

const fn rule(
    method: &'static str,
    levels: &'static [Level],
    clients: &'static [AgentBrowser],
    handling: Handling,
) -> MethodRule {
    MethodRule { method, levels, clients, handling }
}

/// Rules, by domain. A method may have one rule for the browser and one for other levels.
const RULES: &[MethodRule] = &[
    rule("Browser.getVersion", ROOT, BOTH, Handling::Version),
    // The gate denies downloads itself.
    rule("Browser.setDownloadBehavior", ROOT, BOTH, Handling::AnswerEmpty),
    rule("Target.activateTarget", ROOT, BOTH, Handling::Activate),
    rule("Target.attachToTarget", ROOT, BOTH, Handling::Attach),
    rule("Target.closeTarget", ROOT, BOTH, Handling::Close),
    rule("Target.createTarget", ROOT, BOTH, Handling::Create),
    rule("Target.detachFromTarget", &[Level::Root, Level::Page, Level::Frame], BOTH, Handling::Detach),
    rule("Target.getTargetInfo", ROOT, BOTH, Handling::TargetInfo),
    rule("Target.getTargets", ROOT, BOTH, Handling::Targets),
    rule("Target.setAutoAttach", &[Level::Root, Level::Page, Level::Frame, Level::Worker], BOTH, Handling::AutoAttach),
    rule("Target.setDiscoverTargets", ROOT, BOTH, Handling::Discover),
    rule("Storage.clearCookies", ROOT, NODE, Handling::Cookies),
    rule("Storage.getCookies", ROOT, NODE, Handling::Cookies),
    rule("Storage.setCookies", ROOT, NODE, Handling::Cookies),
    rule("Accessibility.enable", FRAMES, BOTH, Handling::Forward),
    rule("Accessibility.getFullAXTree", FRAMES, BOTH, Handling::Forward),
    rule("DOM.describeNode", FRAMES, BOTH, Handling::Forward),
    rule("DOM.enable", FRAMES, BOTH, Handling::Forward),
    rule("DOM.getBoxModel", FRAMES, BOTH, Handling::Forward),
    rule("DOM.getContentQuads", FRAMES, BOTH, Handling::Forward),
    // To mark what takes a click, in its own way of reading a page.
    rule("DOM.getDocument", FRAMES, NATIVE, Handling::Forward),
    rule("DOM.querySelectorAll", FRAMES, NATIVE, Handling::Forward),
    rule("DOM.getFrameOwner", FRAMES, BOTH, Handling::Forward),
    rule("DOM.resolveNode", FRAMES, BOTH, Handling::Forward),
    rule("DOM.scrollIntoViewIfNeeded", FRAMES, BOTH, Handling::Forward),
    rule("Emulation.setEmulatedMedia", FRAMES, BOTH, Handling::Forward),
    rule("Emulation.setFocusEmulationEnabled", FRAMES, BOTH, Handling::Forward),
    rule("Emulation.setUserAgentOverride", &[Level::Worker], BOTH, Handling::Forward),
    rule("IO.close", PAGE, BOTH, Handling::UseStream),
    rule("IO.read", PAGE, BOTH, Handling::UseStream),
    rule("Input.dispatchDragEvent", FRAMES, NODE, Handling::Drag),
    rule("Input.dispatchKeyEvent", FRAMES, BOTH, Handling::Key),
    rule("Input.dispatchMouseEvent", FRAMES, BOTH, Handling::Mouse),
    rule("Input.insertText", FRAMES, BOTH, Handling::Text),
    rule("Input.setInterceptDrags", FRAMES, NODE, Handling::Forward),
    rule("Inspector.enable", PAGE, BOTH, Handling::Forward),
    rule("Log.enable", FRAMES, BOTH, Handling::Forward),
    rule("Network.clearBrowserCookies", PAGE, NATIVE, Handling::Cookies),
    rule("Network.getAllCookies", PAGE, NATIVE, Handling::Cookies),
    rule("Network.getCookies", PAGE, NATIVE, Handling::Cookies),
    rule("Network.setCookie", PAGE, NATIVE, Handling::Cookies),
    rule("Network.setCookies", PAGE, NATIVE, Handling::Cookies),
    rule("Network.enable", WORKERS, BOTH, Handling::Forward),
    rule("Page.addScriptToEvaluateOnNewDocument", FRAMES, BOTH, Handling::Forward),
    rule("Page.bringToFront", PAGE, BOTH, Handling::Forward),
    rule("Page.captureScreenshot", PAGE, BOTH, Handling::Picture),
    rule("Page.createIsolatedWorld", FRAMES, BOTH, Handling::Forward),
    rule("Page.enable", FRAMES, BOTH, Handling::Forward),
    rule("Page.getFrameTree", FRAMES, BOTH, Handling::Forward),
    rule("Page.getLayoutMetrics", FRAMES, BOTH, Handling::Forward),
    rule("Page.getNavigationHistory", PAGE, BOTH, Handling::Forward),
    rule("Page.navigate", FRAMES, BOTH, Handling::Navigate),
    rule("Page.navigateToHistoryEntry", PAGE, BOTH, Handling::History),
    rule("Page.printToPDF", PAGE, BOTH, Handling::OpenStream),
    rule("Page.reload", PAGE, BOTH, Handling::Forward),
    rule("Page.setFontFamilies", FRAMES, NODE, Handling::AnswerEmpty),
    rule("Page.setLifecycleEventsEnabled", FRAMES, BOTH, Handling::Forward),
    rule("Runtime.callFunctionOn", FRAMES, BOTH, Handling::Forward),
    rule("Runtime.enable", WORKERS, BOTH, Handling::Forward),
    rule("Runtime.evaluate", FRAMES, BOTH, Handling::Forward),
    rule("Runtime.releaseObject", FRAMES, BOTH, Handling::Forward),
    // The gate lets no target wait for a client.
    rule("Runtime.runIfWaitingForDebugger", WORKERS, BOTH, Handling::AnswerEmpty),
    rule("WebMCP.enable", FRAMES, NATIVE, Handling::AnswerEmpty),
];

/// Returns all rules.
#[must_use]
pub const fn rules() -> &'static [MethodRule] {
    RULES
}

/// Returns the rule for a method, or `None` if it is refused.
///
/// ```
/// use browser_shell_core::agent_browser::AgentBrowser;
/// use browser_shell_core::gate::{Level, classify};
/// assert!(classify(AgentBrowser::Native, Level::Page, "Page.reload").is_some());
/// assert!(classify(AgentBrowser::Native, Level::Page, "Target.createBrowserContext").is_none());
/// ```
#[must_use]
pub fn classify(client: AgentBrowser, level: Level, method: &str) -> Option<&'static MethodRule> {
    RULES.iter().find(|rule| rule.method == method && rule.levels.contains(&level) && rule.clients.contains(&client))
}

/// Returns true if a method shows that a client acts on a tab. A client sends others to each tab that it is attached to.
#[must_use]
pub fn is_act(method: &str) -> bool {
    method.starts_with("Input.")
        || matches!(
            method,
            "Accessibility.getFullAXTree"
                | "Page.bringToFront"
                | "Page.captureScreenshot"
                | "Page.navigate"
                | "Page.navigateToHistoryEntry"
                | "Page.reload"
                | "Runtime.callFunctionOn"
                | "Runtime.evaluate"
        )
}

/// Returns true if a method only sets a client up for a tab, frame or worker: it neither acts on a page nor reads one. Those that clients
/// send when one appears, which may be while no call runs.
#[must_use]
pub fn is_setup(method: &str, params: Option<&str>) -> bool {
    /// A script for new documents. Clients add an empty one to get a world of their own.
    #[derive(Deserialize)]
    struct ScriptParams {
        source: String,
    }
    match method {
        "Page.addScriptToEvaluateOnNewDocument" => {
            let script = params.and_then(|params| serde_json::from_str::<ScriptParams>(params).ok());
            script.is_some_and(|script| script.source.is_empty())
        }
        "Emulation.setEmulatedMedia"
        | "Emulation.setFocusEmulationEnabled"
        | "Emulation.setUserAgentOverride"
        | "Page.createIsolatedWorld"
        | "Page.getFrameTree"
        | "Page.setFontFamilies"
        | "Page.setLifecycleEventsEnabled"
        | "Runtime.releaseObject"
        | "Runtime.runIfWaitingForDebugger"
        | "Target.attachToTarget"
        | "Target.setAutoAttach" => true,
        _ => method.ends_with(".enable"),
    }
}
