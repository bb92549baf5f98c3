//! Tabs of a session in the order of their use, so that the end of one leads back to the one before it.

/// Maximum number of tabs that are remembered.
const MAX_TABS: usize = 64;

/// Targets of tabs, the last used one at the end.
#[derive(Debug, Default)]
pub(super) struct UsedTabs(Vec<String>);

impl UsedTabs {
    /// Takes that a tab is used, or was opened, which turns agent-browser to it.
    pub(super) fn take_use(&mut self, target: &str) {
        if self.last() == Some(target) {
            return;
        }
        self.0.retain(|known| known != target);
        if self.0.len() == MAX_TABS {
            self.0.remove(0);
        }
        self.0.push(target.to_owned());
    }

    /// Takes that a tab has ended. The end of the last used one leads to the tab that opened it, or else to the one used before.
    pub(super) fn take_end(&mut self, target: &str, opener: Option<&str>) {
        let is_last = self.last() == Some(target);
        self.0.retain(|known| known != target);
        if let Some(opener) = opener.filter(|_| is_last)
            && self.0.iter().any(|known| known == opener)
        {
            self.take_use(opener);
        }
    }

    /// Returns the tab that was used last.
    pub(super) fn last(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(targets: &[&str]) -> UsedTabs {
        let mut used = UsedTabs::default();
        for target in targets {
            used.take_use(target);
        }
        used
    }

    #[test]
    fn end_of_a_tab_leads_to_its_opener_or_the_one_before() {
        for (order, closed, opener, expected) in [
            (&["a", "b", "c"][..], "c", None, Some("b")),
            (&["a", "b", "c"], "c", Some("a"), Some("a")),
            (&["a", "b", "c"], "c", Some("gone"), Some("b")),
            (&["a", "b", "c"], "b", Some("a"), Some("c")),
            (&["a", "b", "c", "a"], "a", None, Some("c")),
            (&["a"], "a", Some("b"), None),
        ] {
            let mut used = used(order);
            used.take_end(closed, opener);
            assert_eq!(used.last(), expected, "{order:?} without {closed}");
        }
    }

    #[test]
    fn number_of_tabs_is_limited() {
        let names: Vec<_> = (0..=MAX_TABS).map(|number| number.to_string()).collect();
        let used = used(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((used.0.len(), used.last()), (MAX_TABS, Some("64")));
        assert_eq!(used.0.first().map(String::as_str), Some("1"));
    }
}
