//! Kinds of input that the nodes of a page listen to.

use std::collections::{HashMap, HashSet};

/// Kinds besides a click that show that a person could act on a node. Chromium itself tells which nodes take a click.
const POINTED: &[&str] =
    &["dblclick", "contextmenu", "pointerdown", "pointerup", "touchstart", "touchend", "drop", "dragenter", "dragover"];

/// Kinds by which a drag begins.
const PRESSED: &[&str] = &["mousedown", "pointerdown", "touchstart", "dragstart"];

/// Kinds that a pointer causes without a button.
const HOVERED: &[&str] = &["mouseenter", "mouseover", "mousemove", "pointerenter", "pointerover", "pointermove"];

/// Number of kinds from which on a node is the root of a library that listens to everything, and tells nothing.
const ROOT: usize = 20;

/// Kinds of input that nodes listen to, by the ids of the nodes in their process.
#[derive(Clone, Debug, Default)]
pub struct PageListeners(HashMap<u64, HashSet<String>>);

/// Input that a node takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ListenedInput {
    /// True if a mouse click, or another press of a button, does something here.
    pub(super) is_clickable: bool,
    /// True if a drag can begin here.
    pub(super) is_pressed: bool,
    /// True if the pointer alone does something here.
    pub(super) is_hovered: bool,
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
        ListenedInput { is_clickable: is_clickable || has(POINTED), is_pressed: has(PRESSED), is_hovered: has(HOVERED) }
    }
}
