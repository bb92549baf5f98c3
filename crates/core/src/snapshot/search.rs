//! Search for elements in a page as it was captured, by text, by role, name and states, and by position.
//!
//! The text of a page is one buffer in the order of the page, in lower case and with single blanks, and an element is a range of it. So a
//! page with deep trees takes no more memory than its text.
//!
//! Invariants: the content of a secret field, and of a frame that is not shown, matches nothing; elements are found in the order
//! of the page.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::build::{Part, is_frame, shown};
use super::capture::CapturedNode;
use super::describe::CLICKABLE;
use super::fields::FIELDS;
use super::gaps::TextPlace;
use super::item::{NodeKey, collapse, glued, is_blank, is_unseen, is_unspaced};
use super::nodes::{BOXES, Nodes};
use crate::output::mask::{self, Literals};
use crate::selector::{RoleMatch, RoleState, SelectorPart, StateMatch, StateValue, TextMatch};

/// Maximum depth of frames in frames.
const MAX_FRAMES: usize = 32;

/// Number of elements around a text, with its own, that may be what it names.
const MAX_AROUND: usize = 6;

/// Number of nodes in a hidden element that are searched for a text that a style shows in it.
const MAX_REPLACED: usize = 50;

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
    /// `true` if input does not reach it, as behind a dialog.
    pub is_inert: bool,
}

/// Elements that a CSS part of a chain matches: their part of the page, and their ids there.
pub type CssMatches = HashSet<(usize, u64)>;

/// Elements of a page, with their texts.
pub struct Finder<'a> {
    parts: &'a [Part],
    documents: Vec<Nodes<'a>>,
    /// Documents whose frames nobody sees.
    hidden: HashSet<usize>,
    /// Elements with a text that a style puts into them and a person sees, by document and position: they may be hidden themselves.
    styled: HashSet<(usize, usize)>,
    elements: Vec<Element>,
    text: PageText,
    secrets: Literals,
    /// Role and name of each node with which a snapshot shows it.
    shown: OnceCell<HashMap<NodeKey, (String, String)>>,
}

/// Condition for an element with its place.
type ElementCondition<'a> = dyn Fn(usize, &Element) -> bool + 'a;

/// Element in the order of the page.
struct Element {
    key: NodeKey,
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
        let mut finder = Self {
            parts,
            documents: Vec::new(),
            hidden: HashSet::new(),
            styled: HashSet::new(),
            elements: Vec::new(),
            text: PageText::default(),
            secrets,
            shown: OnceCell::new(),
        };
        finder.add_document(0, 0, None, 0);
        let parents: Vec<_> = finder.elements.iter().map(|element| element.parent).collect();
        finder.text.finish(&parents);
        finder.text.hide(&folded);
        finder
    }

    /// Returns the elements that these parts of a chain match, with the matches of each of its CSS parts.
    #[must_use]
    pub fn find(&self, chain: &[SelectorPart], css: &[CssMatches], reach: Reach) -> Vec<FoundElement> {
        self.found(self.positions(chain, css, reach))
    }

    /// Returns the elements that these parts of a chain mean for an act. Of a text in any case, those that a person calls so come before
    /// those that contain it: what has it as its whole text or name, and can be acted on by that.
    #[must_use]
    pub fn find_meant(&self, chain: &[SelectorPart], css: &[CssMatches], reach: Reach) -> Vec<FoundElement> {
        let found = self.positions(chain, css, reach);
        let Some((SelectorPart::Text(TextMatch::Contains(text)), before)) = chain.split_last() else {
            return self.found(found);
        };
        let wanted = collapse(text).to_lowercase();
        let is_seen = |at: &usize| self.elements.get(*at).is_some_and(|element| self.is_visible(element));
        let seen: Vec<_> = found.iter().copied().filter(is_seen).collect();
        let wanted = respaced(&wanted).filter(|other| self.all_have(&seen, other)).unwrap_or(wanted);
        let is_wanted = |text: &str| text.to_lowercase() == wanted;
        let is_whole = |at: &usize| is_wanted(&self.text.of(*at));
        let is_on_control = |at: &usize| self.around(*at).take(MAX_AROUND).any(|around| self.is_operable(around));
        let is_single = matches!(seen.as_slice(), [one] if is_whole(one));
        if is_single && seen.iter().all(is_on_control) {
            return self.found(found);
        }
        let scopes = (!before.is_empty()).then(|| self.positions(before, css, reach));
        let named = self.named(&is_wanted);
        let named = self.below(scopes.as_deref(), reach, true, &|position, _| named.contains(&position));
        let whole = seen.iter().copied().filter(is_whole).chain(named.into_iter().filter(is_seen));
        let exact = self.innermost(whole.collect());
        let is_called = |at: &usize| {
            let name = || self.name_of(self.elements.get(*at)?);
            self.is_operable(*at) && (is_whole(at) || name().is_some_and(|name| is_wanted(&name)))
        };
        let has_control = |at: &usize| self.around(*at).take(MAX_AROUND).any(|around| is_called(&around));
        let operable: Vec<_> = exact.iter().copied().filter(has_control).collect();
        if !operable.is_empty() {
            self.found(operable)
        } else if is_single {
            self.found(found)
        } else if !exact.is_empty() && !seen.iter().any(is_on_control) {
            self.found(exact)
        } else {
            self.found(found)
        }
    }

    /// Returns true if there are elements, and a text is in each of them.
    fn all_have(&self, elements: &[usize], text: &str) -> bool {
        !elements.is_empty() && elements.iter().all(|at| self.text.of(*at).contains(text))
    }

    fn found(&self, positions: Vec<usize>) -> Vec<FoundElement> {
        let found = positions.into_iter().filter_map(|position| self.elements.get(position));
        let is_inert = |element: &Element| {
            let nodes = self.documents.get(element.document);
            nodes.is_some_and(|nodes| nodes.facts(element.position).is_inert)
        };
        let found = found.map(|element| {
            let (is_visible, is_inert) = (self.is_visible(element), is_inert(element));
            FoundElement { key: element.key, is_visible, is_inert }
        });
        found.collect()
    }

    /// Returns an element and those around it.
    fn around(&self, position: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(position), |around| self.elements.get(*around)?.parent)
    }

    /// Returns true if a person could act on an element.
    fn is_operable(&self, position: usize) -> bool {
        let Some(element) = self.elements.get(position) else { return false };
        let Some(nodes) = self.documents.get(element.document) else { return false };
        let Some(node) = nodes.node(element.position) else { return false };
        nodes.reason(element.position, nodes.role(node)).is_some()
    }

    /// Returns the positions of the elements that these parts of a chain match.
    fn positions(&self, chain: &[SelectorPart], css: &[CssMatches], reach: Reach) -> Vec<usize> {
        let mut css = css.iter();
        let mut found: Option<Vec<usize>> = None;
        for part in chain {
            if found.as_ref().is_some_and(Vec::is_empty) {
                return Vec::new();
            }
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
                // The text of a button is searched in the button too.
                SelectorPart::Text(text) => self.with_text(text, true, &|matches| below(true, matches)),
                SelectorPart::Role(role) => {
                    let mut found = self.with_role(role, &|matches| below(false, matches));
                    if BOXES.contains(&role.role.as_str()) {
                        self.keep_outermost(&mut found);
                        self.keep_labels(&mut found);
                    }
                    found
                }
                SelectorPart::Nth(number) => nth(found.as_deref().unwrap_or_default(), *number),
            });
        }
        found.unwrap_or_default()
    }

    /// Returns the elements with a role, of those that `below` returns for a condition. Blanks between Chinese characters count only if that
    /// finds something.
    fn with_role(&self, role: &RoleMatch, below: &dyn Fn(&ElementCondition<'_>) -> Vec<usize>) -> Vec<usize> {
        let with = |normalize: fn(&str) -> String| {
            below(&|position, element| {
                let nodes = self.documents.get(element.document);
                nodes.is_some_and(|nodes| {
                    let (shown, text) = (self.shown().get(&element.key), || self.text.of(position));
                    nodes.has_role(role, element.position, shown, &self.secrets, normalize, text)
                })
            })
        };
        let found = with(collapse);
        let is_unsure = role.names.iter().any(|name| name.text.contains(is_unspaced)) && !self.has_seen(&found);
        let others = if is_unsure { with(glued) } else { Vec::new() };
        if found.is_empty() || self.has_seen(&others) { others } else { found }
    }

    /// Returns true if a person sees one of these elements.
    fn has_seen(&self, elements: &[usize]) -> bool {
        elements.iter().any(|at| self.elements.get(*at).is_some_and(|element| self.is_visible(element)))
    }

    /// Returns the elements with a text, of those that `below` returns for a condition. If that is wanted and nobody sees one of them, those
    /// that a person calls so whose text has its blanks elsewhere.
    fn with_text(
        &self,
        text: &TextMatch,
        is_respaced: bool,
        below: &dyn Fn(&ElementCondition<'_>) -> Vec<usize>,
    ) -> Vec<usize> {
        let parents = || self.elements.iter().map(|element| element.parent).collect::<Vec<_>>();
        let matched = match text {
            TextMatch::Contains(text) => self.text.smallest_with(&collapse(text), &parents()),
            TextMatch::Exact(text) => self.text.with_whole(&collapse(text)),
        };
        let found = below(&|position, _| matched.contains(&position));
        if self.has_seen(&found) {
            return found;
        }
        // Nobody reads a hidden text, but a visible element may have it as its name.
        let named = self.with_name(text);
        let named = below(&|position, _| named.contains(&position));
        let is_named = self.has_seen(&named);
        let other = match text {
            TextMatch::Contains(text) if is_respaced && !is_named => respaced(&collapse(text)),
            _ => None,
        };
        let others = other.map(|other| self.with_text(&TextMatch::Contains(other), false, below)).unwrap_or_default();
        if self.has_seen(&others) || named.is_empty() && found.is_empty() {
            others
        } else if found.is_empty() || is_named {
            named
        } else {
            found
        }
    }

    /// Returns the role and name of each node with which a snapshot shows it.
    fn shown(&self) -> &HashMap<NodeKey, (String, String)> {
        self.shown.get_or_init(|| shown(self.parts))
    }

    /// Returns the elements that a snapshot shows with this text in their name, and that have no element in them that it does.
    fn with_name(&self, text: &TextMatch) -> HashSet<usize> {
        match text {
            TextMatch::Contains(text) => {
                let wanted = collapse(text).to_lowercase();
                self.named(&|name| name.to_lowercase().contains(&wanted))
            }
            TextMatch::Exact(text) => {
                let wanted = collapse(text);
                self.named(&|name| name == wanted)
            }
        }
    }

    /// Returns the name with which a snapshot shows an element, without secrets.
    fn name_of(&self, element: &Element) -> Option<String> {
        let (_, name) = self.shown().get(&element.key)?;
        Some(self.secrets.mask_text(name).into_owned()).filter(|name| !name.is_empty())
    }

    fn named(&self, is_wanted: &dyn Fn(&str) -> bool) -> HashSet<usize> {
        let elements = self.elements.iter().enumerate();
        let named = elements.filter(|(_, element)| self.name_of(element).is_some_and(|name| is_wanted(&name)));
        self.innermost(named.map(|(at, _)| at).collect()).into_iter().collect()
    }

    /// Returns the elements that have no other of them in them, in the order of the page.
    fn innermost(&self, elements: BTreeSet<usize>) -> Vec<usize> {
        let mut outer: HashSet<usize> = HashSet::new();
        for position in &elements {
            // Those around one that is known are known, too.
            for around in self.around(*position).skip(1) {
                if !outer.insert(around) {
                    break;
                }
            }
        }
        elements.into_iter().filter(|position| !outer.contains(position)).collect()
    }

    /// Removes the elements that are in others of them: the box of HTML in a component that has its role.
    fn keep_outermost(&self, found: &mut Vec<usize>) {
        let all: HashSet<usize> = found.iter().copied().collect();
        let mut inside: Vec<bool> = Vec::with_capacity(self.elements.len());
        for element in &self.elements {
            let is_in = |parent| all.contains(&parent) || inside.get(parent).copied().unwrap_or_default();
            let is_inside = element.parent.is_some_and(is_in);
            inside.push(is_inside);
        }
        found.retain(|position| inside.get(*position) == Some(&false));
    }

    /// Removes the boxes that nobody sees and whose labels stand for them.
    fn keep_labels(&self, found: &mut Vec<usize>) {
        let control = |position: &usize| {
            let element = self.elements.get(*position)?;
            let nodes = self.documents.get(element.document)?;
            let label = nodes.node(element.position).filter(|node| node.tag == "label");
            Some((element.document, label.and(nodes.facts(element.position).control)?))
        };
        let controls: HashSet<_> = found.iter().filter_map(control).collect();
        let is_one = |element: &Element| controls.contains(&(element.document, element.position));
        found.retain(|position| !self.elements.get(*position).is_some_and(is_one));
    }

    fn is_visible(&self, element: &Element) -> bool {
        let nodes = self.documents.get(element.document);
        let is_hidden = |nodes: &Nodes<'_>| {
            let layout = nodes.node(element.position).and_then(|node| node.layout.as_ref());
            layout.is_some_and(|layout| !layout.is_visible)
        };
        let is_shown = |nodes: &Nodes<'_>| nodes.facts(element.position).is_visible && !is_hidden(nodes);
        let is_styled = || self.styled.contains(&(element.document, element.position));
        !self.hidden.contains(&element.document) && (nodes.is_some_and(is_shown) || is_styled())
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
        let is_hidden = |frame: usize| self.elements.get(frame).is_some_and(|frame| !self.is_visible(frame));
        if frame.is_some_and(is_hidden) {
            self.hidden.insert(own);
        }
        self.documents.push(Nodes::new(document, &content.accessibility, false));
        self.text.end();
        // The element that each node is or is in, and whether its text is left out.
        let mut places: Vec<(Option<usize>, bool)> = Vec::with_capacity(document.nodes.len());
        for (index, node) in document.nodes.iter().enumerate() {
            let around = node.parent.and_then(|parent| places.get(parent)).copied();
            let (around, mut is_left_out) = around.unwrap_or((frame, false));
            // An element in a slot is below the slot, which has no box.
            if !node.is_element || node.tag == "slot" {
                let is_pseudo_element = !node.is_text && node.tag.starts_with("::");
                // What a style shows belongs to the element around it, which may be seen without it.
                let is_seen = |nodes: &Nodes<'_>| {
                    if node.is_styled { nodes.facts(index).is_visible } else { !nodes.is_replaced(node) }
                };
                if node.is_text
                    && !is_left_out
                    && self.documents.get(own).is_some_and(is_seen)
                    && let Some(around) = around
                {
                    self.text.continues &= !node.is_styled;
                    let place = self.documents.get(own).and_then(|nodes| nodes.text_place(index, node));
                    self.text.add_placed(around, &self.secrets.mask_text(&node.content_text), place);
                    self.text.continues &= !node.is_styled;
                    let of = self.elements.get(around).filter(|_| node.is_styled);
                    self.styled.extend(of.map(|element| (element.document, element.position)));
                }
                places.push((around, is_left_out || is_pseudo_element));
                continue;
            }
            let place = self.elements.len();
            let key = NodeKey { part, document: position, node: node.id };
            self.elements.push(Element { key, parent: around, document: own, position: index });
            let is_block = node.layout.as_ref().is_some_and(|layout| !layout.is_inline);
            self.text.begin_element(around, is_block);
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
            let nodes = Nodes::new(document, &part.accessibility, false);
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

/// Maximum number of Chinese characters between which designs write blanks.
const MAX_SPACED: usize = 4;

/// Returns a text of a few Chinese or Japanese characters with a blank between each two of them, as designs write that of a button, and one
/// with such blanks without them.
fn respaced(text: &str) -> Option<String> {
    let glued = glued(text);
    if glued != text {
        return Some(glued);
    }
    let characters: Vec<_> = text.chars().take(MAX_SPACED + 1).collect();
    let is_short = (2..=MAX_SPACED).contains(&characters.len()) && characters.iter().copied().all(is_unspaced);
    is_short.then(|| characters.iter().map(char::to_string).collect::<Vec<_>>().join(" "))
}

/// Returns one of some elements by its position, from the end if that is negative.
fn nth(found: &[usize], number: i32) -> Vec<usize> {
    let distance = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
    let position = if number < 0 { found.len().checked_sub(distance) } else { Some(distance) };
    position.and_then(|position| found.get(position).copied()).into_iter().collect()
}

/// Elements whose text nobody reads as one of the page: it is not shown, is what a field holds, or tells how a text is read.
const WITHOUT_TEXT: &[&str] = &[
    "audio", "embed", "head", "iframe", "input", "meter", "noscript", "object", "progress", "rp", "rt", "script",
    "style", "template", "textarea", "video",
];

/// Roles of ARIA with two names.
const SYNONYMS: &[(&str, &str)] = &[("image", "img")];

impl Nodes<'_> {
    /// Returns true for a text of a hidden element in place of which a style shows another one.
    fn is_replaced(&self, text: &CapturedNode) -> bool {
        let is_hidden = |node: &CapturedNode| node.layout.as_ref().is_some_and(|layout| !layout.is_visible);
        let Some(around) = text.parent.filter(|around| self.node(*around).is_some_and(is_hidden)) else { return false };
        let is_shown = |(at, part): (usize, &CapturedNode)| {
            part.is_styled && part.parent == Some(around) && self.facts(at).is_visible
        };
        self.below(around).take(MAX_REPLACED).any(is_shown)
    }

    /// Returns true if the text below an element does not count, by the element itself or by one around it.
    fn is_text_left_out(&self, position: usize, is_around: bool) -> bool {
        let Some(node) = self.node(position) else { return true };
        // Chromium shows a select box by elements of its own, of which the options are those of the page.
        WITHOUT_TEXT.contains(&node.tag.as_str())
            || node.tag == "select"
            || is_around && node.tag != "option"
            || self.is_secret(node)
            || self.is_secret_editor(position, node)
    }

    /// Returns the text of an `<input>` that is a button.
    fn button_text<'n>(&self, node: &'n CapturedNode) -> Option<&'n str> {
        let is_button = node.tag == "input" && matches!(self.input_type(node).as_str(), "button" | "reset" | "submit");
        node.value.as_deref().filter(|_| is_button)
    }

    /// Returns true if an element has a role, name and states: those that it has by itself, or with which a snapshot shows it. `text`
    /// returns its text, and names are compared after `normalize`.
    fn has_role(
        &self,
        wanted: &RoleMatch,
        position: usize,
        shown: Option<&(String, String)>,
        secrets: &Literals,
        normalize: fn(&str) -> String,
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
        if !wanted.states.iter().all(|state| self.has_state(state, described)) {
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
            // A secret is one without its blanks, too.
            let name = normalize(&secrets.mask_text(name));
            let name = secrets.mask_text(&name);
            wanted.names.iter().all(|condition| condition.matches(&name, normalize))
        })
    }

    /// Returns true if the element takes no input.
    pub(super) fn is_disabled(&self, node: &CapturedNode) -> bool {
        let is_field = matches!(node.tag.as_str(), "button" | "input" | "select" | "textarea" | "option");
        let has = |node: &CapturedNode| self.document.attribute(node, "disabled").is_some();
        let is_told = self.property(node, "disabled") == Some("true");
        if !is_field || has(node) {
            return is_told || is_field;
        }
        if self.accessible(node).is_some() && !is_told {
            return false;
        }
        // A fieldset disables the fields of its own tree; Chromium tells it of those in the components in it, too.
        let around = || self.around(node).filter_map(|around| self.node(around));
        let mut fieldsets = around().filter(|around| around.tag == "fieldset" && has(around)).peekable();
        let has_none = fieldsets.peek().is_none();
        let is_by_aria = |node: &CapturedNode| self.document.attribute(node, "aria-disabled") == Some("true");
        fieldsets.any(|fieldset| fieldset.host == node.host)
            || self.accessible(node).is_some() && (has_none || around().chain([node]).any(is_by_aria))
    }

    /// Returns true if an element has a state, as a snapshot tells it.
    fn has_state(&self, wanted: &StateMatch, node: &CapturedNode) -> bool {
        let property = |name| self.property(node, name);
        let is_value = |value: Option<&str>| match wanted.value {
            StateValue::True => value == Some("true"),
            StateValue::False => value == Some("false"),
            StateValue::Mixed => value == Some("mixed"),
            StateValue::Number(number) => value.and_then(|value| value.parse().ok()) == Some(number),
        };
        let is_on = wanted.value == StateValue::True;
        match wanted.state {
            // Without it, a box is as the document has it, and a button is up.
            RoleState::Checked => {
                is_value(property("checked").or(Some(if node.is_checked { "true" } else { "false" })))
            }
            RoleState::Pressed => is_value(property("pressed").or(Some("false"))),
            RoleState::Expanded => is_value(property("expanded")),
            RoleState::Level => is_value(property("level")),
            // Chromium reports these only where they are on.
            RoleState::Disabled => self.is_disabled(node) == is_on,
            RoleState::Selected => self.is_selected(node) == is_on,
        }
    }
}

/// Character between texts that do not continue each other. No text that is searched contains it.
const END: char = '\0';

/// Maximum length of the text of one element that is compared with a name, in bytes.
const MAX_COMPARED: usize = 8192;

/// Text of a page. Elements are added in the order of the page, each before its text and the elements in it.
#[derive(Default)]
struct PageText {
    /// Text in lower case.
    folded: String,
    /// Texts that no element interrupts, as they are.
    runs: Vec<Run>,
    /// Ranges of the elements.
    ranges: Vec<(usize, usize)>,
    /// Parts of the folded text that match nothing, in order.
    hidden: Vec<(usize, usize)>,
    /// True if the next text of the same element continues the last one.
    continues: bool,
    /// First text of those behind each other in one element that no element interrupts.
    first: Option<usize>,
    /// First and last text of those that are a whole with the texts that a style puts beside them.
    joined: Vec<(usize, usize)>,
    /// Block that each element is, or is in: its text does not continue that of another block.
    blocks: Vec<usize>,
    /// Block of the last text.
    last_block: Option<usize>,
    /// Places where a block follows another one without a blank, in order.
    borders: Vec<usize>,
    /// Place of the last text in the page.
    place: Option<TextPlace>,
    /// Blanks in the folded text that stand for gaps, in order.
    gaps: Vec<usize>,
}

struct Run {
    element: usize,
    start: usize,
    text: String,
}

impl PageText {
    /// Begins the next element.
    fn begin_element(&mut self, around: Option<usize>, is_block: bool) {
        let block = around.filter(|_| !is_block).and_then(|around| self.blocks.get(around).copied());
        self.blocks.push(block.unwrap_or(self.ranges.len()));
        self.ranges.push((self.folded.len(), self.folded.len()));
        (self.continues, self.first) = (false, None);
    }

    /// Adds a text of an element.
    fn add(&mut self, element: usize, text: &str) {
        let start = self.folded.len();
        let block = self.blocks.get(element).copied();
        if block != self.last_block && !self.folded.ends_with(' ') && !text.starts_with(is_blank) {
            self.borders.push(start);
        }
        self.last_block = block;
        for character in text.chars().filter(|character| !is_unseen(*character)) {
            if is_blank(character) {
                self.add_blank();
            } else {
                self.folded.extend(character.to_lowercase().filter(|c| *c != END));
            }
        }
        if let Some((_, end)) = self.ranges.get_mut(element) {
            *end = self.folded.len();
        }
        if let Some(run) = self.runs.last_mut().filter(|run| self.continues && run.element == element) {
            run.text.push_str(text);
        } else {
            let run = self.runs.len();
            let is_beside = |first: &usize| self.runs.get(*first).is_some_and(|first| first.element == element);
            match self.first.filter(is_beside) {
                Some(first) => {
                    self.joined.pop_if(|(known, _)| *known == first);
                    self.joined.push((first, run));
                }
                None => self.first = Some(run),
            }
            self.runs.push(Run { element, start, text: text.to_owned() });
        }
        self.continues = true;
    }

    /// Adds a text of an element, behind a blank if a person sees a gap before it.
    fn add_placed(&mut self, element: usize, text: &str, place: Option<TextPlace>) {
        let is_in_block = self.blocks.get(element).copied() == self.last_block;
        let characters = self.folded.chars().next_back().zip(text.chars().next());
        let characters = characters.filter(|(last, next)| *last != END && !is_blank(*last) && !is_blank(*next));
        match (characters, &self.place, &place) {
            (Some((last, next)), Some(own), Some(other)) if is_in_block && own.has_gap(other, last, next) => {
                self.gaps.push(self.folded.len());
                self.add(element, &format!(" {text}"));
            }
            _ => self.add(element, text),
        }
        if !text.chars().all(is_blank) {
            self.place = place;
        }
    }

    /// Adds a blank, unless there is one.
    fn add_blank(&mut self) {
        if !self.folded.ends_with([' ', END]) {
            self.folded.push(' ');
        }
    }

    /// Ends the text: what is added next does not continue it.
    fn end(&mut self) {
        self.folded.push(END);
        (self.continues, self.first) = (false, None);
    }

    /// Extends the range of each element over the elements in it, by the element around each.
    fn finish(&mut self, parents: &[Option<usize>]) {
        for (position, parent) in parents.iter().enumerate().rev() {
            let end = self.ranges.get(position).map_or(0, |(_, end)| *end);
            if let Some((_, around)) = parent.and_then(|parent| self.ranges.get_mut(parent)) {
                *around = end.max(*around);
            }
        }
    }

    /// Lets what contains one of these secrets, which are in lower case, match nothing, also where elements stand between their letters.
    fn hide(&mut self, secrets: &Literals) {
        let spans = |text: &str| secrets.spans(text).unwrap_or_else(|| vec![(0, text.len())]);
        self.hidden = spans(&self.folded);
        if !self.gaps.is_empty() {
            // A secret is one with gaps in it, too.
            let mut gaps = self.gaps.iter().copied().peekable();
            let glued = self.folded.char_indices().filter(|(at, _)| gaps.next_if_eq(at).is_none());
            let glued: String = glued.map(|(_, character)| character).collect();
            let before: Vec<usize> = self.gaps.iter().enumerate().map(|(number, gap)| gap - number).collect();
            let start = |at: usize| at + before.partition_point(|gap| *gap <= at);
            let end = |at: usize| at + before.partition_point(|gap| *gap < at);
            self.hidden.extend(spans(&glued).into_iter().map(|(first, last)| (start(first), end(last))));
            self.hidden = mask::joined(std::mem::take(&mut self.hidden));
        }
    }

    /// Returns true if a part of the folded text has a part of a secret.
    fn is_hidden(&self, start: usize, end: usize) -> bool {
        let after = self.hidden.partition_point(|(_, last)| *last <= start);
        self.hidden.get(after).is_some_and(|(first, _)| *first < end)
    }

    /// Returns true if a part of the folded text goes from one block to the next as if they were one word.
    fn has_border(&self, start: usize, end: usize) -> bool {
        let after = self.borders.partition_point(|border| *border <= start);
        self.borders.get(after).is_some_and(|border| *border < end)
    }

    /// Returns the elements that contain a text, in any case, and have no element in them that does.
    fn smallest_with(&self, text: &str, parents: &[Option<usize>]) -> HashSet<usize> {
        let wanted = text.to_lowercase();
        let (mut smallest, mut around) = (HashSet::new(), HashSet::new());
        // A DFA for letters that repeat thousands of times takes minutes to build.
        let search = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build([&wanted]);
        let Some(search) = search.ok().filter(|_| !wanted.is_empty()) else { return smallest };
        let parent = |element: usize| parents.get(element).copied().flatten();
        // The element around each one that may have the next matches. They end later: what ends before one of them has none of them.
        let mut next = parents.to_vec();
        let mut passed = Vec::new();
        let mut run = 0;
        for found in search.find_overlapping_iter(&self.folded) {
            let (start, end) = (found.start(), found.end());
            if self.is_hidden(start, end) || self.has_border(start, end) {
                continue;
            }
            while self.runs.get(run + 1).is_some_and(|next| next.start <= start) {
                run += 1;
            }
            let has_end = |element: usize| self.ranges.get(element).is_some_and(|(_, last)| end <= *last);
            let mut element = self.runs.get(run).filter(|run| run.start <= start).map(|run| run.element);
            while let Some(small) = element.filter(|element| !has_end(*element)) {
                passed.push(small);
                element = next.get(small).copied().flatten();
            }
            for small in passed.drain(..) {
                if let Some(next) = next.get_mut(small) {
                    *next = element;
                }
            }
            let Some(small) = element.filter(|element| smallest.insert(*element)) else { continue };
            let mut outer = parent(small);
            while let Some(element) = outer.filter(|element| around.insert(*element)) {
                outer = parent(element);
            }
        }
        smallest.retain(|element| !around.contains(element));
        smallest
    }

    /// Returns the elements with a text that is this one as a whole, without what a style puts beside it or with that.
    fn with_whole(&self, text: &str) -> HashSet<usize> {
        let runs = self.runs.iter().filter(|run| !text.is_empty() && collapse(&run.text) == text);
        let joined = self.joined.iter().filter_map(|(first, last)| {
            let runs = self.runs.get(*first..=*last)?;
            let end = self.runs.get(last + 1).map_or(self.folded.len(), |next| next.start);
            let run = runs.first().filter(|run| !text.is_empty() && !self.is_hidden(run.start, end))?;
            let whole: String = runs.iter().map(|run| run.text.as_str()).collect();
            (collapse(&whole) == text).then_some(run.element)
        });
        runs.map(|run| run.element).chain(joined).collect()
    }

    /// Returns the text of an element as it is, or its begin.
    fn of(&self, element: usize) -> String {
        let Some((first, last)) = self.ranges.get(element).copied() else { return String::new() };
        let begin = self.runs.partition_point(|run| run.start < first);
        let mut text = String::new();
        for run in self.runs.iter().skip(begin).take_while(|run| run.start < last) {
            if text.len() + run.text.len() > MAX_COMPARED {
                break;
            }
            text.push_str(&run.text);
        }
        collapse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::capture::TextBox;
    use super::*;

    /// Builds the text of `[[a] b [c [d]]]`-like trees: a number opens an element, `)` closes it, other words are text.
    fn page(tree: &str) -> (PageText, Vec<Option<usize>>) {
        let (mut text, mut parents, mut open) = (PageText::default(), Vec::new(), Vec::new());
        for token in tree.split_inclusive(['(', ')']) {
            let words = token.trim_end_matches(['(', ')']);
            let block = words;
            let words = words.trim_end_matches('[');
            if let (false, Some(element)) = (words.is_empty(), open.last()) {
                text.add(*element, words);
            }
            if token.ends_with('(') {
                let around = open.last().copied();
                parents.push(around);
                open.push(parents.len() - 1);
                // A block begins with `[`.
                text.begin_element(around, block.ends_with('['));
            } else if token.ends_with(')') {
                open.pop();
                text.continues = false;
            }
        }
        text.finish(&parents);
        (text, parents)
    }

    fn smallest(tree: &str, wanted: &str) -> Vec<usize> {
        let (text, parents) = page(tree);
        let mut found: Vec<_> = text.smallest_with(wanted, &parents).into_iter().collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn smallest_element_with_a_text_is_found() {
        assert_eq!(smallest("((Buy)(Sell))", "buy"), [1]);
        assert_eq!(smallest("((Buy)( Buy  now))", "BUY"), [1, 2]);
        assert_eq!(smallest("(Buy (Buy))", "buy"), [1], "the outer one has a smaller one in it");
        assert_eq!(smallest("(Bu(y) it)", "buy"), [0], "the text is in both");
        assert_eq!(smallest("(Bu(y) it)", "y it"), [0]);
        assert_eq!(smallest("((Buy) (it))", "buy it"), [0]);
        assert_eq!(smallest("((a)(aa))", "aa"), [2], "matches that overlap count");
        assert_eq!(smallest("((Straße)(\u{130}x))", "x"), [2]);
        assert!(smallest("((Buy))", "sell").is_empty());
        assert!(smallest("((Buy))", "").is_empty());
        assert!(smallest("([(Type)[(Price))", "ep").is_empty(), "two blocks");
        assert_eq!(smallest("([(Type )[(Price))", "e p"), [0], "a blank is between them");
        assert_eq!(smallest("([(Ty(p)e)[(Price))", "type"), [1], "one block");
    }

    #[test]
    fn repeated_text_is_found_in_one_pass() {
        let found = |tree: &str, count| smallest(tree, &"a".repeat(count));
        assert_eq!(found(&format!("(({})(a))", "a".repeat(2_000_000)), 8000), [1]);
        // Each element ends before the one around it, so that a long text is in one far outside only.
        let steps = format!("{}{}", "(".repeat(20_000), "a)".repeat(20_000));
        assert_eq!(found(&steps, 8000), [12_000]);
        assert_eq!(found(&steps, 1), [19_999]);
        assert!(found(&steps, 20_001).is_empty(), "control");
    }

    proptest::proptest! {
        #[test]
        fn smallest_elements_are_those_that_a_slow_search_finds(
            tokens in proptest::collection::vec("\\(|\\)|a|b|\u{e9}| ", 0..40),
            wanted in "[ab\u{e9}]{1,3}",
        ) {
            let tree = format!("({})", tokens.concat());
            let (text, parents) = page(&tree);
            let contains = |element: usize| {
                let (first, last) = text.ranges[element];
                text.folded.get(first..last).is_some_and(|own| own.contains(&wanted))
            };
            let is_around = |element: usize, other: usize| {
                std::iter::successors(parents[other], |around| parents[*around]).any(|around| around == element)
            };
            let all: Vec<usize> = (0..parents.len()).filter(|element| contains(*element)).collect();
            let is_smallest = |element: &usize| !all.iter().any(|other| is_around(*element, *other));
            let expected: Vec<usize> = all.iter().copied().filter(is_smallest).collect();
            proptest::prop_assert_eq!(smallest(&tree, &wanted), expected);
        }
    }

    /// Builds a text of words that are each in an element of one block, with these edges to the left and right.
    fn placed(words: &[(&str, f64, f64)]) -> PageText {
        let mut text = PageText::default();
        text.begin_element(None, true);
        for (place, (word, left, right)) in words.iter().enumerate() {
            text.begin_element(Some(0), false);
            let own = TextBox { x: *left, y: 0.0, width: right - left, height: 20.0 };
            text.add_placed(place + 1, word, Some(TextPlace::new(word, own, own, Some(place))));
        }
        let parents: Vec<_> = (0..=words.len()).map(|at| (at > 0).then_some(0)).collect();
        text.finish(&parents);
        text
    }

    #[test]
    fn text_is_found_with_the_gaps_that_are_seen() {
        let text = placed(&[("Widget", 0.0, 50.0), ("3", 62.0, 70.0), ("12.50", 120.0, 160.0), ("EUR", 160.0, 190.0)]);
        let found = |wanted: &str| text.smallest_with(wanted, &[None, Some(0), Some(0), Some(0), Some(0)]);
        assert_eq!(found("Widget 3 12.50EUR"), HashSet::from([0]));
        assert_eq!(found("12.50"), HashSet::from([3]));
        assert!(found("12.50 EUR").is_empty() && found("Widget3").is_empty());
        assert_eq!(text.of(0), "Widget 3 12.50EUR");
    }

    #[test]
    fn secret_with_a_gap_in_it_is_hidden() {
        let mut text = placed(&[("x-48", 0.0, 50.0), ("15-", 62.0, 80.0), ("23", 99.0, 120.0), ("end", 150.0, 170.0)]);
        let found =
            |text: &PageText, wanted: &str| text.smallest_with(wanted, &[None, Some(0), Some(0), Some(0), Some(0)]);
        for part in ["x-48 15- 23", "x-48", "15-", "23", "end"] {
            assert!(!found(&text, part).is_empty(), "control: {part}");
        }
        text.hide(&Literals::new(["48 15-".to_owned(), "x-4815-23".to_owned()]));
        for part in ["x-48 15- 23", "x-48", "48", "15-", "23"] {
            assert!(found(&text, part).is_empty(), "{part}");
        }
        assert_eq!(found(&text, "end"), HashSet::from([4]));
        assert_eq!(mask::joined(vec![(4, 6), (0, 2), (1, 3), (5, 6)]), [(0, 3), (4, 6)]);
    }

    #[test]
    fn chinese_characters_may_have_blanks_between_them() {
        for (text, other) in
            [("\u{767b}\u{5f55}", "\u{767b} \u{5f55}"), ("\u{7528}\u{6237}\u{540d}", "\u{7528} \u{6237} \u{540d}")]
        {
            assert_eq!(respaced(text).as_deref(), Some(other));
            assert_eq!(respaced(other).as_deref(), Some(text));
        }
        for text in ["\u{767b}", "\u{767b}\u{5f55}".repeat(3).as_str(), "OK", "\u{767b}A", "\u{767b} A", "a b", ""] {
            assert_eq!(respaced(text), None, "{text}");
        }
    }

    #[test]
    fn whole_text_ends_at_an_element() {
        let whole = |tree: &str, wanted: &str| page(tree).0.with_whole(wanted);
        assert_eq!(whole("(( Log  in )(Log in now))", "Log in"), HashSet::from([1]));
        assert_eq!(whole("(Log (in))", "Log"), HashSet::from([0]));
        assert!(whole("(log in)", "Log in").is_empty());
        assert!(whole("(Log (in))", "Log in").is_empty());
    }

    #[test]
    fn text_of_a_style_is_a_part_of_a_whole_one() {
        let mut text = PageText::default();
        text.begin_element(None, true);
        for (part, is_styled) in [("Code: ", true), ("12", false), (" kg", true)] {
            text.continues &= !is_styled;
            text.add(0, part);
            text.continues &= !is_styled;
        }
        text.begin_element(Some(0), false);
        text.add(1, "of");
        text.add(0, "34");
        text.finish(&[None, Some(0)]);
        for (whole, element) in [("Code:", 0), ("12", 0), ("kg", 0), ("Code: 12 kg", 0), ("of", 1), ("34", 0)] {
            assert_eq!(text.with_whole(whole), HashSet::from([element]), "{whole}");
        }
        for part in ["Code: 12", "Code", "12 kg of", "Code: 12 kgof", "of34", "Code: 12 kg34", ""] {
            assert!(text.with_whole(part).is_empty(), "{part}");
        }
        text.hide(&Literals::new(["code: 12".to_owned()]));
        assert!(text.with_whole("Code: 12 kg").is_empty(), "it has a secret");
        assert_eq!(text.with_whole("12"), HashSet::from([0]), "control");
    }

    #[test]
    fn text_of_an_element_is_all_that_is_in_it() {
        let (text, _) = page("(a (b (c) d)(e) f)");
        assert_eq!([0, 1, 2, 3].map(|element| text.of(element)), ["a b c de f", "b c d", "c", "e"]);
    }
}
