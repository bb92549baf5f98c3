//! Choice of the nodes that a person could act on.

use super::capture::Node;
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

/// Reason why a person could act on a node, from the surest to the least sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// It is a control of HTML or has the role of one.
    Control,
    /// It takes a click, the keyboard or a drag.
    Listener,
    /// It has the cursor of something to act on.
    Cursor,
}

impl Nodes<'_> {
    /// Returns the reason why a person could act on a node, or `None` if nobody could.
    pub(super) fn reason(&self, position: usize, role: &str) -> Option<Reason> {
        let node = self.node(position)?;
        let facts = self.facts(position);
        if !node.is_element || facts.is_inert || facts.is_in_select || matches!(node.tag.as_str(), "html" | "body") {
            return None;
        }
        if node.tag == "area" && self.document.attribute(node, "href").is_some() {
            return Some(Reason::Control);
        }
        if !facts.is_visible || node.layout.as_ref().is_some_and(|layout| !layout.is_visible) {
            return None;
        }
        if self.is_native(node) || CONTROLS.contains(&role) {
            return Some(Reason::Control);
        }
        if !node.layout.as_ref().is_none_or(|layout| layout.takes_pointer) {
            return None;
        }
        if node.tag == "label" {
            // Its control is acted on, unless that cannot be seen.
            let control = facts.control.map(|control| self.facts(control));
            return control.filter(|control| !control.is_visible && !control.is_inert).map(|_| Reason::Control);
        }
        let attribute = |name| self.document.attribute(node, name);
        let takes_focus =
            attribute("tabindex").is_some_and(|index| index.trim().parse::<i32>().is_ok_and(|index| index >= 0));
        let is_dragged = attribute("draggable").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        // Everything in an editable element counts as clickable for Chromium.
        if takes_focus || is_dragged || (node.is_clickable && !facts.is_in_editable) {
            return Some(Reason::Listener);
        }
        let has_cursor = node.layout.as_ref().is_some_and(has_action_cursor);
        (has_cursor && !facts.is_in_pointer && !facts.is_in_label).then_some(Reason::Cursor)
    }

    /// Returns true if the element is a control of HTML, or one without a role that takes input as a whole.
    fn is_native(&self, node: &Node) -> bool {
        let attribute = |name| self.document.attribute(node, name);
        match node.tag.as_str() {
            "button" | "select" | "textarea" | "summary" | "canvas" | "embed" | "object" => true,
            "input" => attribute("type").is_none_or(|kind| !kind.eq_ignore_ascii_case("hidden")),
            "a" => attribute("href").is_some() || attribute("xlink:href").is_some(),
            "audio" | "video" => attribute("controls").is_some(),
            _ => attribute("contenteditable").is_some_and(is_on),
        }
    }
}
