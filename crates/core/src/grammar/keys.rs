//! Keys that the native agent-browser knows. It presses nothing for any other name, and says that it did.

use super::command::Command;
use super::spec::ValueKind;
use super::table::COUNT;
use crate::decision::{Code, Decision};
use crate::keyboard::Chord;

/// Names of keys in any case.
const NAMES: &[&str] = &[
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
const EXACT_NAMES: &[&str] =
    &["AltGraph", "CapsLock", "Clear", "ContextMenu", "Control", "Insert", "NumLock", "PrintScreen"];

/// Names of keys that are held while another one is pressed, in any case.
const MODIFIERS: &[&str] = &["alt", "cmd", "command", "control", "ctrl", "meta", "shift"];

/// Number of the last function key.
const LAST_FUNCTION_KEY: u32 = 24;

impl Command {
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
    let is_held = |name: &str| MODIFIERS.contains(&name.to_ascii_lowercase().as_str());
    held.is_none_or(|held| held.split('+').all(is_held)) && is_key(key)
}

fn is_key(name: &str) -> bool {
    let is_character = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    let number = name.strip_prefix('F').filter(|number| !number.starts_with(['+', '0']));
    let is_function_key =
        number.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number <= LAST_FUNCTION_KEY);
    is_character
        || is_function_key
        || EXACT_NAMES.contains(&name)
        || NAMES.contains(&name.to_ascii_lowercase().as_str())
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
}
