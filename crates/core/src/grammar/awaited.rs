//! Conditions of `wait` that the control gate can look for itself.

use super::command::Command;
use super::spec::ValueKind;

/// Condition that a command waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited<'a> {
    /// An element that can be seen, by its selector or reference.
    Element(&'a str),
    /// A text that can be seen.
    Text(&'a str),
}

impl Command {
    /// Returns the element or text that the command waits for; `None` if it waits for something else, or not at all.
    #[must_use]
    pub fn awaited(&self) -> Option<Awaited<'_>> {
        if self.row.name != "wait" {
            return None;
        }
        let selector = self.value(|kind| kind == ValueKind::SelectorOrMilliseconds);
        if let Some(selector) = selector {
            return Some(Awaited::Element(selector)).filter(|_| selector.parse::<u64>().is_err());
        }
        self.value(|kind| kind == ValueKind::Text).map(Awaited::Text)
    }

    /// Returns true if the command waits for a time, whatever the page does.
    #[must_use]
    pub fn is_wait_for_time(&self) -> bool {
        let time = self.value(|kind| kind == ValueKind::SelectorOrMilliseconds);
        self.row.name == "wait" && time.is_some_and(|time| time.parse::<u64>().is_ok())
    }

    /// Returns true for a wait for a reference, which only our own engine has.
    #[must_use]
    pub fn waits_for_reference(&self) -> bool {
        matches!(self.awaited(), Some(Awaited::Element(selector)) if selector.starts_with('@'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Profile, parse};

    #[test]
    fn waits_name_an_element_or_a_text() {
        let rows: &[(&[&str], Option<Awaited<'_>>, bool)] = &[
            (&["wait", "#a"], Some(Awaited::Element("#a")), true),
            (&["wait", "@e1"], Some(Awaited::Element("@e1")), false),
            (&["wait", "--text", "@e1"], Some(Awaited::Text("@e1")), true),
            (&["wait", "--text", ""], Some(Awaited::Text("")), true),
            (&["wait", "500"], None, true),
            (&["wait", "+5"], None, true),
            (&["wait", "--url", "**"], None, true),
            (&["wait", "--load", "load"], None, true),
            (&["click", "@e1"], None, true),
        ];
        for (argv, awaited, is_possible) in rows {
            let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
            let command = parse(Profile::Tool, &argv, |_| true).expect("accepted");
            assert_eq!(command.awaited(), *awaited, "{argv:?}");
            assert_eq!(!command.waits_for_reference(), *is_possible, "{argv:?}");
        }
    }
}
