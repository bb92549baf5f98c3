//! Properties of form fields: what they hold, and what they take; and the text of an editor, as a person sees it: with its lines, its
//! indentation and its empty lines.

use std::rc::Rc;

use serde_json::Value;

use super::capture::CapturedNode;
use super::covers::is_over;
use super::item::{collapse, cut, cut_words};
use super::nodes::{Nodes, OptionLabels};
use crate::element::asks_for_secret;
use crate::output::{is_invisible, mask};

/// Roles whose text is what they hold, not their name.
pub(super) const FIELDS: &[&str] = &["combobox", "iframe", "searchbox", "slider", "spinbutton", "textbox"];

/// Maximum number of options that are listed.
const MAX_OPTIONS: usize = 40;

/// Maximum length of a value, in characters.
const MAX_VALUE: usize = 400;

/// Number of nodes of a box that are searched for what is chosen in it.
const MAX_PARTS: usize = 60;

/// Number of elements around a field that may be its box.
const MAX_AROUND: usize = 4;

/// State with the words that a field shows while it is empty.
const PLACEHOLDER: &str = "placeholder";

/// Types of `<input>` that take their value in one format only.
const FORMATS: &[(&str, &str)] = &[
    ("color", "#rrggbb"),
    ("date", "YYYY-MM-DD"),
    ("datetime-local", "YYYY-MM-DDTHH:MM"),
    ("month", "YYYY-MM"),
    ("time", "HH:MM"),
    ("week", "YYYY-Www"),
];

/// States of an item.
pub(super) type States = Vec<(&'static str, Value)>;

/// Returns a number without the digits that Chromium's format of numbers adds, and any other text as it is.
fn rounded(value: &str) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the shorter format is what is looked for")]
    let short = value.parse::<f64>().ok().map(|number| number as f32);
    match short {
        Some(short) if short.is_finite() && f64::from(short).to_string() == value => short.to_string(),
        _ => value.to_owned(),
    }
}

/// Adds a state, unless a field has one of these already.
fn add_first(states: &mut States, state: Option<(&'static str, Value)>) {
    if !states.iter().any(|(name, _)| matches!(*name, "value" | PLACEHOLDER)) {
        states.extend(state);
    }
}

/// Options of a list, each with its position.
#[derive(Default)]
struct ListedOptions<'a> {
    first: Vec<(usize, &'a CapturedNode)>,
    /// The first of those that are chosen, with their places among all.
    selected: Vec<(usize, (usize, &'a CapturedNode))>,
    /// Number of all options.
    count: usize,
}

/// Lines of an editor. Texts continue the last line until something ends it.
#[derive(Default)]
struct Lines {
    ended: Vec<String>,
    last: Option<String>,
}

impl Lines {
    /// Ends the last line. Without one, nothing is ended.
    fn end(&mut self) {
        self.ended.extend(self.last.take());
    }

    /// Ends the last line, or adds an empty one.
    fn add_break(&mut self) {
        self.last.get_or_insert_default();
        self.end();
    }

    fn add(&mut self, text: &str) {
        for (number, part) in text.split('\n').enumerate() {
            if number > 0 {
                self.add_break();
            }
            if !part.is_empty() {
                let seen = part.chars().filter(|c| !is_invisible(*c) && *c != '\r');
                let seen = seen.map(|c| if c == '\u{a0}' { ' ' } else { c });
                self.last.get_or_insert_default().extend(seen);
            }
        }
    }

    fn into_text(mut self) -> String {
        self.end();
        self.ended.join("\n").trim_end().trim_start_matches('\n').to_owned()
    }
}

impl Nodes<'_> {
    /// Returns true if the field holds a secret, by its type, by what it asks the browser to fill in, and by the dots that it shows for letters.
    pub(super) fn is_secret(&self, node: &CapturedNode) -> bool {
        let is_password = node.tag == "input" && self.input_type(node) == "password";
        is_password
            || self.document.is_dotted(node)
            || self.document.attribute(node, "autocomplete").is_some_and(asks_for_secret)
    }

    /// Returns true if what is in the element is what it holds, and that is a secret.
    pub(super) fn is_secret_editor(&self, position: usize, node: &CapturedNode) -> bool {
        let is_secret = || self.is_secret(node) || mask::is_sensitive(&self.name(position));
        node.is_element && FIELDS.contains(&self.role(node)) && is_secret()
    }

    /// Returns the type of an `<input>`.
    pub(super) fn input_type(&self, node: &CapturedNode) -> String {
        self.document.attribute(node, "type").unwrap_or("text").to_ascii_lowercase()
    }

    /// Adds the properties of a field.
    pub(super) fn add_field_states(&self, position: usize, node: &CapturedNode, is_secret: bool, states: &mut States) {
        match node.tag.as_str() {
            "input" => {
                self.add_input_states(node, is_secret, states);
                let is_empty = !is_secret && node.value.as_deref().is_none_or(str::is_empty);
                let is_list = is_empty && self.role(node) == "combobox";
                add_first(states, is_list.then(|| self.chosen_beside(position, node)).flatten());
            }
            "textarea" => self.add_value(node, is_secret, states),
            "select" => self.add_options(position, node, states),
            _ => {
                let attribute = |name| self.words(node, name);
                let limits: &[(&'static str, &str)] =
                    match self.accessible(node).map(|accessible| accessible.role.as_str()) {
                        Some("slider" | "spinbutton") => &[("min", "aria-valuemin"), ("max", "aria-valuemax")],
                        _ => &[],
                    };
                let limits = limits.iter().filter_map(|(name, limit)| Some((*name, attribute(limit)?.into())));
                states.extend(limits);
                let value = self.accessible(node).filter(|accessible| {
                    matches!(
                        accessible.role.as_str(),
                        "slider"
                            | "spinbutton"
                            | "progressbar"
                            | "meter"
                            | "combobox"
                            | "scrollbar"
                            | "searchbox"
                            | "textbox"
                    )
                });
                // What the page says about the number comes before it.
                let own = value.and_then(|_| attribute("aria-valuetext").or_else(|| attribute("aria-valuenow")));
                let is_list = own.is_none() && value.is_some_and(|value| value.role == "combobox");
                let chosen = if is_list { self.chosen_text(position) } else { None };
                if let Some((PLACEHOLDER, _)) = chosen {
                    states.extend(chosen);
                    return;
                }
                let chosen = chosen.and_then(|(_, value)| value.as_str().map(str::to_owned));
                let value = own.or(chosen).or_else(|| {
                    let value = rounded(value?.value.as_deref()?);
                    // Chromium joins it with what is hidden in the box, such as its list.
                    let is_joined =
                        |seen: &String| !seen.is_empty() && value.len() > seen.len() && value.starts_with(seen);
                    let seen = is_list.then(|| self.text_below(position, None, true)).filter(is_joined);
                    Some(seen.unwrap_or(value))
                });
                match value.filter(|value| !value.is_empty()) {
                    Some(_) if is_secret => states.push(("filled", Value::Null)),
                    Some(value) => states.push(("value", cut(&collapse(&value), MAX_VALUE).into())),
                    None => {}
                }
            }
        }
    }

    /// Returns the text of a box with more than that in it: without the names of its buttons, such as the one that clears it, and as what
    /// it is if the box has nothing but the words that it shows while it is empty.
    fn chosen_text(&self, position: usize) -> Option<(&'static str, Value)> {
        let is_button = |node: &CapturedNode| node.is_element && self.role(node) == "button";
        // An empty field in it shows words of its own.
        let is_empty_field = |node: &CapturedNode| {
            node.tag == "input"
                && node.value.as_deref().is_none_or(str::is_empty)
                && self.document.attribute(node, PLACEHOLDER).is_some_and(|words| !words.is_empty())
        };
        let is_placeholder = |node: &CapturedNode| self.is_called(node, &[PLACEHOLDER]) || is_empty_field(node);
        let parts = || self.below(position).map(|(_, node)| node);
        if self.node(position).is_some_and(|node| self.says_empty(node)) {
            let text = self.text_without(position, true, &|_, node| is_button(node));
            let words = Some(cut_words(&text, MAX_VALUE)).filter(|text| !text.is_empty());
            return words.map(|words| (PLACEHOLDER, words.into()));
        }
        let has_placeholder = parts().any(is_placeholder);
        if !has_placeholder && !parts().any(is_button) {
            return None;
        }
        let text = |is_left_out: &dyn Fn(&CapturedNode) -> bool| {
            let text = self.text_without(position, true, &|_, node| is_left_out(node));
            Some(cut_words(&text, MAX_VALUE)).filter(|text| !text.is_empty())
        };
        let chosen = text(&|node| is_button(node) || is_placeholder(node)).map(|text| ("value", text.into()));
        let own =
            || parts().filter(|node| is_empty_field(node)).find_map(|node| self.placeholder(node, &[PLACEHOLDER]));
        let words = || text(&|node| is_button(node) || is_empty_field(node)).map(|text| (PLACEHOLDER, text.into()));
        chosen.or_else(|| words().filter(|_| has_placeholder)).or_else(own)
    }

    /// Returns what is chosen in an empty field with a list, or the words in place of it, where its page draws them: over the field, or
    /// before it in the same box.
    fn chosen_beside(&self, position: usize, node: &CapturedNode) -> Option<(&'static str, Value)> {
        let own = node.layout.as_ref()?;
        let name = self.name(position);
        let around = self.around(node);
        for around in around.take(MAX_AROUND) {
            let is_other_field = |(at, other): (usize, &CapturedNode)| {
                at != position
                    && self.facts(at).is_visible
                    && matches!(other.tag.as_str(), "input" | "select" | "textarea")
            };
            if self.below(around).nth(MAX_PARTS).is_some() || self.below(around).any(is_other_field) {
                return None;
            }
            let is_left_out = |node: &CapturedNode| {
                let role = self.role(node);
                node.is_element && (node.tag == "label" || matches!(role, "button" | "heading" | "listbox" | "option"))
            };
            let text = self.text_without(around, true, &|_, node| is_left_out(node));
            if text.is_empty() {
                continue;
            }
            let between = |at: usize| self.with_around(at).take_while(|at| *at != around);
            let is_text = |at: &usize| {
                let is_in_left_out = || between(*at).any(|at| self.node(at).is_some_and(is_left_out));
                self.node(*at).is_some_and(|node| node.is_text) && self.facts(*at).is_visible && !is_in_left_out()
            };
            let first = self.below(around).map(|(at, _)| at).find(is_text)?;
            let is_called =
                |words| between(first).any(|at| self.node(at).is_some_and(|node| self.is_called(node, words)));
            let is_drawn_over = self.node(first)?.layout.as_ref().is_some_and(|text| is_over(own, text));
            let is_label = !name.is_empty() && name.contains(text.trim_end_matches(['*', ' ']));
            let kind = if is_called(&[PLACEHOLDER]) { PLACEHOLDER } else { "value" };
            let is_meant = kind == PLACEHOLDER || is_drawn_over || is_called(&["value", "selected"]);
            return (is_meant && !is_label).then(|| (kind, cut_words(&text, MAX_VALUE).into()));
        }
        None
    }

    /// Returns true if a box says of itself that it is empty, and shows words in place of what it holds: by an attribute that it has as long
    /// as it is empty, or by a class.
    fn says_empty(&self, node: &CapturedNode) -> bool {
        let class = self.document.attribute(node, "class").unwrap_or_default();
        let is_word = |word: &str| {
            let begin = word.strip_suffix(PLACEHOLDER);
            begin.is_some_and(|begin| {
                let last = begin.trim_end_matches(['-', '_']).rsplit(['-', '_']).next().unwrap_or_default();
                begin.is_empty()
                    || begin.ends_with(['-', '_']) && !matches!(last, "has" | "hide" | "no" | "with" | "without")
            })
        };
        self.document.attribute(node, "data-placeholder").is_some_and(str::is_empty)
            || class.split_ascii_whitespace().any(is_word)
    }

    /// Returns the words that the author of the page calls an element by, without those that say how it looks in a state.
    fn names(&self, node: &CapturedNode) -> impl Iterator<Item = String> {
        let names = ["class", "id"].into_iter().filter_map(|name| self.document.attribute(node, name));
        names
            .flat_map(str::split_ascii_whitespace)
            .filter(|word| !word.contains([':', '[']))
            .map(str::to_ascii_lowercase)
    }

    /// Returns true if the author of the page calls an element by one of these words.
    fn is_called(&self, node: &CapturedNode, words: &[&str]) -> bool {
        node.is_element && self.names(node).any(|name| words.iter().any(|word| name.contains(word)))
    }

    fn add_input_states(&self, node: &CapturedNode, is_secret: bool, states: &mut States) {
        let kind = self.input_type(node);
        match kind.as_str() {
            "button" | "submit" | "reset" | "image" | "checkbox" | "radio" => return,
            "password" | "file" => states.push(("type", kind.as_str().into())),
            _ => {}
        }
        if let Some((kind, format)) = FORMATS.iter().find(|(known, _)| *known == kind) {
            states.push(("type", (*kind).into()));
            states.push(("format", (*format).into()));
        }
        let limits: &[&'static str] = match kind.as_str() {
            "range" => &["min", "max", "step"],
            "number" | "date" | "datetime-local" | "month" | "time" | "week" => &["min", "max"],
            _ => &[],
        };
        for name in limits {
            if let Some(limit) = self.document.attribute(node, name) {
                states.push((name, limit.into()));
            }
        }
        if kind != "file" {
            self.add_value(node, is_secret, states);
        }
        let options = self.document.attribute(node, "list").and_then(|id| self.position_of(node, id));
        // Any other element may contain the whole page.
        let options = options.filter(|list| self.node(*list).is_some_and(|node| node.tag == "datalist"));
        if let Some(list) = options {
            states.push(("options", self.options(list).all.clone().into()));
        }
    }

    /// Returns the words that a field shows while it is empty: the first of these attributes that has any.
    pub(super) fn placeholder(&self, node: &CapturedNode, names: &[&str]) -> Option<(&'static str, Value)> {
        let words = names.iter().find_map(|name| self.words(node, name))?;
        Some(("placeholder", cut(&words, MAX_VALUE).into()))
    }

    fn add_value(&self, node: &CapturedNode, is_secret: bool, states: &mut States) {
        let value = node.value.as_deref().unwrap_or_default();
        // What the page says about the number of a slider comes before it.
        let is_number = matches!(self.input_type(node).as_str(), "range" | "number");
        let said = self.words(node, "aria-valuetext").filter(|_| node.tag == "input" && is_number && !is_secret);
        let value = said.as_deref().unwrap_or(value);
        if value.is_empty() {
            states.extend(self.placeholder(node, &["placeholder"]));
        } else if is_secret {
            states.push(("filled", Value::Null));
        } else {
            states.push(("value", cut(value, MAX_VALUE).into()));
        }
    }

    fn add_options(&self, position: usize, node: &CapturedNode, states: &mut States) {
        let options = self.options(position);
        if self.document.attribute(node, "multiple").is_some() {
            states.push(("multiple", Value::Null));
            states.push(("value", options.selected.clone().into()));
        } else {
            states.push(("value", options.selected.last().cloned().unwrap_or_default().into()));
        }
        states.push(("options", options.all.clone().into()));
    }

    /// Returns the labels of the options of a list, which are read once: a page may have thousands of labels and fields with one list.
    fn options(&self, list: usize) -> Rc<OptionLabels> {
        if let Some(known) = self.options.borrow().get(&list) {
            return known.clone();
        }
        let labels = Rc::new(self.option_labels(list));
        self.options.borrow_mut().insert(list, labels.clone());
        labels
    }

    /// Returns the labels of the options of a list, as far as they are listed. The first one of a group has the label of that, and so has
    /// each of several with the same label.
    fn option_labels(&self, list: usize) -> OptionLabels {
        let has = |option: &CapturedNode, name| self.document.attribute(option, name).is_some();
        let group = |option: &CapturedNode| self.node(option.parent?).filter(|group| group.tag == "optgroup");
        let ListedOptions { first, selected, count } = self.options_of(list);
        let label = |(position, option): &(usize, &CapturedNode)| self.label(*position, option);
        let listed: Vec<String> = first.iter().map(label).collect();
        let name = |index: usize, label: String, option: &CapturedNode, is_of_all: bool| {
            let group_label = group(option).and_then(|group| self.document.attribute(group, "label")).map(collapse);
            let before = index.checked_sub(1).and_then(|before| first.get(before));
            let is_first = is_of_all && before.is_none_or(|(_, before)| before.parent != option.parent);
            let is_repeated = || {
                let mut others = listed.iter().enumerate().filter(|(other, _)| *other != index);
                others.any(|(_, other)| *other == label)
            };
            match group_label.filter(|group| !group.is_empty() && (is_first || is_repeated())) {
                Some(group) => format!("{}: {label}", cut_words(&group, MAX_VALUE)),
                None => label,
            }
        };
        let labels = first.iter().zip(&listed).enumerate().map(|(index, ((_, option), label))| {
            let label = name(index, label.clone(), option, true);
            let is_off = has(option, "disabled") || group(option).is_some_and(|group| has(group, "disabled"));
            if is_off { format!("{label} (disabled)") } else { label }
        });
        let more = Some(count.saturating_sub(MAX_OPTIONS)).filter(|more| *more > 0);
        let all = labels.chain(more.map(|more| format!("… {more} more"))).collect();
        let selected = selected.iter().map(|(index, option)| name(*index, label(option), option.1, false)).collect();
        OptionLabels { all, selected }
    }

    /// Returns the options below an element that a person sees or has chosen, as far as they are listed.
    fn options_of(&self, list: usize) -> ListedOptions<'_> {
        let says_hidden = |node: &CapturedNode| {
            let style = self.document.attribute(node, "style").unwrap_or_default().replace(' ', "");
            self.document.attribute(node, "hidden").is_some() || style.contains("display:none")
        };
        let mut inside = vec![list];
        let mut options = ListedOptions::default();
        for (position, node) in self.document.nodes.iter().enumerate().skip(list + 1) {
            let Some(parent) = node.parent.filter(|parent| *parent >= list) else { break };
            // What follows the list in the order of the document is not below it.
            while inside.last().is_some_and(|last| *last != parent) {
                inside.pop();
            }
            if inside.is_empty() {
                break;
            }
            inside.push(position);
            let group = self.node(parent).filter(|group| group.tag == "optgroup");
            let is_hidden = || says_hidden(node) || group.is_some_and(says_hidden);
            if node.tag != "option" || !node.is_selected && is_hidden() {
                continue;
            }
            if options.count < MAX_OPTIONS {
                options.first.push((position, node));
            }
            if node.is_selected && options.selected.len() < MAX_OPTIONS {
                options.selected.push((options.count, (position, node)));
            }
            options.count += 1;
        }
        options
    }

    /// Returns the label of an option.
    fn label(&self, position: usize, option: &CapturedNode) -> String {
        let label = ["label", "value"].map(|name| self.document.attribute(option, name).map(collapse));
        let [label, value] = label;
        let text = || self.text_below(position, None, false);
        let label = label.filter(|label| !label.is_empty()).unwrap_or_else(text);
        if label.is_empty() { value.unwrap_or_default() } else { cut_words(&label, MAX_VALUE) }
    }

    /// Returns true if the element is a part of an editor that has the words which that shows while it is empty.
    fn is_shown_while_empty(&self, node: &CapturedNode) -> bool {
        let is_fixed = || {
            self.document.attribute(node, "contenteditable").is_some_and(|value| value.eq_ignore_ascii_case("false"))
        };
        let is_named = || {
            ["data-slate-placeholder", "data-placeholder"]
                .into_iter()
                .any(|name| self.document.attribute(node, name).is_some())
        };
        node.is_element && is_fixed() && (is_named() || self.says_empty(node))
    }

    /// Returns the words that an editor shows while it is empty, where a part of it has them.
    pub(super) fn words_of_empty_editor(&self, editor: usize) -> Option<(&'static str, Value)> {
        let (at, _) = self.below(editor).find(|(_, node)| self.is_shown_while_empty(node))?;
        let words = self.text_below(at, None, true);
        (!words.is_empty()).then(|| (PLACEHOLDER, cut_words(&words, MAX_VALUE).into()))
    }

    /// Returns the text that a person sees in an editor, without the words that it shows while it is empty.
    pub(super) fn edited_text(&self, editor: usize) -> String {
        let text = self.edited_text_with(editor, false);
        // Beside a text, what looks like such words is a part of it, such as the name of a field to fill in.
        if text.is_empty() || self.words_of_empty_editor(editor).is_none() {
            return text;
        }
        self.edited_text_with(editor, true)
    }

    fn edited_text_with(&self, editor: usize, has_placeholders: bool) -> String {
        let mut lines = Lines::default();
        let mut skipped_end = 0;
        // Elements that are open, and whether each ends the line.
        let mut open: Vec<(usize, bool)> = vec![(editor, true)];
        for (position, node) in self.document.nodes.iter().enumerate().skip(editor + 1) {
            let Some(parent) = node.parent.filter(|parent| *parent >= editor) else { break };
            while let Some((_, is_block)) = open.pop_if(|(around, _)| *around != parent) {
                if is_block {
                    lines.end();
                }
            }
            if open.is_empty() {
                break;
            }
            let is_block = node.is_element && node.layout.as_ref().is_some_and(|layout| !layout.is_inline);
            if is_block {
                lines.end();
            }
            open.push((position, is_block));
            // What a secret field in it holds is none of its text, nor are the words that it shows while it is empty.
            if position >= skipped_end
                && (self.is_secret_editor(position, node) || !has_placeholders && self.is_shown_while_empty(node))
            {
                skipped_end = position + 1 + self.below(position).count();
            }
            if position < skipped_end {
                continue;
            }
            let is_drawn =
                node.tag.starts_with("::") || self.node(parent).is_some_and(|parent| parent.tag.starts_with("::"));
            if node.tag == "br" {
                lines.add_break();
            } else if node.layout.is_some()
                && !is_drawn
                && (self.facts(position).is_visible || node.text.trim().is_empty())
            {
                lines.add(&node.text);
            }
        }
        lines.into_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &[&str]) -> String {
        let mut lines = Lines::default();
        for part in parts {
            match *part {
                "|" => lines.end(),
                "<br>" => lines.add_break(),
                part => lines.add(part),
            }
        }
        lines.into_text()
    }

    #[test]
    fn lines_keep_their_indentation() {
        assert_eq!(text(&["def f():", "|", "\treturn", " 1", "|"]), "def f():\n\treturn 1");
        assert_eq!(text(&["a\n  b\n\nc"]), "a\n  b\n\nc");
        assert_eq!(text(&["\u{a0}\u{a0}x"]), "  x");
    }

    #[test]
    fn empty_lines_are_kept_and_the_last_break_is_none() {
        assert_eq!(text(&["a", "|", "<br>", "|", "b", "<br>", "|"]), "a\n\nb");
        assert_eq!(text(&["a", "|", "\u{200b}", "|", "b"]), "a\n\nb");
        assert_eq!(text(&["|", "|", "a", "|", "|"]), "a");
    }
}
