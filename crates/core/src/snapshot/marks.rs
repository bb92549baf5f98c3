//! Meaning that styles, classes and pictures give to what nobody acts on: struck and raised texts, the current one of several, and pictures
//! that are all of a cell or an entry.

use serde_json::Value;

use super::capture::{CapturedNode, MAX_TRANSPARENCY, SHAPES, hex, is_same_color};
use super::describe::color;
use super::fields::States;
use super::item::{CELLS, Item, MAX_COMPARED, NodeKey, collapse, cut, is_blank};
use super::nodes::Nodes;

/// Elements whose text is struck without a style.
pub(super) const STRUCK: &[&str] = &["del", "s", "strike"];

/// Roles of items that have the states of the only text in them.
const ENTRIES: &[&str] = &["listitem", "row"];

/// States that tell which one of several is chosen, or takes no press.
const TOLD: &[&str] = &["active", "checked", "class", "current", "disabled", "expanded", "pressed", "selected"];

/// Maximum length of a text that may be the chosen one of several, in characters.
const MAX_CHOSEN: usize = 60;

/// Number of nodes that are searched for a picture.
const MAX_PARTS: usize = 50;

/// Minimum width and height of a picture that is seen, in CSS pixels.
const MIN_PICTURE: f64 = 8.0;

/// Maximum height of an element that is a picture by its style, in CSS pixels.
const MAX_DRAWN_HEIGHT: f64 = 150.0;

/// Maximum length of the text for screen readers that a picture has, in characters.
const MAX_HIDDEN: usize = 120;

/// Maximum length of the name of a picture, in characters.
const MAX_PICTURE: usize = 60;

impl Nodes<'_> {
    /// Returns the role of the mark that the style of an element gives to the text in it, unless it does so to the text around it too.
    pub(super) fn mark_of_style(&self, node: &CapturedNode, children: &[Item]) -> Option<&'static str> {
        let layout = node.layout.as_ref()?;
        let parent = node.parent.and_then(|parent| self.node(parent));
        if layout.look.is_struck {
            return (!parent.is_some_and(is_struck)).then_some("deletion");
        }
        let script = layout.look.script.filter(|_| layout.is_inline)?;
        let around = parent.and_then(|parent| parent.layout.as_ref()?.look.script);
        // Words that are a bit higher mean what they say.
        let text = || children.iter().flat_map(|child| child.name.chars()).filter(|c| !is_blank(*c));
        let is_script = text().any(char::is_numeric) || text().count() == 1;
        (is_script && around != Some(script)).then_some(script)
    }

    /// Adds what the style or the class of an element says about it as a whole, and about the only text in it.
    pub(super) fn add_marks(&self, position: usize, node: &CapturedNode, children: &mut [Item], item: &mut Item) {
        let (role, has_reason) = (item.role.as_str(), item.reason.is_some());
        let is_entry = ENTRIES.contains(&role);
        if is_entry || CELLS.contains(&role) {
            let text = children.iter_mut().find(|child| !child.is_text() || child.name.contains(|c| !is_blank(c)));
            if let Some(text) = text.filter(|text| text.is_text()) {
                item.states.append(&mut text.states);
            }
        }
        // What has a name and nothing in it may be one of several swatches.
        let color = if has_reason && children.is_empty() && !item.name.is_empty() {
            self.color_among_alike(position, node, role)
        } else {
            None
        };
        if is_entry && !has_reason && self.facts(position).is_visible {
            let state = self.class_state(position, &item.states);
            let is_seen = |name: &str| name != "active" || self.is_one_of_several(node, true);
            item.states.extend(state.filter(|(name, _)| is_seen(name) && !has_told(children)));
        }
        let is_link_of_struck = || {
            let parent = node.parent.and_then(|parent| self.node(parent));
            role == "link" && parent.is_some_and(is_struck)
        };
        if has_reason && item.name.len() <= MAX_COMPARED {
            set_numbers_apart(&mut item.name, children);
        }
        let is_own = node.layout.as_ref().is_some_and(|layout| layout.look.is_struck);
        if (is_own || is_link_of_struck()) && !item.states.iter().any(|(name, _)| *name == "checked") {
            item.states.push(("struck", Value::Null));
        }
        item.states.extend(color);
    }

    /// Makes the text of the current one of several elements a line of its own that says so, and a picture that has nothing but a title one
    /// that has it as its name.
    pub(super) fn with_marks(&self, position: usize, node: &CapturedNode, key: NodeKey, items: Vec<Item>) -> Vec<Item> {
        let facts = self.facts(position);
        if !facts.is_visible || facts.is_in_control || facts.is_in_select || facts.is_in_editable || facts.is_in_label {
            return items;
        }
        let has_text = |item: &Item| item.name.contains(|c| !is_blank(c));
        let is_plain = |item: &Item| item.is_text() && item.states.is_empty() && !item.has_lines && !item.is_marker;
        if !items.iter().all(is_plain) {
            return items;
        }
        if !items.iter().any(has_text) {
            let title = self.title_of_picture(position, node);
            let title = title.or_else(|| self.hidden_text(position, node).filter(|_| self.role(node) == "generic"));
            return title.map_or(items, |title| vec![Item { origin: Some(key), ..Item::new("img", &title) }]);
        }
        let Some(state) = self.current_state(node, &items) else { return items };
        let name: String = items.iter().map(|item| item.name.as_str()).collect();
        let first = items.into_iter().find(has_text).unwrap_or_default();
        vec![Item { name: collapse(&name), is_inline: false, states: vec![(state, Value::Null)], ..first }]
    }

    /// Returns the state of an element with these texts that is the current one of several.
    fn current_state(&self, node: &CapturedNode, texts: &[Item]) -> Option<&'static str> {
        let current = self.document.attribute(node, "aria-current").map(str::trim);
        if current.is_some_and(|current| !matches!(current, "" | "false")) {
            return Some("current");
        }
        let length = || texts.iter().map(|text| text.name.chars().count()).sum::<usize>();
        (self.class_words(node).is_chosen && length() <= MAX_CHOSEN && self.is_one_of_several(node, true))
            .then_some("active")
    }

    /// Returns the title of an element that a person sees as a picture.
    fn title_of_picture(&self, position: usize, node: &CapturedNode) -> Option<String> {
        let title = self.words(node, "title").filter(|_| self.role(node) == "generic")?;
        let is_painted = |node: &CapturedNode| node.layout.as_ref().is_some_and(|layout| layout.is_painted);
        let is_picture = |(at, part): (usize, &CapturedNode)| {
            let is_drawn = matches!(part.tag.as_str(), "canvas" | "i" | "img" | "svg") || part.tag.starts_with("::");
            self.facts(at).is_visible && (is_drawn || is_painted(part))
        };
        (is_painted(node) || self.below(position).take(MAX_PARTS).any(is_picture)).then_some(title)
    }

    /// Returns the text for screen readers in an element that a person sees as a picture, as the turning circle of what is loaded or a row
    /// of stars: nothing else can be seen in it, and the text is cut to nothing there or beside the page.
    fn hidden_text(&self, position: usize, node: &CapturedNode) -> Option<String> {
        let layout = node.layout.as_ref().filter(|layout| layout.is_painted && layout.is_visible)?;
        let is_picture = layout.width >= MIN_PICTURE && (MIN_PICTURE..=MAX_DRAWN_HEIGHT).contains(&layout.height);
        let facts = self.facts(position);
        if !is_picture || !facts.is_visible || facts.is_aria_hidden || facts.is_inert {
            return None;
        }
        let mut text = String::new();
        for (at, part) in self.below(position).take(MAX_PARTS + 1).filter(|(_, part)| !part.text.trim().is_empty()) {
            let facts = self.facts(at);
            let own = part.layout.as_ref().filter(|own| part.is_text && !part.is_styled && own.is_visible)?;
            let is_told = !facts.is_aria_hidden && !self.is_ignored(part) && facts.transparency <= MAX_TRANSPARENCY;
            let is_away = facts.is_cut_off() || own.x + own.width <= 0.0;
            if facts.is_visible || !is_told || !is_away {
                return None;
            }
            text.push_str(&part.text);
            text.push(' ');
        }
        let text = collapse(&text);
        (1..=MAX_HIDDEN).contains(&text.chars().count()).then_some(text)
    }

    /// Adds what tells the picture that is all of a cell, or of an entry of a list, and the words for one that is a status.
    pub(super) fn add_picture(&self, position: usize, is_cell: bool, item: &mut Item) {
        let is_empty = item.node.is_none() && item.name.is_empty() && item.children.is_empty();
        if is_empty && item.role == "status" {
            item.name = self.node(position).and_then(|node| self.hidden_text(position, node)).unwrap_or_default();
        }
        if is_empty && (is_cell || item.role == "listitem") {
            item.states.extend(self.picture_state(position, is_cell));
        }
    }

    /// Returns what tells the only picture in a cell, or in an entry of a list. Of an entry, only that of an image.
    fn picture_state(&self, position: usize, is_cell: bool) -> States {
        let parts = || {
            let parts = self.below(position).take(MAX_PARTS);
            parts.filter(|(at, part)| part.is_element && self.facts(*at).is_visible)
        };
        let mut images = parts().map(|(_, part)| part).filter(|part| part.tag == "img");
        if let (Some(image), None) = (images.next(), images.next()) {
            let is_seen =
                image.layout.as_ref().is_some_and(|own| own.width >= MIN_PICTURE && own.height >= MIN_PICTURE);
            let name = self.words(image, "src").and_then(|source| image_name(&source));
            return name.filter(|_| is_seen).map(|name| ("src", cut(&name, MAX_PICTURE).into())).into_iter().collect();
        }
        if !is_cell {
            return States::new();
        }
        if let Some((icon, _)) = self.icon_below(position) {
            return vec![("icon", cut(&icon, MAX_PICTURE).into())];
        }
        let is_around = |at: usize| parts().any(|(_, part)| part.parent == Some(at));
        let mut leaves = parts().filter(|(at, _)| !is_around(*at));
        let (Some((_, leaf)), None) = (leaves.next(), leaves.next()) else { return States::new() };
        // The inside of a shape has the color of a text if nothing else is said.
        let is_plain = |color: &str| {
            let text = leaf.layout.as_ref().map_or("", |layout| layout.look.text_color.as_str());
            SHAPES.contains(&leaf.tag.as_str())
                && (is_same_color(color, text) || hex(color).as_deref() == Some("#000000"))
        };
        let is_white = |color: &str| hex(color).as_deref() == Some("#ffffff");
        let is_told = leaf.layout.as_ref().is_some_and(|own| !is_plain(&own.color) && !is_white(&own.color));
        let class = || {
            let has_glyph = |node: &CapturedNode| node.tag.starts_with("::") && !node.text.trim().is_empty();
            let is_drawn = self.below(position).take(MAX_PARTS).any(|(_, part)| has_glyph(part));
            let class = self.words(leaf, "class").filter(|_| is_drawn)?;
            Some(("icon", cut(&class, MAX_PICTURE).into()))
        };
        color(leaf).filter(|_| is_told).or_else(class).into_iter().collect()
    }
}

/// Returns true if a line goes through the text of an element, by its style or its name.
fn is_struck(node: &CapturedNode) -> bool {
    STRUCK.contains(&node.tag.as_str()) || node.layout.as_ref().is_some_and(|layout| layout.look.is_struck)
}

/// Returns true if one of the items tells which one of several is chosen.
fn has_told(items: &[Item]) -> bool {
    let is_told = |item: &Item| item.states.iter().any(|(name, _)| TOLD.contains(name));
    items.iter().any(|item| is_told(item) || has_told(&item.children))
}

/// Sets the numbers of a name apart that a person sees apart in its texts: Chromium joins them, as a price with its cents.
fn set_numbers_apart(name: &mut String, texts: &[Item]) {
    let mut set_apart = |before: &str, after: &str| {
        let is_pair = before.ends_with(|c: char| c.is_ascii_digit()) && after.starts_with(|c: char| c.is_ascii_digit());
        let apart = format!("{before} {after}");
        if is_pair && !name.contains(&apart) {
            *name = name.replacen(&format!("{before}{after}"), &apart, 1);
        }
    };
    for text in texts.iter().take(MAX_PARTS).filter(|text| text.is_text() && text.has_gaps) {
        let words = || text.name.split_whitespace().take(MAX_PARTS);
        words().zip(words().skip(1)).for_each(|(before, after)| set_apart(before, after));
    }
    for (one, other) in texts.iter().zip(texts.iter().skip(1)).take(MAX_PARTS) {
        let Some((own, next)) = one.place.zip(other.place).filter(|_| one.is_text() && other.is_text()) else {
            continue;
        };
        let words = one.name.rsplit(is_blank).next().zip(other.name.split(is_blank).next());
        let Some((before, after)) = words else { continue };
        let edges = before.chars().next_back().zip(after.chars().next());
        if edges.is_some_and(|(last, first)| own.has_gap(&next, last, first)) {
            set_apart(before, after);
        }
    }
}

/// Returns the name of the file of an image, unless the image is in its address.
fn image_name(source: &str) -> Option<String> {
    let path =
        source.split(['?', '#']).next().filter(|path| !path.starts_with("data:") && !path.starts_with("blob:"))?;
    path.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::capture::TextBox;
    use super::super::gaps::TextPlace;
    use super::*;

    #[test]
    fn numbers_that_are_seen_apart_are_apart_in_a_name() {
        let text = |name: &str, x: f64, height: f64| {
            let own = TextBox { x, y: 0.0, width: 20.0, height };
            Item { place: Some(TextPlace::new(name, own, own, None)), ..Item::text(name) }
        };
        let named = |name: &str, texts: &[Item]| {
            let mut name = name.to_owned();
            set_numbers_apart(&mut name, texts);
            name
        };
        let price = [text("Add $", 0.0, 20.0), text("19", 20.0, 20.0), text("99", 40.0, 10.0)];
        assert_eq!(named("Add $1999", &price), "Add $19 99");
        assert_eq!(named("Add $19 99", &price), "Add $19 99", "it is told so");
        assert_eq!(named("Add $1999", &[text("19", 0.0, 20.0), text("99", 20.0, 20.0)]), "Add $1999", "one number");
        let merged = Item { has_gaps: true, ..Item::text("Now $19 99") };
        assert_eq!(named("Now $1999", std::slice::from_ref(&merged)), "Now $19 99");
        assert_eq!(named("Buynow", &[Item { has_gaps: true, ..Item::text("Buy now") }]), "Buynow", "words");
    }

    #[test]
    fn image_is_named_by_its_file() {
        assert_eq!(image_name("/flags/de.png?v=3#x").as_deref(), Some("de.png"));
        assert_eq!(image_name("https://cdn.example.com/a/").as_deref(), None);
        assert_eq!(image_name("data:image/png;base64,iVBO/de.png"), None);
    }
}
