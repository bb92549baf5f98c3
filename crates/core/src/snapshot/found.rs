//! Parts of a page in which a text or a role is found.

use serde_json::Value;

use super::item::{Item, collapse};
use super::line::Line;
use crate::output::mask::{self, Literals};

/// Maximum number of matches that are shown.
const MAX_FOUND: usize = 30;

/// Maximum number of lines of a match that is shown as a whole.
const MAX_WHOLE: usize = 25;

/// Roles of items that are shown as a whole if something in them is found.
const WHOLE: &[&str] = &["article", "listitem", "option", "row", "treeitem"];

/// Text or role that is looked for, in the page as it may be read.
#[derive(Clone, Debug)]
pub struct Wanted {
    text: String,
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
        Self { text: collapse(text).to_lowercase(), secrets }
    }

    fn is_in(&self, text: &str) -> bool {
        let has = |text: &str| collapse(text).to_lowercase().contains(&self.text);
        has(text) && has(&mask::text(&self.secrets.mask_text(text)))
    }

    fn is_any<'a>(&self, role: &str, name: &str, mut states: impl Iterator<Item = &'a Value>) -> bool {
        role.to_lowercase() == self.text
            || self.is_in(name)
            || states.any(|value| value.as_str().is_some_and(|text| self.is_in(text)))
    }

    fn is_item(&self, item: &Item) -> bool {
        self.is_any(&item.role, &item.name, item.states.iter().map(|(_, value)| value))
    }

    /// Returns `true` if a line has what is looked for.
    pub(super) fn is_line(&self, line: &Line) -> bool {
        self.is_any(&line.role, &line.name, line.states.iter().map(|(_, value)| value))
    }

    /// Returns the items in which something is found, with those around them.
    pub(super) fn among(&self, items: Vec<Item>, matches: &mut MatchBudget) -> Vec<Item> {
        let mut found = Vec::new();
        for mut item in items {
            let is_whole = || WHOLE.contains(&item.role.as_str()) && item.find(&|item| self.is_item(item)).is_some();
            let is_item = self.is_item(&item);
            if (is_item || is_whole()) && size(&item) <= MAX_WHOLE {
                if matches.add() {
                    found.push(item);
                }
                continue;
            }
            let is_shown = is_item && matches.add();
            item.children = self.among(std::mem::take(&mut item.children), matches);
            if is_shown || !item.children.is_empty() {
                found.push(item);
            }
        }
        found
    }
}

/// Returns the number of lines of an item.
pub(super) fn size(item: &Item) -> usize {
    1 + item.children.iter().map(size).sum::<usize>()
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
}
