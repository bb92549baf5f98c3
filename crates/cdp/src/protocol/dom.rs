//! Domains `DOM`, `DOMSnapshot` and `Accessibility`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::{Nothing, commands};
use super::runtime::RemoteObject;
use crate::protocol::command::{BackendNodeId, ExecutionContextId, FrameId, NodeId, RemoteObjectId};

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
    "DOMSnapshot.captureSnapshot" => CaptureSnapshot, Nothing;
    "Accessibility.getFullAXTree" => GetFullAxTree<'_>, Nothing;
    "Accessibility.getPartialAXTree" => GetPartialAxTree, AxTree;
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct EnableDom {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GetDocument {
    pub depth: i32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PerformSearch<'a> {
    pub query: &'a str,
    #[serde(rename = "includeUserAgentShadowDOM")]
    pub include_user_agent_shadow_dom: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Search {
    pub search_id: String,
    pub result_count: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetSearchResults<'a> {
    pub search_id: &'a str,
    pub from_index: u64,
    pub to_index: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResults {
    pub node_ids: Vec<NodeId>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiscardSearchResults<'a> {
    pub search_id: &'a str,
}

/// One of the ids names the node.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DescribeNode<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_node_id: Option<BackendNodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<&'a RemoteObjectId>,
    /// Number of levels below the node that are described, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct DescribedNode {
    pub node: Node,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    pub backend_node_id: BackendNodeId,
    /// Kind of the node, as `Node.nodeType` of the DOM has it.
    pub node_type: u32,
    /// Name of an element, in lower case in HTML.
    pub local_name: String,
    /// Text of a node that is one.
    #[serde(default)]
    pub node_value: String,
    /// Names and values of the attributes in turns.
    #[serde(default)]
    pub attributes: Vec<String>,
    /// Nodes below it, as far as they are described.
    #[serde(default)]
    pub children: Vec<Node>,
    /// Frame that an element shows.
    pub frame_id: Option<FrameId>,
}

/// Kind of a node that is a text.
const TEXT_NODE: u32 = 3;

impl Node {
    /// Adds the texts of the node and of those below it, but for those that no page shows, and for what a person has entered.
    pub fn add_texts<'a>(&'a self, texts: &mut Vec<&'a str>) {
        let is_left_out = matches!(
            self.local_name.as_str(),
            "noscript" | "script" | "select" | "style" | "template" | "textarea" | "title"
        );
        if is_left_out
            || self.attributes.chunks(2).any(|pair| pair.first().is_some_and(|name| name == "contenteditable"))
        {
            return;
        }
        if self.node_type == TEXT_NODE {
            texts.push(&self.node_value);
        }
        for child in &self.children {
            child.add_texts(texts);
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolveNode {
    pub backend_node_id: BackendNodeId,
    pub object_group: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_context_id: Option<ExecutionContextId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResolvedNode {
    pub object: RemoteObject,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetFrameOwner<'a> {
    pub frame_id: &'a FrameId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameOwner {
    pub backend_node_id: BackendNodeId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScrollIntoViewIfNeeded<'a> {
    pub object_id: &'a RemoteObjectId,
}

/// Captures the documents of a process. The core parses the text of the result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaptureSnapshot {
    pub computed_styles: &'static [&'static str],
    pub include_paint_order: bool,
}

/// Reads the accessibility tree of a frame. The core parses the text of the result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetFullAxTree<'a> {
    pub frame_id: &'a FrameId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetPartialAxTree {
    pub backend_node_id: BackendNodeId,
    pub fetch_relatives: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct AxTree {
    pub nodes: Vec<AxNode>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct AxNode {
    pub role: Option<AxValue>,
    pub name: Option<AxValue>,
    #[serde(default)]
    pub properties: Vec<AxProperty>,
}

impl AxNode {
    /// Returns true if a property is true; `None` if the node does not have it.
    #[must_use]
    pub fn is(&self, name: &AxPropertyName) -> Option<bool> {
        let property = self.properties.iter().find(|property| property.name == *name)?;
        // A state of three values is a text.
        Some(property.value.value.as_ref().is_some_and(|value| *value == true || *value == "true"))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct AxProperty {
    pub name: AxPropertyName,
    pub value: AxValue,
}

#[derive(Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AxPropertyName {
    Checked,
    Disabled,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct AxValue {
    pub value: Option<serde_json::Value>,
}

impl AxValue {
    /// Returns the value, if it is a text.
    #[must_use]
    pub fn into_text(self) -> Option<String> {
        serde_json::from_value(self.value?).ok()
    }
}
