//! Texts in the part of a document that belongs to one element: the largest element around it that has no other one of its kind in it.
//!
//! Items have no wrappers of the document, which are what tells to which of two elements a text between them belongs.

use std::collections::HashMap;

use super::build::Part;
use super::capture::{CapturedNode, Layout};
use super::item::{FILLED, Item, MORE, NodeIndex, NodeKey, RoleAndName, neighbors};
use super::nodes::BOXES;

/// Maximum number of items beside an element that belong to it, as a title does to the button of a card.
pub(super) const MAX_CARD: usize = 12;

/// Maximum number of texts of an element. A larger part of a page is about more than the element.
pub(super) const MAX_TEXTS: usize = 24;

/// Maximum length of a text that tells an element from others, in bytes.
pub(super) const MAX_TEXT: usize = 1000;

/// Distance of what is in another line, besides that of the boxes: more than that of anything in the same one.
pub(super) const OTHER_LINE: f64 = 10_000.0;

/// Maximum number of elements around one that are looked at.
const MAX_AROUND: usize = 256;

/// Maximum number of items in the part of an element. A larger one is about more than the element.
const MAX_PART: usize = 400;

/// Number of texts in front of a field that are searched for one with a word: a number such as a price is a label for want of that.
const MAX_LABELS: usize = 3;

/// Maximum number of boxes to check in one line.
const MAX_BOXES: usize = 64;

/// Number of items in front of a field that are searched for the texts over it and the fields beside it.
const MAX_ABOVE: usize = 256;

/// Difference of two edges that are the same apart from borders, in CSS pixels.
const TOLERANCE: f64 = 4.0;

/// Roles of elements that hold what a person enters or chooses. The text of one is never that of another one.
const FIELDS: &[&str] = &["checkbox", "combobox", "radio", "searchbox", "slider", "spinbutton", "switch", "textbox"];

/// Roles of elements that are told from others by the texts in them.
pub(super) const ROWS: &[&str] = &["article", "listitem", "row", "treeitem"];

/// Roles of elements without a name that the heading of their part tells apart.
const PRESSED: &[&str] = &["button", "link"];

/// Numbers of the first item and behind the last one.
type Range = (usize, usize);

/// Document with the items of each of its nodes.
struct NumberedDocument<'a> {
    nodes: &'a [CapturedNode],
    ranges: Vec<Range>,
}

/// Items of a page in their order, with the nodes of its documents around them.
pub(super) struct NumberedItems<'a> {
    items: Vec<&'a Item>,
    documents: HashMap<(usize, usize), NumberedDocument<'a>>,
    numbers: HashMap<NodeKey, usize>,
    groups: HashMap<RoleAndName<'a>, Vec<usize>>,
    fields: Vec<usize>,
}

/// Text that says what a field is for.
pub(super) struct FieldLabel<'a> {
    pub(super) text: &'a str,
    /// True if the field is the only one of its row, so that a text that no other row has tells more.
    pub(super) is_in_row: bool,
}

/// Returns true for a field, of any kind.
pub(super) fn is_field(item: &Item) -> bool {
    item.node.is_some() && FIELDS.contains(&item.role.as_str())
}

impl<'a> NumberedItems<'a> {
    /// Numbers the items of the parts of a page.
    pub(super) fn new(items: &'a [Item], parts: &'a [Part]) -> Self {
        let mut numbered = Self {
            items: Vec::new(),
            documents: HashMap::new(),
            numbers: HashMap::new(),
            groups: HashMap::new(),
            fields: Vec::new(),
        };
        for (part, content) in parts.iter().enumerate() {
            for (position, document) in content.documents.iter().enumerate() {
                numbered.add_document((part, position), &document.nodes);
            }
        }
        numbered.add(items);
        for document in numbered.documents.values_mut() {
            document.add_ranges_around();
        }
        numbered
    }

    fn add_document(&mut self, key: (usize, usize), nodes: &'a [CapturedNode]) {
        self.documents.insert(key, NumberedDocument { nodes, ranges: vec![(usize::MAX, 0); nodes.len()] });
    }

    fn add(&mut self, items: &'a [Item]) {
        for item in items {
            let number = self.items.len();
            self.items.push(item);
            let ranges = item.at.and_then(|at| Some((at.index, self.documents.get_mut(&(at.part, at.document))?)));
            if let Some(range) = ranges.and_then(|(index, document)| document.ranges.get_mut(index)) {
                *range = joined(*range, (number, number + 1));
            }
            if let Some(key) = item.node {
                self.numbers.entry(key).or_insert(number);
                self.groups.entry(item.group()).or_default().push(number);
            }
            if is_field(item) {
                self.fields.push(number);
            }
            self.add(&item.children);
        }
    }

    fn range_at(&self, at: NodeIndex) -> Option<Range> {
        self.documents.get(&(at.part, at.document))?.ranges.get(at.index).copied()
    }

    /// Returns the number behind what is in an item.
    fn end_of(&self, number: usize) -> usize {
        let range = self.items.get(number).and_then(|item| self.range_at(item.at?));
        range.map_or(number, |(_, end)| end).max(number + 1)
    }

    /// Returns the numbers of the items of the elements around an item that have no other one of these in them, from the inside out, and
    /// those of the next element around them.
    fn parts_of(&self, number: usize, others: &[usize]) -> (Vec<Range>, Option<Range>) {
        let mut parts: Vec<Range> = Vec::new();
        let Some(at) = self.items.get(number).and_then(|item| item.at) else { return (parts, None) };
        let Some(document) = self.documents.get(&(at.part, at.document)) else { return (parts, None) };
        let place = others.partition_point(|other| *other < number);
        let before = place.checked_sub(1).and_then(|before| others.get(before)).copied();
        let next = others.get(place..).unwrap_or_default().iter().copied().find(|other| *other > number);
        let around = std::iter::successors(Some(at.index), |index| document.nodes.get(*index)?.parent);
        for (first, end) in around.take(MAX_AROUND).filter_map(|index| document.ranges.get(index).copied()) {
            let is_own = before.is_none_or(|before| before < first) && next.is_none_or(|next| end <= next);
            if !is_own {
                return (parts, Some((first, end)));
            }
            if end - first > MAX_PART {
                break;
            }
            if parts.last() != Some(&(first, end)) {
                parts.push((first, end));
            }
        }
        (parts, None)
    }

    /// Returns the texts that may tell an element from the others of its group, in the part of the page that is its own: a heading first.
    pub(super) fn texts_of(&self, key: NodeKey, is_repeated: &impl Fn(&str) -> bool) -> Vec<&'a str> {
        let Some(number) = self.numbers.get(&key).copied() else { return Vec::new() };
        let Some(item) = self.items.get(number) else { return Vec::new() };
        if item.name.is_empty() && !PRESSED.contains(&item.role.as_str()) {
            return Vec::new();
        }
        let (parts, _) = self.parts_of(number, self.groups.get(&item.group()).map_or(&[], Vec::as_slice));
        let is_wanted = |text: &&str| !text.is_empty() && text.len() <= MAX_TEXT && !is_repeated(text);
        let texts_in = |(first, end): &Range| {
            let items = self.items.get(*first..*end).unwrap_or_default().iter();
            let read = items.clone().filter(|item| is_text(item)).map(|item| item.name.as_str());
            let named = items.filter(|item| item.node.is_some()).map(|item| item.name.as_str());
            read.chain(named).filter(is_wanted).take(MAX_TEXTS + 1).collect::<Vec<_>>()
        };
        let heading = parts.iter().find_map(|(first, end)| {
            let headings = self.items.get(*first..*end)?.iter().filter(|item| item.role == "heading");
            headings
                .filter_map(|heading| Some(heading.find(&|item| !item.name.is_empty())?.name.as_str()))
                .find(is_wanted)
        });
        let texts = parts.iter().rev().map(texts_in).find(|texts| texts.len() <= MAX_TEXTS).unwrap_or_default();
        heading.into_iter().chain(texts).collect()
    }

    /// Returns the texts in front of an element in the part of the page that has no other one of its group, the first one first: the month
    /// over the days of a calendar.
    pub(super) fn titles_of(&self, key: NodeKey, is_repeated: &impl Fn(&str) -> bool) -> Vec<&'a str> {
        let Some(number) = self.numbers.get(&key).copied() else { return Vec::new() };
        let Some(item) = self.items.get(number) else { return Vec::new() };
        let (parts, _) = self.parts_of(number, self.groups.get(&item.group()).map_or(&[], Vec::as_slice));
        let before = parts.last().and_then(|(first, _)| self.items.get(*first..number)).unwrap_or_default();
        let texts = before.iter().filter(|item| is_text(item) && has_word(item)).map(|item| item.name.as_str());
        texts.filter(|text| text.len() <= MAX_TEXT && !is_repeated(text)).take(MAX_TEXTS).collect()
    }

    /// Returns the texts that say what fields without a name are for. No other field is between such a text and its field.
    pub(super) fn labels(&self) -> HashMap<NodeKey, FieldLabel<'a>> {
        let label = |number: &usize| {
            let item = self.items.get(*number)?;
            let role = item.role.as_str();
            let is_wanted = item.name.is_empty() && (FILLED.contains(&role) || BOXES.contains(&role));
            let (key, at) = item.node.zip(item.at).filter(|_| is_wanted)?;
            let own = self.range_at(at)?;
            let (parts, around) = self.parts_of(*number, &self.fields);
            let in_parts = self.label_in_parts(own, &parts, BOXES.contains(&role));
            let label = match in_parts.or_else(|| self.label_in_line(*number, own, around?)) {
                Some(label) => self.label_in_column(*number, label).unwrap_or(label),
                None => self.label_over_column(*number)?,
            };
            Some((key, FieldLabel { text: &label.name, is_in_row: self.is_in_row(*number, &parts) }))
        };
        self.fields.iter().filter_map(label).collect()
    }

    /// Returns true if a row or the entry of a list that a field is in is in these parts.
    fn is_in_row(&self, number: usize, parts: &[Range]) -> bool {
        let first = parts.last().map_or(number, |(first, _)| *first);
        let before = self.items.get(first..number).unwrap_or_default().iter().enumerate();
        let mut rows = before.filter(|(_, item)| ROWS.contains(&item.role.as_str()));
        rows.any(|(place, _)| self.end_of(first + place) > number)
    }

    /// Returns the text in the parts of a page that have no other field in them: that of a box is behind it, and of others in front.
    fn label_in_parts(&self, own: Range, parts: &[Range], is_box: bool) -> Option<&'a Item> {
        if is_box {
            let in_front = |first: usize| {
                let texts = || self.before(first, own.0);
                // Of those in front in a row, the first one with a word says most.
                texts().filter(|item| has_word(item)).last().or_else(|| texts().last())
            };
            let beside = |(first, end): &Range| self.behind(own.1, *end).or_else(|| in_front(*first));
            return parts.iter().find_map(beside);
        }
        let behind = || parts.iter().find_map(|(_, end)| self.behind(own.1, *end));
        let (first, _) = *parts.last()?;
        let texts = || self.before(first, own.0).filter(|item| item.role != "heading");
        let word = texts().take(MAX_LABELS).find(|item| has_word(item));
        word.or_else(|| texts().next()).or_else(behind).or_else(|| self.before(first, own.0).next())
    }

    /// Returns the text that is next to a field in an element with several ones: behind each box if one is behind the last of them, and else
    /// in front.
    fn label_in_line(&self, number: usize, own: Range, around: Range) -> Option<&'a Item> {
        let place = self.fields.partition_point(|field| *field < number);
        let is_box = |number: &usize| self.items.get(*number).is_some_and(|item| BOXES.contains(&item.role.as_str()));
        let end_at = |place: usize| self.fields.get(place).map_or(around.1, |next| (*next).min(around.1));
        let first = match place.checked_sub(1).and_then(|before| self.fields.get(before)) {
            Some(before) => around.0.max(self.end_of(*before)),
            None => around.0,
        };
        let behind = || self.behind(own.1, end_at(place + 1));
        if is_box(&number) {
            let rest = self.fields.get(place..)?.iter().take(MAX_BOXES);
            let boxes = rest.take_while(|field| **field < around.1 && is_box(field)).count();
            let last = place + boxes.checked_sub(1)?;
            let last_box = *self.fields.get(last)?;
            let after_last = self.behind(self.end_of(last_box), end_at(last + 1));
            let is_followed = after_last.is_some_and(|text| self.is_in_line(last_box, text));
            return if is_followed { behind() } else { self.before(first, own.0).next() };
        }
        let is_first = first == around.0;
        self.before(first, own.0).next().or_else(|| behind().filter(|text| is_first && self.is_in_line(number, text)))
    }

    /// Returns the text over a field in place of one that is in the same line of texts, but over what is beside the field.
    fn label_in_column(&self, number: usize, label: &Item) -> Option<&'a Item> {
        let item = *self.items.get(number)?;
        if !is_above(label, item) || is_over(label, item) {
            return None;
        }
        let first = number.saturating_sub(MAX_ABOVE);
        let texts = self.items.get(first..number)?.iter().rev().copied().filter(|text| is_label(text));
        let over = texts.filter(|text| are_in_line(text, label) && is_over(text, item));
        over.min_by(|one, other| offset(one, item).total_cmp(&offset(other, item)))
    }

    /// Returns the text over a field that is one of several beside each other, as in a table without heads: another text in the line of that
    /// is over the field beside this one.
    fn label_over_column(&self, number: usize) -> Option<&'a Item> {
        let item = *self.items.get(number)?;
        let place = self.fields.partition_point(|field| *field < number);
        let first = number.saturating_sub(MAX_ABOVE);
        let before = self.items.get(first..number)?;
        let above = |text: &&Item| is_label(text) && is_above(text, item);
        let at = before.iter().rposition(|text| above(text) && is_over(text, item))?;
        let label = *before.get(at)?;
        // A field between both that has another width is of another table, or of none.
        let is_other = |other: &&Item| is_field(other) && is_over(other, item) && !is_as_wide(other, item);
        if before.get(at..)?.iter().any(is_other) {
            return None;
        }
        let line = || before.iter().copied().filter(above).filter(|text| are_in_line(text, label));
        let is_headed = |other: &Item| {
            let is_head = |text: &Item| is_over(text, other) && !is_over(text, item);
            are_in_line(item, other) && !is_over(label, other) && line().any(is_head)
        };
        let mut beside = neighbors(&self.fields, place).filter_map(|other| self.items.get(*other).copied());
        beside.any(is_headed).then_some(label)
    }

    /// Returns true if a text is in the line of an item. What is a block of its own is in none.
    fn is_in_line(&self, number: usize, text: &Item) -> bool {
        let Some(item) = self.items.get(number) else { return false };
        distance(Some(item), Some(text)).map_or_else(|| text.is_text(), |distance| distance < OTHER_LINE)
    }

    /// Returns the texts in front of a place, the last one first, as far as they may belong to what is there.
    fn before(&self, first: usize, end: usize) -> impl Iterator<Item = &'a Item> {
        let first = first.max(end.saturating_sub(MAX_CARD));
        self.items.get(first..end).unwrap_or_default().iter().rev().copied().filter(|item| is_label(item))
    }

    /// Returns the first text behind a place, if it may belong to what is there.
    fn behind(&self, first: usize, end: usize) -> Option<&'a Item> {
        let end = end.min(first + MAX_CARD);
        self.items.get(first..end).unwrap_or_default().iter().copied().find(|item| is_label(item))
    }
}

impl NumberedDocument<'_> {
    /// Adds the items of each node to those of the nodes around it.
    fn add_ranges_around(&mut self) {
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let own = self.ranges.get(index).copied().unwrap_or((usize::MAX, 0));
            // The parent of a node precedes it.
            if let Some(around) = node.parent.and_then(|parent| self.ranges.get_mut(parent)) {
                *around = joined(*around, own);
            }
        }
    }
}

fn joined(one: Range, other: Range) -> Range {
    (one.0.min(other.0), one.1.max(other.1))
}

/// Returns true for what is there to be read.
fn is_text(item: &Item) -> bool {
    let is_control = item.node.is_some() || item.is_behind || FIELDS.contains(&item.role.as_str());
    !is_control && item.role != MORE && item.name.chars().any(char::is_alphanumeric)
}

fn has_word(item: &Item) -> bool {
    item.name.chars().any(char::is_alphabetic)
}

/// Returns true for what may say what a field is for.
fn is_label(item: &Item) -> bool {
    is_text(item) && item.name.len() <= MAX_TEXT && !item.is_message && item.role != "alert"
}

/// Returns true if two items are in one line, as far as their boxes are known.
fn are_in_line(one: &Item, other: &Item) -> bool {
    distance(Some(one), Some(other)).is_some_and(|distance| distance < OTHER_LINE)
}

/// Returns true if an item is further up than another one, wherever it is from left to right.
fn is_above(item: &Item, other: &Item) -> bool {
    let layouts = item.layout.as_ref().zip(other.layout.as_ref());
    layouts.is_some_and(|(own, other)| own.y + own.height <= other.y + TOLERANCE)
}

/// Returns true if an item is above another one and in its column: the middle of one of them is between the sides of the other one.
fn is_over(item: &Item, other: &Item) -> bool {
    let has_middle = |one: &Layout, other: &Layout| {
        let middle = other.x + other.width / 2.0;
        one.x <= middle && middle <= one.x + one.width
    };
    let layouts = item.layout.as_ref().zip(other.layout.as_ref());
    is_above(item, other) && layouts.is_some_and(|(own, other)| has_middle(own, other) || has_middle(other, own))
}

/// Returns true if two items begin and end at the same sides.
fn is_as_wide(one: &Item, other: &Item) -> bool {
    let layouts = one.layout.as_ref().zip(other.layout.as_ref());
    layouts.is_some_and(|(one, other)| {
        (one.x - other.x).abs() <= TOLERANCE && (one.width - other.width).abs() <= TOLERANCE * 2.0
    })
}

/// Returns the distance of the left edges of two items.
fn offset(one: &Item, other: &Item) -> f64 {
    let layouts = one.layout.as_ref().zip(other.layout.as_ref());
    layouts.map_or(f64::INFINITY, |(one, other)| (one.x - other.x).abs())
}

/// Returns the distance of two items, if their boxes are known: that of their middles from line to line, and the gap in a line.
pub(super) fn distance(one: Option<&Item>, other: Option<&Item>) -> Option<f64> {
    let (one, other): (&Layout, &Layout) = (one?.layout.as_ref()?, other?.layout.as_ref()?);
    let gap = (other.x - one.x - one.width).max(one.x - other.x - other.width).max(0.0);
    let is_same_line = one.y < other.y + other.height && other.y < one.y + one.height;
    let between = if is_same_line { 0.0 } else { OTHER_LINE };
    Some(between + gap.hypot(one.y + one.height / 2.0 - other.y - other.height / 2.0))
}

#[cfg(test)]
mod tests {
    use super::super::alike;
    use super::super::capture::Document;
    use super::*;

    /// Page of one document.
    struct TestPage {
        items: Vec<Item>,
        parts: Vec<Part>,
    }

    /// Creates a page: `<` and `>` are around an element, `*NAME` is a button, `_` a field, `o` a box to check, `#NAME` a heading, and
    /// anything else is text.
    fn page(words: &str) -> TestPage {
        let mut nodes = vec![CapturedNode::default()];
        let mut items = Vec::new();
        let mut around = vec![0];
        for word in words.split(' ') {
            let index = nodes.len();
            let key = NodeKey { part: 0, document: 0, node: index as u64 };
            let at = Some(NodeIndex { part: 0, document: 0, index });
            let acted = |role, name| Item { node: Some(key), at, ..Item::new(role, name) };
            match (word, word.get(..1), word.get(1..).unwrap_or_default()) {
                (">", ..) => {
                    around.pop();
                    continue;
                }
                ("<", ..) => {}
                ("_", ..) => items.push(acted("textbox", "")),
                ("o", ..) => items.push(acted("radio", "")),
                (_, Some("*"), name) => items.push(acted("button", name)),
                (_, Some("#"), name) => items.push(Item { at, ..Item::new("heading", name) }),
                _ => items.push(Item { at, ..Item::text(word) }),
            }
            let mut node = CapturedNode::default();
            node.parent = around.last().copied();
            nodes.push(node);
            if word == "<" {
                around.push(index);
            }
        }
        let mut document = Document::default();
        document.nodes = nodes;
        TestPage { items, parts: vec![Part { documents: vec![document], ..Part::default() }] }
    }

    /// Returns the text of each button or field, in their order; an empty one for those without.
    fn texts(words: &str) -> Vec<String> {
        let TestPage { items, parts } = page(words);
        let numbered = NumberedItems::new(&items, &parts);
        let groups: Vec<_> = numbered.groups.keys().copied().filter(|(role, _)| *role == "button").collect();
        let mut found = alike::texts(&items, &groups, &numbered);
        found.extend(numbered.labels().into_iter().map(|(key, label)| (key, label.text)));
        let acted = items.iter().filter_map(|item| item.node);
        acted.map(|key| found.get(&key).copied().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn button_gets_the_heading_of_its_own_card() {
        let cards = "< #Basic $5 *Choose seat mail > < #Pro $9 *Choose seats phone > < #Max $19 *Choose many >";
        assert_eq!(texts(&format!("#Pricing {cards}")), ["Basic", "Pro", "Max"]);
        let flat = cards.replace("< ", "").replace(" >", "");
        assert_ne!(texts(&flat), ["Basic", "Pro", "Max"], "control: no element around each card");
        let lines = "< #Profile *Edit > Ann < #Address *Edit > Main < #Card *Edit > Visa";
        assert_eq!(texts(lines), ["Profile", "Address", "Card"]);
        assert_eq!(texts("< $5 Milk *Add > < $9 Tea *Add >"), ["Milk", "Tea"], "no headings");
        assert_eq!(texts("< #Same Milk *Add > < #Same Tea *Add >"), ["Milk", "Tea"], "headings that are not their own");
    }

    #[test]
    fn field_gets_the_text_in_front_of_it_in_its_part() {
        assert_eq!(texts("#Form < Title _ > < Price _ > < Notes _ >"), ["Title", "Price", "Notes"]);
        assert_eq!(texts("#Form < _ Minimum > < _ Maximum >"), ["Minimum", "Maximum"], "nothing in front");
        assert_eq!(texts("< Lamp $5 _ > < Sofa $5 _ >"), ["Lamp", "Sofa"], "a price is no label");
        assert_eq!(texts("< Day _ Month _ Year _ >"), ["Day", "Month", "Year"], "in one line");
        assert_eq!(texts("< < Street > < _ > < City > < _ > >"), ["Street", "City"], "in cells");
    }

    #[test]
    fn box_gets_the_text_behind_it() {
        assert_eq!(texts("Which < o Lyon > < o Paris > < o Nice >"), ["Lyon", "Paris", "Nice"]);
        let questions = "< < Room > o Good o Fair o Poor > < < Food > o Good o Fair o Poor >";
        assert_eq!(texts(questions), ["Good", "Fair", "Poor", "Good", "Fair", "Poor"]);
        assert_eq!(texts("More < < Wi-Fi Networks > o > Other"), ["Wi-Fi"], "in front, in a smaller part of the page");
        assert_eq!(texts("< Gender: o Male o Female >"), ["Male", "Female"]);
        assert_eq!(texts("< Male o Female o >"), ["Male", "Female"], "nothing behind the last one");
        assert_eq!(texts("< Password _ o Remember o Trust *Send >"), ["Password", "Remember", "Trust", ""]);
    }

    #[test]
    fn text_beyond_another_field_is_not_taken() {
        assert_eq!(texts("< Name _ _ >"), ["Name", ""]);
        assert_eq!(texts("< o _ Yes >")[0], "");
    }

    /// Returns the labels of the fields in one element with these items, each with the left and upper edge and the width of its box.
    fn labels_in_grid(places: &[(&str, [f64; 3])]) -> Vec<String> {
        let words: Vec<_> = places.iter().map(|(word, _)| *word).collect();
        let TestPage { mut items, parts } = page(&format!("< {} >", words.join(" ")));
        for (item, (_, [x, y, width])) in items.iter_mut().zip(places) {
            item.layout = Some(Layout { x: *x, y: *y, width: *width, height: 20.0, ..Layout::default() });
        }
        let found = NumberedItems::new(&items, &parts).labels();
        let text = |item: &Item| found.get(&item.node?).map(|label| label.text.to_owned());
        items.iter().filter(|item| is_field(item)).map(|item| text(item).unwrap_or_default()).collect()
    }

    #[test]
    fn field_below_a_row_of_labels_gets_that_of_its_column() {
        let heads = [("Name", [0.0, 0.0, 40.0]), ("Amount", [200.0, 0.0, 50.0])];
        let fields = |y, second| [("_", [0.0, y, 180.0]), ("_", [200.0, y, second])];
        let one = [&heads[..], &fields(30.0, 180.0)].concat();
        assert_eq!(labels_in_grid(&one), ["Name", "Amount"]);
        let rows = [&one[..], &fields(60.0, 180.0)].concat();
        assert_eq!(labels_in_grid(&rows), ["Name", "Amount", "Name", "Amount"], "two rows below them");
        let pairs = [&one[..], &[("City", [0.0, 60.0, 30.0]), ("Zip", [200.0, 60.0, 30.0])], &fields(90.0, 180.0)];
        assert_eq!(labels_in_grid(&pairs.concat()), ["Name", "Amount", "City", "Zip"], "labels of each row");
        let with_button = [&heads[..], &fields(30.0, 180.0)[..1], &[("*Add", [200.0, 30.0, 50.0])]].concat();
        assert_eq!(labels_in_grid(&with_button), ["Name"], "one field, and a button");
        let wide = [&one[..1], &one[2..]].concat();
        assert_eq!(labels_in_grid(&wide), ["Name", ""], "control: no label over the second one");
        let last = [&one[..], &[("_", [0.0, 60.0, 380.0])], &fields(90.0, 180.0)].concat();
        assert_eq!(labels_in_grid(&last)[3..], ["", ""], "a field with another width is between them");
    }

    #[test]
    fn items_without_a_place_have_no_part() {
        let TestPage { mut items, parts } = page("< #Basic *Choose > < #Pro *Choose >");
        for item in &mut items {
            item.at = None;
        }
        let numbered = NumberedItems::new(&items, &parts);
        let key = items.iter().find_map(|item| item.node).unwrap();
        assert!(numbered.texts_of(key, &|_| false).is_empty());
    }
}
