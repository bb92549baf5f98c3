//! Domains `DOM`, `DOMSnapshot` and `Accessibility`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{Nothing, commands};
use super::ids::{BackendNodeId, ExecutionContextId, FrameId, NodeId, RemoteObjectId};
use super::runtime::RemoteObject;

commands! {
    "DOM.enable" => EnableDom, Nothing;
    "DOM.getDocument" => GetDocument, Nothing;
    "DOM.performSearch" => PerformSearch<'_>, Search;
    "DOM.getSearchResults" => GetSearchResults<'_>, SearchResults;
    "DOM.discardSearchResults" => DiscardSearchResults<'_>, Nothing;
    "DOM.describeNode" => DescribeNode<'_>, DescribedNode;
    "DOM.resolveNode" => ResolveNode, ResolvedNode;
    "DOM.getFrameOwner" => GetFrameOwner<'_>, FrameOwner;
    "DOM.scrollIntoViewIfNeeded" => ScrollIntoViewIfNeeded<'_>, Nothing;
    "DOM.querySelector" => QuerySelector<'_>, FoundNode;
    "DOM.pushNodesByBackendIdsToFrontend" => PushNodesByBackendIdsToFrontend<'_>, PushedNodes;
    "DOMSnapshot.captureSnapshot" => CaptureSnapshot, Nothing;
    "Accessibility.getFullAXTree" => GetFullAxTree<'_>, Nothing;
    "Accessibility.getPartialAXTree" => GetPartialAxTree, AxTree;
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EnableDom {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetDocument {
    pub(crate) depth: i32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PerformSearch<'a> {
    pub(crate) query: &'a str,
    #[serde(rename = "includeUserAgentShadowDOM")]
    pub(crate) include_user_agent_shadow_dom: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Search {
    pub(crate) search_id: String,
    pub(crate) result_count: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetSearchResults<'a> {
    pub(crate) search_id: &'a str,
    pub(crate) from_index: u64,
    pub(crate) to_index: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchResults {
    pub(crate) node_ids: Vec<NodeId>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiscardSearchResults<'a> {
    pub(crate) search_id: &'a str,
}

/// One of the ids names the node.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DescribeNode<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node_id: Option<NodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backend_node_id: Option<BackendNodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) object_id: Option<&'a RemoteObjectId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DescribedNode {
    pub(crate) node: Node,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    pub(crate) backend_node_id: BackendNodeId,
    /// Name of an element, in lower case in HTML.
    pub(crate) local_name: String,
    /// Frame that an element shows.
    pub(crate) frame_id: Option<FrameId>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResolveNode {
    pub(crate) backend_node_id: BackendNodeId,
    pub(crate) object_group: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) execution_context_id: Option<ExecutionContextId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ResolvedNode {
    pub(crate) object: RemoteObject,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetFrameOwner<'a> {
    pub(crate) frame_id: &'a FrameId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FrameOwner {
    pub(crate) backend_node_id: BackendNodeId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScrollIntoViewIfNeeded<'a> {
    pub(crate) object_id: &'a RemoteObjectId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuerySelector<'a> {
    pub(crate) node_id: NodeId,
    pub(crate) selector: &'a str,
}

/// Node that was found; 0 if there is none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FoundNode {
    pub(crate) node_id: NodeId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PushNodesByBackendIdsToFrontend<'a> {
    pub(crate) backend_node_ids: &'a [BackendNodeId],
}

/// Nodes that are known now; 0 for those that are gone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PushedNodes {
    pub(crate) node_ids: Vec<NodeId>,
}

/// Captures the documents of a process. The core parses the text of the result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CaptureSnapshot {
    pub(crate) computed_styles: &'static [&'static str],
    pub(crate) include_paint_order: bool,
}

/// Reads the accessibility tree of a frame. The core parses the text of the result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetFullAxTree<'a> {
    pub(crate) frame_id: &'a FrameId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetPartialAxTree {
    pub(crate) backend_node_id: BackendNodeId,
    pub(crate) fetch_relatives: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct AxTree {
    pub(crate) nodes: Vec<AxNode>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct AxNode {
    pub(crate) role: Option<AxValue>,
    pub(crate) name: Option<AxValue>,
    #[serde(default)]
    pub(crate) properties: Vec<AxProperty>,
}

impl AxNode {
    /// Returns true if a property is true; `None` if the node does not have it.
    pub(crate) fn is(&self, name: &AxPropertyName) -> Option<bool> {
        let property = self.properties.iter().find(|property| property.name == *name)?;
        // A state of three values is a text.
        Some(property.value.value.as_ref().is_some_and(|value| *value == true || *value == "true"))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AxProperty {
    pub(crate) name: AxPropertyName,
    pub(crate) value: AxValue,
}

#[derive(Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum AxPropertyName {
    Checked,
    Disabled,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct AxValue {
    pub(crate) value: Option<serde_json::Value>,
}

impl AxValue {
    /// Returns the value, if it is a text.
    pub(crate) fn into_text(self) -> Option<String> {
        serde_json::from_value(self.value?).ok()
    }
}
