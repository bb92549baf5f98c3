//! Elements that only repeat what is in them.

use super::actionable::Reason;
use super::capture::{CapturedNode, Layout};
use super::describe::CLICKABLE;
use super::fields::States;
use super::item::Item;
use super::nodes::is_same_box;

/// Roles of fields that fill what is around them.
const FIELDS: &[&str] = &["checkbox", "combobox", "radio", "searchbox", "spinbutton", "switch", "textbox"];

/// Returns true if an element is only the frame of one thing to act on. What is done to that reaches the element too.
pub(super) fn is_wrapper(node: &CapturedNode, name: &str, children: &[Item]) -> bool {
    let ([child], Some(layout)) = (children, &node.layout) else { return false };
    let is_around = child.layout.as_ref().is_some_and(|inner| is_same_box(layout, inner));
    let is_field = FIELDS.contains(&child.role.as_str());
    match child.reason {
        Some(_) if name.is_empty() => is_around || is_field,
        Some(Reason::Control) => child.name == name,
        _ => false,
    }
}

/// Removes the only thing to act on in a control, if a click on the control is one on that, and returns its states.
pub(super) fn take_inner(layout: Option<&Layout>, name: &str, children: &mut Vec<Item>) -> States {
    let ([child], Some(layout)) = (children.as_mut_slice(), layout) else { return States::new() };
    let (x, y) = (layout.x + layout.width / 2.0, layout.y + layout.height / 2.0);
    let is_in_middle = |inner: &Layout| {
        (inner.x..=inner.x + inner.width).contains(&x) && (inner.y..=inner.y + inner.height).contains(&y)
    };
    let is_named = child.name == name || (child.name.is_empty() && child.role == CLICKABLE);
    let is_same = child.reason.is_some() && is_named && child.layout.as_ref().is_some_and(is_in_middle);
    if !is_same || FIELDS.contains(&child.role.as_str()) || !child.children.is_empty() {
        return States::new();
    }
    let has_own_states = !child.name.is_empty();
    let states = std::mem::take(&mut child.states);
    children.clear();
    // Those of one without a name only say how to tell it from others.
    if has_own_states { states } else { States::new() }
}

/// Returns true if an element has nothing besides other things to act on, and what is done to those reaches it.
pub(super) fn is_carrier(children: &[Item]) -> bool {
    fn has_text(items: &[Item]) -> bool {
        items.iter().any(|item| item.node.is_none() && (!item.name.is_empty() || has_text(&item.children)))
    }
    !has_text(children) && children.iter().any(|child| child.has_reason(&|_| true))
}
