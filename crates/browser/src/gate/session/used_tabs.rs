//! Tabs of a session in the order of their use, so that the end of one leads back to the one before it.

use browser_shell_cdp::protocol::TargetId;

/// Maximum number of tabs that are remembered.
const MAX_TABS: usize = 64;

/// Targets of tabs, the last used one at the end.
#[derive(Debug, Default)]
pub(super) struct UsedTabs(Vec<TargetId>);

impl UsedTabs {
    /// Takes that a tab is used, or was opened, which turns agent-browser to it.
    pub(super) fn take_use(&mut self, target: &TargetId) {
        if self.last() == Some(target) {
            return;
        }
        self.0.retain(|known| known != target);
        if self.0.len() == MAX_TABS {
            self.0.remove(0);
        }
        self.0.push(target.clone());
    }

    /// Takes that a tab has ended. The end of the last used one leads to the tab that opened it, or else to the one used before.
    pub(super) fn take_end(&mut self, target: &TargetId, opener: Option<&TargetId>) {
        let is_last = self.last() == Some(target);
        self.0.retain(|known| known != target);
        if let Some(opener) = opener.filter(|_| is_last)
            && self.0.iter().any(|known| known == opener)
        {
            self.take_use(opener);
        }
    }

    /// Returns the tab that was used last.
    pub(super) fn last(&self) -> Option<&TargetId> {
        self.0.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(targets: &[&str]) -> UsedTabs {
        let mut used = UsedTabs::default();
        for target in targets {
            used.take_use(&TargetId::from(*target));
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
            used.take_end(&closed.into(), opener.map(TargetId::from).as_ref());
            assert_eq!(used.last().map(TargetId::as_str), expected, "{order:?} without {closed}");
        }
    }

    #[test]
    fn number_of_tabs_is_limited() {
        let names: Vec<_> = (0..=MAX_TABS).map(|number| number.to_string()).collect();
        let used = used(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((used.0.len(), used.last().map(TargetId::as_str)), (MAX_TABS, Some("64")));
        assert_eq!(used.0.first().map(TargetId::as_str), Some("1"));
    }
}
