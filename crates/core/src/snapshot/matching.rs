//! Properties of an element that selectors ask for: its role, its name, its states, and the text that counts.

use super::accessibility::Accessible;
use super::capture::CapturedNode;
use super::describe::CLICKABLE;
use super::item::collapse;
use super::nodes::Nodes;
use crate::output::mask::{self, Literals};
use crate::selector::{RoleMatch, RoleState, StateMatch, StateValue};

/// Elements whose text nobody reads as one of the page: it is not shown, or is what a field holds.
const WITHOUT_TEXT: &[&str] = &[
    "audio", "embed", "head", "iframe", "input", "meter", "noscript", "object", "progress", "script", "style",
    "template", "textarea", "video",
];

/// Roles whose text is what they hold, not their name.
const FIELDS: &[&str] = &["combobox", "iframe", "searchbox", "slider", "spinbutton", "textbox"];

/// Roles of ARIA with two names.
const SYNONYMS: &[(&str, &str)] = &[("image", "img")];

impl Nodes<'_> {
    /// Returns true if the text below an element does not count, by the element itself or by one around it.
    pub(super) fn is_text_left_out(&self, position: usize, is_around: bool) -> bool {
        let Some(node) = self.node(position) else { return true };
        let is_edited_secret = || self.role(node) == "textbox" && mask::is_sensitive(&self.name(position));
        // Chromium shows a select box by elements of its own, of which the options are those of the page.
        WITHOUT_TEXT.contains(&node.tag.as_str())
            || node.tag == "select"
            || is_around && node.tag != "option"
            || self.is_secret(node)
            || is_edited_secret()
    }

    /// Returns the text of an `<input>` that is a button.
    pub(super) fn button_text<'n>(&self, node: &'n CapturedNode) -> Option<&'n str> {
        let is_button = node.tag == "input" && matches!(self.input_type(node).as_str(), "button" | "reset" | "submit");
        node.value.as_deref().filter(|_| is_button)
    }

    /// Returns true if an element has a role, name and states: those that it has by itself, or with which a snapshot shows it. `text`
    /// returns its text.
    pub(super) fn has_role(
        &self,
        wanted: &RoleMatch,
        position: usize,
        shown: Option<&(String, String)>,
        secrets: &Literals,
        text: impl Fn() -> String,
    ) -> bool {
        let Some(node) = self.node(position) else { return false };
        let role = self.role(node);
        let reason = self.reason(position, role);
        // A label stands for its control where that cannot be seen.
        let control = self.facts(position).control.filter(|_| node.tag == "label" && reason.is_some());
        let control =
            control.and_then(|control| self.node(control)).filter(|control| self.accessible(control).is_none());
        let described = control.unwrap_or(node);
        let accessible = self.accessible(described);
        let role = match control {
            Some(control) => self.role(control),
            None if reason.is_some() && role == "generic" => CLICKABLE,
            None => role,
        };
        let synonym =
            SYNONYMS.iter().find(|(name, _)| *name == wanted.role).map_or(wanted.role.as_str(), |(_, role)| role);
        let is_known = role == synonym && (accessible.is_some() || reason.is_some()) && role != "generic";
        if !is_known && shown.is_none_or(|(role, _)| role != synonym) {
            return false;
        }
        let has_state = |state: &StateMatch| has_state(state, accessible, described, self.is_disabled(described));
        if !wanted.states.iter().all(has_state) {
            return false;
        }
        if wanted.names.is_empty() {
            return true;
        }
        let mut name = self.name(position);
        if name.is_empty() && !FIELDS.contains(&role) {
            name = text();
        }
        let shown = shown.map(|(_, name)| name).filter(|name| !name.is_empty());
        [&name].into_iter().chain(shown).any(|name| {
            let name = secrets.mask_text(name);
            wanted.names.iter().all(|condition| condition.matches(&name, collapse))
        })
    }

    fn is_disabled(&self, node: &CapturedNode) -> bool {
        let is_field = matches!(node.tag.as_str(), "button" | "input" | "select" | "textarea" | "option");
        self.accessible(node).is_some_and(|accessible| accessible.is("disabled"))
            || is_field && self.document.attribute(node, "disabled").is_some()
    }
}

fn has_state(wanted: &StateMatch, accessible: Option<&Accessible>, node: &CapturedNode, is_disabled: bool) -> bool {
    let property = |name| accessible.and_then(|accessible| accessible.property(name));
    let is_value = |value: Option<&str>| match wanted.value {
        StateValue::True => value == Some("true"),
        StateValue::False => value == Some("false"),
        StateValue::Mixed => value == Some("mixed"),
        StateValue::Number(number) => value.and_then(|value| value.parse().ok()) == Some(number),
    };
    match wanted.state {
        // Without it, a box is as the document has it, and a button is up.
        RoleState::Checked => is_value(property("checked").or(Some(if node.is_checked { "true" } else { "false" }))),
        RoleState::Pressed => is_value(property("pressed").or(Some("false"))),
        RoleState::Expanded => is_value(property("expanded")),
        RoleState::Level => is_value(property("level")),
        // Chromium reports these only where they are on.
        RoleState::Disabled => is_disabled == (wanted.value == StateValue::True),
        RoleState::Selected => (property("selected") == Some("true")) == (wanted.value == StateValue::True),
    }
}
