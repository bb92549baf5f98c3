//! Domains `Browser` and `SystemInfo`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{Nothing, commands};
use super::ids::{BrowserContextId, TargetId, WindowId};

commands! {
    "Browser.getVersion" => GetVersion, Version;
    "Browser.close" => Close, Nothing;
    "Browser.setDownloadBehavior" => SetDownloadBehavior<'_>, Nothing;
    "Browser.grantPermissions" => GrantPermissions<'_>, Nothing;
    "Browser.getWindowForTarget" => GetWindowForTarget<'_>, WindowForTarget;
    "Browser.setWindowBounds" => SetWindowBounds, Nothing;
    "SystemInfo.getInfo" => GetInfo, Info;
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetVersion {}

/// Version of Chromium. Clients get it as it is, so all of it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Version {
    pub(crate) protocol_version: String,
    pub(crate) product: String,
    pub(crate) revision: String,
    pub(crate) user_agent: String,
    pub(crate) js_version: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Close {}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetDownloadBehavior<'a> {
    pub(crate) behavior: DownloadBehavior,
    pub(crate) events_enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) browser_context_id: Option<&'a BrowserContextId>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DownloadBehavior {
    Deny,
}

/// Grants permissions, and rejects all others.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrantPermissions<'a> {
    pub(crate) permissions: &'a [&'a str],
    pub(crate) browser_context_id: &'a BrowserContextId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetWindowForTarget<'a> {
    pub(crate) target_id: &'a TargetId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WindowForTarget {
    pub(crate) window_id: WindowId,
    pub(crate) bounds: Bounds,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bounds {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window_state: Option<WindowState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum WindowState {
    Normal,
    Minimized,
    Maximized,
    Fullscreen,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetWindowBounds {
    pub(crate) window_id: WindowId,
    pub(crate) bounds: Bounds,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetInfo {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Info {
    pub(crate) command_line: String,
}
