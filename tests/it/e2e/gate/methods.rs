//! The table of methods against the protocol of the Chromium that is installed.

use std::collections::{BTreeMap, BTreeSet};

use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::gate::{Level, classify, rules};
use serde_json::{Value, json};

use super::browser::GateBrowser;

pub(super) const LEVELS: &[(char, Level)] =
    &[('r', Level::Root), ('p', Level::Page), ('f', Level::Frame), ('w', Level::Worker)];
const CLIENTS: &[AgentBrowser] = &AgentBrowser::ALL;

/// Methods that are allowed, with the initials of the levels: root, page, frame, worker. Everything else is refused,
/// also a method that a new Chromium brings.
const ALLOWED: &[(&str, &str)] = &[
    ("Accessibility.enable", "pf"),
    ("Accessibility.getFullAXTree", "pf"),
    ("Browser.getVersion", "r"),
    ("Browser.setDownloadBehavior", "r"),
    ("DOM.describeNode", "pf"),
    ("DOM.enable", "pf"),
    ("DOM.getBoxModel", "pf"),
    ("DOM.getContentQuads", "pf"),
    ("DOM.getDocument", "pf"),
    ("DOM.getFrameOwner", "pf"),
    ("DOM.querySelectorAll", "pf"),
    ("DOM.resolveNode", "pf"),
    ("DOM.scrollIntoViewIfNeeded", "pf"),
    ("Emulation.setEmulatedMedia", "pf"),
    ("Emulation.setFocusEmulationEnabled", "pf"),
    ("Emulation.setUserAgentOverride", "w"),
    ("IO.close", "p"),
    ("IO.read", "p"),
    ("Input.dispatchDragEvent", "pf"),
    ("Input.dispatchKeyEvent", "pf"),
    ("Input.dispatchMouseEvent", "pf"),
    ("Input.insertText", "pf"),
    ("Input.setInterceptDrags", "pf"),
    ("Inspector.enable", "p"),
    ("Log.enable", "pf"),
    ("Network.clearBrowserCookies", "p"),
    ("Network.enable", "pfw"),
    ("Network.getAllCookies", "p"),
    ("Network.getCookies", "p"),
    ("Network.setCookie", "p"),
    ("Network.setCookies", "p"),
    ("Page.addScriptToEvaluateOnNewDocument", "pf"),
    ("Page.bringToFront", "p"),
    ("Page.captureScreenshot", "p"),
    ("Page.createIsolatedWorld", "pf"),
    ("Page.enable", "pf"),
    ("Page.getFrameTree", "pf"),
    ("Page.getLayoutMetrics", "pf"),
    ("Page.getNavigationHistory", "p"),
    ("Page.navigate", "pf"),
    ("Page.navigateToHistoryEntry", "p"),
    ("Page.printToPDF", "p"),
    ("Page.reload", "p"),
    ("Page.setFontFamilies", "pf"),
    ("Page.setLifecycleEventsEnabled", "pf"),
    ("Runtime.callFunctionOn", "pf"),
    ("Runtime.enable", "pfw"),
    ("Runtime.evaluate", "pf"),
    ("Runtime.releaseObject", "pf"),
    ("Runtime.runIfWaitingForDebugger", "pfw"),
    ("Storage.clearCookies", "r"),
    ("Storage.getCookies", "r"),
    ("Storage.setCookies", "r"),
    ("Target.activateTarget", "r"),
    ("Target.attachToTarget", "r"),
    ("Target.closeTarget", "r"),
    ("Target.createTarget", "r"),
    ("Target.detachFromTarget", "rpf"),
    ("Target.getTargetInfo", "r"),
    ("Target.getTargets", "r"),
    ("Target.setAutoAttach", "rpfw"),
    ("Target.setDiscoverTargets", "r"),
    ("WebMCP.enable", "pf"),
];

/// Methods of [`ALLOWED`] that only one kind of agent-browser uses.
const OF_ONE_KIND: &[(&str, AgentBrowser)] = &[
    ("DOM.getDocument", AgentBrowser::Native),
    ("DOM.querySelectorAll", AgentBrowser::Native),
    ("Input.dispatchDragEvent", AgentBrowser::Node),
    ("Input.setInterceptDrags", AgentBrowser::Node),
    ("Network.clearBrowserCookies", AgentBrowser::Native),
    ("Network.getAllCookies", AgentBrowser::Native),
    ("Network.getCookies", AgentBrowser::Native),
    ("Network.setCookie", AgentBrowser::Native),
    ("Network.setCookies", AgentBrowser::Native),
    ("Page.setFontFamilies", AgentBrowser::Node),
    ("Storage.clearCookies", AgentBrowser::Node),
    ("Storage.getCookies", AgentBrowser::Node),
    ("Storage.setCookies", AgentBrowser::Node),
    ("WebMCP.enable", AgentBrowser::Native),
];

/// Returns the name of every method (`commands`) or event (`events`) that a Chromium has, by itself and in no documentation.
pub(super) fn protocol(browser: &GateBrowser, kind: &str) -> BTreeSet<String> {
    let protocol = super::super::chromium::debug_request(browser.port(), "GET", "/json/protocol");
    let protocol: Value = protocol.expect("Chromium must describe its protocol");
    let domains = protocol["domains"].as_array().unwrap().iter();
    domains
        .flat_map(|domain| {
            let name = domain["domain"].as_str().unwrap();
            let members = domain[kind].as_array().into_iter().flatten();
            members.map(move |member| format!("{name}.{}", member["name"].as_str().unwrap()))
        })
        .collect()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn table_allows_listed_methods_of_chromium_only() {
    let browser = GateBrowser::start();
    let protocol = protocol(&browser, "commands");
    assert!(protocol.len() > 500 && protocol.contains("Page.navigate"), "control: {} methods", protocol.len());
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let mut wrong = Vec::new();
    let all = protocol.iter().map(String::as_str).chain(ALLOWED.iter().map(|(method, _)| *method));
    for method in all.collect::<BTreeSet<_>>() {
        for (initial, level) in LEVELS {
            for client in CLIENTS {
                let is_listed = allowed.get(method).is_some_and(|levels| levels.contains(*initial));
                let is_foreign = OF_ONE_KIND.iter().any(|(own, kind)| *own == method && kind != client);
                let expected = is_listed && !is_foreign;
                if classify(*client, *level, method).is_some() != expected {
                    wrong.push(format!("{method} at {level:?} for {client:?} should be allowed: {expected}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // A rule for a method that does not exist would hide a mistake in its name.
    let unknown: Vec<_> = rules().iter().map(|rule| rule.method).filter(|method| !protocol.contains(*method)).collect();
    let listed: Vec<_> =
        rules().iter().filter(|rule| !allowed.contains_key(rule.method)).map(|rule| rule.method).collect();
    assert_eq!(json!([unknown, listed]), json!([[], []]));
}

#[test]
fn table_reads_method_names_exactly() {
    for method in [
        "page.navigate",
        "Page.Navigate",
        " Page.navigate",
        "Page.navigate ",
        "Page.navigate\0",
        "Page",
        "",
        "navigate",
    ] {
        for (_, level) in LEVELS {
            assert!(classify(AgentBrowser::Native, *level, method).is_none(), "`{method}`");
        }
    }
    assert!(classify(AgentBrowser::Native, Level::Page, "Page.navigate").is_some(), "control");
}
