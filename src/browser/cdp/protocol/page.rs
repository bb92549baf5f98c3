//! Domain `Page`, and `Inspector`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{Nothing, commands};
use super::ids::{ExecutionContextId, FrameId, LoaderId};

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
pub(crate) struct EnablePage {}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Navigate<'a> {
    pub(crate) url: &'a str,
    /// The outermost one without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) frame_id: Option<&'a FrameId>,
}

impl<'a> Navigate<'a> {
    /// Opens a URL in the outermost frame.
    pub(crate) fn to(url: &'a str) -> Self {
        Self { url, frame_id: None }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Navigated {
    pub(crate) error_text: Option<String>,
    #[serde(default)]
    pub(crate) is_download: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Reload {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StopLoading {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetFrameTree {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FoundFrames {
    pub(crate) frame_tree: FrameTree,
}

/// Frame with the frames in it that have the same process.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FrameTree {
    pub(crate) frame: Frame,
    #[serde(default)]
    pub(crate) child_frames: Vec<FrameTree>,
}

impl FrameTree {
    /// Returns the frames, each before those in it.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &Frame> {
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
pub(crate) struct Frame {
    pub(crate) id: FrameId,
    pub(crate) parent_id: Option<FrameId>,
    pub(crate) loader_id: LoaderId,
    pub(crate) url: String,
    pub(crate) mime_type: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AddScriptToEvaluateOnNewDocument {
    pub(crate) source: String,
    pub(crate) run_immediately: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SetInterceptFileChooserDialog {
    pub(crate) enabled: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateIsolatedWorld<'a> {
    pub(crate) frame_id: &'a FrameId,
    pub(crate) world_name: &'static str,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IsolatedWorld {
    pub(crate) execution_context_id: ExecutionContextId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HandleJavaScriptDialog<'a> {
    pub(crate) accept: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_text: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetNavigationHistory {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NavigationHistory {
    /// Position of the entry that the tab shows.
    pub(crate) current_index: usize,
    pub(crate) entries: Vec<NavigationEntry>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NavigationEntry {
    pub(crate) id: i64,
    pub(crate) url: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NavigateToHistoryEntry {
    pub(crate) entry_id: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CaptureScreenshot {
    pub(crate) format: PictureFormat,
    pub(crate) optimize_for_speed: bool,
    pub(crate) capture_beyond_viewport: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clip: Option<Viewport>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PictureFormat {
    Png,
    Jpeg,
}

/// Place in the document of a tab, in CSS pixels.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Viewport {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) scale: f64,
}

/// Data in base64.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Data {
    pub(crate) data: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetLayoutMetrics {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LayoutMetrics {
    pub(crate) css_content_size: Size,
    pub(crate) css_visual_viewport: VisualViewport,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VisualViewport {
    pub(crate) page_x: f64,
    pub(crate) page_y: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrintToPdf {
    pub(crate) print_background: bool,
    pub(crate) transfer_mode: TransferMode,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) enum TransferMode {
    ReturnAsBase64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StartScreencast {
    pub(crate) format: PictureFormat,
    pub(crate) quality: u8,
    pub(crate) max_width: u16,
    pub(crate) max_height: u16,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StopScreencast {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScreencastFrameAck {
    /// Number of the screencast.
    #[serde(rename = "sessionId")]
    pub(crate) number: u64,
}

/// `Page.frameNavigated`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FrameNavigated {
    pub(crate) frame: Frame,
    #[serde(rename = "type")]
    pub(crate) kind: NavigationType,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum NavigationType {
    Navigation,
    BackForwardCacheRestore,
    #[serde(untagged)]
    Unknown(String),
}

/// Event about a frame.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FrameEvent {
    pub(crate) frame_id: FrameId,
}

/// Event about a frame that leaves a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FrameDetached {
    pub(crate) frame_id: FrameId,
    pub(crate) reason: DetachReason,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DetachReason {
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
pub(crate) struct NavigationAsked {
    pub(crate) frame_id: FrameId,
    pub(crate) url: String,
}

/// `Page.windowOpen`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WindowOpen {
    pub(crate) url: String,
}

/// `Page.javascriptDialogOpening`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JavascriptDialogOpening {
    pub(crate) url: String,
    pub(crate) message: String,
    #[serde(rename = "type")]
    pub(crate) kind: DialogType,
    #[serde(default)]
    pub(crate) default_prompt: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DialogType {
    Alert,
    Confirm,
    Prompt,
    Beforeunload,
    #[serde(untagged)]
    Unknown(String),
}

impl DialogType {
    /// Returns the name.
    pub(crate) fn as_str(&self) -> &str {
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
pub(crate) struct FileChooserOpened {
    pub(crate) mode: FileChooserMode,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum FileChooserMode {
    SelectSingle,
    SelectMultiple,
    #[serde(untagged)]
    Unknown(String),
}

impl FileChooserMode {
    /// Returns the name.
    pub(crate) fn as_str(&self) -> &str {
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
pub(crate) struct DownloadWillBegin {
    pub(crate) suggested_filename: String,
}

/// `Page.screencastFrame`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ScreencastFrame {
    /// JPEG in base64.
    pub(crate) data: String,
    pub(crate) metadata: ScreencastFrameMetadata,
    /// Number of the screencast.
    #[serde(rename = "sessionId")]
    pub(crate) number: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScreencastFrameMetadata {
    pub(crate) device_width: f64,
    pub(crate) device_height: f64,
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
