//! Choice of the nodes that a person could act on.
//!
//! Some elements take input for those in them: sorted lists, boards, drawings and tables. Only the element around them listens, so nothing
//! of their own shows that a person could act on its parts.

use std::collections::{HashMap, HashSet};

use super::capture::{CapturedNode, Layout, SHAPES};
use super::nodes::{CHOICES, CONTROLS, FOCUSED_PARTS, Nodes, PartOf, has_action_cursor, is_on};

/// Types of `<input>` that a press of their label presses.
const PRESSED_TYPES: &[&str] = &["button", "color", "image", "range", "reset", "submit"];

/// Numbers of cells of a table that may be the days of a month.
const DAYS: std::ops::RangeInclusive<usize> = 28..=48;

/// Number of elements around a calendar of which one takes the presses of its days.
const MAX_CALENDAR: usize = 6;

/// Minimum width and height of a place to which something is dragged, in CSS pixels.
const MIN_PLACE: f64 = 16.0;

/// Words in the classes of the marks that open and close the entries of trees.
const OPENERS: &[&str] = &["caret", "chevron", "disclosure", "expand", "switcher", "toggle", "twist"];

/// Minimum width and height of such a mark, and the maximum, in CSS pixels.
const OPENER_SIZES: std::ops::RangeInclusive<f64> = 6.0..=48.0;

/// Number of nodes in such a mark that are searched for a text.
const MAX_OPENER_PARTS: usize = 50;

/// Number of elements around such a mark of which one is its entry.
const MAX_ENTRY: usize = 12;

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

/// Elements whose parts are those of a list or a table.
const LISTS: &[&str] = &["dl", "menu", "ol", "table", "tbody", "ul"];

/// Parts of lists and tables.
const PARTS: &[&str] = &["dd", "dt", "li", "td", "th", "tr"];

/// Maximum number of parts of a drawing. One with more is a chart or a map.
const MAX_SHAPES: usize = 60;

/// Maximum width and height of a drawing that is an icon, in pixels: its shapes are no parts to press.
const MAX_ICON: f64 = 32.0;

impl Nodes<'_> {
    /// Returns the reason why a person could act on a node, or `None` if nobody could.
    pub(super) fn reason(&self, position: usize, role: &str) -> Option<Reason> {
        let node = self.node(position)?;
        let facts = self.facts(position);
        if !node.is_element || facts.is_inert || facts.is_in_select || facts.is_picture {
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
        let index = self.tab_index(node);
        let takes_pointer = node.layout.as_ref().is_none_or(|layout| layout.takes_pointer);
        // As all that is behind an open list of some libraries.
        if facts.is_aria_hidden && !takes_pointer {
            return None;
        }
        if self.is_native(node) || CONTROLS.contains(&role) {
            return Some(Reason::Control);
        }
        if !takes_pointer {
            return None;
        }
        if node.tag == "label" {
            // Its control is acted on, unless that cannot be seen. A press of it opens no list of options, and nobody types into what is not
            // seen.
            let is_typed = |control: &CapturedNode| {
                let is_pressed = |kind: &str| CHOICES.contains(&kind) || PRESSED_TYPES.contains(&kind);
                let is_text = control.tag == "input" && !is_pressed(self.input_type(control).as_str());
                control.tag == "select" || (is_text || control.tag == "textarea") && self.role(control) != "combobox"
            };
            let control = facts.control.filter(|control| !self.node(*control).is_some_and(is_typed));
            let control = control.map(|control| self.facts(control));
            return control.filter(|control| !control.is_visible && !control.is_inert).map(|_| Reason::Control);
        }
        // Of the parts of a widget, one takes the focus by the keyboard, and all by a press.
        let is_part = FOCUSED_PARTS.contains(&role);
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
            return self.is_opener(position, node).then_some(Reason::Cursor);
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

    /// Returns true if an element is the mark that opens and closes the entry of a tree around it: a press beside it may choose the entry.
    fn is_opener(&self, position: usize, node: &CapturedNode) -> bool {
        let is_mark = |node: &CapturedNode| {
            let is_small = |own: &&Layout| OPENER_SIZES.contains(&own.width) && OPENER_SIZES.contains(&own.height);
            let class = node.layout.as_ref().filter(is_small).and_then(|_| self.document.attribute(node, "class"));
            let class = class.unwrap_or_default().to_ascii_lowercase();
            OPENERS.iter().any(|word| class.contains(word))
        };
        let around = || self.around(node).take(MAX_ENTRY).filter_map(|at| self.node(at));
        let is_entry = |node: &CapturedNode| self.role(node) == "treeitem";
        let is_read = |(at, part): (usize, &CapturedNode)| {
            part.is_text && self.facts(at).is_visible && !part.text.trim().is_empty()
        };
        is_mark(node)
            && !around().take_while(|other| !is_entry(other)).any(|other| is_mark(other) || self.is_control(other))
            && around().find(|other| is_entry(other)).is_some_and(|entry| self.property(entry, "expanded").is_some())
            && !self.below(position).take(MAX_OPENER_PARTS).any(is_read)
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

    /// Notes the parts of elements that take input for them.
    pub(super) fn add_groups(&mut self) {
        let mut groups: Vec<Option<PartOf>> = vec![None; self.document.nodes.len()];
        let mut parts: HashMap<usize, Vec<usize>> = HashMap::new();
        let listening = self.listening();
        let inner = self.elements_in_each();
        let mut planes = HashSet::new();
        for (position, node) in self.document.nodes.iter().enumerate().filter(|(_, node)| node.is_element) {
            let around = node.parent.and_then(|parent| Some((parent, groups.get(parent).copied().flatten()?)));
            let own = self.group(position, node, &listening);
            // What the outer parts of a table and of a drawing take, the inner ones do; and what is on a plane that moves as a whole.
            let is_only = |parent: usize| inner.get(parent) == Some(&1);
            let takes_keys = |parent: usize| self.node(parent).and_then(|parent| self.tab_index(parent)) >= Some(0);
            let is_plane = own.is_none()
                && node.tag == "div"
                && around.is_some_and(|(at, group)| group == PartOf::Pressed && is_only(at) && takes_keys(at));
            planes.extend(is_plane.then_some(position));
            let is_layer = is_plane || matches!(node.tag.as_str(), "tbody" | "thead" | "g");
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
            let is_placed = |part: &usize| !planes.contains(&parent) || self.is_placed(*part);
            for part in self.alike(parent, &parts, group).into_iter().filter(is_placed).collect::<Vec<_>>() {
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
        let in_grids = cells.into_iter().filter(|(_, grid)| pressed.contains(grid)).map(|(cell, _)| cell);
        for cell in in_grids.chain(self.days()).collect::<Vec<_>>() {
            if let Some(facts) = self.facts.get_mut(cell) {
                facts.group.get_or_insert(PartOf::Clicked);
            }
        }
    }

    /// Returns the days of calendars that are tables: something around each table takes the presses of its cells.
    fn days(&self) -> Vec<usize> {
        let parent = |at: usize| self.node(at).and_then(|node| node.parent);
        let mut tables: HashMap<usize, Vec<usize>> = HashMap::new();
        for (cell, _) in self.document.nodes.iter().enumerate().filter(|(_, node)| node.tag == "td") {
            let mut around = std::iter::successors(parent(cell), |at| parent(*at)).take(3);
            let table = around.find(|at| self.node(*at).is_some_and(|node| node.tag == "table"));
            if let Some(table) = table {
                tables.entry(table).or_default().push(cell);
            }
        }
        let is_day = |cell: &usize| {
            let text = self.text_below(*cell, None, true);
            text.parse::<u8>().is_ok_and(|day| (1..=31).contains(&day))
        };
        let takes_press = |at: usize| {
            let node = self.node(at).filter(|node| !matches!(node.tag.as_str(), "#document" | "body" | "html"));
            node.is_some_and(|node| node.input.is_clickable || node.input.is_pressed)
        };
        let is_calendar = |(table, cells): &(usize, Vec<usize>)| {
            let mut around = std::iter::successors(Some(*table), |at| parent(*at)).take(MAX_CALENDAR);
            DAYS.contains(&cells.len())
                && around.any(takes_press)
                && cells.iter().filter(|cell| is_day(cell)).count() * 10 >= cells.len() * 9
        };
        tables.into_iter().filter(is_calendar).flat_map(|(_, cells)| cells).collect()
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

    /// Returns the number of elements in each node, without those in them.
    fn elements_in_each(&self) -> Vec<usize> {
        let mut counts = vec![0; self.document.nodes.len()];
        for parent in self.document.nodes.iter().filter(|node| node.is_element).filter_map(|node| node.parent) {
            if let Some(count) = counts.get_mut(parent) {
                *count += 1;
            }
        }
        counts
    }

    /// Returns true if an element, or the first one in it, is placed by the page, as the nodes of a diagram are.
    fn is_placed(&self, position: usize) -> bool {
        let is_absolute = |node: &CapturedNode| node.layout.as_ref().is_some_and(|layout| layout.look.is_absolute);
        let first = || self.below(position).find(|(_, node)| node.is_element).map(|(_, node)| node);
        self.node(position).is_some_and(is_absolute) || first().is_some_and(is_absolute)
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
        let drawing = self.node(parent).filter(|parent| matches!(parent.tag.as_str(), "svg" | "g"));
        let is_in_drawing = drawing.is_some();
        let is_icon = |layout: &Layout| layout.width <= MAX_ICON && layout.height <= MAX_ICON;
        let is_icon = drawing.and_then(|drawing| drawing.layout.as_ref()).is_some_and(is_icon);
        // A single shape is a picture, as an icon is, and acted on as a whole.
        if is_in_drawing && (is_icon || !(2..=MAX_SHAPES).contains(&parts.len())) {
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
