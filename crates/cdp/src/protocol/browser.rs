//! Domains `Browser` and `SystemInfo`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{Nothing, commands};
use crate::protocol::command::{BrowserContextId, TargetId, WindowId};

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
pub struct GetVersion {}

/// Version of Chromium. Clients get it as it is, so all of it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    pub protocol_version: String,
    pub product: String,
    pub revision: String,
    pub user_agent: String,
    pub js_version: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Close {}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetDownloadBehavior<'a> {
    pub behavior: DownloadBehavior,
    pub events_enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_context_id: Option<&'a BrowserContextId>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DownloadBehavior {
    Deny,
}

/// Grants permissions, and rejects all others.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantPermissions<'a> {
    pub permissions: &'a [&'a str],
    pub browser_context_id: &'a BrowserContextId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetWindowForTarget<'a> {
    pub target_id: &'a TargetId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowForTarget {
    pub window_id: WindowId,
    pub bounds: Bounds,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bounds {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_state: Option<WindowState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WindowState {
    Normal,
    Minimized,
    Maximized,
    Fullscreen,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetWindowBounds {
    pub window_id: WindowId,
    pub bounds: Bounds,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GetInfo {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    pub command_line: String,
}
