//! Limits of lists, groups and forms, which have a line only where nothing else tells where they begin and end.

use super::item::{Item, end_texts};

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

#[cfg(test)]
mod tests {
    use super::*;

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
