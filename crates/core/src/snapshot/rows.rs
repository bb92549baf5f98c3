//! Rows of tables that their page draws in several elements, as grids do whose first columns stay in view.

use std::collections::{HashMap, HashSet};

use super::item::{CELLS, Item};

/// Roles of what has rows with numbers of their own.
pub(super) const TABLES: &[&str] = &["grid", "table", "treegrid"];

/// Role of a row.
pub(super) const ROW: &str = "row";

/// Joins the parts of each row of a table, in the order of their columns.
///
/// Parts of one row have the same number in the table, and cells with other numbers: a head that is drawn twice is no part of itself.
pub(super) fn join_parts(items: &mut Vec<Item>) {
    let mut parts = HashMap::new();
    take_parts(items, &mut HashMap::new(), &mut parts);
    if !parts.is_empty() {
        add_parts(items, &mut parts);
    }
}

/// Cells of a row, by their numbers.
type CellNumbers = HashSet<u32>;

/// Takes the parts of rows besides the first one out of a table, by the numbers of the rows, and what is empty then.
fn take_parts(items: &mut Vec<Item>, cells: &mut HashMap<u32, CellNumbers>, parts: &mut HashMap<u32, Vec<Item>>) {
    items.retain_mut(|item| {
        if item.role == ROW {
            return !take_part(item, cells, parts);
        }
        if item.children.is_empty() || TABLES.contains(&item.role.as_str()) {
            return true;
        }
        take_parts(&mut item.children, cells, parts);
        !item.children.is_empty() || item.node.is_some() || !item.name.is_empty()
    });
}

/// Takes a row if it is another part of one that is known.
fn take_part(row: &mut Item, cells: &mut HashMap<u32, CellNumbers>, parts: &mut HashMap<u32, Vec<Item>>) -> bool {
    let Some((index, own)) = row.index.zip(cell_numbers(row)) else { return false };
    let is_first = !cells.contains_key(&index);
    let known = cells.entry(index).or_default();
    let is_other = known.is_disjoint(&own);
    if is_other {
        known.extend(own);
    }
    if is_first || !is_other {
        return false;
    }
    parts.entry(index).or_default().push(std::mem::take(row));
    true
}

/// Returns the numbers of the cells of a row, if each has one of its own.
fn cell_numbers(row: &Item) -> Option<CellNumbers> {
    let cells = row.children.iter().filter(|child| CELLS.contains(&child.role.as_str()));
    let numbers: Option<Vec<_>> = cells.map(|cell| cell.index).collect();
    let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
    let own: CellNumbers = numbers.iter().copied().collect();
    (own.len() == numbers.len()).then_some(own)
}

/// Adds the parts to the rows with their numbers.
fn add_parts(items: &mut [Item], parts: &mut HashMap<u32, Vec<Item>>) {
    for item in items {
        if item.role != ROW {
            if !TABLES.contains(&item.role.as_str()) {
                add_parts(&mut item.children, parts);
            }
            continue;
        }
        let own = item.index.filter(|_| cell_numbers(item).is_some());
        let Some(own) = own.and_then(|row| parts.remove(&row)) else { continue };
        for part in own {
            item.height = item.height.max(part.height);
            if item.node.is_none() {
                (item.node, item.reason) = (part.node, part.reason);
            }
            item.add_states(part.states);
            item.children.extend(part.children);
        }
        if item.children.iter().all(|child| child.index.is_some()) {
            item.children.sort_by_key(|child| child.index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(index: u32, cells: &[(u32, &str)]) -> Item {
        let cell = |(index, name): &(u32, &str)| Item { index: Some(*index), ..Item::new("gridcell", name) };
        Item { index: Some(index), children: cells.iter().map(cell).collect(), ..Item::new(ROW, "") }
    }

    fn group(rows: Vec<Item>) -> Item {
        Item { children: rows, ..Item::new("rowgroup", "") }
    }

    /// Returns the names of the cells of each row, by groups.
    fn joined(mut items: Vec<Item>) -> Vec<Vec<String>> {
        join_parts(&mut items);
        let names = |row: &Item| row.children.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>().join(" ");
        items.iter().map(|group| group.children.iter().map(names).collect()).collect()
    }

    #[test]
    fn parts_of_rows_are_joined_in_the_order_of_columns() {
        let middle = group(vec![row(2, &[(2, "b2"), (3, "c2")]), row(3, &[(2, "b3"), (3, "c3")])]);
        let first = group(vec![row(2, &[(1, "a2")]), row(3, &[(1, "a3")])]);
        let last = group(vec![row(3, &[(4, "d3")])]);
        assert_eq!(joined(vec![middle, first, last]), [["a2 b2 c2", "a3 b3 c3 d3"]]);
    }

    #[test]
    fn rows_that_are_no_parts_stay_where_they_are() {
        let twice = || group(vec![row(1, &[(1, "Name"), (2, "Age")])]);
        assert_eq!(joined(vec![twice(), twice()]), [["Name Age"], ["Name Age"]], "a head that is drawn twice");
        let without = |cells| group(vec![Item { index: None, ..row(1, cells) }]);
        assert_eq!(joined(vec![without(&[(1, "a")]), without(&[(2, "b")])]), [["a"], ["b"]], "without numbers");
        let nested = Item { children: vec![row(1, &[(2, "inner")])], ..Item::new("grid", "") };
        assert_eq!(joined(vec![group(vec![row(1, &[(1, "outer")])]), nested]), [["outer"], ["inner"]], "in a cell");
    }
}
