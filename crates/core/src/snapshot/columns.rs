//! Heads of the columns of tables, which say what the fields below them are for.

use std::collections::HashMap;

use super::item::{CELLS, Item, NodeKey};

/// Roles of tables.
const TABLES: &[&str] = &["grid", "table", "treegrid"];

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
    for row in rows {
        let label = columns(row).map(|(_, cell)| cell).filter(|cell| cell.role != "columnheader");
        let label = label.map(text).find(|text| text.chars().any(char::is_alphanumeric)).unwrap_or_default();
        for (column, cell) in columns(row) {
            let Some(head) = heads.get(&column).filter(|head| !head.is_empty()) else { continue };
            let own = text(cell);
            let context = if label.is_empty() || label == own { (*head).to_owned() } else { format!("{label} {head}") };
            add_nodes(std::slice::from_ref(cell), &context, found);
        }
    }
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
