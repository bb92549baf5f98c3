//! Texts that an agent typed in a session, to tell its own values of secret fields from those that it did not send.
//!
//! A value counts as typed only if it can be made of what was sent. So a field that held another secret, to which the agent added some
//! text, still holds a secret.
//!
//! Invariants: a value of which a part was not sent is never typed; memory is bounded, and what is forgotten was not sent.

use std::collections::VecDeque;

use crate::grammar::Command;

/// Maximum number of texts that are remembered.
const MAX_TEXTS: usize = 256;

/// Maximum length of all texts together, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// Content of a field as it was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before<'a> {
    /// Nothing, or the field is new.
    Nothing,
    /// A value that was typed.
    Typed(&'a str),
    /// A value that was not typed.
    Secret,
}

/// Texts in the order in which the agent typed them.
#[derive(Clone, Debug, Default)]
pub struct TypedTexts {
    texts: VecDeque<String>,
    bytes: usize,
    /// Number of the last ones that may not be in the fields yet.
    fresh: usize,
    /// `true` if all fields were read since the last command.
    is_read: bool,
}

impl TypedTexts {
    /// Remembers the text that a command types.
    pub fn add(&mut self, command: &Command) {
        if std::mem::take(&mut self.is_read) {
            self.fresh = 0;
        }
        let text = without_breaks(&command.sent_text().unwrap_or_default());
        if text.is_empty() || text.len() > MAX_BYTES {
            return;
        }
        self.bytes += text.len();
        self.texts.push_back(text);
        self.fresh += 1;
        while self.texts.len() > MAX_TEXTS || self.bytes > MAX_BYTES {
            self.bytes -= self.texts.pop_front().map_or(0, |text| text.len());
        }
        self.fresh = self.fresh.min(self.texts.len());
    }

    /// Notes that all fields were read, so that the texts until now are in them or nowhere.
    pub const fn set_read(&mut self) {
        self.is_read = true;
    }

    /// Returns `true` if the value of a field consists of what was typed.
    ///
    /// ```
    /// use browser_shell_core::grammar::{Profile, parse};
    /// use browser_shell_core::typed_texts::{Before, TypedTexts};
    ///
    /// let mut typed = TypedTexts::default();
    /// for text in ["ab", "cd"] {
    ///     let argv = ["type", "@e1", text].map(str::to_owned);
    ///     typed.add(&parse(Profile::Tool, &argv, |_| false).unwrap());
    /// }
    /// assert!(typed.makes("abcd", Before::Nothing));
    /// assert!(!typed.makes("saved-cd", Before::Secret));
    /// ```
    #[must_use]
    pub fn makes(&self, value: &str, before: Before<'_>) -> bool {
        let value = without_breaks(value);
        let texts = || self.texts.iter().map(String::as_str);
        let fresh = || texts().skip(self.texts.len() - self.fresh);
        if value.is_empty() {
            return true;
        }
        match before {
            // The whole text was replaced, or as much of it as the field takes.
            Before::Secret => is_joined(&fresh(), &value) || fresh().any(|text| text.starts_with(&value)),
            // Boxes for one character each have a part of the text.
            Before::Nothing => is_joined(&texts(), &value) || fresh().any(|text| text.contains(&value)),
            Before::Typed(old) => {
                self.makes(&value, Before::Nothing) || {
                    let old = without_breaks(old);
                    between(&old, &value).is_some_and(|added| {
                        added.is_empty() || is_joined(&fresh(), added) || fresh().any(|text| text.starts_with(added))
                    })
                }
            }
        }
    }
}

/// Returns a text as a field of one line keeps it.
fn without_breaks(text: &str) -> String {
    text.replace(['\r', '\n'], "")
}

/// Returns `true` if a text consists of texts that follow each other, each of them whole.
fn is_joined<'a>(texts: &(impl Iterator<Item = &'a str> + Clone), value: &str) -> bool {
    (0..texts.clone().count()).any(|first| {
        let mut rest = value;
        for text in texts.clone().skip(first) {
            match rest.strip_prefix(text) {
                Some("") => return true,
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        false
    })
}

/// Returns what a value has in place of one part of the old one.
fn between<'a>(old: &str, value: &'a str) -> Option<&'a str> {
    let same = |left: (char, char)| left.0 == left.1;
    let start: usize =
        old.chars().zip(value.chars()).take_while(|pair| same(*pair)).map(|(character, _)| character.len_utf8()).sum();
    let (old, value) = (old.get(start..)?, value.get(start..)?);
    let end: usize = old
        .chars()
        .rev()
        .zip(value.chars().rev())
        .take_while(|pair| same(*pair))
        .map(|(character, _)| character.len_utf8())
        .sum();
    value.get(..value.len() - end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grammar::{Profile, parse};

    fn send(typed: &mut TypedTexts, argv: &[&str]) {
        let argv: Vec<_> = argv.iter().map(|text| (*text).to_owned()).collect();
        typed.add(&parse(Profile::Tool, &argv, |_| true).expect("a command"));
    }

    /// Sends commands, after each of which the fields are read.
    fn sent(commands: &[&[&str]]) -> TypedTexts {
        let mut typed = TypedTexts::default();
        for command in commands {
            typed.set_read();
            send(&mut typed, command);
        }
        typed
    }

    // Requirement 6.3.
    #[test]
    fn value_made_of_sent_texts_is_typed() {
        use Before::{Nothing, Secret, Typed};
        for (commands, before, value) in [
            (&[&["fill", "@e1", "admin"][..]][..], Nothing, "admin"),
            (&[&["fill", "@e1", "admin"]], Secret, "admin"),
            (&[&["fill", "@e1", "admin"]], Secret, "adm"),
            (&[&["fill", "@e1", "123456"]], Nothing, "4"),
            (&[&["fill", "@e1", "two\nlines"]], Nothing, "twolines"),
            (&[&["type", "@e1", "ab"], &["type", "@e1", "cd"]], Nothing, "abcd"),
            (&[&["type", "@e1", "ab"], &["type", "@e1", "cd"]], Typed("ab"), "abcd"),
            (&[&["type", "@e1", "ab"], &["type", "@e1", "cd"]], Typed("ab"), "acdb"),
            (
                &[
                    &["press", "a"],
                    &["press", "Space"],
                    &["press", "KeyB"],
                    &["press", "Shift+c"],
                    &["press", "Digit4"],
                ],
                Nothing,
                "a bC4",
            ),
            (&[&["press", "a", "3"]], Nothing, "aaa"),
            (&[&["fill", "@e1", "admin"], &["press", "Backspace"]], Typed("admin"), "admi"),
            (&[&["fill", "@e1", "admin"], &["click", "@e2"]], Nothing, "admin"),
        ] {
            assert!(sent(commands).makes(value, before), "{commands:?} {before:?} {value}");
        }
    }

    // Requirement 6.3.
    #[test]
    fn value_with_other_parts_is_not_typed() {
        use Before::{Nothing, Secret, Typed};
        for (commands, before, value) in [
            (&[&["type", "@e1", "cd"][..]][..], Secret, "savedcd"),
            (&[&["type", "@e1", "cd"]], Nothing, "savedcd"),
            (&[&["type", "@e1", "cd"]], Secret, "cdsaved"),
            (&[&["fill", "@e1", "admin"]], Nothing, "ADMIN"),
            (&[&["fill", "@e1", "admin"], &["click", "@e2"]], Secret, "admin"),
            (&[&["fill", "@e1", "admin"], &["click", "@e2"]], Nothing, "adm"),
            (&[&["press", "Backspace"]], Secret, "save"),
            (&[&["press", "Control+v"]], Nothing, "v"),
            (&[&["press", "a"], &["press", "b"]], Nothing, "ba"),
            (&[&["press", "a"], &["press", "b"], &["press", "c"]], Nothing, "ac"),
            (&[&["fill", "@e1", "admin"], &["click", "@e2"]], Typed("admin"), "adminx"),
            (&[&["snapshot"]], Nothing, "admin"),
        ] {
            assert!(!sent(commands).makes(value, before), "{commands:?} {before:?} {value}");
        }
    }

    #[test]
    fn text_counts_until_all_fields_were_read() {
        let mut typed = TypedTexts::default();
        send(&mut typed, &["fill", "@e1", "admin"]);
        send(&mut typed, &["click", "@e1"]);
        assert!(typed.makes("admin", Before::Secret));
        typed.set_read();
        assert!(typed.makes("admin", Before::Secret), "still the same call");
        send(&mut typed, &["click", "@e1"]);
        assert!(!typed.makes("admin", Before::Secret));
    }

    #[test]
    fn memory_of_typed_texts_is_bounded() {
        let mut typed = TypedTexts::default();
        for number in 0..=MAX_TEXTS {
            send(&mut typed, &["fill", "@e1", &format!("text{number}")]);
        }
        assert!(!typed.makes("text0", Before::Nothing) && typed.makes("text1", Before::Nothing));
        for letter in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
            send(&mut typed, &["fill", "@e1", &letter.repeat(8192)]);
        }
        assert!(typed.bytes <= MAX_BYTES && typed.texts.len() == 8 && typed.fresh == 8);
    }

    proptest! {
        /// A part that was not sent makes a value a secret, wherever the agent's text is.
        #[test]
        fn prefilled_part_is_never_typed(saved in "[a-z]{1,8}", texts in proptest::collection::vec("[A-Z]{1,4}", 1..5), at in 0..9_usize) {
            let commands: Vec<_> = texts.iter().map(|text| ["type", "@e1", text.as_str()]).collect();
            let commands: Vec<&[&str]> = commands.iter().map(|command| &command[..]).collect();
            let typed = sent(&commands);
            let mut value = saved.clone();
            value.insert_str(at.min(saved.len()), &texts.concat());
            for before in [Before::Nothing, Before::Secret, Before::Typed(&texts[0])] {
                prop_assert!(!typed.makes(&value, before));
                prop_assert!(!typed.makes(&saved, before));
            }
            prop_assert!(typed.makes(&texts.concat(), Before::Nothing), "control");
        }
    }
}
