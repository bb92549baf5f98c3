//! Facts about the nodes of a document that depend on those around them.

use std::collections::HashMap;

use super::accessibility::{Accessibility, Accessible};
use super::capture::{Document, Layout, Node};

/// Elements that can be labeled.
const LABELED: &[&str] = &["button", "input", "meter", "output", "progress", "select", "textarea"];

/// Document with facts about its nodes.
pub(super) struct Nodes<'a> {
    pub(super) document: &'a Document,
    accessibility: &'a Accessibility,
    pub(super) facts: Vec<Facts>,
    ids: HashMap<&'a str, usize>,
    /// True if something can be dragged.
    pub(super) has_drag: bool,
}

/// Way in which an element takes input for its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// It takes a click on a part.
    Clicked,
    /// A drag, or another act that begins with a press, can begin on a part.
    Pressed,
}

/// Facts about a node.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
pub(super) struct Facts {
    /// True if a part of it can be seen.
    pub(super) is_visible: bool,
    /// True if it can be seen itself.
    has_box: bool,
    /// True if nothing below the node can be seen, because an element around it shows nothing.
    is_clipped: bool,
    /// True if input does not reach it.
    pub(super) is_inert: bool,
    /// True if it is in an element whose text can be edited.
    pub(super) is_in_editable: bool,
    /// True if an element around it has the cursor of something to act on.
    pub(super) is_in_pointer: bool,
    /// Labeled control of a label.
    pub(super) control: Option<usize>,
    /// True if it is in a list of options.
    pub(super) is_in_select: bool,
    /// True if it is in a label.
    pub(super) is_in_label: bool,
    /// True if an element around it takes input.
    pub(super) is_in_target: bool,
    /// Way in which the element around it takes input for it.
    pub(super) group: Option<Group>,
}

impl<'a> Nodes<'a> {
    /// Collects the facts about a document.
    pub(super) fn new(document: &'a Document, accessibility: &'a Accessibility) -> Self {
        let mut nodes = Self { document, accessibility, facts: Vec::new(), ids: document.ids(), has_drag: false };
        nodes.facts = nodes.inherited();
        nodes.add_visibility();
        nodes.add_controls();
        nodes.add_groups();
        nodes.has_drag = document.nodes.iter().any(|node| node.input.is_pressed || nodes.is_draggable(node));
        nodes
    }

    /// Returns true if the browser itself drags the element.
    pub(super) fn is_draggable(&self, node: &Node) -> bool {
        self.document.attribute(node, "draggable").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Returns the node of the accessibility tree.
    pub(super) fn accessible(&self, node: &Node) -> Option<&'a Accessible> {
        self.accessibility.get(node.id)
    }

    /// Returns true if the accessibility tree leaves the node out, although it could show it.
    pub(super) fn is_ignored(&self, node: &Node) -> bool {
        self.accessibility.is_ignored(node.id)
    }

    /// Returns the position of the element with an id.
    pub(super) fn position_of(&self, id: &str) -> Option<usize> {
        self.ids.get(id).copied()
    }

    /// Returns a node by its position.
    pub(super) fn node(&self, position: usize) -> Option<&'a Node> {
        self.document.nodes.get(position)
    }

    /// Returns the facts about a node.
    pub(super) fn facts(&self, position: usize) -> Facts {
        self.facts.get(position).copied().unwrap_or_default()
    }

    /// Returns the facts that come from the elements around each node.
    fn inherited(&self) -> Vec<Facts> {
        let modal = self.document.nodes.iter().position(|node| self.is_modal(node));
        let mut facts: Vec<Facts> = Vec::with_capacity(self.document.nodes.len());
        let mut in_modal = vec![false; self.document.nodes.len()];
        for (position, node) in self.document.nodes.iter().enumerate() {
            let parent = node.parent.and_then(|parent| self.node(parent));
            let around = node.parent.and_then(|parent| facts.get(parent)).copied().unwrap_or_default();
            let is_in_modal = modal.is_none_or(|modal| modal == position)
                || node.parent.and_then(|parent| in_modal.get(parent)).copied().unwrap_or_default();
            if let Some(place) = in_modal.get_mut(position) {
                *place = is_in_modal;
            }
            let parent_attribute = |name| parent.and_then(|parent| self.document.attribute(parent, name));
            facts.push(Facts {
                is_clipped: around.is_clipped || parent.is_some_and(shows_nothing),
                is_inert: around.is_inert && modal != Some(position)
                    || self.document.attribute(node, "inert").is_some()
                    || modal.is_some() && !is_in_modal,
                is_in_editable: around.is_in_editable || parent_attribute("contenteditable").is_some_and(is_on),
                is_in_pointer: parent.is_some_and(|parent| parent.layout.as_ref().is_some_and(has_action_cursor))
                    || parent.is_some_and(|parent| parent.layout.is_none()) && around.is_in_pointer,
                is_in_select: around.is_in_select || parent.is_some_and(|parent| parent.tag == "select"),
                is_in_target: around.is_in_target
                    || parent.is_some_and(|parent| parent.input.is_clickable || parent.input.is_pressed),
                is_in_label: around.is_in_label || parent.is_some_and(|parent| parent.tag == "label"),
                ..Facts::default()
            });
        }
        facts
    }

    /// Returns true if the element is a dialog that keeps input from everything else.
    fn is_modal(&self, node: &Node) -> bool {
        node.tag == "dialog"
            && node.layout.is_some()
            && self.accessible(node).is_some_and(|accessible| accessible.is("modal"))
    }

    fn add_visibility(&mut self) {
        let mut seen = vec![false; self.facts.len()];
        for (position, node) in self.document.nodes.iter().enumerate().rev() {
            let below = seen.get(position).copied().unwrap_or_default();
            let kind = if node.tag == "input" { self.document.attribute(node, "type") } else { None };
            let is_choice =
                kind.is_some_and(|kind| ["checkbox", "radio"].iter().any(|of| kind.eq_ignore_ascii_case(of)));
            let Some(facts) = self.facts.get_mut(position) else { continue };
            let is_beside = is_choice && node.layout.as_ref().is_some_and(is_off_page);
            facts.has_box = !facts.is_clipped && !is_beside && node.layout.as_ref().is_some_and(has_box);
            facts.is_visible = facts.has_box || below;
            if let (true, Some(parent)) = (facts.is_visible, node.parent.and_then(|parent| seen.get_mut(parent))) {
                *parent = true;
            }
        }
    }

    fn add_controls(&mut self) {
        let mut controls = Vec::new();
        for (position, node) in self.document.nodes.iter().enumerate() {
            let is_labeled = |node: &Node| {
                LABELED.contains(&node.tag.as_str()) && self.document.attribute(node, "type") != Some("hidden")
            };
            if node.tag == "label" {
                let named = self.document.attribute(node, "for").and_then(|id| self.ids.get(id)).copied();
                controls.extend(named.map(|control| (position, control)));
            } else if is_labeled(node) && self.facts(position).is_in_label {
                let mut around = node.parent;
                while let Some(label) = around.and_then(|around| self.node(around)) {
                    if label.tag == "label" {
                        controls.extend(around.map(|label| (label, position)));
                        break;
                    }
                    around = label.parent;
                }
            }
        }
        for (label, control) in controls {
            if let Some(facts) = self.facts.get_mut(label) {
                facts.control.get_or_insert(control);
            }
        }
    }
}

/// Returns true if a part of the box can be seen.
fn has_box(layout: &Layout) -> bool {
    layout.is_visible && layout.width > 0.0 && layout.height > 0.0
}

/// Returns true if the box is where no page can be scrolled to, as pages do with boxes that they draw themselves.
fn is_off_page(layout: &Layout) -> bool {
    layout.x + layout.width <= 0.0 || layout.y + layout.height <= 0.0
}

/// Returns true if the element hides everything below it. The overflow of the outermost elements is that of the window.
fn shows_nothing(node: &Node) -> bool {
    let is_empty = |layout: &Layout| layout.is_clipped && (layout.width <= 0.0 || layout.height <= 0.0);
    !matches!(node.tag.as_str(), "html" | "body") && node.layout.as_ref().is_some_and(is_empty)
}

/// Returns true if the cursor says that a person can act here.
pub(super) fn has_action_cursor(layout: &Layout) -> bool {
    layout.takes_pointer
        && (matches!(
            layout.cursor.as_str(),
            "pointer" | "grab" | "grabbing" | "move" | "crosshair" | "zoom-in" | "zoom-out"
        ) || layout.cursor.ends_with("-resize"))
}

/// Returns true if an attribute such as `contenteditable` is on.
pub(super) fn is_on(value: &str) -> bool {
    !value.eq_ignore_ascii_case("false")
}

/// Returns true if two boxes are the same, apart from borders.
pub(super) fn is_same_box(a: &Layout, b: &Layout) -> bool {
    const TOLERANCE: f64 = 4.0;
    let is_near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE;
    is_near(a.x, b.x)
        && is_near(a.y, b.y)
        && is_near(a.x + a.width, b.x + b.width)
        && is_near(a.y + a.height, b.y + b.height)
}
