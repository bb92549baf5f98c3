//! Excerpts of a page: the parts in which a text or a role is found, and of long lists and tables that which is in view, and what follows it.

use std::collections::HashMap;

use serde_json::Value;

use super::build::Part;
use super::capture::{CapturedNode, Document};
use super::item::{Item, Line, MORE, NodeKey, collapse, glued, is_unspaced};
use crate::output::mask::{self, Literals};

/// Maximum number of matches that are shown.
const MAX_FOUND: usize = 30;

/// Maximum number of lines of a match that is shown as a whole.
const MAX_WHOLE: usize = 25;

/// Maximum number of rows with heads of columns in front of a row that is found.
const MAX_HEADS: usize = 4;

/// Roles of items that are shown as a whole if something in them is found.
const WHOLE: &[&str] = &["article", "listitem", "option", "row", "treeitem"];

/// Text or role that is looked for, in the page as it may be read.
#[derive(Clone, Debug)]
pub struct Wanted {
    text: String,
    /// The text without the blanks between Chinese characters, if it has any of those.
    glued: Option<String>,
    secrets: Literals,
}

/// Number of matches that can still be shown, and of those that are not.
pub(super) struct MatchBudget {
    left: usize,
    pub(super) more: usize,
}

impl Default for MatchBudget {
    fn default() -> Self {
        Self { left: MAX_FOUND, more: 0 }
    }
}

impl MatchBudget {
    /// Counts a match. Returns `true` if it is shown.
    pub(super) fn add(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => self.more += 1,
        }
        self.more == 0
    }
}

impl Wanted {
    /// Creates what is looked for. Case and the kind of blanks do not matter. These secrets are not found.
    #[must_use]
    pub fn new(text: &str, secrets: Literals) -> Self {
        let glued = text.contains(is_unspaced).then(|| glued(text).to_lowercase());
        Self { text: collapse(text).to_lowercase(), glued, secrets }
    }

    fn is_in(&self, text: &str) -> bool {
        let masked = |text: &str| mask::text(&self.secrets.mask_text(text)).into_owned();
        let has = |text: &str| collapse(text).to_lowercase().contains(&self.text);
        // A secret is one without its blanks, too.
        let is_glued_in = |wanted: &String| {
            let has = |text: &str| glued(text).to_lowercase().contains(wanted);
            has(text) && has(&masked(&glued(&masked(text))))
        };
        has(text) && has(&masked(text)) || self.glued.as_ref().is_some_and(is_glued_in)
    }

    fn is_any<'a>(&self, role: &str, name: &str, mut states: impl Iterator<Item = &'a Value>) -> bool {
        role.to_lowercase() == self.text
            || self.is_in(name)
            || states.any(|value| value.as_str().is_some_and(|text| self.is_in(text)))
    }

    fn is_item(&self, item: &Item) -> bool {
        self.is_any(
            &item.role,
            &item.name,
            item.states.iter().filter(|(name, _)| is_read(name)).map(|(_, value)| value),
        )
    }

    /// Returns `true` if a line has what is looked for.
    pub(super) fn is_line(&self, line: &Line) -> bool {
        self.is_any(
            &line.role,
            &line.name,
            line.states.iter().filter(|(name, _)| is_read(name)).map(|(_, value)| value),
        )
    }

    /// Returns the items in which something is found, with those around them.
    pub(super) fn among(&self, items: Vec<Item>, matches: &mut MatchBudget) -> Vec<Item> {
        let mut found = Vec::new();
        // Heads of the columns of the rows that follow, until one of those is shown.
        let mut heads: Vec<Item> = Vec::new();
        let mut is_head_before = false;
        for mut item in items {
            let is_head = item.role == "row" && is_head(&item) && size(&item) <= MAX_WHOLE;
            if is_head && !is_head_before {
                heads.clear();
            }
            is_head_before = is_head;
            let is_whole = || WHOLE.contains(&item.role.as_str()) && item.find(&|item| self.is_item(item)).is_some();
            let is_item = self.is_item(&item);
            if (is_item || is_whole()) && size(&item) <= MAX_WHOLE {
                if matches.add() {
                    add_heads(&item, &mut heads, &mut found);
                    found.push(item);
                }
                continue;
            }
            if is_head {
                heads.extend(Some(item).filter(|_| heads.len() < MAX_HEADS));
                continue;
            }
            let is_shown = is_item && matches.add();
            item.children = self.among(std::mem::take(&mut item.children), matches);
            if is_shown || !item.children.is_empty() {
                add_heads(&item, &mut heads, &mut found);
                found.push(item);
            }
        }
        found
    }
}

/// Returns true for a row with the head of a column.
fn is_head(row: &Item) -> bool {
    row.children.iter().any(|cell| cell.role == "columnheader")
}

/// Adds the heads of the columns in front of the first row that is shown.
fn add_heads(item: &Item, heads: &mut Vec<Item>, found: &mut Vec<Item>) {
    if item.role == "row" {
        found.append(heads);
    }
}

/// Returns true for a state that a person reads.
fn is_read(state: &str) -> bool {
    !matches!(state, "class" | "color" | "cursor" | "icon")
}

/// Returns the number of lines of an item.
fn size(item: &Item) -> usize {
    1 + item.children.iter().map(size).sum::<usize>()
}

/// Roles of the entries of lists and tables, with their names for several.
const ENTRIES: &[(&str, &str)] = &[
    ("article", "articles"),
    ("listitem", "list items"),
    ("option", "options"),
    ("row", "rows"),
    ("treeitem", "tree items"),
];

/// Maximum number of lines of a list that is shown as a whole.
const MAX_LINES: usize = 400;

/// Number of lines of a longer list that are shown.
const SHOWN_LINES: usize = 200;

/// Number of its entries that are shown even if they have more lines.
const SHOWN_ENTRIES: usize = 20;

/// Replaces most entries of long lists by their number.
pub(super) fn shorten(items: Vec<Item>, parts: &[Part]) -> Vec<Item> {
    let shorten_below = |mut item: Item| {
        item.children = shorten(std::mem::take(&mut item.children), parts);
        item
    };
    let mut shown = Vec::with_capacity(items.len());
    let mut rest = items.into_iter().map(shorten_below).peekable();
    while let Some(first) = rest.next() {
        let role = first.role.clone();
        let Some((_, names)) = ENTRIES.iter().find(|(entry, _)| *entry == role) else {
            shown.push(first);
            continue;
        };
        let mut entries = vec![first];
        while let Some(entry) = rest.next_if(|entry| entry.role == role) {
            entries.push(entry);
        }
        add_shown(entries, names, parts, &mut shown);
    }
    shown
}

/// Adds the entries of one list that are shown, and the numbers of the others.
fn add_shown(mut entries: Vec<Item>, names: &str, parts: &[Part], shown: &mut Vec<Item>) {
    let lines: usize = entries.iter().map(size).sum();
    if lines <= MAX_LINES || entries.len() <= SHOWN_ENTRIES {
        shown.append(&mut entries);
        return;
    }
    // The heads of a table's columns are always shown.
    let heads = entries.iter().take_while(|entry| is_head(entry)).count();
    let mut rest = entries.split_off(heads);
    shown.append(&mut entries);
    let mut in_view = rest.split_off(first_in_view(&rest, parts));
    let before = rest.len();
    if before > 0 {
        shown.push(more(before, names, "above: scroll up to see them"));
    }
    let mut lines = 0;
    let count = in_view.iter().enumerate().take_while(|(number, entry)| {
        lines += size(entry);
        *number < SHOWN_ENTRIES || lines <= SHOWN_LINES
    });
    let after = in_view.split_off(count.count());
    shown.append(&mut in_view);
    if !after.is_empty() {
        shown.push(more(after.len(), names, "below: scroll down to see them, or look for a text with snapshot --find"));
    }
}

fn more(number: usize, names: &str, advice: &str) -> Item {
    Item::new(MORE, &format!("{number} {names} {advice}"))
}

/// Returns the position of the first entry that is not scrolled away to the top; the first one if that is not known.
fn first_in_view(entries: &[Item], parts: &[Part]) -> usize {
    let Some(key) = entries.first().and_then(|entry| entry.origin) else { return 0 };
    let document = parts.get(key.part).and_then(|part| part.documents.get(key.document));
    let Some(document) = document else { return 0 };
    let nodes: HashMap<u64, &CapturedNode> = document.nodes.iter().map(|node| (node.id, node)).collect();
    let node = |key: NodeKey| nodes.get(&key.node).copied();
    let Some(top) = node(key).map(|first| top_of_view(document, first)) else { return 0 };
    let is_in_view = |entry: &Item| {
        let layout = entry.origin.and_then(node).and_then(|node| node.layout.as_ref());
        layout.is_some_and(|layout| layout.height > 0.0 && layout.y + layout.height > top)
    };
    entries.iter().position(is_in_view).unwrap_or_default()
}

/// Returns the upper edge of what is seen of the boxes around a node, in the document.
fn top_of_view(document: &Document, node: &CapturedNode) -> f64 {
    let around = std::iter::successors(node.parent, |position| document.nodes.get(*position)?.parent);
    let scrollers = around.filter_map(|position| document.nodes.get(position)?.layout.as_ref());
    let edges = scrollers.filter(|layout| layout.is_scroller && layout.height > 0.0).map(|layout| layout.y);
    edges.fold(document.top, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: usize) -> Item {
        let cells = [format!("Order {number}"), format!("{}.00", number * 3)];
        Item { children: cells.map(|text| Item::new("cell", &text)).into(), ..Item::new("row", "") }
    }

    fn table(rows: usize) -> Vec<Item> {
        let grid = Item { children: (1..=rows).map(row).collect(), ..Item::new("grid", "Orders") };
        vec![Item { children: vec![grid], ..Item::new("main", "") }, Item::new("link", "Log out")]
    }

    /// Returns the roles and names of items, each with its level.
    fn shown(items: &[Item], level: usize) -> String {
        let line = |item: &Item| format!("{level} {} {}\n{}", item.role, item.name, shown(&item.children, level + 1));
        items.iter().map(line).collect()
    }

    fn among(items: Vec<Item>, text: &str, secrets: &[&str]) -> (String, usize) {
        let wanted = Wanted::new(text, Literals::new(secrets.iter().map(|&secret| secret.to_owned())));
        let mut matches = MatchBudget::default();
        (shown(&wanted.among(items, &mut matches), 0), matches.more)
    }

    #[test]
    fn row_is_shown_as_a_whole_below_what_is_around_it() {
        let row = "0 main \n1 grid Orders\n2 row \n3 cell Order 4321\n3 cell 12963.00\n";
        for text in ["Order 4321", "  ORDER\t4321 ", "12963"] {
            assert_eq!(among(table(5000), text, &[]), (row.to_owned(), 0), "{text}");
        }
        assert_eq!(among(table(5000), "Order 0", &[]).0, "");
    }

    #[test]
    fn large_match_shows_its_line_and_the_matches_in_it() {
        assert_eq!(among(table(5000), "orders", &[]).0, "0 main \n1 grid Orders\n");
        assert_eq!(among(table(2), "orders", &[]).0, shown(&table(2)[..1], 0), "control: a small one");
        assert_eq!(among(table(2), "link", &[]).0, "0 link Log out\n", "a role");
    }

    #[test]
    fn first_row_that_is_found_has_the_heads_of_its_columns() {
        let head = |names: [&str; 2]| Item {
            children: names.map(|name| Item::new("columnheader", name)).into(),
            ..Item::new("row", "")
        };
        let grid = |heads: Vec<Item>| {
            let rows = heads.into_iter().chain((1..=50).map(row)).collect();
            vec![Item { children: rows, ..Item::new("grid", "Orders") }]
        };
        let heads = "1 row \n2 columnheader Code\n2 columnheader Price\n";
        let rows = "1 row \n2 cell Order 42\n2 cell 126.00\n";
        let one = grid(vec![head(["Code", "Price"])]);
        assert_eq!(among(one.clone(), "order 42", &[]), (format!("0 grid Orders\n{heads}{rows}"), 0));
        assert_eq!(among(one.clone(), "order 4", &[]).0.matches("columnheader Code").count(), 1, "several rows");
        assert_eq!(among(one.clone(), "nothing", &[]).0, "", "no row");
        assert_eq!(among(one, "price", &[]).0, format!("0 grid Orders\n{heads}"), "a head alone");
        // Without the lines of the tables around them.
        let two = [grid(vec![head(["Code", "Sum"])]), grid(vec![head(["Code", "Price"])])];
        let flat: Vec<_> = two.into_iter().flatten().flat_map(|grid| grid.children).skip(50).collect();
        assert!(!among(flat, "order 42", &[]).0.contains("Sum"), "that of another table");
    }

    #[test]
    fn blanks_between_chinese_characters_are_not_looked_for() {
        let page = |text: &str| vec![Item::new("button", text)];
        let (glued, spaced) = ("\u{767b}\u{5f55}", "\u{767b} \u{5f55}");
        for (drawn, asked) in [(spaced, glued), (glued, spaced)] {
            assert!(!among(page(drawn), asked, &[]).0.is_empty(), "{drawn} {asked}");
            assert_eq!(among(page(drawn), asked, &[glued]).0, "", "a secret: {drawn}");
        }
        assert_eq!(among(page("Log in"), "login", &[]).0, "", "control");
    }

    #[test]
    fn matches_beyond_the_limit_are_counted() {
        let (shown, more) = among(table(5000), "Order", &[]);
        assert_eq!((shown.matches("cell Order").count(), more), (MAX_FOUND - 1, 5000 - MAX_FOUND + 1));
    }

    #[test]
    fn secret_is_not_found() {
        let items = || vec![Item::new("text", "the code is hunter22 now"), Item::new("text", "token=abcdef")];
        for text in ["hunter22", "hunt", "code is hunter22", "abcdef"] {
            assert_eq!(among(items(), text, &["hunter22"]).0, "", "{text}");
        }
        assert!(!among(items(), "hunt", &[]).0.is_empty(), "control");
        assert!(!among(items(), "the code", &["hunter22"]).0.is_empty(), "control");
    }

    /// Returns a list of entries with a number of cells each.
    fn list(role: &str, entries: usize, cells: usize) -> Vec<Item> {
        let cell = |number| Item::new("cell", &format!("cell {number}"));
        let entry = |number| Item { children: (0..cells).map(cell).collect(), ..Item::new(role, &format!("{number}")) };
        (1..=entries).map(entry).collect()
    }

    fn names(items: &[Item]) -> Vec<&str> {
        items.iter().map(|item| item.name.as_str()).collect()
    }

    #[test]
    fn long_list_is_shown_to_its_limit_and_counted() {
        let shown = shorten(list("listitem", 5000, 0), &[]);
        assert_eq!(shown.len(), SHOWN_LINES + 1);
        let more = "4800 list items below: scroll down to see them, or look for a text with snapshot --find";
        assert_eq!((shown[0].name.as_str(), shown[SHOWN_LINES].name.as_str()), ("1", more));
        let wide = shorten(list("row", 5000, 60), &[]);
        assert_eq!(wide.len(), SHOWN_ENTRIES + 1, "rows of many cells");
    }

    #[test]
    fn list_of_few_lines_or_entries_is_shown_as_a_whole() {
        assert_eq!(shorten(list("listitem", MAX_LINES, 0), &[]).len(), MAX_LINES);
        assert_eq!(shorten(list("row", SHOWN_ENTRIES, 100), &[]).len(), SHOWN_ENTRIES);
        assert_eq!(shorten(list("paragraph", 5000, 0), &[]).len(), 5000, "a text is no list");
    }

    #[test]
    fn heads_of_columns_stay_and_lists_in_lists_are_cut() {
        let head = Item { children: vec![Item::new("columnheader", "Name")], ..Item::new("row", "head") };
        let rows = [vec![head], list("row", 5000, 1)].concat();
        let table = Item { children: rows, ..Item::new("table", "Orders") };
        let shown = shorten(vec![Item::new("heading", "Shop"), table], &[]);
        assert_eq!(names(&shown), ["Shop", "Orders"]);
        let rows = names(&shown[1].children);
        assert_eq!((rows[0], rows[1], rows.len()), ("head", "1", 1 + SHOWN_LINES / 2 + 1));
        assert!(rows.last().is_some_and(|more| more.starts_with("4900 rows below")), "{rows:?}");
    }

    /// Returns a part with a box that scrolls, and 1,000 entries of 20 pixels in it, scrolled by this many.
    fn scrolled(entries: &mut [Item], scrolled: f64) -> Part {
        let answer = |ids: String, parents: String, styles: String, bounds: String, index: String| {
            let kinds = vec!["1"; 1001].join(",");
            let names = vec!["0"; 1001].join(",");
            format!(
                r#"{{"documents":[{{"nodes":{{"parentIndex":[{parents}],"nodeType":[{kinds}],"nodeName":[{names}],
                "backendNodeId":[{ids}]}},"layout":{{"nodeIndex":[{index}],"styles":[{styles}],"bounds":[{bounds}]}}}}],
                "strings":["DIV","auto"]}}"#
            )
        };
        let numbers = (0..=1000).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
        let parents = [vec!["-1"], vec!["0"; 1000]].concat().join(",");
        let styles = [vec!["[-1,-1,-1,-1,-1,1]"], vec!["[]"; 1000]].concat().join(",");
        let bound = |number| format!("[0,{},300,20]", 100.0 + 20.0 * f64::from(number) - scrolled);
        let bounds = std::iter::once("[0,100,300,400]".to_owned()).chain((0..1000).map(bound));
        let bounds = bounds.collect::<Vec<_>>().join(",");
        let answer = answer(numbers.clone(), parents, styles, bounds, numbers);
        for (number, entry) in entries.iter_mut().enumerate() {
            entry.origin = Some(NodeKey { part: 0, document: 0, node: number as u64 + 1 });
        }
        Part { documents: Document::parse_all(&answer, &|_| {}).expect("a capture"), ..Part::default() }
    }

    #[test]
    fn entries_from_the_first_one_in_view_are_shown() {
        for (by, first, above) in [(0.0, "1", 0), (10_005.0, "501", 500), (19_600.0, "981", 980)] {
            let mut entries = list("row", 1000, 0);
            let part = scrolled(&mut entries, by);
            let shown = shorten(entries, &[part]);
            let names = names(&shown);
            let at = usize::from(above > 0);
            assert_eq!(names[at], first);
            assert_eq!(names[0] == format!("{above} rows above: scroll up to see them"), above > 0, "{}", names[0]);
        }
    }
}
