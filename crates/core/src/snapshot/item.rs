//! Nodes of a page as a snapshot shows them: a tree without the wrappers of the documents, and the lines of a snapshot.
//!
//! Lists, groups and forms have a line only where nothing else tells where they begin and end.
//!
//! A line is `- ROLE "NAME" [KEY] [KEY=VALUE]`, indented by two blanks for each level. The name and values are JSON, so that
//! nothing that a page chooses can be mistaken for another part of the line or for another line.

use std::fmt;

use serde_json::Value;

use super::actionable::Reason;
use super::capture::{KeptSpace, Layout};
use super::gaps::TextPlace;
use crate::output::{begin_in_words, escape_json, is_invisible, quoted};

/// Maximum number of levels. What is deeper is shown at the deepest one.
const MAX_HEIGHT: usize = 48;

/// Maximum length of a name that is cut, in characters.
const MAX_NAME: usize = 120;

/// Maximum length of a name that is compared with the texts below it, in bytes.
pub(super) const MAX_COMPARED: usize = 4096;

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

/// Node of a document by its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeIndex {
    pub(super) part: usize,
    pub(super) document: usize,
    pub(super) index: usize,
}

/// Role of an item that is text only.
pub(super) const TEXT: &str = "text";

/// Role of a document that is not shown.
pub(super) const DOCUMENT: &str = "document";

/// Roles of parts of a text whose meaning is another one than that of the text around them.
pub(super) const MARKS: &[&str] = &["deletion", "emphasis", "insertion", "strong", "subscript", "superscript"];

/// Role of the line in place of entries that are not shown. No page can choose it.
pub(super) const MORE: &str = "more";

/// Roles of cells, whose content is not their name.
pub(super) const CELLS: &[&str] = &["cell", "columnheader", "gridcell", "rowheader"];

/// Roles of fields that hold a text or a choice.
pub(super) const FILLED: &[&str] = &["combobox", "searchbox", "spinbutton", "textbox"];

/// Roles of items whose line has the text in them, if that is all or followed by what is no text; marks have too.
const TEXTS: &[&str] = &[
    "alert",
    "button",
    "caption",
    "cell",
    "checkbox",
    "clickable",
    "columnheader",
    "combobox",
    "definition",
    "gridcell",
    "heading",
    "label",
    "legend",
    "link",
    "log",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "paragraph",
    "radio",
    "rowheader",
    "separator",
    "status",
    "switch",
    "tab",
    "term",
    "timer",
    "tooltip",
    "treeitem",
    "blockquote",
    "code",
    "time",
];

/// Role and name of items.
pub(super) type RoleAndName<'a> = (&'a str, &'a str);

/// Node of a snapshot.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent properties")]
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
    /// Node that it stands for.
    pub(super) origin: Option<NodeKey>,
    /// Node of its document that it is the item of, or the first one of its text.
    pub(super) at: Option<NodeIndex>,
    /// True if it is there only to show where it begins and ends.
    pub(super) is_limit: bool,
    /// True if it says what is wrong.
    pub(super) is_message: bool,
    /// True if it is in front of the rest of its document, which takes no input while it is there.
    pub(super) is_modal: bool,
    /// True if it is a control that takes no input, as behind a dialog.
    pub(super) is_behind: bool,
    /// True if its value is the text of what is in it.
    pub(super) is_rich: bool,
    /// True if it is the number of an entry of a list, which is in the line of that.
    pub(super) is_marker: bool,
    /// True if its text keeps its lines, as code does.
    pub(super) has_lines: bool,
    /// Place of a text, for the gaps between it and others.
    pub(super) place: Option<TextPlace>,
    /// True if a blank in its text is a gap, which the document and names have no blank for.
    pub(super) has_gaps: bool,
    /// White space of a text that is shown as it is; `None` for one that is like those around it.
    pub(super) space: Option<KeptSpace>,
    /// True if it is the end of a line.
    pub(super) is_break: bool,
    /// Text that is drawn in one group with it, if it is a shape of a drawing.
    pub(super) drawn_text: Option<String>,
    /// Label of the hidden list that it stands for.
    pub(super) label: Option<String>,
    /// Number that the page gives a row in its table, or a cell in its row, from 1.
    pub(super) index: Option<u32>,
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

    /// Makes the item of a link that a page shows in place of a list that of the list: its text is what is chosen.
    pub(super) fn stand_for_list(&mut self, label: String) {
        "combobox".clone_into(&mut self.role);
        let chosen = std::mem::replace(&mut self.name, label);
        self.states.retain(|(name, _)| *name != "url");
        if !chosen.is_empty() {
            self.states.insert(0, ("value", chosen.into()));
        }
    }

    /// Creates the end of a line of text.
    pub(super) fn line_break() -> Self {
        Self { is_break: true, ..Self::text(" ") }
    }

    /// Adds a text that continues this one: behind a blank if a person sees a gap between them.
    fn continue_with(&mut self, next: &Self) {
        let characters = self.name.chars().next_back().zip(next.name.chars().next());
        let characters = characters.filter(|(before, after)| !is_blank(*before) && !is_blank(*after));
        let has_gap = match (characters, &self.place, &next.place) {
            (Some((before, after)), Some(own), Some(other)) => own.has_gap(other, before, after),
            _ => false,
        };
        if has_gap {
            self.name.push(' ');
        }
        self.has_gaps |= has_gap || next.has_gaps;
        let is_kept = self.space.is_some_and(|space| space > KeptSpace::Nothing);
        self.name.push_str(if next.is_break && is_kept { "\n" } else { &next.name });
        self.space = match (self.space, next.space) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        if !next.name.chars().all(is_blank) {
            self.place = match (&self.place, &next.place) {
                (Some(own), Some(other)) => Some(own.until(other)),
                (_, other) => *other,
            };
        }
    }

    /// Gives a text its white space: single blanks, or what a person sees of it in the document.
    fn settle_space(&mut self) {
        let space = self.space.unwrap_or_default();
        let lines = (space > KeptSpace::Nothing).then(|| kept_lines(&self.name, space));
        match lines.filter(|lines| lines.contains('\n') || lines.starts_with('\t') || lines.starts_with("  ")) {
            Some(lines) => (self.name, self.has_lines, self.is_inline) = (lines, true, false),
            None => self.name = collapse(&self.name),
        }
    }

    /// Returns true if a name has its text. Chromium puts no blank into a name where a person sees a gap.
    pub(super) fn is_in_name(&self, name: &str) -> bool {
        let text = collapse(&self.name);
        name.contains(&text) || self.has_gaps && without_blanks(name).contains(&without_blanks(&text))
    }

    /// Adds the states that it does not have, of an element without a line of its own or of another part of it.
    pub(super) fn add_states(&mut self, others: Vec<(&'static str, Value)>) {
        for (name, value) in others {
            if !self.states.iter().any(|(known, _)| *known == name) {
                self.states.push((name, value));
            }
        }
    }

    /// Returns the role and the name, which several items may share.
    pub(super) fn group(&self) -> RoleAndName<'_> {
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

    /// Returns true if its line has the first text in it. In most roles a text beside others is not all that is in it.
    fn is_text_its_name(&self, children: &[Self]) -> bool {
        match self.role.as_str() {
            "listitem" => true,
            "article" | "figure" | "group" => self.node.is_some() && children.len() == 1,
            role => (TEXTS.contains(&role) || MARKS.contains(&role)) && !children.iter().skip(1).any(Self::is_text),
        }
    }

    /// Adds the children and returns the items in their place: the item, with what is too deep behind it.
    pub(super) fn with_children(mut self, children: Vec<Self>) -> Vec<Self> {
        let mut children = merge_texts(children);
        let has_own_name = !self.name.is_empty();
        if has_own_name {
            let name = collapse(&self.name);
            if name.len() <= MAX_COMPARED {
                remove_repeated(&mut children, &name, TEXTS.contains(&self.role.as_str()));
            }
            let repeats = self.node.is_none() && is_repeated(&children, &name);
            let is_shown_below = name.chars().count() > MAX_NAME && !children.is_empty();
            self.name = if repeats {
                String::new()
            } else if is_shown_below {
                cut_words(&name, MAX_NAME)
            } else {
                name
            };
        } else if children.first().is_some_and(Self::is_text) && self.is_text_its_name(&children) {
            let text = children.remove(0);
            (self.name, self.has_gaps) = (text.name, text.has_gaps);
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
                Some(last) if last.is_marker && !item.has_lines => {
                    last.continue_with(&item);
                    (last.is_inline, last.is_marker, last.block) = (item.is_inline, false, item.block);
                    continue;
                }
                Some(last) if last.is_text() && last.is_inline && item.is_inline && !item.has_lines => {
                    last.continue_with(&item);
                    continue;
                }
                _ => {}
            }
        }
        merged.push(item);
    }
    for item in &mut merged {
        if item.is_text() && !item.has_lines {
            item.settle_space();
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
    !items.is_empty() && name.len() <= MAX_COMPARED && without_blanks(&shown) == without_blanks(name)
}

fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
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

/// Removes what only repeats a name, or a part of one that is the content.
fn remove_repeated(items: &mut Vec<Item>, name: &str, is_from_content: bool) {
    items.retain_mut(|item| {
        let role = item.role.as_str();
        if item.node.is_some() || role == DOCUMENT || CELLS.contains(&role) || MARKS.contains(&role) {
            return true;
        }
        remove_repeated(&mut item.children, name, is_from_content);
        let text = collapse(&item.name);
        !item.children.is_empty()
            || if is_from_content { !item.is_in_name(name) } else { !text.is_empty() && text != name }
    });
}

/// Returns what is before and behind a place.
pub(super) fn neighbors<T>(items: &[T], place: usize) -> impl Iterator<Item = &T> {
    [place.checked_sub(1), Some(place + 1)].into_iter().flatten().filter_map(|next| items.get(next))
}

/// Returns a text with single blanks, and none at its ends. Characters for private use are pictures of icon fonts.
pub(super) fn collapse(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for word in text.replace(is_unseen, "").split(is_blank) {
        if !word.is_empty() {
            if !collapsed.is_empty() {
                collapsed.push(' ');
            }
            collapsed.push_str(word);
        }
    }
    collapsed
}

/// Returns a text with single blanks, and none between two characters of a script that writes no blanks between words: designs add them to
/// short texts of buttons and labels.
pub(super) fn glued(text: &str) -> String {
    let collapsed = collapse(text);
    let mut glued = String::with_capacity(collapsed.len());
    let mut characters = collapsed.chars().peekable();
    while let Some(character) = characters.next() {
        let mut is_between = || glued.ends_with(is_unspaced) && characters.peek().copied().is_some_and(is_unspaced);
        if character != ' ' || !is_between() {
            glued.push(character);
        }
    }
    glued
}

/// Returns true for a Chinese or Japanese character.
pub(super) const fn is_unspaced(character: char) -> bool {
    matches!(
        character,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Returns the lines of a text whose white space is kept, without empty ones at its ends.
fn kept_lines(text: &str, space: KeptSpace) -> String {
    let line = |line: &str| {
        if space < KeptSpace::All {
            return collapse(line);
        }
        let seen = line.chars().filter(|c| !is_unseen(*c) && *c != '\r' && (c.is_whitespace() || !is_blank(*c)));
        let seen: String = seen.map(|c| if c == '\u{a0}' { ' ' } else { c }).collect();
        seen.trim_end().to_owned()
    };
    let lines: Vec<_> = text.split('\n').map(line).collect();
    lines.join("\n").trim_end().trim_start_matches('\n').to_owned()
}

/// Returns true for a character that nobody sees, and that changes nothing of what is seen around it. The others that nobody sees are
/// blanks.
pub(super) const fn is_unseen(character: char) -> bool {
    is_invisible(character) && !matches!(character, '\u{200b}' | '\u{feff}')
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

/// Cuts a text that is put together from several ones, and not in a word.
pub(super) fn cut_words(text: &str, limit: usize) -> String {
    begin_in_words(text, limit).map_or_else(|| text.to_owned(), |begin| format!("{begin}…"))
}

/// Roles of items that are there for what they limit.
const LIMITS: &[&str] = &["form", "group", "list"];

/// Returns true if an item without a name may be there for what it limits.
pub(super) fn is_limit(role: &str) -> bool {
    LIMITS.contains(&role)
}

/// Creates the item that limits these ones.
pub(super) fn limited(role: &str, mut children: Vec<Item>) -> Vec<Item> {
    end_texts(&mut children);
    let item = Item { is_limit: true, ..Item::new(role, "") };
    item.with_children(children)
}

/// Replaces the limits by what is in them, unless another one of its kind, or a part of one, is beside. Forms stay if that is wanted.
pub(super) fn without_limits(items: Vec<Item>, with_forms: bool) -> Vec<Item> {
    let roles: Vec<_> = items.iter().map(|item| (item.role.clone(), item.is_limit)).collect();
    let mut settled = Vec::with_capacity(items.len());
    for (position, mut item) in items.into_iter().enumerate() {
        let children = without_limits(std::mem::take(&mut item.children), with_forms);
        let is_alike = |other: Option<&(String, bool)>| {
            other.is_some_and(|(role, is_limit)| {
                (*is_limit && *role == item.role) || (item.role == "list" && role == "listitem")
            })
        };
        let before = position.checked_sub(1).and_then(|before| roles.get(before));
        let is_kept = match item.role.as_str() {
            "form" => with_forms,
            _ => is_alike(before) || is_alike(roles.get(position + 1)),
        };
        if item.is_limit && !is_kept {
            settled.extend(children);
        } else {
            settled.push(Item { children, ..item });
        }
    }
    settled
}

/// Key of a reference.
const REFERENCE: &str = "ref";

/// Line of a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Level, from 0.
    pub level: usize,
    /// Role.
    pub role: String,
    /// Name, or the text of a node without one.
    pub name: String,
    /// Number of its reference.
    pub reference: Option<u32>,
    /// States and other properties; `Null` for one without a value.
    pub states: Vec<(String, Value)>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, role, name, reference, states } = self;
        for _ in 0..*level {
            f.write_str("  ")?;
        }
        write!(f, "- {role}")?;
        if !name.is_empty() {
            write!(f, " {}", quoted(name))?;
        }
        if let Some(number) = reference {
            write!(f, " [{REFERENCE}=e{number}]")?;
        }
        for (key, value) in states {
            match value {
                Value::Null => write!(f, " [{key}]")?,
                Value::String(text) => write!(f, " [{key}={}]", quoted(text))?,
                value => write!(f, " [{key}={}]", escape_json(&value.to_string()))?,
            }
        }
        Ok(())
    }
}

impl Line {
    /// Parses a line. Returns `None` if it has another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.trim_start_matches(' ');
        let blanks = text.len() - rest.len();
        let rest = rest.strip_prefix("- ")?;
        let (role, mut rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        let mut line = Self { level: blanks / 2, role: role.to_owned(), ..Self::default() };
        if let Some(quoted) = rest.strip_prefix(' ').filter(|quoted| quoted.starts_with('"')) {
            let (name, after) = json(quoted)?;
            name.as_str()?.clone_into(&mut line.name);
            rest = after;
        }
        while let Some(state) = rest.strip_prefix(" [") {
            let (key, after) = state.split_at(state.find(['=', ']'])?);
            let (value, after) = match after.strip_prefix('=') {
                Some(reference) if key == REFERENCE => {
                    let (number, after) = reference.strip_prefix('e')?.split_once(']')?;
                    line.reference = Some(number.parse().ok()?);
                    rest = after;
                    continue;
                }
                Some(value) => json(value)?,
                None => (Value::Null, after),
            };
            line.states.push((key.to_owned(), value));
            rest = after.strip_prefix(']')?;
        }
        (blanks.is_multiple_of(2) && rest.is_empty() && !role.is_empty()).then_some(line)
    }
}

/// Parses the JSON that a text begins with, and returns it with the rest.
fn json(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let offset = values.byte_offset();
    Some((value, text.get(offset..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(role: &str, texts: &[&str]) -> (String, usize) {
        let children = texts.iter().map(|text| Item { is_inline: false, ..Item::text(text) }).collect();
        let item = Item::new(role, "").with_children(children).remove(0);
        (item.name, item.children.len())
    }

    #[test]
    fn text_is_on_the_line_if_it_is_all() {
        assert_eq!(named("listitem", &["Milk"]), ("Milk".to_owned(), 0));
        assert_eq!(named("clickable", &["Su", "Mo"]), (String::new(), 2), "one of two is not all");
        for role in ["main", "menu", "row", "dialog", "toolbar", "textbox"] {
            assert_eq!(named(role, &["Saved"]), (String::new(), 1), "{role}");
        }
    }

    #[test]
    fn characters_without_a_picture_are_left_out() {
        assert_eq!(collapse("a\u{e0041}\u{ad}b \u{200b}c\u{2060}"), "ab c");
        assert_eq!(collapse("\u{1f468}\u{200d}\u{1f469}"), "\u{1f468}\u{200d}\u{1f469}", "one picture of two");
    }

    #[test]
    fn blanks_between_chinese_characters_are_left_out() {
        assert_eq!(glued(" \u{767b} \u{5f55} "), "\u{767b}\u{5f55}");
        assert_eq!(glued("\u{59d3}\u{3000}\u{540d} A \u{767b} B c"), "\u{59d3}\u{540d} A \u{767b} B c");
        assert_eq!(glued("\u{c0ac} \u{acfc}"), "\u{c0ac} \u{acfc}", "Korean writes blanks");
    }

    /// Returns the text of a block with these parts: the white space of each that is shown, or the end of a line.
    fn settled(parts: &[(&str, KeptSpace)]) -> Vec<String> {
        let part = |(text, space): &(&str, KeptSpace)| match *text {
            "<br>" => Item::line_break(),
            text => Item { space: Some(*space), ..Item::text(text) },
        };
        merge_texts(parts.iter().map(part).collect()).into_iter().map(|item| item.name).collect()
    }

    #[test]
    fn white_space_is_kept_where_a_person_sees_it() {
        use KeptSpace::{All, Lines, Nothing};
        assert_eq!(settled(&[("if x:\n", All), ("    y()\n", All)]), ["if x:\n    y()"]);
        assert_eq!(settled(&[("    return 1", All)]), ["    return 1"]);
        assert_eq!(settled(&[(" a", All)]), ["a"], "a single blank is no indentation");
        assert_eq!(settled(&[("\n  Dear Ann,\n  hello ", Lines)]), ["Dear Ann,\nhello"]);
        assert_eq!(settled(&[("a", Lines), ("<br>", Nothing), ("b", Lines), ("<br>", Nothing)]), ["a\nb"]);
        assert_eq!(settled(&[("a", Nothing), ("<br>", Nothing), ("b\nc", Nothing)]), ["a b c"]);
        assert_eq!(settled(&[("in\na ", Nothing), ("b\n  c", All)]), ["in a b c"], "code in a text");
        assert_eq!(settled(&[("\n   ", All)]), [""; 0]);
    }

    #[test]
    fn name_has_a_text_with_gaps() {
        let text = |has_gaps| Item { has_gaps, ..Item::text("Buy now") };
        assert!(text(true).is_in_name("Buynow") && text(true).is_in_name("Please Buy now"));
        assert!(!text(false).is_in_name("Buynow") && !text(true).is_in_name("Buy later"));
        let button = Item::new("button", "Buynow").with_children(vec![text(true)]).remove(0);
        assert!(button.children.is_empty(), "{button:?}");
    }

    #[test]
    fn text_of_several_parts_is_not_cut_in_a_word() {
        assert_eq!(cut_words("the code is Hunter2xyz", 17), "the code is…");
        assert_eq!(cut_words("the code is Hunter2xyz", 22), "the code is Hunter2xyz");
        assert_eq!(cut_words("Hunter2xyz", 4), "…");
        assert_eq!(cut_words("\u{6ce8}\u{6587}\u{4e0a}\u{4f20}", 2), "\u{6ce8}\u{6587}…");
    }

    proptest::proptest! {
        /// A row keeps each of its cells in its order, whatever its name and theirs are.
        #[test]
        fn row_loses_no_cell(name in "[ab ]{0,9}", cells in proptest::collection::vec("[ab ]{0,3}", 0..9)) {
            let children: Vec<_> =
                cells.iter().flat_map(|text| Item::new("cell", "").with_children(vec![Item::text(text)])).collect();
            let row = Item::new("row", &name).with_children(children).remove(0);
            let shown: Vec<_> = row.children.iter().map(|cell| cell.name.clone()).collect();
            let seen: Vec<_> = cells.iter().map(|text| collapse(text)).collect();
            proptest::prop_assert_eq!(shown, seen);
        }
    }

    fn list(names: &[&str]) -> Vec<Item> {
        limited("list", names.iter().map(|name| Item::new("listitem", name)).collect())
    }

    fn roles(items: &[Item]) -> Vec<&str> {
        items.iter().map(|item| item.role.as_str()).collect()
    }

    #[test]
    fn list_has_a_line_beside_another_one_only() {
        let one = without_limits(list(&["a", "b"]), false);
        assert_eq!(roles(&one), ["listitem", "listitem"], "nothing else is beside it");
        let two = without_limits([list(&["a"]), list(&["b"])].concat(), false);
        assert_eq!(roles(&two), ["list", "list"]);
        let between = vec![Item::new("heading", "More")];
        let apart = without_limits([list(&["a"]), between, list(&["b"])].concat(), false);
        assert_eq!(roles(&apart), ["listitem", "heading", "listitem"]);
    }

    #[test]
    fn form_has_a_line_where_it_is_wanted() {
        let form = || limited("form", vec![Item::new("button", "Send")]);
        assert_eq!(roles(&without_limits(form(), false)), ["button"]);
        assert_eq!(roles(&without_limits(form(), true)), ["form"]);
    }
}
