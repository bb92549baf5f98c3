//! Domain `Target`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{Nothing, commands};
use super::ids::{BrowserContextId, DebugSessionId, FrameId, TargetId};

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
pub(crate) struct GetBrowserContexts {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BrowserContexts {
    pub(crate) browser_context_ids: Vec<BrowserContextId>,
    /// The default context. An older Chromium does not say which one it is.
    pub(crate) default_browser_context_id: Option<BrowserContextId>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateBrowserContext {
    pub(crate) dispose_on_detach: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy_server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy_bypass_list: Option<&'static str>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreatedBrowserContext {
    pub(crate) browser_context_id: BrowserContextId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DisposeBrowserContext<'a> {
    pub(crate) browser_context_id: &'a BrowserContextId,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SetDiscoverTargets {
    pub(crate) discover: bool,
    pub(crate) filter: &'static [TargetFilter],
}

/// Kind of targets.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TargetFilter {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetAutoAttach {
    pub(crate) auto_attach: bool,
    pub(crate) wait_for_debugger_on_start: bool,
    pub(crate) flatten: bool,
    pub(crate) filter: &'static [TargetFilter],
}

impl SetAutoAttach {
    /// Attaches to new targets of these kinds, which wait until they are let go.
    pub(crate) fn waiting(filter: &'static [TargetFilter]) -> Self {
        Self { auto_attach: true, wait_for_debugger_on_start: true, flatten: true, filter }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttachToTarget<'a> {
    pub(crate) target_id: &'a TargetId,
    pub(crate) flatten: bool,
}

impl<'a> AttachToTarget<'a> {
    /// Attaches to a target over the connection that carries all sessions.
    pub(crate) fn new(target_id: &'a TargetId) -> Self {
        Self { target_id, flatten: true }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttachedSession {
    pub(crate) session_id: DebugSessionId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DetachFromTarget<'a> {
    pub(crate) session_id: &'a DebugSessionId,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateTarget<'a> {
    pub(crate) url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) browser_context_id: Option<&'a BrowserContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new_window: Option<bool>,
    /// An older Chromium does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hidden: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) background: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreatedTarget {
    pub(crate) target_id: TargetId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CloseTarget<'a> {
    pub(crate) target_id: &'a TargetId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ActivateTarget<'a> {
    pub(crate) target_id: &'a TargetId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetTargetInfo<'a> {
    pub(crate) target_id: &'a TargetId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FoundTarget {
    pub(crate) target_info: TargetInfo,
}

/// Target, as Chromium reports it, and as clients see it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TargetInfo {
    pub(crate) target_id: TargetId,
    #[serde(rename = "type")]
    pub(crate) kind: TargetKind,
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) attached: bool,
    #[serde(default)]
    pub(crate) can_access_opener: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) browser_context_id: Option<BrowserContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opener_id: Option<TargetId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_frame_id: Option<FrameId>,
}

/// Kind of a target. The protocol does not list them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum TargetKind {
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
pub(crate) struct AttachedToTarget {
    pub(crate) session_id: DebugSessionId,
    pub(crate) target_info: TargetInfo,
}

/// `Target.detachedFromTarget`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DetachedFromTarget {
    pub(crate) session_id: DebugSessionId,
}

/// `Target.targetDestroyed` and `Target.targetCrashed`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndedTarget {
    pub(crate) target_id: TargetId,
}

/// `Target.targetInfoChanged`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TargetInfoChanged {
    pub(crate) target_info: TargetInfo,
}
