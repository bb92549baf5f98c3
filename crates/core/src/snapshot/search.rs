//! Search for elements in a page as it was captured, by text, by role and name, and by position.
//!
//! Invariants: the content of a secret field, and of a frame that is not shown, matches nothing; elements are found in the order
//! of the page.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::build::{Part, is_frame, shown};
use super::item::{NodeKey, collapse};
use super::nodes::Nodes;
use super::page_text::PageText;
use crate::output::mask::{self, Literals};
use crate::selector::{SelectorPart, TextMatch};

/// Maximum depth of frames in frames.
const MAX_FRAMES: usize = 32;

/// Part of a page that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Document of the page itself.
    Page,
    /// Documents of the page and of all of its frames.
    Frames,
}

/// Element that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundElement {
    /// Node.
    pub key: NodeKey,
    /// `true` if a part of it can be seen.
    pub is_visible: bool,
}

/// Elements that a CSS part of a chain matches: their part of the page, and their ids there.
pub type CssMatches = HashSet<(usize, u64)>;

/// Elements of a page, with their texts.
pub struct Finder<'a> {
    parts: &'a [Part],
    documents: Vec<Nodes<'a>>,
    elements: Vec<Element>,
    text: PageText,
    secrets: Literals,
    /// Role and name of each node with which a snapshot shows it.
    shown: OnceCell<HashMap<NodeKey, (String, String)>>,
}

/// Element in the order of the page.
pub(super) struct Element {
    pub(super) key: NodeKey,
    /// Position of the element around it, that of the frame for the outermost one of a document.
    parent: Option<usize>,
    /// Position of its document in the list of them, and its own there.
    document: usize,
    position: usize,
}

impl<'a> Finder<'a> {
    /// Reads the parts of a page. These secrets, and those in its fields that the agent did not type, match nothing.
    #[must_use]
    pub fn new(parts: &'a [Part], secrets: impl IntoIterator<Item = String>, is_typed: impl Fn(&str) -> bool) -> Self {
        let in_fields = values_of_secret_fields(parts).into_iter().filter(|value| !is_typed(value));
        let secrets: Vec<String> = secrets.into_iter().chain(in_fields).collect();
        let folded = Literals::new(secrets.iter().map(|secret| secret.to_lowercase()));
        let secrets = Literals::new(secrets);
        let (documents, elements) = (Vec::new(), Vec::new());
        let mut finder =
            Self { parts, documents, elements, text: PageText::default(), secrets, shown: OnceCell::new() };
        finder.add_document(0, 0, None, 0);
        let parents: Vec<_> = finder.elements.iter().map(|element| element.parent).collect();
        finder.text.finish(&parents);
        finder.text.hide(&folded);
        finder
    }

    /// Returns the elements that these parts of a chain match, with the matches of each of its CSS parts.
    #[must_use]
    pub fn find(&self, chain: &[SelectorPart], css: &[CssMatches], reach: Reach) -> Vec<FoundElement> {
        let mut css = css.iter();
        let mut found: Option<Vec<usize>> = None;
        for part in chain {
            let below = |includes_scope, matches: &dyn Fn(usize, &Element) -> bool| {
                self.below(found.as_deref(), reach, includes_scope, matches)
            };
            found = Some(match part {
                SelectorPart::Css(_) => {
                    let matched = css.next();
                    let is_matched = |element: &Element| {
                        matched.is_some_and(|matched| matched.contains(&(element.key.part, element.key.node)))
                    };
                    below(false, &|_, element| is_matched(element))
                }
                SelectorPart::Text(text) => {
                    let parents = || self.elements.iter().map(|element| element.parent).collect::<Vec<_>>();
                    let matched = match text {
                        TextMatch::Contains(text) => self.text.smallest_with(&collapse(text), &parents()),
                        TextMatch::Exact(text) => self.text.with_whole(&collapse(text)),
                    };
                    // The text of a button is searched in the button too.
                    let found = below(true, &|position, _| matched.contains(&position));
                    if found.is_empty() {
                        let named = self.with_name(text);
                        below(true, &|position, _| named.contains(&position))
                    } else {
                        found
                    }
                }
                SelectorPart::Role(role) => below(false, &|position, element| {
                    let nodes = self.documents.get(element.document);
                    nodes.is_some_and(|nodes| {
                        let shown = self.shown().get(&element.key);
                        nodes.has_role(role, element.position, shown, &self.secrets, || self.text.of(position))
                    })
                }),
                SelectorPart::Nth(number) => nth(found.as_deref().unwrap_or_default(), *number),
            });
        }
        let found = found.unwrap_or_default().into_iter().filter_map(|position| self.elements.get(position));
        found.map(|element| FoundElement { key: element.key, is_visible: self.is_visible(element) }).collect()
    }

    /// Returns the role and name of each node with which a snapshot shows it.
    fn shown(&self) -> &HashMap<NodeKey, (String, String)> {
        self.shown.get_or_init(|| shown(self.parts))
    }

    /// Returns the elements that a snapshot shows with this text in their name, and that have no element in them that it does.
    fn with_name(&self, text: &TextMatch) -> HashSet<usize> {
        let is_wanted = |name: &str| match text {
            TextMatch::Contains(text) => name.to_lowercase().contains(&collapse(text).to_lowercase()),
            TextMatch::Exact(text) => name == collapse(text),
        };
        let name = |element: &Element| {
            let (_, name) = self.shown().get(&element.key)?;
            Some(self.secrets.mask_text(name)).filter(|name| !name.is_empty())
        };
        let elements = self.elements.iter().enumerate();
        let mut named: HashSet<usize> = elements
            .filter(|(_, element)| name(element).is_some_and(|name| is_wanted(&name)))
            .map(|(at, _)| at)
            .collect();
        for position in named.clone() {
            let mut outer = self.elements.get(position).and_then(|element| element.parent);
            while let Some(around) = outer {
                named.remove(&around);
                outer = self.elements.get(around).and_then(|element| element.parent);
            }
        }
        named
    }

    fn is_visible(&self, element: &Element) -> bool {
        let nodes = self.documents.get(element.document);
        let is_hidden = |nodes: &Nodes<'_>| {
            let layout = nodes.node(element.position).and_then(|node| node.layout.as_ref());
            layout.is_some_and(|layout| !layout.is_visible)
        };
        nodes.is_some_and(|nodes| nodes.facts(element.position).is_visible && !is_hidden(nodes))
    }

    /// Returns the elements that match, of those below some others or, without others, of all.
    fn below(
        &self,
        scopes: Option<&[usize]>,
        reach: Reach,
        includes_scope: bool,
        matches: &dyn Fn(usize, &Element) -> bool,
    ) -> Vec<usize> {
        let scopes: Option<HashSet<usize>> = scopes.map(|scopes| scopes.iter().copied().collect());
        let mut inside: Vec<bool> = Vec::with_capacity(self.elements.len());
        let mut found = Vec::new();
        for (position, element) in self.elements.iter().enumerate() {
            let is_scope = |position: usize| scopes.as_ref().is_none_or(|scopes| scopes.contains(&position));
            let is_inside = match element.parent {
                Some(parent) => is_scope(parent) || inside.get(parent).copied().unwrap_or_default(),
                None => scopes.is_none(),
            };
            inside.push(is_inside);
            let is_reached = reach == Reach::Frames || (element.key.part, element.key.document) == (0, 0);
            let is_searched = is_reached && (is_inside || includes_scope && is_scope(position));
            if is_searched && matches(position, element) {
                found.push(position);
            }
        }
        found
    }

    /// Adds the elements of a document and of the frames in it.
    fn add_document(&mut self, part: usize, position: usize, frame: Option<usize>, depth: usize) {
        let parts = self.parts;
        let Some(content) = parts.get(part) else { return };
        let Some(document) = content.documents.get(position) else { return };
        if depth >= MAX_FRAMES || content.refused_frames.contains(&document.frame) {
            return;
        }
        let own = self.documents.len();
        self.documents.push(Nodes::new(document, &content.accessibility));
        self.text.end();
        // The element that each node is or is in, and whether its text is left out.
        let mut places: Vec<(Option<usize>, bool)> = Vec::with_capacity(document.nodes.len());
        for (index, node) in document.nodes.iter().enumerate() {
            let around = node.parent.and_then(|parent| places.get(parent)).copied();
            let (around, mut is_left_out) = around.unwrap_or((frame, false));
            // An element in a slot is below the slot, which has no box.
            if !node.is_element || node.tag == "slot" {
                let is_pseudo_element = !node.is_text && node.tag.starts_with("::");
                if node.is_text
                    && !is_left_out
                    && let Some(around) = around
                {
                    self.text.add(around, &self.secrets.mask_text(&node.content_text));
                }
                places.push((around, is_left_out || is_pseudo_element));
                continue;
            }
            let place = self.elements.len();
            let key = NodeKey { part, document: position, node: node.id };
            self.elements.push(Element { key, parent: around, document: own, position: index });
            self.text.begin_element();
            let Some(nodes) = self.documents.get(own) else { return };
            is_left_out = nodes.is_text_left_out(index, is_left_out) || content.secret_fields.contains(&node.id);
            match (node.tag.as_str(), nodes.button_text(node)) {
                ("br", _) if !is_left_out => self.text.add_blank(),
                (_, Some(text)) => self.text.add(place, &self.secrets.mask_text(text)),
                _ => {}
            }
            places.push((Some(place), is_left_out));
            if is_frame(node) {
                let owned = parts.iter().position(|other| other.owner == Some((part, node.id)));
                match (owned, node.content) {
                    (Some(owned), _) => self.add_document(owned, 0, Some(place), depth + 1),
                    // A frame is in a document before its own.
                    (None, Some(inner)) if inner > position => self.add_document(part, inner, Some(place), depth + 1),
                    (None, _) => {}
                }
                self.text.end();
            }
        }
    }
}

/// Returns the values of the fields of a page that hold secrets.
fn values_of_secret_fields(parts: &[Part]) -> Vec<String> {
    let mut values = Vec::new();
    for part in parts {
        for document in &part.documents {
            let nodes = Nodes::new(document, &part.accessibility);
            let fields = document.nodes.iter().enumerate().filter(|(_, node)| node.value.is_some());
            let secret = fields.filter(|(position, node)| {
                part.secret_fields.contains(&node.id)
                    || nodes.is_secret(node)
                    || !node.value.as_deref().unwrap_or_default().is_empty()
                        && mask::is_sensitive(&nodes.name(*position))
            });
            values.extend(secret.filter_map(|(_, node)| node.value.clone()));
        }
    }
    values
}

/// Returns one of some elements by its position, from the end if that is negative.
fn nth(found: &[usize], number: i32) -> Vec<usize> {
    let distance = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
    let position = if number < 0 { found.len().checked_sub(distance) } else { Some(distance) };
    position.and_then(|position| found.get(position).copied()).into_iter().collect()
}
