//! Role, name and states of an element.

use std::collections::HashMap;

use serde_json::Value;

use super::accessibility::Accessible;
use super::capture::{CapturedNode, Layout, SHAPES, hex};
use super::fields::States;
use super::item::{CELLS, collapse, cut, cut_words};
use super::nodes::{CHOICES, CONTROLS, FOCUSED_PARTS, Nodes, is_icon, is_on};
use super::rows::TABLES;

/// Role of an element without one that a person could act on.
pub(super) const CLICKABLE: &str = "clickable";

/// Roles of elements that are shown without a name too.
const STRUCTURE: &[&str] = &[
    "alert",
    "alertdialog",
    "article",
    "banner",
    "cell",
    "columnheader",
    "complementary",
    "contentinfo",
    "dialog",
    "feed",
    "grid",
    "gridcell",
    "heading",
    "iframe",
    "listbox",
    "listitem",
    "log",
    "main",
    "menu",
    "menubar",
    "meter",
    "navigation",
    "progressbar",
    "radiogroup",
    "row",
    "rowheader",
    "search",
    "status",
    "table",
    "tablist",
    "tabpanel",
    "timer",
    "toolbar",
    "tooltip",
    "tree",
    "treegrid",
];

/// Roles of elements that are shown only if they have a name.
const NAMED: &[&str] = &["figure", "form", "group", "img", "list", "math", "region"];

/// Roles of Chromium's own, with those of ARIA that mean the same.
const ROLES: &[(&str, &str)] = &[
    ("Canvas", "canvas"),
    ("ColorWell", "textbox"),
    ("Date", "textbox"),
    ("DateTime", "textbox"),
    ("DisclosureTriangle", "button"),
    ("DisclosureTriangleGrouped", "button"),
    ("EmbeddedObject", "object"),
    ("Iframe", "iframe"),
    ("IframePresentational", "iframe"),
    ("InputTime", "textbox"),
    ("PluginObject", "object"),
    ("PopUpButton", "combobox"),
    ("SvgRoot", "img"),
    ("Video", "video"),
    ("Audio", "audio"),
    ("image", "img"),
];

/// Returns the role of ARIA for one of Chromium's own.
#[must_use]
pub fn aria_role(role: &str) -> Option<&'static str> {
    ROLES.iter().find(|(known, _)| *known == role).map(|(_, role)| *role)
}

/// Types of fields of which a person enters the parts: the browser calls them invalid as long as nothing is entered.
const TIMES: &[&str] = &["date", "datetime-local", "month", "time", "week"];

/// Roles of elements that may be told from others by their color only.
const COLORED: &[&str] = &[CLICKABLE, "button", "cell", "gridcell", "listitem", "option", "radio"];

/// Roles of elements that are named by the tooltip of what is in them, if there is no text.
const NAMED_BY_TOOLTIP: &[&str] = &[
    "button",
    "checkbox",
    "link",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "radio",
    "switch",
    "tab",
];

/// Number of nodes in what is around an element that are searched for others like it.
pub(super) const MAX_BESIDE: usize = 300;

/// Attributes in which libraries have the words of their tooltips.
const TOOLTIPS: &[&str] = &["data-tooltip", "data-tip", "data-original-title", "data-bs-original-title"];

/// Background of a button as Chromium draws it, which tells nothing.
const PLAIN_BUTTON: &str = "#efefef";

/// Maximum length of a name that may need words about it, in characters, such as that of a button of an editor.
const MAX_SYMBOL: usize = 3;

/// Roles of elements that a picture in them stands for.
const PICTURED: &[&str] = &[
    "button", "cell", "checkbox", "combobox", "generic", "gridcell", "link", "menuitem", "option", "radio", "switch",
    "tab", "treeitem",
];

/// Number of nodes of a box that are searched for the list of options for which it stands.
const MAX_PARTS: usize = 50;

/// Maximum number of nodes in a group of a drawing that is one thing.
const MAX_DRAWN: usize = 100;

/// Number of elements around such a box, with itself, before which the list may be.
const MAX_AROUND: usize = 4;

/// Maximum length of a message about a field, in characters.
const MAX_MESSAGE: usize = 200;

/// Maximum number of elements that say together what is wrong with a field.
const MAX_MESSAGES: usize = 8;

/// Maximum length of a hint, in characters.
const MAX_HINT: usize = 60;

impl Nodes<'_> {
    /// Returns the role of an element; `generic` if it has none.
    pub(super) fn role(&self, node: &CapturedNode) -> &str {
        let role = self.accessible(node).map(|accessible| accessible.role.as_str()).unwrap_or_default();
        if let Some(role) = aria_role(role) {
            return role;
        }
        let has_role =
            role.chars().all(|c| c.is_ascii_lowercase()) && !matches!(role, "" | "generic" | "none" | "presentation");
        if has_role {
            return role;
        }
        if let Some(role) = self.table_roles.get(&node.id) {
            return role;
        }
        let of_tag = self.role_of_tag(node);
        let authored = || self.authored_role(node).filter(|_| of_tag == "generic");
        authored().unwrap_or(of_tag)
    }

    /// Returns the role that its author gives an element of what is hidden from the accessibility tree alone.
    fn authored_role(&self, node: &CapturedNode) -> Option<&'static str> {
        if self.accessible(node).is_some() || !self.is_ignored(node) {
            return None;
        }
        let role = self.document.attribute(node, "role")?.split_ascii_whitespace().next()?;
        CONTROLS.iter().chain(FOCUSED_PARTS).copied().find(|known| *known == role)
    }

    /// Returns the role of an element that has none in the accessibility tree.
    fn role_of_tag(&self, node: &CapturedNode) -> &'static str {
        let is_editable = self.document.attribute(node, "contenteditable").is_some_and(is_on);
        match node.tag.as_str() {
            _ if is_editable => "textbox",
            "a" | "area" if self.document.attribute(node, "href").is_some() => "link",
            "button" | "summary" => "button",
            "canvas" => "canvas",
            "iframe" | "frame" => "iframe",
            "input" => match self.input_type(node).as_str() {
                "button" | "submit" | "reset" | "image" | "file" => "button",
                "checkbox" => "checkbox",
                "radio" => "radio",
                "range" => "slider",
                "number" => "spinbutton",
                _ => "textbox",
            },
            "textarea" => "textbox",
            "select" => "combobox",
            "audio" => "audio",
            "video" => "video",
            "label" => "label",
            _ => "generic",
        }
    }

    /// Returns the name of an element: the one that Chromium computes, or, where it has none, that of an attribute or a label, and for what
    /// is hidden from the accessibility tree alone, what a person reads on it.
    pub(super) fn name(&self, position: usize) -> String {
        let Some(node) = self.node(position) else { return String::new() };
        let attribute = |name| self.words(node, name);
        let accessible = self.accessible(node);
        let is_authored = || attribute("aria-label").is_some() || attribute("aria-labelledby").is_some();
        // The content of a cell is shown as what it is, and a row is not named by its cells.
        let role = self.role(node);
        let is_container = role == "row" || CELLS.contains(&role);
        // A tooltip is no name of what has a text.
        let is_tooltip = !is_authored() && role == "listitem" && !self.text_below(position, None, true).is_empty();
        let has_own = !(is_container || is_tooltip) || is_authored();
        let name = accessible.filter(|_| has_own).map(|accessible| collapse(&accessible.name)).unwrap_or_default();
        let label = || Some(self.label_text(position)).filter(|label| !label.is_empty());
        let content = || {
            let role = self.authored_role(node).unwrap_or(self.role_of_tag(node));
            let is_named = NAMED_BY_TOOLTIP.contains(&role) || matches!(role, "option" | "treeitem");
            let is_named_by_content = is_named && node.tag != "input";
            let content = (accessible.is_none() && is_named_by_content).then(|| self.text_below(position, None, true));
            content.filter(|content| !content.is_empty())
        };
        let held = || {
            let is_button = matches!(self.input_type(node).as_str(), "button" | "reset" | "submit");
            let is_named_by_value = accessible.is_none() && node.tag == "input" && is_button;
            node.value.as_deref().map(collapse).filter(|value| is_named_by_value && !value.is_empty())
        };
        let placeholder = || attribute("placeholder").filter(|_| matches!(node.tag.as_str(), "input" | "textarea"));
        let tooltip = || {
            let is_named_by_tooltip = NAMED_BY_TOOLTIP.contains(&self.role(node));
            is_named_by_tooltip.then(|| self.tooltip_below(position)).flatten()
        };
        let other = || {
            let first = attribute("aria-label").or_else(|| attribute("alt")).or_else(label);
            let title = || attribute("title").filter(|_| !is_tooltip);
            let own = first.or_else(content).or_else(held).or_else(title).or_else(tooltip).or_else(placeholder);
            own.or_else(|| self.name_around(position, node))
        };
        if let Some(label) = self.label_of_hidden_list(position, &name) {
            return label;
        }
        let name = if self.has_icons && !is_authored() { self.without_icons(position, name) } else { name };
        if name.is_empty() { other().unwrap_or_default() } else { name }
    }

    /// Returns the name of the element around a button that has nothing but the button in it: a button that is disabled shows no tooltip,
    /// so pages give it to an element around it.
    fn name_around(&self, position: usize, node: &CapturedNode) -> Option<String> {
        let parent = node.parent.filter(|_| self.role(node) == "button")?;
        let around = self.node(parent).filter(|around| matches!(around.tag.as_str(), "span" | "div"))?;
        let is_other = |(at, other): (usize, &CapturedNode)| {
            let is_content = other.is_element || other.is_text && !other.text.trim().is_empty();
            at != position && other.parent == Some(parent) && is_content
        };
        if self.below(parent).any(is_other) {
            return None;
        }
        let attributes = ["aria-label", "title"].iter().chain(TOOLTIPS);
        attributes.into_iter().find_map(|name| self.words(around, name))
    }

    /// Returns a name without the words in place of which a person sees pictures, unless it has no others.
    fn without_icons(&self, position: usize, name: String) -> String {
        let icons = self.below(position).take(MAX_PARTS).filter(|(_, node)| is_icon(node));
        icons.fold(name, |name, (_, icon)| {
            let word = collapse(&icon.content_text);
            let rest = if word.is_empty() { String::new() } else { collapse(&name.replacen(&word, " ", 1)) };
            if rest.is_empty() { name } else { rest }
        })
    }

    /// Returns true if a person sees a picture in place of a text that is beside another one.
    pub(super) fn is_icon_of_text(&self, node: &CapturedNode) -> bool {
        let around = || self.node(node.parent?)?.parent;
        let has_text = |around| {
            self.below(around)
                .take(MAX_PARTS)
                .any(|(_, other)| other.is_text && !is_icon(other) && !collapse(&other.text).is_empty())
        };
        is_icon(node) && around().is_some_and(has_text)
    }

    /// Returns the label of the list of options for which a box stands that shows one of them: the list is hidden in the box, or before it
    /// or what is around it. Without it, such a box is named by what it shows.
    fn label_of_hidden_list(&self, position: usize, name: &str) -> Option<String> {
        let node = self.node(position).filter(|node| node.tag != "select" && self.role(node) == "combobox")?;
        if self.document.attribute(node, "aria-label").is_some()
            || !self.text_below(position, None, true).contains(name)
        {
            return None;
        }
        let is_hidden =
            |list: &usize| self.node(*list).is_some_and(|list| list.tag == "select") && !self.facts(*list).is_visible;
        let inside = || self.below(position).take(MAX_PARTS).map(|(at, _)| at).find(is_hidden);
        let before = || {
            let around = self.with_around(position);
            around.take(MAX_AROUND).find_map(|around| {
                let parent = self.node(around)?.parent?;
                let is_beside =
                    |at: &usize| self.node(*at).is_some_and(|node| node.parent == Some(parent) && node.is_element);
                (parent + 1..around).rev().take(MAX_BESIDE).find(is_beside).filter(is_hidden)
            })
        };
        let label = self.label_text(inside().or_else(before)?);
        Some(label).filter(|label| !label.is_empty())
    }

    /// Returns what tells an element without a name from others: words about it, and how it looks if nothing is in it.
    pub(super) fn hints(&self, position: usize, node: &CapturedNode, role: &str, is_empty: bool) -> States {
        let is_shape = SHAPES.contains(&node.tag.as_str());
        let mut hints: States = self.hint(position, node);
        let cursor = node.layout.as_ref().map(|layout| layout.cursor.as_str());
        hints.extend(cursor.filter(|cursor| cursor.ends_with("-resize")).map(|cursor| ("cursor", cursor.into())));
        if is_shape {
            hints.push(("shape", node.tag.as_str().into()));
        }
        let is_colored = is_shape || (is_empty && COLORED.contains(&role));
        hints.extend(is_colored.then(|| self.seen_color(position, node)).flatten());
        hints
    }

    /// Returns the color of an element: its own, or that of a box that its style draws over it.
    fn seen_color(&self, position: usize, node: &CapturedNode) -> Option<(&'static str, Value)> {
        let is_plain = |(_, color): &(&str, Value)| node.tag == "button" && color.as_str() == Some(PLAIN_BUTTON);
        let own = color(node).filter(|color| !is_plain(color));
        own.or_else(|| {
            let layout = node.layout.as_ref()?;
            let is_over = |drawn: &Layout| drawn.width * 2.0 >= layout.width && drawn.height * 2.0 >= layout.height;
            let drawn = self.below(position).take(MAX_PARTS).filter(|(at, part)| {
                part.parent == Some(position)
                    && matches!(part.tag.as_str(), "::after" | "::before")
                    && self.facts(*at).is_visible
                    && part.layout.as_ref().is_some_and(is_over)
            });
            drawn.filter_map(|(_, part)| color(part)).last()
        })
    }

    /// Returns the color of an element that has the role and the name of one beside it, as a swatch, if that has another color.
    pub(super) fn color_among_alike(
        &self,
        position: usize,
        node: &CapturedNode,
        role: &str,
    ) -> Option<(&'static str, Value)> {
        let has_text = || self.below(position).take(MAX_PARTS).any(|(_, part)| !part.content_text.trim().is_empty());
        let own = self.accessible(node).filter(|own| COLORED.contains(&role) && !own.name.trim().is_empty())?;
        let color = self.seen_color(position, node).filter(|_| node.tag != "input" && !has_text())?;
        let is_alike = |other: &CapturedNode| {
            let other = self.accessible(other).filter(|_| other.id != node.id && other.tag == node.tag);
            other.is_some_and(|other| other.role == own.role && other.name == own.name)
        };
        let is_other = |at: usize| {
            let other = self.node(at).filter(|other| is_alike(other)).and_then(|other| self.seen_color(at, other));
            other.is_some_and(|other| other != color)
        };
        self.beside(node).into_iter().any(is_other).then_some(color)
    }

    /// Returns the elements beside one, with itself; if it is the only one in its parent, those in what is beside that.
    fn beside(&self, node: &CapturedNode) -> Vec<usize> {
        let children = |around: usize| {
            let below = self.below(around).take(MAX_BESIDE);
            below.filter(move |(_, other)| other.is_element && other.parent == Some(around)).map(|(at, _)| at)
        };
        let Some(parent) = node.parent else { return Vec::new() };
        let is_drawn = |at: &usize| self.node(*at).is_some_and(|other| other.tag.starts_with("::"));
        let beside: Vec<_> = children(parent).filter(|at| !is_drawn(at)).collect();
        let outer = self.node(parent).and_then(|parent| parent.parent).filter(|_| beside.len() == 1);
        let Some(outer) = outer else { return beside };
        let is_in = |(_, other): &(usize, &CapturedNode)| {
            other.is_element && other.parent.and_then(|at| self.node(at)).is_some_and(|at| at.parent == Some(outer))
        };
        self.below(outer).take(MAX_BESIDE).filter(is_in).map(|(at, _)| at).collect()
    }

    /// Returns the description of an element whose name is a symbol, or that takes no input: it may say why.
    pub(super) fn description(
        &self,
        node: &CapturedNode,
        name: &str,
        states: &States,
    ) -> Option<(&'static str, Value)> {
        let is_symbol = name.chars().count() <= MAX_SYMBOL || !name.chars().any(char::is_alphabetic);
        let is_off = states.iter().any(|(name, _)| *name == "disabled");
        let description = collapse(&self.accessible(node)?.description);
        let is_wanted = (is_symbol || is_off) && !name.is_empty() && !description.is_empty() && description != name;
        is_wanted.then(|| ("description", cut(&description, MAX_HINT).into()))
    }

    /// Returns words about an element: its description, what it does to the pointer, or how its author calls it.
    fn hint(&self, position: usize, node: &CapturedNode) -> States {
        let state = |name, words: &str| (name, Value::from(cut(words, MAX_HINT)));
        let description = self.accessible(node).map(|accessible| collapse(&accessible.description)).unwrap_or_default();
        if !description.is_empty() {
            // One that several have tells none of them from the others.
            let testid = || Some(("data-testid", self.words(node, "data-testid")?));
            let icon = || {
                let icon = PICTURED.contains(&self.role(node)).then(|| self.icon_below(position));
                Some(("icon", icon.flatten()?.0))
            };
            let own = if self.is_shared(&description) { testid().or_else(icon) } else { None };
            let own = own.map(|(name, words)| state(name, &words));
            return std::iter::once(state("description", &description)).chain(own).collect();
        }
        if let Some(tooltip) = TOOLTIPS.iter().find_map(|name| self.words(node, name)) {
            return vec![state("tooltip", &tooltip)];
        }
        let address = self.words(node, "href").filter(|address| node.tag == "a" && address != "#");
        if let Some(address) = address {
            return vec![state("url", &address)];
        }
        let words = |name| self.words(node, name);
        let named = ["data-testid", "name", "id"].into_iter().find_map(|name| Some((name, words(name)?)));
        let icon =
            if named.is_none() && PICTURED.contains(&self.role(node)) { self.icon_below(position) } else { None };
        let class = || words("class").filter(|class| icon.as_ref().is_none_or(|icon| !self.is_rarer(icon, class)));
        let words = named.or_else(|| Some(("class", class()?))).or_else(|| Some(("icon", icon.clone()?.0)));
        words.map(|(name, words)| state(name, &words)).into_iter().collect()
    }

    /// Returns true if several elements of the document have a description.
    fn is_shared(&self, description: &str) -> bool {
        let counts = self.descriptions.get_or_init(|| {
            let mut counts = HashMap::new();
            for accessible in self.document.nodes.iter().filter_map(|node| self.accessible(node)) {
                if !accessible.description.is_empty() {
                    *counts.entry(collapse(&accessible.description)).or_default() += 1;
                }
            }
            counts
        });
        counts.get(description).is_some_and(|count| *count > 1)
    }

    /// Returns the words of an attribute, if it has any.
    pub(super) fn words(&self, node: &CapturedNode, name: &str) -> Option<String> {
        self.document.attribute(node, name).map(collapse).filter(|words| !words.is_empty())
    }

    /// Returns true if what a picture is called tells more than the class of what it is in: it is a name, or a class that fewer have.
    fn is_rarer(&self, (icon, is_name): &(String, bool), class: &str) -> bool {
        let counts = self.classes.get_or_init(|| {
            let mut counts = HashMap::new();
            for class in self.document.nodes.iter().filter_map(|node| self.words(node, "class")) {
                *counts.entry(class).or_default() += 1;
            }
            counts
        });
        let count = |class: &str| counts.get(class).copied().unwrap_or_default();
        *is_name || count(icon) < count(class)
    }

    /// Returns how the author of a page calls the only picture in an element, and whether that is a name of it, not only its class.
    pub(super) fn icon_below(&self, position: usize) -> Option<(String, bool)> {
        let mut pictures = self.below(position).take(MAX_PARTS).filter(|(at, node)| {
            self.facts(*at).is_visible && matches!(node.tag.as_str(), "svg" | "i" | "img" | "mat-icon") || is_icon(node)
        });
        let (at, picture) = pictures.next().filter(|_| pictures.next().is_none())?;
        if picture.is_text {
            return Some((collapse(&picture.content_text), true)).filter(|(word, _)| !word.is_empty());
        }
        let used = || {
            let mut below = self.below(at).filter(|(_, node)| node.tag == "use");
            let address =
                below.find_map(|(_, node)| self.words(node, "href").or_else(|| self.words(node, "xlink:href")))?;
            address.rsplit_once('#').map(|(_, name)| name.to_owned())
        };
        let named = ["data-icon", "data-lucide", "data-testid"]
            .into_iter()
            .find_map(|name| self.words(picture, name))
            .or_else(used);
        named.map(|name| (name, true)).or_else(|| Some((self.words(picture, "class")?, false)))
    }

    /// Returns the states of an element.
    pub(super) fn states(&self, position: usize, node: &CapturedNode, is_secret: bool) -> States {
        let mut states = States::new();
        let accessible = self.accessible(node);
        let has = |name| self.document.attribute(node, name).is_some();
        let property = |name| self.property(node, name);
        let is = |name| property(name) == Some("true");
        match property("level").and_then(|level| level.parse::<u64>().ok()) {
            Some(level) if accessible.is_some_and(has_level) => states.push(("level", level.into())),
            _ => {}
        }
        let is_field = matches!(node.tag.as_str(), "button" | "input" | "select" | "textarea");
        if self.is_disabled(node) || self.is_switched_off(position, node) {
            states.push(("disabled", Value::Null));
        }
        if self.facts(position).is_drawn && matches!(self.role(node), "button" | "link" | "menuitem") {
            states.push(("transparent", Value::Null));
        }
        for name in ["checked", "pressed"] {
            match property(name) {
                Some("true") => states.push((name, Value::Null)),
                Some("mixed") => states.push((name, "mixed".into())),
                None if name == "checked" && node.is_checked => states.push((name, Value::Null)),
                _ => {}
            }
        }
        let attribute = |name| self.document.attribute(node, name).map(collapse).unwrap_or_default();
        if self.is_selected(node) {
            states.push(("selected", Value::Null));
        }
        if !matches!(attribute("aria-current").as_str(), "" | "false") {
            states.push(("current", Value::Null));
        }
        match attribute("aria-sort").as_str() {
            "" | "none" => {}
            order => states.push(("sorted", cut(order, MAX_HINT).into())),
        }
        if self.facts(position).is_focused {
            states.push(("focused", Value::Null));
        }
        match property("expanded") {
            Some("true") => states.push(("expanded", Value::Null)),
            Some(_) if node.tag != "select" => states.push(("collapsed", Value::Null)),
            _ => {}
        }
        for (name, attribute) in [("required", "required"), ("readonly", "readonly")] {
            let is_control = accessible.is_none_or(|accessible| !accessible.role.ends_with("cell"));
            if is_control && (is(name) || is_field && has(attribute)) {
                states.push((name, Value::Null));
            }
        }
        match property("invalid") {
            Some("false") | None => {}
            Some(_) if !has("aria-invalid") && (self.is_not_validated(node) || self.is_choice(node)) => {}
            Some(_) => {
                // What describes a field that only the browser calls invalid is no message about that.
                let message = if has("aria-invalid") { self.error_message(node) } else { String::new() };
                states.push(("invalid", if message.is_empty() { Value::Null } else { message.into() }));
            }
        }
        if CELLS.contains(&self.role(node)) {
            for name in ["colspan", "rowspan"] {
                let span = self.document.attribute(node, name).and_then(|span| span.trim().parse::<u64>().ok());
                states.extend(span.filter(|span| *span > 1).map(|span| (name, span.into())));
            }
        }
        if TABLES.contains(&self.role(node)) {
            let rows = self.document.attribute(node, "aria-rowcount").and_then(|rows| rows.trim().parse::<u64>().ok());
            let shown = || self.below(position).filter(|(_, node)| self.role(node) == "row").count() as u64;
            states.extend(rows.filter(|rows| *rows > shown()).map(|rows| ("rows", rows.into())));
        }
        self.add_field_states(position, node, is_secret, &mut states);
        states
    }

    /// Returns true if a person chooses something with the field, or has entered no date or time yet: the browser calls it invalid only as long
    /// as nothing is chosen.
    fn is_choice(&self, node: &CapturedNode) -> bool {
        let input_type = self.input_type(node);
        let is_empty = node.value.as_deref().unwrap_or_default().is_empty();
        let is_choice = CHOICES.contains(&input_type.as_str()) || (is_empty && TIMES.contains(&input_type.as_str()));
        node.tag == "select" || (node.tag == "input" && is_choice)
    }

    /// Returns true if the browser does not check the field, because its page does.
    fn is_not_validated(&self, node: &CapturedNode) -> bool {
        let mut around = self.around(node);
        let form = around.find_map(|around| self.node(around).filter(|node| node.tag == "form"));
        form.is_some_and(|form| self.document.attribute(form, "novalidate").is_some())
    }

    /// Returns true if the pointer passes through a link or a button, and nothing close around it takes a press for it.
    fn is_switched_off(&self, position: usize, node: &CapturedNode) -> bool {
        let facts = self.facts(position);
        let is_passed = node.layout.as_ref().is_some_and(|layout| !layout.takes_pointer);
        let takes_press = |around: usize| {
            let around =
                self.node(around).filter(|around| !matches!(around.tag.as_str(), "html" | "body" | "#document"));
            around.is_some_and(|around| around.input.is_clickable || around.input.is_pressed)
        };
        let is_in_taker = || {
            let mut around = self.around(node).take(MAX_AROUND);
            around.any(takes_press) || facts.is_in_pointer || facts.is_in_control || facts.is_in_label
        };
        // What is around it may be passed for another reason.
        let parent = node.parent.and_then(|parent| self.node(parent)?.layout.as_ref());
        let is_own = parent.is_some_and(|parent| parent.takes_pointer);
        is_passed && is_own && matches!(node.tag.as_str(), "a" | "button") && !facts.is_inert && !is_in_taker()
    }
}

impl Nodes<'_> {
    /// Returns the text of the label of a control, without that of the control. It counts even where it cannot be seen, but not a part that
    /// is hidden in a label that can, as the countries of a field for phone numbers.
    pub(super) fn label_text(&self, control: usize) -> String {
        let Some(label) = self.labels.get(&control) else { return String::new() };
        // A large label is that of its first control alone.
        if self.facts(*label).control != Some(control) && self.below(*label).nth(MAX_BESIDE).is_some() {
            return String::new();
        }
        let seen = self.text_below(*label, Some(control), true);
        if seen.is_empty() { self.text_below(*label, Some(control), false) } else { seen }
    }

    /// Returns the text in an element, without that of another one, as a name has it.
    pub(super) fn text_below(&self, position: usize, left_out: Option<usize>, only_visible: bool) -> String {
        self.text_without(position, only_visible, &|at, _| left_out == Some(at))
    }

    /// Returns the text in an element, with that of its pictures, and without that of what `is_left_out`.
    pub(super) fn text_without(
        &self,
        position: usize,
        only_visible: bool,
        is_left_out: &dyn Fn(usize, &CapturedNode) -> bool,
    ) -> String {
        let mut text = String::new();
        let mut inside = vec![position];
        let is_block = |at: &usize| {
            *at == position
                || self.node(*at).is_some_and(|node| node.layout.as_ref().is_some_and(|layout| !layout.is_inline))
        };
        let mut last_block = None;
        for (at, node) in self.below(position) {
            if node.parent.is_none_or(|parent| inside.binary_search(&parent).is_err()) {
                continue;
            }
            if !matches!(node.tag.as_str(), "rp" | "rt" | "script" | "style" | "template") && !is_left_out(at, node) {
                inside.push(at);
                let is_read = !only_visible || self.facts(at).is_visible;
                if node.is_text && is_read {
                    let around = self.around(node);
                    let block = around.take(MAX_PARTS).find(is_block);
                    if block != last_block {
                        text.push(' ');
                    }
                    last_block = block;
                    text.push_str(&node.content_text);
                } else if node.tag == "img" && is_read {
                    text.extend([" ", self.document.attribute(node, "alt").unwrap_or_default(), " "]);
                } else if node.layout.as_ref().is_none_or(|layout| !layout.is_inline) {
                    text.push(' ');
                }
            }
        }
        collapse(&text)
    }

    /// Returns the only text that is drawn in one group with a shape, as the name of a node of a diagram. What is before or behind the shape
    /// may belong to another one, and so may a text in a group with shapes of its own.
    pub(super) fn drawn_text(&self, node: &CapturedNode) -> Option<String> {
        if !SHAPES.contains(&node.tag.as_str()) {
            return None;
        }
        let parent = |at: usize| self.node(at).and_then(|node| node.parent);
        let is_group = |at: &usize| self.node(*at).is_some_and(|node| node.tag == "g");
        for group in std::iter::successors(node.parent, |at| parent(*at)).take(MAX_AROUND).take_while(is_group) {
            let below: Vec<_> = self.below(group).take(MAX_DRAWN).collect();
            let is_text = |(at, node): &&(usize, &CapturedNode)| {
                matches!(node.tag.as_str(), "text" | "foreignobject") && self.facts(*at).is_visible
            };
            let mut texts = below.iter().filter(is_text);
            let Some((text, _)) = texts.next() else { continue };
            let has_shape = |group: usize| {
                below.iter().any(|(_, node)| node.parent == Some(group) && SHAPES.contains(&node.tag.as_str()))
            };
            let between = std::iter::successors(parent(*text), |at| parent(*at)).take_while(|at| *at != group);
            let is_whole = below.len() < MAX_DRAWN && texts.next().is_none();
            if !is_whole || between.take(MAX_AROUND).any(has_shape) {
                return None;
            }
            return Some(cut_words(&self.text_below(group, None, true), MAX_HINT)).filter(|text| !text.is_empty());
        }
        None
    }

    /// Returns the nodes in an element, each with its position.
    pub(super) fn below(&self, position: usize) -> impl Iterator<Item = (usize, &CapturedNode)> {
        let nodes = self.document.nodes.iter().enumerate().skip(position + 1);
        nodes.take_while(move |(_, node)| node.parent.is_some_and(|parent| parent >= position))
    }

    /// Returns the first tooltip in an element that can be seen.
    fn tooltip_below(&self, position: usize) -> Option<String> {
        self.below(position).find_map(|(at, node)| self.words(node, "title").filter(|_| self.facts(at).is_visible))
    }

    /// Returns what the page says about an invalid field.
    fn error_message(&self, node: &CapturedNode) -> String {
        let texts = |attribute| {
            let ids = self.document.attribute(node, attribute).unwrap_or_default().split_ascii_whitespace();
            let mut positions: Vec<_> = ids.take(MAX_MESSAGES).filter_map(|id| self.position_of(node, id)).collect();
            positions.dedup();
            // A message is short.
            positions.retain(|position| self.below(*position).nth(MAX_BESIDE).is_none());
            let mut message = String::new();
            for position in positions {
                if message.len() <= MAX_MESSAGE {
                    message.extend([" ", &self.text_below(position, None, true)]);
                }
            }
            collapse(&message)
        };
        let message = texts("aria-errormessage");
        cut_words(&if message.is_empty() { texts("aria-describedby") } else { message }, MAX_MESSAGE)
    }
}

/// Returns the state with the color of an element: its background, or the inside of a shape or of the letters of a drawing.
pub(super) fn color(node: &CapturedNode) -> Option<(&'static str, Value)> {
    Some(("color", hex(&node.layout.as_ref()?.color)?.into()))
}

/// Returns true if the level of the element tells something.
fn has_level(accessible: &Accessible) -> bool {
    matches!(accessible.role.as_str(), "heading" | "treeitem")
}

/// Returns true if an element with the role is shown although nobody could act on it.
pub(super) fn is_shown(role: &str, name: &str) -> bool {
    STRUCTURE.contains(&role) || (!name.is_empty() && NAMED.contains(&role))
}
