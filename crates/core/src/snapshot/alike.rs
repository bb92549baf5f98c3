//! Texts that tell elements of the same role and name from each other, as the cells of their rows do, and heads of the columns of tables,
//! which say what the fields below them are for.

use std::collections::{HashMap, HashSet};

use super::around::{MAX_CARD, MAX_TEXT, MAX_TEXTS, NumberedItems, OTHER_LINE, distance, is_field};
use super::capture::Layout;
use super::item::{CELLS, Item, NodeKey, RoleAndName, neighbors};
use super::rows::TABLES;
use crate::output::begin_in_words;

/// Maximum number of items that are looked at for all groups of elements together. Beyond it, groups get no texts here.
const MAX_LOOKS: usize = 4_000_000;

/// Maximum length of the head of a column and of the label of a row, in characters.
const MAX_CONTEXT: usize = 200;

/// Difference of two distances that counts, in CSS pixels.
const CLOSER: f64 = 2.0;

/// Maximum number of members of a group of which the title of a part of the page tells each: months beside each other have few.
const MAX_TITLED: usize = 12;

/// Number of digits of the value of a color.
const COLOR_DIGITS: usize = 6;

/// Roles of what is around elements and may have a name that is about all of them.
const CONTAINERS: &[&str] = &["alertdialog", "dialog", "grid", "group", "radiogroup", "region", "table", "tabpanel"];

/// Element of a group, with the texts that could tell it from the others, the best first.
struct AlikeItem<'a> {
    key: NodeKey,
    item: &'a Item,
    texts: Vec<&'a str>,
    /// Names of other groups that are in the row of this element, for want of a better text.
    repeated: Vec<&'a str>,
    /// Names of the containers that have this element only, which tell more than the name of another element in them.
    containers: Vec<&'a str>,
    /// Container of this element only.
    part: &'a Item,
    /// True if there is nothing in that part, so that what is around it in the document tells more.
    is_flat: bool,
    /// Texts of the part of the document that has this element only, if it is flat.
    own: Vec<&'a str>,
    /// Texts in front of it in that part, if it is in a row.
    titles: Vec<&'a str>,
}

/// Elements of one group, and what is no good text of theirs.
struct AlikeSearch<'a> {
    group: RoleAndName<'a>,
    /// Names of all groups, which tell nothing apart outside a row.
    repeated: &'a HashSet<&'a str>,
}

/// Returns a text for each element that has the role and name of another one, if none of the others has it.
///
/// It is taken from what is around this element alone: the row of a table, the entry of a list, the part of the document that has no other
/// one, or what is between it and the next one.
pub(super) fn texts<'a>(
    items: &'a [Item],
    groups: &[RoleAndName<'a>],
    numbered: &NumberedItems<'a>,
) -> HashMap<NodeKey, &'a str> {
    let repeated: HashSet<_> = groups.iter().map(|(_, name)| *name).collect();
    let mut found = HashMap::new();
    let mut looks = MAX_LOOKS;
    for group in groups.iter().take(MAX_LOOKS / size(items).max(1)) {
        let mut members = Vec::new();
        let search = AlikeSearch { group: *group, repeated: &repeated };
        search.add_members(items, &mut members);
        for member in members.iter_mut().filter(|member| member.is_flat) {
            member.own = numbered.texts_of(member.key, &|text| repeated.contains(text));
        }
        let is_small = members.len() <= MAX_TITLED;
        for member in members.iter_mut().filter(|member| is_small && !member.is_flat) {
            member.titles = numbered.titles_of(member.key, &|text| repeated.contains(text));
        }
        let title_counts = counts(members.iter().map(|member| member.titles.iter().copied()));
        let all =
            |member: &AlikeItem<'a>| [&member.own[..], &member.texts, &member.repeated, &member.containers].concat();
        let all_counts = counts(members.iter().map(|member| all(member).into_iter()));
        let is_own = |text: &&str| all_counts.get(text) == Some(&1);
        let own_counts = counts(members.iter().map(|member| member.own.iter().copied()));
        let placed: Vec<_> = members.iter().map(|member| (member.key, member.item)).collect();
        for AlikeItem { key, texts, repeated, containers, part, own, titles, .. } in members {
            if let Some(text) = best(own.into_iter().filter(|text| own_counts.get(text) == Some(&1))) {
                found.insert(key, text);
                continue;
            }
            let text = best(texts.into_iter().filter(is_own));
            let word = text.filter(|text| text.chars().any(char::is_alphabetic));
            // Other numbers in the row say less than what is written over all rows, as the month of a day.
            let title = || titles.into_iter().find(|text| title_counts.get(text) == Some(&1));
            let own = word.or_else(title).or(text).or_else(|| repeated.into_iter().find(is_own));
            let is_read = |text: &str| part.find(&|item| item.node.is_none() && item.name == text).is_some();
            let container = containers.into_iter().find(is_own);
            let container = container.filter(|_| !own.is_some_and(is_read));
            found.extend(container.or(own).map(|text| (key, text)));
        }
        search.add_lines(items, &placed, &mut looks, &mut found);
    }
    found
}

/// Returns the number of these lists that have each text.
fn counts<'a>(lists: impl Iterator<Item = impl Iterator<Item = &'a str>>) -> HashMap<&'a str, usize> {
    let mut counts = HashMap::new();
    for text in lists.flat_map(Iterator::collect::<HashSet<_>>) {
        *counts.entry(text).or_default() += 1;
    }
    counts
}

/// Returns the first text with a letter, or the first one. The value of a color is taken only if there is nothing else.
fn best<'a>(texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (mut number, mut color) = (None, None);
    for text in texts {
        if is_color(text) {
            color = color.or(Some(text));
        } else if text.chars().any(char::is_alphabetic) {
            return Some(text);
        } else {
            number = number.or(Some(text));
        }
    }
    number.or(color)
}

/// Returns true for the value of a color, as that of a field for one. Without a letter, it may be the number of an order.
fn is_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == COLOR_DIGITS);
    digits.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()) && digits.contains(char::is_alphabetic))
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
            let (texts, repeated) =
                if is_single(place) { self.around(items, place) } else { <(Vec<_>, Vec<_>)>::default() };
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
            let is_flat = own.is_none() && beside.is_none() && link.is_none();
            let texts = beside.into_iter().chain(link).chain(own.unwrap_or(card)).collect();
            let Some(part) = items.get(place) else { continue };
            let containers = self.containers(part);
            let (own, titles) = (Vec::new(), Vec::new());
            members.push(AlikeItem { key, item: member, texts, repeated, containers, part, is_flat, own, titles });
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

    /// Adds the text that is in the line of each member that has none yet, and of no other member: a grid may have each column, or those
    /// that stay in view, in an element of its own. It is looked for in the smallest part of the page that has all members and such a text.
    fn add_lines<'a>(
        &self,
        items: &'a [Item],
        members: &[(NodeKey, &Item)],
        looks: &mut usize,
        found: &mut HashMap<NodeKey, &'a str>,
    ) {
        if members.iter().all(|(key, _)| found.contains_key(key)) {
            return;
        }
        let mut parts = vec![items];
        while let Some(part) = parts.last().and_then(|part| self.part_of_all(part, members.len())) {
            parts.push(part);
        }
        for part in parts.into_iter().rev() {
            let mut texts = Vec::new();
            self.add_placed(part, &mut texts);
            *looks = looks.saturating_sub(texts.len() * members.len());
            if *looks == 0 {
                return;
            }
            let lines: Vec<_> = members.iter().map(|(_, member)| in_line(member, &texts)).collect();
            let counts = counts(lines.iter().map(|line| line.iter().map(|text| text.name)));
            let is_own = |text: &&TextInLine<'_>| counts.get(text.name) == Some(&1);
            // The column that tells most of them is the one that people go by.
            let mut columns: HashMap<i64, usize> = HashMap::new();
            for text in lines.iter().flatten().filter(is_own) {
                *columns.entry(text.column).or_default() += 1;
            }
            let before = found.len();
            for ((key, _), line) in members.iter().zip(&lines) {
                let told = |text: &TextInLine<'_>| columns.get(&text.column).copied().unwrap_or_default();
                let most = line.iter().filter(is_own).map(told).max();
                let own = line.iter().filter(is_own).filter(|text| Some(told(text)) == most).map(|text| text.name);
                if let Some(text) = best(own) {
                    found.entry(*key).or_insert(text);
                }
            }
            if found.len() > before {
                return;
            }
        }
    }

    /// Returns what is in the item that has this many members in it, if there is one.
    fn part_of_all<'a>(&self, items: &'a [Item], count: usize) -> Option<&'a [Item]> {
        let part = items.iter().find(|item| !self.is_member(item) && self.count(&item.children) == count)?;
        Some(&part.children)
    }

    fn count(&self, items: &[Item]) -> usize {
        items.iter().map(|item| usize::from(self.is_member(item)) + self.count(&item.children)).sum()
    }

    /// Adds the texts that could tell a member from the others, and whose places are known.
    fn add_placed<'a>(&self, items: &'a [Item], texts: &mut Vec<&'a Item>) {
        for item in items {
            let is_text =
                || item.name.chars().any(char::is_alphanumeric) && !self.repeated.contains(item.name.as_str());
            if item.layout.is_some() && item.name.len() <= MAX_TEXT && !self.is_member(item) && is_text() {
                texts.push(item);
            }
            self.add_placed(&item.children, texts);
        }
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
        if !between.is_empty() && between.iter().all(|items| self.texts(items).is_empty()) {
            // A column of members has nothing around each of them.
            return vec![Vec::new(); places.len()];
        }
        let length =
            between.iter().map(|items| self.texts(items).len()).filter(|length| *length > 0).min().unwrap_or(1);
        let gap = between.iter().map(|items| items.len()).filter(|length| *length > 0).min().unwrap_or(1);
        let is_followed = || {
            let (first, last) = (pairs.first()?.0, pairs.last()?.1);
            let has_texts = |first, end| !self.texts(slice(items, first, end)).is_empty();
            let is_after = has_texts(last + 1, last + 1 + gap);
            let is_before = has_texts(first.saturating_sub(gap), first);
            let (followed, led) = self.count_closer(items, &pairs);
            Some(is_after && if is_before { followed * 2 > pairs.len() } else { led * 2 <= pairs.len() })
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
            let side =
                if self.group.1.is_empty() { self.up_to_field(items.get(place), side, is_followed) } else { side };
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

    /// Returns the items on one side of a member up to another field, if the member is a field.
    fn up_to_field<'a>(&self, member: Option<&Item>, side: &'a [Item], is_followed: bool) -> &'a [Item] {
        let has_field = |item: &Item| item.find(&is_field).is_some();
        if !member.and_then(|member| member.find(&|item| self.is_member(item))).is_some_and(is_field) {
            side
        } else if is_followed {
            slice(side, 0, side.iter().position(has_field).unwrap_or(side.len()))
        } else {
            slice(side, side.iter().rposition(has_field).map_or(0, |place| place + 1), side.len())
        }
    }

    /// Returns the number of pairs of members between which a text is closer to the first one, and the number of those where one is closer to
    /// the second.
    fn count_closer(&self, items: &[Item], pairs: &[(usize, usize)]) -> (usize, usize) {
        let is_text = |item: &&Item| !self.texts(std::slice::from_ref(*item)).is_empty();
        let distances = pairs.iter().filter_map(|(before, after)| {
            let between = slice(items, before + 1, *after);
            let to_first = distance(items.get(*before), between.iter().find(is_text))?;
            let to_last = distance(items.get(*after), between.iter().rev().find(is_text))?;
            Some((to_first, to_last))
        });
        distances.fold((0, 0), |(first, last), (to_first, to_last)| {
            let is_first = to_first + CLOSER < to_last;
            let is_last = to_last + CLOSER < to_first;
            (first + usize::from(is_first), last + usize::from(is_last))
        })
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

    /// Returns these of the item at a place, which has one member in it: what is closer around the member comes first.
    fn around<'a>(&self, items: &'a [Item], place: usize) -> (Vec<&'a str>, Vec<&'a str>) {
        let Some(item) = items.get(place) else { return <(Vec<_>, Vec<_>)>::default() };
        let inner = (0..item.children.len()).find(|inner| self.find(&item.children, *inner).is_some());
        let inner = inner.filter(|_| !self.is_member(item));
        let (mut texts, mut repeated) = inner.map(|inner| self.around(&item.children, inner)).unwrap_or_default();
        let (others, all_repeated) = self.read(slice(items, place, place + 1));
        if others.len() <= MAX_TEXTS {
            texts.extend(others.into_iter().filter(|text| !texts.contains(text)).collect::<Vec<_>>());
            repeated = all_repeated;
        }
        (texts, repeated)
    }

    /// Returns the names of the containers of the member in a part of a page that has no other one, from the inside out.
    fn containers<'a>(&self, part: &'a Item) -> Vec<&'a str> {
        let is_around = |item: &&Item| !self.is_member(item) && self.find(std::slice::from_ref(*item), 0).is_some();
        let around = std::iter::successors(Some(part).filter(is_around), |item| item.children.iter().find(is_around));
        let containers = around.filter(|item| CONTAINERS.contains(&item.role.as_str()) && !item.name.is_empty());
        let mut names: Vec<_> =
            containers.map(|item| item.name.as_str()).filter(|name| !self.repeated.contains(name)).collect();
        names.reverse();
        names
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

/// Text in the line of a member.
struct TextInLine<'a> {
    name: &'a str,
    /// Left edge of its box, in CSS pixels.
    column: i64,
}

/// Returns the texts that are in the line of an item, those that are closer first.
fn in_line<'a>(item: &Item, texts: &[&'a Item]) -> Vec<TextInLine<'a>> {
    let in_line = texts.iter().filter_map(|text| {
        let distance = distance(Some(item), Some(text)).filter(|distance| *distance < OTHER_LINE)?;
        let (one, other) = (item.layout.as_ref()?, text.layout.as_ref()?);
        let offset = (one.y + one.height / 2.0 - other.y - other.height / 2.0).abs();
        let text = TextInLine { name: &text.name, column: pixels(other.x) };
        (offset * 2.0 <= one.height.max(other.height)).then_some((distance, text))
    });
    let mut in_line: Vec<_> = in_line.collect();
    in_line.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    in_line.into_iter().map(|(_, text)| text).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a place on a page is far from the limits")]
const fn pixels(place: f64) -> i64 {
    place.round() as i64
}

/// Maximum number of rows of heads over each other.
const MAX_HEADS: usize = 6;

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
            add_heads(&join_rows(&rows), found);
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

/// Row of a table, which may be joined from several.
struct JoinedRow<'a> {
    cells: Vec<&'a Item>,
    /// Left edge of the first cell, and right edge of the last one.
    ends: (f64, f64),
    is_joined: bool,
}

impl<'a> JoinedRow<'a> {
    fn new(cells: Vec<&'a Item>) -> Self {
        let right = |cell: &&Item| cell.layout.as_ref().map_or(f64::INFINITY, |layout| layout.x + layout.width);
        let first = cells.iter().map(|cell| left(cell)).fold(f64::INFINITY, f64::min);
        let last = cells.iter().map(right).fold(f64::NEG_INFINITY, f64::max);
        Self { cells, ends: (first, last), is_joined: false }
    }

    /// Returns true if no cell of another row is over one of this one, and both have no more cells than are looked at.
    fn is_beside(&self, other: &Self) -> bool {
        let ((first, last), (other_first, other_last)) = (self.ends, other.ends);
        let are_apart = last <= other_first + CLOSER || other_last <= first + CLOSER;
        are_apart && self.cells.len() + other.cells.len() <= MAX_COLUMNS
    }

    /// Adds the cells of another row.
    fn add(&mut self, other: Self) {
        self.cells.extend(other.cells);
        self.ends = (self.ends.0.min(other.ends.0), self.ends.1.max(other.ends.1));
        self.is_joined = true;
    }

    fn into_cells(mut self) -> Vec<&'a Item> {
        if self.is_joined {
            self.cells.sort_by(|one, other| left(one).total_cmp(&left(other)));
        }
        self.cells
    }
}

/// Returns the cells of each row, from left to right: a grid may have those of the columns that stay in view in rows of their own, beside
/// the others.
fn join_rows<'a>(rows: &[&'a Item]) -> Vec<Vec<&'a Item>> {
    let mut joined: Vec<JoinedRow<'_>> = Vec::new();
    let mut places: HashMap<(i64, i64), usize> = HashMap::new();
    for row in rows {
        let cells: Vec<_> = row.children.iter().filter(|cell| CELLS.contains(&cell.role.as_str())).collect();
        let place = cells.first().and_then(|cell| cell.layout.as_ref());
        let place = place.map(|layout| (pixels(layout.y), pixels(layout.height)));
        let row = JoinedRow::new(cells);
        let beside = place.and_then(|place| places.get(&place)).and_then(|at| joined.get_mut(*at));
        if let Some(beside) = beside.filter(|beside| beside.is_beside(&row)) {
            beside.add(row);
        } else {
            places.extend(place.map(|place| (place, joined.len())));
            joined.push(row);
        }
    }
    joined.into_iter().map(JoinedRow::into_cells).collect()
}

fn left(cell: &Item) -> f64 {
    cell.layout.as_ref().map_or(f64::NEG_INFINITY, |layout| layout.x)
}

/// Cell with the number of the column that it begins in.
type CellInColumn<'a> = (usize, &'a Item);

fn add_heads(rows: &[Vec<&Item>], found: &mut HashMap<NodeKey, String>) {
    let rows = with_columns(rows);
    let Some(first) = rows.iter().find(|row| count_heads(row) > 0) else { return };
    let labels: Vec<Vec<&str>> = rows.iter().map(|row| labels(row)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for label in labels.iter().flatten() {
        *counts.entry(label).or_default() += 1;
    }
    let mut looks = MAX_LOOKS;
    let mut heads = vec![HeadRow::new(first)];
    let (mut is_first, mut is_after_head) = (true, false);
    for (row, labels) in rows.iter().zip(&labels) {
        let is_other =
            is_later_head(row) || (is_after_head && heads.len() < MAX_HEADS && count_heads(row) == row.len());
        let is_head = count_heads(row) > 0 && (is_first || is_other);
        if is_head {
            if !is_after_head || heads.len() >= MAX_HEADS {
                heads.clear();
            }
            heads.push(HeadRow::new(row));
        }
        (is_first, is_after_head) = (is_first && !is_head, is_head);
        // What several rows have, such as the name of the box that chooses each, tells none from the others.
        let is_own = |label: &&&str| counts.get(*label) == Some(&1);
        let is_text = |label: &&&str| is_own(label) && !is_color(label);
        let label = labels.iter().find(is_text).or_else(|| labels.iter().find(is_own)).or(labels.first());
        let label = label.copied().unwrap_or_default();
        for (column, cell) in row {
            let Some(head) = head_of(&mut heads, *column, cell, &mut looks) else { continue };
            let own = begin(text(cell));
            let context = if label.is_empty() || label == own { head } else { format!("{label} {head}") };
            add_nodes(std::slice::from_ref(*cell), &context, found);
        }
    }
}

fn count_heads(row: &[CellInColumn<'_>]) -> usize {
    row.iter().filter(|(_, cell)| cell.role == "columnheader").count()
}

/// Returns true for a row with heads that is behind others, and not the title of those that follow.
fn is_later_head(row: &[CellInColumn<'_>]) -> bool {
    let heads = count_heads(row);
    heads > 1 && heads * 2 > row.len()
}

/// Row with the heads of columns.
struct HeadRow<'a> {
    cells: Vec<(Option<&'a Layout>, &'a str)>,
    by_column: HashMap<usize, &'a str>,
    /// Known heads of cells with a left edge and a width.
    by_box: HashMap<(i64, i64), Option<&'a str>>,
}

impl<'a> HeadRow<'a> {
    fn new(row: &[CellInColumn<'a>]) -> Self {
        // What is entered in a head, or stands for that, is not what the column is called.
        let is_entered = |item: &Item| matches!(item.role.as_str(), "combobox" | "searchbox" | "textbox");
        let is_name = |item: &Item| !item.name.is_empty() && !is_entered(item);
        let name = |cell: &'a Item| begin(cell.find(&is_name).map_or("", |item| &item.name));
        Self {
            cells: row.iter().map(|(_, cell)| (cell.layout.as_ref(), name(cell))).collect(),
            by_column: row.iter().map(|(column, cell)| (*column, name(cell))).collect(),
            by_box: HashMap::new(),
        }
    }

    /// Returns the head over the middle of a box. Of several, as where some columns stay in view, the one with the closest middle.
    fn over(&mut self, layout: &Layout, looks: &mut usize) -> Option<&'a str> {
        let key = (pixels(layout.x), pixels(layout.width));
        if let Some(known) = self.by_box.get(&key) {
            return *known;
        }
        *looks = looks.checked_sub(self.cells.len())?;
        let middle = |layout: &Layout| layout.x + layout.width / 2.0;
        let own = middle(layout);
        let boxes = self.cells.iter().filter_map(|(layout, name)| Some(((*layout)?, *name)));
        let over = boxes.filter(|(layout, _)| layout.x <= own && own <= layout.x + layout.width);
        let offset = |layout: &Layout| (middle(layout) - own).abs();
        let head = over.min_by(|(one, _), (other, _)| offset(one).total_cmp(&offset(other))).map(|(_, name)| name);
        self.by_box.insert(key, head);
        head
    }
}

/// Returns the head of the column of a cell: that of the last row, behind the one over it if both say something.
fn head_of(heads: &mut [HeadRow<'_>], column: usize, cell: &Item, looks: &mut usize) -> Option<String> {
    let by_box: Vec<_> = match &cell.layout {
        Some(layout) => heads.iter_mut().map(|row| row.over(layout, looks)).collect(),
        None => Vec::new(),
    };
    let is_counted = by_box.iter().all(Option::is_none);
    let by_count = heads.iter().map(|row| row.by_column.get(&column).copied());
    let names: Vec<_> = if is_counted { by_count.collect() } else { by_box };
    let mut names = names.into_iter().zip(heads).rev();
    let is_said = |name: &&str| !name.is_empty();
    let head = names.find_map(|(name, _)| name.filter(is_said))?;
    // A row of one cell is a title of the whole table.
    let over = names.find_map(|(name, row)| name.filter(is_said).filter(|_| row.cells.len() > 1));
    Some(match over {
        Some(over) if over.contains(head) => over.to_owned(),
        Some(over) if !head.contains(over) => format!("{over} {head}"),
        _ => head.to_owned(),
    })
}

/// Returns the texts of the cells of a row that are no heads.
fn labels<'a>(row: &[CellInColumn<'a>]) -> Vec<&'a str> {
    let cells = row.iter().map(|(_, cell)| *cell).filter(|cell| cell.role != "columnheader");
    cells.map(|cell| begin(text(cell))).filter(|text| text.chars().any(char::is_alphanumeric)).collect()
}

/// Returns the cells of rows with the numbers of their columns, which those of the rows before may reach into.
fn with_columns<'a>(rows: &[Vec<&'a Item>]) -> Vec<Vec<CellInColumn<'a>>> {
    let span = |cell: &Item, name: &str| {
        let span = cell.states.iter().find(|(state, _)| *state == name).and_then(|(_, span)| span.as_u64());
        span.and_then(|span| usize::try_from(span).ok()).unwrap_or(1)
    };
    // The number of the first row that has each column for itself again.
    let mut free: Vec<usize> = Vec::new();
    let columns_of = |(number, row): (usize, &Vec<&'a Item>)| {
        let mut next = 0;
        let column_of = |cell: &&'a Item| {
            while free.get(next).is_some_and(|free| *free > number) {
                next += 1;
            }
            let (column, end) = (next, next.saturating_add(span(cell, "colspan")).min(MAX_COLUMNS));
            if free.len() < end {
                free.resize(end, 0);
            }
            if let Some(taken) = free.get_mut(column..end) {
                taken.fill(number.saturating_add(span(cell, "rowspan")));
            }
            next = end.max(column);
            (column < MAX_COLUMNS).then_some((column, *cell))
        };
        row.iter().map_while(column_of).collect()
    };
    rows.iter().enumerate().map(columns_of).collect()
}

/// Returns the begin of a text that is said of each element in a row or a column.
fn begin(text: &str) -> &str {
    begin_in_words(text, MAX_CONTEXT).unwrap_or(text)
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
        let found = texts(&items, &groups, &NumberedItems::new(&items, &[]));
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
    fn element_gets_what_is_closer_around_it_first() {
        let row = |name: &'static str, end: &'static str| ["[", name, end, "]"];
        let mut table = vec!["*tag", "["];
        table.extend(row("One", "*tag"));
        let names: Vec<_> = (0..40).map(|number| format!("row {number}")).collect();
        table.extend(names.iter().flat_map(|name| ["[", name, "other", "]"]));
        table.push("]");
        assert_eq!(texts_of(&table)[1], "One", "a large table around it");
        table.truncate(6);
        table.extend(["[", "Two", "*other", "]", "]"]);
        assert_eq!(texts_of(&table)[1], "One", "a small one");
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
    fn value_of_a_color_is_the_last_text_that_tells_a_row() {
        let rows = ["[", "*Pick", "#434a93", "calm crow", "]", "[", "*Pick", "#a2b3c4", "sassy bug", "]"];
        assert_eq!(texts_of(&rows), ["calm crow", "sassy bug"]);
        let numbers = ["[", "*Pick", "#434a93", "17", "]", "[", "*Pick", "#a2b3c4", "18", "]"];
        assert_eq!(texts_of(&numbers), ["17", "18"]);
        let colors = ["[", "*Pick", "#434a93", "]", "[", "*Pick", "#a2b3c4", "]"];
        assert_eq!(texts_of(&colors), ["#434a93", "#a2b3c4"], "nothing else");
        let orders = ["[", "*Pick", "#100234", "]", "[", "*Pick", "#100235", "]"];
        assert_eq!(texts_of(&orders), ["#100234", "#100235"], "no colors");
    }

    #[test]
    fn name_of_a_container_is_better_than_that_of_a_neighbor() {
        let near = |names: [&str; 2], neighbor: fn(&str) -> Vec<&'static str>| {
            let mut next = 0;
            let group = |(name, own): (&str, &'static str)| {
                let children = items(&[&["[", "*5"][..], &neighbor(own), &["]"]].concat(), &mut next);
                Item { children, ..Item::new("group", name) }
            };
            let groups: Vec<_> = names.into_iter().zip(["7 May", "8 May"]).map(group).collect();
            let found = texts(&groups, &[("button", "5")], &NumberedItems::new(&groups, &[]));
            let mut found: Vec<_> = found.values().map(|text| (*text).to_owned()).collect();
            found.sort();
            found
        };
        let button = |own: &str| vec![if own == "7 May" { "*7 May" } else { "*8 May" }];
        assert_eq!(near(["Arrival", "Departure"], button), ["Arrival", "Departure"]);
        assert_eq!(near(["", ""], button), ["7 May", "8 May"], "no names");
        assert_eq!(near(["Day", "Day"], button), ["7 May", "8 May"], "the same name");
        let text = |own: &str| vec![if own == "7 May" { "7 May" } else { "8 May" }];
        assert_eq!(near(["Arrival", "Departure"], text), ["7 May", "8 May"], "a text is closer");
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
                let found = texts(&items, &[("button", name)], &NumberedItems::new(&items, &[]));
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
    fn row_is_told_by_another_text_than_a_color() {
        let head = row(["Name", "Act"].map(|name| cell("columnheader", name, 1, Vec::new())).into());
        let entry = |color: &str, name: &str, node| {
            row(vec![cell("cell", color, 1, field(node)), cell("cell", name, 1, Vec::new())])
        };
        let rows = vec![head, entry("#434a93", "calm crow", 1), entry("#a2b3c4", "", 2)];
        let found = heads(&[Item { children: rows, ..Item::new("table", "") }]);
        let near = |node| found.get(&NodeKey { part: 0, document: 0, node }).map(String::as_str);
        assert_eq!([1, 2].map(near), [Some("calm crow Name"), Some("Name")]);
    }

    #[test]
    fn columns_that_stay_in_view_belong_to_the_rows_beside_them() {
        let at = |item: Item, x: f64, y: f64| Item {
            layout: Some(Layout { x, y, width: 50.0, height: 20.0, ..Layout::default() }),
            ..item
        };
        let act = |node| Item { name: "Edit".to_owned(), ..field(node).remove(0) };
        let heads_at = |name: &str, x| row(vec![at(cell("columnheader", name, 1, Vec::new()), x, 0.0)]);
        let right = |node, x, y| row(vec![at(cell("cell", "", 1, vec![act(node)]), x, y)]);
        let left = |name: &str, y| row(vec![at(cell("cell", name, 1, Vec::new()), 0.0, y)]);
        let near = |x: f64| {
            let rows = vec![
                heads_at("Name", 0.0),
                heads_at("Act", x),
                right(1, x, 20.0),
                right(2, x, 40.0),
                left("Ann", 20.0),
                left("Bob", 40.0),
            ];
            let found = heads(&[Item { children: rows, ..Item::new("grid", "") }]);
            [1, 2].map(|node| found.get(&NodeKey { part: 0, document: 0, node }).cloned().unwrap_or_default())
        };
        assert_eq!(near(50.0), ["Ann Act", "Bob Act"]);
        assert_eq!(near(20.0), ["Act", "Act"], "control: a copy over them");
    }

    #[test]
    fn rows_of_one_line_are_joined_up_to_a_number_of_cells() {
        let cell_at = |x: u32| {
            let layout = Layout { x: f64::from(x) * 10.0, width: 10.0, height: 20.0, ..Layout::default() };
            row(vec![Item { layout: Some(layout), ..cell("cell", "", 1, Vec::new()) }])
        };
        // From right to left.
        let rows: Vec<_> = (0..10_000).rev().map(cell_at).collect();
        let joined = join_rows(&rows.iter().collect::<Vec<_>>());
        assert_eq!(joined.iter().map(Vec::len).collect::<Vec<_>>(), [MAX_COLUMNS; 10]);
        assert!(joined.iter().all(|cells| cells.is_sorted_by(|one, other| left(one) < left(other))));
        let over: Vec<_> = [1, 1, 2].into_iter().map(cell_at).collect();
        let joined = join_rows(&over.iter().collect::<Vec<_>>());
        assert_eq!(joined.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2], "control: a row over another one");
    }

    /// Returns the texts that tell the first fields of a table.
    fn near_fields<const COUNT: usize>(rows: Vec<Item>) -> [String; COUNT] {
        let found = heads(&[Item { children: rows, ..Item::new("table", "") }]);
        let node = |number: usize| NodeKey { part: 0, document: 0, node: number as u64 + 1 };
        std::array::from_fn(|number| found.get(&node(number)).cloned().unwrap_or_default())
    }

    #[test]
    fn cell_over_several_rows_has_its_column_in_each() {
        let head =
            row(["Group", "Event", "Email", "Push"].map(|name| cell("columnheader", name, 1, Vec::new())).into());
        let rest = |name: &str, node| {
            vec![
                cell("cell", name, 1, Vec::new()),
                cell("cell", "", 1, field(node)),
                cell("cell", "", 1, field(node + 1)),
            ]
        };
        let rows = |span: u64| {
            let mut group = cell("cell", "Orders", 1, Vec::new());
            group.states.push(("rowspan", span.into()));
            let paid = [vec![group], rest("Paid", 1)].concat();
            vec![head.clone(), row(paid), row(rest("Shipped", 3))]
        };
        assert_eq!(near_fields(rows(2)), ["Orders Email", "Orders Push", "Shipped Email", "Shipped Push"]);
        let control: [String; 4] = near_fields(rows(1));
        assert_eq!(control[3], "Shipped Email", "control: a cell of one row");
    }

    #[test]
    fn head_over_a_cell_is_the_one_of_its_column() {
        let at = |item: Item, x: f64, width: f64| {
            let layout = Some(Layout { x, width, height: 20.0, ..Layout::default() });
            Item { layout, ..item }
        };
        let title = |name: &str, x, width| at(cell("columnheader", name, 1, Vec::new()), x, width);
        let top = row(vec![title("Name", 0.0, 50.0), title("Contact", 50.0, 100.0)]);
        let heads = row(vec![title("Mail", 50.0, 50.0), title("Phone", 100.0, 50.0)]);
        let columns = |first| {
            let place = |(x, node)| at(cell("cell", "", 1, field(node)), x, 50.0);
            row([(0.0, first), (50.0, first + 1), (100.0, first + 2)].map(place).into())
        };
        let group = row(vec![title("Fruits", 0.0, 150.0)]);
        let rows = vec![group.clone(), top, heads, columns(1), group, columns(4)];
        let names = ["Name", "Contact Mail", "Contact Phone"];
        assert_eq!(near_fields::<6>(rows)[..], [names, names].concat(), "a title over rows is no head");
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
