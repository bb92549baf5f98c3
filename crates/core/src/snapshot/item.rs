//! Nodes of a page as a snapshot shows them: a tree without the wrappers of the documents.

use serde_json::Value;

use super::actionable::Reason;
use super::capture::Layout;

/// Maximum number of levels. What is deeper is shown at the deepest one.
const MAX_HEIGHT: usize = 48;

/// Maximum length of a name that is cut, in characters.
const MAX_NAME: usize = 120;

/// Maximum length of a name that is compared with the texts below it, in bytes.
const MAX_COMPARED: usize = 4096;

/// Node of a document: the part of the page that a process draws, and the position of the document in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeKey {
    /// Position of the part.
    pub part: usize,
    /// Position of the document in the part.
    pub document: usize,
    /// Id of the node in its process.
    pub node: u64,
}

/// Role of an item that is text only.
pub(super) const TEXT: &str = "text";

/// Role of a document that is not shown.
pub(super) const DOCUMENT: &str = "document";

/// Role and name of items.
pub(super) type Group<'a> = (&'a str, &'a str);

/// Node of a snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    pub(super) role: String,
    pub(super) name: String,
    /// Node, if a person could act on it.
    pub(super) node: Option<NodeKey>,
    /// Node of a text that a person could select, or drag something to.
    pub(super) block: Option<NodeKey>,
    /// Reason why a person could act on it.
    pub(super) reason: Option<Reason>,
    pub(super) states: Vec<(&'static str, Value)>,
    pub(super) children: Vec<Item>,
    /// Box, of a text or if a person could act on it.
    pub(super) layout: Option<Layout>,
    /// True if its text continues that of its neighbors.
    pub(super) is_inline: bool,
    pub(super) height: usize,
}

impl Item {
    /// Creates an item without children.
    pub(super) fn new(role: &str, name: &str) -> Self {
        Self { role: role.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// Creates an item of text.
    pub(super) fn text(text: &str) -> Self {
        Self { is_inline: true, ..Self::new(TEXT, text) }
    }

    /// Returns the role and the name, which several items may share.
    pub(super) fn group(&self) -> Group<'_> {
        (&self.role, &self.name)
    }

    /// Returns true if the item is text only.
    pub(super) fn is_text(&self) -> bool {
        self.role == TEXT && self.node.is_none()
    }

    /// Returns true if the item, or one below it, is there for one of some reasons to act on it.
    pub(super) fn has_reason(&self, is_wanted: &impl Fn(Reason) -> bool) -> bool {
        self.reason.is_some_and(is_wanted) || self.children.iter().any(|child| child.has_reason(is_wanted))
    }

    /// Adds the children and returns the items in their place: the item, with what is too deep behind it.
    pub(super) fn with_children(mut self, children: Vec<Self>) -> Vec<Self> {
        let mut children = merge_texts(children);
        let has_own_name = !self.name.is_empty();
        if has_own_name {
            let name = collapse(&self.name);
            if name.len() <= MAX_COMPARED {
                remove_repeated(&mut children, &name);
            }
            let repeats = self.node.is_none() && is_repeated(&children, &name);
            let is_shown_below = name.chars().count() > MAX_NAME && !children.is_empty();
            self.name = if repeats {
                String::new()
            } else if is_shown_below {
                cut(&name, MAX_NAME)
            } else {
                name
            };
        } else if children.first().is_some_and(Self::is_text) {
            self.name = children.remove(0).name;
        }
        self.height = children.iter().map(|child| child.height + 1).max().unwrap_or_default();
        if self.height < MAX_HEIGHT {
            self.children = children;
            return vec![self];
        }
        self.height = 0;
        let mut items = vec![self];
        items.append(&mut children);
        items
    }
}

/// Joins texts that continue each other, and removes empty ones.
pub(super) fn merge_texts(items: Vec<Item>) -> Vec<Item> {
    let mut merged: Vec<Item> = Vec::with_capacity(items.len());
    for item in items {
        if item.is_text() {
            match merged.last_mut() {
                Some(last) if last.is_text() && last.is_inline && item.is_inline => {
                    last.name.push_str(&item.name);
                    continue;
                }
                _ => {}
            }
        }
        merged.push(item);
    }
    for item in &mut merged {
        if item.is_text() {
            item.name = collapse(&item.name);
        }
    }
    merged.retain(|item| !item.is_text() || !item.name.is_empty());
    merged
}

/// Ends the texts of a block: they do not continue those around it.
pub(super) fn end_texts(items: &mut [Item]) {
    for item in items.iter_mut().filter(|item| item.is_text()) {
        item.is_inline = false;
    }
}

/// Returns true if the items show a whole name.
fn is_repeated(items: &[Item], name: &str) -> bool {
    let mut shown = String::new();
    add_names(items, &mut shown);
    let characters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    !items.is_empty() && name.len() <= MAX_COMPARED && characters(&shown) == characters(name)
}

/// Adds the names of items and of those below them, up to the length that is compared.
fn add_names(items: &[Item], names: &mut String) {
    for item in items {
        if names.len() > MAX_COMPARED {
            return;
        }
        names.push_str(&item.name);
        add_names(&item.children, names);
    }
}

/// Removes what only repeats a part of a name.
fn remove_repeated(items: &mut Vec<Item>, name: &str) {
    items.retain_mut(|item| {
        if item.node.is_some() || item.role == DOCUMENT {
            return true;
        }
        remove_repeated(&mut item.children, name);
        !item.children.is_empty() || !name.contains(collapse(&item.name).as_str())
    });
}

/// Returns a text with single blanks, and none at its ends. Characters for private use are pictures of icon fonts.
pub(super) fn collapse(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for word in text.split(is_blank) {
        if !word.is_empty() {
            if !collapsed.is_empty() {
                collapsed.push(' ');
            }
            collapsed.push_str(word);
        }
    }
    collapsed
}

/// Returns true for a character that is none of a text: a blank, or a picture.
pub(super) fn is_blank(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{200b}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}')
}

/// Cuts a text after a number of characters.
pub(super) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
