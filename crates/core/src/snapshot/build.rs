//! Join of documents and accessibility trees into one tree over all frames of a page, without elements that only repeat what is in them.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::accessibility::Accessibility;
use super::actionable::Reason;
use super::capture::{
    Backdrop, CapturedNode, Document, KeptSpace, Layout, MAX_TRANSPARENCY, add_backdrops, backdrop_in,
    note_opaque_frame,
};
use super::describe::{CLICKABLE, color, is_shown};
use super::fields::States;
use super::item::{
    CELLS, DOCUMENT, FILLED, Item, MARKS, MAX_COMPARED, MORE, NodeIndex, NodeKey, collapse, cut_words, end_texts,
    is_blank, is_limit, limited, merge_texts, neighbors,
};
use super::marks::STRUCK;
use super::nodes::{BOXES, Nodes, PartOf, is_same_box};
use super::rows;
use crate::output::mask;
use crate::pdf::Pdf;

/// Roles of blocks of text, which a person could select.
const BLOCKS: &[&str] = &["heading", "listitem", "log", "status"];

/// Words by which authors of pages call what says that something is wrong, besides those with "error" in them, such as `errornote`.
const MESSAGES: &[&str] = &["danger", "invalid"];

/// Classes of the help of a field, which says what is wrong while its field is.
const HELP: &[&str] = &["help-block", "help-inline", "form-text"];

/// Types of fields in which a person writes what a page may find wrong.
const WRITTEN: &[&str] = &["date", "email", "number", "password", "tel", "text", "url"];

/// Minimum number of letters of a text that says what is wrong, and of one whose script has words of two.
const MIN_LETTERS: [usize; 2] = [4, 2];

/// Number of elements around the help of a field, or a text in red, that may be or have the field.
const MAX_AROUND: usize = 3;

/// Maximum length of all texts of an element that says what is wrong, in bytes.
const MAX_MESSAGE: usize = 400;

/// Number of lines of a PDF in a page that are shown. A PDF that is the page is shown as a whole.
const MAX_PDF_LINES: usize = 40;

/// Minimum width and height of a picture that is pressed by itself, in CSS pixels.
const MIN_PICTURE: f64 = 48.0;

/// Number of nodes in an element that are searched for a picture.
const MAX_PARTS: usize = 50;

/// Maximum length of the name of a box that is told by its label, in characters.
const MAX_LABEL: usize = 1000;

/// Maximum depth of frames in frames.
const MAX_FRAMES: usize = 32;

/// Part of a page that one process draws.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Documents; the first one is that of the outermost frame.
    pub documents: Vec<Document>,
    /// Nodes of the accessibility trees of all documents.
    pub accessibility: Accessibility,
    /// Element that shows the outermost frame: the part that it is in, and its id there.
    pub owner: Option<(usize, u64)>,
    /// Frames whose content must not be shown.
    pub refused_frames: HashSet<String>,
    /// PDFs, which Chromium's viewer shows, by their frames.
    pub pdf_frames: HashMap<String, Pdf>,
    /// Fields that hold secrets, besides those that can be recognized by their attributes.
    pub secret_fields: HashSet<u64>,
}

impl Part {
    /// Notes the look of what is behind each document of these parts of a page, the first of which is the page itself.
    pub fn add_backdrops(parts: &mut [Self]) {
        for position in 0..parts.len() {
            let owner = parts.get(position).and_then(|part| part.owner);
            // Of a part that precedes the one that shows it, that is not known.
            let around = owner.filter(|(around, _)| *around < position);
            let backdrop = match around.and_then(|(around, node)| Some((parts.get(around)?, node))) {
                Some((around, node)) => backdrop_in(&around.documents, node),
                None if position == 0 => Backdrop::Window,
                None => Backdrop::Unknown,
            };
            if let Some(part) = parts.get_mut(position) {
                add_backdrops(&mut part.documents, backdrop);
            }
            let is_opaque =
                parts.get(position).and_then(|part| part.documents.first()).is_some_and(Document::is_opaque);
            if let Some((around, node)) = owner.filter(|_| is_opaque)
                && let Some(around) = parts.get_mut(around)
            {
                note_opaque_frame(&mut around.documents, node);
            }
        }
    }
}

/// Parts of a page and the way from one to the others.
struct Builder<'a> {
    parts: &'a [Part],
    /// Parts by the element that shows them.
    owned: HashMap<(usize, u64), usize>,
    /// Node below which the snapshot begins.
    root: Option<NodeKey>,
    /// Items of this node.
    found: Option<Vec<Item>>,
}

/// Builds the items of a page, or those of one of its nodes. Returns `None` if there is no such node.
pub(super) fn build(parts: &[Part], root: Option<NodeKey>) -> Option<Vec<Item>> {
    let owned = parts.iter().enumerate().filter_map(|(part, content)| Some((content.owner?, part))).collect();
    if let Some((document, pdf)) = pdf_in(parts, 0, 0) {
        return Some(vec![pdf_item(document, pdf, usize::MAX)]);
    }
    let mut builder = Builder { parts, owned, root, found: None };
    let items = builder.document(0, 0, 0, false);
    if root.is_some() { builder.found } else { Some(items) }
}

/// Returns the role and the name with which a snapshot shows each node.
pub(super) fn shown(parts: &[Part]) -> HashMap<NodeKey, (String, String)> {
    fn add(items: Vec<Item>, shown: &mut HashMap<NodeKey, (String, String)>) {
        for item in items {
            shown.extend(item.origin.map(|key| (key, (item.role, item.name))));
            add(item.children, shown);
        }
    }
    let mut shown = HashMap::new();
    add(build(parts, None).unwrap_or_default(), &mut shown);
    shown
}

/// Returns true if an element may show a document.
pub(super) fn is_frame(node: &CapturedNode) -> bool {
    matches!(node.tag.as_str(), "iframe" | "frame" | "embed" | "object")
}

/// Returns the name of the file at a URL.
fn file_name(url: &str) -> String {
    let url = url::Url::parse(url).ok();
    url.and_then(|url| url.path_segments()?.next_back().map(str::to_owned)).unwrap_or_default()
}

/// Returns a document that is a PDF.
fn pdf_in(parts: &[Part], part: usize, position: usize) -> Option<(&Document, &Pdf)> {
    let content = parts.get(part)?;
    let document = content.documents.get(position)?;
    Some((document, content.pdf_frames.get(&document.frame)?))
}

/// Builds the item of a PDF, with an item for each line of its text.
fn pdf_item(document: &Document, pdf: &Pdf, max_lines: usize) -> Item {
    let mut states = vec![("PDF", Value::Null)];
    if pdf.pages > 0 {
        states.push(("pages", pdf.pages.into()));
    }
    let line = |text: &str| Item { is_inline: false, ..Item::text(text) };
    let mut children = Vec::new();
    match pdf.readable() {
        Ok(text) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            children.extend(lines.clone().take(max_lines).map(line));
            let more = lines.count().saturating_sub(children.len());
            if more > 0 {
                states.push(("more", format!("{more} lines, which `get text` of this frame gives").into()));
            }
        }
        Err(reason) => states.push(("unread", reason.reason().into())),
    }
    Item { states, children, ..Item::new(DOCUMENT, &file_name(&document.url)) }
}

/// Returns the item that says how many parts of a document nobody sees yet.
fn unshown(count: usize) -> Option<Item> {
    let text = if count == 1 {
        "1 part appears only when scrolled to, and is not read: scroll down to it"
    } else {
        &format!("{count} parts appear only when scrolled to, and are not read: scroll down to them")
    };
    (count > 0).then(|| Item::new(MORE, text))
}

/// Returns the item that says how many parts of a document are not read.
fn undrawn(count: usize) -> Option<Item> {
    let parts = if count == 1 { "1 part is" } else { &format!("{count} parts are") };
    let text = format!("{parts} drawn only when scrolled to, and not read: scroll there");
    (count > 0).then(|| Item::new(MORE, &text))
}

impl Builder<'_> {
    /// Builds the items of a document, which may be in a frame that takes no input.
    fn document(&mut self, part: usize, position: usize, depth: usize, is_inert: bool) -> Vec<Item> {
        let Some(content) = self.parts.get(part) else { return Vec::new() };
        let Some(document) = content.documents.get(position).filter(|_| depth < MAX_FRAMES) else { return Vec::new() };
        let nodes = Nodes::new(document, &content.accessibility, is_inert);
        // The items below each node, the last one first.
        let mut below: Vec<Vec<Item>> = vec![Vec::new(); document.nodes.len()];
        let mut top = Vec::new();
        for (index, node) in document.nodes.iter().enumerate().rev() {
            let mut children = below.get_mut(index).map(std::mem::take).unwrap_or_default();
            children.reverse();
            let key = NodeKey { part, document: position, node: node.id };
            if is_frame(node) {
                let facts = nodes.facts(index);
                // Nobody sees what is in a frame that nobody sees.
                let shown = if facts.is_visible { self.frame(key, node, depth, facts.is_inert) } else { Vec::new() };
                // What is in an `object` is shown if it has no document.
                if node.tag != "object" || !shown.is_empty() {
                    children = shown;
                }
            }
            let mut items = nodes.items(index, node, key, children, content);
            for item in &mut items {
                item.at.get_or_insert(NodeIndex { part, document: position, index });
            }
            if self.root == Some(key) {
                self.found = Some(merge_texts(items.clone()));
            }
            let parent = node.parent.and_then(|parent| below.get_mut(parent)).unwrap_or(&mut top);
            parent.extend(items.into_iter().rev());
        }
        top.reverse();
        let mut items = merge_texts(top);
        items.extend(undrawn(nodes.undrawn_parts()));
        items.extend(unshown(nodes.unshown_parts()));
        items
    }

    /// Builds the items of the document that a frame shows.
    fn frame(&mut self, key: NodeKey, node: &CapturedNode, depth: usize, is_inert: bool) -> Vec<Item> {
        let (part, position) = match (self.owned.get(&(key.part, node.id)), node.content) {
            (Some(part), _) => (*part, 0),
            // A frame is in a document before its own.
            (None, Some(position)) if position > 0 => (key.part, position),
            (None, _) => return Vec::new(),
        };
        let content = self.parts.get(part);
        let document = content.and_then(|content| content.documents.get(position));
        if let (Some(content), Some(document)) = (content, document)
            && content.refused_frames.contains(&document.frame)
        {
            return vec![Item { states: vec![("refused", Value::Null)], ..Item::new(DOCUMENT, "") }];
        }
        if let Some((document, pdf)) = pdf_in(self.parts, part, position) {
            return vec![Item { block: Some(key), ..pdf_item(document, pdf, MAX_PDF_LINES) }];
        }
        self.document(part, position, depth + 1, is_inert)
    }
}

impl Nodes<'_> {
    /// Adds the look of an element that a person can act on, as far as it tells it from others.
    fn add_look(&self, position: usize, node: &CapturedNode, item: &mut Item) {
        if item.name.is_empty() && item.text_below().is_empty() {
            item.states.extend(self.hints(position, node, &item.role, item.children.is_empty()));
            item.drawn_text = self.drawn_text(node);
        } else if item.role == CLICKABLE && node.tag == "text" {
            item.states.extend(color(node));
        }
    }

    /// Adds the label of the hidden list that a page shows an element in place of.
    fn add_label_of_list(&self, position: usize, role: &str, item: &mut Item) {
        let list = self.stand_ins.get(&position).and_then(|label| self.facts(*label).control);
        let is_list = list.and_then(|list| self.node(list)).is_some_and(|list| list.tag == "select");
        let label = list.map(|list| self.label_text(list));
        match label.filter(|label| !label.is_empty() && !item.name.contains(label)) {
            Some(label) if is_list && role == "link" && !mask::is_sensitive(&label) => item.stand_for_list(label),
            label => item.label = label,
        }
    }

    /// Returns the items in place of a node with these children.
    fn items(
        &self,
        position: usize,
        node: &CapturedNode,
        key: NodeKey,
        mut children: Vec<Item>,
        part: &Part,
    ) -> Vec<Item> {
        if node.is_text {
            return self.text(position, node);
        }
        if !node.is_element {
            return children;
        }
        let is_break = node.tag == "br";
        if let Some(text) = is_break.then(Item::line_break).or_else(|| self.formula(position, key, &children)) {
            return vec![text];
        }
        if matches!(node.tag.as_str(), "select" | "textarea" | "input") {
            children.clear();
        }
        remove_pictures(&mut children);
        let role = self.role(node);
        let name = self.name(position);
        let reason = self.reason(position, role).filter(|reason| !self.is_acted_on_below(position, *reason, &children));
        let facts = self.facts(position);
        // An empty cell is one of those that the ones behind it are counted by.
        let is_cell = CELLS.contains(&role) && node.layout.as_ref().is_some_and(|layout| layout.is_visible);
        let is_cell = is_cell && node.parent.is_some_and(|row| self.facts(row).is_visible);
        let is_shown = (facts.is_visible || is_cell) && is_shown(role, &name) && !facts.is_in_select;
        let is_behind =
            reason.is_none() && (!name.is_empty() || holds_text(role, node)) && self.is_behind(position, node);
        let is_shown = reason.is_some() || is_behind || is_shown;
        self.note_message(position, node, reason, &mut children);
        if !is_shown {
            let items = self.items_without_line(position, node, key, role, children);
            return self.with_marks(position, node, key, items);
        }
        // A label stands for its control where that cannot be seen.
        let control = facts.control.filter(|_| node.tag == "label");
        let control = control.and_then(|control| Some((control, self.node(control)?)));
        if role == "option" && control.is_some_and(|(control, field)| self.is_box_to_check(control, field)) {
            return self.items_without_line(position, node, key, role, children);
        }
        let name = match control.filter(|_| name.is_empty()) {
            Some((control, _)) => self.label_name(position, control, &mut children),
            None => name,
        };
        let (described, role) = match control {
            Some((position, control)) => ((position, control), self.role(control)),
            None => ((position, node), role),
        };
        let is_secret =
            self.is_secret(described.1) || part.secret_fields.contains(&described.1.id) || mask::is_sensitive(&name);
        let role = if reason.is_some() && role == "generic" { CLICKABLE } else { role };
        let index = self.index(node, role);
        let mut item = Item { node: reason.map(|_| key), reason, origin: Some(key), index, ..Item::new(role, &name) };
        item.states = self.states(described.0, described.1, is_secret);
        if reason.is_some() || is_behind {
            self.add_notes(position, node, described.1, &mut item);
        }
        self.add_label_of_list(position, role, &mut item);
        item.is_behind = is_behind;
        item.is_modal = self.says_modal(node) || self.is_before_mask(position, node);
        item.layout = node.layout.clone().filter(|_| reason.is_some() || is_cell);
        if role == "textbox" && !matches!(described.1.tag.as_str(), "textarea" | "input") {
            self.add_edited_text(described.0, &mut item, &mut children, is_secret);
        }
        self.add_marks(position, node, &mut children, &mut item);
        let mut children = merge_texts(without_values(&item, is_secret, children));
        match reason {
            _ if is_behind => children.clear(),
            Some(Reason::Control) => {
                let inner = take_inner(role, node.layout.as_ref(), &collapse(&name), &mut children);
                item.add_states(inner);
            }
            Some(_) if !is_cell && self.is_folded(position, node, &item, &children) => {
                if let Some(child) = children.first_mut() {
                    child.add_states(item.states);
                }
                return children;
            }
            Some(Reason::Place) => {}
            Some(_) if role == CLICKABLE && name.is_empty() && item.states.is_empty() => {
                let is_moved = node.input.is_pressed || self.has_drag || self.is_draggable(node);
                let is_scroller = node.layout.as_ref().is_some_and(|layout| layout.is_scroller);
                if !is_moved && !is_scroller && is_carrier(&children) && !self.has_picture(position) {
                    return children;
                }
            }
            _ => {}
        }
        let mut items = item.with_children(children);
        if let Some(item) = items.first_mut() {
            if item.node.is_some() {
                self.add_look(position, node, item);
            }
            let is_block = !item.name.is_empty() && BLOCKS.contains(&item.role.as_str());
            // Calendars take presses on their cells without a sign of it.
            if item.node.is_none() && !facts.is_inert && (is_block || item.role == "gridcell") {
                item.block = Some(key);
            }
            self.add_picture(position, is_cell, item);
            let is_empty = item.name.is_empty() && item.children.is_empty();
            let has_value = item.states.iter().any(|(name, _)| matches!(*name, "src" | "value"));
            if item.node.is_none() && is_empty && !has_value && !is_cell && item.role != "iframe" {
                items.remove(0);
            }
        }
        items
    }

    /// Returns true if an item is there for the only thing in it. A row with a number may be a part of one.
    fn is_folded(&self, position: usize, node: &CapturedNode, item: &Item, children: &[Item]) -> bool {
        item.index.is_none() && is_wrapper(node, &item.name, children) && !self.has_picture(position)
    }

    /// Returns the name of a control by one of its labels: Chromium has given the text of the first one to the control. Removes the text.
    fn label_name(&self, label: usize, control: usize, children: &mut Vec<Item>) -> String {
        let is_first = self.labels.get(&control) == Some(&label);
        let own = if is_first { String::new() } else { self.text_below(label, Some(control), true) };
        let name = cut_words(&if own.is_empty() { self.name(control) } else { own }, MAX_LABEL);
        if !name.is_empty() {
            remove_repeated(&name, children);
        }
        name
    }

    /// Adds what its page says about an element by the cursor, and about what it stands for where its name does not.
    fn add_notes(&self, position: usize, node: &CapturedNode, described: &CapturedNode, item: &mut Item) {
        item.states.extend(bar(node, &item.states));
        item.states.extend(self.class_state(position, &item.states));
        item.states.extend(self.description(described, &item.name, &item.states));
    }

    /// Returns the number that a page gives a row in its table, or a cell in its row.
    fn index(&self, node: &CapturedNode, role: &str) -> Option<u32> {
        let name = match role {
            rows::ROW => "aria-rowindex",
            role if CELLS.contains(&role) => "aria-colindex",
            _ => return None,
        };
        self.document.attribute(node, name)?.trim().parse().ok()
    }

    /// Returns true if a person sees a control that takes no input, as behind a dialog.
    fn is_behind(&self, position: usize, node: &CapturedNode) -> bool {
        let facts = self.facts(position);
        (facts.is_inert || facts.is_aria_hidden) && facts.is_visible && !facts.is_in_select && self.is_control(node)
    }

    /// Returns true if a person sees a box and can check it, so that an option that is its label is no second one.
    fn is_box_to_check(&self, position: usize, field: &CapturedNode) -> bool {
        let role = self.role(field);
        BOXES.contains(&role)
            && !self.is_disabled(field)
            && self.facts(position).is_visible
            && self.reason(position, role).is_some()
    }

    /// Returns the items in place of a node that has no line, unless it changes what they mean.
    fn items_without_line(
        &self,
        position: usize,
        node: &CapturedNode,
        key: NodeKey,
        role: &str,
        mut children: Vec<Item>,
    ) -> Vec<Item> {
        let facts = self.facts(position);
        if node.tag == "label" {
            self.remove_label(facts.control, &mut children);
        }
        if let Some(lines) = self.lines(position, node, &children) {
            let layout = children.iter().find_map(|child| child.layout.clone()).or_else(|| node.layout.clone());
            children = vec![Item { has_lines: true, is_inline: false, block: Some(key), layout, ..Item::text(&lines) }];
        }
        if node.layout.as_ref().is_some_and(|layout| !layout.is_inline) {
            children = merge_texts(children);
            end_texts(&mut children);
            if let ([text], true) = (children.as_mut_slice(), facts.is_visible && !facts.is_inert)
                && text.is_text()
            {
                text.block.get_or_insert(key);
            }
        }
        if let Some(role) = self.mark(position, node, role, &children) {
            let item = Item { origin: Some(key), ..Item::new(role, "") };
            return item.with_children(children);
        }
        if is_limit(role) && node.tag != "details" && facts.is_visible && !children.is_empty() {
            return limited(role, children);
        }
        children
    }

    /// Returns true if a person sees a picture in an element besides the controls in it, and may press that.
    fn has_picture(&self, position: usize) -> bool {
        self.below(position).take(MAX_PARTS).any(|(at, part)| {
            let is_large = |layout: &Layout| layout.width >= MIN_PICTURE && layout.height >= MIN_PICTURE;
            let facts = self.facts(at);
            matches!(part.tag.as_str(), "img" | "video")
                && part.layout.as_ref().is_some_and(is_large)
                && facts.is_visible
                && !facts.is_in_control
        })
    }

    /// Returns the lines of a text that its page shows as they are, as code and logs.
    fn lines(&self, position: usize, node: &CapturedNode, children: &[Item]) -> Option<String> {
        let facts = self.facts(position);
        let is_text =
            |item: &Item| item.is_text() || item.role == "code" && item.node.is_none() && item.children.is_empty();
        let is_kept = node.tag == "pre" && facts.is_visible && !facts.is_inert && !facts.is_in_editable;
        let lines = (is_kept && children.iter().all(is_text)).then(|| self.edited_text(position));
        lines.filter(|lines| lines.contains('\n'))
    }

    /// Returns the item of a text, if it can be seen.
    fn text(&self, position: usize, node: &CapturedNode) -> Vec<Item> {
        let facts = self.facts(position);
        if node.is_styled {
            // In an editor, it is there as long as that has no text.
            let is_read = facts.is_visible && !facts.is_in_select && !facts.is_in_editable;
            let is_inline = node.layout.as_ref().is_none_or(|layout| layout.is_inline);
            let is_marker = node.tag == "::marker";
            let (layout, place) = (|| node.layout.clone(), || self.text_place(position, node));
            let text = || Item { layout: layout(), place: place(), is_inline, is_marker, ..Item::text(&node.text) };
            return is_read.then(text).into_iter().collect();
        }
        // Chromium ignores a text that is a part of a name, such as that of a label.
        // It names nothing where the control takes no input.
        let is_name = facts.is_in_control || facts.is_in_label && !facts.is_inert;
        let is_told = !facts.is_aria_hidden && !facts.is_inert;
        let is_ignored = self.is_ignored(node) && (is_told || is_name);
        let is_shown = node.layout.is_some() && (facts.is_visible || node.text.trim().is_empty()) && !is_ignored;
        if !is_shown || facts.is_in_select || (self.has_icons && self.is_icon_of_text(node)) {
            return Vec::new();
        }
        let space = node.layout.as_ref().map_or(KeptSpace::Nothing, |layout| layout.kept_space);
        let text = Item { layout: node.layout.clone(), place: self.text_place(position, node), ..Item::text("") };
        // In an editor, a person begins lines.
        if space == KeptSpace::Nothing && facts.is_in_editable {
            let name = node.text.replace('\n', " ");
            return vec![Item { name, space: Some(KeptSpace::Lines), ..text }];
        }
        vec![Item { name: node.text.clone(), space: Some(space), ..text }]
    }

    /// Returns true if an element that could be acted on is better acted on by what is in it.
    fn is_acted_on_below(&self, position: usize, reason: Reason, children: &[Item]) -> bool {
        let is_below = |is_wanted: &dyn Fn(Reason) -> bool| children.iter().any(|child| child.has_reason(&is_wanted));
        let is_filled = |cell: &CapturedNode| CELLS.contains(&self.role(cell)) && is_filled(cell, children);
        if self.node(position).is_some_and(is_filled) {
            return true;
        }
        match reason {
            Reason::Hover => is_below(&|_| true),
            Reason::Place => is_below(&|below| matches!(below, Reason::Control | Reason::Cursor)),
            Reason::Part => match self.facts(position).group {
                Some(PartOf::Pressed) => is_below(&|below| below == Reason::Control) && !self.is_list_part(position),
                _ => is_below(&|_| true),
            },
            _ => false,
        }
    }

    /// Returns the role of a part of a text that means something else than the text around it. In an editor, what is stressed does too.
    fn mark(&self, position: usize, node: &CapturedNode, role: &str, children: &[Item]) -> Option<&'static str> {
        let is_edited = self.facts(position).is_in_editable;
        let by_tag = match node.tag.as_str() {
            tag if STRUCK.contains(&tag) => "deletion",
            "ins" => "insertion",
            "sub" => "subscript",
            "sup" => "superscript",
            "b" => "strong",
            "i" => "emphasis",
            _ => role,
        };
        let is_meant = |mark: &&str| is_edited || !matches!(*mark, "strong" | "emphasis");
        let mark = MARKS.iter().copied().find(|mark| *mark == by_tag).filter(is_meant);
        let mark = mark.or_else(|| self.mark_of_style(node, children))?;
        let is_script = matches!(mark, "subscript" | "superscript");
        let is_text = children.iter().all(Item::is_text);
        let has = |is_wanted: fn(char) -> bool| children.iter().any(|child| child.name.contains(is_wanted));
        // A star or a sign of a trade mark is a part of the text.
        let is_read = if is_script { has(char::is_alphanumeric) } else { has(|c| !is_blank(c)) };
        (is_text && is_read).then_some(mark)
    }

    /// Notes that the texts of an element say what is wrong, if they do.
    fn note_message(&self, position: usize, node: &CapturedNode, reason: Option<Reason>, children: &mut [Item]) {
        if self.is_message(node) || reason.is_none() && self.is_red_message(position, node, children) {
            note_messages(children);
        }
    }

    /// Returns true if the author of the page calls an element one that says what is wrong.
    fn is_message(&self, node: &CapturedNode) -> bool {
        let says_wrong = |name: &str| {
            let mut words = name.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
            words.any(|word| word.contains("error") || MESSAGES.contains(&word.as_str()))
        };
        let has_name = |node: &CapturedNode, is_wanted: &dyn Fn(&str) -> bool| {
            let names = ["class", "id"].into_iter().filter_map(|name| self.document.attribute(node, name));
            names.flat_map(str::split_ascii_whitespace).any(is_wanted)
        };
        // `has-error` says it of a field and its help.
        let is_field = |name: &str| name.starts_with("has-") && says_wrong(name);
        let is_help = |name: &str| HELP.contains(&name);
        let is_in_wrong = || {
            let around = self.around(node).take(MAX_AROUND);
            around.filter_map(|around| self.node(around)).any(|around| has_name(around, &is_field))
        };
        has_name(node, &|name| !name.starts_with("has-") && says_wrong(name))
            || has_name(node, &is_help) && is_in_wrong()
    }

    /// Returns true if a style that is named by its color makes a text red that is near a field in which a person writes. Prices, states of
    /// rows and stars of fields that must be filled are red too.
    fn is_red_message(&self, position: usize, node: &CapturedNode, children: &[Item]) -> bool {
        let facts = self.facts(position);
        let class = self.document.attribute(node, "class").unwrap_or_default();
        if !class.split_ascii_whitespace().any(is_red) || facts.is_in_control || facts.is_in_label {
            return false;
        }
        let is_field = |(at, field): (usize, &CapturedNode)| {
            let is_written = match field.tag.as_str() {
                "input" => WRITTEN.contains(&self.input_type(field).as_str()),
                tag => tag == "textarea",
            };
            is_written && self.facts(at).is_visible
        };
        let is_other = |tag: &str| matches!(tag, "label" | "legend" | "table" | "tbody" | "tr" | "td" | "th");
        let around = || self.around(node).take(MAX_AROUND);
        !is_other(&node.tag)
            && !around().any(|at| self.node(at).is_some_and(|around| is_other(&around.tag)))
            && says_words(children)
            && around().any(|at| self.below(at).take(MAX_PARTS).any(is_field))
    }

    /// Adds the text of an editor. Where that is more than lines of text, it is shown by what is in the editor, in its order.
    fn add_edited_text(&self, position: usize, item: &mut Item, children: &mut Vec<Item>, is_secret: bool) {
        item.states.retain(|(name, _)| *name != "value" && *name != "filled");
        let text = self.edited_text(position);
        let is_rich = !is_secret && !children.iter().all(Item::is_text);
        if !is_rich {
            children.clear();
        }
        if text.is_empty() {
            let names = ["placeholder", "data-placeholder", "aria-placeholder"];
            let own = self.node(position).and_then(|node| self.placeholder(node, &names));
            item.states.extend(own.or_else(|| self.words_of_empty_editor(position)));
        } else {
            item.is_rich = is_rich;
            item.states.push(if is_secret { ("filled", Value::Null) } else { ("value", text.into()) });
        }
    }

    /// Removes the text of a label that only repeats the name of its control.
    fn remove_label(&self, control: Option<usize>, children: &mut Vec<Item>) {
        let Some(control) = control.filter(|control| self.facts(*control).is_visible) else { return };
        remove_repeated(&self.name(control), children);
    }
}

/// Returns true if an element is a field with a text or a choice in it.
fn holds_text(role: &str, node: &CapturedNode) -> bool {
    FILLED.contains(&role) && node.value.as_deref().is_some_and(|value| !value.is_empty())
}

/// Returns the cursor that says that an element takes no press, unless its states say so.
fn bar(node: &CapturedNode, states: &States) -> Option<(&'static str, Value)> {
    let is_barred = node.layout.as_ref().is_some_and(|layout| layout.cursor == "not-allowed");
    let is_said = states.iter().any(|(name, _)| *name == "disabled");
    (is_barred && !is_said).then(|| ("cursor", "not-allowed".into()))
}

/// Removes what is in an element that only shows what it holds, or that is a secret, or changes the size of it. Joins the rows of tables.
fn without_values(item: &Item, is_secret: bool, mut children: Vec<Item>) -> Vec<Item> {
    match item.role.as_str() {
        "combobox" | "searchbox" | "spinbutton" if is_secret => children.retain(|child| child.has_reason(&|_| true)),
        "combobox" => remove_chosen(!item.name.is_empty(), &item.states, &mut children),
        // The head of a column has the one that people know.
        "row" if children.iter().any(|child| matches!(child.role.as_str(), "cell" | "gridcell")) => {
            children.retain(|child| !is_handle(child));
        }
        role if rows::TABLES.contains(&role) => rows::join_parts(&mut children),
        _ => {}
    }
    children
}

/// Removes the texts that only repeat a part of a name.
fn remove_repeated(name: &str, children: &mut Vec<Item>) {
    if name.len() > MAX_COMPARED {
        return;
    }
    let is_text = |child: &Item| child.is_text() || MARKS.contains(&child.role.as_str());
    children.retain(|child| !is_text(child) || !child.is_in_name(name));
}

/// Removes the parts of a box with a list that only show what is chosen, or the words in place of it.
fn remove_chosen(is_named: bool, states: &States, children: &mut Vec<Item>) {
    let is_value = |(name, _): &&(&str, Value)| matches!(*name, "value" | "placeholder");
    let Some((kind, own)) = states.iter().find(is_value) else { return };
    if let Some(value) = own.as_str().filter(|_| is_named) {
        let is_whole = |child: &Item| *kind == "value" || collapse(&child.name) == value;
        let is_repeated = children.iter().all(|child| !child.is_text() || is_whole(child));
        if is_repeated {
            remove_repeated(value, children);
        }
    }
    let has = |child: &Item, name: &str| child.states.iter().any(|(state, _)| *state == name);
    let is_shown = |child: &Item| child.states.iter().find(is_value).is_some_and(|(_, shown)| shown == own);
    children.retain(|child| !(child.role == "textbox" && has(child, "readonly") && is_shown(child)));
}

/// Returns true for a class by which Tailwind and its libraries give a text the color of errors.
fn is_red(class: &str) -> bool {
    let shade = || class.strip_prefix("text-red-").or_else(|| class.strip_prefix("text-rose-"));
    class == "text-destructive"
        || shade().is_some_and(|shade| !shade.is_empty() && shade.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if texts have words, and more of them than of numbers, and are short.
fn says_words(items: &[Item]) -> bool {
    fn is_added(items: &[Item], text: &mut String) -> bool {
        items.iter().all(|item| {
            text.push_str(&item.name);
            text.len() <= MAX_MESSAGE && is_added(&item.children, text)
        })
    }
    let mut text = String::new();
    if !is_added(items, &mut text) {
        return false;
    }
    let count = |is_counted: fn(char) -> bool| text.chars().filter(|c| is_counted(*c)).count();
    let (letters, digits) = (count(char::is_alphabetic), count(char::is_numeric));
    let others = count(|c| c.is_alphabetic() && !mask::is_of_word(c));
    let [min, min_others] = MIN_LETTERS;
    letters > digits * 2 && (letters >= min || others >= min_others)
}

/// Notes that the texts below an element say what is wrong, unless they are too long for that.
fn note_messages(items: &mut [Item]) {
    fn length(items: &[Item]) -> usize {
        items.iter().map(|item| item.name.len() + length(&item.children)).sum()
    }
    fn note(items: &mut [Item]) {
        for item in items {
            item.is_message = item.node.is_none() && !item.name.is_empty();
            note(&mut item.children);
        }
    }
    if length(items) <= MAX_MESSAGE {
        note(items);
    }
}

/// Returns true if an item is only there to change a size.
fn is_handle(item: &Item) -> bool {
    let is_cursor = |(name, value): &(&str, Value)| {
        *name == "cursor" && value.as_str().is_some_and(|cursor| cursor.ends_with("-resize"))
    };
    item.role == CLICKABLE && item.name.is_empty() && item.children.is_empty() && item.states.iter().any(is_cursor)
}

/// Returns true for a picture that nobody acts on. What is named says what it shows.
fn is_picture(item: &Item) -> bool {
    item.role == "img" && item.node.is_none() && item.children.is_empty()
}

/// Roles of fields that fill what is around them.
const FIELDS: &[&str] = &["checkbox", "combobox", "radio", "searchbox", "spinbutton", "switch", "textbox"];

/// Returns true if an element is only the frame of one thing to act on. What is done to that reaches the element too.
fn is_wrapper(node: &CapturedNode, name: &str, children: &[Item]) -> bool {
    let ([child], Some(layout)) = (children, &node.layout) else { return false };
    let is_around = child.layout.as_ref().is_some_and(|inner| is_same_box(layout, inner));
    let is_field = FIELDS.contains(&child.role.as_str());
    match child.reason {
        Some(_) if name.is_empty() => is_around || is_field,
        Some(Reason::Control) => child.name == name,
        _ => false,
    }
}

/// Returns true if a link or a button is all that a person sees of a cell, as a day in a calendar: a press of it is one of the cell.
fn is_filled(cell: &CapturedNode, children: &[Item]) -> bool {
    let mut shown = children.iter().filter(|child| !child.is_text() || !collapse(&child.name).is_empty());
    let (Some(control), None) = (shown.next(), shown.next()) else { return false };
    let is_same = cell.layout.as_ref().zip(control.layout.as_ref()).is_some_and(|(cell, own)| is_same_box(cell, own));
    is_same && control.reason == Some(Reason::Control) && matches!(control.role.as_str(), "button" | "link")
}

/// Removes what has no name and the same box as a named box to check next to it: the picture that a page draws for that. Only the box has
/// to be hit: it is on top, or nobody sees it.
fn remove_pictures(children: &mut Vec<Item>) {
    let is_box = |item: &Item| {
        let is_disabled = item.states.iter().any(|(state, _)| *state == "disabled");
        item.node.is_some() && BOXES.contains(&item.role.as_str()) && !item.name.is_empty() && !is_disabled
    };
    let is_drawn_for = |picture: &Item, item: &Item| {
        let Some((own, other)) = item.layout.as_ref().zip(picture.layout.as_ref()) else { return false };
        let is_hit = own.look.transparency > MAX_TRANSPARENCY || own.look.order > other.look.order;
        is_box(item) && is_hit && is_same_box(own, other)
    };
    let is_picture = |(place, item): &(usize, &Item)| {
        let is_unnamed = item.role == CLICKABLE && item.name.is_empty() && item.children.is_empty();
        is_unnamed && neighbors(children, *place).any(|next| is_drawn_for(item, next))
    };
    // Of most elements, this is empty, and takes no memory.
    let pictures: Vec<usize> = children.iter().enumerate().filter(is_picture).map(|(place, _)| place).collect();
    if !pictures.is_empty() {
        let mut places = 0..;
        children.retain(|_| places.next().is_none_or(|place| pictures.binary_search(&place).is_err()));
    }
}

/// Removes the only thing to act on in a control, if a click on the control is one on that, and returns its states. In a component with
/// the role of a box to check, removes the box of HTML, and in a button with a name the pictures.
fn take_inner(role: &str, layout: Option<&Layout>, name: &str, children: &mut Vec<Item>) -> States {
    if role == "button" && !name.is_empty() {
        children.retain(|child| !is_picture(child));
    }
    if BOXES.contains(&role) {
        children.retain(|child| child.name != name || !BOXES.contains(&child.role.as_str()));
    }
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
fn is_carrier(children: &[Item]) -> bool {
    fn has_text(items: &[Item]) -> bool {
        items.iter().any(|item| item.node.is_none() && (!item.name.is_empty() || has_text(&item.children)))
    }
    !has_text(children) && children.iter().any(|child| child.has_reason(&|_| true))
}
