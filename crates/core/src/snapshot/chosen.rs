//! Elements that their class calls the chosen ones of several, as the current entry of a menu and a day of a calendar.

use std::collections::HashMap;

use serde_json::Value;

use super::capture::CapturedNode;
use super::describe::MAX_BESIDE;
use super::fields::States;
use super::nodes::{ClassWords, Nodes, is_chosen};

/// Number of words of a class that are compared with those of another one.
const MAX_WORDS: usize = 30;

/// Number of nodes of a grid that are searched for cells like a chosen one: a month has up to 42 days.
const MAX_GRID: usize = 600;

impl Nodes<'_> {
    /// Returns what the class of an element, or of the entry of a list or the cell that it is in, says about it: that it is the chosen one of
    /// several, or takes no press. What fills a cell that is selected is selected too.
    pub(super) fn class_state(&self, position: usize, states: &States) -> Option<(&'static str, Value)> {
        let node = self.node(position)?;
        let known = ["checked", "current", "disabled", "expanded", "pressed", "selected", "cursor"];
        if states.iter().any(|(name, _)| known.contains(name)) {
            return None;
        }
        let parent = node.parent.and_then(|parent| Some((parent, self.node(parent)?)));
        let cell = parent.filter(|(at, parent)| self.is_cell(parent) && self.is_filled_by(*at, parent, node));
        let cell = cell.map(|(_, cell)| cell);
        if cell.is_some_and(|cell| self.is_selected(cell)) {
            return Some(("selected", Value::Null));
        }
        let entry = parent.map(|(_, parent)| parent).filter(|parent| parent.tag == "li").or(cell);
        let parts = || std::iter::once(node).chain(entry);
        if parts().any(|node| self.class_words(node).is_disabled) {
            return Some(("class", "disabled".into()));
        }
        let chosen = parts().find(|node| self.class_words(node).is_chosen)?;
        let is_told = if cell.is_some_and(|cell| cell.id == chosen.id) {
            self.is_chosen_cell(chosen)
        } else {
            self.is_one_of_several(chosen, false)
                || self.has_plain_twin(chosen)
                || self.is_cell(chosen) && self.is_chosen_cell(chosen)
        };
        is_told.then_some(("active", Value::Null))
    }

    fn is_cell(&self, node: &CapturedNode) -> bool {
        node.tag == "td" || self.role(node) == "gridcell"
    }

    /// Returns true if an element is all that is in a cell.
    fn is_filled_by(&self, position: usize, cell: &CapturedNode, node: &CapturedNode) -> bool {
        let is_content = |(_, other): (usize, &CapturedNode)| {
            let is_told = other.is_element || other.is_text && !other.content_text.trim().is_empty();
            is_told && other.id != node.id && other.parent == Some(position) && !other.tag.starts_with("::")
        };
        let is_large =
            cell.layout.as_ref().zip(node.layout.as_ref()).is_none_or(|(cell, own)| own.width * 2.0 >= cell.width);
        is_large && !self.below(position).take(MAX_BESIDE).any(is_content)
    }

    /// Returns true if a cell like a chosen one is not chosen, in its row or its grid. A class that one cell of each row has is that of a
    /// column.
    fn is_chosen_cell(&self, cell: &CapturedNode) -> bool {
        let class = |node| self.document.attribute(node, "class").unwrap_or_default();
        let own = without_chosen(class(cell));
        let is_alike = |other| {
            let has = |word: &str| words(class(other)).any(|own| own == word);
            own.is_empty() || words(&own).any(has)
        };
        let Some(parent) = cell.parent else { return false };
        let row = self.node(parent).filter(|row| row.tag == "tr" || self.role(row) == "row");
        let grid = row.and_then(|row| row.parent).unwrap_or(parent);
        let is_row = |at: usize| match row {
            Some(row) => self.node(at).is_some_and(|other| other.parent == Some(grid) && other.tag == row.tag),
            None => at == parent,
        };
        let mut has_other = false;
        let mut rows: HashMap<usize, usize> = HashMap::new();
        for (_, other) in self.below(grid).take(MAX_GRID).filter(|(_, other)| other.is_element && other.tag == cell.tag)
        {
            let Some(around) = other.parent.filter(|at| is_row(*at)) else { continue };
            let is_chosen = self.class_words(other).is_chosen;
            *rows.entry(around).or_default() += usize::from(is_chosen);
            has_other = has_other || !is_chosen && is_alike(other);
        }
        has_other && (rows.len() < 2 || rows.values().any(|count| *count != 1))
    }

    /// Returns true if the class of a button that is not chosen is that of a chosen one but for the word that says so.
    fn has_plain_twin(&self, chosen: &CapturedNode) -> bool {
        if chosen.tag != "button" {
            return false;
        }
        let class = |node| self.document.attribute(node, "class").unwrap_or_default();
        let plain = self.plain_buttons.get_or_init(|| {
            let buttons = self.document.nodes.iter().filter(|node| node.tag == "button");
            let plain = buttons.filter(|node| !self.class_words(node).is_chosen);
            plain.map(|node| without_chosen(class(node))).collect()
        });
        let rest = without_chosen(class(chosen));
        !rest.is_empty() && plain.contains(&rest)
    }

    /// Returns true if another element like a chosen one is not chosen: one beside it, or, if it is alone in its entry, in another entry. If
    /// it must be seen, it has a class of the chosen one, which may be a text among links.
    pub(super) fn is_one_of_several(&self, chosen: &CapturedNode, is_seen: bool) -> bool {
        let has_class = |other: &CapturedNode| {
            let words = |node| words(self.document.attribute(node, "class").unwrap_or_default());
            matches!(chosen.tag.as_str(), "li" | "tr") || words(chosen).any(|word| words(other).any(|own| own == word))
        };
        let is_other = |(at, other): (usize, &CapturedNode)| {
            let is_alike = other.tag == chosen.tag || (is_seen && other.tag == "a");
            let is_beside = other.id != chosen.id && is_alike && !self.class_words(other).is_chosen;
            is_beside && (!is_seen || self.facts(at).is_visible && has_class(other))
        };
        let Some(parent) = chosen.parent else { return false };
        let is_in = |node: &CapturedNode, around: usize| node.is_element && node.parent == Some(around);
        let children = |around: usize| self.below(around).take(MAX_BESIDE).filter(move |(_, node)| is_in(node, around));
        if children(parent).any(is_other) {
            return true;
        }
        let is_only = children(parent).nth(1).is_none();
        let is_first = children(parent).all(|(_, other)| other.id == chosen.id || other.tag != chosen.tag);
        let entry = self.node(parent).filter(|entry| match entry.tag.as_str() {
            "li" | "th" => is_first,
            "dd" | "div" | "p" | "span" | "td" => is_only,
            _ => false,
        });
        let Some((entry, list)) = entry.and_then(|entry| Some((entry, entry.parent?))) else { return false };
        let is_entry = |at: usize| self.node(at).is_some_and(|other| is_in(other, list) && other.tag == entry.tag);
        let mut inside = self.below(list).take(MAX_BESIDE);
        inside.any(|(at, other)| other.parent.is_some_and(is_entry) && is_other((at, other)))
    }

    /// Returns what the words of an element's class say. Each class is read once, however many elements have it.
    pub(super) fn class_words(&self, node: &CapturedNode) -> ClassWords {
        let class = |node| self.document.attribute(node, "class");
        let known = self.class_words.get_or_init(|| {
            let mut known: HashMap<usize, ClassWords> = HashMap::new();
            for class in self.document.nodes.iter().filter_map(class) {
                known.entry(class.as_ptr().addr()).or_insert_with(|| ClassWords::of(class));
            }
            known
        });
        class(node).and_then(|class| known.get(&class.as_ptr().addr())).copied().unwrap_or_default()
    }
}

/// Returns the words of a class, as far as they are compared.
fn words(class: &str) -> impl Iterator<Item = &str> {
    class.split_ascii_whitespace().take(MAX_WORDS)
}

/// Returns the words of a class without those that say that its element is chosen.
fn without_chosen(class: &str) -> String {
    class.split_ascii_whitespace().filter(|word| !is_chosen(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_libraries_say_that_a_day_is_chosen() {
        for class in
            ["day active", "day-item is-start-date", "cell -day- -selected-", "v-month__day--selected", "is-current"]
        {
            assert!(ClassWords::of(class).is_chosen, "{class}");
        }
        // The current day is today, and a date may be the begin of anything.
        for class in ["day not-selected", "un-selected", "non-active", "in-active", "de-selected"] {
            assert!(!ClassWords::of(class).is_chosen, "{class}");
        }
        for class in ["day inactive", "event-start-date", "start-date", "cell -day- -current-", "preselected", "-"] {
            assert!(!ClassWords::of(class).is_chosen, "{class}");
        }
        assert_eq!(without_chosen("btn  active wide"), "btn wide");
    }
}
