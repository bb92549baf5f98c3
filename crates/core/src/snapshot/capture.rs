//! Documents as `DOMSnapshot.captureSnapshot` reports them, with the kinds of input that their nodes listen to, and the look of an element
//! besides its content: a background, a border, or the inside of a shape.
//!
//! The nodes of a document are in the order of the flat tree: an element in a slot is below the slot, and the content of a shadow
//! root below its host.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use thiserror::Error;

use super::shapes::{ClipShape, Orientation};
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
    "font-family",
    "z-index",
    "-webkit-text-fill-color",
    "-webkit-text-stroke-width",
    "background-clip",
    "stroke",
    "filter",
    "mask-image",
    "text-decoration-line",
    "vertical-align",
    "backface-visibility",
    "transform-style",
    "transform",
    "rotate",
    "white-space-collapse",
    "direction",
    "-webkit-text-security",
    "animation-play-state",
    "animation-duration",
    "will-change",
    "scale",
    "zoom",
    "-webkit-text-stroke-color",
    "text-shadow",
];

/// Elements that are the window, or what it shows.
pub(super) const OUTER: &[&str] = &["body", "html"];

/// Part of the light that passes through an element which nobody sees.
pub(super) const MAX_TRANSPARENCY: f64 = 0.95;

/// Number of nodes within which the outermost elements of a document are.
pub(super) const MAX_OUTER: usize = 1000;

/// Number of elements that a page has to place by itself before they are sorted by their places.
const MIN_PLACED: usize = 3;

/// Number of nodes between the first letter of a text and the rest of it.
const MAX_BEFORE_TEXT: usize = 50;

/// Number of nodes of an element that are searched for the number that its style gives a sign.
const MAX_SIGNED: usize = 50;

/// Maximum length of the texts and styles of a capture, each counted for every node that has it, in bytes.
const MAX_LENGTH: usize = 64 << 20;

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
    /// Its texts are too long.
    #[error("the texts of the page have more than {MAX_LENGTH} bytes")]
    Length,
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
    /// True if its lines begin at the right.
    pub(super) is_right_to_left: bool,
    /// Look of what is behind the document, where that has no background.
    pub(super) backdrop: Backdrop,
    strings: Strings,
}

/// Look of what is behind a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Backdrop {
    /// That of a window: white.
    #[default]
    Window,
    /// A color around its frame, in the form of computed styles.
    Color(String),
    /// A picture around its frame, or something else that is not known.
    Unknown,
}

/// Strings of a capture.
#[derive(Clone, Debug, Default)]
struct Strings {
    table: Arc<[String]>,
    /// Names of attributes in the table, each text once, in the order of their texts.
    names: Arc<[i64]>,
}

/// Node of a document.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
pub(super) struct CapturedNode {
    /// Position of the parent, which precedes the node.
    pub(super) parent: Option<usize>,
    /// Position of the element whose shadow tree the node belongs to, if it does to one.
    pub(super) host: Option<usize>,
    pub(super) is_element: bool,
    pub(super) is_text: bool,
    /// True if it is a text that a style puts before or behind what is in an element.
    pub(super) is_styled: bool,
    /// Name of the element in lower case.
    pub(super) tag: String,
    /// Id of the node in its process.
    pub(super) id: u64,
    /// Attributes in the order of their names: the place of each name in the list of those, and of its value in the table of strings.
    attributes: Vec<(usize, i64)>,
    pub(super) layout: Option<Layout>,
    pub(super) input: ListenedInput,
    /// Position of the document that a frame shows, in the same capture.
    pub(super) content: Option<usize>,
    /// True if it is a frame that shows nothing of what is behind it.
    pub(super) is_opaque_frame: bool,
    /// Value of a field.
    pub(super) value: Option<String>,
    pub(super) is_checked: bool,
    pub(super) is_selected: bool,
    /// Text as it is shown.
    pub(super) text: String,
    /// Text in the document.
    pub(super) content_text: String,
    /// Boxes of the first and the last part of a text that is drawn in several, as in lines.
    pub(super) ends: Option<Box<[TextBox; 2]>>,
}

/// Box of a line of text, in CSS pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TextBox {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// White space of a text that a person sees as it is in the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeptSpace {
    /// None: lines end where the window does.
    #[default]
    Nothing,
    /// The ends of lines.
    Lines,
    /// All of it.
    All,
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
    /// True if nothing of its content is shown to the left and right of the box, and nobody can scroll to it.
    pub(super) hides_sides: bool,
    /// True if nothing of its content is shown above and below the box, and nobody can scroll to it.
    pub(super) hides_ends: bool,
    /// True if nothing of its content is shown.
    pub(super) hides_content: bool,
    /// True if it is a box in a line of text, as an `inline-block` is.
    pub(super) is_inline_box: bool,
    /// True if it places what is in it in rows or columns.
    pub(super) is_arranged: bool,
    /// True if what is in it is drawn only where a person scrolls to.
    pub(super) is_drawn_late: bool,
    /// White space that is shown of its text.
    pub(super) kept_space: KeptSpace,
    /// True if lines and rows in it begin at the right.
    pub(super) is_right_to_left: bool,
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
    text_boxes: RawTextBoxes,
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
    shadow_root_type: Rare,
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

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RawTextBoxes {
    layout_index: Vec<usize>,
    bounds: Vec<Vec<f64>>,
    start: Vec<i64>,
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
        // Nodes share strings, but each has its own copy later.
        if raw.documents.iter().map(|document| document.length(&raw.strings)).sum::<usize>() > MAX_LENGTH {
            return Err(CaptureError::Length);
        }
        raw.strings.iter_mut().for_each(mask);
        let (names, places) = attribute_names(&raw);
        let strings = Strings { table: raw.strings.into(), names: names.into() };
        Ok(raw.documents.into_iter().map(|document| document.read(&strings, &places)).collect())
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
            let is_field = matches!(node.tag.as_str(), "input" | "textarea") && !self.is_dotted(node);
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

    /// Returns the ids of the fields that show dots in place of their letters by a style.
    pub fn dotted_fields(&self) -> impl Iterator<Item = u64> {
        self.nodes.iter().filter(|node| self.is_dotted(node)).map(|node| node.id)
    }

    /// Returns the ids of the transparent elements that an animation may be about to show.
    pub fn animated(&self) -> impl Iterator<Item = u64> {
        let is_animated =
            |layout: &Layout| layout.look.still_transparency > MAX_TRANSPARENCY && !layout.look.is_still();
        let nodes = self.nodes.iter().filter(|node| node.is_element);
        nodes.filter(move |node| node.layout.as_ref().is_some_and(is_animated)).map(|node| node.id)
    }

    /// Notes the elements with these ids that no animation shows.
    pub fn note_still(&mut self, still: &HashSet<u64>) {
        for node in self.nodes.iter_mut().filter(|node| node.is_element && still.contains(&node.id)) {
            node.layout.iter_mut().for_each(|layout| layout.look.transparency = layout.look.still_transparency);
        }
    }

    /// Returns true if the node is a field or an editor that shows dots in place of its letters by a style.
    pub(super) fn is_dotted(&self, node: &CapturedNode) -> bool {
        let is_typed = |kind: &str| !UNTYPED.contains(&kind.to_ascii_lowercase().as_str());
        let is_field = || match node.tag.as_str() {
            "input" => self.attribute(node, "type").is_none_or(is_typed),
            "textarea" => true,
            _ => {
                let is_off = |value: &str| value.eq_ignore_ascii_case("false");
                self.attribute(node, "contenteditable").is_some_and(|value| !is_off(value))
            }
        };
        node.is_element && node.layout.as_ref().is_some_and(|layout| layout.look.has_dots) && is_field()
    }

    /// Returns true if a box is above or below the window, as far as that is known.
    pub(super) fn is_out_of_window(&self, layout: &Layout) -> bool {
        self.bottom > 0.0 && (layout.y >= self.bottom || layout.y + layout.height <= self.top)
    }

    /// Returns the look of what is behind a frame, from its element on.
    fn backdrop_of(&self, frame: usize) -> Backdrop {
        let around = std::iter::successors(Some(frame), |at| self.nodes.get(*at)?.parent);
        let mut layouts = around.filter_map(|at| self.nodes.get(at)?.layout.as_ref());
        match layouts.find(|layout| layout.look.has_picture || !is_transparent(&layout.color)) {
            Some(layout) if layout.look.has_picture => Backdrop::Unknown,
            Some(layout) => Backdrop::Color(layout.color.clone()),
            None => self.backdrop.clone(),
        }
    }

    /// Returns true if its background hides what is behind it.
    pub(super) fn is_opaque(&self) -> bool {
        let outer = self.nodes.iter().take(MAX_OUTER).filter(|node| OUTER.contains(&node.tag.as_str()));
        let mut looks = outer.filter_map(|node| node.layout.as_ref());
        looks.any(|layout| layout.is_visible && !layout.look.has_picture && opaque(&layout.color).is_some())
    }

    /// Returns the value of an attribute of a node.
    pub(super) fn attribute(&self, node: &CapturedNode, name: &str) -> Option<&str> {
        attribute(node, &self.strings, name)
    }

    /// Returns the positions of elements by the value of their attribute `id`.
    pub(super) fn ids(&self) -> HashMap<(Option<usize>, &str), usize> {
        let id =
            |(position, node): (usize, &CapturedNode)| self.attribute(node, "id").map(|id| ((node.host, id), position));
        // The first element with an id is the one that labels mean.
        self.nodes.iter().enumerate().rev().filter_map(id).collect()
    }
}

impl RawDocument {
    /// Returns the length of all texts, names and styles that are kept or read for each node, in bytes.
    fn length(&self, strings: &[String]) -> usize {
        let length = |index: &i64| string(strings, *index).len();
        let is_kept = |(place, _): &(usize, &i64)| !matches!(*place, 2 | 7 | 24 | 25 | 41);
        let styles = self.layout.styles.iter().flat_map(|styles| styles.iter().enumerate().filter(is_kept));
        let read = ["class", "id"];
        let attributes = self.nodes.attributes.iter().flat_map(|attributes| attributes.chunks_exact(2));
        let named = attributes.filter(|pair| pair.first().is_some_and(|name| read.contains(&string(strings, *name))));
        let texts = self.nodes.node_value.iter().chain(&self.nodes.node_name).chain(&self.layout.text);
        let values = self.nodes.text_value.value.iter().chain(&self.nodes.input_value.value);
        let all = texts.chain(values).chain(named.filter_map(<[_]>::last)).map(length);
        all.chain(styles.map(|(_, style)| length(style))).fold(0, usize::saturating_add)
    }

    fn read(self, strings: &Strings, places: &HashMap<i64, usize>) -> Document {
        let text_of = |index: i64| string(&strings.table, index);
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
                attributes: raw.attributes.get(position).map_or_else(Vec::new, |own| attributes(own, places)),
                ..CapturedNode::default()
            });
        }
        raw.text_value.for_each(&mut nodes, |node, value| node.value = Some(text_of(value).to_owned()));
        raw.input_value.for_each(&mut nodes, |node, value| node.value = Some(text_of(value).to_owned()));
        raw.input_checked.for_each(&mut nodes, |node, _| node.is_checked = true);
        raw.option_selected.for_each(&mut nodes, |node, _| node.is_selected = true);
        raw.is_clickable.for_each(&mut nodes, |node, _| node.input.is_clickable = true);
        raw.content_document_index.for_each(&mut nodes, |node, value| node.content = usize::try_from(value).ok());
        add_hosts(&mut nodes, &raw.shadow_root_type);
        let layout = self.layout;
        let mut turns = HashMap::new();
        for (position, index) in layout.node_index.iter().enumerate() {
            let Some(node) = nodes.get_mut(*index) else { continue };
            let bounds = layout.bounds.get(position).map_or(&[][..], Vec::as_slice);
            let styles = layout.styles.get(position).map_or(&[][..], Vec::as_slice);
            let bound = |at: usize| bounds.get(at).copied().filter(|bound| bound.is_finite()).unwrap_or_default();
            let style = |at: usize| styles.get(at).map_or("", |style| text_of(*style));
            // A node whose content is in several fragments has several boxes.
            let text = layout.text.get(position).map_or("", |text| text_of(*text));
            // The words of a style are where the first text in its box is, which may be elsewhere. A box without a size shows nothing.
            if let Some(own) = node.layout.as_mut().filter(|own| own.width > 0.0 && own.height > 0.0)
                && node.tag.starts_with("::")
                && node.text.is_empty()
                && !text.is_empty()
            {
                (own.x, own.y, own.width, own.height) = (bound(0), bound(1), bound(2), bound(3));
            }
            node.text.push_str(text);
            if node.layout.is_none() {
                turns.extend(Turn::of(&style).filter(|_| !node.is_text).map(|turn| (*index, turn)));
                let order = layout.paint_orders.get(position).copied().unwrap_or_default();
                node.layout = Some(Layout::of(&node.tag, bound, &style, order));
            }
        }
        hide_backs(&mut nodes, &turns);
        add_ends(&mut nodes, &layout.node_index, &self.text_boxes);
        join_first_letters(&mut nodes);
        note_styled(&mut nodes);
        let is_right_to_left = is_right_to_left(&nodes, strings);
        let nodes = in_order_of_sight(nodes, is_right_to_left);
        // The box of the document itself is that of the window.
        let window = nodes.first().and_then(|node| Some(node.layout.as_ref()?.height));
        Document {
            frame: text_of(self.frame_id).to_owned(),
            url: text_of(self.url).to_owned(),
            top: self.scroll_offset_y,
            bottom: window.map_or(0.0, |window| window + self.scroll_offset_y),
            is_right_to_left,
            nodes,
            backdrop: Backdrop::default(),
            size: (self.content_width, self.content_height),
            strings: strings.clone(),
        }
    }
}

impl Layout {
    /// Returns the box with these bounds of a node, and the look that computed styles tell, each by its place in [`STYLES`].
    fn of<'a>(tag: &str, bound: impl Fn(usize) -> f64, style: &impl Fn(usize) -> &'a str, order: i64) -> Self {
        let (background, picture, border) = (style(6), style(7), style(8));
        let is_painted = is_painted(background, picture, border);
        let display = style(0);
        // A box that can be seen is apart from the text around it.
        let is_box = is_painted && display.starts_with("inline-");
        let is_shape = SHAPES.contains(&tag);
        Self {
            x: bound(0),
            y: bound(1),
            width: bound(2),
            height: bound(3),
            is_inline: (display.starts_with("inline") && !is_box)
                || display == "contents"
                || display.starts_with("ruby"),
            // A group of a drawing has a box even where it is not drawn.
            is_visible: matches!(style(1), "visible" | "") && display != "none",
            // Behind the pictures of a cursor is its name.
            cursor: style(2).rsplit(", ").next().unwrap_or_default().to_owned(),
            takes_pointer: style(3) != "none",
            is_clipped: [style(4), style(5)].iter().any(|overflow| !matches!(*overflow, "visible" | "")),
            color: if is_shape { style(9) } else { background }.to_owned(),
            is_painted,
            is_scroller: [style(4), style(5)].iter().any(|overflow| matches!(*overflow, "auto" | "scroll")),
            hides_sides: matches!(style(4), "hidden" | "clip"),
            // A cell may be higher than its row.
            hides_ends: matches!(style(5), "hidden" | "clip") && !is_table_part(display),
            hides_content: style(17) == "hidden" || display == "none",
            is_inline_box: display.starts_with("inline-") && !is_box,
            is_arranged: matches!(display, "flex" | "inline-flex" | "grid" | "inline-grid"),
            is_drawn_late: style(17) == "auto",
            kept_space: KeptSpace::of(style(32)),
            is_right_to_left: style(33) == "rtl",
            look: Paint::of(style, order),
        }
    }
}

impl TextBox {
    /// Returns the box of a node.
    pub(super) const fn of(layout: &Layout) -> Self {
        Self { x: layout.x, y: layout.y, width: layout.width, height: layout.height }
    }

    /// Returns the box with columns for rows.
    const fn transposed(self) -> Self {
        Self { x: self.y, y: self.x, width: self.height, height: self.width }
    }

    /// Returns the box with its right edge for its left one, if that is wanted.
    fn mirrored(self, is_wanted: bool) -> Self {
        if is_wanted { Self { x: -(self.x + self.width), ..self } } else { self }
    }

    fn of_bounds(bounds: &[f64]) -> Option<Self> {
        match *bounds {
            [x, y, width, height] if width > 0.0 && height > 0.0 => Some(Self { x, y, width, height }),
            _ => None,
        }
    }
}

impl KeptSpace {
    /// Returns the one of a computed `white-space-collapse`.
    fn of(style: &str) -> Self {
        match style {
            "preserve" | "break-spaces" => Self::All,
            "preserve-breaks" => Self::Lines,
            _ => Self::Nothing,
        }
    }
}

/// Returns true if the lines of a document begin at the right. The direction of its body is that of the window.
fn is_right_to_left(nodes: &[CapturedNode], strings: &Strings) -> bool {
    let outer = |tag: &str| nodes.iter().take(MAX_OUTER).find(|node| node.tag == tag);
    let is_turned = |node: &CapturedNode| node.layout.as_ref().is_some_and(|layout| layout.is_right_to_left);
    let says_so = |node: &CapturedNode| {
        attribute(node, strings, "dir").is_some_and(|direction| direction.eq_ignore_ascii_case("rtl"))
    };
    outer("body").is_some_and(is_turned) || outer("html").is_some_and(|html| is_turned(html) || says_so(html))
}

/// Notes the look of what is behind the documents of a process, which is this one behind the first of them: a frame without a background is on
/// that of the page around it. Each document follows the one that shows it.
pub(super) fn add_backdrops(documents: &mut [Document], outermost: Backdrop) {
    if let Some(first) = documents.first_mut() {
        first.backdrop = outermost;
    }
    for position in 0..documents.len() {
        let Some(document) = documents.get(position) else { return };
        let inner = |(at, node): (usize, &CapturedNode)| {
            Some((node.content.filter(|content| *content > position)?, at, document.backdrop_of(at)))
        };
        let inner: Vec<_> = document.nodes.iter().enumerate().filter_map(inner).collect();
        for (content, at, backdrop) in inner {
            let Some(inner) = documents.get_mut(content) else { continue };
            inner.backdrop = backdrop;
            let is_opaque = inner.is_opaque();
            if let Some(frame) = documents.get_mut(position).and_then(|document| document.nodes.get_mut(at)) {
                frame.is_opaque_frame = is_opaque;
            }
        }
    }
}

/// Notes that the frame of an element with an id, in one of these documents, shows nothing of what is behind it.
pub(super) fn note_opaque_frame(documents: &mut [Document], owner: u64) {
    let mut nodes = documents.iter_mut().flat_map(|document| &mut document.nodes);
    if let Some(frame) = nodes.find(|node| node.is_element && node.id == owner) {
        frame.is_opaque_frame = true;
    }
}

/// Returns the look of what is behind the frame of an element with an id, in one of these documents.
pub(super) fn backdrop_in(documents: &[Document], owner: u64) -> Backdrop {
    let mut frames = documents.iter().filter_map(|document| {
        let frame = document.nodes.iter().position(|node| node.is_element && node.id == owner)?;
        Some(document.backdrop_of(frame))
    });
    frames.next().unwrap_or(Backdrop::Unknown)
}

/// Notes where the texts that are drawn in several boxes begin and end.
fn add_ends(nodes: &mut [CapturedNode], node_index: &[usize], boxes: &RawTextBoxes) {
    // The boxes of a text follow each other, those of a line in the order of sight.
    let mut open = boxes.layout_index.as_slice();
    let mut place = 0;
    while let Some(layout) = open.first() {
        let count = open.iter().take_while(|other| *other == layout).count();
        let parts = (place..place + count)
            .filter_map(|at| Some((*boxes.start.get(at)?, TextBox::of_bounds(boxes.bounds.get(at)?)?)));
        let parts: Vec<_> = if count > 1 { parts.collect() } else { Vec::new() };
        let node = node_index.get(*layout).and_then(|node| nodes.get_mut(*node));
        if let (Some(node), Some((_, first)), Some((_, last))) =
            (node, parts.iter().min_by_key(|(start, _)| *start), parts.iter().max_by_key(|(start, _)| *start))
            && let Some(own) = &node.layout
        {
            // They are where the text is in its block, wherever that is.
            let edge =
                |edge: fn(&TextBox) -> f64| parts.iter().map(|(_, part)| edge(part)).fold(f64::INFINITY, f64::min);
            let (x, y) = (own.x - edge(|part| part.x), own.y - edge(|part| part.y));
            node.ends = Some(Box::new([first, last].map(|end| TextBox { x: end.x + x, y: end.y + y, ..*end })));
        }
        place += count;
        open = open.get(count..).unwrap_or_default();
    }
}

/// Notes the hosts of the shadow trees that nodes belong to. What is in a slot belongs to the tree of the slot's host, and what is in a custom
/// element to its own one.
fn add_hosts(nodes: &mut [CapturedNode], shadow_root_type: &Rare) {
    let in_shadow: HashSet<usize> = shadow_root_type.index.iter().copied().collect();
    for position in 0..nodes.len() {
        let of = |at: usize| nodes.get(at);
        let parent = of(position).and_then(|node| node.parent);
        let (Some(at), true) = (parent, in_shadow.contains(&position)) else { continue };
        let Some(around) = of(at) else { continue };
        let is_host = around.tag.contains('-') || !in_shadow.contains(&at);
        let host = match around.host {
            Some(host) if around.tag == "slot" => of(host).and_then(|host| host.host),
            _ if is_host => Some(at),
            host => host,
        };
        if let Some(node) = nodes.get_mut(position) {
            node.host = host;
        }
    }
}

/// Notes that a pseudo-element is a text, if a person reads words in it. Marks that are drawn by characters are none, but those that say
/// what is so, units, and signs of numbers.
fn note_styled(nodes: &mut [CapturedNode]) {
    for at in 0..nodes.len() {
        let is_read = |layout: &Layout| !layout.look.has_icon_font;
        let is_read = |node: &CapturedNode| {
            let is_drawn = matches!(node.tag.as_str(), "::marker" | "::before" | "::after");
            is_drawn && node.layout.as_ref().is_some_and(is_read) && (has_words(&node.text) || is_sign(nodes, at))
        };
        if nodes.get(at).is_some_and(is_read)
            && let Some(node) = nodes.get_mut(at)
        {
            node.is_styled = true;
            node.is_text = true;
            node.content_text.clone_from(&node.text);
            // The number of an entry is in the line of that.
            let is_marker = node.tag == "::marker";
            node.layout.iter_mut().for_each(|layout| layout.is_inline |= is_marker);
        }
    }
}

/// Returns true if a person reads a text that a style puts into an element.
fn has_words(text: &str) -> bool {
    text.contains(|c: char| c.is_alphanumeric() || is_unit(c) || matches!(c, '✓' | '✔' | '✗' | '✘' | '★' | '☆'))
}

/// Returns true for the sign of a currency, or of another unit that is written at a number.
const fn is_unit(character: char) -> bool {
    matches!(character, '$' | '¢' | '£' | '¥' | '\u{20a0}'..='\u{20cf}' | '%' | '‰' | '°')
}

/// Returns true if a style puts the sign or the parentheses of a number before or behind it. What opens and closes a part of a page has
/// such signs too, behind a text that ends with a number.
fn is_sign(nodes: &[CapturedNode], at: usize) -> bool {
    let Some(node) = nodes.get(at) else { return false };
    let is_sign = |c: char| matches!(c, '+' | '-' | '\u{2212}' | '(' | ')') || c.is_whitespace();
    let is_signs = |text: &str| text.trim().is_empty() || text.chars().all(is_sign);
    let Some(around) = node.parent.filter(|_| !node.text.trim().is_empty() && is_signs(&node.text)) else {
        return false;
    };
    let inside = nodes.iter().skip(around + 1).take(MAX_SIGNED).take_while(|other| other.parent >= Some(around));
    let is_drawn = |other: &&CapturedNode| other.layout.is_some() && (other.is_text || other.tag.starts_with("::"));
    let texts = inside.filter(is_drawn).filter(|other| !is_signs(&other.text));
    let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || is_unit(c));
    let is_of_number = |c: char| c.is_ascii_digit() || is_unit(c) || matches!(c, '.' | ',' | ' ' | '\u{a0}');
    let has_digit = |other: &CapturedNode| other.text.contains(|c: char| c.is_ascii_digit());
    match node.tag.as_str() {
        "::before" => {
            let mut texts = texts.filter(|other| other.tag != "::after");
            texts.next().is_some_and(|other| begins(other.text.trim()))
        }
        "::after" => texts.clone().any(has_digit) && texts.clone().all(|other| other.text.chars().all(is_of_number)),
        _ => false,
    }
}

/// Returns the nodes in the order in which a person sees them, where Chromium reports another one: texts that styles put behind the content of
/// an element come before that; and a page that places rows, cells or lines by itself keeps their elements when it sorts or scrolls them.
fn in_order_of_sight(nodes: Vec<CapturedNode>, is_right_to_left: bool) -> Vec<CapturedNode> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut order = Vec::new();
    for (position, node) in nodes.iter().enumerate() {
        node.parent.and_then(|parent| below.get_mut(parent)).unwrap_or(&mut order).push(position);
    }
    let mut is_changed = false;
    let sized = sized(&nodes);
    for (parent, children) in below.iter_mut().enumerate().filter(|(_, children)| children.len() > 1) {
        is_changed |= put_behind(&nodes, children) || sort_placed(&nodes, children, is_right_to_left);
        is_changed |= sort_arranged(&nodes, parent, children, &sized);
    }
    if !is_changed {
        return nodes;
    }
    let mut open = std::mem::take(&mut order);
    open.reverse();
    while let Some(position) = open.pop() {
        order.push(position);
        open.extend(below.get(position).into_iter().flatten().rev());
    }
    let mut moved = vec![0; nodes.len()];
    for (new, old) in order.iter().enumerate() {
        if let Some(moved) = moved.get_mut(*old) {
            *moved = new;
        }
    }
    let moved = |at: Option<usize>| at.and_then(|at| moved.get(at).copied());
    let mut nodes: Vec<_> = nodes.into_iter().map(Some).collect();
    let in_order = order.into_iter().filter_map(|old| nodes.get_mut(old).and_then(Option::take));
    in_order.map(|node| CapturedNode { parent: moved(node.parent), host: moved(node.host), ..node }).collect()
}

/// Puts the text that a style puts behind the other children of an element there. Returns false if there is none, or it is the last one.
fn put_behind(nodes: &[CapturedNode], children: &mut Vec<usize>) -> bool {
    let is_behind = |at: &usize| nodes.get(*at).is_some_and(|node| node.is_styled && node.tag == "::after");
    match children.iter().position(is_behind) {
        Some(place) if place + 1 < children.len() => {
            let behind = children.remove(place);
            children.push(behind);
            true
        }
        _ => false,
    }
}

/// Sorts the children of an element by their places if all are placed by the page, one below or beside the other. Returns false if that
/// changes nothing.
fn sort_placed(nodes: &[CapturedNode], children: &mut [usize], is_right_to_left: bool) -> bool {
    let layout = |at: &usize| nodes.get(*at).and_then(|node| node.layout.as_ref());
    let placed: Vec<_> = children.iter().filter_map(|at| Some((nodes.get(*at)?, layout(at)?))).collect();
    let Some((first, place)) = placed.first().filter(|_| placed.len() >= MIN_PLACED) else { return false };
    let is_placed =
        |(node, layout): &(&CapturedNode, &Layout)| node.is_element && layout.look.is_absolute && node.tag == first.tag;
    if !placed.iter().all(is_placed) {
        return false;
    }
    let is_near = |one: f64, other: f64| (one - other).abs() <= 1.0;
    let is_below = |(_, own): &(&CapturedNode, &Layout)| is_near(own.x, place.x) && is_near(own.width, place.width);
    let is_beside = |(_, own): &(&CapturedNode, &Layout)| is_near(own.y, place.y) && is_near(own.height, place.height);
    let key: fn(&Layout) -> f64 = if placed.iter().all(is_below) {
        |layout| layout.y
    } else if !is_right_to_left && placed.iter().all(is_beside) {
        |layout| layout.x
    } else {
        return false;
    };
    let place_of = |at: &usize| layout(at).map_or(f64::INFINITY, key);
    if children.is_sorted_by(|one, other| place_of(one) <= place_of(other)) {
        return false;
    }
    children.sort_by(|one, other| place_of(one).total_cmp(&place_of(other)));
    true
}

/// Returns true for each node that has a box with a size, or in which there is one.
fn sized(nodes: &[CapturedNode]) -> Vec<bool> {
    let mut sized = vec![false; nodes.len()];
    for (position, node) in nodes.iter().enumerate().rev() {
        let has_size = node.layout.as_ref().is_some_and(|layout| layout.width > 0.0 && layout.height > 0.0);
        if !has_size && sized.get(position) != Some(&true) {
            continue;
        }
        for at in [Some(position), node.parent].into_iter().flatten() {
            if let Some(sized) = sized.get_mut(at) {
                *sized = true;
            }
        }
    }
    sized
}

/// Sorts the children of an element that arranges them in rows or columns by their places, if they have another order there than in the
/// document: a style may turn it. Returns false if that changes nothing.
fn sort_arranged(nodes: &[CapturedNode], parent: usize, children: &mut Vec<usize>, sized: &[bool]) -> bool {
    let own = nodes.get(parent).and_then(|node| node.layout.as_ref()).filter(|own| own.is_arranged);
    let Some(own) = own else { return false };
    let (mut placed, mut others) = (Vec::new(), Vec::new());
    for child in children.iter().copied() {
        let layout = nodes.get(child).and_then(|node| node.layout.as_ref());
        let is_empty = sized.get(child) != Some(&true);
        match layout {
            _ if is_empty => others.push(child),
            // What is placed elsewhere may be in front of the others.
            Some(layout) if layout.look.is_absolute || layout.look.is_fixed => return false,
            // Without a size, it has its place among the others: what is in it may be placed elsewhere.
            Some(layout) => placed.push((child, TextBox::of(layout).mirrored(own.is_right_to_left))),
            // What is in an element without a box has a place of its own.
            None => return false,
        }
    }
    let is_order = |order: &[usize]| order.iter().eq(placed.iter().map(|(child, _)| child));
    let Some(order) = in_rows(placed.clone()) else { return false };
    let turned = placed.iter().map(|(child, own)| (*child, own.transposed())).collect();
    if is_order(&order) || in_rows(turned).is_some_and(|order| is_order(&order)) {
        return false;
    }
    *children = order;
    children.append(&mut others);
    true
}

/// Returns the children with these boxes in the order of rows, from above to below and from the left to the right. Returns `None` if they are
/// in no rows.
fn in_rows(mut placed: Vec<(usize, TextBox)>) -> Option<Vec<usize>> {
    // What has no height is above what begins at the same place.
    placed.sort_by(|(_, one), (_, other)| one.y.total_cmp(&other.y).then(one.height.total_cmp(&other.height)));
    let mut rows: Vec<(f64, Vec<(usize, TextBox)>)> = Vec::new();
    for (child, own) in placed {
        // Boxes that touch may overlap by a part of a pixel.
        match rows.last_mut().filter(|(bottom, _)| own.y < bottom - 1.0) {
            Some((bottom, row)) => {
                *bottom = bottom.max(own.y + own.height);
                row.push((child, own));
            }
            None => rows.push((own.y + own.height, vec![(child, own)])),
        }
    }
    let mut order = Vec::new();
    for (_, mut row) in rows {
        row.sort_by(|(_, one), (_, other)| one.x.total_cmp(&other.x));
        if !row.is_sorted_by(|(_, one), (_, other)| one.x + one.width <= other.x + 1.0) {
            return None;
        }
        order.extend(row.into_iter().map(|(child, _)| child));
    }
    Some(order)
}

/// Gives the first letter of a text back to it: a style that is only for that letter makes an element of it.
fn join_first_letters(nodes: &mut [CapturedNode]) {
    for at in 0..nodes.len() {
        let Some((letter, behind)) = nodes.get_mut(at..).and_then(<[_]>::split_first_mut) else { return };
        if letter.tag != "::first-letter" {
            continue;
        }
        let around = letter.parent;
        let mut inside = behind.iter_mut().take(MAX_BEFORE_TEXT).take_while(|node| node.parent >= around);
        if let Some(text) = inside.find(|node| node.is_text && node.layout.is_some()) {
            text.text.insert_str(0, &std::mem::take(&mut letter.text));
            // A text of one letter has no box of its own left.
            if text.layout.as_ref().is_some_and(|own| own.width <= 0.0) {
                text.layout.clone_from(&letter.layout);
            }
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

/// Returns the names of the attributes of a capture in the order of their texts, and the place of each among them.
fn attribute_names(raw: &RawCapture) -> (Vec<i64>, HashMap<i64, usize>) {
    let text = |name: i64| string(&raw.strings, name);
    let nodes = raw.documents.iter().flat_map(|document| &document.nodes.attributes);
    let all: HashSet<i64> = nodes.flat_map(|own| own.chunks_exact(2)).filter_map(<[_]>::first).copied().collect();
    let mut all: Vec<i64> = all.into_iter().collect();
    all.sort_by(|one, other| text(*one).cmp(text(*other)));
    let (mut names, mut places): (Vec<i64>, _) = (Vec::new(), HashMap::new());
    for name in all {
        if names.last().is_none_or(|last| text(*last) != text(name)) {
            names.push(name);
        }
        places.insert(name, names.len() - 1);
    }
    (names, places)
}

/// Returns the attributes of a node in the order of their names, of which each has a place in that: a page may give one node thousands, and
/// each node in it may be looked at by them. The first of several with one name counts.
fn attributes(own: &[i64], places: &HashMap<i64, usize>) -> Vec<(usize, i64)> {
    let pairs = own.chunks_exact(2).filter_map(|pair| Some((*places.get(pair.first()?)?, *pair.last()?)));
    let mut attributes: Vec<_> = pairs.collect();
    attributes.sort_by_key(|(name, _)| *name);
    attributes.dedup_by_key(|(name, _)| *name);
    attributes
}

/// Returns the value of an attribute of a node.
fn attribute<'a>(node: &CapturedNode, strings: &'a Strings, name: &str) -> Option<&'a str> {
    if node.attributes.is_empty() {
        return None;
    }
    let place = strings.names.binary_search_by(|known| string(&strings.table, *known).cmp(name)).ok()?;
    let found = node.attributes.binary_search_by_key(&place, |(name, _)| *name).ok()?;
    node.attributes.get(found).map(|(_, value)| string(&strings.table, *value))
}

/// Returns a string of the table of a capture; -1 stands for the empty one.
fn string(strings: &[String], index: i64) -> &str {
    usize::try_from(index).ok().and_then(|index| strings.get(index)).map_or("", String::as_str)
}

/// Kinds besides a click that show that a person could act on a node. Chromium itself tells which nodes take a click.
const POINTED: &[&str] =
    &["dblclick", "contextmenu", "pointerdown", "pointerup", "touchstart", "touchend", "drop", "dragenter", "dragover"];

/// Kinds by which a drag begins.
const PRESSED: &[&str] = &["mousedown", "pointerdown", "touchstart", "dragstart"];

/// Kinds that a pointer causes without a button.
const HOVERED: &[&str] = &["mouseenter", "mouseover", "mousemove", "pointerenter", "pointerover", "pointermove"];

/// Kinds by which a page scrolls what the browser does not.
const WHEELED: &[&str] = &["wheel", "mousewheel", "DOMMouseScroll", "touchmove"];

/// Number of kinds from which on a node is the root of a library that listens to everything, and tells nothing.
const ROOT: usize = 20;

/// Kinds of input that nodes listen to, by the ids of the nodes in their process.
#[derive(Clone, Debug, Default)]
pub struct PageListeners(HashMap<u64, HashSet<String>>);

/// Input that a node takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
pub(super) struct ListenedInput {
    /// True if a mouse click, or another press of a button, does something here.
    pub(super) is_clickable: bool,
    /// True if a drag can begin here.
    pub(super) is_pressed: bool,
    /// True if the pointer alone does something here.
    pub(super) is_hovered: bool,
    /// True if the page may scroll what is here.
    pub(super) is_wheeled: bool,
}

impl PageListeners {
    /// Adds a kind of input that a node listens to.
    pub fn add(&mut self, node: u64, kind: &str) {
        self.0.entry(node).or_default().insert(kind.to_owned());
    }

    /// Returns the input that a node takes, which may take a click.
    pub(super) fn input(&self, node: u64, is_clickable: bool) -> ListenedInput {
        let Some(kinds) = self.0.get(&node) else { return ListenedInput { is_clickable, ..ListenedInput::default() } };
        if kinds.len() >= ROOT {
            return ListenedInput::default();
        }
        let has = |known: &[&str]| known.iter().any(|kind| kinds.contains(*kind));
        ListenedInput {
            is_clickable: is_clickable || has(POINTED),
            is_pressed: has(PRESSED),
            is_hovered: has(HOVERED),
            is_wheeled: has(WHEELED),
        }
    }
}

/// Types of `<input>` into which nobody types a text.
const UNTYPED: &[&str] =
    &["button", "checkbox", "color", "file", "hidden", "image", "radio", "range", "reset", "submit"];

/// Part of the light that a color keeps if nobody sees it.
const MIN_ALPHA: f64 = 0.05;

/// Maximum difference of two channels of colors that nobody tells apart.
const SAME: u8 = 10;

/// Look of an element by which nothing of it, or of what is in it, may be seen.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
pub(super) struct Paint {
    /// Part of the light that passes through it, from 0 to 1.
    pub(super) transparency: f64,
    /// True if a change of its look takes time.
    pub(super) is_faded: bool,
    /// True if it is cut to nothing.
    pub(super) is_cut: bool,
    /// True if it is placed over what is around it.
    pub(super) is_absolute: bool,
    /// True if it stays where it is in the window.
    pub(super) is_fixed: bool,
    /// True if what is in it may be placed by its box.
    pub(super) is_positioned: bool,
    /// Color of its text, in the form of computed styles.
    pub(super) text_color: String,
    /// True if its background is a picture, or is seen in its letters alone.
    pub(super) has_picture: bool,
    /// True if its letters have neither an inside nor edges, if it is in a drawing.
    pub(super) has_no_ink: bool,
    /// True if a line goes through its text.
    pub(super) is_struck: bool,
    /// Role of a text that is above or below the line of what is around it.
    pub(super) script: Option<&'static str>,
    /// True if its font draws pictures for words.
    pub(super) has_icon_font: bool,
    /// Position in the order of painting. What is behind the flow of its document has one as if it were in front of that.
    pub(super) order: i64,
    /// True if it is behind the flow of the layer that it is in.
    pub(super) is_behind_flow: bool,
    /// True if it is a layer in front of the flow of what is around it.
    pub(super) is_layer: bool,
    /// True if it shows dots in place of letters.
    pub(super) has_dots: bool,
    /// True if a shape may cut off a part of it.
    pub(super) has_clip_path: bool,
    /// True if it stays in the window as long as what is around it does.
    pub(super) is_sticky: bool,
    /// True if what stays where it is in the window does so in this element instead.
    pub(super) holds_fixed: bool,
    /// True if its look changes by itself, now or later.
    pub(super) is_animated: bool,
    /// The same part of the light if no animation changes it.
    pub(super) still_transparency: f64,
    /// Directions of its sides, unless these are straight and of the usual size.
    pub(super) turned: Option<Box<Orientation>>,
    /// True if its sides have other directions, which are not known.
    pub(super) is_turned_somehow: bool,
    /// Size of its pixels in what is around it; 0 if nothing says so.
    pub(super) zoom: f64,
    /// Shape to which it is cut, if that is known.
    pub(super) clip_shape: Option<Box<ClipShape>>,
    /// Colors of the edges and shadows of its letters.
    pub(super) edge_colors: Vec<String>,
}

impl Paint {
    /// Returns true if its look is that without an animation.
    fn is_still(&self) -> bool {
        self.transparency >= self.still_transparency
    }

    /// Returns the look that computed styles tell, each by its place in [`STYLES`], with the place in the order of painting.
    fn of<'a>(style: &impl Fn(usize) -> &'a str, order: i64) -> Self {
        let is_each = |at: usize, wanted: &str| style(at).split(", ").all(|own| own == wanted);
        let (is_named, is_paused) = (!matches!(style(15), "none" | ""), is_each(35, "paused"));
        // One that takes no time shows what it does already.
        let is_animated = is_named && !is_each(36, "0s");
        let is_none = |at: usize| matches!(style(at), "none" | "");
        let turned = Orientation::of(style(30), style(31), style(38));
        let is_filled = style(20).is_empty() || !is_transparent(style(20));
        let has_edges = !matches!(style(21), "0px" | "");
        let opacity = style(10).parse::<f64>().ok();
        let still_transparency = opacity.map_or(0.0, |opacity| 1.0 - opacity.clamp(0.0, 1.0) * filtered(style(24)));
        Self {
            // What is animated may be about to appear.
            transparency: if !is_animated || is_paused { still_transparency } else { 0.0 },
            still_transparency,
            is_faded: style(16).split(", ").any(|time| !matches!(time, "0s" | "")) || is_animated && is_paused,
            is_cut: is_cut(if matches!(style(13), "absolute" | "fixed") { style(11) } else { "" }, style(12))
                || is_masked(style(25)),
            is_absolute: style(13) == "absolute",
            is_fixed: style(13) == "fixed",
            is_positioned: !matches!(style(13), "static" | ""),
            // Letters without a filling may be drawn by their edges.
            text_color: match (style(20), style(40)) {
                (_, edge) if !is_filled && has_edges && !edge.is_empty() => edge,
                ("", _) => style(14),
                (_, "") if !is_filled && has_edges => style(14),
                (fill, _) => fill,
            }
            .to_owned(),
            edge_colors: edge_colors(if has_edges { style(40) } else { "" }, style(41)),
            has_picture: !matches!(style(7), "none" | "") || style(22) == "text" && !is_transparent(style(6)),
            has_no_ink: [9, 23].iter().all(|paint| !style(*paint).is_empty() && is_transparent(style(*paint))),
            is_struck: style(26).contains("line-through"),
            script: match style(27) {
                "super" => Some("superscript"),
                "sub" => Some("subscript"),
                _ => None,
            },
            has_icon_font: is_icon_font(style(18)),
            order,
            is_behind_flow: style(19).starts_with('-'),
            is_layer: style(13) == "fixed" || (style(13) != "static" && style(19).parse::<u32>().is_ok()),
            has_dots: !is_none(34),
            // One without a distance on any side leaves all of a box.
            has_clip_path: !is_none(12) && style(12) != "inset(0px)",
            is_sticky: style(13) == "sticky",
            holds_fixed: [24, 30, 31].iter().any(|at| !is_none(*at))
                || ["transform", "filter", "perspective"].iter().any(|name| style(37).contains(name)),
            is_animated,
            is_turned_somehow: turned.is_none(),
            turned: turned.filter(|turned| *turned != Orientation::default()).map(Box::new),
            zoom: style(39).parse().unwrap_or_default(),
            clip_shape: ClipShape::parse(style(12)).map(Box::new),
        }
    }
}

/// Maximum number of shadows of letters that are read.
const MAX_SHADOWS: usize = 8;

/// Returns the colors in which a computed `text-shadow` and the edges of letters show these, if their inside does not.
fn edge_colors(edge: &str, shadow: &str) -> Vec<String> {
    let mut colors = Vec::new();
    if !is_transparent(edge) {
        colors.push(edge.to_owned());
    }
    if !matches!(shadow, "none" | "") {
        // A color is the first of a shadow, and has a blank behind it.
        let shadows = shadow.split("rgb").skip(1).take(MAX_SHADOWS);
        let known = shadows.filter_map(|shadow| Some(format!("rgb{})", shadow.split_once(')')?.0)));
        colors.extend(known.filter(|color| !is_transparent(color)));
        if shadow.len() > MAX_EFFECT || !shadow.contains("rgb") {
            colors.push("unknown".to_owned());
        }
    }
    colors
}

/// Returns true for a `display` of a part of a table that is no box of its content.
fn is_table_part(display: &str) -> bool {
    display.starts_with("table-") && !matches!(display, "table-cell" | "table-caption")
}

/// Maximum length of a `filter` or a `mask-image` that is read, in bytes: each node may have a long one.
const MAX_EFFECT: usize = 500;

/// Returns the part of the light that a computed `filter` leaves.
fn filtered(filter: &str) -> f64 {
    if filter.len() > MAX_EFFECT {
        return 1.0;
    }
    let parts = filter.split("opacity(").skip(1).filter_map(|part| part.split(')').next()?.parse::<f64>().ok());
    parts.map(|part| part.clamp(0.0, 1.0)).product()
}

/// Returns true if a computed `mask-image` leaves nothing of an element: it has no other colors than transparent ones.
fn is_masked(image: &str) -> bool {
    if image.len() > MAX_EFFECT || !image.contains("-gradient(") {
        return false;
    }
    let mut parts = image.split('(');
    let Some(mut before) = parts.next() else { return false };
    let mut has_color = false;
    for part in parts {
        let name = before.rsplit([' ', ',', ')']).next().unwrap_or_default();
        before = part;
        match name {
            "rgba" => {
                let color = part.split(')').next().unwrap_or_default();
                has_color = is_transparent(&format!("rgba({color})"));
                if !has_color {
                    return false;
                }
            }
            "calc" => {}
            _ if name.ends_with("-gradient") => {}
            _ => return false,
        }
    }
    has_color
}

/// Maximum number of elements around another one with which it is turned.
const MAX_TURNED: usize = 20;

/// Way in which an element is turned in space.
#[derive(Clone, Copy)]
struct Turn {
    /// Places of a step to the right, one down, and one to the front.
    axes: [[f64; 3]; 3],
    /// True if nobody sees its back.
    hides_back: bool,
    /// True if what is in it is turned with it in space.
    is_deep: bool,
    /// True if nothing else turns it.
    is_known: bool,
}

impl Turn {
    /// Returns the turn that computed styles tell, each by its place in [`STYLES`], if it decides what of an element is seen.
    fn of<'a>(style: &impl Fn(usize) -> &'a str) -> Option<Self> {
        let (hides_back, is_deep) = (style(28) == "hidden", style(29) == "preserve-3d");
        let axes = if hides_back || is_deep { axes(style(30)) } else { return None };
        let is_known = axes.is_some() && [15, 31].iter().all(|other| matches!(style(*other), "none" | ""));
        Some(Self { axes: axes.unwrap_or_default(), hides_back, is_deep, is_known })
    }

    /// Returns the turn of an element in this one.
    fn with(self, inner: Self) -> Self {
        let [x, y, z] = self.axes;
        let sum = |step: [f64; 3], at: fn([f64; 3]) -> f64| step[0] * at(x) + step[1] * at(y) + step[2] * at(z);
        let turned = |step| [sum(step, |axis| axis[0]), sum(step, |axis| axis[1]), sum(step, |axis| axis[2])];
        Self { axes: inner.axes.map(turned), is_known: self.is_known && inner.is_known, ..inner }
    }

    /// Returns true if a person has the back before them.
    fn is_back(&self) -> bool {
        let [x, y, z] = self.axes;
        let seen = x[0] * y[1] - x[1] * y[0];
        let size = x[0] * (y[1] * z[2] - y[2] * z[1]) - x[1] * (y[0] * z[2] - y[2] * z[0])
            + x[2] * (y[0] * z[1] - y[1] * z[0]);
        self.is_known && seen * size < -1e-9
    }
}

/// Returns the places to which a computed `transform` moves a step to the right, one down, and one to the front.
fn axes(transform: &str) -> Option<[[f64; 3]; 3]> {
    if matches!(transform, "none" | "") {
        return Some([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    }
    let numbers = transform.strip_prefix("matrix3d(").or_else(|| transform.strip_prefix("matrix("))?;
    let numbers: Option<Vec<f64>> = numbers.strip_suffix(')')?.split(", ").map(|number| number.parse().ok()).collect();
    let numbers = numbers?;
    let axis = |from: usize, length: usize| {
        let mut own = numbers.get(from..from + length)?.iter().copied();
        Some([own.next()?, own.next()?, own.next().unwrap_or_default()])
    };
    match numbers.len() {
        6 => Some([axis(0, 2)?, axis(2, 2)?, [0.0, 0.0, 1.0]]),
        16 => Some([axis(0, 3)?, axis(4, 3)?, axis(8, 3)?]),
        _ => None,
    }
}

/// Notes that nobody sees the elements of which only the back could be seen, as that of a card. What is around them may turn them too.
fn hide_backs(nodes: &mut [CapturedNode], turns: &HashMap<usize, Turn>) {
    for (position, turn) in turns.iter().filter(|(_, turn)| turn.hides_back) {
        let parent = |at: usize| nodes.get(at).and_then(|node| node.parent);
        let around = std::iter::successors(parent(*position), |at| parent(*at)).take(MAX_TURNED);
        let around = around.map_while(|at| turns.get(&at).filter(|around| around.is_deep));
        let is_back = around.fold(*turn, |turn, around| around.with(turn)).is_back();
        if let Some(layout) = nodes.get_mut(*position).and_then(|node| node.layout.as_mut()) {
            layout.look.is_cut |= is_back;
        }
    }
}

/// Returns true if the computed `clip` or `clip-path` leaves nothing of an element.
pub(super) fn is_cut(clip: &str, path: &str) -> bool {
    let numbers = |text: &str, name: &str, unit: &str| -> Option<Vec<Option<f64>>> {
        let parts = text.strip_prefix(name)?.strip_suffix(')')?.split([' ', ',']).filter(|part| !part.is_empty());
        Some(parts.map(|part| part.strip_suffix(unit)?.parse().ok()).collect())
    };
    let rect = numbers(clip, "rect(", "px");
    let is_rect_empty = matches!(
        rect.as_deref(),
        Some([Some(top), Some(right), Some(bottom), Some(left)]) if bottom <= top || right <= left
    );
    let is_inset_empty = numbers(path, "inset(", "%").is_some_and(|sides| {
        let side = |at: usize, or: usize| {
            sides.get(at).or(sides.get(or)).or(sides.first()).copied().flatten().unwrap_or_default()
        };
        side(0, 0) + side(2, 0) >= 100.0 || side(1, 0) + side(3, 1) >= 100.0
    });
    is_rect_empty || is_inset_empty || path.starts_with("circle(0px") || path.starts_with("circle(0%")
}

/// Returns true if nobody tells two computed colors apart, both of which hide what is behind them.
pub(super) fn is_same_color(one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) = (opaque(one), opaque(other)) else { return false };
    one.iter().zip(other).all(|(one, other)| one.abs_diff(other) <= SAME)
}

/// Returns the channels of a computed color that hides what is behind it.
pub(super) fn opaque(color: &str) -> Option<[u8; 3]> {
    channels(color.strip_prefix("rgb(")?)
}

/// Returns the first three channels of a computed color, behind its opening parenthesis.
fn channels(inner: &str) -> Option<[u8; 3]> {
    let mut channels = inner.strip_suffix(')')?.split(", ").map(str::parse::<u8>);
    let mut channel = || channels.next()?.ok();
    Some([channel()?, channel()?, channel()?])
}

/// Fonts that draw pictures for letters, and do not say so in their name.
const PICTURE_FONTS: &[&str] = &["etmodules", "star", "webdings", "wingdings", "woocommerce"];

/// Returns true if the first of these fonts draws pictures for words, as Material Icons does.
fn is_icon_font(families: &str) -> bool {
    let first = families.split(',').next().unwrap_or_default().trim().trim_matches('"').to_ascii_lowercase();
    first.contains("icon") || first.contains("symbols") || PICTURE_FONTS.contains(&first.as_str())
}

/// Elements that draw a shape.
pub(super) const SHAPES: &[&str] =
    &["circle", "ellipse", "image", "line", "path", "polygon", "polyline", "rect", "text"];

/// Returns true if an element with these computed styles can be seen even if it is empty.
pub(super) fn is_painted(background: &str, picture: &str, border: &str) -> bool {
    !is_transparent(background) || !matches!(picture, "none" | "") || !matches!(border, "0px" | "")
}

/// Returns a computed color that can be seen, as `#rrggbb`.
pub(super) fn hex(color: &str) -> Option<String> {
    let color = Some(color).filter(|color| !is_transparent(color))?;
    let [red, green, blue] = channels(color.strip_prefix("rgba(").or_else(|| color.strip_prefix("rgb("))?)?;
    Some(format!("#{red:02x}{green:02x}{blue:02x}"))
}

pub(super) fn is_transparent(color: &str) -> bool {
    let alpha = || color.strip_prefix("rgba(")?.strip_suffix(')')?.rsplit(", ").next()?.parse::<f64>().ok();
    matches!(color, "" | "none" | "transparent") || alpha().is_some_and(|alpha| alpha <= MIN_ALPHA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_leaves_nothing_if_two_opposite_sides_meet() {
        for (clip, path) in [
            ("rect(0px, 0px, 0px, 0px)", "none"),
            ("rect(1px 1px 1px 1px)", "none"),
            ("auto", "inset(50%)"),
            ("auto", "inset(100%)"),
            ("auto", "inset(0px 0px 100%)"),
            ("auto", "inset(0px 60% 0px 40%)"),
            ("auto", "circle(0px at 50% 50%)"),
        ] {
            assert!(is_cut(clip, path), "{clip} {path}");
        }
        for (clip, path) in [
            ("auto", "none"),
            ("rect(0px, 90px, 90px, 0px)", "none"),
            ("rect(auto, 0px, auto, auto)", "none"),
            ("auto", "inset(10% 20%)"),
            ("auto", "inset(0px round 50%)"),
            ("auto", "circle(40px)"),
            ("", ""),
        ] {
            assert!(!is_cut(clip, path), "{clip} {path}");
        }
    }

    #[test]
    fn mask_leaves_nothing_if_its_colors_are_transparent() {
        for image in [
            "linear-gradient(rgba(0, 0, 0, 0), rgba(0, 0, 0, 0))",
            "linear-gradient(to right, rgba(9, 9, 9, 0), rgba(0, 0, 0, 0.02) calc(50% - 2px))",
            "radial-gradient(circle, rgba(0, 0, 0, 0) 20%, rgba(0, 0, 0, 0)), linear-gradient(rgba(0, 0, 0, 0), rgba(0, 0, 0, 0))",
        ] {
            assert!(is_masked(image), "{image}");
        }
        for image in [
            "none",
            "",
            "linear-gradient(rgb(0, 0, 0), rgba(0, 0, 0, 0))",
            "linear-gradient(rgba(0, 0, 0, 0.5), rgba(0, 0, 0, 0))",
            "linear-gradient(rgba(0, 0, 0, 0), rgba(0, 0, 0, 0)), url(\"a(b.svg\")",
            "url(\"data:image/svg+xml,rgba(0, 0, 0, 0)\")",
            "linear-gradient(color(srgb 0 0 0 / 0), rgba(0, 0, 0, 0))",
        ] {
            assert!(!is_masked(image), "{image}");
        }
        assert!(filtered("blur(2px) opacity(0)") < 0.01 && filtered("none") > 0.99 && filtered("opacity(0.5)") > 0.4);
    }

    #[test]
    fn back_of_an_element_is_seen_if_it_is_turned_once() {
        const BACK: &str = "matrix3d(-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1)";
        let turn = |transform, rotate| {
            let style = move |at: usize| match at {
                28 => "hidden",
                29 => "preserve-3d",
                30 => transform,
                31 => rotate,
                _ => "none",
            };
            Turn::of(&style).expect("a turn")
        };
        let [front, back] = ["none", BACK].map(|transform| turn(transform, "none"));
        assert!(back.is_back() && back.with(front).is_back() && front.with(back).is_back());
        assert!(!front.is_back() && !back.with(back).is_back(), "turned twice");
        for flat in ["matrix(-1, 0, 0, 1, 0, 0)", "matrix(-1, 0, 0, -1, 5, 5)", "rotate(3deg)"] {
            assert!(!turn(flat, "none").is_back(), "{flat}");
        }
        assert!(!turn(BACK, "y 180deg").is_back(), "turned by something else too");
        assert!(Turn::of(&|_: usize| "none").is_none());
    }

    #[test]
    fn styles_have_their_places() {
        for (place, name) in [
            (17, "content-visibility"),
            (32, "white-space-collapse"),
            (33, "direction"),
            (34, "-webkit-text-security"),
            (35, "animation-play-state"),
            (36, "animation-duration"),
            (37, "will-change"),
            (38, "scale"),
            (39, "zoom"),
            (40, "-webkit-text-stroke-color"),
            (41, "text-shadow"),
        ] {
            assert_eq!(STYLES[place], name);
        }
    }

    /// Returns the order of the children of an element that arranges them, with these left and upper edges and sizes. What has no height has
    /// a box in it that is placed elsewhere.
    fn arranged(places: &[[f64; 4]], is_right_to_left: bool) -> Vec<usize> {
        let layout = |[x, y, width, height]: [f64; 4]| Layout { x, y, width, height, ..Layout::default() };
        let around = Layout { is_arranged: true, is_right_to_left, ..layout([0.0, 0.0, 900.0, 900.0]) };
        let child = |place| CapturedNode { parent: Some(0), layout: Some(layout(place)), ..CapturedNode::default() };
        let mut nodes = vec![CapturedNode { layout: Some(around), ..CapturedNode::default() }];
        nodes.extend(places.iter().copied().map(child));
        let mut children: Vec<_> = (1..nodes.len()).collect();
        for parent in children.iter().filter(|child| places[**child - 1][3] == 0.0) {
            nodes.push(CapturedNode { parent: Some(*parent), ..child([-9999.0, 0.0, 50.0, 20.0]) });
        }
        sort_arranged(&nodes, 0, &mut children, &sized(&nodes));
        children
    }

    #[test]
    fn order_of_styles_is_that_of_the_places() {
        let row = |x| [x, 0.0, 50.0, 20.0];
        let column = |y| [0.0, y, 50.0, 20.0];
        assert_eq!(arranged(&[column(40.0), column(20.0), column(0.0)], false), [3, 2, 1], "column-reverse");
        assert_eq!(arranged(&[row(50.0), row(0.0)], false), [2, 1], "row-reverse");
        assert_eq!(arranged(&[row(50.0), row(0.0)], true), [1, 2], "lines begin at the right");
        assert_eq!(arranged(&[row(0.0), row(50.0)], true), [2, 1]);
        let cell = |x, y| [x, y, 50.0, 20.0];
        let columns = [cell(0.0, 0.0), cell(0.0, 20.0), cell(50.0, 0.0), cell(50.0, 20.0)];
        assert_eq!(arranged(&columns, false), [1, 2, 3, 4], "columns are read one by one");
        assert_eq!(arranged(&[columns[3], columns[0], columns[2], columns[1]], false), [2, 3, 4, 1]);
        let beside = [[60.0, 0.0, 50.0, 20.0], [60.0, 20.0, 50.0, 20.0], [0.0, 0.0, 50.0, 40.0]];
        assert_eq!(arranged(&beside, false), [1, 2, 3], "no rows");
        assert_eq!(arranged(&[row(50.0), [0.0, 0.0, 0.0, 20.0], row(0.0)], false), [3, 1, 2], "one shows nothing");
        let placed_elsewhere = [0.0, 20.0, 50.0, 0.0];
        assert_eq!(arranged(&[column(20.0), placed_elsewhere, column(0.0)], false), [3, 2, 1], "one has no height");
    }

    #[test]
    fn text_begins_and_ends_where_its_lines_do() {
        let strings = ["DIV", "#text", "a b", "block"];
        let capture = serde_json::json!({ "strings": strings, "documents": [{
            "nodes": { "parentIndex": [-1, 0], "nodeType": [1, 3], "nodeName": [0, 1], "nodeValue": [-1, 2], "backendNodeId": [1, 2] },
            "layout": { "nodeIndex": [0, 1], "bounds": [[0, 0, 90, 40], [105, 10, 50, 40]], "styles": [[3], [3]], "text": [-1, 2] },
            // The second line is the first in the order of sight.
            "textBoxes": { "layoutIndex": [1, 1, 1], "bounds": [[5, 30, 20, 20], [15, 10, 40, 20], [55, 10, 0, 20]], "start": [2, 0, 1] },
        }] });
        let documents = Document::parse_all(&capture.to_string(), &|_| {}).expect("a capture");
        let ends = documents[0].nodes[1].ends.as_deref().map(|ends| ends.map(|end| (end.x, end.y, end.width)));
        assert_eq!(ends, Some([(115.0, 10.0, 40.0), (105.0, 30.0, 20.0)]));
        assert_eq!(documents[0].nodes[0].ends, None, "control");
    }

    #[test]
    fn signs_and_units_of_numbers_are_read() {
        // An element with a text, before and behind which a style puts these.
        let read = |before: &str, text: &str, after: &str| {
            let node = |tag: &str, text: &str, parent| CapturedNode {
                tag: tag.to_owned(),
                text: text.to_owned(),
                is_text: tag == "#text",
                parent,
                layout: Some(Layout::default()),
                ..CapturedNode::default()
            };
            let mut nodes = vec![
                node("span", "", None),
                node("::before", before, Some(0)),
                node("#text", text, Some(0)),
                node("::after", after, Some(0)),
                node("#text", "7", None),
            ];
            note_styled(&mut nodes);
            [nodes[1].is_styled, nodes[3].is_styled]
        };
        assert_eq!(read("$", "49", " \u{20ac}"), [true, true]);
        assert_eq!(read("", "25", "%"), [false, true]);
        assert_eq!(read("-", "120.00", ""), [true, false]);
        assert_eq!(read("\u{2212}", "$5", ""), [true, false]);
        assert_eq!(read("(", "1,234.50", ")"), [true, true]);
        assert_eq!(read("+", "99", "+"), [true, true]);
        assert_eq!(read("-", "Tea", ""), [false, false], "a mark of a list");
        assert_eq!(read("(", "a", ")"), [false, false]);
        assert_eq!(read("", "Chapter 1", "+"), [false, false], "what opens a part");
        assert_eq!(read("+", "", "+"), [false, false], "nothing beside it");
        assert_eq!(read("*", "49", ":"), [false, false], "other marks");
    }

    #[test]
    fn first_of_several_attributes_with_one_name_counts() {
        let strings = ["id", "DIV", "a", "class", "b", "id", "c", ""];
        let capture = serde_json::json!({ "strings": strings, "documents": [{ "nodes": {
            "parentIndex": [-1, 0, 0], "nodeType": [1, 1, 1], "nodeName": [1, 1, 1], "backendNodeId": [1, 2, 3],
            "attributes": [[3, 4, 5, 2, 0, 6], [0, 6, 9], [7, 4, -1, 2, 0, -1]],
        } }] });
        let documents = Document::parse_all(&capture.to_string(), &|_| {}).expect("a capture");
        let attribute = |node: usize, name| documents[0].attribute(&documents[0].nodes[node], name);
        assert_eq!(["id", "class", "a", ""].map(|name| attribute(0, name)), [Some("a"), Some("b"), None, None]);
        assert_eq!(["id", "class"].map(|name| attribute(1, name)), [Some("c"), None], "a name without a value");
        assert_eq!(["", "id"].map(|name| attribute(2, name)), [Some("b"), Some("")]);
    }

    #[test]
    fn colors_are_the_same_if_nobody_tells_them_apart() {
        assert!(is_same_color("rgb(255, 255, 255)", "rgb(250, 255, 251)"));
        assert!(!is_same_color("rgb(255, 255, 255)", "rgb(200, 255, 255)"));
        assert!(!is_same_color("rgb(255, 255, 255)", "rgba(255, 255, 255, 0.5)"), "what is behind it is seen");
        assert!(!is_same_color("color(srgb 1 1 1)", "color(srgb 1 1 1)"), "an unknown form");
    }
}
