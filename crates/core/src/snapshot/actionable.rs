//! Choice of the nodes that a person could act on.

use super::capture::CapturedNode;
use super::nodes::{Nodes, has_action_cursor, is_on};

/// Roles of controls.
const CONTROLS: &[&str] = &[
    "button",
    "checkbox",
    "combobox",
    "link",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
    "treeitem",
];

/// Minimum width and height of a place to which something is dragged, in CSS pixels.
const MIN_PLACE: f64 = 16.0;

/// Reason why a person could act on a node, from the surest to the least sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// It is a control of HTML or has the role of one.
    Control,
    /// It takes a click, the keyboard or a drag.
    Listener,
    /// The element around it takes input for it.
    Part,
    /// It has the cursor of something to act on.
    Cursor,
    /// It takes the pointer alone.
    Hover,
    /// It can be seen where something can be dragged.
    Place,
}

impl Nodes<'_> {
    /// Returns the reason why a person could act on a node, or `None` if nobody could.
    pub(super) fn reason(&self, position: usize, role: &str) -> Option<Reason> {
        let node = self.node(position)?;
        let facts = self.facts(position);
        if !node.is_element || facts.is_inert || facts.is_in_select {
            return None;
        }
        if matches!(node.tag.as_str(), "html" | "body") {
            // Editors in a frame of their own are its body.
            return self.is_edited(node).then_some(Reason::Control);
        }
        if node.tag == "area" && self.document.attribute(node, "href").is_some() {
            return Some(Reason::Control);
        }
        if facts.is_drawn {
            return Some(Reason::Control);
        }
        if !facts.is_visible || node.layout.as_ref().is_some_and(|layout| !layout.is_visible) {
            return None;
        }
        let attribute = |name| self.document.attribute(node, name);
        let index = attribute("tabindex").and_then(|index| index.trim().parse::<i32>().ok());
        let takes_pointer = node.layout.as_ref().is_none_or(|layout| layout.takes_pointer);
        let is_hidden = attribute("aria-hidden").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if is_hidden && !takes_pointer && index.is_some_and(|index| index < 0) {
            return None;
        }
        if self.is_native(node) || CONTROLS.contains(&role) {
            return Some(Reason::Control);
        }
        if !takes_pointer {
            return None;
        }
        if node.tag == "label" {
            // Its control is acted on, unless that cannot be seen. A press of it opens no list of options.
            let is_list = |control| self.node(control).is_some_and(|control| control.tag == "select");
            let control = facts.control.filter(|control| !is_list(*control)).map(|control| self.facts(control));
            return control.filter(|control| !control.is_visible && !control.is_inert).map(|_| Reason::Control);
        }
        // Of the parts of a widget, one takes the focus by the keyboard, and all by a press.
        let is_part = matches!(role, "columnheader" | "gridcell" | "row" | "rowheader");
        let takes_focus = index.is_some_and(|index| index >= 0 || is_part);
        // Everything in an editable element counts as clickable for Chromium.
        let takes_press = (node.input.is_clickable || node.input.is_pressed) && !facts.is_in_editable;
        if takes_focus || self.is_draggable(node) || takes_press {
            return Some(Reason::Listener);
        }
        if facts.group.is_some() {
            return Some(Reason::Part);
        }
        let layout = node.layout.as_ref()?;
        if facts.is_in_pointer || facts.is_in_label || facts.is_in_control {
            return None;
        }
        // What lies between columns is one more thing to act on where something takes a press.
        let is_divider = matches!(layout.cursor.as_str(), "col-resize" | "row-resize") && !facts.is_in_target;
        if has_action_cursor(layout) && !is_divider {
            return Some(Reason::Cursor);
        }
        if facts.is_in_target || facts.is_in_editable {
            return None;
        }
        if node.input.is_hovered {
            return Some(Reason::Hover);
        }
        let is_large = layout.width >= MIN_PLACE && layout.height >= MIN_PLACE;
        let is_place = self.has_drag && layout.is_painted && is_large && !layout.is_inline;
        is_place.then_some(Reason::Place)
    }

    /// Returns true if the element is a control, by its tag or its role.
    pub(super) fn is_control(&self, node: &CapturedNode) -> bool {
        self.is_native(node) || CONTROLS.contains(&self.role(node))
    }

    /// Returns true if the element is a control of HTML, or one without a role that takes input as a whole.
    fn is_native(&self, node: &CapturedNode) -> bool {
        let attribute = |name| self.document.attribute(node, name);
        match node.tag.as_str() {
            "button" | "select" | "textarea" | "summary" | "canvas" | "embed" | "object" => true,
            "input" => attribute("type").is_none_or(|kind| !kind.eq_ignore_ascii_case("hidden")),
            "a" => attribute("href").is_some() || attribute("xlink:href").is_some(),
            "audio" | "video" => attribute("controls").is_some(),
            _ => self.is_edited(node),
        }
    }

    /// Returns true if the element is an editor.
    fn is_edited(&self, node: &CapturedNode) -> bool {
        self.document.attribute(node, "contenteditable").is_some_and(is_on)
    }
}
