//! Domain `Target`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{Nothing, commands};
use crate::protocol::command::{BrowserContextId, DebugSessionId, FrameId, TargetId};

commands! {
    "Target.getBrowserContexts" => GetBrowserContexts, BrowserContexts;
    "Target.createBrowserContext" => CreateBrowserContext, CreatedBrowserContext;
    "Target.disposeBrowserContext" => DisposeBrowserContext<'_>, Nothing;
    "Target.setDiscoverTargets" => SetDiscoverTargets, Nothing;
    "Target.setAutoAttach" => SetAutoAttach, Nothing;
    "Target.attachToTarget" => AttachToTarget<'_>, AttachedSession;
    "Target.detachFromTarget" => DetachFromTarget<'_>, Nothing;
    "Target.createTarget" => CreateTarget<'_>, CreatedTarget;
    "Target.closeTarget" => CloseTarget<'_>, Nothing;
    "Target.activateTarget" => ActivateTarget<'_>, Nothing;
    "Target.getTargetInfo" => GetTargetInfo<'_>, FoundTarget;
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GetBrowserContexts {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserContexts {
    pub browser_context_ids: Vec<BrowserContextId>,
    /// The default context. An older Chromium does not say which one it is.
    pub default_browser_context_id: Option<BrowserContextId>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateBrowserContext {
    pub dispose_on_detach: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_bypass_list: Option<&'static str>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedBrowserContext {
    pub browser_context_id: BrowserContextId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DisposeBrowserContext<'a> {
    pub browser_context_id: &'a BrowserContextId,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SetDiscoverTargets {
    pub discover: bool,
    pub filter: &'static [TargetFilter],
}

/// Kind of targets.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TargetFilter {
    #[serde(rename = "type")]
    pub kind: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetAutoAttach {
    pub auto_attach: bool,
    pub wait_for_debugger_on_start: bool,
    pub flatten: bool,
    pub filter: &'static [TargetFilter],
}

impl SetAutoAttach {
    /// Attaches to new targets of these kinds, which wait until they are let go.
    #[must_use]
    pub fn waiting(filter: &'static [TargetFilter]) -> Self {
        Self { auto_attach: true, wait_for_debugger_on_start: true, flatten: true, filter }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachToTarget<'a> {
    pub target_id: &'a TargetId,
    pub flatten: bool,
}

impl<'a> AttachToTarget<'a> {
    /// Attaches to a target over the connection that carries all sessions.
    #[must_use]
    pub fn new(target_id: &'a TargetId) -> Self {
        Self { target_id, flatten: true }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachedSession {
    pub session_id: DebugSessionId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DetachFromTarget<'a> {
    pub session_id: &'a DebugSessionId,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateTarget<'a> {
    pub url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_context_id: Option<&'a BrowserContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_window: Option<bool>,
    /// An older Chromium does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedTarget {
    pub target_id: TargetId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloseTarget<'a> {
    pub target_id: &'a TargetId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivateTarget<'a> {
    pub target_id: &'a TargetId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetTargetInfo<'a> {
    pub target_id: &'a TargetId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundTarget {
    pub target_info: TargetInfo,
}

/// Target, as Chromium reports it, and as clients see it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetInfo {
    pub target_id: TargetId,
    #[serde(rename = "type")]
    pub kind: TargetKind,
    pub title: String,
    pub url: String,
    pub attached: bool,
    #[serde(default)]
    pub can_access_opener: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_context_id: Option<BrowserContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opener_id: Option<TargetId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_frame_id: Option<FrameId>,
}

/// Kind of a target. The protocol does not list them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TargetKind {
    Browser,
    Page,
    Iframe,
    Worker,
    #[serde(untagged)]
    Unknown(String),
}

/// `Target.attachedToTarget`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachedToTarget {
    pub session_id: DebugSessionId,
    pub target_info: TargetInfo,
}

/// `Target.detachedFromTarget`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DetachedFromTarget {
    pub session_id: DebugSessionId,
}

/// `Target.targetDestroyed` and `Target.targetCrashed`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndedTarget {
    pub target_id: TargetId,
}

/// `Target.targetInfoChanged`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetInfoChanged {
    pub target_info: TargetInfo,
}
