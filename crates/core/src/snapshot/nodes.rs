//! Facts about the nodes of a document that depend on those around them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::OnceLock;

use super::accessibility::{Accessibility, Accessible};
use super::capture::{CapturedNode, Document, Layout, MAX_OUTER, MAX_TRANSPARENCY, TextBox};
use super::gaps::TextPlace;
use super::sight::Sight;
use super::tables::{self, TableRoles};

/// Words in the class of one of several elements that a page shows as the one that is chosen.
const CHOSEN: &[&str] = &["active", "selected", "current"];

/// Words, behind `is-`, in the class of the first and the last day of a time that is chosen.
const RANGE_ENDS: &[&str] = &["start-date", "end-date"];

/// Roles of controls.
pub(super) const CONTROLS: &[&str] = &[
    "button",
    "checkbox",
    "combobox",
    "link",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
    "treeitem",
];

/// Roles of what is checked.
pub(super) const BOXES: &[&str] = &["checkbox", "radio", "switch"];

/// Roles of the parts of a widget of which one takes the focus.
pub(super) const FOCUSED_PARTS: &[&str] = &["columnheader", "gridcell", "row", "rowheader"];

/// Position to the left that nobody scrolls back from, in CSS pixels.
const FAR_AWAY: f64 = -5000.0;

/// Difference of two edges that are the same apart from borders, in CSS pixels.
const TOLERANCE: f64 = 4.0;

/// Number of nodes of what fades in that are searched.
const MAX_PARTS: usize = 30;

/// Number of elements around a hidden list that are searched for what stands for it.
const MAX_STAND_INS: usize = 100;

/// Types of `<input>` with which a person chooses something.
pub(super) const CHOICES: &[&str] = &["checkbox", "file", "radio"];

/// Types of `<input>` into which a person types text.
const TYPED: &[&str] = &["email", "number", "password", "search", "tel", "text", "url"];

/// Number of transparent fields for which it is searched what is drawn for them.
const MAX_TRANSPARENT: usize = 50;

/// Elements that can be labeled.
const LABELED: &[&str] = &["button", "input", "meter", "output", "progress", "select", "textarea"];

/// Labels of the options of a list.
#[derive(Debug)]
pub(super) struct OptionLabels {
    /// Those that are listed, and the number of the others.
    pub(super) all: Vec<String>,
    /// Those that are chosen, without what tells that nobody can choose them.
    pub(super) selected: Vec<String>,
}

/// Document with facts about its nodes.
pub(super) struct Nodes<'a> {
    pub(super) document: &'a Document,
    accessibility: &'a Accessibility,
    /// Roles of the parts of tables that are not called so.
    pub(super) table_roles: TableRoles,
    pub(super) facts: Vec<Facts>,
    ids: HashMap<(Option<usize>, &'a str), usize>,
    /// Labels, by the position of what they label.
    pub(super) labels: HashMap<usize, usize>,
    /// Labels of hidden lists, by what a page shows in place of the list.
    pub(super) stand_ins: HashMap<usize, usize>,
    /// True if something can be dragged.
    pub(super) has_drag: bool,
    /// Number of the elements of each class, as soon as it is asked for.
    pub(super) classes: OnceLock<HashMap<String, usize>>,
    /// Number of the elements of each description, as soon as it is asked for.
    pub(super) descriptions: OnceLock<HashMap<String, usize>>,
    /// Classes of the buttons that are not chosen, as soon as they are asked for.
    pub(super) plain_buttons: OnceLock<HashSet<String>>,
    /// Words of each class, by the place of its text in memory, as soon as they are asked for.
    pub(super) class_words: OnceLock<HashMap<usize, ClassWords>>,
    /// Labels of the options of each list that has been asked for, by its position.
    pub(super) options: RefCell<HashMap<usize, Rc<OptionLabels>>>,
    /// True if words stand for pictures somewhere.
    pub(super) has_icons: bool,
    /// Place in the order of painting of the mask behind which everything is hidden from assistive technologies.
    pub(super) modal_order: Option<i64>,
}

/// State of the elements of a class, as its words tell it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassWords {
    /// True if it is the chosen one of several.
    pub(super) is_chosen: bool,
    pub(super) is_disabled: bool,
}

impl ClassWords {
    /// Reads a class.
    pub(super) fn of(class: &str) -> Self {
        let mut words = class.split_ascii_whitespace();
        Self { is_chosen: words.clone().any(is_chosen), is_disabled: words.any(|word| word == "disabled") }
    }
}

/// Returns true if a word of a class says that its element is the chosen one of several.
pub(super) fn is_chosen(word: &str) -> bool {
    // Some libraries put a sign on both sides of a word, and call the day of today the current one so.
    let inner = word.trim_end_matches(['-', '_']);
    let is_negated = |rest: &str| matches!(rest.rsplit('-').next(), Some("de" | "in" | "no" | "non" | "not" | "un"));
    let is_of = |chosen: &str| {
        let rest = inner.strip_suffix(chosen);
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_suffix('-').is_some_and(|rest| !is_negated(rest)))
    };
    let is_end = |chosen: &str| inner.strip_suffix(chosen).is_some_and(|rest| rest.ends_with("is-"));
    let is_one = CHOSEN.iter().any(|chosen| is_of(chosen) && (inner == word || *chosen != "current"));
    is_one || RANGE_ENDS.iter().any(|chosen| is_end(chosen))
}

/// Way in which an element takes input for its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartOf {
    /// It takes a click on a part.
    Clicked,
    /// A drag, or another act that begins with a press, can begin on a part.
    Pressed,
}

/// Facts about a node.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
pub(super) struct Facts {
    /// True if a part of it can be seen.
    pub(super) is_visible: bool,
    /// True if it can be seen itself.
    has_box: bool,
    /// True if nothing of the node can be seen, because an element around it shows nothing.
    is_clipped: bool,
    /// True if it is in content that the browser does not draw at all, as in a closed `details`.
    is_undrawn: bool,
    /// Part of the light that passes through it, from 0 to 1.
    pub(super) transparency: f64,
    /// True if an element around it does not show it, as a carousel its next slide.
    is_beside: bool,
    /// True if nothing of what is in it is shown.
    shows_nothing: bool,
    /// True if an element around it can be scrolled.
    is_in_scroller: bool,
    /// True if it has the focus.
    pub(super) is_focused: bool,
    /// True if an element around it is a control that is pressed as a whole.
    pub(super) is_in_control: bool,
    /// True if it cannot be seen and is pressed where it is: a box that its page draws by other elements, or a field under its label.
    pub(super) is_drawn: bool,
    /// Element of a grid around it.
    pub(super) grid: Option<usize>,
    /// True if input does not reach it.
    pub(super) is_inert: bool,
    /// True if its page hides it, or an element around it, from assistive technologies.
    pub(super) is_aria_hidden: bool,
    /// True if it is in the dialog that keeps input from everything else, or is that itself.
    is_in_modal: bool,
    /// True if it is in the element over the whole window that a dialog is in, or is that itself.
    is_in_overlay: bool,
    /// True if it is in an element whose text can be edited.
    pub(super) is_in_editable: bool,
    /// True if an element around it has the cursor of something to act on.
    pub(super) is_in_pointer: bool,
    /// Labeled control of a label.
    pub(super) control: Option<usize>,
    /// True if it is in a list of options.
    pub(super) is_in_select: bool,
    /// True if it is in a label.
    pub(super) is_in_label: bool,
    /// True if an element around it takes input.
    pub(super) is_in_target: bool,
    /// True if it is the picture of a box that nobody sees, and that has its line by its label.
    pub(super) is_picture: bool,
    /// Way in which the element around it takes input for it.
    pub(super) group: Option<PartOf>,
    /// Boxes in the line that it is in.
    line: LineBoxes,
    /// True if it, or an element around it, stays where it is in the window.
    is_in_fixed: bool,
    /// True if what stays where it is in the window does so in an element around it, or in itself.
    holds_fixed: bool,
    /// Outermost one of it and the elements around it that stays in the window while a person scrolls.
    pub(super) held_by: Option<usize>,
    /// Place in the order of painting at which it is behind what is in front of it. What is behind the page has none.
    pub(super) order: Option<i64>,
    /// Place of the layer that it is in, or is itself.
    layer_order: Option<i64>,
    /// True if it, or an element around it, is behind the flow of a layer.
    pub(super) is_behind_flow: bool,
    /// True if it, or an element around it, may be turned.
    pub(super) is_turned: bool,
}

/// Positions of the elements around a node that are in the line of text that it is in.
#[derive(Clone, Copy, Debug, Default)]
struct LineBoxes {
    /// Box in the line, as an `inline-block` is.
    inline_box: Option<usize>,
    /// Part of the line whose begin and end a person sees, as those of `code`.
    painted: Option<usize>,
}

impl LineBoxes {
    /// Returns those in an element, which is in these.
    fn inside(self, position: Option<usize>, layout: Option<&Layout>) -> Self {
        match layout {
            Some(own) if own.is_inline_box => Self { inline_box: position, painted: None },
            Some(own) if !own.is_inline => Self::default(),
            Some(own) if own.is_painted => Self { painted: position, ..self },
            _ => self,
        }
    }
}

impl Facts {
    /// Returns the facts about the order of painting of an element in this one.
    fn painted(&self, own: Option<&Layout>) -> Self {
        let Some(look) = own.map(|own| &own.look) else {
            let Self { order, layer_order, is_behind_flow, .. } = *self;
            return Self { order, layer_order, is_behind_flow, ..Self::default() };
        };
        let order = match (look.is_behind_flow, self.is_behind_flow) {
            // It is painted with the layer around it.
            (true, _) => self.layer_order,
            (false, true) => self.order,
            (false, false) => Some(look.order),
        };
        let is_layer = look.is_layer && !look.is_behind_flow;
        Self {
            order,
            layer_order: if is_layer { Some(look.order) } else { self.layer_order },
            is_behind_flow: self.is_behind_flow || look.is_behind_flow,
            ..Self::default()
        }
    }

    /// Returns true if what is around the node, or its own look, shows nothing of it.
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_clipped || self.is_beside
    }
}

impl<'a> Nodes<'a> {
    /// Collects the facts about a document, which may be in a frame that takes no input.
    pub(super) fn new(document: &'a Document, accessibility: &'a Accessibility, is_inert: bool) -> Self {
        let mut nodes = Self {
            document,
            accessibility,
            table_roles: tables::roles(document, accessibility),
            facts: Vec::new(),
            ids: document.ids(),
            labels: HashMap::new(),
            stand_ins: HashMap::new(),
            has_drag: false,
            classes: OnceLock::new(),
            descriptions: OnceLock::new(),
            plain_buttons: OnceLock::new(),
            class_words: OnceLock::new(),
            options: RefCell::default(),
            has_icons: document.nodes.iter().any(is_icon),
            modal_order: None,
        };
        nodes.facts = nodes.inherited(is_inert);
        nodes.add_visibility();
        nodes.add_mask();
        nodes.add_passed();
        nodes.add_controls();
        nodes.add_drawn();
        nodes.add_pictures();
        nodes.add_stand_ins();
        nodes.add_under_labels();
        nodes.add_hovered();
        nodes.add_groups();
        nodes.add_cells();
        nodes.has_drag = document.nodes.iter().any(|node| {
            // A control takes a press for itself, and a root hears of all of them.
            let takes_any = matches!(node.tag.as_str(), "#document" | "body") || nodes.is_control(node);
            (node.input.is_pressed && !takes_any) || nodes.is_draggable(node)
        });
        nodes
    }

    /// Returns true if the browser itself drags the element.
    pub(super) fn is_draggable(&self, node: &CapturedNode) -> bool {
        self.document.attribute(node, "draggable").is_some_and(is_true)
    }

    /// Returns the node of the accessibility tree.
    pub(super) fn accessible(&self, node: &CapturedNode) -> Option<&'a Accessible> {
        self.accessibility.get(node.id)
    }

    /// Returns a property of an element. Of what is hidden from the accessibility tree alone, its author tells it.
    pub(super) fn property<'n>(&'n self, node: &'n CapturedNode, name: &str) -> Option<&'n str> {
        match self.accessible(node) {
            Some(accessible) => accessible.property(name),
            None => self.document.attribute(node, &format!("aria-{name}")),
        }
    }

    /// Returns true if an element is selected. Chromium tells it of the roles alone that may be.
    pub(super) fn is_selected(&self, node: &CapturedNode) -> bool {
        let says_so = self.document.attribute(node, "aria-selected").is_some_and(|value| value.trim() == "true");
        says_so || self.property(node, "selected") == Some("true")
    }

    /// Returns true if the accessibility tree leaves the node out, although it could show it.
    pub(super) fn is_ignored(&self, node: &CapturedNode) -> bool {
        self.accessibility.is_ignored(node.id)
    }

    /// Returns the position of the element with an id, in the tree that a node belongs to: an id means nothing in another one.
    pub(super) fn position_of(&self, from: &CapturedNode, id: &str) -> Option<usize> {
        self.ids.get(&(from.host, id)).copied()
    }

    /// Returns a node by its position.
    pub(super) fn node(&self, position: usize) -> Option<&'a CapturedNode> {
        self.document.nodes.get(position)
    }

    /// Returns the positions of what is around a node, from the inside out.
    pub(super) fn around(&self, node: &CapturedNode) -> impl Iterator<Item = usize> {
        std::iter::successors(node.parent, |around| self.node(*around)?.parent)
    }

    /// Returns a position, and those of what is around its node.
    pub(super) fn with_around(&self, position: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(position), |around| self.node(*around)?.parent)
    }

    /// Returns the place of an element in the order of the keyboard, if its page gives it one.
    pub(super) fn tab_index(&self, node: &CapturedNode) -> Option<i32> {
        self.document.attribute(node, "tabindex")?.trim().parse().ok()
    }

    /// Returns the facts about a node.
    pub(super) fn facts(&self, position: usize) -> Facts {
        self.facts.get(position).copied().unwrap_or_default()
    }

    /// Returns where a text begins and ends, with what is drawn around it in its line.
    pub(super) fn text_place(&self, position: usize, node: &CapturedNode) -> Option<TextPlace> {
        let own = node.layout.as_ref().map(TextBox::of)?;
        let [first, last] = node.ends.as_deref().copied().unwrap_or([own, own]);
        let LineBoxes { inline_box, painted } = self.facts(position).line;
        let painted = painted.and_then(|at| self.node(at)?.layout.as_ref()).map(TextBox::of);
        let widened = |end: TextBox| painted.map_or(end, |painted| end.widened(&painted));
        Some(TextPlace::new(&node.text, widened(first), widened(last), inline_box))
    }

    /// Returns the facts that come from the elements around each node.
    fn inherited(&self, is_inert: bool) -> Vec<Facts> {
        let outside = Facts { is_inert, ..Facts::default() };
        let modal = self.document.nodes.iter().position(|node| self.is_modal(node));
        let overlay = self.overlay();
        // Some pages hide all of their content from the accessibility tree, with what is in front of it.
        let around_overlay: HashSet<usize> = overlay.into_iter().flat_map(|at| self.with_around(at)).collect();
        let mut facts: Vec<Facts> = Vec::with_capacity(self.document.nodes.len());
        let mut with_head = HashSet::new();
        // Sights of the elements around a node, each with its position.
        let mut sights: Vec<(usize, Sight)> = Vec::new();
        for (position, node) in self.document.nodes.iter().enumerate() {
            let parent = node.parent.and_then(|parent| self.node(parent));
            let around = node.parent.and_then(|parent| facts.get(parent)).copied().unwrap_or(outside);
            let is_in_modal = around.is_in_modal || modal == Some(position);
            let is_in_overlay = around.is_in_overlay || overlay == Some(position);
            let is_aria_hidden =
                around.is_aria_hidden || self.document.attribute(node, "aria-hidden").is_some_and(is_true);
            // The first one of a `details` is shown, whether that is open or not.
            let is_head = node.tag == "summary" && with_head.insert(node.parent);
            let own = node.layout.as_ref();
            // A field is often over the picture of one, and takes the pointer there. A text field that nobody sees is a trap for programs,
            // unless something is drawn for it.
            let takes_pointer = own.is_some_and(|own| own.takes_pointer);
            let is_trap = || self.role(node) == "textbox" && TYPED.contains(&self.input_type(node).as_str());
            let is_field = match node.tag.as_str() {
                "input" => own.is_none_or(|own| own.look.transparency <= MAX_TRANSPARENCY) || !is_trap(),
                "select" => takes_pointer,
                _ => false,
            };
            // Below the window, pages show things only when a person scrolls to them.
            let appears = own.is_some_and(|own| own.look.is_faded && own.y >= self.document.bottom);
            let own_transparency = own.filter(|_| !is_field && !appears).map_or(0.0, |own| own.look.transparency);
            let role = parent.map_or("", |parent| self.role(parent));
            let parent_attribute = |name| parent.and_then(|parent| self.document.attribute(parent, name));
            let is_undrawn = around.is_undrawn
                || parent.is_some_and(|parent| self.is_closed(parent) && !is_head || hides_content(parent));
            let is_fixed = own.is_some_and(|own| own.look.is_fixed) && !around.holds_fixed;
            let stays = own.is_some_and(|own| own.look.is_sticky) || is_fixed;
            while sights.last().is_some_and(|(at, _)| Some(*at) != node.parent) {
                sights.pop();
            }
            // Nothing around it cuts what the browser draws in front of the page.
            let is_in_front = node.tag == "dialog" || self.document.attribute(node, "popover").is_some();
            let sight = sights.last().filter(|_| !is_in_front).map_or_else(Sight::default, |(_, sight)| *sight);
            let sight = sight.inside(position, node, self.max_cut_height(node));
            sights.push((position, sight));
            facts.push(Facts {
                is_undrawn,
                // A transparent field stands for what is around it.
                is_beside: own.is_some_and(|own| {
                    let stands_for_it = is_field && own.look.transparency > MAX_TRANSPARENCY;
                    sight.is_beside || stands_for_it && around.is_beside
                }),
                shows_nothing: sight.shows_nothing,
                is_turned: sight.is_turned(),
                is_clipped: around.is_clipped
                    || is_undrawn
                    || !around.is_in_scroller
                        && parent.is_some_and(|parent| self.is_parked(parent, around.is_in_fixed))
                    || sight.is_cut
                    || own.is_some_and(|own| own.look.is_cut),
                transparency: 1.0 - (1.0 - around.transparency) * (1.0 - own_transparency),
                is_in_scroller: !is_fixed
                    && (around.is_in_scroller || parent.is_some_and(|parent| self.is_scroller(parent))),
                is_focused: self.accessible(node).is_some_and(|accessible| accessible.is("focused")),
                is_in_control: around.is_in_control
                    || matches!(role, "button" | "checkbox" | "link" | "menuitem" | "menuitemcheckbox")
                    || matches!(role, "menuitemradio" | "option" | "radio" | "switch"),
                grid: if matches!(role, "grid" | "treegrid") { node.parent } else { around.grid },
                is_inert: around.is_inert && modal != Some(position)
                    || self.document.attribute(node, "inert").is_some()
                    || modal.is_some() && !is_in_modal
                    || overlay.is_some() && !is_in_overlay && is_aria_hidden && !around_overlay.contains(&position),
                is_aria_hidden,
                is_in_modal,
                is_in_overlay,
                is_in_editable: around.is_in_editable || parent_attribute("contenteditable").is_some_and(is_on),
                is_in_pointer: parent.is_some_and(|parent| parent.layout.as_ref().is_some_and(has_action_cursor))
                    || parent.is_some_and(|parent| parent.layout.is_none()) && around.is_in_pointer,
                is_in_select: around.is_in_select || parent.is_some_and(|parent| parent.tag == "select"),
                is_in_target: around.is_in_target
                    || parent.is_some_and(|parent| parent.input.is_clickable || parent.input.is_pressed),
                is_in_label: around.is_in_label || parent.is_some_and(|parent| parent.tag == "label"),
                line: around.line.inside(node.parent, parent.and_then(|parent| parent.layout.as_ref())),
                is_in_fixed: around.is_in_fixed || is_fixed,
                holds_fixed: around.holds_fixed || own.is_some_and(|own| own.look.holds_fixed),
                held_by: around.held_by.or(stays.then_some(position)),
                ..around.painted(own)
            });
        }
        facts
    }

    /// Returns the height up to which a box hides what is above and below it. A larger one is rather scrolled by its page, and one that has
    /// its height by a script may be about to open.
    fn max_cut_height(&self, node: &CapturedNode) -> f64 {
        let is_cut = node.is_element && node.tag != "marquee" && node.layout.as_ref().is_some_and(|own| own.hides_ends);
        let is_opening = || self.document.attribute(node, "style").is_some_and(|style| style.contains("height"));
        if !is_cut || is_opening() { 0.0 } else { (self.document.bottom - self.document.top) / 2.0 }
    }

    /// Returns true if the element is a `details` of which a person sees the head only.
    fn is_closed(&self, node: &CapturedNode) -> bool {
        node.tag == "details" && self.document.attribute(node, "open").is_none()
    }

    /// Returns true if the element is a dialog that keeps input from everything else.
    fn is_modal(&self, node: &CapturedNode) -> bool {
        node.tag == "dialog" && node.layout.is_some() && self.says_modal(node)
    }

    /// Returns true if the accessibility tree calls the element modal.
    pub(super) fn says_modal(&self, node: &CapturedNode) -> bool {
        self.accessible(node).is_some_and(|accessible| accessible.is("modal"))
    }

    fn add_visibility(&mut self) {
        let (width, height) = self.document.size;
        // A page that does not scroll by itself may do so by a script.
        let is_held = self.document.nodes.iter().take(MAX_OUTER).any(|node| {
            matches!(node.tag.as_str(), "html" | "body") && node.layout.as_ref().is_some_and(|layout| layout.is_clipped)
        });
        // Where nobody can scroll to.
        let is_beyond = |layout: &Layout| {
            (layout.x + layout.width <= 0.0 && !self.document.is_right_to_left)
                || layout.y + layout.height <= 0.0
                || (width > 0.0 && layout.x >= width)
                || (height > 0.0 && layout.y >= height && !is_held)
        };
        let mut behind = self.behind();
        let mut seen = vec![false; self.facts.len()];
        for (position, node) in self.document.nodes.iter().enumerate().rev() {
            let below = seen.get(position).copied().unwrap_or_default();
            let is_unreadable = node.is_text && self.is_unreadable(position, node, &mut behind);
            let Some(facts) = self.facts.get_mut(position) else { continue };
            let is_hidden = facts.is_cut_off() || facts.transparency > MAX_TRANSPARENCY || is_unreadable;
            let is_beyond = |layout: &Layout| {
                if facts.is_in_scroller {
                    layout.x + layout.width <= FAR_AWAY
                } else {
                    is_beyond(layout) || facts.is_in_fixed && self.document.is_out_of_window(layout)
                }
            };
            facts.has_box =
                !is_hidden && node.layout.as_ref().is_some_and(|layout| has_box(layout) && !is_beyond(layout));
            // Where a person types is shown, whatever its box is.
            facts.has_box |= facts.is_focused && self.document.attribute(node, "type") != Some("hidden");
            facts.is_visible = facts.has_box || below;
            if let (true, Some(parent)) = (facts.is_visible, node.parent.and_then(|parent| seen.get_mut(parent))) {
                *parent = true;
            }
        }
    }

    /// Returns the number of elements away from the window whose content the browser draws, and tells, only when a person scrolls to them.
    pub(super) fn undrawn_parts(&self) -> usize {
        let nodes = &self.document.nodes;
        // The element around each node of which nothing is drawn until now.
        let mut around: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
        let (mut undrawn, mut drawn) = (HashSet::new(), HashSet::new());
        for (position, node) in nodes.iter().enumerate() {
            let outer = node.parent.and_then(|parent| around.get(parent).copied().flatten());
            around.push(match &node.layout {
                Some(layout) => {
                    drawn.extend(outer);
                    let is_late = node.is_element && layout.is_drawn_late && self.document.is_out_of_window(layout);
                    Some(position).filter(|_| is_late && self.facts(position).is_visible)
                }
                None if matches!(node.tag.as_str(), "noscript" | "script" | "style" | "template") => None,
                None => {
                    undrawn.extend(outer.filter(|_| node.is_text && !node.content_text.trim().is_empty()));
                    outer
                }
            });
        }
        undrawn.difference(&drawn).count()
    }

    /// Returns the number of outermost elements below the window that are transparent until a script shows them, where a person scrolls to them.
    pub(super) fn unshown_parts(&self) -> usize {
        let bottom = self.document.bottom;
        // For each node, whether it is placed apart from the flow, and the transparent element around it.
        let mut around: Vec<(bool, Option<usize>)> = Vec::with_capacity(self.document.nodes.len());
        let mut unshown = HashSet::new();
        for (position, node) in self.document.nodes.iter().enumerate() {
            let (is_placed, part) = node.parent.and_then(|parent| around.get(parent).copied()).unwrap_or_default();
            let facts = self.facts(position);
            let Some(own) = &node.layout else {
                around.push((is_placed, part));
                continue;
            };
            let is_placed = is_placed || own.look.is_absolute || own.look.is_fixed;
            let is_seen_around =
                || node.parent.is_none_or(|parent| self.facts(parent).transparency <= MAX_TRANSPARENCY);
            let is_part = || {
                node.is_element
                    && !is_placed
                    && !own.is_inline
                    && own.look.transparency > MAX_TRANSPARENCY
                    && !own.look.is_faded
                    && has_box(own)
                    && own.y >= bottom
                    && !facts.is_cut_off()
                    && is_seen_around()
            };
            let part = part.or_else(|| Some(position).filter(|_| bottom > 0.0 && is_part()));
            // A button alone is rather shown where the pointer is.
            let is_read = node.is_text && !node.text.trim().is_empty() && own.is_visible && !facts.is_in_control;
            unshown.extend(part.filter(|_| is_read));
            around.push((is_placed, part));
        }
        unshown.len()
    }

    /// Returns true if an element whose content can be scrolled, and that may stay where it is in the window, is where nobody can scroll to.
    fn is_parked(&self, node: &CapturedNode, is_fixed: bool) -> bool {
        let is_beyond = |layout: &Layout| {
            layout.y + layout.height <= 0.0
                || layout.x + layout.width <= FAR_AWAY
                || is_fixed && self.document.is_out_of_window(layout)
        };
        self.is_scroller(node) && node.layout.as_ref().is_some_and(is_beyond)
    }

    /// Returns true if a person can scroll what is in an element. The overflow of the body is that of the window, unless that has its own.
    fn is_scroller(&self, node: &CapturedNode) -> bool {
        let is_scroller = |node: &CapturedNode| node.layout.as_ref().is_some_and(|layout| layout.is_scroller);
        let has_own = |html: &CapturedNode| html.layout.as_ref().is_some_and(|layout| layout.is_clipped);
        match node.tag.as_str() {
            "html" => false,
            "body" => is_scroller(node) && node.parent.and_then(|html| self.node(html)).is_some_and(has_own),
            _ => is_scroller(node),
        }
    }

    /// Notes the fields that are transparent because something is drawn for them where a person types: their label while they are empty, or
    /// boxes for what is typed. Others, which nobody sees, are traps for programs.
    fn add_under_labels(&mut self) {
        let is_transparent = |(position, node): &(usize, &CapturedNode)| {
            let facts = self.facts(*position);
            let is_hidden = !facts.is_visible && !facts.is_cut_off() && facts.transparency > MAX_TRANSPARENCY;
            let takes_pointer = node.layout.as_ref().is_some_and(|layout| has_box(layout) && layout.takes_pointer);
            is_hidden && takes_pointer && self.role(node) == "textbox"
        };
        let is_drawn = |(position, node): &(usize, &CapturedNode)| {
            let Some(layout) = node.layout.as_ref() else { return false };
            let name = self.name(*position);
            let is_empty = node.value.as_deref().is_none_or(str::is_empty);
            let is_label = |text: &CapturedNode| {
                is_empty && !name.is_empty() && text.text.trim().trim_end_matches('*').trim_end() == name
            };
            let label = self.labels.get(position).copied().filter(|label| self.facts(*label).is_visible);
            let is_in_label = |at: usize| {
                let mut around = self.with_around(at);
                is_empty && label.is_some_and(|label| around.any(|at| at == label))
            };
            // One that the keyboard passes by is not for people, whatever is where it is.
            let is_for_people =
                self.tab_index(node).is_none_or(|index| index >= 0) && !self.facts(*position).is_aria_hidden;
            self.document.nodes.iter().enumerate().any(|(other, drawn)| {
                let (true, Some(box_of)) = (self.facts(other).is_visible, drawn.layout.as_ref()) else { return false };
                if drawn.is_text {
                    has_middle(layout, box_of) && (is_label(drawn) || is_in_label(other))
                } else {
                    is_for_people && box_of.is_painted && is_inside(layout, box_of)
                }
            })
        };
        let fields = self.document.nodes.iter().enumerate().filter(is_transparent).take(MAX_TRANSPARENT);
        let fields = fields.filter(is_drawn).map(|(position, _)| position).collect();
        self.note_drawn(fields);
    }

    /// Notes elements that are pressed where they are, although they cannot be seen.
    fn note_drawn(&mut self, elements: Vec<usize>) {
        for element in elements {
            if let Some(facts) = self.facts.get_mut(element) {
                facts.is_drawn = true;
            }
        }
    }

    /// Notes the buttons and links that a page shows in time where the pointer is: nothing else is in what fades in with them.
    fn add_hovered(&mut self) {
        let is_button = |node: &CapturedNode| matches!(self.role(node), "button" | "link" | "menuitem");
        let is_faded = |at: usize, node: &CapturedNode| {
            let is_shown =
                |around| self.facts(around).is_visible && self.facts(around).transparency <= MAX_TRANSPARENCY;
            node.layout.as_ref().is_some_and(|layout| {
                layout.look.transparency > MAX_TRANSPARENCY
                    && layout.look.is_faded
                    && layout.takes_pointer
                    && has_box(layout)
            }) && node.parent.is_some_and(is_shown)
                && !self.facts(at).is_cut_off()
        };
        let mut found = Vec::new();
        for (at, node) in self.document.nodes.iter().enumerate().filter(|(at, node)| is_faded(*at, node)) {
            let parts: Vec<_> = std::iter::once((at, node)).chain(self.below(at).take(MAX_PARTS)).collect();
            let (buttons, others): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(_, node)| is_button(node));
            let is_other = |(at, node): &(usize, &CapturedNode)| {
                let is_read = node.is_text && !node.text.trim().is_empty() && !self.facts(*at).is_in_control;
                is_read || (node.is_element && self.is_control(node))
            };
            if others.len() < MAX_PARTS && !others.iter().any(is_other) {
                // Nobody has the pointer on what takes no input.
                found.extend(buttons.into_iter().map(|(at, _)| at).filter(|at| !self.facts(*at).is_inert));
            }
        }
        self.note_drawn(found);
    }

    /// Notes the boxes to check that no person sees, and that have no label which could be pressed for them: their page draws them by
    /// other elements.
    fn add_drawn(&mut self) {
        for (position, node) in self.document.nodes.iter().enumerate() {
            let facts = self.facts(position);
            let is_there = node.layout.as_ref().is_some_and(|layout| layout.is_visible);
            if facts.is_visible || facts.is_undrawn || facts.transparency > MAX_TRANSPARENCY || !is_there {
                continue;
            }
            let is_choice =
                node.tag == "input" && matches!(self.input_type(node).as_str(), "checkbox" | "radio" | "range");
            // Editors show a text that they draw, and take keys by an element without a size.
            let index = self.tab_index(node);
            let has_no_size = node.layout.as_ref().is_some_and(|layout| layout.width <= 1.0 || layout.height <= 1.0);
            let is_edited = has_no_size && node.tag == "div" && self.role(node) == "textbox";
            let is_editor = is_edited && index.is_some_and(|index| index >= 0);
            let label = self.labels.get(&position).map(|label| self.facts(*label));
            // What only hides the box has no place of its own.
            let place = self.around(node).find(|around| !self.facts(*around).shows_nothing);
            let is_beside = place.is_some_and(|place| self.facts(place).is_visible);
            let is_drawn = (is_choice || is_editor) && is_beside && label.is_none_or(|label| !label.is_visible);
            if let Some(facts) = self.facts.get_mut(position) {
                facts.is_drawn = is_drawn;
            }
        }
    }

    /// Notes the pictures that a page draws for boxes to check that nobody sees, where a label elsewhere stands for the box.
    fn add_pictures(&mut self) {
        let mut pictures = Vec::new();
        for (control, label) in &self.labels {
            let is_box = |node: &&CapturedNode| BOXES.contains(&self.role(node));
            let Some(place) = self.node(*control).filter(is_box).and_then(|node| node.parent) else { continue };
            if self.facts(*control).is_visible || !self.facts(*label).is_visible {
                continue;
            }
            let parts: Vec<_> = self.below(place).take(MAX_PARTS).collect();
            let is_other =
                |(at, other): &(usize, &CapturedNode)| at == label || at != control && self.is_control(other);
            let mut around = self.with_around(place);
            if parts.len() < MAX_PARTS && !parts.iter().any(is_other) && !around.any(|around| around == *label) {
                let all = std::iter::once(place).chain(parts.iter().map(|(at, _)| *at));
                pictures.extend(all.filter(|at| self.text_below(*at, None, true).is_empty()));
            }
        }
        for picture in pictures {
            if let Some(facts) = self.facts.get_mut(picture) {
                facts.is_picture = true;
            }
        }
    }

    /// Notes what pages show in place of lists that they hide: the first thing to act on in the element before or behind the list.
    fn add_stand_ins(&mut self) {
        let is_list = |node: &CapturedNode| match node.tag.as_str() {
            "select" => true,
            "input" => self.input_type(node) == "hidden",
            _ => false,
        };
        let takes_input =
            |node: &CapturedNode| node.input.is_clickable || node.input.is_pressed || self.tab_index(node) == Some(0);
        let stand_in = |(control, label): (&usize, &usize)| {
            let list = self.node(*control).filter(|node| is_list(node) && !self.facts(*control).is_visible)?;
            let beside = |(at, node): &(usize, &CapturedNode)| {
                node.parent == list.parent
                    && node.is_element
                    && at != label
                    && (at == control || self.facts(*at).is_visible)
            };
            let beside: Vec<_> =
                self.below(list.parent?).take(MAX_STAND_INS).filter(beside).map(|(at, _)| at).collect();
            let place = beside.iter().position(|at| at == control)?;
            let places = [place.checked_add(1), place.checked_sub(1)].into_iter().flatten();
            let found = places.filter_map(|place| beside.get(place)).find_map(|at| {
                let parts = std::iter::once((*at, self.node(*at)?)).chain(self.below(*at).take(MAX_PARTS));
                let parts: Vec<_> = parts.filter(|(at, node)| node.is_element && self.facts(*at).is_visible).collect();
                let control = parts.iter().find(|(_, node)| node.tag == "a" || self.is_control(node));
                control.or_else(|| parts.iter().find(|(_, node)| takes_input(node))).map(|(at, _)| *at)
            })?;
            self.facts(*label).is_visible.then_some((found, *label))
        };
        let mut labels: Vec<_> = self.labels.iter().collect();
        labels.sort_unstable();
        let mut stand_ins = HashMap::new();
        for (at, label) in labels.into_iter().filter_map(stand_in) {
            stand_ins.entry(at).or_insert(label);
        }
        self.stand_ins = stand_ins;
    }

    fn add_controls(&mut self) {
        let mut controls = Vec::new();
        for (position, node) in self.document.nodes.iter().enumerate() {
            let is_labeled = |node: &CapturedNode| {
                LABELED.contains(&node.tag.as_str()) && self.document.attribute(node, "type") != Some("hidden")
            };
            if node.tag == "label" {
                let named = self.document.attribute(node, "for").and_then(|id| self.position_of(node, id));
                controls.extend(named.map(|control| (position, control)));
            } else if is_labeled(node) && self.facts(position).is_in_label {
                let mut around = node.parent;
                while let Some(label) = around.and_then(|around| self.node(around)) {
                    if label.tag == "label" {
                        controls.extend(around.map(|label| (label, position)));
                        break;
                    }
                    around = label.parent;
                }
            }
        }
        for (label, control) in controls {
            self.labels.entry(control).or_insert(label);
            if let Some(facts) = self.facts.get_mut(label) {
                facts.control.get_or_insert(control);
            }
        }
    }
}

/// Returns true if a part of the box can be seen.
pub(super) fn has_box(layout: &Layout) -> bool {
    layout.is_visible && layout.width > 0.0 && layout.height > 0.0
}

/// Returns true if an attribute that has to be switched on, such as `aria-hidden`, is on.
fn is_true(value: &str) -> bool {
    value.eq_ignore_ascii_case("true")
}

/// Returns true if another box is in a box, apart from borders.
fn is_inside(one: &Layout, other: &Layout) -> bool {
    other.width > 0.0
        && other.height > 0.0
        && other.x >= one.x - TOLERANCE
        && other.y >= one.y - TOLERANCE
        && other.x + other.width <= one.x + one.width + TOLERANCE
        && other.y + other.height <= one.y + one.height + TOLERANCE
}

/// Returns true if the middle of another box is in a box.
fn has_middle(one: &Layout, other: &Layout) -> bool {
    let (x, y) = (other.x + other.width / 2.0, other.y + other.height / 2.0);
    (one.x..one.x + one.width).contains(&x) && (one.y..one.y + one.height).contains(&y)
}

/// Returns true for a word in place of which a person sees a picture.
pub(super) fn is_icon(node: &CapturedNode) -> bool {
    node.is_text && node.layout.as_ref().is_some_and(|layout| layout.look.has_icon_font)
}

/// Returns true if the browser draws nothing of what is in the element.
fn hides_content(node: &CapturedNode) -> bool {
    node.layout.as_ref().is_some_and(|layout| layout.hides_content)
}

/// Returns true if the cursor says that a person can act here.
pub(super) fn has_action_cursor(layout: &Layout) -> bool {
    layout.takes_pointer
        && (matches!(
            layout.cursor.as_str(),
            "pointer" | "grab" | "grabbing" | "move" | "crosshair" | "zoom-in" | "zoom-out"
        ) || layout.cursor.ends_with("-resize"))
}

/// Returns true if an attribute such as `contenteditable` is on.
pub(super) fn is_on(value: &str) -> bool {
    !value.eq_ignore_ascii_case("false")
}

/// Returns true if two boxes are the same, apart from borders.
pub(super) fn is_same_box(a: &Layout, b: &Layout) -> bool {
    let is_near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE;
    is_near(a.x, b.x)
        && is_near(a.y, b.y)
        && is_near(a.x + a.width, b.x + b.width)
        && is_near(a.y + a.height, b.y + b.height)
}
