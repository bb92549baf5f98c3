//! Parsed commands, ready for agent-browser, with what they wait for and the keys that they press.
//!
//! The native agent-browser presses nothing for a key that it does not know, and says that it did.

use super::profile::{HELP, SESSION, VERSION};
use super::spec::{Form, SubcommandSpec, ValueKind};
use super::table::{COUNT, DIALOG};
use super::value::{Tab, offset, tab};
use crate::decision::{Code, Decision};
use crate::keyboard::Chord;

/// Parsed `argv` that follows the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Subcommand.
    pub row: &'static SubcommandSpec,
    /// Form of the subcommand.
    pub form: &'static Form,
    pub(super) arguments: Vec<Argument>,
}

/// Argument of a command: a positional or a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    /// Flag in its canonical spelling; `None` for a positional.
    pub(super) flag: Option<&'static str>,
    /// Value; `None` for a flag without one.
    pub(super) value: Option<NamedValue>,
}

/// Value with the name of its positional, or its name in the usage line of its flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedValue {
    pub(super) name: &'static str,
    pub(super) kind: ValueKind,
    pub(super) text: String,
}

/// Answer of a command that runs without agent-browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalAnswer {
    /// Version of agent-browser.
    Version,
    /// List of the commands.
    Help,
    /// Name of the caller's session.
    Session,
    /// List of the caller's sessions, which is its only one.
    Sessions,
    /// Answer to the dialog that the page has open.
    Dialog,
}

/// Condition that a command waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited<'a> {
    /// An element that can be seen, by its selector or reference.
    Element(&'a str),
    /// A text that can be seen.
    Text(&'a str),
}

/// Names of keys in any case.
const KEY_NAMES: &[&str] = &[
    "arrowdown",
    "arrowleft",
    "arrowright",
    "arrowup",
    "backspace",
    "delete",
    "down",
    "end",
    "enter",
    "esc",
    "escape",
    "home",
    "left",
    "pagedown",
    "pageup",
    "return",
    "right",
    "space",
    "tab",
    "up",
];

/// Names of keys as they are written here.
const EXACT_KEY_NAMES: &[&str] =
    &["AltGraph", "CapsLock", "Clear", "ContextMenu", "Control", "Insert", "NumLock", "PrintScreen"];

/// Names of keys that are held while another one is pressed, in any case.
const MODIFIER_NAMES: &[&str] = &["alt", "cmd", "command", "control", "ctrl", "meta", "shift"];

/// Number of the last function key.
const LAST_FUNCTION_KEY: u32 = 24;

impl Command {
    /// Returns `true` if the command ends the session.
    #[must_use]
    pub fn is_close(&self) -> bool {
        self.row.name == "close"
    }

    /// Returns `true` if the command opens another page.
    #[must_use]
    pub fn is_navigation(&self) -> bool {
        self.row.category == Some("navigate")
    }

    /// Returns `true` if the command does nothing but read the page, so that it can be run again.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        matches!(self.row.name, "snapshot" | "get" | "is")
    }

    /// Returns `true` if the command opens a page, in the active tab or in a new one.
    #[must_use]
    pub fn opens_page(&self) -> bool {
        self.values().any(|(kind, _)| kind == ValueKind::Url) || self.form.word == Some("new")
    }

    /// Returns `true` if the command needs no page: it opens one, ends the session, or is about the whole browser.
    #[must_use]
    pub fn works_without_page(&self) -> bool {
        self.opens_page() || matches!(self.row.name, "close" | "cookies") || self.local_answer().is_some()
    }

    /// Returns the answer of a command that runs without agent-browser.
    #[must_use]
    pub fn local_answer(&self) -> Option<LocalAnswer> {
        match (self.row.name, self.form.word) {
            (VERSION, _) => Some(LocalAnswer::Version),
            (HELP, _) => Some(LocalAnswer::Help),
            (SESSION, None) => Some(LocalAnswer::Session),
            (SESSION, Some(_)) => Some(LocalAnswer::Sessions),
            (DIALOG, _) => Some(LocalAnswer::Dialog),
            _ => None,
        }
    }

    /// Returns the text that the command types into the page or one of its dialogs.
    #[must_use]
    pub fn typed_text(&self) -> Option<&str> {
        let is_dialog = self.row.name == DIALOG;
        self.value(|kind| kind == ValueKind::MultilineText || (is_dialog && kind == ValueKind::Text))
    }

    /// Returns true if the command lists all tabs.
    #[must_use]
    pub fn is_list_of_tabs(&self) -> bool {
        self.row.name == "tab" && self.tab().is_none() && matches!(self.form.word, None | Some("list"))
    }

    /// Returns true if the command opens a tab.
    #[must_use]
    pub fn is_new_tab(&self) -> bool {
        self.row.name == "tab" && self.form.word == Some("new")
    }

    /// Returns true if the command closes a tab.
    #[must_use]
    pub fn is_end_of_tab(&self) -> bool {
        self.row.name == "tab" && self.form.word == Some("close")
    }

    /// Returns the tab that the command names.
    #[must_use]
    pub fn tab(&self) -> Option<Tab> {
        let is_tab = self.row.name == "tab";
        let mut values = self.values().filter(|(kind, _)| matches!(kind, ValueKind::Tab | ValueKind::Number(..)));
        values.find_map(|(_, text)| tab(text)).filter(|_| is_tab)
    }

    /// Returns the elements for agent-browser: the subcommand, the word of its form, its positionals, its flags.
    #[must_use]
    pub fn to_argv(&self) -> Vec<String> {
        let mut argv = vec![self.row.name.to_owned()];
        argv.extend(self.form.word.map(str::to_owned));
        for argument in &self.arguments {
            argv.extend(argument.flag.map(str::to_owned));
            argv.extend(argument.value.iter().map(|value| value.text.clone()));
        }
        argv
    }

    /// Returns the first value whose kind matches.
    #[must_use]
    pub fn value(&self, matches: impl Fn(ValueKind) -> bool) -> Option<&str> {
        self.values().find(|(kind, _)| matches(*kind)).map(|(_, text)| text)
    }

    /// Returns all values with their kinds.
    pub fn values(&self) -> impl Iterator<Item = (ValueKind, &str)> {
        self.named_values().map(|value| (value.kind, value.text.as_str()))
    }

    /// Returns the values of the positional or flag value with a name.
    pub(super) fn values_named(&self, name: &str) -> impl Iterator<Item = &str> {
        self.named_values().filter(move |value| value.name == name).map(|value| value.text.as_str())
    }

    fn named_values(&self) -> impl Iterator<Item = &NamedValue> {
        self.arguments.iter().filter_map(|argument| argument.value.as_ref())
    }

    /// Returns `true` if a flag is present.
    #[must_use]
    pub fn has_flag(&self, flag: &str) -> bool {
        self.arguments.iter().any(|argument| argument.flag == Some(flag))
    }

    /// Returns the selectors of the elements that the command acts on.
    pub fn selectors(&self) -> impl Iterator<Item = &str> {
        self.values().filter(|(kind, _)| *kind == ValueKind::Selector).map(|(_, text)| text)
    }

    /// Returns the value of a flag.
    pub(crate) fn flag_value(&self, flag: &str) -> Option<&str> {
        let argument = self.arguments.iter().find(|argument| argument.flag == Some(flag))?;
        argument.value.as_ref().map(|value| value.text.as_str())
    }

    /// Returns the distance from the left and the top of an element that a flag has, in CSS pixels.
    pub(crate) fn offset(&self, flag: &str) -> Option<(u32, u32)> {
        self.flag_value(flag).and_then(offset)
    }

    /// Replaces the value of the same kind, or appends one.
    ///
    /// The value must come from this program (a checked URL, a path in the session's folder), because it is not
    /// checked.
    pub fn set_value(&mut self, name: &'static str, kind: ValueKind, text: String) {
        let mut values = self.arguments.iter_mut().filter_map(|argument| argument.value.as_mut());
        match values.find(|value| value.kind == kind) {
            Some(value) => value.text = text,
            None => self.arguments.push(Argument { flag: None, value: Some(NamedValue { name, kind, text }) }),
        }
    }

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

    /// Returns the text that the command types by pressing a key.
    #[must_use]
    pub fn pressed_text(&self) -> Option<String> {
        let key = self.value(|kind| kind == ValueKind::Key)?;
        let (is_shifted, key) = key.strip_prefix("Shift+").map_or((false, key), |key| (true, key));
        let letter = key.strip_prefix("Key").map(str::to_ascii_lowercase);
        let text = match letter.as_deref().or_else(|| key.strip_prefix("Digit")).unwrap_or(key) {
            "Space" => " ",
            text => text,
        };
        let text = if is_shifted { text.to_uppercase() } else { text.to_owned() };
        let count = self.values_named(COUNT).find_map(|count| count.parse().ok()).unwrap_or(1);
        (text.chars().count() == 1).then(|| text.repeat(count))
    }

    /// Returns the text that the command types, as a whole or by pressing a key.
    #[must_use]
    pub fn sent_text(&self) -> Option<String> {
        self.typed_text().map(str::to_owned).or_else(|| self.pressed_text())
    }

    /// Returns `true` if the command may take text out of a field: a key that is pressed with others, or a drag.
    #[must_use]
    pub fn may_take_text(&self) -> bool {
        let is_chord = |key: &str| key.trim_end_matches('+').contains('+') && self.pressed_text().is_none();
        self.row.name == "drag" || self.value(|kind| kind == ValueKind::Key).is_some_and(is_chord)
    }

    /// Checks that there is the key that the command presses, with our own engine.
    ///
    /// # Errors
    ///
    /// The refusal of the command.
    pub fn check_key(&self) -> Result<(), Decision> {
        match self.value(|kind| kind == ValueKind::Key) {
            Some(key) if Chord::parse(key).is_err() => {
                let reason = "there is no such key: a key is a character of a keyboard, a name such as Enter, F5, ArrowDown, PageUp or \
                              NumpadAdd, or a place such as KeyA, with Control+, Shift+, Alt+ or Meta+ before it; write text with type";
                Err(Decision::new(Code::ArgumentInvalid, reason).at("argv[1]"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the native agent-browser has the key that the command presses.
    ///
    /// # Errors
    ///
    /// The refusal of the command.
    pub fn check_key_of_native(&self) -> Result<(), Decision> {
        match self.value(|kind| kind == ValueKind::Key) {
            Some(key) if !is_known(key) => {
                let reason = "there is no such key: a key is a character of the keyboard, Enter, Tab, Escape, Backspace, Delete, Insert, \
                              Space, Home, End, PageUp, PageDown, ArrowUp, ArrowDown, ArrowLeft, ArrowRight or F1 to F24, with Control+, \
                              Shift+, Alt+ or Meta+ before it; write text with type";
                Err(Decision::new(Code::ArgumentInvalid, reason).at("argv[1]"))
            }
            _ => Ok(()),
        }
    }
}

/// Returns true if a text names a key, with those that are held before it.
fn is_known(text: &str) -> bool {
    // The last one may be the plus key.
    let (held, key) = match text.strip_suffix("++") {
        Some(held) => (Some(held), "+"),
        None if text == "+" => (None, text),
        None => text.rsplit_once('+').map_or((None, text), |(held, key)| (Some(held), key)),
    };
    let is_held = |name: &str| MODIFIER_NAMES.contains(&name.to_ascii_lowercase().as_str());
    held.is_none_or(|held| held.split('+').all(is_held)) && is_key(key)
}

fn is_key(name: &str) -> bool {
    let is_character = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    let number = name.strip_prefix('F').filter(|number| !number.starts_with(['+', '0']));
    let is_function_key =
        number.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number <= LAST_FUNCTION_KEY);
    is_character
        || is_function_key
        || EXACT_KEY_NAMES.contains(&name)
        || KEY_NAMES.contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Profile, parse};

    // What a page gets of these names was measured with the native agent-browser.
    #[test]
    fn names_without_a_key_are_refused() {
        let check = |key: &str| {
            parse(Profile::Tool, &["press".to_owned(), key.to_owned()], |_| true).expect("valid").check_key_of_native()
        };
        for key in [
            "Enter",
            "enter",
            "Return",
            "Esc",
            "Tab",
            "Space",
            "a",
            "A",
            "1",
            "+",
            "-",
            "~",
            "ArrowUP",
            "Up",
            "PAGEDOWN",
            "Insert",
            "F1",
            "F24",
            "Control+a",
            "CTRL+a",
            "ctrl+shift+x",
            "Control++",
            "Shift+Tab",
            "Cmd+b",
            "Control+Shift+Alt+Meta+k",
            "Control",
        ] {
            assert_eq!(check(key), Ok(()), "{key}");
        }
        for key in [
            "Foo",
            "ab",
            "Del",
            "PgDn",
            "NumpadEnter",
            "KeyA",
            "Digit1",
            "é",
            "F0",
            "F25",
            "F+1",
            "f5",
            "insert",
            "Control+Foo",
            "Foo+a",
            "Option+a",
            "Spacebar",
            "Control+",
            "+a",
            "Control+é",
            "\u{3000}",
        ] {
            let refusal = check(key).expect_err(key);
            assert_eq!((refusal.code, refusal.location.as_deref()), (Code::ArgumentInvalid, Some("argv[1]")), "{key}");
        }
    }

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
