//! Texts that tell elements of the same role and name from each other, as the cells of their rows do, and heads of the columns of tables,
//! which say what the fields below them are for.

use std::collections::{HashMap, HashSet};

use super::capture::Layout;
use super::item::{CELLS, Item, NodeKey, RoleAndName, neighbors};

/// Maximum number of items that are looked at for all groups of elements together. Beyond it, groups get no texts here.
const MAX_LOOKS: usize = 4_000_000;

/// Maximum number of items beside an element that belong to it, as a title does to the button of a card.
const MAX_CARD: usize = 12;

/// Maximum number of texts of an element. A larger part of a page is about more than the element.
const MAX_TEXTS: usize = 24;

/// Distance of what is in another line, besides that of the boxes: more than that of anything in the same one.
const OTHER_LINE: f64 = 10_000.0;

/// Difference of two distances that counts, in CSS pixels.
const CLOSER: f64 = 2.0;

/// Element of a group, with the texts that could tell it from the others, the best first.
struct AlikeItem<'a> {
    key: NodeKey,
    texts: Vec<&'a str>,
    /// Names of other groups that are in the row of this element, for want of a better text.
    repeated: Vec<&'a str>,
}

/// Elements of one group, and what is no good text of theirs.
struct AlikeSearch<'a> {
    group: RoleAndName<'a>,
    /// Names of all groups, which tell nothing apart outside a row.
    repeated: &'a HashSet<&'a str>,
}

/// Returns a text for each element that has the role and name of another one, if none of the others has it.
///
/// It is taken from what is around this element alone: the row of a table, the entry of a list, or what is between it and the next one.
pub(super) fn texts<'a>(items: &'a [Item], groups: &[RoleAndName<'a>]) -> HashMap<NodeKey, &'a str> {
    let repeated: HashSet<_> = groups.iter().map(|(_, name)| *name).collect();
    let mut found = HashMap::new();
    for group in groups.iter().take(MAX_LOOKS / size(items).max(1)) {
        let mut members = Vec::new();
        AlikeSearch { group: *group, repeated: &repeated }.add_members(items, &mut members);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for member in &members {
            for text in member.texts.iter().chain(&member.repeated).copied().collect::<HashSet<_>>() {
                *counts.entry(text).or_default() += 1;
            }
        }
        let is_own = |text: &&str| counts.get(text) == Some(&1);
        for AlikeItem { key, texts, repeated } in members {
            let mut own = texts.into_iter().filter(is_own).peekable();
            let first = own.peek().copied();
            let best = own.find(|text| text.chars().any(char::is_alphabetic)).or(first);
            if let Some(text) = best.or_else(|| repeated.into_iter().find(is_own)) {
                found.insert(key, text);
            }
        }
    }
    found
}

/// Returns the number of items.
fn size(items: &[Item]) -> usize {
    items.iter().map(|item| 1 + size(&item.children)).sum()
}

impl AlikeSearch<'_> {
    fn is_member(&self, item: &Item) -> bool {
        item.node.is_some() && item.group() == self.group
    }

    /// Returns the place of the member that is one of some items, or below it.
    fn find<'a>(&self, items: &'a [Item], place: usize) -> Option<(&'a [Item], usize)> {
        let item = items.get(place)?;
        if self.is_member(item) {
            return Some((items, place));
        }
        (0..item.children.len()).find_map(|place| self.find(&item.children, place))
    }

    /// Adds the members that are told apart in these items or below them, and returns the number of all of them.
    fn add_members<'a>(&self, items: &'a [Item], members: &mut Vec<AlikeItem<'a>>) -> usize {
        let counts: Vec<_> = items
            .iter()
            .map(|item| usize::from(self.is_member(item)) + self.add_members(&item.children, members))
            .collect();
        let total = counts.iter().sum();
        if total < 2 {
            return total;
        }
        let places: Vec<_> =
            counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(place, _)| place).collect();
        let is_single = |place: usize| counts.get(place) == Some(&1);
        let own = |place| {
            let own = if is_single(place) { slice(items, place, place + 1) } else { &[] };
            let (texts, repeated) = self.read(own);
            (Some(texts).filter(|texts| !texts.is_empty() && texts.len() <= MAX_TEXTS), repeated)
        };
        let own: Vec<_> = places.iter().copied().map(own).collect();
        let is_flat: Vec<_> =
            places.iter().zip(&own).map(|(place, (own, _))| is_single(*place) && own.is_none()).collect();
        let cards = self.cards(items, &places, &is_flat);
        for ((place, (own, repeated)), card) in places.into_iter().zip(own).zip(cards) {
            let Some((around, at)) = self.find(items, place).filter(|_| is_single(place)) else { continue };
            let Some((member, key)) = around.get(at).and_then(|member| Some((member, member.node?))) else { continue };
            let before = at.checked_sub(1).and_then(|before| around.get(before));
            let beside = member.beside(before, slice(around, at + 1, around.len()));
            let beside = beside.filter(|text| !self.repeated.contains(text));
            let link = if own.is_none() { self.link_in_line(around, at) } else { None };
            let texts = beside.into_iter().chain(link).chain(own.unwrap_or(card)).collect();
            members.push(AlikeItem { key, texts, repeated });
        }
        total
    }

    /// Returns the name of the link next to a member in the same line, as `boats` in the menu `select boats`, `select ports`. It tells more
    /// than what is in another line, also if there are more links of that name. A text in the line tells more.
    fn link_in_line<'a>(&self, items: &'a [Item], place: usize) -> Option<&'a str> {
        let near = neighbors(items, place);
        let near = near.filter_map(|item| Some((item, distance(items.get(place), Some(item))?)));
        let in_line: Vec<_> = near.filter(|(item, distance)| *distance < OTHER_LINE && !self.is_member(item)).collect();
        if in_line.iter().any(|(item, _)| item.node.is_none() && !item.name.is_empty()) {
            return None;
        }
        let is_link = |item: &Item| item.role == "link" && item.name.chars().any(char::is_alphabetic);
        let links = in_line.into_iter().filter(|(item, _)| is_link(item));
        links.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(link, _)| link.name.as_str())
    }

    /// Returns the texts around members that have none in them, for each place of a member: those before it, or those after it if that is
    /// where they belong. Where no such member is next to it, the nearest ones are taken, as many as are between two of them.
    fn cards<'a>(&self, items: &'a [Item], places: &[usize], is_flat: &[bool]) -> Vec<Vec<&'a str>> {
        let flat = |number: usize| is_flat.get(number) == Some(&true);
        let pairs: Vec<_> = (1..places.len())
            .filter(|number| flat(number - 1) && flat(*number))
            .filter_map(|number| Some((places.get(number - 1).copied()?, places.get(number).copied()?)))
            .collect();
        let between: Vec<_> = pairs.iter().map(|(before, place)| slice(items, before + 1, *place)).collect();
        let length =
            between.iter().map(|items| self.texts(items).len()).filter(|length| *length > 0).min().unwrap_or(1);
        let gap = between.iter().map(|items| items.len()).filter(|length| *length > 0).min().unwrap_or(1);
        let is_followed = || {
            let (first, last) = (pairs.first()?.0, pairs.last()?.1);
            let has_texts = |first, end| !self.texts(slice(items, first, end)).is_empty();
            let is_after = has_texts(last + 1, last + 1 + gap);
            let is_before = has_texts(first.saturating_sub(gap), first);
            Some(is_after && (!is_before || self.is_followed(items, &pairs)))
        };
        let is_followed = is_followed().unwrap_or_default();
        let card = |(number, place): (usize, usize)| {
            let (next, side) = if is_followed {
                let end = places.get(number + 1).copied().unwrap_or(items.len());
                (Some(number + 1), slice(items, place + 1, end))
            } else {
                let next = number.checked_sub(1);
                (next, slice(items, next.and_then(|next| places.get(next)).map_or(0, |before| before + 1), place))
            };
            if !flat(number) {
                Vec::new()
            } else if next.is_some_and(flat) && side.len() <= MAX_CARD {
                self.texts(side)
            } else {
                let beside = |count| {
                    let first = if is_followed { 0 } else { side.len().saturating_sub(count) };
                    self.texts(slice(side, first, first + count))
                };
                (1..=MAX_CARD.min(side.len())).map(beside).find(|texts| texts.len() >= length).unwrap_or_default()
            }
        };
        places.iter().copied().enumerate().map(card).collect()
    }

    /// Returns true if most members are closer to what follows them than to what is before them.
    fn is_followed(&self, items: &[Item], pairs: &[(usize, usize)]) -> bool {
        let is_text = |item: &&Item| !self.texts(std::slice::from_ref(*item)).is_empty();
        let followed = pairs.iter().filter(|(before, after)| {
            let between = slice(items, before + 1, *after);
            let to_first = distance(items.get(*before), between.iter().find(is_text));
            let to_last = distance(items.get(*after), between.iter().rev().find(is_text));
            to_first.zip(to_last).is_some_and(|(first, last)| first + CLOSER < last)
        });
        followed.count() * 2 > pairs.len()
    }

    /// Returns the texts of items, and then the names of elements that are like no others, as far as they may be needed.
    fn texts<'a>(&self, items: &'a [Item]) -> Vec<&'a str> {
        self.read(items).0
    }

    /// Returns these, and the names that several elements of another group have.
    fn read<'a>(&self, items: &'a [Item]) -> (Vec<&'a str>, Vec<&'a str>) {
        let mut texts = Texts::default();
        self.add_texts(items, &mut texts);
        let Texts { mut read, mut names, repeated } = texts;
        read.append(&mut names);
        (read, repeated)
    }

    fn add_texts<'a>(&self, items: &'a [Item], texts: &mut Texts<'a>) {
        for item in items {
            if texts.read.len() + texts.names.len() > MAX_TEXTS || texts.repeated.len() > MAX_TEXTS {
                return;
            }
            let name = item.name.as_str();
            if !self.repeated.contains(name) {
                let kind = if item.node.is_none() { &mut texts.read } else { &mut texts.names };
                kind.extend(Some(name).filter(|name| !name.is_empty()));
            } else if name != self.group.1 {
                texts.repeated.push(name);
            }
            self.add_texts(&item.children, texts);
        }
    }
}

/// Texts of some items.
#[derive(Default)]
struct Texts<'a> {
    /// Texts that are there to be read.
    read: Vec<&'a str>,
    /// Names of elements that are like no others.
    names: Vec<&'a str>,
    /// Names that several elements of another group have.
    repeated: Vec<&'a str>,
}

/// Returns the items from a place to another one, as far as they are there.
fn slice<T>(items: &[T], first: usize, end: usize) -> &[T] {
    items.get(first..end.min(items.len())).unwrap_or_default()
}

/// Returns the distance of two items, if their boxes are known: that of their middles from line to line, and the gap in a line.
fn distance(one: Option<&Item>, other: Option<&Item>) -> Option<f64> {
    let (one, other): (&Layout, &Layout) = (one?.layout.as_ref()?, other?.layout.as_ref()?);
    let gap = (other.x - one.x - one.width).max(one.x - other.x - other.width).max(0.0);
    let is_same_line = one.y < other.y + other.height && other.y < one.y + one.height;
    let between = if is_same_line { 0.0 } else { OTHER_LINE };
    Some(between + gap.hypot(one.y + one.height / 2.0 - other.y - other.height / 2.0))
}

/// Roles of tables.
pub(super) const TABLES: &[&str] = &["grid", "table", "treegrid"];

/// Maximum number of columns of a table that are looked at.
const MAX_COLUMNS: usize = 1000;

/// Returns the text that tells each element in a table from those in other cells: that of its row, and the head of its column.
pub(super) fn heads(items: &[Item]) -> HashMap<NodeKey, String> {
    let mut found = HashMap::new();
    add_tables(items, &mut found);
    found
}

fn add_tables(items: &[Item], found: &mut HashMap<NodeKey, String>) {
    for item in items {
        if TABLES.contains(&item.role.as_str()) {
            let mut rows = Vec::new();
            add_rows(&item.children, &mut rows);
            add_heads(&rows, found);
        }
        add_tables(&item.children, found);
    }
}

/// Adds the rows of a table, without those of tables in it.
fn add_rows<'a>(items: &'a [Item], rows: &mut Vec<&'a Item>) {
    for item in items.iter().filter(|item| !TABLES.contains(&item.role.as_str())) {
        if item.role == "row" { rows.push(item) } else { add_rows(&item.children, rows) }
    }
}

fn add_heads(rows: &[&Item], found: &mut HashMap<NodeKey, String>) {
    let is_head = |row: &&&Item| row.children.iter().any(|cell| cell.role == "columnheader");
    let Some(head) = rows.iter().find(is_head) else { return };
    let heads: HashMap<usize, &str> = columns(head).map(|(column, cell)| (column, text(cell))).collect();
    let labels: Vec<Vec<&str>> = rows.iter().map(|row| labels(row)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for label in labels.iter().flatten() {
        *counts.entry(label).or_default() += 1;
    }
    for (row, labels) in rows.iter().zip(&labels) {
        // What several rows have, such as the name of the box that chooses each, tells none from the others.
        let is_own = |label: &&&str| counts.get(*label) == Some(&1);
        let label = labels.iter().find(is_own).or(labels.first()).copied().unwrap_or_default();
        for (column, cell) in columns(row) {
            let Some(head) = heads.get(&column).filter(|head| !head.is_empty()) else { continue };
            let own = text(cell);
            let context = if label.is_empty() || label == own { (*head).to_owned() } else { format!("{label} {head}") };
            add_nodes(std::slice::from_ref(cell), &context, found);
        }
    }
}

/// Returns the texts of the cells of a row that are no heads.
fn labels(row: &Item) -> Vec<&str> {
    let cells = columns(row).map(|(_, cell)| cell).filter(|cell| cell.role != "columnheader");
    cells.map(text).filter(|text| text.chars().any(char::is_alphanumeric)).collect()
}

/// Returns the cells of a row with the number of the column that each begins in.
fn columns(row: &Item) -> impl Iterator<Item = (usize, &Item)> {
    let cells = row.children.iter().filter(|cell| CELLS.contains(&cell.role.as_str()));
    cells
        .scan(0, |next, cell| {
            let column = *next;
            let span = cell.states.iter().find(|(name, _)| *name == "colspan").and_then(|(_, span)| span.as_u64());
            *next += span.and_then(|span| usize::try_from(span).ok()).unwrap_or(1).min(MAX_COLUMNS);
            Some((column, cell))
        })
        .take_while(|(column, _)| *column < MAX_COLUMNS)
}

/// Returns the first text of a cell.
fn text(cell: &Item) -> &str {
    cell.find(&|item| !item.name.is_empty()).map_or("", |item| &item.name)
}

fn add_nodes(items: &[Item], context: &str, found: &mut HashMap<NodeKey, String>) {
    for item in items {
        found.extend(item.node.map(|key| (key, context.to_owned())));
        if !TABLES.contains(&item.role.as_str()) {
            add_nodes(&item.children, context, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates the items of a list: `*NAME` is a button, `[` and `]` are around the items of a row, and anything else is text.
    fn items(words: &[&str], next: &mut u64) -> Vec<Item> {
        let mut items: Vec<Vec<Item>> = vec![Vec::new()];
        for word in words {
            *next += 1;
            let item = match (*word, word.strip_prefix('*')) {
                ("[", _) => {
                    items.push(Vec::new());
                    continue;
                }
                ("]", _) => Item { children: items.pop().unwrap(), ..Item::new("row", "") },
                (_, Some(name)) => {
                    let node = Some(NodeKey { part: 0, document: 0, node: *next });
                    Item { node, ..Item::new("button", name) }
                }
                (text, None) => Item::text(text),
            };
            items.last_mut().unwrap().push(item);
        }
        items.pop().unwrap()
    }

    /// Returns the texts of the buttons that there are several of, in their order; an empty one for those without.
    fn texts_of(words: &[&str]) -> Vec<String> {
        let items = items(words, &mut 0);
        let mut buttons: Vec<(&str, NodeKey)> = Vec::new();
        add_buttons(&items, &mut buttons);
        let mut groups: Vec<RoleAndName<'_>> = Vec::new();
        for (position, (name, _)) in buttons.iter().enumerate() {
            let group = ("button", *name);
            if buttons[..position].iter().any(|(other, _)| other == name) && !groups.contains(&group) {
                groups.push(group);
            }
        }
        let found = texts(&items, &groups);
        let alike = buttons.iter().filter(|(name, _)| groups.contains(&("button", *name)));
        alike.map(|(_, key)| found.get(key).copied().unwrap_or_default().to_owned()).collect()
    }

    fn add_buttons<'a>(items: &'a [Item], buttons: &mut Vec<(&'a str, NodeKey)>) {
        for item in items {
            buttons.extend(item.node.map(|key| (item.name.as_str(), key)));
            add_buttons(&item.children, buttons);
        }
    }

    #[test]
    fn element_gets_the_first_text_that_is_only_in_its_row() {
        let rows = ["[", "1", "Ann", "Open", "*Edit", "]", "[", "2", "Bob", "Open", "*Edit", "]"];
        assert_eq!(texts_of(&rows), ["Ann", "Bob"]);
        assert_eq!(texts_of(&["[", "1", "*Edit", "]", "[", "2", "*Edit", "]"]), ["1", "2"], "no better one");
        assert_eq!(texts_of(&["[", "Open", "*Edit", "]", "[", "Open", "*Edit", "]"]), ["", ""], "none is its own");
        assert_eq!(texts_of(&["[", "*Edit", "Ann", "]", "[", "*Edit", "Bob", "]"]), ["Ann", "Bob"], "behind it");
    }

    #[test]
    fn element_without_a_row_gets_what_is_before_it() {
        let cards = ["Shop", "Blue", "$5", "*Add", "Red", "$5", "*Add", "*Green", "$5", "*Add", "Contact"];
        assert_eq!(texts_of(&cards), ["Blue", "Red", "Green"]);
        let counters = ["Cart", "Milk", "*+", "*-", "Eggs", "*+", "*-", "Pay"];
        assert_eq!(texts_of(&counters), ["Milk", "Milk", "Eggs", "Eggs"]);
    }

    #[test]
    fn element_without_anything_before_it_gets_what_follows() {
        assert_eq!(texts_of(&["*Play", "A", "*Play", "B", "*Play", "C", "Contact"]), ["A", "B", "C"]);
        assert_eq!(texts_of(&["*Play", "*Play"]), ["", ""]);
    }

    #[test]
    fn names_that_are_repeated_tell_nothing() {
        let rows = ["[", "*Edit", "*Drop", "]", "[", "*Edit", "*Drop", "]"];
        assert_eq!(texts_of(&rows), ["", "", "", ""]);
    }

    #[test]
    fn name_of_a_row_that_is_elsewhere_too_tells_it_apart() {
        let rows = ["[", "*Groups", "*Add", "]", "[", "*Users", "*Add", "]", "*Users"];
        // The buttons are `Add`, `Users` in the row, `Add`, and `Users` below it.
        let texts = texts_of(&rows);
        assert_eq!([texts[0].as_str(), texts[2].as_str()], ["Groups", "Users"]);
        let numbered = ["[", "1", "*Users", "*Add", "]", "[", "2", "*Add", "]", "*Users"];
        assert_eq!(texts_of(&numbered)[1..3], ["1", "2"], "a text of its own is better");
    }

    proptest::proptest! {
        #[test]
        fn text_belongs_to_one_element_only(words in proptest::collection::vec("[ab]|\\*[ab]|\\[|\\]", 0..60)) {
            let mut depth = 0;
            // Only rows that end.
            let mut words: Vec<&str> = words.iter().map(String::as_str).filter(|word| match *word {
                "[" => { depth += 1; true }
                "]" if depth == 0 => false,
                "]" => { depth -= 1; true }
                _ => true,
            }).collect();
            words.extend(std::iter::repeat_n("]", depth));
            let items = items(&words, &mut 0);
            for name in ["a", "b"] {
                let found = texts(&items, &[("button", name)]);
                let distinct: HashSet<_> = found.values().collect();
                proptest::prop_assert_eq!(distinct.len(), found.len());
            }
        }
    }

    fn cell(role: &str, name: &str, span: u64, children: Vec<Item>) -> Item {
        Item { states: vec![("colspan", span.into())], children, ..Item::new(role, name) }
    }

    fn field(node: u64) -> Vec<Item> {
        vec![Item { node: Some(NodeKey { part: 0, document: 0, node }), ..Item::new("textbox", "") }]
    }

    fn row(children: Vec<Item>) -> Item {
        Item { children, ..Item::new("row", "") }
    }

    #[test]
    fn row_is_told_by_a_text_that_no_other_row_has() {
        let head = row(["Pick", "Name", "Act"].map(|name| cell("columnheader", name, 1, Vec::new())).into());
        let entry = |name: &str, node| {
            let pick = Item { name: "Select row".to_owned(), ..field(node).remove(0) };
            let act = Item { name: "Edit".to_owned(), ..field(node + 1).remove(0) };
            row(vec![
                cell("cell", "", 1, vec![pick]),
                cell("cell", name, 1, Vec::new()),
                cell("cell", "", 1, vec![act]),
            ])
        };
        let table = Item { children: vec![head, entry("Ann", 1), entry("Bob", 3)], ..Item::new("table", "") };
        let found = heads(&[table]);
        let near = |node| found.get(&NodeKey { part: 0, document: 0, node }).map(String::as_str);
        assert_eq!([1, 2, 3, 4].map(near), [Some("Ann Pick"), Some("Ann Act"), Some("Bob Pick"), Some("Bob Act")]);
    }

    #[test]
    fn field_has_the_head_of_its_own_column() {
        let head = row(vec![
            cell("columnheader", "", 1, Vec::new()),
            cell("columnheader", "Name", 2, Vec::new()),
            cell("columnheader", "Mail", 1, Vec::new()),
        ]);
        let wide = row(vec![
            cell("cell", "", 1, field(1)),
            cell("cell", "", 1, field(2)),
            cell("cell", "", 1, field(3)),
            cell("cell", "", 1, field(4)),
        ]);
        let ada = row(vec![cell("cell", "Ada", 3, Vec::new()), cell("cell", "", 1, field(5))]);
        let table = Item { children: vec![head, wide, ada], ..Item::new("table", "") };
        let found = heads(&[table]);
        let head = |node| found.get(&NodeKey { part: 0, document: 0, node }).map(String::as_str);
        assert_eq!([1, 2, 3, 4, 5].map(head), [None, Some("Name"), None, Some("Mail"), Some("Ada Mail")]);
    }
}
