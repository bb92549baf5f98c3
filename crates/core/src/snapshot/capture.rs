//! Documents as `DOMSnapshot.captureSnapshot` reports them.
//!
//! The nodes of a document are in the order of the flat tree: an element in a slot is below the slot, and the content of a shadow
//! root below its host.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use thiserror::Error;

use super::listeners::{ListenedInput, PageListeners};
use super::paint::{Paint, SHAPES, is_cut, is_painted};
use crate::gate::read_chromium;

/// Computed styles that a capture must have, in this order.
pub const STYLES: &[&str] = &[
    "display",
    "visibility",
    "cursor",
    "pointer-events",
    "overflow-x",
    "overflow-y",
    "background-color",
    "background-image",
    "border-top-width",
    "fill",
    "opacity",
    "clip",
    "clip-path",
    "position",
    "color",
    "animation-name",
    "transition-duration",
    "content-visibility",
];

/// Maximum number of nodes of a capture.
const MAX_NODES: usize = 200_000;

/// Reason why a capture cannot be used.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The answer does not have the form of a capture.
    #[error("the capture of the page cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// The page is too large.
    #[error("the page has more than {MAX_NODES} nodes")]
    Size,
}

/// Document of a frame.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Frame.
    pub frame: String,
    /// URL.
    pub url: String,
    pub(super) nodes: Vec<CapturedNode>,
    /// Width and height of what a person can scroll to.
    pub(super) size: (f64, f64),
    /// Distance from its top to the upper edge of the window.
    pub(super) top: f64,
    /// The same for the lower edge; 0 if that is not known.
    pub(super) bottom: f64,
    strings: Arc<[String]>,
}

/// Node of a document.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
pub(super) struct CapturedNode {
    /// Position of the parent, which precedes the node.
    pub(super) parent: Option<usize>,
    pub(super) is_element: bool,
    pub(super) is_text: bool,
    /// Name of the element in lower case.
    pub(super) tag: String,
    /// Id of the node in its process.
    pub(super) id: u64,
    attributes: Vec<i64>,
    pub(super) layout: Option<Layout>,
    pub(super) input: ListenedInput,
    /// Position of the document that a frame shows, in the same capture.
    pub(super) content: Option<usize>,
    /// Value of a field.
    pub(super) value: Option<String>,
    pub(super) is_checked: bool,
    pub(super) is_selected: bool,
    /// Text as it is shown.
    pub(super) text: String,
    /// Text in the document.
    pub(super) content_text: String,
}

/// Box of a node, and how it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
pub(super) struct Layout {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) is_visible: bool,
    pub(super) is_inline: bool,
    pub(super) cursor: String,
    pub(super) takes_pointer: bool,
    /// True if nothing of its content is shown outside of the box.
    pub(super) is_clipped: bool,
    /// Color of its background, or of the inside of a shape, in the form of computed styles.
    pub(super) color: String,
    /// True if a person sees where it begins and ends.
    pub(super) is_painted: bool,
    /// True if a person can scroll what is in it.
    pub(super) is_scroller: bool,
    /// True if nothing of its content is shown.
    pub(super) hides_content: bool,
    /// Look by which nothing of it may be seen.
    pub(super) look: Paint,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawCapture {
    documents: Vec<RawDocument>,
    strings: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RawDocument {
    #[serde(rename = "documentURL")]
    url: i64,
    frame_id: i64,
    nodes: RawNodes,
    layout: RawLayout,
    content_width: f64,
    content_height: f64,
    scroll_offset_y: f64,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RawNodes {
    parent_index: Vec<i64>,
    node_type: Vec<i64>,
    node_name: Vec<i64>,
    node_value: Vec<i64>,
    backend_node_id: Vec<u64>,
    attributes: Vec<Vec<i64>>,
    text_value: Rare,
    input_value: Rare,
    input_checked: Rare,
    option_selected: Rare,
    content_document_index: Rare,
    is_clickable: Rare,
}

/// Property that few nodes have.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Rare {
    index: Vec<usize>,
    value: Vec<i64>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RawLayout {
    node_index: Vec<usize>,
    styles: Vec<Vec<i64>>,
    bounds: Vec<Vec<f64>>,
    text: Vec<i64>,
    paint_orders: Vec<i64>,
}

impl Document {
    /// Adds what the nodes listen to.
    pub fn add_listeners(&mut self, listeners: &PageListeners) {
        for node in &mut self.nodes {
            node.input = listeners.input(node.id, node.input.is_clickable);
        }
    }

    /// Parses the documents of a capture, whose texts `mask` masks.
    ///
    /// # Errors
    ///
    /// Returns an error if the answer has another form or too many nodes.
    pub fn parse_all(answer: &str, mask: &dyn Fn(&mut String)) -> Result<Vec<Self>, CaptureError> {
        let mut raw: RawCapture = read_chromium(answer)?;
        let count: usize = raw.documents.iter().map(|document| document.nodes.parent_index.len()).sum();
        if count > MAX_NODES {
            return Err(CaptureError::Size);
        }
        raw.strings.iter_mut().for_each(mask);
        let strings: Arc<[String]> = raw.strings.into();
        Ok(raw.documents.into_iter().map(|document| document.read(&strings)).collect())
    }

    /// Returns the id of the document itself in its process.
    #[must_use]
    pub fn root_id(&self) -> Option<u64> {
        self.nodes.first().map(|node| node.id)
    }

    /// Returns the texts of the document that a picture of it may show, a line each: also generated ones, and those of fields, but for
    /// these fields and those that show dots.
    #[must_use]
    pub fn pictured_text(&self, secret_fields: &HashSet<u64>) -> String {
        let mut texts = String::new();
        let mut add = |text: Option<&str>| {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                texts.push_str(text);
                texts.push('\n');
            }
        };
        for node in self.nodes.iter().filter(|node| node.layout.is_some()) {
            add(Some(&node.text));
            let is_shown = |kind: &str| !matches!(kind.to_ascii_lowercase().as_str(), "hidden" | "password");
            let is_field = matches!(node.tag.as_str(), "input" | "textarea");
            if is_field && !secret_fields.contains(&node.id) && self.attribute(node, "type").is_none_or(is_shown) {
                add(node.value.as_deref());
                add(self.attribute(node, "value"));
                add(self.attribute(node, "placeholder"));
            }
            if node.tag == "img" {
                add(self.attribute(node, "alt"));
            }
        }
        texts
    }

    /// Returns the value of an attribute of a node.
    pub(super) fn attribute(&self, node: &CapturedNode, name: &str) -> Option<&str> {
        let mut pairs = node.attributes.chunks_exact(2);
        let pair = pairs.find(|pair| pair.first().is_some_and(|key| string(&self.strings, *key) == name))?;
        pair.last().map(|value| string(&self.strings, *value))
    }

    /// Returns the positions of elements by the value of their attribute `id`.
    pub(super) fn ids(&self) -> HashMap<&str, usize> {
        let id = |(position, node)| self.attribute(node, "id").map(|id| (id, position));
        // The first element with an id is the one that labels mean.
        self.nodes.iter().enumerate().rev().filter_map(id).collect()
    }
}

impl RawDocument {
    fn read(self, strings: &Arc<[String]>) -> Document {
        let text_of = |index: i64| string(strings, index);
        let raw = self.nodes;
        let mut nodes: Vec<CapturedNode> = Vec::with_capacity(raw.parent_index.len());
        for (position, parent) in raw.parent_index.iter().enumerate() {
            let kind = raw.node_type.get(position).copied().unwrap_or_default();
            let name = raw.node_name.get(position).map_or("", |name| text_of(*name));
            nodes.push(CapturedNode {
                parent: usize::try_from(*parent).ok().filter(|parent| *parent < position),
                is_element: kind == 1 && !name.starts_with("::"),
                is_text: kind == 3,
                content_text: raw
                    .node_value
                    .get(position)
                    .filter(|_| kind == 3)
                    .map_or("", |value| text_of(*value))
                    .to_owned(),
                tag: name.to_ascii_lowercase(),
                id: raw.backend_node_id.get(position).copied().unwrap_or_default(),
                attributes: raw.attributes.get(position).cloned().unwrap_or_default(),
                ..CapturedNode::default()
            });
        }
        raw.text_value.for_each(&mut nodes, |node, value| node.value = Some(text_of(value).to_owned()));
        raw.input_value.for_each(&mut nodes, |node, value| node.value = Some(text_of(value).to_owned()));
        raw.input_checked.for_each(&mut nodes, |node, _| node.is_checked = true);
        raw.option_selected.for_each(&mut nodes, |node, _| node.is_selected = true);
        raw.is_clickable.for_each(&mut nodes, |node, _| node.input.is_clickable = true);
        raw.content_document_index.for_each(&mut nodes, |node, value| node.content = usize::try_from(value).ok());
        let layout = self.layout;
        for (position, index) in layout.node_index.iter().enumerate() {
            let Some(node) = nodes.get_mut(*index) else { continue };
            let bounds = layout.bounds.get(position).map_or(&[][..], Vec::as_slice);
            let styles = layout.styles.get(position).map_or(&[][..], Vec::as_slice);
            let bound = |at: usize| bounds.get(at).copied().filter(|bound| bound.is_finite()).unwrap_or_default();
            let style = |at: usize| styles.get(at).map_or("", |style| text_of(*style));
            // A node whose content is in several fragments has several boxes.
            let text = layout.text.get(position).map_or("", |text| text_of(*text));
            node.text.push_str(text);
            if node.layout.is_none() {
                let (background, picture, border) = (style(6), style(7), style(8));
                let is_painted = is_painted(background, picture, border);
                let display = style(0);
                // A box that can be seen is apart from the text around it.
                let is_box = is_painted && display.starts_with("inline-");
                let is_shape = SHAPES.contains(&node.tag.as_str());
                node.layout = Some(Layout {
                    x: bound(0),
                    y: bound(1),
                    width: bound(2),
                    height: bound(3),
                    is_inline: (display.starts_with("inline") && !is_box) || display == "contents",
                    is_visible: matches!(style(1), "visible" | ""),
                    cursor: style(2).to_owned(),
                    takes_pointer: style(3) != "none",
                    is_clipped: [style(4), style(5)].iter().any(|overflow| !matches!(*overflow, "visible" | "")),
                    color: if is_shape { style(9) } else { background }.to_owned(),
                    is_painted,
                    is_scroller: [style(4), style(5)].iter().any(|overflow| matches!(*overflow, "auto" | "scroll")),
                    hides_content: style(17) == "hidden",
                    look: Paint {
                        // What is animated may be about to appear.
                        transparency: match style(10).parse::<f64>() {
                            Ok(opacity) if matches!(style(15), "none" | "") => 1.0 - opacity.clamp(0.0, 1.0),
                            _ => 0.0,
                        },
                        is_faded: style(16).split(", ").any(|time| !matches!(time, "0s" | "")),
                        is_cut: is_cut(
                            if matches!(style(13), "absolute" | "fixed") { style(11) } else { "" },
                            style(12),
                        ),
                        is_absolute: style(13) == "absolute",
                        text_color: style(14).to_owned(),
                        has_picture: !matches!(picture, "none" | ""),
                        order: layout.paint_orders.get(position).copied().unwrap_or_default(),
                    },
                });
            }
        }
        // The box of the document itself is that of the window.
        let window = nodes.first().and_then(|node| Some(node.layout.as_ref()?.height));
        Document {
            frame: text_of(self.frame_id).to_owned(),
            url: text_of(self.url).to_owned(),
            top: self.scroll_offset_y,
            bottom: window.map_or(0.0, |window| window + self.scroll_offset_y),
            nodes,
            size: (self.content_width, self.content_height),
            strings: strings.clone(),
        }
    }
}

impl Rare {
    fn for_each(&self, nodes: &mut [CapturedNode], mut set: impl FnMut(&mut CapturedNode, i64)) {
        for (position, index) in self.index.iter().enumerate() {
            if let Some(node) = nodes.get_mut(*index) {
                set(node, self.value.get(position).copied().unwrap_or(-1));
            }
        }
    }
}

/// Returns a string of the table of a capture; -1 stands for the empty one.
fn string(strings: &[String], index: i64) -> &str {
    usize::try_from(index).ok().and_then(|index| strings.get(index)).map_or("", String::as_str)
}
