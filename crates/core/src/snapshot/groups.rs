//! Elements that take input for those in them: sorted lists, boards, drawings and tables.
//!
//! Only the element around them listens, so nothing of their own shows that a person could act on its parts.

use std::collections::{HashMap, HashSet};

use super::capture::CapturedNode;
use super::nodes::{Nodes, PartOf};
use super::paint::SHAPES;

/// Elements whose parts are those of a list or a table.
const LISTS: &[&str] = &["dl", "menu", "ol", "table", "tbody", "ul"];

/// Parts of lists and tables.
const PARTS: &[&str] = &["dd", "dt", "li", "td", "th", "tr"];

/// Maximum number of parts of a drawing. One with more is a chart or a map.
const MAX_SHAPES: usize = 60;

impl Nodes<'_> {
    /// Notes the parts of elements that take input for them.
    pub(super) fn add_groups(&mut self) {
        let mut groups: Vec<Option<PartOf>> = vec![None; self.document.nodes.len()];
        let mut parts: HashMap<usize, Vec<usize>> = HashMap::new();
        let listening = self.listening();
        for (position, node) in self.document.nodes.iter().enumerate().filter(|(_, node)| node.is_element) {
            let around = node.parent.and_then(|parent| Some((parent, groups.get(parent).copied().flatten()?)));
            let own = self.group(position, node, &listening);
            // What the outer parts of a table and of a drawing take, the inner ones do.
            let is_layer = matches!(node.tag.as_str(), "tbody" | "thead" | "g");
            let inherited = around.filter(|_| is_layer).map(|(_, group)| group);
            if let Some(place) = groups.get_mut(position) {
                *place = own.or(inherited);
            }
            if let Some((parent, _)) = around.filter(|_| !is_layer) {
                parts.entry(parent).or_default().push(position);
            }
        }
        for (parent, parts) in parts {
            let Some(group) = groups.get(parent).copied().flatten() else { continue };
            for part in self.alike(parent, &parts, group) {
                if let Some(facts) = self.facts.get_mut(part) {
                    facts.group = Some(group);
                }
            }
        }
    }

    /// Notes the cells of grids that take input: by themselves, or by an element between them and the grid.
    pub(super) fn add_cells(&mut self) {
        let mut cells: Vec<(usize, usize)> = Vec::new();
        let mut pressed: HashSet<usize> = HashSet::new();
        for (position, node) in self.document.nodes.iter().enumerate() {
            let Some(grid) = self.facts(position).grid else { continue };
            let is_cell = self.role(node) == "gridcell";
            if is_cell {
                cells.push((position, grid));
            }
            let takes_input = |node: &CapturedNode| node.input.is_clickable || node.input.is_pressed;
            let has_index = is_cell && self.document.attribute(node, "tabindex").is_some();
            if has_index || self.node(grid).is_some_and(takes_input) {
                pressed.insert(grid);
            }
        }
        for (cell, _) in cells.into_iter().filter(|(_, grid)| pressed.contains(grid)) {
            if let Some(facts) = self.facts.get_mut(cell) {
                facts.group.get_or_insert(PartOf::Clicked);
            }
        }
    }

    /// Returns true if an element is a part of a list or a table by its tag.
    pub(super) fn is_list_part(&self, position: usize) -> bool {
        self.node(position).is_some_and(|node| PARTS.contains(&node.tag.as_str()))
    }

    /// Counts the elements that take a click, by the element around them and their kind.
    fn listening(&self) -> HashMap<(Option<usize>, &str), usize> {
        let mut listening = HashMap::new();
        for node in self.document.nodes.iter().filter(|node| node.input.is_clickable) {
            *listening.entry((node.parent, node.tag.as_str())).or_default() += 1;
        }
        listening
    }

    /// Returns how an element takes input for its parts, if it does.
    fn group(
        &self,
        position: usize,
        node: &CapturedNode,
        listening: &HashMap<(Option<usize>, &str), usize>,
    ) -> Option<PartOf> {
        let takes_input = node.input.is_clickable || node.input.is_pressed;
        let is_control = matches!(node.tag.as_str(), "html" | "body" | "label") || self.is_control(node);
        if !takes_input || is_control || self.facts(position).is_in_editable {
            return None;
        }
        if node.input.is_pressed {
            return Some(PartOf::Pressed);
        }
        // One of several that each take a click is acted on as a whole.
        let is_one = listening.get(&(node.parent, node.tag.as_str())).is_none_or(|count| *count < 2);
        (is_one || LISTS.contains(&node.tag.as_str())).then_some(PartOf::Clicked)
    }

    /// Returns the parts that are like each other.
    fn alike(&self, parent: usize, parts: &[usize], group: PartOf) -> Vec<usize> {
        let is_in_drawing = self.node(parent).is_some_and(|parent| matches!(parent.tag.as_str(), "svg" | "g"));
        // A single shape is a picture, and acted on as a whole.
        if is_in_drawing && !(2..=MAX_SHAPES).contains(&parts.len()) {
            return Vec::new();
        }
        let class = |node: &CapturedNode| {
            let classes = self.document.attribute(node, "class").unwrap_or_default();
            classes.split_ascii_whitespace().next().unwrap_or_default().to_owned()
        };
        let mut counts: HashMap<(&str, String), usize> = HashMap::new();
        for node in parts.iter().filter_map(|part| self.node(*part)) {
            *counts.entry((node.tag.as_str(), class(node))).or_default() += 1;
        }
        let is_part = |node: &CapturedNode| {
            let tag = node.tag.as_str();
            if is_in_drawing {
                return SHAPES.contains(&tag);
            }
            let class = class(node);
            let is_named = !class.is_empty() || group == PartOf::Pressed;
            PARTS.contains(&tag)
                || (tag == "a" && group == PartOf::Pressed)
                || (is_named && counts.get(&(tag, class)).is_some_and(|count| *count > 1))
        };
        parts.iter().copied().filter(|part| self.node(*part).is_some_and(is_part)).collect()
    }
}
