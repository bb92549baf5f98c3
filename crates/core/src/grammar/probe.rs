//! Commands whose answer tells something about texts of the page that the agent may not read.
//!
//! A selector with the value of an attribute (`#p[value^="H"]`) matches or not by a secret that stands there, and a wait for a text or a
//! URL ends by one. Asked often enough, with one more character each time, it spells the secret.

use super::command::Command;
use super::spec::ValueKind;
use crate::selector::{SelectorChain, SelectorPart};

/// Pseudo-classes that depend on where an element is, or on what the pointer and the focus do.
const STRUCTURAL: &[&str] = &[
    "active",
    "checked",
    "disabled",
    "enabled",
    "first-child",
    "first-of-type",
    "focus",
    "focus-visible",
    "focus-within",
    "hover",
    "last-child",
    "last-of-type",
    "nth-child",
    "nth-last-child",
    "nth-last-of-type",
    "nth-of-type",
    "only-child",
    "only-of-type",
    "root",
];

impl Command {
    /// Returns all selectors of the command, also those of what it waits for.
    pub fn all_selectors(&self) -> impl Iterator<Item = &str> {
        self.values().filter(|(kind, _)| is_selector(*kind)).map(|(_, text)| text)
    }

    /// Returns true if a text of the command is compared with what the page holds, secrets included, by an engine that does not search the page
    /// as the agent may read it.
    #[must_use]
    pub fn compares_unmasked(&self) -> bool {
        if self.row.name == "find" {
            return !matches!(self.form.word, Some("first" | "last" | "nth")) || !self.all_selectors().all(is_plain);
        }
        self.values().any(|(kind, text)| match kind {
            kind if is_selector(kind) => compares_with_page(text, false),
            ValueKind::Text | ValueKind::UrlPattern => self.row.name == "wait",
            _ => false,
        })
    }
}

/// Returns true if a selector is compared with what the page holds. An engine that `searches_masked` finds texts and names in the page as the
/// agent may read it, so only what Chromium itself matches counts.
#[must_use]
pub fn compares_with_page(selector: &str, searches_masked: bool) -> bool {
    match SelectorChain::parse(selector).filter(|_| searches_masked) {
        Some(chain) => chain.parts().iter().any(|part| match part {
            SelectorPart::Css(selectors) => !selectors.iter().all(|selector| is_plain(selector)),
            SelectorPart::Text(_) | SelectorPart::Role(_) | SelectorPart::Nth(_) => false,
        }),
        None => !selector.split(">>").all(|part| is_position(part) || is_plain(part)),
    }
}

const fn is_selector(kind: ValueKind) -> bool {
    matches!(kind, ValueKind::Selector | ValueKind::CssSelector | ValueKind::SelectorOrMilliseconds)
}

/// Returns true for a part that is a position among matches.
fn is_position(part: &str) -> bool {
    part.trim().strip_prefix("nth=").is_some_and(|number| number.parse::<i32>().is_ok())
}

/// Returns true if a selector has only references, ids, classes, names of elements and attributes, and structure.
fn is_plain(selector: &str) -> bool {
    let mut rest = selector;
    while let Some(character) = rest.chars().next() {
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
        match character {
            _ if is_name(character) || character.is_ascii_whitespace() => {}
            '@' | '#' | '.' | '*' | '>' | '+' | '~' | ',' => {}
            '[' => match rest.split_once(']') {
                Some((name, behind)) if name.chars().all(is_name) => rest = behind,
                _ => return false,
            },
            ':' => {
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                let (name, behind) = rest.split_at(end);
                if !STRUCTURAL.contains(&name) {
                    return false;
                }
                rest = match behind.strip_prefix('(').map(|inner| inner.split_once(')')) {
                    None => behind,
                    Some(Some((which, behind))) if which.chars().all(|c| is_name(c) || matches!(c, '+' | ' ')) => {
                        behind
                    }
                    Some(_) => return false,
                };
            }
            _ => return false,
        }
    }
    true
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '_')
}

#[cfg(test)]
mod tests {
    use crate::grammar::{Profile, parse};

    fn compares(searches_masked: bool, argv: &[&str]) -> bool {
        let argv: Vec<_> = argv.iter().map(|text| (*text).to_owned()).collect();
        let command = parse(Profile::Compat, &argv, |_| true).unwrap_or_else(|error| panic!("{argv:?}: {error}"));
        if searches_masked {
            command.all_selectors().any(|selector| super::compares_with_page(selector, true))
        } else {
            command.compares_unmasked()
        }
    }

    // Requirement 6.3.
    #[test]
    fn commands_that_compare_with_secrets_are_found() {
        for argv in [
            &["click", "#p[value^=\"H\"]"][..],
            &["click", "#p[ value = H ]"],
            &["hover", "form:has(#p)"],
            &["get", "box", ":not([value^=H])"],
            &["get", "count", "input:valid"],
            &["is", "visible", "a\\[b"],
            &["snapshot", "-s", "p[data-x*=H]"],
            &["click", "#a >> [value^=H]"],
            &["click", "xpath=//input[starts-with(@value, 'H')]"],
            &["wait", "[value^=H]"],
            &["drag", "#a", "[value^=H]"],
        ] {
            for searches_masked in [true, false] {
                assert!(compares(searches_masked, argv), "{searches_masked}: {argv:?}");
            }
        }
        for argv in [
            &["click", "text=H"][..],
            &["click", "role=button[name^=\"H\"]"],
            &["wait", "--text", "Cookie: sid=S"],
            &["wait", "--url", "**p=Z*"],
        ] {
            assert!(compares(false, argv), "{argv:?}");
            assert!(!compares(true, argv), "it searches in the masked page: {argv:?}");
        }
    }

    // Requirement 6.3.
    #[test]
    fn references_ids_classes_and_structure_stay() {
        for argv in [
            &["click", "@e1"][..],
            &["fill", "#p", "[value^=H]"],
            &["click", "main > ul.list li:nth-child(2n + 1) ~ *, input[required]"],
            &["click", "li:first-child a:hover >> nth=-1"],
            &["wait", "100"],
            &["wait", "#größe"],
            &["wait", "--load", "load"],
            &["press", "Control+a"],
            &["open", "https://a.example/[x=y]"],
            &["find", "nth", "1", "li", "click"],
            &["snapshot", "-i"],
        ] {
            for searches_masked in [true, false] {
                assert!(!compares(searches_masked, argv), "{searches_masked}: {argv:?}");
            }
        }
        assert!(compares(false, &["find", "label", "H", "click"]));
    }
}
