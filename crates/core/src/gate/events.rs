//! Table of the events that a client gets, by the level of the session.
//!
//! An event without a row is withheld, so an event of a new Chromium is withheld until someone has read what it holds.
//!
//! Invariant: no event tells a client a header, a cookie or a body of a request or of a response.

use serde_json::{Map, Value};

use crate::gate::methods::Level;

/// Treatment of an event of Chromium, or of one that the gate sends itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventHandling {
    /// The client gets it as Chromium sent it.
    Forward,
    /// The client gets what [`filter_network`] keeps of it.
    Network,
    /// The gate takes the frame or worker first, of which the client then has a session.
    Attached,
    /// The gate ends the client's session first.
    Detached,
    /// The gate ends the client's session on the frame instead.
    FrameCrash,
    /// The gate sends it itself, about the session's own tabs.
    OwnOnly,
    /// The client does not get it, which is usual.
    Withhold,
}

/// Rule of the table.
#[derive(Clone, Copy, Debug)]
pub struct EventRule {
    /// Event.
    pub event: &'static str,
    /// Levels at which it has this treatment.
    pub levels: &'static [Level],
    /// Treatment.
    pub handling: EventHandling,
}

const ROOT: &[Level] = &[Level::Root];
const PAGE: &[Level] = &[Level::Page];
const FRAME: &[Level] = &[Level::Frame];
const FRAMES: &[Level] = &[Level::Page, Level::Frame];
const WORKER: &[Level] = &[Level::Worker];
const WORKERS: &[Level] = &[Level::Page, Level::Frame, Level::Worker];

const fn rule(event: &'static str, levels: &'static [Level], handling: EventHandling) -> EventRule {
    EventRule { event, levels, handling }
}

/// Rules, by domain.
const RULES: &[EventRule] = &[
    rule("Target.attachedToTarget", ROOT, EventHandling::OwnOnly),
    rule("Target.attachedToTarget", WORKERS, EventHandling::Attached),
    rule("Target.detachedFromTarget", ROOT, EventHandling::OwnOnly),
    rule("Target.detachedFromTarget", WORKERS, EventHandling::Detached),
    rule("Target.targetCreated", ROOT, EventHandling::OwnOnly),
    rule("Target.targetDestroyed", ROOT, EventHandling::OwnOnly),
    rule("Target.targetInfoChanged", ROOT, EventHandling::OwnOnly),
    rule("Input.dragIntercepted", FRAMES, EventHandling::Forward),
    rule("Inspector.detached", PAGE, EventHandling::Forward),
    rule("Inspector.targetCrashed", PAGE, EventHandling::Forward),
    rule("Inspector.targetCrashed", FRAME, EventHandling::FrameCrash),
    rule("Inspector.workerScriptLoaded", WORKER, EventHandling::Forward),
    rule("Log.entryAdded", FRAMES, EventHandling::Forward),
    rule("Network.loadingFailed", WORKERS, EventHandling::Network),
    rule("Network.loadingFinished", WORKERS, EventHandling::Network),
    rule("Network.requestServedFromCache", WORKERS, EventHandling::Network),
    rule("Network.requestWillBeSent", WORKERS, EventHandling::Network),
    rule("Network.responseReceived", WORKERS, EventHandling::Network),
    rule("Page.domContentEventFired", FRAMES, EventHandling::Forward),
    rule("Page.frameAttached", FRAMES, EventHandling::Forward),
    rule("Page.frameDetached", FRAMES, EventHandling::Forward),
    rule("Page.frameNavigated", FRAMES, EventHandling::Forward),
    rule("Page.frameRequestedNavigation", FRAMES, EventHandling::Forward),
    rule("Page.lifecycleEvent", FRAMES, EventHandling::Forward),
    rule("Page.loadEventFired", FRAMES, EventHandling::Forward),
    rule("Page.navigatedWithinDocument", FRAMES, EventHandling::Forward),
    rule("Page.windowOpen", FRAMES, EventHandling::Forward),
    rule("Runtime.consoleAPICalled", WORKERS, EventHandling::Forward),
    rule("Runtime.exceptionThrown", WORKERS, EventHandling::Forward),
    rule("Runtime.executionContextCreated", WORKERS, EventHandling::Forward),
    rule("Runtime.executionContextDestroyed", WORKERS, EventHandling::Forward),
    rule("Runtime.executionContextsCleared", WORKERS, EventHandling::Forward),
    // The gate answers dialogs and file choosers, for both kinds of agent-browser alike.
    rule("Page.fileChooserOpened", FRAMES, EventHandling::Withhold),
    rule("Page.javascriptDialogClosed", FRAMES, EventHandling::Withhold),
    rule("Page.javascriptDialogOpening", FRAMES, EventHandling::Withhold),
    // Raw headers and cookies.
    rule("Network.requestWillBeSentExtraInfo", WORKERS, EventHandling::Withhold),
    rule("Network.responseReceivedExtraInfo", WORKERS, EventHandling::Withhold),
    rule("Network.responseReceivedEarlyHints", WORKERS, EventHandling::Withhold),
    rule("Network.webSocketHandshakeResponseReceived", WORKERS, EventHandling::Withhold),
    rule("Network.webSocketWillSendHandshakeRequest", WORKERS, EventHandling::Withhold),
    // Bodies.
    rule("Network.dataReceived", WORKERS, EventHandling::Withhold),
    rule("Network.eventSourceMessageReceived", WORKERS, EventHandling::Withhold),
    rule("Network.webSocketFrameReceived", WORKERS, EventHandling::Withhold),
    rule("Network.webSocketFrameSent", WORKERS, EventHandling::Withhold),
    // What no agent-browser reads, of the domains that it enables.
    rule("Accessibility.loadComplete", FRAMES, EventHandling::Withhold),
    rule("Accessibility.nodesUpdated", FRAMES, EventHandling::Withhold),
    rule("DOM.adRelatedStateUpdated", FRAMES, EventHandling::Withhold),
    rule("DOM.adoptedStyleSheetsModified", FRAMES, EventHandling::Withhold),
    rule("DOM.affectedByStartingStylesFlagUpdated", FRAMES, EventHandling::Withhold),
    rule("DOM.attributeModified", FRAMES, EventHandling::Withhold),
    rule("DOM.attributeRemoved", FRAMES, EventHandling::Withhold),
    rule("DOM.characterDataModified", FRAMES, EventHandling::Withhold),
    rule("DOM.childNodeCountUpdated", FRAMES, EventHandling::Withhold),
    rule("DOM.childNodeInserted", FRAMES, EventHandling::Withhold),
    rule("DOM.childNodeRemoved", FRAMES, EventHandling::Withhold),
    rule("DOM.distributedNodesUpdated", FRAMES, EventHandling::Withhold),
    rule("DOM.documentUpdated", FRAMES, EventHandling::Withhold),
    rule("DOM.inlineStyleInvalidated", FRAMES, EventHandling::Withhold),
    rule("DOM.pseudoElementAdded", FRAMES, EventHandling::Withhold),
    rule("DOM.pseudoElementRemoved", FRAMES, EventHandling::Withhold),
    rule("DOM.scrollableFlagUpdated", FRAMES, EventHandling::Withhold),
    rule("DOM.setChildNodes", FRAMES, EventHandling::Withhold),
    rule("DOM.shadowRootPopped", FRAMES, EventHandling::Withhold),
    rule("DOM.shadowRootPushed", FRAMES, EventHandling::Withhold),
    rule("DOM.topLayerElementsUpdated", FRAMES, EventHandling::Withhold),
    rule("Network.policyUpdated", WORKERS, EventHandling::Withhold),
    rule("Network.resourceChangedPriority", WORKERS, EventHandling::Withhold),
    rule("Network.webSocketClosed", WORKERS, EventHandling::Withhold),
    rule("Network.webSocketCreated", WORKERS, EventHandling::Withhold),
    rule("Network.webSocketFrameError", WORKERS, EventHandling::Withhold),
    rule("Page.backForwardCacheNotUsed", FRAMES, EventHandling::Withhold),
    rule("Page.documentOpened", FRAMES, EventHandling::Withhold),
    rule("Page.downloadProgress", FRAMES, EventHandling::Withhold),
    rule("Page.downloadWillBegin", FRAMES, EventHandling::Withhold),
    rule("Page.frameClearedScheduledNavigation", FRAMES, EventHandling::Withhold),
    rule("Page.frameResized", FRAMES, EventHandling::Withhold),
    rule("Page.frameScheduledNavigation", FRAMES, EventHandling::Withhold),
    rule("Page.frameStartedLoading", FRAMES, EventHandling::Withhold),
    rule("Page.frameStartedNavigating", FRAMES, EventHandling::Withhold),
    rule("Page.frameStoppedLoading", FRAMES, EventHandling::Withhold),
    rule("Page.frameSubtreeWillBeDetached", FRAMES, EventHandling::Withhold),
    rule("Runtime.exceptionRevoked", WORKERS, EventHandling::Withhold),
    rule("Target.targetInfoChanged", WORKERS, EventHandling::Withhold),
];

/// Members of Chromium's events about requests that a client gets: those that the protocol requires, and those that agent-browser reads.
const NETWORK_MEMBERS: &[&str] = &[
    "blockedReason",
    "canceled",
    "charset",
    "connectionId",
    "connectionReused",
    "documentURL",
    "encodedDataLength",
    "errorText",
    "frameId",
    "fromDiskCache",
    "fromServiceWorker",
    "hasUserGesture",
    "initialPriority",
    "initiator",
    "loaderId",
    "method",
    "mimeType",
    "mixedContentType",
    "protocol",
    "redirectResponse",
    "referrerPolicy",
    "remoteIPAddress",
    "remotePort",
    "request",
    "requestId",
    "response",
    "responseTime",
    "securityState",
    "status",
    "statusText",
    "timestamp",
    "type",
    "url",
    "urlFragment",
    "wallTime",
];

/// Returns all rules about events.
#[must_use]
pub const fn event_rules() -> &'static [EventRule] {
    RULES
}

/// Returns the treatment of an event, or `None` if it is unknown, and therefore withheld.
///
/// ```
/// use browser_shell_core::gate::{EventHandling, Level, classify_event};
/// assert_eq!(classify_event(Level::Page, "Page.loadEventFired"), Some(EventHandling::Forward));
/// assert_eq!(classify_event(Level::Page, "Storage.cacheStorageListUpdated"), None);
/// ```
#[must_use]
pub fn classify_event(level: Level, event: &str) -> Option<EventHandling> {
    let rule = RULES.iter().find(|rule| rule.event == event && rule.levels.contains(&level));
    rule.map(|rule| rule.handling)
}

/// Returns the parameters of an event about a request, as a client gets them: no headers, no cookies, no bodies, and no member that
/// nobody has read.
///
/// Headers become an empty object, because clients read it. Clients wait for an event with the raw headers if one is
/// announced, so none is.
#[must_use]
pub fn filter_network(params: Value) -> Value {
    let Value::Object(members) = params else { return params };
    let kept = members.into_iter().filter_map(|(name, value)| {
        let value = match name.as_str() {
            "headers" | "requestHeaders" => Value::Object(Map::new()),
            "hasExtraInfo" | "redirectHasExtraInfo" => Value::Bool(false),
            // None of them is a list.
            name if NETWORK_MEMBERS.contains(&name) && !value.is_array() => filter_network(value),
            _ => return None,
        };
        Some((name, value))
    });
    Value::Object(kept.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn event_has_one_treatment_at_each_level() {
        for (number, rule) in RULES.iter().enumerate() {
            for other in RULES.iter().skip(number + 1).filter(|other| other.event == rule.event) {
                let is_shared = rule.levels.iter().any(|level| other.levels.contains(level));
                assert!(!is_shared, "{} has two treatments", rule.event);
            }
        }
    }

    #[test]
    fn events_about_requests_are_never_sent_as_they_are() {
        for rule in RULES {
            let is_filtered = matches!(rule.handling, EventHandling::Network | EventHandling::Withhold);
            assert!(is_filtered || !rule.event.starts_with("Network."), "{}", rule.event);
            assert!(rule.event.starts_with("Network.") || rule.handling != EventHandling::Network, "{}", rule.event);
        }
    }

    #[test]
    fn filter_keeps_no_header_cookie_or_body() {
        let secret = json!({ "Cookie": "secret", "Authorization": "secret" });
        let response = json!({
            "url": "https://a.example/", "status": 302, "statusText": "Found", "headers": secret, "headersText": "secret",
            "requestHeaders": secret, "requestHeadersText": "secret", "mimeType": "text/html", "timing": { "new": "secret" },
            "cookies": [secret], "securityDetails": secret,
        });
        let params = json!({
            "requestId": "1", "type": "Document", "timestamp": 1.5, "hasExtraInfo": true, "redirectHasExtraInfo": true,
            "request": {
                "url": "https://a.example/", "method": "POST", "headers": secret, "postData": "secret", "hasPostData": true,
                "postDataEntries": [{ "bytes": "secret" }],
            },
            "initiator": { "type": "script", "stack": { "description": "secret" } },
            "response": response, "redirectResponse": response,
            "associatedCookies": [secret], "blockedCookies": [secret], "madeUp": { "headers": secret },
        });
        let kept = json!({
            "url": "https://a.example/", "status": 302, "statusText": "Found", "headers": {}, "requestHeaders": {},
            "mimeType": "text/html",
        });
        let expected = json!({
            "requestId": "1", "type": "Document", "timestamp": 1.5, "hasExtraInfo": false, "redirectHasExtraInfo": false,
            "request": { "url": "https://a.example/", "method": "POST", "headers": {} },
            "initiator": { "type": "script" },
            "response": kept, "redirectResponse": kept,
        });
        assert!(params.to_string().contains("secret"), "control");
        assert_eq!(filter_network(params), expected);
        // A member of another type than the protocol's has nowhere to hide one.
        let lists = json!({ "request": [secret], "response": [[secret]] });
        assert_eq!(filter_network(lists), json!({}));
    }
}
