//! Snapshots of pages: one tree of all frames, with a reference for each element that a person could act on.
//!
//! The captures of a page's processes are joined by the ids of their nodes with the accessibility trees, which know roles and
//! names. Wrappers are dropped, and what could be acted on never is. A view shows all of a page, what a person could act on, or a part.
//!
//! Invariants: nothing that a page chooses changes the form of a line; the value of a secret field is in no line; all views of
//! a page name the same nodes.

mod accessibility;
mod actionable;
mod alike;
mod around;
mod build;
mod capture;
mod chosen;
mod covers;
mod describe;
mod excerpts;
mod fields;
mod formulas;
mod gaps;
mod item;
mod marks;
mod nodes;
mod rows;
mod search;
mod shapes;
mod sight;
mod split;
mod tables;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use alike::heads;
use around::{FieldLabel, NumberedItems, ROWS, is_field};
use build::build;
use describe::CLICKABLE;
use excerpts::{MatchBudget, shorten};
use item::{CELLS, Item, MORE, RoleAndName, cut_words, without_limits};

pub use accessibility::Accessibility;
pub use build::Part;
pub use capture::{CaptureError, Document, PageListeners, STYLES};
pub use describe::aria_role;
pub use excerpts::Wanted;
pub use item::{Line, NodeKey};
pub use search::{CssMatches, Finder, FoundElement, Reach};

/// Text of a view of nothing to act on.
const NO_ELEMENTS: &str = "(no interactive elements; try snapshot or screenshot)";

/// Text of a view of nothing.
const EMPTY: &str = "(empty page)";

/// Text of a view in which nothing is found.
const NOTHING_FOUND: &str = "(nothing found; more may load when the page is scrolled, and a picture has no text)";

/// Maximum length of the text around an element, in characters.
const MAX_CONTEXT: usize = 60;

/// Maximum length of the text of an editor in the view of what can be acted on, in characters. Other values are shorter.
const MAX_EDITED: usize = 500;

/// Maximum width of an icon that belongs to what is beside it, in CSS pixels.
const MAX_ICON: f64 = 48.0;

/// Role of what shows a document.
const FRAME: &str = "iframe";

/// Roles of what is around elements and says what they are for.
const HEADED: &[&str] = &["alertdialog", "dialog", "form"];

/// Number of neighbors that are searched for text.
const NEIGHBORS: usize = 8;

/// Options of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Only what a person could act on, without levels.
    pub is_interactive: bool,
    /// Without elements that are only structure.
    pub is_compact: bool,
    /// Number of levels; `None` for all.
    pub depth: Option<usize>,
    /// Node that the snapshot is of; `None` for the page.
    pub root: Option<NodeKey>,
}

/// Lines of a snapshot.
#[derive(Clone, Debug, Default)]
pub struct View {
    lines: Vec<Line>,
    /// Nodes of the lines with a reference.
    nodes: Vec<Option<NodeKey>>,
    is_interactive: bool,
    /// True if something was looked for.
    is_search: bool,
}

/// Known facts about the items that a person could act on.
struct Known<'a> {
    /// Their number, by role and name.
    counts: HashMap<RoleAndName<'a>, usize>,
    /// Texts that tell those of the same role and name apart.
    alike: HashMap<NodeKey, &'a str>,
    /// Texts of the row and the head of the column, for those in a table.
    heads: HashMap<NodeKey, String>,
    /// Texts that say what fields without a name are for.
    labels: HashMap<NodeKey, FieldLabel<'a>>,
}

impl Known<'_> {
    fn count(&self, item: &Item) -> usize {
        self.counts.get(&item.group()).copied().unwrap_or_default()
    }
}

impl View {
    /// Returns true if the view shows nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Reads the parts of a page. Returns `None` if it has no such node.
    #[must_use]
    pub fn of(parts: &[Part], options: &Options) -> Option<Self> {
        Self::with(parts, options, None)
    }

    /// Reads the parts of a page, or those of them in which something is found.
    #[must_use]
    pub fn with(parts: &[Part], options: &Options, wanted: Option<&Wanted>) -> Option<Self> {
        let items = without_limits(build(parts, options.root)?, options.is_interactive);
        let items = modals_first(items);
        let items = if options.is_compact && !options.is_interactive { compact(items) } else { items };
        let mut matches = MatchBudget::default();
        let items = match wanted {
            Some(wanted) if !options.is_interactive => wanted.among(items, &mut matches),
            Some(_) => items,
            None => shorten(items, parts),
        };
        let mut view = Self { is_interactive: options.is_interactive, is_search: wanted.is_some(), ..Self::default() };
        if options.is_interactive {
            let mut counts = HashMap::new();
            let mut alike = Vec::new();
            count(&items, &mut counts, &mut alike);
            let numbered = NumberedItems::new(&items, parts);
            let alike = alike::texts(&items, &alike, &numbered);
            let known = Known { alike, counts, heads: heads(&items), labels: numbered.labels() };
            view.add_actionable(&items, "", &known, options.depth.unwrap_or(usize::MAX), false);
            let behind = count_behind(&items);
            if behind > 0 {
                let what = if behind == 1 { "control takes" } else { "controls take" };
                view.push(&Item::new(MORE, &format!("{behind} {what} no input now, as behind a dialog")), 0, None);
            }
            if let Some(wanted) = wanted {
                view.keep(|line| wanted.is_line(line) && matches.add());
            }
            view.cut_values();
        } else {
            view.add_all(&items, 0, options.depth.unwrap_or(usize::MAX));
        }
        if matches.more > 0 {
            let more = format!("{} more matches: look for a longer text, or below an element with -s", matches.more);
            view.push(&Item::text(&more), 0, None);
        }
        Some(view)
    }

    /// Cuts the texts of fields: that of an editor may be longer than an answer. Masks find no part of a secret, so no word is cut.
    fn cut_values(&mut self) {
        let states = self.lines.iter_mut().flat_map(|line| &mut line.states);
        for (_, value) in states.filter(|(name, _)| name == "value") {
            if let Value::String(text) = value {
                *text = cut_words(text, MAX_EDITED);
            }
        }
    }

    /// Removes the other lines.
    fn keep(&mut self, is_kept: impl FnMut(&Line) -> bool) {
        let kept: Vec<_> = self.lines.iter().map(is_kept).collect();
        let mut of_lines = kept.iter();
        self.lines.retain(|_| of_lines.next() == Some(&true));
        let mut of_nodes = kept.iter();
        self.nodes.retain(|_| of_nodes.next() == Some(&true));
    }

    /// Returns the nodes that need a number, in the order of their lines.
    pub fn nodes(&self) -> impl Iterator<Item = NodeKey> {
        self.nodes.iter().flatten().copied()
    }

    /// Returns the data of an answer, with numbers for the nodes that have one.
    #[must_use]
    pub fn to_data(&self, origin: &str, number: impl Fn(NodeKey) -> Option<u32>) -> Value {
        let mut references = Map::new();
        let mut text = String::new();
        for (line, node) in self.lines.iter().zip(&self.nodes) {
            let number = node.and_then(&number);
            if let Some(number) = number {
                references.insert(format!("e{number}"), json!({ "name": line.name, "role": line.role }));
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&Line { reference: number, ..line.clone() }.to_string());
        }
        if text.is_empty() {
            text.push_str(match self {
                Self { is_search: true, .. } => NOTHING_FOUND,
                Self { is_interactive: true, .. } => NO_ELEMENTS,
                _ => EMPTY,
            });
        }
        let mut data = json!({ "origin": origin, "refs": references, "snapshot": text });
        data.sort_all_objects();
        data
    }

    fn push(&mut self, item: &Item, level: usize, context: Option<String>) {
        self.push_as(None, item, level, context);
    }

    /// Adds the line of an item, with a name if it has none.
    fn push_as(&mut self, name: Option<&str>, item: &Item, level: usize, context: Option<String>) {
        // What is in an editor shows its text.
        let is_left_out = |name: &str| item.is_rich && !self.is_interactive && name == "value";
        let states = item.states.iter().filter(|(name, _)| !is_left_out(name));
        let states = states.map(|(name, value)| ((*name).to_owned(), value.clone()));
        let context = context.map(|context| ("near".to_owned(), context.into()));
        let name = match name {
            _ if !item.name.is_empty() => item.name.clone(),
            Some(name) => name.to_owned(),
            None if self.is_interactive => item.text_below(),
            None => String::new(),
        };
        self.lines.push(Line {
            level,
            role: item.role.clone(),
            name,
            reference: None,
            states: states.chain(context).collect(),
        });
        self.nodes.push(if self.is_interactive { item.node } else { item.node.or(item.block) });
    }

    fn add_all(&mut self, items: &[Item], level: usize, depth: usize) {
        if level > depth {
            return;
        }
        for item in items {
            self.push(item, level, None);
            self.add_all(&item.children, level + 1, depth);
        }
    }

    /// Adds the items that a person could act on. One whose role and name do not tell it from others gets the text near it.
    fn add_actionable(&mut self, items: &[Item], around: &str, known: &Known<'_>, depth: usize, is_said: bool) {
        for (position, item) in items.iter().enumerate() {
            let previous = position.checked_sub(1).and_then(|before| items.get(before));
            let near = || {
                let is_one = |item: &Item| known.count(item) == 1;
                let text = |item| last_text(item, &is_one);
                // What is beyond another field says nothing about this one.
                let is_beyond =
                    |other: &&Item| is_field(item) && item.name.is_empty() && other.find(&is_field).is_some();
                let before = items.iter().take(position).rev().take(NEIGHBORS);
                let before = before.take_while(|other| !is_beyond(other)).find_map(text);
                let after = || items.iter().skip(position + 1).take(1).find_map(Item::own_text);
                let around = (!around.is_empty()).then_some(around);
                let beside = || item.beside(previous, items.get(position + 1..).unwrap_or_default());
                // What is in the same element is nearer than what is in front of that.
                let within = || after().filter(|_| position == 0);
                beside().or(before).or_else(within).or(around).or_else(after).unwrap_or_default()
            };
            let is_told = (!is_said || item.role == MORE) && (item.node.is_none() || item.name.is_empty());
            let said = if is_told { item.heading(previous) } else { None };
            if item.node.is_some() {
                let label = || item.label.as_deref();
                let is_unclear = item.name.is_empty()
                    || item.label.is_some()
                    || item.states.iter().any(|(key, value)| *key == "value" && *value == item.name)
                    || known.count(item) > 1;
                let own = || item.node.and_then(|key| known.alike.get(&key).copied());
                let head = || Some(known.heads.get(&item.node?)?.as_str());
                let drawn = || item.drawn_text.as_deref();
                let written = || item.node.and_then(|key| known.labels.get(&key));
                let context = is_unclear
                    .then(|| {
                        let unnamed = || {
                            let in_row = || own().filter(|_| written().is_none_or(|label| label.is_in_row));
                            head().or_else(drawn).or_else(in_row).or_else(|| Some(written()?.text))
                        };
                        let first = || if item.name.is_empty() { unnamed() } else { own().or_else(head) };
                        label().or_else(first).unwrap_or_else(near)
                    })
                    .filter(|text| !text.is_empty() && *text != item.name);
                let is_named = || said.is_some() || !item.text_below().is_empty();
                let context = context.filter(|_| !item.name.is_empty() || !is_named());
                self.push_as(said.as_deref(), item, 0, context.map(|text| cut_words(text, MAX_CONTEXT)));
            }
            let is_said = is_said || (said.is_some() && !HEADED.contains(&item.role.as_str()));
            if let Some(name) = said.filter(|_| item.node.is_none()) {
                let states = item.states.clone();
                self.push(&Item { name, states, ..Item::new(&item.role, "") }, 0, None);
            }
            if depth > 0 {
                // What is in a named element belongs to it, and not to what is before that.
                let is_unnamed = item.name.is_empty() && item.node.is_some();
                let below = if is_unnamed { item.text_below() } else { String::new() };
                let own = [&item.name, &below].into_iter().find(|text| !text.is_empty());
                let around = own.map_or_else(near, String::as_str);
                self.add_actionable(&item.children, around, known, depth - 1, is_said);
            }
        }
    }
}

impl Item {
    /// Returns the name of an item that is there to be read.
    fn own_text(&self) -> Option<&str> {
        (self.node.is_none() && !self.name.is_empty()).then_some(self.name.as_str())
    }

    /// Returns what has a line of its own among the elements that a person could act on: the name of a form or a dialog around them,
    /// and a text that says what is wrong.
    fn heading(&self, before: Option<&Self>) -> Option<String> {
        let is_headed = HEADED.contains(&self.role.as_str()) && self.has_reason(&|_| true);
        if is_headed {
            let is_heading = |item: &&Self| item.role == "heading";
            // A form with several has none that is about all of it.
            let is_about_all = || self.role != "form" || self.count_headings() == 1;
            let below = || self.find(&|item| item.role == "heading").filter(|_| is_about_all());
            let heading = || below().or(before.filter(is_heading)).map(Self::all_text);
            let name = if self.name.is_empty() { heading().unwrap_or_default() } else { self.name.clone() };
            return Some(name).filter(|name| !name.is_empty());
        }
        let is_message = self.is_message || matches!(self.role.as_str(), "alert" | MORE);
        Some(self.all_text()).filter(|text| is_message && !text.is_empty())
    }

    fn count_headings(&self) -> usize {
        let own = usize::from(self.role == "heading");
        self.children.iter().map(Self::count_headings).sum::<usize>() + own
    }

    /// Returns the first of an item and those below it that is wanted.
    fn find(&self, is_wanted: &impl Fn(&Self) -> bool) -> Option<&Self> {
        if is_wanted(self) { Some(self) } else { self.children.iter().find_map(|child| child.find(is_wanted)) }
    }

    /// Returns the name of an item, or the texts in it.
    fn all_text(&self) -> String {
        let mut texts = self.name.clone();
        if texts.is_empty() {
            add_texts(&self.children, &mut texts);
        }
        texts
    }

    /// Returns the text in an item that no other element to act on has. The text of a region tells nothing about it.
    fn text_below(&self) -> String {
        if self.is_rich {
            return String::new();
        }
        let is_region =
            !ROWS.contains(&self.role.as_str()) && self.children.iter().any(|child| child.has_reason(&|_| true));
        let mut texts = String::new();
        if !is_region {
            add_texts(&self.children, &mut texts);
        } else if self.role == CLICKABLE && self.children.len() <= NEIGHBORS {
            add_texts(self.children.iter().filter(|child| !child.has_reason(&|_| true)), &mut texts);
        }
        texts
    }

    /// Returns the name of an item after this one that is beside it, if this one is an icon and the one before is elsewhere.
    fn beside<'a>(&self, before: Option<&Self>, after: &'a [Self]) -> Option<&'a str> {
        let layout = self.layout.as_ref().filter(|layout| layout.width <= MAX_ICON)?;
        let is_beside = |other: &Self| {
            let other = other.layout.as_ref();
            other.is_some_and(|other| (layout.y..layout.y + layout.height).contains(&(other.y + other.height / 2.0)))
        };
        if before.is_some_and(|before| before.node.is_none() || (is_beside(before) && !before.name.is_empty())) {
            return None;
        }
        let after = after.iter().take(NEIGHBORS).take_while(|item| is_beside(item));
        after.map(|item| item.name.as_str()).find(|name| !name.is_empty())
    }
}

/// Adds the texts of items, without those of elements that a person could act on, as far as they are wanted. Only the first one
/// is cut, so that no part of a secret is shown.
fn add_texts<'a>(items: impl IntoIterator<Item = &'a Item>, texts: &mut String) {
    for item in items.into_iter().filter(|item| item.node.is_none()) {
        if !item.name.is_empty() {
            if texts.is_empty() {
                *texts = cut_words(&item.name, MAX_CONTEXT);
            } else if texts.chars().count() + item.name.chars().count() < MAX_CONTEXT {
                texts.push(' ');
                texts.push_str(&item.name);
            } else {
                return;
            }
        }
        add_texts(&item.children, texts);
    }
}

/// Returns the last text of an item: one that is there to be read, or the name of an element that is like no other.
fn last_text<'a>(item: &'a Item, is_one: &impl Fn(&Item) -> bool) -> Option<&'a str> {
    let below = item.children.iter().rev().take(NEIGHBORS).find_map(|child| last_text(child, is_one));
    let name = || (item.node.is_some() && !item.name.is_empty() && is_one(item)).then_some(item.name.as_str());
    // What separates two things says nothing about either.
    let is_said = |text: &&str| text.chars().any(char::is_alphanumeric);
    below.or_else(|| item.own_text().filter(is_said)).or_else(name)
}

/// Counts the items that a person could act on, by role and name, and adds those of which there are several.
fn count<'a>(items: &'a [Item], counts: &mut HashMap<RoleAndName<'a>, usize>, alike: &mut Vec<RoleAndName<'a>>) {
    for item in items {
        if item.node.is_some() {
            let group = item.group();
            let count = counts.entry(group).or_default();
            *count += 1;
            if *count == 2 {
                alike.push(group);
            }
        }
        count(&item.children, counts, alike);
    }
}

/// Counts the controls that take no input.
fn count_behind(items: &[Item]) -> usize {
    items.iter().map(|item| usize::from(item.is_behind) + count_behind(&item.children)).sum()
}

/// Moves what is in front of a document before the rest of it, the last one first.
fn modals_first(mut items: Vec<Item>) -> Vec<Item> {
    let mut modals = Vec::new();
    take_modals(&mut items, &mut modals);
    modals.into_iter().rev().chain(items).collect()
}

/// Takes the modal dialogs out of the items of a document. Those of a frame stay in it.
fn take_modals(items: &mut Vec<Item>, modals: &mut Vec<Item>) {
    for mut item in std::mem::take(items) {
        if item.role == FRAME {
            item.children = modals_first(item.children);
        } else {
            let mut inner = Vec::new();
            take_modals(&mut item.children, &mut inner);
            if item.is_modal {
                modals.push(item);
                modals.append(&mut inner);
                continue;
            }
            modals.append(&mut inner);
        }
        items.push(item);
    }
}

/// Replaces items that are only structure by their children.
fn compact(items: Vec<Item>) -> Vec<Item> {
    let mut compacted = Vec::with_capacity(items.len());
    for mut item in items {
        let children = compact(std::mem::take(&mut item.children));
        // Values stand below their heads by the cells before them.
        let is_table = item.role == "row" || CELLS.contains(&item.role.as_str());
        if item.node.is_none() && item.name.is_empty() && item.states.is_empty() && !is_table {
            compacted.extend(children);
        } else {
            compacted.push(Item { children, ..item });
        }
    }
    compacted
}

#[cfg(test)]
mod tests;
