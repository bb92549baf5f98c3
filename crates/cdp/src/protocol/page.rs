//! Domain `Page`, and `Inspector`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{Nothing, commands};
use crate::protocol::command::{ExecutionContextId, FrameId, LoaderId};

commands! {
    "Page.enable" => EnablePage, Nothing;
    "Page.navigate" => Navigate<'_>, Navigated;
    "Page.reload" => Reload, Nothing;
    "Page.stopLoading" => StopLoading, Nothing;
    "Page.getFrameTree" => GetFrameTree, FoundFrames;
    "Page.addScriptToEvaluateOnNewDocument" => AddScriptToEvaluateOnNewDocument, Nothing;
    "Page.setInterceptFileChooserDialog" => SetInterceptFileChooserDialog, Nothing;
    "Page.createIsolatedWorld" => CreateIsolatedWorld<'_>, IsolatedWorld;
    "Page.handleJavaScriptDialog" => HandleJavaScriptDialog<'_>, Nothing;
    "Page.getNavigationHistory" => GetNavigationHistory, NavigationHistory;
    "Page.navigateToHistoryEntry" => NavigateToHistoryEntry, Nothing;
    "Page.captureScreenshot" => CaptureScreenshot, Data;
    "Page.getLayoutMetrics" => GetLayoutMetrics, LayoutMetrics;
    "Page.printToPDF" => PrintToPdf, Data;
    "Page.startScreencast" => StartScreencast, Nothing;
    "Page.stopScreencast" => StopScreencast, Nothing;
    "Page.screencastFrameAck" => ScreencastFrameAck, Nothing;
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct EnablePage {}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Navigate<'a> {
    pub url: &'a str,
    /// The outermost one without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<&'a FrameId>,
}

impl<'a> Navigate<'a> {
    /// Opens a URL in the outermost frame.
    #[must_use]
    pub fn to(url: &'a str) -> Self {
        Self { url, frame_id: None }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Navigated {
    pub error_text: Option<String>,
    #[serde(default)]
    pub is_download: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Reload {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct StopLoading {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GetFrameTree {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundFrames {
    pub frame_tree: FrameTree,
}

/// Frame with the frames in it that have the same process.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameTree {
    pub frame: Frame,
    #[serde(default)]
    pub child_frames: Vec<FrameTree>,
}

impl FrameTree {
    /// Returns the frames, each before those in it.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || {
            let tree = waiting.pop()?;
            waiting.extend(tree.child_frames.iter().rev());
            Some(&tree.frame)
        })
    }
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    pub id: FrameId,
    pub parent_id: Option<FrameId>,
    pub loader_id: LoaderId,
    pub url: String,
    pub mime_type: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddScriptToEvaluateOnNewDocument {
    pub source: String,
    pub run_immediately: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SetInterceptFileChooserDialog {
    pub enabled: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateIsolatedWorld<'a> {
    pub frame_id: &'a FrameId,
    pub world_name: &'static str,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IsolatedWorld {
    pub execution_context_id: ExecutionContextId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandleJavaScriptDialog<'a> {
    pub accept: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_text: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GetNavigationHistory {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NavigationHistory {
    /// Position of the entry that the tab shows.
    pub current_index: usize,
    pub entries: Vec<NavigationEntry>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct NavigationEntry {
    pub id: i64,
    pub url: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NavigateToHistoryEntry {
    pub entry_id: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaptureScreenshot {
    pub format: PictureFormat,
    pub optimize_for_speed: bool,
    pub capture_beyond_viewport: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<Viewport>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PictureFormat {
    Png,
    Jpeg,
}

/// Place in the document of a tab, in CSS pixels.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Viewport {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub scale: f64,
}

/// Data in base64.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Data {
    pub data: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GetLayoutMetrics {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LayoutMetrics {
    pub css_content_size: Size,
    pub css_visual_viewport: VisualViewport,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VisualViewport {
    pub page_x: f64,
    pub page_y: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrintToPdf {
    pub print_background: bool,
    pub transfer_mode: TransferMode,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum TransferMode {
    ReturnAsBase64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartScreencast {
    pub format: PictureFormat,
    pub quality: u8,
    pub max_width: u16,
    pub max_height: u16,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct StopScreencast {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ScreencastFrameAck {
    /// Number of the screencast.
    #[serde(rename = "sessionId")]
    pub number: u64,
}

/// `Page.frameNavigated`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FrameNavigated {
    pub frame: Frame,
    #[serde(rename = "type")]
    pub kind: NavigationType,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum NavigationType {
    Navigation,
    BackForwardCacheRestore,
    #[serde(untagged)]
    Unknown(String),
}

/// Event about a frame.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameEvent {
    pub frame_id: FrameId,
}

/// Event about a frame that leaves a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameDetached {
    pub frame_id: FrameId,
    pub reason: DetachReason,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DetachReason {
    /// It is gone.
    Remove,
    /// Another process shows it from now on.
    Swap,
    #[serde(untagged)]
    Unknown(String),
}

/// Event about a frame whose document asks for another one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NavigationAsked {
    pub frame_id: FrameId,
    pub url: String,
}

/// `Page.windowOpen`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WindowOpen {
    pub url: String,
}

/// `Page.javascriptDialogOpening`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JavascriptDialogOpening {
    pub url: String,
    pub message: String,
    #[serde(rename = "type")]
    pub kind: DialogType,
    #[serde(default)]
    pub default_prompt: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DialogType {
    Alert,
    Confirm,
    Prompt,
    Beforeunload,
    #[serde(untagged)]
    Unknown(String),
}

impl DialogType {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Alert => "alert",
            Self::Confirm => "confirm",
            Self::Prompt => "prompt",
            Self::Beforeunload => "beforeunload",
            Self::Unknown(name) => name,
        }
    }
}

/// `Page.fileChooserOpened`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FileChooserOpened {
    pub mode: FileChooserMode,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChooserMode {
    SelectSingle,
    SelectMultiple,
    #[serde(untagged)]
    Unknown(String),
}

impl FileChooserMode {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::SelectSingle => "selectSingle",
            Self::SelectMultiple => "selectMultiple",
            Self::Unknown(name) => name,
        }
    }
}

/// `Page.downloadWillBegin`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DownloadWillBegin {
    pub suggested_filename: String,
}

/// Event with a picture for viewers.
pub(crate) const PICTURE: &str = "Page.screencastFrame";

/// `Page.screencastFrame`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ScreencastFrame {
    /// JPEG in base64.
    pub data: String,
    pub metadata: ScreencastFrameMetadata,
    /// Number of the screencast.
    #[serde(rename = "sessionId")]
    pub number: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScreencastFrameMetadata {
    pub device_width: f64,
    pub device_height: f64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn frames_of_a_tree_begin_with_the_page() {
        let frame = |id: &str| json!({ "id": id, "loaderId": "1", "url": "", "mimeType": "" });
        let child = |id| json!({ "frame": frame(id), "childFrames": [{ "frame": frame("inner") }] });
        let tree = json!({ "frame": frame("page"), "childFrames": [child("a"), child("b")] });
        let tree: FrameTree = serde_json::from_value(tree).expect("a tree");
        let ids: Vec<_> = tree.frames().map(|frame| frame.id.as_str()).collect();
        assert_eq!(ids, ["page", "a", "inner", "b", "inner"]);
    }
}
